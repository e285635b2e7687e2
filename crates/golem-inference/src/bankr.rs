//! Watches Bankr's prepaid credit and tops it up, within caps.

mod api;

use std::sync::{Arc, Mutex, PoisonError};

use bardo_types::money::MicroUsd;

pub use self::api::{BankrApi, BankrUsage, BankrUsageRow};
use crate::client::Pending;
use crate::event::GolemEvent;
use crate::extension::{Extension, Hook, HookError, TickContext};

/// Bankr's books: the real ones, or a fake.
pub trait Credits: Send + Sync {
    /// Reads the balance.
    fn balance(&self) -> Pending<'_, Result<MicroUsd, CreditsError>>;

    /// Buys credit with a token. `key` is the same for the same top-up, and another for another.
    fn top_up<'a>(
        &'a self,
        amount: MicroUsd,
        token: &'a str,
        key: &'a str,
    ) -> Pending<'a, Result<(), CreditsError>>;

    /// Reads whether Bankr tops up by itself; `None` where these books have no such setting, or none
    /// that the key may read. After any error the setting is unknown, and nothing is paid.
    fn auto_top_up(&self) -> Pending<'_, Result<Option<AutoTopUp>, CreditsError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Top-ups that Bankr makes by itself, as they are set there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AutoTopUp {
    /// Whether Bankr makes them.
    pub is_enabled: bool,
    /// Amount of one top-up.
    pub amount: Option<MicroUsd>,
    /// Balance below which Bankr makes one.
    pub threshold: Option<MicroUsd>,
    /// Why the last one failed.
    pub last_error: Option<String>,
}

/// Why Bankr's books did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreditsError {
    /// Nothing was done.
    #[error("Bankr refused: {0}")]
    Refused(String),
    /// The top-up may have happened, and money may have moved.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

/// Rules for low credit. Nothing is paid unless `auto_topup` and a cap are set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUpRules {
    /// Whether to pay at all.
    pub auto_topup: bool,
    /// Amount of one top-up.
    pub amount: MicroUsd,
    /// Balance below which to top up.
    pub threshold: MicroUsd,
    /// With what; a stablecoin has no slippage.
    pub token: String,
    /// The most in a day (UTC).
    pub daily_cap: Option<MicroUsd>,
    /// The most in thirty days (UTC).
    pub monthly_cap: Option<MicroUsd>,
    /// Ticks between two looks; at least one.
    pub every_ticks: u64,
}

impl Default for TopUpRules {
    /// Warns below 5 USD, looks every 100 ticks, pays nothing.
    fn default() -> Self {
        Self {
            auto_topup: false,
            amount: MicroUsd::new(25_000_000),
            threshold: MicroUsd::new(5_000_000),
            token: "USDC".to_owned(),
            daily_cap: None,
            monthly_cap: None,
            every_ticks: 100,
        }
    }
}

const DAY_MS: u64 = 86_400_000;
const MONTH_DAYS: u64 = 30;

/// Paid top-ups, and the state of the current low.
#[derive(Debug, Default)]
struct PaymentMemory {
    /// Day and amount of each top-up that was or may have been paid, of the last thirty days.
    paid: Vec<(u64, MicroUsd)>,
    /// The balance is low and something was done about it. Nothing more is, until it was not low.
    is_low: bool,
    /// A look is under way.
    is_busy: bool,
}

/// The action for a balance.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    None,
    /// Warn the owner.
    Warn,
    /// Say that a cap forbids more.
    Capped,
    /// Pay; the number of the top-up is part of its key.
    TopUp(u64),
    /// Bankr tops up by itself; the text is its last error.
    Vendor(Option<String>),
    /// Something was done since it fell.
    Wait,
}

impl Action {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Warn => "warn",
            Self::Capped => "capped",
            Self::TopUp(_) => "topup",
            Self::Vendor(_) => "vendor",
            Self::Wait => "wait",
        }
    }
}

/// The extension `bankr-credit-monitor`.
pub struct BankrCreditMonitor {
    rules: TopUpRules,
    credits: Arc<dyn Credits>,
    memory: Mutex<PaymentMemory>,
}

impl BankrCreditMonitor {
    /// A monitor of these books.
    #[must_use]
    pub fn new(credits: Arc<dyn Credits>, rules: TopUpRules) -> Self {
        Self {
            rules,
            credits,
            memory: Mutex::default(),
        }
    }

    /// Adds the top-ups that were paid before the agent started: days since 1970 (UTC) and amounts, from
    /// [`Self::paid`]. Without them, the caps begin again with each start.
    #[must_use]
    pub fn resuming(self, paid: Vec<(u64, MicroUsd)>) -> Self {
        self.memory().paid = paid;
        self
    }

    /// Top-ups that were or may have been paid in the last thirty days, to keep over a restart.
    #[must_use]
    pub fn paid(&self) -> Vec<(u64, MicroUsd)> {
        self.memory().paid.clone()
    }

