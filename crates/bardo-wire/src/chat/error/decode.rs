//! What a service says when it fails: objects, strings, arrays, pages of HTML.

use std::borrow::Cow;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;
use serde_json::Value;

use crate::behind;
use crate::kit::error_details::ErrorDetails;
use crate::kit::messages::bounded;

/// Reads the body of an answer whose status tells of a failure. Takes any bytes.
#[must_use]
pub fn decode_error(status: u16, body: &[u8], service: Service) -> Fault {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let parsed = match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(items)) => items.into_iter().next(),
        Ok(value) => Some(value),
        Err(_) => None,
    };
    let told = match &parsed {
        Some(Value::Object(_)) => parsed.as_ref().map(ErrorDetails::read).unwrap_or_default(),
        Some(Value::String(message)) => ErrorDetails::of_message(message),
        _ => ErrorDetails::of_message(plain(text)),
    };
    told.into_fault(Some(status), service)
}

/// Reads the value of an `error` member inside a stream or a 200 body, or an object that is the
/// error itself.
pub(in crate::chat) fn of_value(raw: &str, service: Service) -> Fault {
    let value = serde_json::from_str::<Value>(raw).unwrap_or(Value::Null);
    let value = match value {
        Value::Array(items) => items.into_iter().next().unwrap_or(Value::Null),
        value => value,
    };
    let told = match &value {
        Value::Object(_) => ErrorDetails::read(&value),
        Value::String(message) => ErrorDetails::of_message(message),
        _ => ErrorDetails::default(),
    };
    let status = told.status.filter(|status| (400..=599).contains(status));
    told.into_fault(status, service)
}

/// A page or text that is no JSON.
fn plain(text: &str) -> &str {
    if text.starts_with('<') { "" } else { text }
}

impl ErrorDetails {
    fn read(body: &Value) -> Self {
        let inner = body.get("error").filter(|error| !error.is_null());
        let mut told = Self::default();
        match inner {
            Some(Value::String(message)) => told.message.clone_from(message),
            Some(error) => told.read_object(error),
            None => {}
        }
        // BlockRun repeats members beside `error`; FastAPI servers have `detail` alone.
        told.read_object(body);
        told
    }

    fn read_object(&mut self, error: &Value) {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        if self.message.is_empty() {
            self.message = text("message")
                .or_else(|| text("detail"))
                .or_else(|| text("error_description"))
                .or_else(|| text("msg"))
                .map(str::to_owned)
                .or_else(|| {
                    let details = error.get("detail").or_else(|| error.get("details"))?;
                    Some(details.to_string())
                })
                .unwrap_or_default();
        }
        let metadata = error.get("metadata");
        self.message = behind::with_words(std::mem::take(&mut self.message), metadata);
        let code = match error.get("code") {
            Some(Value::String(code)) => Some(code.clone()),
            Some(Value::Number(number)) => {
                let number = number.as_u64().and_then(|code| u16::try_from(code).ok());
                self.status = self.status.or(number);
                metadata
                    .and_then(|metadata| metadata.get("error_type"))
                    .and_then(Value::as_str)
                    .or_else(|| text("status"))
                    .map(str::to_owned)
            }
            _ => None,
        };
        self.code = self.code.take().or(code);
        let kind = text("type").filter(|kind| *kind != "error");
        self.kind = self.kind.take().or_else(|| kind.map(str::to_owned));
        self.param = self
            .param
            .take()
            .or_else(|| text("param").map(str::to_owned));
        self.retry_after_ms = self.retry_after_ms.or_else(|| retry_after(error));
    }

    fn into_fault(self, status: Option<u16>, service: Service) -> Fault {
        let class = self.class(status);
        let message = if self.message.is_empty() {
            match status {
                Some(status) => format!("{} answered with status {status}", service.as_str()),
                None => format!("{} reported a failure without a reason", service.as_str()),
            }
        } else {
            bounded(scrubbed(&self.message).into_owned())
        };
        Fault {
            class,
            status,
            message: message.into(),
            code: self.code.or(self.kind),
            own_code: None,
            param: self.param,
            retry_after_ms: self.retry_after_ms,
        }
    }

    /// Names say more than the status: services use 400 for a bad key and 429 for an empty
    /// balance. They never say the opposite ([`FaultClass::told`]).
    fn class(&self, status: Option<u16>) -> FaultClass {
        let by_status = status.map(FaultClass::of_status);
        let named = [&self.code, &self.kind]
            .into_iter()
            .flatten()
            .filter_map(|name| class_of_name(name))
            .filter_map(|class| FaultClass::told(status, Some(class)))
            .find(|class| Some(*class) != by_status);
        named
            .or_else(|| self.class_of_message(by_status))
            .or(by_status)
            .unwrap_or(FaultClass::Server)
    }

