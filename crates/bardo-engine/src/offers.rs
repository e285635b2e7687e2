//! The port for selling single requests to callers whose account does not pay for them.

use bardo_access::BoxFuture;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;

use crate::error::PaymentRequirement;
use crate::received::{Principal, Task};

/// A request with its price, as it would be sold.
#[derive(Debug, Clone, Copy)]
pub struct PricedRequest<'a> {
    /// The caller and its terms.
    pub principal: &'a Principal,
    /// The kind of work that is requested.
    pub task: Task,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// Model as the caller named it.
    pub model: &'a str,
    /// The most that the request can cost at any backend of its plan, spread included.
    pub price: MicroUsd,
    /// The address that the caller asked.
    pub url: &'a str,
    /// The body as written.
    pub body: &'a [u8],
    /// Whether the caller wants an event stream.
    pub stream: bool,
    /// Tokens of the prompt, rather too many than too few.
    pub prompt_tokens: u64,
    /// Tokens of output that the price pays for; `None`: of an answer without a limit.
    pub output_tokens: Option<u64>,
    /// Id of the model that the plan tries first.
    pub routed: &'a str,
    /// Whether a stored answer may serve the request once it is paid for.
    pub cache_eligible: bool,
}

/// Asks callers to pay for single requests. Without an implementation such callers are refused for
/// want of money.
pub trait Offers: Send + Sync {
    /// The most that one payment may be. An answer whose length the caller left open gets a limit
    /// that keeps it below; other requests above it are refused.
    fn ceiling(&self) -> MicroUsd;

    /// The headers and members that show the caller how to pay for the request; `None` where the
    /// request is not for sale, and the caller is refused.
    fn requirement<'a>(
        &'a self,
        request: PricedRequest<'a>,
    ) -> BoxFuture<'a, Option<PaymentRequirement>>;
}
