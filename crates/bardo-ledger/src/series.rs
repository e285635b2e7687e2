//! Series: figures of receipts per minute, hour and day, so that a chart scans no receipts.
//!
//! A store rolls receipts up in steps of its own, beside the requests: a step takes the receipts after
//! a watermark, adds them to a [`RollUp`], and writes its rows and the new watermark in one
//! transaction. It reads them, or the store added them up when it wrote them. A crash loses nothing,
//! and nothing is counted twice.

mod details;
mod facts;
mod figures;
mod groups;
mod histogram;
mod members;
mod roll_up;
mod search;
mod text;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use crate::command::Balance;
use crate::port::{LedgerFuture, StoreError};

pub use self::details::ReceiptDetails;
pub use self::facts::{ReceiptColumns, ReceiptFacts};
pub use self::figures::{Figure, SeriesFigures};
pub use self::groups::GroupNames;
pub use self::histogram::Histogram;
pub use self::roll_up::{GolemSeen, RollUp, RolledReceipt, SeriesKeep, SeriesPlace, names_max};
pub use self::search::{Facet, FoundReceipts, ReceiptSearch, cost_class};

/// Length of the buckets of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolution {
    /// Buckets of a minute.
    Minute,
    /// Buckets of an hour in UTC.
    Hour,
    /// Buckets of a day in UTC.
    Day,
}

impl Resolution {
    /// All of them, the finest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Length of a bucket in milliseconds.
    #[must_use]
    pub const fn ms(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }

    /// Name in queries and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// Start of the bucket that has a moment, in Unix milliseconds.
    #[must_use]
    pub const fn start(self, at_ms: u64) -> u64 {
        at_ms / self.ms() * self.ms()
    }

    /// Number that stores keep.
    #[must_use]
    pub const fn code(self) -> i64 {
        match self {
            Self::Minute => 0,
            Self::Hour => 1,
            Self::Day => 2,
        }
    }
}

/// The names by which the figures of a bucket are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeriesDimension {
    /// No split: all receipts together, without a name.
    Total,
    /// Backend that answered.
    Backend,
    /// Model that was chosen.
    Model,
    /// Account of the request.
    Account,
    /// Key of the request.
    Key,
    /// Subsystem that the caller named.
    Subsystem,
    /// Id of the agent.
    Golem,
    /// Session that the caller named.
    Session,
    /// Part of the answer cache in the request: `hash`, `semantic`, `miss` or `bypass`.
    Layer,
    /// Class of the failure, of requests that did not finish.
    Error,
    /// Agent and subsystem, kept for single accounts alone. Names are written by [`pair`].
    GolemSubsystem,
}

impl SeriesDimension {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::Total,
        Self::Backend,
        Self::Model,
        Self::Account,
        Self::Key,
        Self::Subsystem,
        Self::Golem,
        Self::Session,
        Self::Layer,
        Self::Error,
        Self::GolemSubsystem,
    ];

    /// Name in queries and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Backend => "backend",
            Self::Model => "model",
            Self::Account => "account",
            Self::Key => "key",
            Self::Subsystem => "subsystem",
            Self::Golem => "golem",
            Self::Session => "session",
            Self::Layer => "layer",
            Self::Error => "error",
            Self::GolemSubsystem => "golem_subsystem",
        }
    }

    /// The dimension of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// Number that stores keep.
    #[must_use]
    pub fn code(self) -> i64 {
        let at = Self::ALL.iter().position(|one| *one == self);
        at.and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
    }

    /// Whether stores keep it for single accounts, per hour and day.
    #[must_use]
    pub const fn is_kept_per_account(self) -> bool {
        matches!(
            self,
            Self::Total
                | Self::Backend
                | Self::Model
                | Self::Key
                | Self::Subsystem
                | Self::Golem
                | Self::Session
                | Self::GolemSubsystem
        )
    }
}

/// Separates agent and subsystem in the names of [`SeriesDimension::GolemSubsystem`].
const PAIR: char = '\u{1f}';

/// The name of an agent and a subsystem together; an absent subsystem is empty.
#[must_use]
pub fn pair(golem: &str, subsystem: Option<&str>) -> String {
    format!("{golem}{PAIR}{}", subsystem.unwrap_or_default())
}

/// Agent and subsystem of a name that [`pair`] wrote.
#[must_use]
pub fn unpair(name: &str) -> (&str, Option<&str>) {
    let (golem, subsystem) = name.split_once(PAIR).unwrap_or((name, ""));
    (golem, Some(subsystem).filter(|name| !name.is_empty()))
}

/// The name of a row of a series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeriesName {
    /// Receipts without a name in the dimension.
    Unnamed,
    /// Receipts of names beyond the largest number of names in a bucket, all together.
    Other,
    /// Receipts of this name.
    Named(String),
}

