//! What goes wrong, in one vocabulary for every provider and every dialect.

use std::borrow::Cow;

use crate::error_code::ErrorCode;

/// The kind of a failure; decides status, error type and whether another attempt can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultClass {
    /// The request is wrong and will be wrong everywhere.
    BadRequest,
    /// The prompt does not fit the model's context.
    ContextTooLong,
    /// The caller's key was refused, or the provider refused ours.
    Authentication,
    /// Money is missing.
    Payment,
    /// The key may not do this.
    Permission,
    /// No such model or resource.
    NotFound,
    /// Clashes with another request.
    Conflict,
    /// The body is too large.
    TooLarge,
    /// Well formed, but refused by a content rule or constraint.
    Unprocessable,
    /// Too many requests.
    RateLimit,
    /// The provider failed.
    Server,
    /// The provider has no capacity.
    Overloaded,
    /// A deadline passed.
    Timeout,
    /// The provider could not be reached, or the connection broke.
    Connection,
    /// The provider answered something that its protocol does not allow.
    Malformed,
}

/// A failure as a provider or the gateway tells it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Class of the failure.
    pub class: FaultClass,
    /// The HTTP status the provider used, where it used one.
    pub status: Option<u16>,
    /// Text for people; scrubbed of secrets and bounded before it gets here.
    pub message: Cow<'static, str>,
    /// The provider's own code or type, e.g. `context_length_exceeded`.
    pub code: Option<String>,
    /// The gateway's own code, if the gateway ended the answer and not the provider.
    pub own_code: Option<ErrorCode>,
    /// The field at fault, in the provider's spelling.
    pub param: Option<String>,
    /// How long to wait before the same provider may be asked again, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl Fault {
    /// A failure with only a kind and a text.
    #[must_use]
    pub fn new(class: FaultClass, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            class,
            status: None,
            message: message.into(),
            code: None,
            own_code: None,
            param: None,
            retry_after_ms: None,
        }
    }

    /// Adds the code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds the code of a failure that is the gateway's own.
    #[must_use]
    pub fn with_own_code(mut self, code: ErrorCode) -> Self {
        self.own_code = Some(code);
        self.with_code(code.as_str())
    }

    /// The stable code that `error.bardo_code` shows.
    #[must_use]
    pub fn error_code(&self) -> ErrorCode {
        self.own_code.unwrap_or(ErrorCode::of_upstream(self.class))
    }

    /// Adds the field at fault.
    #[must_use]
    pub fn with_param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Adds the provider's HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }
}

impl FaultClass {
    /// Whether the provider failed, rather than refused.
    const fn is_providers(self) -> bool {
        matches!(
            self,
            Self::Server | Self::Overloaded | Self::Timeout | Self::Connection | Self::Malformed
        )
    }

    /// The kind that a failure has by its status and by a name that the body gives it. A name may
    /// say more than the status and never the opposite: a refused request stays refused, whatever
    /// it is called, because the next backend could carry it out and bill it; a failure of the
    /// provider stays one.
    #[must_use]
    pub const fn told(status: Option<u16>, name: Option<Self>) -> Option<Self> {
        let Some(status) = status else { return name };
        let by_status = Self::of_status(status);
        let (Some(name), 400..=599) = (name, status) else {
            return match name {
                // A success that tells of a failure says nothing by its status.
                Some(_) if status < 400 => name,
                _ => Some(by_status),
            };
        };
        let agrees = match by_status {
            // A prompt that fits nowhere is the caller's, whatever a server makes of it.
            _ if matches!(name, Self::ContextTooLong) => true,
            // Limits and a lack of capacity are told by the same status (Venice).
            Self::RateLimit => !name.is_providers() || matches!(name, Self::Overloaded),
            _ => name.is_providers() == by_status.is_providers(),
        };
        // The least that can be said of a request or of a server: the status may say more.
        let is_vague = matches!(name, Self::BadRequest | Self::Server);
        if agrees && !is_vague {
            Some(name)
        } else {
            Some(by_status)
        }
    }

    /// The name in receipts and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::ContextTooLong => "context_too_long",
            Self::Authentication => "authentication",
            Self::Payment => "payment",
            Self::Permission => "permission",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Unprocessable => "unprocessable",
            Self::RateLimit => "rate_limit",
            Self::Server => "server",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Malformed => "malformed",
        }
    }

    /// The kind that an HTTP status alone tells.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            402 => Self::Payment,
            403 => Self::Permission,
            404 | 410 => Self::NotFound,
            408 | 504 | 524 => Self::Timeout,
            409 => Self::Conflict,
            413 => Self::TooLarge,
            422 => Self::Unprocessable,
            429 => Self::RateLimit,
            503 | 529 => Self::Overloaded,
            400..=499 => Self::BadRequest,
            _ => Self::Server,
        }
    }
}

#[cfg(test)]
mod tests;
