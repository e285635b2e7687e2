//! Questions about receipts, of one account or of all: which of them, and summed by what.

use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use crate::command::ReceiptRecord;
use crate::prompt_cache::PromptCacheFigures;

/// Receipts that a query covers. A member that is `None` excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct ReceiptFilter {
    /// First Unix millisecond that is covered.
    pub from_ms: u64,
    /// First Unix millisecond after the covered time.
    pub to_ms: u64,
    /// Account of the request.
    pub account: Option<AccountId>,
    /// Key of the request.
    pub key: Option<KeyId>,
    /// Model that was chosen.
    pub model: Option<String>,
    /// Backend that answered.
    pub backend: Option<String>,
    /// Subsystem that the caller named.
    pub subsystem: Option<String>,
    /// Session that the caller named.
    pub session: Option<String>,
    /// Outcome: `finished`, `aborted`, `failed` or `unknown`.
    pub outcome: Option<String>,
}

impl ReceiptFilter {
    /// A filter on time alone: from `from_ms` to before `to_ms`.
    #[must_use]
    pub fn between(from_ms: u64, to_ms: u64) -> Self {
        Self {
            from_ms,
            to_ms,
            ..Self::default()
        }
    }

    /// Whether a receipt is covered.
    pub(crate) fn covers(&self, record: &ReceiptRecord) -> bool {
        let is = |wanted: Option<&str>, found: Option<&str>| wanted.is_none() || wanted == found;
        (self.from_ms..self.to_ms).contains(&record.at_ms)
            && is(
                self.account.as_ref().map(AccountId::as_str),
                Some(record.account.as_str()),
            )
            && is(
                self.key.as_ref().map(KeyId::as_str),
                record.key.as_ref().map(KeyId::as_str),
            )
            && is(self.model.as_deref(), Some(&record.model))
            && is(self.backend.as_deref(), Some(&record.provider))
            && is(self.subsystem.as_deref(), record.subsystem.as_deref())
            && is(self.session.as_deref(), record.session.as_deref())
            && is(self.outcome.as_deref(), Some(record.outcome))
    }
}

/// One thing by which receipts are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Hour in UTC. Beside [`Self::Day`] the hour counts.
    Hour,
    /// Day in UTC.
    Day,
    /// Account of the request.
    Account,
    /// Key of the request.
    Key,
    /// Model that was chosen.
    Model,
    /// Backend that answered.
    Backend,
    /// Subsystem that the caller named.
    Subsystem,
    /// Session that the caller named.
    Session,
    /// Id of the agent. No column of receipts has it: sums of receipts do not group by it, series
    /// do.
    Golem,
}

impl Dimension {
    /// All of them, in the order of their names in listings.
    pub const ALL: [Self; 9] = [
        Self::Hour,
        Self::Day,
        Self::Account,
        Self::Key,
        Self::Model,
        Self::Backend,
        Self::Subsystem,
        Self::Session,
        Self::Golem,
    ];

    /// Name in queries and listings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Account => "account",
            Self::Key => "key",
            Self::Model => "model",
            Self::Backend => "backend",
            Self::Subsystem => "subsystem",
            Self::Session => "session",
            Self::Golem => "golem",
        }
    }
}

/// Asks for sums of receipts.
#[derive(Debug, Clone)]
pub struct SumQuery {
    /// Receipts that are summed.
    pub filter: ReceiptFilter,
    /// Each different combination of these is a row; of none, all receipts are one row.
    pub by: Vec<Dimension>,
    /// Largest number of rows in the answer; the first ones are kept.
    pub limit: u32,
}

impl SumQuery {
    /// Length of the periods into which time is cut, in milliseconds; `None` for no periods.
    #[must_use]
    pub fn period_ms(&self) -> Option<u64> {
        let of = |dimension, ms| self.by.contains(&dimension).then_some(ms);
        of(Dimension::Hour, 3_600_000).or_else(|| of(Dimension::Day, 86_400_000))
    }

