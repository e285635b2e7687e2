//! Replies: the answer, its origin, its cost and its losses.

use bardo_types::money::MicroUsd;
use http::HeaderMap;
use serde_json::Value;

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Text of the answer.
    pub text: String,
    /// The reasoning, where the model shows it.
    pub reasoning: Option<String>,
    /// Calls of tools, in OpenAI's format.
    pub tool_calls: Vec<Value>,
    /// Why it ended, e.g. `stop`, `length` or `tool_calls`.
    pub finish_reason: Option<String>,
    /// Tokens, where the provider counted them.
    pub usage: Option<TokenUsage>,
    /// Origin, as the gateway names it.
    pub origin: ReplyOrigin,
}

/// Tokens of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the prompt, cached ones included.
    pub input: u64,
    /// Tokens of the prompt from the provider's cache.
    pub cache_read: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
}

/// Backend and cost of an answer: the `x-bardo-*` headers, and the closing comment of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplyOrigin {
    /// Id of the receipt.
    pub request_id: String,
    /// The model that answered.
    pub model: String,
    /// The backend that answered, e.g. `venice` or `direct/openai`.
    pub provider: String,
    /// Names of the degraded features.
    pub degraded: Vec<String>,
    /// Cost of the call; the receipt always has it.
    pub cost: Cost,
    /// Saved against the list price of the model's maker.
    pub savings: Option<MicroUsd>,
    /// Available amount of the account.
    pub balance: Option<MicroUsd>,
    /// `hash`, `semantic`, `miss` or `bypass`.
    pub cache: Option<String>,
    /// Simulated providers answered.
    pub is_sandbox: bool,
}

/// The cost of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cost {
    /// The gateway reported no cost.
    #[default]
    Unknown,
    /// The owner's own key at a provider pays; that provider's bill has it.
    Direct,
    /// The account was charged, or will be billed, this much.
    Usd(MicroUsd),
}

impl Cost {
    fn parse(text: &str) -> Self {
        if text == "direct" {
            return Self::Direct;
        }
        MicroUsd::from_usd(text).map_or(Self::Unknown, Self::Usd)
    }

    /// The amount, where there is one.
    #[must_use]
    pub const fn usd(self) -> Option<MicroUsd> {
        match self {
            Self::Usd(amount) => Some(amount),
            Self::Unknown | Self::Direct => None,
        }
    }
}

impl ReplyOrigin {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let owned = |name: &str| text(name).unwrap_or_default().to_owned();
        let amount = |name: &str| text(name).and_then(|text| MicroUsd::from_usd(text).ok());
        Self {
            request_id: owned("x-bardo-request-id"),
            model: owned("x-bardo-model"),
            provider: owned("x-bardo-provider"),
            degraded: text("x-bardo-degraded").map_or_else(Vec::new, |list| {
                list.split(',')
                    .map(|name| name.trim().to_owned())
                    .filter(|name| !name.is_empty())
                    .collect()
            }),
            cost: text("x-bardo-cost").map_or(Cost::Unknown, Cost::parse),
            savings: amount("x-bardo-savings"),
            balance: amount("x-bardo-balance"),
            cache: text("x-bardo-cache").map(str::to_owned),
            is_sandbox: text("x-bardo-sandbox") == Some("true"),
        }
    }

    /// Takes the final figures of a stream.
    pub(crate) fn close_with(&mut self, figures: &Value) {
        let text = |name: &str| figures.get(name).and_then(Value::as_str);
        let amount = |name: &str| text(name).and_then(|text| MicroUsd::from_usd(text).ok());
        if let Some(model) = text("model") {
            model.clone_into(&mut self.model);
        }
        if let Some(provider) = text("provider") {
            provider.clone_into(&mut self.provider);
        }
        if let Some(lost) = figures.get("degraded").and_then(Value::as_array) {
            let names = lost.iter().filter_map(Value::as_str);
            self.degraded = names.map(str::to_owned).collect();
        }
        if let Some(cost) = text("cost") {
            self.cost = Cost::parse(cost);
        }
        self.savings = amount("savings").or(self.savings);
        self.balance = amount("balance").or(self.balance);
    }
}

