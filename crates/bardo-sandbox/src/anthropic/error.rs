//! Errors in Anthropic's own shape.

use serde_json::{Value, json};

/// A refusal that the Messages API would answer with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
}

impl ApiError {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            details: None,
        }
    }

    /// A 400 whose text is not about one field.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// A 400 in the `path: message` form of the schema validator.
    pub(crate) fn at(path: impl AsRef<str>, message: impl AsRef<str>) -> Self {
        Self::invalid(format!("{}: {}", path.as_ref(), message.as_ref()))
    }

    pub(crate) fn authentication(message: impl Into<String>) -> Self {
        Self::new(401, "authentication_error", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found_error", message)
    }

    /// Why a thread cannot go on, with the code that clients act on.
    pub(crate) fn thread(status: u16, code: &str, id: &str) -> Self {
        Self {
            details: Some(json!({"error_code": code})),
            message: format!("thread.previous_message_id: {id}: {code}"),
            ..Self::for_status(status)
        }
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "invalid_request_error", "Method Not Allowed")
    }

    /// The error for a status that a fault asks for.
    pub(crate) fn for_status(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "The request is invalid."),
            401 => ("authentication_error", "invalid x-api-key"),
            402 => (
                "billing_error",
                "Your credit balance is too low to access the Anthropic API.",
            ),
            403 => (
                "permission_error",
                "Your API key does not have permission to use the specified resource.",
            ),
            404 => ("not_found_error", "Not found"),
            409 => ("conflict_error", "The request conflicts with another one."),
            413 => (
                "request_too_large",
                "Request exceeds the maximum allowed number of bytes.",
            ),
            429 => (
                "rate_limit_error",
                "This request would exceed your organization's rate limit.",
            ),
            504 => ("timeout_error", "Request timed out"),
            529 => ("overloaded_error", "Overloaded"),
            ..500 => ("invalid_request_error", "The request was refused."),
            _ => ("api_error", "Internal server error"),
        };
        Self::new(status, kind, message)
    }

    /// The body, which repeats the request id of the header.
    pub(crate) fn body(&self, request_id: &str) -> Value {
        let mut error = json!({"type": self.kind, "message": self.message});
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        json!({"type": "error", "error": error, "request_id": request_id})
    }
}
