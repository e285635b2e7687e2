//! What pays the providers: the credit of the operator's account there, or the balance of the wallet.
//! What is unknown is shown as unknown, never as zero.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_engine::Engine;
use bardo_providers::ProviderUsage;
use bardo_providers::transport::Transport;
use bardo_telemetry::FundsGauge;
use bardo_types::calendar::rfc3339;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::config::Config;
use crate::operator::Operator;
use crate::sale::WalletBalance;
use crate::serve::ThreadRuntime;
use crate::{bankr, wallet};

/// Amounts are read this often.
pub(crate) const EVERY: Duration = Duration::from_secs(60);
/// After so many failures in a row an amount is not known any more.
pub(crate) const FAILURES: u32 = 5;

/// Where the money is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FundsKind {
    /// Prepaid at the provider.
    Credit,
    /// On a chain, in the wallet that pays each call.
    Wallet,
}

impl FundsKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Credit => "credit",
            Self::Wallet => "wallet",
        }
    }
}

/// What the provider counts for the key beside the receipts of this gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComparedUsage {
    pub(crate) provider: ProviderUsage,
    /// The sum of the receipts over as many days; `None` where the store did not tell.
    pub(crate) receipts: Option<MicroUsd>,
}

/// The money for one provider.
#[derive(Debug, Clone)]
pub(crate) struct ProviderFunds {
    pub(crate) provider: String,
    pub(crate) kind: FundsKind,
    /// The amount in USD; `None` while it is unknown.
    pub(crate) amount: Option<MicroUsd>,
    /// When the amount was read, in Unix milliseconds.
    pub(crate) read_at_ms: Option<u64>,
    /// Why the last look found nothing.
    pub(crate) error: Option<String>,
    failures: u32,
    /// An amount below this one is low, whatever the limit of alerts is.
    pub(crate) needs: Option<MicroUsd>,
    /// The budget of the day at the provider, as it says it.
    pub(crate) daily_budget: Option<Arc<RawValue>>,
    pub(crate) usage: Option<ComparedUsage>,
}

impl ProviderFunds {
    /// Funds of which nothing is known yet.
    pub(crate) fn unknown(provider: &str, kind: FundsKind) -> Self {
        Self {
            provider: provider.to_owned(),
            kind,
            amount: None,
            read_at_ms: None,
            error: None,
            failures: 0,
            needs: None,
            daily_budget: None,
            usage: None,
        }
    }

    /// Notes a look at the amount. A few failures leave the last amount, with its time.
    pub(crate) fn note(&mut self, read: Result<MicroUsd, String>, now_ms: u64) {
        match read {
            Ok(amount) => {
                self.amount = Some(amount);
                self.read_at_ms = Some(now_ms);
                self.error = None;
                self.failures = 0;
            }
            Err(reason) => {
                self.failures += 1;
                self.error = Some(reason);
                if self.failures >= FAILURES {
                    self.amount = None;
                    self.read_at_ms = None;
                }
            }
        }
    }

    /// Whether less than this is left, or less than one call can need; `None` while it is unknown.
    pub(crate) fn is_low(&self, limit: MicroUsd) -> Option<bool> {
        let least = self.needs.unwrap_or(limit);
        Some(self.amount? < least)
    }

    fn json(&self) -> Value {
        let usd = |amount: MicroUsd| amount.to_string();
        let budget = self.daily_budget.as_deref();
        let budget = budget.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        json!({
            "provider": self.provider,
            "kind": self.kind.as_str(),
            "usd": self.amount.map(usd),
            "read_at": self.read_at_ms.map(rfc3339),
            "error": self.error,
            "needs_usd": self.needs.map(usd),
            "daily_budget": budget,
            "usage": self.usage.map(|usage| json!({
                "days": usage.provider.days,
                "provider_usd": usd(usage.provider.cost),
                "receipts_usd": usage.receipts.map(usd),
            })),
        })
    }
}

/// What is known of all providers, for status, metrics, alerts and the console.
#[derive(Debug, Default)]
pub(crate) struct FundsBoard {
    rows: Mutex<Vec<ProviderFunds>>,
}

impl FundsBoard {
    /// The rows of all providers that are looked at, in the order of their first look.
    pub(crate) fn rows(&self) -> Vec<ProviderFunds> {
        self.locked().clone()
    }

