//! What an operator does to keys and money: one set of actions behind the command line and the
//! admin API. Each answers JSON, and each change is a change of the store, so it holds for every
//! process that shares it.

mod keys;
mod money;
pub(crate) mod payments;
mod provider_payments;
mod scopes;
mod usage;

use std::sync::Arc;

use bardo_access::{KeyError, KeyStore, PresentedKey};
use bardo_ledger::claims::ClaimStore;
use bardo_ledger::{Ledger, LedgerRefusal, StoreError};
use bardo_types::clock::Clock;
use bardo_types::ids::{AccountId, KeyId};

use crate::alerts::AlertBoard;
use crate::funds::FundsBoard;
use crate::series::SeriesSpans;
use crate::usage::BadParameter;

pub(crate) use keys::{KeyChange, KeySpec, fresh_name};
pub(crate) use money::{BillResolution, balance_json};
pub(crate) use usage::{FoundReceipt, ReceiptSums};

/// Acts on the stores.
#[derive(Clone)]
pub(crate) struct Operator {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) keys: Arc<dyn KeyStore>,
    /// Claims on signed payments.
    pub(crate) claims: Arc<dyn ClaimStore>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Time for which series are stored.
    pub(crate) series: SeriesSpans,
    /// The alerts of this process.
    pub(crate) alerts: Arc<AlertBoard>,
    /// What pays the providers.
    pub(crate) funds: Arc<FundsBoard>,
}

/// Why an action was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperatorError {
    /// The action is invalid; the text says what is valid.
    #[error("{0}")]
    Invalid(String),
    /// A parameter is invalid; the text says what is valid.
    #[error(transparent)]
    Parameter(#[from] BadParameter),
    /// Another change came first; the text says what to look at.
    #[error("{0}")]
    Conflict(String),
    /// There is no such key or account.
    #[error("no key or account has the id `{0}`; list keys: bardo-gateway keys list")]
    Unknown(String),
    /// There is no such payment.
    #[error("no payment has the id `{0}`; list payments: GET /admin/payments")]
    NoPayment(String),
    /// The store does not answer.
    #[error("{0}")]
    Unavailable(String),
}

impl From<StoreError> for OperatorError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<KeyError> for OperatorError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown(id) => Self::Unknown(id.to_string()),
            KeyError::Exists(_) => Self::Invalid(error.to_string()),
            KeyError::Changed(_) => Self::Conflict(error.to_string()),
            KeyError::Unavailable(_) => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<LedgerRefusal> for OperatorError {
    fn from(refusal: LedgerRefusal) -> Self {
        Self::Invalid(refusal.to_string())
    }
}

impl Operator {
    /// The account of a name as [`Self::account`] finds it, or a new one of this name.
    pub(crate) async fn payee(
        &self,
        name: &str,
        unseen: Unseen,
    ) -> Result<AccountId, OperatorError> {
        match self.account(name).await {
            Err(OperatorError::Unknown(_))
                if unseen == Unseen::Make && PresentedKey::parse(name).is_none() =>
            {
                AccountId::parse(name).map_err(|error| OperatorError::Invalid(error.to_string()))
            }
            found => found,
        }
    }

    /// Refuses the id of a key that the store does not know.
    pub(crate) async fn check_key(&self, id: &KeyId) -> Result<(), OperatorError> {
        match self.keys.find(id).await? {
            Some(_) => Ok(()),
            None => Err(OperatorError::Unknown(id.to_string())),
        }
    }

    /// The account of a name: a key (its id or its text), or an account.
    pub(crate) async fn account(&self, name: &str) -> Result<AccountId, OperatorError> {
        let unknown = || OperatorError::Unknown(shown(name));
        let id = match PresentedKey::parse(name) {
            Some(key) => {
                key.map_err(|error| OperatorError::Invalid(error.to_string()))?
                    .id
            }
            None => KeyId::parse(name).map_err(|_| unknown())?,
        };
        if let Some(record) = self.keys.find(&id).await? {
            return Ok(record.account);
        }
        let account = AccountId::parse(name).map_err(|_| unknown())?;
        // An account without a deposit exists as soon as it has a key.
        let exists = self.ledger.balance(&account).await?.is_some()
            || !self.keys.list(Some(&account)).await?.is_empty();
        match exists {
            true => Ok(account),
            false => Err(unknown()),
        }
    }
}

/// Whether an unknown name may create an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Unseen {
    #[default]
    Refuse,
    Make,
}

impl Unseen {
    /// Permission of a flag to create an account.
    pub(crate) const fn of(may_create: bool) -> Self {
        if may_create { Self::Make } else { Self::Refuse }
    }
}

/// A name as errors may show it: never the secret part of a key.
fn shown(name: &str) -> String {
    match PresentedKey::parse(name) {
        Some(Ok(key)) => key.id.to_string(),
        Some(Err(_)) => "(a malformed key)".to_owned(),
        None => name.chars().take(64).collect(),
    }
}
