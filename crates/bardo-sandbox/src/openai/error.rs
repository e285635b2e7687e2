//! Errors in OpenAI's shape: four keys, all present.

use http::Method;
use serde_json::{Value, json};

use crate::recorded::Recorded;
use crate::reply::Reply;

/// A refusal of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) kind: &'static str,
    pub(crate) param: Option<String>,
    pub(crate) code: Option<String>,
}

impl Problem {
    /// A refusal with the type that belongs to its status.
    pub(crate) fn new(status: u16, message: &str) -> Self {
        let kind = match status {
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        Self {
            status,
            message: message.to_owned(),
            kind,
            param: None,
            code: None,
        }
    }

    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    /// A value that the service does not accept for a field.
    pub(crate) fn invalid(param: &str, message: &str) -> Self {
        Self::new(400, message).param(param).code("invalid_value")
    }

    pub(crate) fn unknown_url(method: &Method, request: &Recorded) -> Self {
        let full = format!("/{}{}", request.service, request.path);
        Self::new(404, &format!("Invalid URL ({method} {full})"))
    }

    /// What the service says with this status when nothing else is known.
    pub(crate) fn of_status(status: u16) -> Self {
        let (message, code) = match status {
            400 => ("Invalid request.", None),
            401 => (
                "Incorrect API key provided: sk-***.",
                Some("invalid_api_key"),
            ),
            402 => (
                "Your account balance is too low.",
                Some("billing_not_active"),
            ),
            403 => (
                "You do not have access to this resource.",
                Some("access_denied"),
            ),
            404 => (
                "The requested resource does not exist.",
                Some("model_not_found"),
            ),
            408 => ("Request timed out.", Some("request_timeout")),
            413 => ("The request body is too large.", Some("request_too_large")),
            429 => (
                "Rate limit reached. Please try again later.",
                Some("rate_limit_exceeded"),
            ),
            503 => (
                "The engine is currently overloaded, please try again later.",
                Some("slow_down"),
            ),
            501 => ("This is not simulated.", None),
            _ => (
                "The server had an error while processing your request. Sorry about that!",
                None,
            ),
        };
        let problem = Self::new(status, message);
        match code {
            Some(code) => problem.code(code),
            None => problem,
        }
    }

    pub(crate) fn body(&self) -> Value {
        json!({ "error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.code,
        } })
    }

    pub(crate) fn reply(&self) -> Reply {
        Reply::json(self.status, &self.body())
    }
}

/// The request's JSON object.
pub(crate) fn json_body(request: &Recorded) -> Result<Value, Problem> {
    match request.json() {
        Ok(body) if body.is_object() => Ok(body),
        Ok(_) => Err(
            Problem::new(400, "The body of your request must be a JSON object.")
                .code("invalid_json"),
        ),
        Err(error) => Err(Problem::new(
            400,
            &format!("We could not parse the JSON body of your request. ({error})"),
        )
        .code("invalid_json")),
    }
}
