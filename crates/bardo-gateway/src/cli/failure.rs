//! Why a verb failed: a text for people, and with `--json` a code for programs.

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;

use crate::config::ConfigError;
use crate::operator::OperatorError;

/// Why a verb failed. Ends the process with 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CliFailure {
    code: &'static str,
    message: String,
}

impl CliFailure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// An invalid configuration.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new("invalid_config", message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Writes the failure to standard error.
    pub(super) fn print(&self, as_json: bool) -> ExitCode {
        let Self { code, message } = self;
        let line = if as_json {
            json!({ "error": { "code": code, "message": message } }).to_string()
        } else {
            format!("error: {message}")
        };
        let _ = writeln!(std::io::stderr().lock(), "{line}");
        match *code {
            "usage" => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

impl From<String> for CliFailure {
    fn from(message: String) -> Self {
        Self::new("failed", message)
    }
}

impl From<&str> for CliFailure {
    fn from(message: &str) -> Self {
        Self::new("failed", message)
    }
}

impl From<ConfigError> for CliFailure {
    fn from(error: ConfigError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<OperatorError> for CliFailure {
    fn from(error: OperatorError) -> Self {
        let code = match error {
            OperatorError::Invalid(_) | OperatorError::Parameter(_) => "invalid_request",
            OperatorError::Conflict(_) => "conflict",
            OperatorError::Unknown(_) | OperatorError::NoPayment(_) => "not_found",
            OperatorError::Unavailable(_) => "store_unavailable",
        };
        Self::new(code, error.to_string())
    }
}
