//! Alerts: what an operator has to know at once, told to webhooks when it begins, while it lasts, and
//! when it ends. All of it runs beside the requests.

mod book;
mod watch;
mod webhook;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bardo_engine::Engine;
use bardo_providers::transport::Transport;
use bardo_types::calendar::rfc3339;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use serde_json::{Value, json};

use self::book::{AlertBook, AlertNotice};
use self::watch::AlertWatch;
use self::webhook::Webhook;
use crate::config::{AlertsConfig, RawAlertEvent, usd};
use crate::operator::Operator;

/// A kind of alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlertEvent {
    AccountBalanceLow,
    AccountDebt,
    ProviderCreditLow,
    CircuitOpen,
    CacheErrorBound,
    StoreFailing,
    /// A message that an operator asked for.
    Test,
}

impl AlertEvent {
    /// Name in messages and in the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AccountBalanceLow => "account.balance_low",
            Self::AccountDebt => "account.debt",
            Self::ProviderCreditLow => "provider.credit_low",
            Self::CircuitOpen => "circuit.open",
            Self::CacheErrorBound => "cache.error_bound",
            Self::StoreFailing => "store.failing",
            Self::Test => "test",
        }
    }

    const fn of(raw: RawAlertEvent) -> Self {
        match raw {
            RawAlertEvent::AccountBalanceLow => Self::AccountBalanceLow,
            RawAlertEvent::AccountDebt => Self::AccountDebt,
            RawAlertEvent::ProviderCreditLow => Self::ProviderCreditLow,
            RawAlertEvent::CircuitOpen => Self::CircuitOpen,
            RawAlertEvent::CacheErrorBound => Self::CacheErrorBound,
            RawAlertEvent::StoreFailing => Self::StoreFailing,
        }
    }
}

/// An alert whose cause lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlertState {
    /// Kind of the alert.
    pub(crate) event: AlertEvent,
    /// Thing that it is about, such as an account.
    pub(crate) subject: String,
    /// One sentence about it.
    pub(crate) text: String,
    /// Unix millisecond at which it began.
    pub(crate) since_ms: u64,
}

/// The alerts of this process, for operators to read.
#[derive(Default)]
pub(crate) struct AlertBoard {
    firing: Mutex<Vec<AlertState>>,
    webhooks: OnceLock<Vec<Webhook>>,
}

impl AlertBoard {
    /// Alerts whose causes last, in the order of their kinds and subjects.
    pub(crate) fn firing(&self) -> Vec<AlertState> {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<AlertState>> {
        self.firing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn webhooks(&self) -> &[Webhook] {
        self.webhooks.get().map_or(&[], Vec::as_slice)
    }

    fn tell(&self, notice: AlertNotice) {
        let notice = Arc::new(notice);
        for webhook in self.webhooks() {
            webhook.push(&notice);
        }
    }

    /// Sends a message to every webhook that takes all kinds of alerts or none in particular.
    pub(crate) fn test(&self) -> Value {
        let now_ms = SystemClock.now_ms();
        self.tell(AlertNotice {
            event: AlertEvent::Test,
            subject: "operator".to_owned(),
            text: "this is a test of the alerts of bardo-gateway".to_owned(),
            status: "test",
            since_ms: now_ms,
            at_ms: now_ms,
        });
        json!({ "object": "alert_test", "webhooks": self.webhooks().len() })
    }

    /// The alerts and the figures of the webhooks as JSON. Addresses of webhooks may be secrets: only
    /// their hosts are shown.
    pub(crate) fn json(&self) -> Value {
        let firing: Vec<Value> = self
            .firing()
            .iter()
            .map(|state| {
                json!({
                    "event": state.event.as_str(),
                    "subject": state.subject,
                    "text": state.text,
                    "since": rfc3339(state.since_ms),
                })
            })
            .collect();
        let webhooks: Vec<Value> = self.webhooks().iter().map(Webhook::json).collect();
        json!({ "object": "alerts", "firing": firing, "webhooks": webhooks })
    }
}

/// Limits of alerts.
#[derive(Debug, Clone, Copy)]
struct AlertLimits {
    balance: MicroUsd,
    credit: MicroUsd,
}

/// Watches for causes of alerts for as long as the process runs. Without a webhook the alerts are
/// shown to operators alone.
///
/// # Errors
/// What is wrong with the settings. Connects to nothing.
pub(crate) fn start(
    config: &AlertsConfig,
    operator: Operator,
    engine: &Arc<Engine>,
    transport: &Transport,
) -> Result<(), String> {
    let limits = limits(config)?;
    let webhooks: Result<Vec<Webhook>, String> = config
        .webhooks
        .iter()
        .enumerate()
        .map(|(index, one)| {
            Webhook::start(one, config.retry_for.0, transport)
                .map_err(|error| format!("`alerts.webhooks[{index}].url`: {error}"))
        })
        .collect();
    let _ = operator.alerts.webhooks.set(webhooks?);
    let book = AlertBook::new(config.repeat.0);
    let watch = AlertWatch {
        operator,
        engine: Arc::clone(engine),
        limits,
    };
    tokio::spawn(run(watch, book, config.check_every.0));
    Ok(())
}

/// Refuses settings that [`start`] would refuse.
pub(crate) fn check(config: &AlertsConfig) -> Result<(), String> {
    limits(config)?;
    if config.check_every.0 < Duration::from_millis(100) {
        return Err("`alerts.check_every` must be 100ms or more".to_owned());
    }
    for (index, webhook) in config.webhooks.iter().enumerate() {
        webhook::address(webhook)
            .map_err(|error| format!("`alerts.webhooks[{index}].url`: {error}"))?;
    }
    Ok(())
}

fn limits(config: &AlertsConfig) -> Result<AlertLimits, String> {
    Ok(AlertLimits {
        balance: usd("alerts.low_balance_usd", &config.low_balance_usd)?,
        credit: usd("alerts.low_credit_usd", &config.low_credit_usd)?,
    })
}

async fn run(watch: AlertWatch, mut book: AlertBook, every: Duration) {
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let seen = watch.look().await;
        let notices = book.take(seen, SystemClock.now_ms());
        *watch.operator.alerts.locked() = book.firing();
        for notice in notices {
            let (event, subject) = (notice.event.as_str(), notice.subject.as_str());
            match notice.status {
                "resolved" => tracing::info!(event, subject, "alert resolved: {}", notice.text),
                _ => tracing::warn!(event, subject, "alert: {}", notice.text),
            }
            watch.operator.alerts.tell(notice);
        }
    }
}
