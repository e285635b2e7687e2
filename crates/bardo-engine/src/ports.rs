//! What stages around the plan are extended by: screens and preparers belong to the configuration,
//! answer stores to the engine. Each list may be empty; then its stage does nothing.

use std::sync::Arc;

use std::time::Duration;

use bardo_access::BoxFuture;
use bardo_types::chat::ChatRequest;
use bardo_types::fault::Fault;
use bardo_types::ids::AccountId;
use bardo_types::model::Dialect;
use bardo_wire::codec::BadRequest;
use bytes::Bytes;

use crate::received::Principal;

/// A request as screens and preparers see it.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The caller and its payer.
    pub principal: &'a Principal,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The whole request in neutral form, earlier turns included.
    pub request: &'a ChatRequest,
}

/// Looks at requests before anything is planned, held or sent, and refuses some of them.
pub trait Screen: Send + Sync {
    /// Whether requests of this caller are looked at. Where no screen covers a caller, its requests
    /// are not decoded for this stage.
    fn covers(&self, principal: &Principal) -> bool;

    /// Looks at one request.
    ///
    /// # Errors
    /// Why the request is refused.
    fn check<'a>(&'a self, prompt: Prompt<'a>) -> BoxFuture<'a, Result<(), ScreenRefusal>>;
}

/// Why a screen refused a request, for its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenRefusal {
    /// The member of the request that is at fault, empty where it is none in particular.
    pub param: String,
    /// The reason, and what the caller can do. It quotes nothing that the caller may not know.
    pub message: String,
}

/// Changes requests before anything is planned: leaves out tools, compresses history.
pub trait Preparer: Send + Sync {
    /// Whether requests of this caller are prepared.
    fn covers(&self, principal: &Principal) -> bool;

    /// The request as it shall be sent; `None` leaves it as it is. A changed request is translated,
    /// never relayed.
    fn prepare<'a>(&'a self, prompt: Prompt<'a>) -> BoxFuture<'a, Option<ChatRequest>>;
}

/// The screens and preparers that a configuration registers, in their order.
#[derive(Clone, Default)]
pub struct Stages {
    /// All of them have to let a request pass.
    pub screens: Vec<Arc<dyn Screen>>,
    /// Each gets what the one before made of the request.
    pub preparers: Vec<Arc<dyn Preparer>>,
}

/// Makes vectors of texts in this process, for the backend without an address.
pub trait OwnVectors: Send + Sync {
    /// Checks the body of a `POST /v1/embeddings` before anything is done for it.
    ///
    /// # Errors
    /// When the model cannot answer the request, with the member at fault and the remedy.
    fn check(&self, body: &[u8]) -> Result<(), BadRequest>;

    /// Answers the body of a `POST /v1/embeddings` of an account in OpenAI's form, within `at_most`.
    ///
    /// # Errors
    /// What a provider would report. A fault with a code of the gateway's own is a refusal, and no
    /// failure of the model.
    fn answer<'a>(
        &'a self,
        account: &'a AccountId,
        body: &'a [u8],
        at_most: Duration,
    ) -> BoxFuture<'a, Result<Bytes, Fault>>;
}