    /// Changes the row of a provider, which is made where there is none.
    pub(crate) fn change(
        &self,
        provider: &str,
        kind: FundsKind,
        change: impl FnOnce(&mut ProviderFunds),
    ) {
        let mut rows = self.locked();
        let at = rows
            .iter()
            .position(|row| row.provider == provider && row.kind == kind);
        let at = at.unwrap_or_else(|| {
            rows.push(ProviderFunds::unknown(provider, kind));
            rows.len() - 1
        });
        change(&mut rows[at]);
    }

    /// Removes rows of a kind, except for this provider's.
    pub(crate) fn keep(&self, kind: FundsKind, provider: Option<&str>) {
        let is_kept = |row: &ProviderFunds| row.kind != kind || Some(&*row.provider) == provider;
        self.locked().retain(is_kept);
    }

    /// The rows as JSON, for `/status`.
    pub(crate) fn json(&self) -> Value {
        self.rows().iter().map(ProviderFunds::json).collect()
    }

    /// The amounts that are known, for `/metrics`.
    #[expect(clippy::cast_precision_loss, reason = "a gauge for people")]
    pub(crate) fn gauges(&self) -> Vec<FundsGauge> {
        let rows = self.rows().into_iter();
        rows.filter_map(|row| {
            Some(FundsGauge {
                usd: row.amount?.get() as f64 / 1e6,
                provider: row.provider,
                kind: row.kind.as_str(),
            })
        })
        .collect()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<ProviderFunds>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches what pays the providers, as long as the process lives.
pub(crate) fn start(
    runtime: &ThreadRuntime,
    (config, engine, transport): (&Config, &Arc<Engine>, &Transport),
    operator: Operator,
) {
    let board = Arc::clone(&operator.funds);
    let (engine, transport) = (Arc::clone(engine), transport.clone());
    // Only its address and caps are asked for: the snapshot's wallet keeps the count of the day.
    if let Ok(Some(wallet)) = wallet::open(config.providers.blockrun.as_ref(), None) {
        let balance = WalletBalance::open(config, &transport, &wallet.address());
        runtime.spawn(watch_wallet(board, balance, wallet.caps().call));
    }
    runtime.spawn(bankr::watch(engine, transport, operator));
}

/// Reads the balance of the wallet that pays BlockRun, for as long as the process lives. A wallet
/// needs as much as its largest payment.
async fn watch_wallet(
    board: Arc<FundsBoard>,
    balance: Result<WalletBalance, String>,
    call_cap: MicroUsd,
) {
    const PROVIDER: &str = "blockrun";
    loop {
        let read = match &balance {
            Ok(balance) => balance.read().await,
            Err(reason) => Err(reason.clone()),
        };
        let now_ms = SystemClock.now_ms();
        board.change(PROVIDER, FundsKind::Wallet, |row| {
            row.needs = Some(call_cap);
            row.note(read, now_ms);
        });
        if balance.is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USD: MicroUsd = MicroUsd::new(1_000_000);

    #[test]
    fn an_amount_outlives_a_few_failures_and_is_then_unknown_and_never_zero() {
        let mut funds = ProviderFunds::unknown("blockrun", FundsKind::Wallet);
        funds.needs = Some(USD);
        assert_eq!(funds.is_low(USD), None);
        funds.note(Ok(MicroUsd::new(999_999)), 7);
        assert_eq!(funds.is_low(MicroUsd::ZERO), Some(true));
        for _ in 1..FAILURES {
            funds.note(Err("no answer".to_owned()), 8);
            assert_eq!(funds.json()["usd"], "0.999999");
            assert_eq!(funds.json()["error"], "no answer");
        }
        funds.note(Err("no answer".to_owned()), 9);
        assert_eq!(funds.json()["usd"], Value::Null);
        assert_eq!(funds.json()["read_at"], Value::Null);
        assert_eq!(funds.is_low(USD), None);
        funds.note(Ok(USD), 10);
        assert_eq!(funds.is_low(USD), Some(false));
        assert_eq!(funds.error, None);
    }

    #[test]
    fn a_board_shows_known_amounts_alone_as_gauges() {
        let board = FundsBoard::default();
        board.change("bankr", FundsKind::Credit, |row| row.note(Ok(USD), 1));
        board.change("blockrun", FundsKind::Wallet, |row| {
            row.note(Err("no".to_owned()), 1);
        });
        assert_eq!(board.gauges().len(), 1);
        assert_eq!(board.rows().len(), 2);
        board.keep(FundsKind::Credit, None);
        assert_eq!(board.rows().len(), 1);
    }
}
