//! Payments of callers (x402), as operators read them, and debts that they write off.

use std::sync::Arc;

use bardo_ledger::claims::{
    ClaimBook, ClaimQuery, ClaimRecord, ClaimStage, ClaimStep, ClaimTotals, DebtEnd, StepBy,
    WalletId, WalletRecord,
};
use bardo_types::ids::{AccountId, RequestId};
use bardo_types::money::MicroUsd;
use serde_json::{Map, Value, json};

use super::{Operator, OperatorError};
use crate::usage::{BadParameter, Parameters, covered};

/// Columns of payments in a file.
pub(crate) const PAYMENT_COLUMNS: [&str; 13] = [
    "id",
    "created_at",
    "status",
    "scheme",
    "payer",
    "account",
    "authorized_usd",
    "charged_usd",
    "settled_usd",
    "booked_usd",
    "debt_usd",
    "transaction",
    "reason",
];

/// Columns of wallets in a file.
pub(crate) const WALLET_COLUMNS: [&str; 7] = [
    "wallet",
    "account",
    "open",
    "exposure_usd",
    "settlements",
    "settled_usd",
    "debt_usd",
];

/// The filter `stage` that admits open debts alone.
const DEBTS: &str = "debts";

/// The filters of a list of payments.
pub(crate) const PAYMENT_FILTERS: &str = "stage, wallet, account, since, from, to";

/// Reads the filters of a list of payments.
pub(crate) fn payment_filter(
    parameters: &mut Parameters,
    now_ms: u64,
) -> Result<ClaimQuery, BadParameter> {
    let mut query = ClaimQuery::default();
    match parameters.take("stage").as_deref() {
        None => {}
        Some(DEBTS) => query.only_debts = true,
        Some(name) => query.stage = Some(ClaimStage::named(name).ok_or_else(no_stage)?),
    }
    query.wallet = wallet(parameters, "wallet")?;
    let account = parameters.take("account").map(|name| {
        let bad = |_| BadParameter::new("account", "`account` must be the id of an account");
        AccountId::parse(&name).map_err(bad)
    });
    query.account = account.transpose()?;
    if parameters.has(&["since", "from", "to"]) {
        let (_, period) = covered(parameters, now_ms)?;
        (query.since_ms, query.before_ms) = (Some(period.from_ms), Some(period.to_ms));
    }
    Ok(query)
}

/// Reads the name of a wallet.
pub(crate) fn wallet(
    parameters: &mut Parameters,
    name: &str,
) -> Result<Option<WalletId>, BadParameter> {
    let given = parameters.take(name).map(|text| {
        let message = format!("`{name}` must be a wallet: <chain id>:<address>");
        text.parse().map_err(|_| BadParameter::new(name, message))
    });
    given.transpose()
}

fn no_stage() -> BadParameter {
    let known: Vec<&str> = ClaimStage::ALL.iter().map(|stage| stage.as_str()).collect();
    let message = format!("`stage` must be {DEBTS} or one of {}", known.join(", "));
    BadParameter::new("stage", message)
}

/// Payments of one page, the newest first.
pub(crate) struct PaymentList {
    pub(crate) claims: Vec<ClaimRecord>,
    /// The number below which the next page begins; `None`: it is the last one.
    pub(crate) next: Option<u64>,
}

impl Operator {
    /// Lists payments, the newest first.
    pub(crate) async fn payments(&self, query: ClaimQuery) -> Result<PaymentList, OperatorError> {
        let limit = query.limit as usize;
        let claims = self.claims.claims(query).await?;
        let last = claims.last().filter(|_| claims.len() >= limit);
        let next = last.map(|claim| claim.no);
        Ok(PaymentList { claims, next })
    }

    /// Sums over all payments.
    pub(crate) async fn payment_totals(&self) -> Result<ClaimTotals, OperatorError> {
        Ok(self.claims.totals().await?)
    }

    /// One payment, by the id of its request.
    pub(crate) async fn payment(&self, id: &str) -> Result<ClaimRecord, OperatorError> {
        let missing = || OperatorError::NoPayment(id.chars().take(128).collect());
        let query = ClaimQuery {
            request: Some(RequestId::parse(id).map_err(|_| missing())?),
            limit: 1,
            ..ClaimQuery::default()
        };
        let found = self.claims.claims(query).await?.pop();
        found.ok_or_else(missing)
    }

    /// Wallets in the order of their names, after one of them.
    pub(crate) async fn wallets(
        &self,
        after: Option<WalletId>,
        limit: u32,
    ) -> Result<Vec<WalletRecord>, OperatorError> {
        Ok(self.claims.wallets(after, limit).await?)
    }

    /// Writes the debt of a payment off. `place` says where the operator did it.
    pub(crate) async fn write_off(
        &self,
        id: &str,
        place: &str,
        reason: &str,
    ) -> Result<ClaimRecord, OperatorError> {
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > 500 || reason.chars().any(char::is_control) {
            let message = "`reason` must have 1 to 500 printable characters";
            return Err(OperatorError::Invalid(message.to_owned()));
        }
        let claim = self.payment(id).await?;
        if claim.debt() == MicroUsd::ZERO {
            return Err(OperatorError::Conflict(format!(
                "the payment `{id}` has no open debt"
            )));
        }
        let end = ClaimStep::EndDebt(DebtEnd::WrittenOff {
            reason: format!("{place}: {reason}"),
        });
        let claims = ClaimBook::new(Arc::clone(&self.claims));
        let now_ms = self.clock.now_ms();
        let ended = claims.step(&claim.key, &StepBy::Operator, &end, now_ms);
        ended
            .await?
            .map_err(|refusal| OperatorError::Conflict(refusal.to_string()))?;
        tracing::info!(%id, reason, "a debt is written off");
        self.payment(id).await
    }
}

/// A payment as operators read it: as its payer does, with the end of its debt.
pub(crate) fn payment_row(claim: &ClaimRecord) -> Map<String, Value> {
    let mut shown = bardo_seller::payment_view(claim);
    shown["debt_end"] = json!(claim.debt_end);
    shown.as_object().cloned().unwrap_or_default()
}

/// A wallet with its sums.
pub(crate) fn wallet_row(record: &WalletRecord) -> Map<String, Value> {
    let shown = json!({
        "wallet": record.wallet.to_string(),
        "account": record.wallet.account().as_str(),
        "open": record.open,
        "exposure_usd": record.exposure.to_string(),
        "settlements": record.settlements,
        "settled_usd": record.settled.to_string(),
        "booked_usd": record.booked.to_string(),
        "debt_usd": record.debt.to_string(),
    });
    shown.as_object().cloned().unwrap_or_default()
}
