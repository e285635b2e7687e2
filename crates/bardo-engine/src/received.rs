//! A request as the edge hands it over, with its caller and payer.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_access::PayerTerms;
use bardo_types::ids::{AccountId, InvalidId, KeyId, RequestId};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::PaymentMode;
use bytes::Bytes;
use http::HeaderMap;

use crate::hints::Hints;

/// The kind of work that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Generate an answer.
    Generate,
    /// The size of the prompt (`count_tokens`, `responses/input_tokens`).
    CountTokens,
    /// Compute vectors of texts.
    Embeddings,
}

/// The identity of the caller, as the authenticator established it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The account; partitions everything that is remembered.
    pub account: AccountId,
    /// The party that pays for the request.
    pub payer: Payer,
}

/// The party that pays for billed requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payer {
    /// The operator calls: metered, not charged.
    Owner,
    /// The account of the caller is charged, within these terms.
    Prepaid(Arc<PayerTerms>),
}

impl Principal {
    /// The operator, under a name of its own configuration.
    ///
    /// # Errors
    /// When the name is no id.
    pub fn owner(name: &str) -> Result<Self, InvalidId> {
        Ok(Self {
            account: AccountId::parse(name)?,
            payer: Payer::Owner,
        })
    }

    /// Whether the whole worst case of a request is held and stored before anything is sent.
    pub(crate) fn settles_first(&self) -> bool {
        match &self.payer {
            Payer::Owner => false,
            Payer::Prepaid(terms) => terms.settles_first,
        }
    }

    /// Whether the caller pays for each request by itself.
    pub(crate) fn pays_per_request(&self) -> bool {
        matches!(&self.payer, Payer::Prepaid(terms) if terms.per_request.is_some())
    }

    /// The delegation by which the caller spends the money of another account.
    pub(crate) fn delegation(&self) -> Option<&KeyId> {
        match &self.payer {
            Payer::Owner => None,
            Payer::Prepaid(terms) => terms.delegated.as_ref().map(|one| &one.counted_as),
        }
    }

    /// Whose prompts a cache of a provider may serve together: the account, or the delegation alone,
    /// since whoever spends by it may learn nothing of what the account asks.
    pub(crate) fn prompts_of(&self) -> Cow<'_, str> {
        let account = self.account.as_str();
        match self.delegation() {
            None => Cow::Borrowed(account),
            // The id of an account has no slash.
            Some(name) => Cow::Owned(format!("{account}/{name}")),
        }
    }

    /// The name of an `Idempotency-Key` of the caller within its account: a delegation has keys of its
    /// own, since whoever spends by it may learn nothing of what the account asks.
    #[must_use]
    pub fn idempotency_name<'a>(&self, key: &'a str) -> Cow<'a, str> {
        match self.delegation() {
            None => Cow::Borrowed(key),
            // No key has a line break.
            Some(name) => Cow::Owned(format!("{name}\n{key}")),
        }
    }

    /// Whether the caller spends the money of another account by a delegation.
    pub(crate) fn spends_of_another(&self) -> bool {
        self.delegation().is_some()
    }

    /// The least that an answer with content is charged.
    pub(crate) fn minimum_charge(&self) -> MicroUsd {
        match &self.payer {
            Payer::Owner => MicroUsd::ZERO,
            Payer::Prepaid(terms) => terms
                .per_request
                .map_or(MicroUsd::ZERO, |paid| paid.minimum),
        }
    }

    /// How an answer is paid for; `direct`: its backend is not billed.
    pub(crate) fn payment_mode(&self, direct: bool) -> PaymentMode {
        match &self.payer {
            _ if direct => PaymentMode::Direct,
            Payer::Owner => PaymentMode::Owner,
            Payer::Prepaid(_) => PaymentMode::Prepaid,
        }
    }
}

/// A request whose head and body have been read, within their limits.
#[derive(Debug)]
pub struct Received {
    /// Its id, made for it and never used before.
    pub request_id: RequestId,
    /// The caller's own id for it, which it may have used before.
    pub client_request_id: Option<Arc<str>>,
    /// The kind of work that is requested.
    pub task: Task,
    /// The caller's dialect.
    pub dialect: Dialect,
    /// The body as written.
    pub body: Bytes,
    /// The few headers that may travel on: `anthropic-version`, `anthropic-beta`, `traceparent`….
    pub forward: HeaderMap,
    /// Hints from headers; hints in the body win over them.
    pub hints: Hints,
    /// The identity of the caller.
    pub principal: Principal,
    /// The address that the caller asked, where requests are for sale.
    pub url: Option<Arc<str>>,
}
