//! What happened to a request: one record, from which headers, the closing stream comment, events
//! and logs are made.

use std::time::Duration;

use bardo_types::Degradation;
use bardo_types::model::{Dialect, Price};
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;
use serde_json::json;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The answer is complete.
    Finished,
    /// The caller left.
    Aborted,
    /// The provider failed after the answer had begun, or no provider answered.
    Failed,
}

/// The record of one request.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// Its id.
    pub request_id: String,
    /// Who called.
    pub principal: String,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The upstream's dialect.
    pub upstream_dialect: Dialect,
    /// The model as the caller named it.
    pub model_requested: String,
    /// The model that answered.
    pub model: String,
    /// The backend that answered.
    pub backend: String,
    /// The provider's own request id.
    pub upstream_request_id: Option<String>,
    /// How many backends were tried.
    pub attempts: u32,
    /// Answered piece by piece.
    pub streamed: bool,
    /// What was counted.
    pub usage: Option<Usage>,
    /// The caller's own key pays the provider.
    pub direct: bool,
    /// The list price that applies, fixed when the request was routed.
    pub price: Option<Price>,
    /// What was lost.
    pub degraded: Vec<Degradation>,
    /// How it ended.
    pub outcome: Outcome,
    /// From receiving the request to its end.
    pub duration: Duration,
    /// From receiving the request to the first content.
    pub first_content: Option<Duration>,
}

impl Receipt {
    /// What the answer cost at list price; `None` where price or usage is unknown.
    #[must_use]
    pub fn cost(&self) -> Option<MicroUsd> {
        self.usage.as_ref()?.cost(&self.price?)?.charge()
    }

    /// The cost as headers show it: `direct` when the caller's own key pays.
    #[must_use]
    pub fn cost_text(&self) -> Option<String> {
        if self.direct {
            Some("direct".to_owned())
        } else {
            self.cost().map(|cost| cost.to_string())
        }
    }

    /// The comment line that closes a stream, `: bardo {json}` and a blank line.
    #[must_use]
    pub fn stream_comment(&self) -> String {
        let usage = self.usage.as_ref();
        let figures = json!({
            "request_id": self.request_id,
            "model": self.model,
            "provider": self.backend,
            "input_tokens": usage.map(Usage::prompt),
            "cache_read_tokens": usage.map(|usage| usage.cache_read),
            "cache_write_tokens": usage.map(Usage::cache_write),
            "output_tokens": usage.map(|usage| usage.output),
            "reasoning_tokens": usage.and_then(|usage| usage.reasoning),
            "cost": self.cost_text(),
            "degraded": self.degraded.iter().map(|lost| &*lost.feature).collect::<Vec<_>>(),
        });
        format!(": bardo {figures}\n\n")
    }
}

/// Takes receipts and turns them into logs, events and metrics. Must not block.
pub trait EventSink: Send + Sync {
    /// A request has ended.
    fn settled(&self, receipt: &Receipt);

    /// One backend failed and another may be tried.
    fn attempt_failed(&self, request_id: &str, backend: &str, fault: &bardo_types::fault::Fault);
}

/// The features lost, once each, in order, as one header value.
pub(crate) fn degraded_list(degraded: &[Degradation]) -> String {
    let mut list = String::new();
    for (index, lost) in degraded.iter().enumerate() {
        if degraded[..index]
            .iter()
            .any(|earlier| earlier.feature == lost.feature)
        {
            continue;
        }
        if !list.is_empty() {
            list.push(',');
        }
        // A caller's field name may hold bytes that a header must not.
        list.extend(
            lost.feature
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "._-[]".contains(*c)),
        );
    }
    list
}