    /// The group of a receipt.
    pub(crate) fn group(&self, record: &ReceiptRecord) -> Group {
        let by = |dimension, name: Option<&str>| {
            name.filter(|_| self.by.contains(&dimension))
                .map(str::to_owned)
        };
        Group {
            starts_at_ms: self.period_ms().map(|ms| record.at_ms / ms * ms),
            account: by(Dimension::Account, Some(record.account.as_str())),
            key: by(Dimension::Key, record.key.as_ref().map(KeyId::as_str)),
            model: by(Dimension::Model, Some(&record.model)),
            backend: by(Dimension::Backend, Some(&record.provider)),
            subsystem: by(Dimension::Subsystem, record.subsystem.as_deref()),
            session: by(Dimension::Session, record.session.as_deref()),
            golem: None,
        }
    }
}

/// The values that the receipts of one row have in common. A member is `None` where the query does
/// not group by it, and where the receipts have no such name. Groups are ordered as their members
/// stand here, `None` first, names by their bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Unix millisecond at which the hour or day begins.
    pub starts_at_ms: Option<u64>,
    /// Account of the requests.
    pub account: Option<String>,
    /// Key of the requests.
    pub key: Option<String>,
    /// Model that was chosen.
    pub model: Option<String>,
    /// Backend that answered; empty where none did.
    pub backend: Option<String>,
    /// Subsystem that the callers named.
    pub subsystem: Option<String>,
    /// Session that the callers named.
    pub session: Option<String>,
    /// Id of the agent, in sums of series.
    pub golem: Option<String>,
}

/// Sums of receipts. A sum beyond its range stays at the largest value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of requests.
    pub requests: u64,
    /// Requests of the outcome `failed`.
    pub failed_requests: u64,
    /// Requests whose cost nobody knows; they add nothing to `provider_cost`.
    pub unpriced_requests: u64,
    /// Prompt tokens of all classes.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Costs at the prices of the backends.
    pub provider_cost: MicroUsd,
    /// Amount that accounts were charged.
    pub charge: MicroUsd,
    /// Amount saved against list prices.
    pub savings: MicroUsd,
    /// Figures of the providers' prompt caches.
    pub prompt_cache: PromptCacheFigures,
}

impl Sums {
    /// Sums of a single receipt.
    pub(crate) fn of(record: &ReceiptRecord) -> Self {
        Self {
            requests: 1,
            failed_requests: u64::from(record.outcome == "failed"),
            unpriced_requests: u64::from(record.provider_cost.is_none()),
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
            provider_cost: record.provider_cost.unwrap_or_default(),
            charge: record.charge,
            savings: record.savings,
            prompt_cache: record.prompt_cache,
        }
    }

    /// Adds the sums of other receipts.
    pub fn add(&mut self, other: &Self) {
        let tokens = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        let money = |sum: &mut MicroUsd, more: MicroUsd| {
            *sum = sum.checked_add(more).unwrap_or(MicroUsd::MAX);
        };
        tokens(&mut self.requests, other.requests);
        tokens(&mut self.failed_requests, other.failed_requests);
        tokens(&mut self.unpriced_requests, other.unpriced_requests);
        tokens(&mut self.input_tokens, other.input_tokens);
        tokens(&mut self.output_tokens, other.output_tokens);
        money(&mut self.provider_cost, other.provider_cost);
        money(&mut self.charge, other.charge);
        money(&mut self.savings, other.savings);
        self.prompt_cache.add(&other.prompt_cache);
    }

    /// Whether the cost of any request is known, or there is none to know.
    #[must_use]
    pub fn is_cost_known(&self) -> bool {
        self.requests == 0 || self.unpriced_requests < self.requests
    }
}

/// Sums of the receipts of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumRow {
    /// Group of the receipts.
    pub group: Group,
    /// Sums of the receipts in the group.
    pub sums: Sums,
}

/// Asks for receipts one by one: newest first, at the same time by request and account, each from
/// the largest name down.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// Receipts that are listed.
    pub filter: ReceiptFilter,
    /// Only what comes after this one in the list: the last receipt of the page before.
    pub after: Option<Cursor>,
    /// Largest number of receipts in the answer.
    pub limit: u32,
}

/// Place of a receipt in the list of all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// Unix millisecond at which the request was received.
    pub at_ms: u64,
    /// Id of the request.
    pub request: RequestId,
    /// Account of the request.
    pub account: AccountId,
}

impl Cursor {
    /// Place of a receipt.
    #[must_use]
    pub fn of(record: &ReceiptRecord) -> Self {
        Self {
            at_ms: record.at_ms,
            request: record.request.clone(),
            account: record.account.clone(),
        }
    }
}
