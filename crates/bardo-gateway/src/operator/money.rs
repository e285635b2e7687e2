use std::sync::Arc;

use bardo_ledger::claims::audit_claims;
use bardo_ledger::{
    Balance, Charge, Deposit, End, HoldState, HoldView, Posting, PostingKind, PromptCacheFigures,
    ReceiptRecord, Settle,
};
use bardo_types::calendar::rfc3339;
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use serde_json::{Value, json};

use super::{Operator, OperatorError};

/// How many postings are read at once.
const PAGE: u32 = 1_000;

/// The decision on a request with an unknown outcome.
#[derive(Debug, Clone)]
pub(crate) enum BillResolution {
    /// The provider did not bill it.
    Release,
    /// The provider billed this amount; the spread is included.
    Charge(MicroUsd),
}

impl Operator {
    /// The balance of an account.
    pub(crate) async fn balance(&self, account: &AccountId) -> Result<Value, OperatorError> {
        let balance = self.ledger.balance(account).await?.unwrap_or_default();
        Ok(balance_json(account, &balance))
    }

    /// Deposits money. A second deposit with the same reference adds nothing.
    pub(crate) async fn deposit(
        &self,
        account: AccountId,
        amount: MicroUsd,
        reference: Option<String>,
    ) -> Result<Value, OperatorError> {
        let invalid = |text: &str| Err(OperatorError::Invalid(text.to_owned()));
        if amount == MicroUsd::ZERO {
            return invalid("`usd` must be above 0");
        }
        let is_named = reference.is_some();
        let reference =
            reference.unwrap_or_else(|| format!("operator:{}", super::keys::fresh_name()));
        if reference.is_empty() || reference.len() > 200 || reference.chars().any(char::is_control)
        {
            return invalid("`reference` must have 1 to 200 printable characters");
        }
        let before = if is_named {
            self.deposited(&account, &reference).await?
        } else {
            None
        };
        if let Some(before) = before.filter(|&before| before != amount) {
            return Err(OperatorError::Invalid(format!(
                "the reference `{reference}` belongs to a deposit of {before} USD, not of {amount} USD; use another reference"
            )));
        }
        let command = Deposit {
            account: account.clone(),
            amount,
            reference: reference.clone(),
            now_ms: self.clock.now_ms(),
        };
        let balance = self.ledger.deposit(command).await??;
        let mut shown = balance_json(&account, &balance);
        shown["reference"] = json!(reference);
        shown["repeated"] = json!(before.is_some());
        Ok(shown)
    }

    /// The amount deposited with a reference, if any.
    async fn deposited(
        &self,
        account: &AccountId,
        reference: &str,
    ) -> Result<Option<MicroUsd>, OperatorError> {
        let mut after = 0;
        loop {
            let page = self.ledger.postings(account, after, PAGE).await?;
            let found = page.iter().find(|posting| {
                posting.kind == PostingKind::Deposit
                    && posting.amount > 0
                    && posting.reference == reference
            });
            if let Some(posting) = found {
                return Ok(Some(MicroUsd::new(posting.amount.unsigned_abs())));
            }
            match page.last().map(|posting| posting.transfer) {
                Some(last) if last > after => after = last,
                _ => return Ok(None),
            }
        }
    }

    /// Every posting of an account's transfers, oldest first.
    pub(crate) async fn postings(&self, account: &AccountId) -> Result<Vec<Value>, OperatorError> {
        let mut all = Vec::new();
        let mut after = 0;
        loop {
            let page = self.ledger.postings(account, after, PAGE).await?;
            let Some(last) = page.last().map(|posting| posting.transfer) else {
                return Ok(all);
            };
            all.extend(page.iter().map(posting_json));
            if last <= after {
                return Ok(all);
            }
            after = last;
        }
    }

    /// Verifies the books, and holds payments of callers and to providers against them. The flag is
    /// for exit codes. The time depends on the number of postings and receipts.
    pub(crate) async fn verify(&self) -> Result<(bool, Value), OperatorError> {
        let mut found = self.ledger.verify().await?;
        let payments = audit_claims(&*self.claims, &*self.ledger).await?;
        found.problems.extend(payments);
        let to_providers = self.provider_payments().await?;
        let provider_payments = to_providers.json();
        found.problems.extend(to_providers.into_problems());
        let ok = found.problems.is_empty();
        let shown = json!({
            "ok": ok,
            "accounts": found.accounts,
            "postings": found.postings,
            "holds": found.holds,
            "provider_payments": provider_payments,
            "problems": found.problems,
        });
        Ok((ok, shown))
    }

    /// Holds with an unknown outcome.
    pub(crate) async fn unknown(&self) -> Result<Vec<Value>, OperatorError> {
        let holds = self.ledger.holds(None).await?;
        let mut shown = Vec::new();
        for hold in holds.iter().filter(|one| one.state == HoldState::Unknown) {
            let receipt = self.ledger.receipt(&hold.account, hold.request.as_str());
            shown.push(hold_json(hold, receipt.await?.as_deref()));
        }
        Ok(shown)
    }