    fn class_of_message(&self, by_status: Option<FaultClass>) -> Option<FaultClass> {
        const TOO_LONG: [&str; 7] = [
            "maximum context length",
            "context length exceeded",
            "prompt is too long",
            "context window",
            "exceeds the available context size",
            "input is too long",
            "too many tokens in the prompt",
        ];
        let may_be_request = matches!(
            by_status,
            None | Some(FaultClass::BadRequest | FaultClass::TooLarge | FaultClass::Unprocessable)
        );
        if !may_be_request {
            return None;
        }
        let message = self.message.to_ascii_lowercase();
        if TOO_LONG.iter().any(|phrase| message.contains(phrase)) {
            Some(FaultClass::ContextTooLong)
        } else if message.starts_with("unknown model") {
            Some(FaultClass::NotFound)
        } else {
            None
        }
    }
}

/// The class that a code or type of any of the services stands for.
fn class_of_name(name: &str) -> Option<FaultClass> {
    Some(match name.to_ascii_lowercase().as_str() {
        "context_length_exceeded" | "too_many_tokens" | "exceed_context_size_error" => {
            FaultClass::ContextTooLong
        }
        "invalid_api_key"
        | "api_key_invalid"
        | "authentication_error"
        | "auth_error"
        | "authentication_failed"
        | "unauthenticated" => FaultClass::Authentication,
        "insufficient_quota"
        | "insufficient_credits"
        | "insufficient_balance"
        | "daily_budget_exceeded"
        | "payment_required"
        | "billing_error"
        | "api_key_diem_spend_limit_exceeded"
        | "api_key_usd_spend_limit_exceeded"
        | "payment_unfunded"
        | "payment_invalid"
        | "payment_replay" => FaultClass::Payment,
        "permission_error" | "permission_denied" => FaultClass::Permission,
        "model_not_found" | "not_found_error" | "invalid_model" => FaultClass::NotFound,
        "request_too_large" => FaultClass::TooLarge,
        "content_policy_violation" | "content_filtered" | "content_filter" | "refusal" => {
            FaultClass::Unprocessable
        }
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limited"
        | "free_tier_rate_limited"
        | "resource_exhausted" => FaultClass::RateLimit,
        "overloaded_error"
        | "model_overloaded"
        | "model_at_capacity"
        | "model_offline"
        | "model_unavailable"
        | "provider_overloaded"
        | "provider_unavailable"
        | "slow_down"
        | "unavailable"
        | "insufficient_system_resource" => FaultClass::Overloaded,
        "timeout" | "request_timeout" | "timeout_error" | "deadline_exceeded" => {
            FaultClass::Timeout
        }
        "server_error"
        | "internal_error"
        | "api_error"
        | "server"
        | "internal"
        | "inference_failed"
        | "stream_failed"
        | "free_model_failed"
        | "provider_config_error" => FaultClass::Server,
        _ => return None,
    })
}

/// How long to wait, where the body tells: seconds in a member of its own, or Gemini's
/// `RetryInfo`.
fn retry_after(error: &Value) -> Option<u64> {
    let seconds = ["retry_after_seconds", "retry_after"]
        .iter()
        .find_map(|name| error.get(*name)?.as_f64())
        .or_else(|| {
            let delay = error
                .get("details")?
                .as_array()?
                .iter()
                .find_map(|detail| detail.get("retryDelay")?.as_str())?;
            delay.strip_suffix('s')?.parse().ok()
        })?;
    (seconds >= 0.0).then_some((seconds * 1000.0) as u64)
}

/// The message without anything that looks like a key: providers quote the refused one.
fn scrubbed(message: &str) -> Cow<'_, str> {
    const KEY_STARTS: [&str; 8] = [
        "sk-", "sk_", "bk_", "brk_", "AIza", "gsk_", "xai-", "bardo_",
    ];
    let is_key = |word: &str| {
        let word = word.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
        KEY_STARTS.iter().any(|start| word.starts_with(start)) && word.len() > 6
    };
    if !message.split_whitespace().any(is_key) && !message.contains("Bearer ") {
        return Cow::Borrowed(message);
    }
    let mut after_bearer = false;
    let words: Vec<&str> = message
        .split(' ')
        .map(|word| {
            let secret = after_bearer || is_key(word);
            after_bearer = word.ends_with("Bearer");
            if secret { "[key]" } else { word }
        })
        .collect();
    Cow::Owned(words.join(" "))
}

#[cfg(test)]
mod tests;