    async fn look(&self, context: &TickContext) -> Result<(), HookError> {
        let balance = self.credits.balance().await?;
        let today = context.now_ms / DAY_MS;
        let action = match self.decide(balance, today) {
            action @ Action::TopUp(_) => self.unless_vendor(action, today).await?,
            action => action,
        };
        context.emit(GolemEvent::BankrCreditCheck {
            balance,
            threshold: self.rules.threshold,
            action: action.as_str(),
        });
        match action {
            Action::None | Action::Wait => {}
            Action::Warn => self.warn(
                context,
                format!(
                    "Bankr credits low: ${}. Enable auto_topup or top up manually.",
                    cents(balance)
                ),
            ),
            Action::Capped => self.warn(
                context,
                format!(
                    "Bankr credits low: ${}. The cap of auto_topup is reached; raise it or top up \
                     manually.",
                    cents(balance)
                ),
            ),
            Action::Vendor(error) => {
                let error = error.map_or_else(String::new, |error| {
                    format!(" Its last top-up failed: {error}.")
                });
                self.warn(
                    context,
                    format!(
                        "Bankr credits low: ${}. Bankr tops up by itself, so nothing is paid here.{error}",
                        cents(balance)
                    ),
                );
            }
            Action::TopUp(number) => self.top_up(context, today, number).await?,
        }
        Ok(())
    }

    /// A top-up, unless Bankr makes them by itself: two of them would pay twice. While nobody says so,
    /// nothing is paid, and the next look asks again.
    async fn unless_vendor(&self, top_up: Action, today: u64) -> Result<Action, CreditsError> {
        let amount = self.rules.amount;
        match self.credits.auto_top_up().await {
            Ok(Some(auto)) if auto.is_enabled => {
                self.forget(today, amount);
                self.memory().is_low = true;
                Ok(Action::Vendor(auto.last_error))
            }
            // Where there is no setting, the owner's caps hold alone.
            Ok(_) => Ok(top_up),
            Err(unknown) => {
                self.forget(today, amount);
                Err(unknown)
            }
        }
    }

    /// Decides and, before anything is paid, counts it as paid: whatever comes of it, the caps
    /// hold.
    fn decide(&self, balance: MicroUsd, today: u64) -> Action {
        let rules = &self.rules;
        let mut memory = self.memory();
        memory.paid.retain(|(day, _)| day + MONTH_DAYS > today);
        if balance >= rules.threshold {
            memory.is_low = false;
            return Action::None;
        }
        if memory.is_low {
            return Action::Wait;
        }
        memory.is_low = true;
        let has_cap = rules.daily_cap.is_some() || rules.monthly_cap.is_some();
        if !rules.auto_topup || !has_cap {
            return Action::Warn;
        }
        let of = |days: u64| {
            let mut paid = memory.paid.iter().filter(|(day, _)| day + days > today);
            paid.try_fold(rules.amount, |sum, (_, paid)| sum.checked_add(*paid))
        };
        let fits = |cap: Option<MicroUsd>, days| {
            cap.is_none_or(|cap| of(days).is_some_and(|sum| sum <= cap))
        };
        if !fits(rules.daily_cap, 1) || !fits(rules.monthly_cap, MONTH_DAYS) {
            return Action::Capped;
        }
        memory.paid.push((today, rules.amount));
        let number = memory.paid.iter().filter(|(day, _)| *day == today);
        Action::TopUp(number.count() as u64)
    }

    async fn top_up(
        &self,
        context: &TickContext,
        today: u64,
        number: u64,
    ) -> Result<(), HookError> {
        let TopUpRules { amount, token, .. } = &self.rules;
        let golem = &context.state.golem_id;
        let key = format!("topup-{golem}-{today}-{number}");
        match self.credits.top_up(*amount, token, &key).await {
            Ok(()) => {}
            Err(CreditsError::Refused(reason)) => {
                self.forget(today, *amount);
                return Err(CreditsError::Refused(reason).into());
            }
            // Counted as paid: the next look sees what the balance says.
            Err(unknown @ CreditsError::Unknown(_)) => return Err(unknown.into()),
        }
        // Measured and not computed: fees and slippage are Bankr's to know.
        let measured = self.credits.balance().await.ok();
        if measured.is_some_and(|balance| balance >= self.rules.threshold) {
            self.memory().is_low = false;
        }
        context.emit(GolemEvent::BankrTopup {
            amount: *amount,
            token: token.clone(),
            new_balance: measured,
        });
        Ok(())
    }

    /// Removes a top-up that was surely not paid; the next look may try it again.
    fn forget(&self, today: u64, amount: MicroUsd) {
        let mut memory = self.memory();
        if let Some(at) = memory
            .paid
            .iter()
            .rposition(|paid| *paid == (today, amount))
        {
            memory.paid.remove(at);
        }
        memory.is_low = false;
    }

    fn warn(&self, context: &TickContext, message: String) {
        context.emit(GolemEvent::Warning {
            extension: self.name().to_owned(),
            message,
        });
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, PaymentMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dollars with two digits, rounded down: a balance is never shown higher than it is.
fn cents(amount: MicroUsd) -> String {
    let cents = amount.get() / 10_000;
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl std::fmt::Debug for BankrCreditMonitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BankrCreditMonitor")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Marks the monitor as free again, however its look ended.
struct Busy<'a>(&'a BankrCreditMonitor);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.memory().is_busy = false;
    }
}

impl Extension for BankrCreditMonitor {
    fn name(&self) -> &'static str {
        "bankr-credit-monitor"
    }

    fn layer(&self) -> u8 {
        2
    }

    fn on_tick<'a>(&'a self, context: &'a mut TickContext) -> Hook<'a> {
        Box::pin(async move {
            if !context.tick().is_multiple_of(self.rules.every_ticks.max(1)) {
                return Ok(());
            }
            if std::mem::replace(&mut self.memory().is_busy, true) {
                return Ok(());
            }
            let _busy = Busy(self);
            self.look(context).await
        })
    }
}

#[cfg(test)]
mod tests;