    /// Ends a hold whose outcome was unknown.
    pub(crate) async fn reconcile(
        &self,
        request: &str,
        resolution: BillResolution,
        provider: Option<String>,
    ) -> Result<Value, OperatorError> {
        let request =
            RequestId::parse(request).map_err(|error| OperatorError::Invalid(error.to_string()))?;
        let holds = self.ledger.holds(None).await?;
        let hold = holds
            .iter()
            .find(|hold| hold.request == request && hold.state == HoldState::Unknown)
            .ok_or_else(|| {
                OperatorError::Invalid(format!(
                    "no request with an unknown outcome has the id `{request}`; list them: bardo-gateway reconcile"
                ))
            })?;
        let end = match resolution {
            BillResolution::Release => End::Release,
            BillResolution::Charge(amount) if amount > hold.amount => {
                return Err(OperatorError::Invalid(format!(
                    "{amount} USD is more than the hold of {} USD; charge at most the hold",
                    hold.amount
                )));
            }
            BillResolution::Charge(amount) => End::Capture(Charge {
                provider: Arc::from(provider.as_deref().unwrap_or("reconciled")),
                provider_cost: amount,
                spread: MicroUsd::ZERO,
            }),
        };
        let receipt = self.ledger.receipt(&hold.account, request.as_str()).await?;
        let record = receipt.and_then(|json| decided(&json, hold, &end));
        let settled = self
            .ledger
            .settle(Settle {
                account: hold.account.clone(),
                request: request.clone(),
                end,
                record,
                now_ms: self.clock.now_ms(),
            })
            .await?;
        // Somebody else decided at the same moment.
        if settled.repeated {
            return Err(OperatorError::Invalid(format!(
                "the request `{request}` is decided already: {} USD are charged",
                settled.charged
            )));
        }
        Ok(json!({
            "request_id": request.as_str(),
            "account": hold.account.as_str(),
            "charged": settled.charged.to_string(),
            "available": settled.available.to_string(),
        }))
    }
}

/// The receipt of a request with an unknown outcome after the decision: it shows the charge. `None`
/// if the receipt cannot be read; then it stays as it is.
fn decided(json: &str, hold: &HoldView, end: &End) -> Option<ReceiptRecord> {
    let mut receipt: Value = serde_json::from_str(json).ok()?;
    let (provider_cost, charge) = match end {
        End::Capture(charge) => (
            charge.provider_cost,
            charge.provider_cost.checked_add(charge.spread)?,
        ),
        End::Release | End::Unknown => (MicroUsd::ZERO, MicroUsd::ZERO),
    };
    receipt["reconciled"] = json!(true);
    let cost = &mut receipt["cost"];
    cost["provider_cost"] = json!(provider_cost.to_string());
    cost["spread"] = json!(charge.saturating_sub(provider_cost).to_string());
    cost["charge"] = json!(charge.to_string());
    let text = |name: &str| receipt[name].as_str();
    let tokens = |name: &str| receipt["usage"][name].as_u64().unwrap_or(0);
    Some(ReceiptRecord {
        request: hold.request.clone(),
        client_request_id: text("client_request_id").map(Arc::from),
        account: hold.account.clone(),
        key: text("key").and_then(|key| KeyId::parse(key).ok()),
        at_ms: receipt["created_ms"].as_u64()?,
        model: Arc::from(text("model")?),
        provider: Arc::from(text("provider")?),
        outcome: "unknown",
        input_tokens: tokens("input_tokens"),
        output_tokens: tokens("output_tokens"),
        provider_cost: Some(provider_cost),
        charge,
        savings: MicroUsd::ZERO,
        subsystem: text("subsystem").map(Arc::from),
        session: text("session").map(Arc::from),
        prompt_cache: PromptCacheFigures {
            read_tokens: tokens("cache_read_tokens"),
            written_tokens: tokens("cache_write_5m_tokens")
                .saturating_add(tokens("cache_write_1h_tokens")),
            saved: SignedMicroUsd::ZERO,
        },
        json: receipt.to_string().into(),
        details: None,
    })
}

/// A balance as every surface shows it.
pub(crate) fn balance_json(account: &AccountId, balance: &Balance) -> Value {
    json!({
        "account": account.as_str(),
        "currency": "USD",
        "deposited": balance.deposited.to_string(),
        "spent": balance.spent.to_string(),
        "held": balance.held.to_string(),
        "available": balance.available.to_string(),
        "micro": {
            "deposited": balance.deposited.get(),
            "spent": balance.spent.get(),
            "held": balance.held.get(),
            "available": balance.available.get(),
        },
    })
}

fn posting_json(posting: &Posting) -> Value {
    json!({
        "transfer": posting.transfer,
        "at_ms": posting.at_ms,
        "kind": posting.kind.as_str(),
        "book": posting.book,
        "amount": signed(posting.amount),
        "amount_micro": posting.amount,
        "reference": posting.reference,
    })
}

/// A hold with an unknown outcome, with facts of its receipt.
fn hold_json(hold: &HoldView, receipt: Option<&str>) -> Value {
    let receipt: Value = receipt
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    json!({
        "request_id": hold.request.as_str(),
        "account": hold.account.as_str(),
        "held": hold.amount.to_string(),
        "created": rfc3339(hold.created_at_ms),
        "created_at_ms": hold.created_at_ms,
        "model": receipt["model"],
        "provider": receipt["provider"],
    })
}

fn signed(micro: i64) -> String {
    let sign = if micro < 0 { "-" } else { "" };
    format!("{sign}{}", MicroUsd::new(micro.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn amounts_of_postings_have_a_sign_and_six_digits() {
        assert_eq!(signed(-1_858), "-0.001858");
        assert_eq!(signed(10_000_000), "10.000000");
    }
}
