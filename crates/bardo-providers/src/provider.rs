//! What a service is, as data and small pure functions.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use bardo_wire::json::TopLevel;
use bardo_wire::splice::Edit;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;

pub use crate::model_list::{ListError, ModelList, Quarantined};

/// The operation that is requested of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Generate an answer.
    Generate {
        /// Piece by piece.
        stream: bool,
    },
    /// The size of a prompt.
    CountTokens,
    /// Compute vectors of texts.
    Embeddings,
}

/// One call, as far as its address depends on it.
#[derive(Debug, Clone, Copy)]
pub struct UpstreamCall<'a> {
    /// The operation that is requested.
    pub operation: Operation,
    /// In which dialect.
    pub dialect: Dialect,
    /// The model as the service names it.
    pub model: &'a str,
}

/// What a key used in the last days, as its service counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderUsage {
    /// The days that were counted.
    pub days: u32,
    /// What the requests cost.
    pub cost: MicroUsd,
}

/// The description of one service.
pub trait Provider: Send + Sync {
    /// The service that this describes.
    fn service(&self) -> Service;

    /// The dialects it serves for `model`. The first is the one to translate to; a caller whose
    /// own dialect is among them is relayed.
    fn dialects(&self, model: &ModelEntry) -> &'static [Dialect];

    /// The path and query below the base URL; `None` where the service has no such operation.
    fn path(&self, call: &UpstreamCall<'_>) -> Option<String>;

    /// Adds the credentials, and headers that the service demands of every request. Asked once
    /// per endpoint.
    fn authorize(&self, key: &Secret, headers: &mut HeaderMap) {
        bearer(key, headers);
    }

    /// Adds headers that a translated request needs and a relayed one brings along.
    fn complete(&self, dialect: Dialect, headers: &mut HeaderMap) {
        let _ = (dialect, headers);
    }

    /// Whether [`Self::path`] depends on the model, so that it cannot be made once per endpoint.
    fn model_in_path(&self) -> bool {
        false
    }

    /// Edits that a relayed body needs at this service beyond the model's name, each documented in
    /// `docs/relay.md`.
    fn edits(&self, dialect: Dialect, body: &TopLevel<'_>) -> Vec<Edit> {
        let _ = (dialect, body);
        Vec::new()
    }

    /// Edits that a body in its own dialect needs at this service, whoever wrote it: members that
    /// it refuses or calls otherwise.
    fn peculiarities(&self, body: &TopLevel<'_>) -> Vec<Edit> {
        let _ = body;
        Vec::new()
    }

    /// Whether a relayed chat stream has to be asked for usage.
    fn usage_on_request(&self) -> bool {
        true
    }

    /// Whether a call without a key is answered with an offer (HTTP 402) that a wallet can pay.
    fn sells_per_call(&self) -> bool {
        false
    }

    /// The path that says what it billed for an answer, by the id that it gave it; `None` where it
    /// does not tell.
    fn bill_path(&self, id: &str) -> Option<String> {
        let _ = id;
        None
    }

    /// The billed amount in an answer to [`Self::bill_path`], rounded up; `None` where the body has
    /// none.
    fn read_bill(&self, body: &[u8]) -> Option<MicroUsd> {
        let _ = body;
        None
    }

    /// The path of the credit of the account; `None` where it has none to tell.
    fn credit_path(&self) -> Option<&'static str> {
        None
    }

    /// The credit that can still be spent, as [`Self::credit_path`] answers, rounded down to whole
    /// micro-USD; `None` where the body says nothing.
    fn read_credit(&self, body: &[u8]) -> Option<MicroUsd> {
        let _ = body;
        None
    }

    /// The budget of a day that is set for the account, as [`Self::credit_path`] answers; `None` where
    /// there is none.
    fn read_daily_budget(&self, body: &[u8]) -> Option<Box<RawValue>> {
        let _ = body;
        None
    }

    /// The path of what the key used in the last days; `None` where it does not tell.
    fn usage_path(&self, days: u32) -> Option<String> {
        let _ = days;
        None
    }

    /// What the key used, as [`Self::usage_path`] answers; `None` where the body says nothing.
    fn read_usage(&self, body: &[u8]) -> Option<ProviderUsage> {
        let _ = body;
        None
    }

    /// Whether it lists its models at all.
    fn lists(&self) -> bool {
        true
    }

    /// The path of the list of models.
    fn list_path(&self) -> &'static str {
        "/models"
    }

    /// Reads the list of models.
    ///
    /// # Errors
    /// When the body is no such list. Single malformed rows are left out and named.
    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError>;
}

/// The description of a service.
#[must_use]
pub fn provider(service: Service) -> &'static dyn Provider {
    match service {
        Service::OpenAi => &crate::openai::OpenAi,
        Service::Anthropic => &crate::anthropic::Anthropic,
        Service::Google => &crate::google::Google,
        Service::DeepSeek => &crate::deepseek::DeepSeek,
        Service::Local => &crate::local::Local,
        Service::OpenRouter => &crate::openrouter::OpenRouter,
        Service::Venice => &crate::venice::Venice,
        Service::Bankr => &crate::bankr::Bankr,
        Service::BlockRun => &crate::blockrun::BlockRun,
        Service::Compatible => &crate::compatible::PLAIN,
    }
}

/// `Authorization: Bearer <key>`.
pub(crate) fn bearer(key: &Secret, headers: &mut HeaderMap) {
    if !key.is_empty() {
        insert_secret(headers, AUTHORIZATION, &format!("Bearer {}", key.expose()));
    }
}

/// A header that logs must not show. A key with bytes that no header may hold is left out, so that
/// the service answers 401 instead of us sending half of it.
pub(crate) fn insert_secret(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

/// The usual path of OpenAI-format operations below a base URL that ends in `/v1`.
pub(crate) fn openai_path(call: &UpstreamCall<'_>) -> Option<String> {
    let path = match (call.operation, call.dialect) {
        (Operation::Generate { .. }, Dialect::Chat) => "/chat/completions",
        (Operation::Generate { .. }, Dialect::Responses) => "/responses",
        (Operation::CountTokens, Dialect::Responses) => "/responses/input_tokens",
        (Operation::Generate { .. }, Dialect::Anthropic) => "/messages",
        (Operation::CountTokens, Dialect::Anthropic) => "/messages/count_tokens",
        (Operation::Embeddings, _) => "/embeddings",
        _ => return None,
    };
    Some(path.to_owned())
}