impl TokenUsage {
    /// Reads `usage` of an OpenAI answer.
    pub(crate) fn read(usage: &Value) -> Option<Self> {
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        Some(Self {
            input: count("/prompt_tokens")?,
            cache_read: count("/prompt_tokens_details/cached_tokens").unwrap_or(0),
            output: count("/completion_tokens").unwrap_or(0),
            reasoning: count("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
        })
    }
}

impl Reply {
    /// An answer of which nothing has come yet.
    pub(crate) const fn empty(origin: ReplyOrigin) -> Self {
        Self {
            text: String::new(),
            reasoning: None,
            tool_calls: Vec::new(),
            finish_reason: None,
            usage: None,
            origin,
        }
    }

    /// Reads a whole answer; `None` where it has no choice.
    pub(crate) fn read(body: &Value, origin: ReplyOrigin) -> Option<Self> {
        let choice = body.pointer("/choices/0")?;
        let message = choice.get("message")?;
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        let calls = message.get("tool_calls").and_then(Value::as_array);
        Some(Self {
            text: text("content").unwrap_or_default().to_owned(),
            reasoning: text("reasoning_content")
                .or_else(|| text("reasoning"))
                .map(str::to_owned),
            tool_calls: calls.cloned().unwrap_or_default(),
            finish_reason: choice
                .get("finish_reason")
                .and_then(Value::as_str)
                .map(str::to_owned),
            usage: body.get("usage").and_then(TokenUsage::read),
            origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_headers_of_an_answer_are_read() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-bardo-request-id", "req_1"),
            ("x-bardo-model", "claude-sonnet-5-5"),
            ("x-bardo-provider", "openrouter"),
            ("x-bardo-degraded", "visible_thinking, privacy"),
            ("x-bardo-cost", "0.000473"),
            ("x-bardo-balance", "999.999527"),
            ("x-bardo-sandbox", "true"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let origin = ReplyOrigin::from_headers(&headers);
        assert_eq!(origin.degraded, ["visible_thinking", "privacy"]);
        assert_eq!(origin.cost, Cost::Usd(MicroUsd::new(473)));
        assert_eq!(origin.balance, Some(MicroUsd::new(999_999_527)));
        assert!(origin.is_sandbox);

        headers.insert("x-bardo-cost", HeaderValue::from_static("direct"));
        assert_eq!(ReplyOrigin::from_headers(&headers).cost, Cost::Direct);
        assert_eq!(
            ReplyOrigin::from_headers(&HeaderMap::new()),
            ReplyOrigin::default()
        );
    }

    #[test]
    fn the_figures_at_the_end_of_a_stream_win() {
        let mut origin = ReplyOrigin {
            model: "a".into(),
            degraded: vec!["citations".into()],
            ..ReplyOrigin::default()
        };
        origin.close_with(&json!({ "model": "b", "degraded": [], "cost": "0.5" }));
        assert_eq!(origin.model, "b");
        assert_eq!(origin.degraded, [""; 0]);
        assert_eq!(origin.cost.usd(), Some(MicroUsd::new(500_000)));
    }

    #[test]
    fn a_whole_answer_is_read() {
        let body = json!({
            "choices": [{ "finish_reason": "stop", "message": {
                "content": "four", "reasoning": "two and two" } }],
            "usage": { "prompt_tokens": 9, "completion_tokens": 4,
                "prompt_tokens_details": { "cached_tokens": 3 } },
        });
        let reply = Reply::read(&body, ReplyOrigin::default()).unwrap();
        assert_eq!(reply.text, "four");
        assert_eq!(reply.reasoning.as_deref(), Some("two and two"));
        let usage = reply.usage.unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (9, 3, 4));
        assert_eq!(Reply::read(&json!({}), ReplyOrigin::default()), None);
    }
}
