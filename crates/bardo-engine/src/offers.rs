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
}

/// Asks callers to pay for single requests. Without an implementation such callers are refused for
/// want of money.
pub trait Offers: Send + Sync {
    /// The headers and members that show the caller how to pay for the request; `None` where the
    /// request is not for sale, and the caller is refused.
    fn requirement<'a>(
        &'a self,
        request: PricedRequest<'a>,
    ) -> BoxFuture<'a, Option<PaymentRequirement>>;
}
