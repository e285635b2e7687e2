//! Errors in the shape of Google APIs.

use serde_json::{Value, json};

use crate::reply::Reply;

/// A refusal by the Gemini API.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiError {
    pub(super) code: u16,
    status: &'static str,
    message: String,
    details: Vec<Value>,
}

impl ApiError {
    fn new(code: u16, status: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            status,
            message: message.into(),
            details: Vec::new(),
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    /// Several fields at once, as the JSON transcoder reports them.
    pub(super) fn fields(violations: &[(String, String)]) -> Self {
        let text: Vec<&str> = violations.iter().map(|(_, text)| text.as_str()).collect();
        let listed: Vec<Value> = violations
            .iter()
            .map(|(field, text)| match field.as_str() {
                "" => json!({"description": text}),
                field => json!({"field": field, "description": text}),
            })
            .collect();
        let mut error = Self::invalid(text.join("\n"));
        error.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": listed,
        }));
        error
    }

    pub(super) fn missing_key() -> Self {
        let mut error = Self::new(
            401,
            "UNAUTHENTICATED",
            "Request is missing required authentication credential. Expected OAuth 2 access \
             token, login cookie or other valid authentication credential.",
        );
        error.details.push(reason("CREDENTIALS_MISSING"));
        error
    }

    pub(super) fn wrong_key() -> Self {
        let mut error = Self::invalid("API key not valid. Please pass a valid API key.");
        error.details.push(reason("API_KEY_INVALID"));
        error
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NOT_FOUND", message)
    }

    pub(super) fn denied(message: impl Into<String>) -> Self {
        Self::new(403, "PERMISSION_DENIED", message)
    }

    /// The error for a status that a fault asks for.
    pub(super) fn for_code(code: u16) -> Self {
        let (status, message) = match code {
            400 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
            401 => return Self::missing_key(),
            402 | 403 => ("PERMISSION_DENIED", "The caller does not have permission"),
            404 => ("NOT_FOUND", "Requested entity was not found."),
            409 => ("ABORTED", "The operation was aborted."),
            429 => (
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            503 | 529 => (
                "UNAVAILABLE",
                "The model is overloaded. Please try again later.",
            ),
            504 => (
                "DEADLINE_EXCEEDED",
                "Deadline expired before operation could complete.",
            ),
            ..500 => ("FAILED_PRECONDITION", "Precondition check failed."),
            _ => ("INTERNAL", "An internal error has occurred."),
        };
        let mut error = Self::new(code, status, message);
        if code == 429 {
            error.details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": "30s",
            }));
        }
        error
    }

    pub(super) fn body(&self) -> Value {
        let mut error = json!({
            "code": self.code,
            "message": self.message,
            "status": self.status,
        });
        if !self.details.is_empty() {
            error["details"] = json!(self.details);
        }
        json!({"error": error})
    }

    /// The answer; streams that are JSON arrays wrap their errors in one.
    pub(super) fn reply(&self, in_array: bool) -> Reply {
        let body = self.body();
        let body = if in_array { json!([body]) } else { body };
        Reply::json(self.code, &body)
    }
}

fn reason(reason: &str) -> Value {
    json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    })
}