impl SeriesName {
    /// The name; `None` for receipts without one and for the rest.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Unnamed | Self::Other => None,
        }
    }

    /// Kind and text that stores keep.
    #[must_use]
    pub fn stored(&self) -> (i64, &str) {
        match self {
            Self::Unnamed => (0, ""),
            Self::Other => (2, ""),
            Self::Named(name) => (1, name),
        }
    }

    /// The name that [`Self::stored`] wrote.
    #[must_use]
    pub fn read(kind: i64, name: &str) -> Self {
        match kind {
            0 => Self::Unnamed,
            1 => Self::Named(name.to_owned()),
            _ => Self::Other,
        }
    }
}

/// Asks for rows of one dimension.
#[derive(Debug, Clone)]
pub struct SeriesQuery {
    /// Length of the buckets.
    pub resolution: Resolution,
    /// First Unix millisecond; its whole bucket is covered.
    pub from_ms: u64,
    /// First Unix millisecond that is not covered; a bucket that begins before it is.
    pub to_ms: u64,
    /// One account alone, per hour or day; `None`: all accounts.
    pub account: Option<AccountId>,
    /// The names of the rows.
    pub dimension: SeriesDimension,
    /// Rows of this name alone.
    pub only: Option<SeriesName>,
    /// Adds the buckets up, so that there is one row for each name.
    pub summed: bool,
}

impl SeriesQuery {
    /// Starts of the buckets that are covered, ascending, at most 100,000.
    pub fn starts(&self) -> impl Iterator<Item = u64> + use<> {
        let (step, to_ms) = (self.resolution.ms(), self.to_ms);
        let first = self.resolution.start(self.from_ms);
        std::iter::successors(Some(first), move |start| start.checked_add(step))
            .take_while(move |start| *start < to_ms)
            .take(100_000)
    }

    /// Puts rows in the form that the query asks for: summed where it says so, in the order of their
    /// starts and names.
    #[must_use]
    pub fn arrange(&self, rows: Vec<SeriesRow>) -> Vec<SeriesRow> {
        let mut arranged = std::collections::BTreeMap::<(u64, SeriesName), SeriesFigures>::new();
        for row in rows {
            let start = if self.summed { 0 } else { row.starts_at_ms };
            arranged
                .entry((start, row.name))
                .or_default()
                .add(&row.figures);
        }
        let row = |((starts_at_ms, name), figures)| SeriesRow {
            starts_at_ms,
            name,
            figures,
        };
        arranged.into_iter().map(row).collect()
    }
}

/// Figures of one bucket and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesRow {
    /// Unix millisecond at which the bucket begins; 0 where buckets are summed.
    pub starts_at_ms: u64,
    /// Name of the receipts.
    pub name: SeriesName,
    /// Figures of the receipts.
    pub figures: SeriesFigures,
}

/// The result of a step of rolling up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RolledUp {
    /// Number of receipts that were added.
    pub receipts: u64,
    /// Whether more receipts are waiting.
    pub has_more: bool,
}

/// Receipts that are not in the series yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RollUpLag {
    /// New receipts that wait.
    pub waiting: u64,
    /// Whether receipts from before the store had series wait still.
    pub is_back_filling: bool,
}

/// An account as the list of all shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountView {
    /// Id of the account.
    pub account: AccountId,
    /// Its balance; zeros where nothing was ever deposited.
    pub balance: Balance,
    /// Amount that it owed beyond its balance, over all requests.
    pub debt: MicroUsd,
}

/// Figures over receipts, kept by the store. Every method looks at rows of series or of indexes, so
/// its time does not depend on the number of receipts.
pub trait ReceiptSeries: Send + Sync {
    /// Adds the next receipts to the series and drops rows older than `keep` allows. Reads at most
    /// `limit` receipts, perhaps fewer; those that the store added up as it wrote them come on top.
    /// Several processes may call it at the same time; each receipt is added once.
    fn roll_up(
        &self,
        keep: SeriesKeep,
        limit: u32,
    ) -> LedgerFuture<'_, Result<RolledUp, StoreError>>;

    /// Receipts that the series lack.
    fn lag(&self) -> LedgerFuture<'_, Result<RollUpLag, StoreError>>;

    /// Rows of a dimension, in the order of starts and names.
    fn series(&self, query: SeriesQuery) -> LedgerFuture<'_, Result<Vec<SeriesRow>, StoreError>>;

    /// Agents that were seen from this Unix millisecond on, the latest first, at most `limit`.
    fn golems(
        &self,
        from_ms: u64,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<GolemSeen>, StoreError>>;

    /// Receipts of all accounts that a search covers, the latest first.
    fn search(&self, search: ReceiptSearch) -> LedgerFuture<'_, Result<FoundReceipts, StoreError>>;

    /// Accounts in the order of their ids, after `after`, at most `limit`.
    fn accounts(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> LedgerFuture<'_, Result<Vec<AccountView>, StoreError>>;
}
