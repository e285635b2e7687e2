//! Where causes of alerts are seen.

use std::sync::Arc;
use std::time::Duration;

use bardo_engine::{CircuitState, Engine};
use bardo_ledger::series::{Figure, SeriesDimension, SeriesRow};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use super::book::{Cause, SeenCauses};
use super::{AlertEvent, AlertLimits};
use crate::funds::{FundsKind, ProviderFunds};
use crate::operator::Operator;
use crate::series::ReportPeriod;

/// The time within which an account made requests that is watched.
const ACTIVE: Duration = Duration::from_secs(86_400);
/// The longest wait for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks at the parts of the gateway.
pub(super) struct AlertWatch {
    pub(super) operator: Operator,
    pub(super) engine: Arc<Engine>,
    pub(super) limits: AlertLimits,
}

impl AlertWatch {
    /// All causes that last at this moment.
    pub(super) async fn look(&self) -> Vec<SeenCauses> {
        let store = self.store().await;
        let rows = match store.is_empty() {
            true => self.active_accounts().await,
            false => None,
        };
        let low = match &rows {
            Some(rows) => self.low_balances(rows).await,
            None => None,
        };
        vec![
            (AlertEvent::StoreFailing, Some(store)),
            (AlertEvent::AccountBalanceLow, low),
            (AlertEvent::AccountDebt, rows.as_deref().map(debts)),
            (AlertEvent::ProviderCreditLow, Some(self.low_funds())),
            (AlertEvent::CircuitOpen, Some(self.open_circuits())),
            (AlertEvent::CacheErrorBound, Some(self.stopped_domains())),
        ]
    }

    async fn store(&self) -> Vec<Cause> {
        let reason = match tokio::time::timeout(PATIENCE, self.operator.ledger.flush()).await {
            Ok(Ok(())) => return Vec::new(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer within 5 seconds".to_owned(),
        };
        vec![Cause {
            subject: "store".to_owned(),
            text: format!(
                "the store of money, keys and receipts fails, and requests that cost money are refused: {reason}"
            ),
        }]
    }

    /// Balances of the accounts that made requests lately; `None` where the store does not tell.
    async fn active_accounts(&self) -> Option<Vec<SeriesRow>> {
        let period = ReportPeriod::last(self.operator.clock.now_ms(), ACTIVE);
        let rows = self.operator.summed(period, SeriesDimension::Account, None);
        tokio::time::timeout(PATIENCE, rows).await.ok()?.ok()
    }

    async fn low_balances(&self, rows: &[SeriesRow]) -> Option<Vec<Cause>> {
        let limit = self.limits.balance;
        let mut low = Vec::new();
        if limit == MicroUsd::ZERO {
            return Some(low);
        }
        for account in rows.iter().filter_map(|row| row.name.label()) {
            let Ok(account) = AccountId::parse(account) else {
                continue;
            };
            let found = self.operator.ledger.balance(&account);
            let found = tokio::time::timeout(PATIENCE, found).await.ok()?.ok()?;
            // An account without a deposit is not prepaid, and a wallet pays for each request.
            if let Some(balance) = found
                && !account.as_str().starts_with("wallet:")
                && balance.deposited > MicroUsd::ZERO
                && balance.available < limit
            {
                low.push(Cause {
                    text: format!(
                        "the account {account} has {} USD left, less than {limit} USD",
                        balance.available
                    ),
                    subject: account.to_string(),
                });
            }
        }
        Some(low)
    }

    /// What pays a provider and is low. While an amount is unknown, its alert stays as it was.
    fn low_funds(&self) -> Vec<Cause> {
        let event = AlertEvent::ProviderCreditLow;
        let firing = self.operator.alerts.firing();
        let rows = self.operator.funds.rows();
        let cause = |row: &ProviderFunds| {
            let subject = match row.kind {
                FundsKind::Credit => row.provider.clone(),
                FundsKind::Wallet => format!("{} wallet", row.provider),
            };
            let was = firing
                .iter()
                .find(|state| state.event == event && state.subject == subject);
            let limit = row.needs.unwrap_or(self.limits.credit);
            let text = match (row.is_low(limit), row.amount, row.kind) {
                (None, ..) => was?.text.clone(),
                (Some(true), Some(amount), FundsKind::Credit) => format!(
                    "the credit at {} is {amount} USD, less than {limit} USD",
                    row.provider
                ),
                (Some(true), Some(amount), FundsKind::Wallet) => format!(
                    "the wallet that pays {} has {amount} USD, less than the {limit} USD that one call can cost",
                    row.provider
                ),
                _ => return None,
            };
            Some(Cause { subject, text })
        };
        rows.iter().filter_map(cause).collect()
    }

    /// A circuit that is tried again is not closed yet.
    fn open_circuits(&self) -> Vec<Cause> {
        let circuits = self.engine.circuits().into_iter();
        circuits
            .filter(|circuit| circuit.state != CircuitState::Closed)
            .map(|circuit| Cause {
                subject: format!("{}/{}", circuit.backend, circuit.model),
                text: format!(
                    "the circuit of {} with {} is open: {} failures and {} successes within five minutes",
                    circuit.backend, circuit.model, circuit.failures, circuit.successes
                ),
            })
            .collect()
    }

    fn stopped_domains(&self) -> Vec<Cause> {
        let counts = self.engine.cache().meaning().counts();
        let domains = counts.domains.iter();
        domains
            .filter(|one| !one.report.serves && one.disagreed + one.unjudged > 0)
            .map(|one| Cause {
                subject: one.domain.to_owned(),
                text: format!(
                    "the semantic cache stopped the domain {}: the bound of its error is {:.2} %; it serves again \
                     after {} more audits without disagreement",
                    one.domain,
                    one.report.bound * 100.0,
                    one.report.missing
                ),
            })
            .collect()
    }
}

/// Accounts whose requests cost more than they had, within the time.
fn debts(rows: &[SeriesRow]) -> Vec<Cause> {
    let owing = |row: &SeriesRow| {
        let account = row.name.label()?;
        (row.figures.get(Figure::Shortfall) > 0).then(|| Cause {
            subject: account.to_owned(),
            text: format!(
                "the account {account} owed {} USD more than it had within a day; the operator bears it",
                row.figures.usd(Figure::Shortfall)
            ),
        })
    };
    rows.iter().filter_map(owing).collect()
}
