//! Errors of calls to the gateway.

use std::time::Duration;

use http::response::Parts;
use serde_json::Value;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The gateway said no.
    #[error("{0}")]
    Refused(Box<ErrorAnswer>),
    /// There is no connection to the gateway: nothing was sent.
    #[error("cannot reach {endpoint}: {source}")]
    Unreachable {
        /// Where it should be.
        endpoint: String,
        /// The cause of the failure.
        #[source]
        source: std::io::Error,
    },
    /// The connection broke after the request was sent: the gateway may carry it out and charge
    /// it. The receipt tells.
    #[error("the connection to the gateway was lost: {0}")]
    Broken(String),
    /// The gateway was silent for too long; it may still carry the request out.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// A stream ended with an error, after part of the answer.
    #[error("the answer was interrupted: {message}")]
    Interrupted {
        /// The gateway's message.
        message: String,
        /// Its stable code, e.g. `upstream_interrupted`.
        code: Option<String>,
    },
    /// The gateway sent what it never sends.
    #[error("{0} is malformed")]
    Malformed(&'static str),
}

/// A request that the gateway turned away, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The stable code, e.g. `feature_unavailable`; each has a page in `docs/errors`.
    pub code: String,
    /// Message of the gateway.
    pub message: String,
    /// Missing features, by name.
    pub missing: Vec<String>,
    /// Advice for the configuration.
    pub advice: Option<String>,
    /// When to come back.
    pub retry_after: Option<Duration>,
    /// A second try can help, and cannot be billed twice.
    pub may_retry: bool,
    /// Id of the receipt.
    pub request_id: String,
}

impl std::fmt::Display for ErrorAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.status, self.message)?;
        if !self.missing.is_empty() {
            write!(f, "; missing: {}", self.missing.join(", "))?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl From<ErrorAnswer> for ClientError {
    fn from(refusal: ErrorAnswer) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// The longest message that is kept of a body that is none of ours.
const MESSAGE_MAX: usize = 200;

impl ErrorAnswer {
    pub(crate) fn read(head: &Parts, body: &[u8]) -> Self {
        let raw: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = raw.get("error").unwrap_or(&Value::Null);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let header = |name: &str| head.headers.get(name).and_then(|v| v.to_str().ok());
        let plain = || {
            let text = String::from_utf8_lossy(body);
            text.chars().take(MESSAGE_MAX).collect()
        };
        Self {
            status: head.status.as_u16(),
            code: text("bardo_code")
                .or_else(|| text("code"))
                .unwrap_or("unknown")
                .to_owned(),
            message: text("message").map_or_else(plain, str::to_owned),
            missing: error.get("missing").map_or_else(Vec::new, names),
            advice: text("advice").map(str::to_owned),
            retry_after: header("retry-after")
                .and_then(|seconds| seconds.trim().parse().ok())
                .map(Duration::from_secs),
            may_retry: header("x-should-retry") != Some("false")
                && (head.status.is_server_error() || head.status.as_u16() == 429),
            request_id: header("x-bardo-request-id").unwrap_or_default().to_owned(),
        }
    }
}

/// A list of names, or of objects that have one.
fn names(list: &Value) -> Vec<String> {
    let name = |entry: &Value| {
        ["feature", "name"]
            .iter()
            .find_map(|member| entry.get(member)?.as_str())
            .or_else(|| entry.as_str())
            .map(str::to_owned)
    };
    list.as_array()
        .map_or_else(Vec::new, |list| list.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use http::Response;

    use super::*;

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> ErrorAnswer {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let (head, ()) = response.body(()).unwrap().into_parts();
        ErrorAnswer::read(&head, body.as_bytes())
    }

    #[test]
    fn a_refusal_says_what_is_missing_and_how_to_mend_it() {
        let refusal = read(
            400,
            &[("x-bardo-request-id", "req_1")],
            r#"{"error":{"message":"nobody has it","bardo_code":"feature_unavailable",
                "missing":["tee",{"feature":"privacy"}],"advice":"configure `providers.venice`"}}"#,
        );
        assert_eq!(refusal.missing, ["tee", "privacy"]);
        assert!(!refusal.may_retry);
        assert_eq!(
            refusal.to_string(),
            "feature_unavailable (400): nobody has it; missing: tee, privacy; \
             configure `providers.venice`"
        );
    }

    #[test]
    fn only_what_cannot_be_billed_twice_may_be_sent_again() {
        let busy = read(503, &[("retry-after", "7")], "{}");
        assert!(busy.may_retry);
        assert_eq!(busy.retry_after, Some(Duration::from_secs(7)));
        assert!(!read(502, &[("x-should-retry", "false")], "{}").may_retry);
    }

    #[test]
    fn a_page_of_somebody_else_is_quoted_in_short() {
        let refusal = read(502, &[], &"x".repeat(5_000));
        assert_eq!(refusal.code, "unknown");
        assert_eq!(refusal.message.len(), 200);
    }
}
