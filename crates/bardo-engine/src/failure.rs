//! The classification of failed tries, and the retries that each class allows. The table in
//! `docs/retries.md` is this file in words.

use std::time::Duration;

use bardo_providers::transport::ConnectError;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;

/// Why a try failed, and what that allows.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    /// Which backends the gateway may call after it.
    pub(crate) retry: RetryDecision,
}

/// The retries that a failed try allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// The request would fail at every backend.
    Never,
    /// Surely nothing was done and nothing billed: the same backend may be asked again, not before
    /// this time has passed, or another one at once.
    Same {
        /// Time that the provider named, if it named one.
        after: Option<Duration>,
    },
    /// The backend refused; another one may be called.
    Other,
    /// The request may have been carried out; asking anybody again could pay twice.
    Unknown,
    /// The outcome is unknown, on an idle connection that the provider closed before any byte of
    /// the answer. The gateway does not repeat the request; the caller may.
    Stale,
}

impl RetryDecision {
    /// Whether the request may have been carried out.
    pub(crate) const fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::Stale)
    }
}

/// A refusal of a provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProviderRefusal {
    /// The status of its answer.
    pub(crate) status: u16,
    /// The words are a web page: something in front of the provider speaks, not the provider.
    pub(crate) page: bool,
    /// Service that was called.
    pub(crate) service: Service,
    /// The call draws on an account of ours there.
    pub(crate) account: bool,
}

impl Failure {
    /// Nothing of the request was sent to `address`. Only the operator is told where that is.
    pub(crate) fn unsent(error: &ConnectError, address: Option<&str>) -> Self {
        let retry = match error {
            // What a name means, and whom a certificate is for, does not change within a second.
            ConnectError::Resolve(_) | ConnectError::Private | ConnectError::Tls(_) => {
                RetryDecision::Other
            }
            ConnectError::Tcp(_)
            | ConnectError::Http(_)
            | ConnectError::Timeout(_)
            | ConnectError::Closed => RetryDecision::Same { after: None },
        };
        let message = match address {
            Some(address) => format!("cannot reach the provider at {address}: {error}"),
            None => format!("cannot reach the provider: {error}"),
        };
        Self {
            fault: Fault::new(FaultClass::Connection, message),
            retry,
        }
    }

    /// The provider answered with an error status.
    pub(crate) fn refused(mut fault: Fault, refusal: ProviderRefusal) -> Self {
        let ProviderRefusal {
            status,
            page,
            service,
            account,
        } = refusal;
        // On BlockRun's account rail a call that ends in a server error may be billed all the same;
        // calls paid one by one never are.
        let may_be_billed = service == Service::BlockRun && account && status >= 500;
        if status == 425 {
            // "Too early" is no fault of the request.
            fault.class = FaultClass::Overloaded;
        }
        let busy = matches!(fault.class, FaultClass::RateLimit | FaultClass::Overloaded);
        let retry = match status {
            // Refused before any work, by everybody's definition of these.
            425 | 429 | 503 | 529 if busy => RetryDecision::Same {
                after: fault.retry_after_ms.map(Duration::from_millis),
            },
            _ if may_be_billed => RetryDecision::Unknown,
            // A proxy lost patience; what is behind it may still be at work.
            504 | 524 if page => RetryDecision::Unknown,
            _ => return Self::reported(fault),
        };
        Self { fault, retry }
    }

    /// The failure that a provider's own words amount to, wherever they stand: in the body of an
    /// error, inside a 200, in a stream before its first content.
    pub(crate) fn reported(fault: Fault) -> Self {
        let retry = match fault.class {
            FaultClass::BadRequest
            | FaultClass::ContextTooLong
            | FaultClass::TooLarge
            | FaultClass::Conflict
            | FaultClass::Unprocessable => RetryDecision::Never,
            FaultClass::Authentication
            | FaultClass::Payment
            | FaultClass::Permission
            | FaultClass::NotFound
            | FaultClass::RateLimit
            | FaultClass::Server
            | FaultClass::Overloaded
            | FaultClass::Timeout => RetryDecision::Other,
            FaultClass::Connection | FaultClass::Malformed => RetryDecision::Unknown,
        };
        Self { fault, retry }
    }

    /// Whether it counts against the backend.
    pub(crate) fn blame(&self, service: Service) -> Attribution {
        match self.fault.class {
            // Cut off after the request was sent, it was there at least.
            FaultClass::Connection if !self.retry.is_unknown() => Attribution::Unreachable,
            // In its own words it would have been told, and so known.
            FaultClass::Timeout if self.retry.is_unknown() => Attribution::Silent,
            _ => blame(&self.fault, service),
        }
    }

    /// The provider closed an idle connection while the request went out on it.
    pub(crate) fn stale() -> Self {
        let message = "the provider closed the idle connection as the request was sent";
        Self {
            fault: Fault::new(FaultClass::Connection, message),
            retry: RetryDecision::Stale,
        }
    }

    /// Nobody can tell whether the request was carried out.
    pub(crate) fn unknown(class: FaultClass, message: &'static str) -> Self {
        Self {
            fault: Fault::new(class, message),
            retry: RetryDecision::Unknown,
        }
    }
}

/// The evidence of a failure about the backend itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribution {
    /// The backend could not be reached.
    Unreachable,
    /// The backend received the request and did not answer in time.
    Silent,
    /// The backend reported a failure.
    Backend,
    /// The backend works, and refused this request or this key.
    Nobody,
}

/// Whether a failure of this class is of the backend's own making.
pub(crate) const fn is_the_backends(class: FaultClass) -> bool {
    matches!(
        class,
        FaultClass::Server
            | FaultClass::Overloaded
            | FaultClass::Timeout
            | FaultClass::Connection
            | FaultClass::Malformed
    )
}

/// Whether a failure counts against the backend. What a caller, a key or a rate limit brings about
/// never does, or one caller could take a model away from all.
pub(crate) fn blame(fault: &Fault, service: Service) -> Attribution {
    match fault.class {
        FaultClass::Overloaded if is_unroutable(fault, service) => Attribution::Nobody,
        class if is_the_backends(class) => Attribution::Backend,
        _ => Attribution::Nobody,
    }
}

/// OpenRouter's 503 when none of its own providers meets what the request demands of them.
fn is_unroutable(fault: &Fault, service: Service) -> bool {
    if service != Service::OpenRouter || fault.status != Some(503) {
        return false;
    }
    let words = fault.message.to_ascii_lowercase();
    [
        "routing requirement",
        "no allowed providers",
        "no endpoints",
    ]
    .iter()
    .any(|told| words.contains(told))
}

#[cfg(test)]
mod tests;
