//! Figures over many receipts, as the console and the admin API show them. They come from the series
//! of the store, so their time does not depend on the number of receipts.

mod chart;
pub(crate) mod columns;
mod golems;
mod keeper;

use std::time::Duration;

use bardo_ledger::series::{
    Figure, Resolution, SeriesDimension, SeriesFigures, SeriesKeep, SeriesName, SeriesQuery,
    SeriesRow,
};
use bardo_ledger::{Balance, ReceiptFilter};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;

use crate::operator::{Operator, OperatorError};
use crate::usage::{self, BadParameter, Parameters};

pub(crate) use self::chart::{ChartQuery, SeriesChart};
pub(crate) use self::golems::GolemRow;
pub(crate) use self::keeper::keep_up;

/// Most buckets that one sum reads.
const BUCKETS_MAX: u64 = 2_500;
/// Most buckets that a sum by name reads: each has a row for each name.
const NAMED_BUCKETS_MAX: u64 = 200;
/// Receipts that a reader of series adds to them itself before it reads.
const FRESH_MAX: u32 = 1_000;
/// Length of a period that nothing names.
const USUAL: Duration = Duration::from_secs(86_400);

/// Time for which series are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeriesSpans {
    /// Rows per minute.
    pub(crate) minutes: Duration,
    /// Rows per hour and per day.
    pub(crate) hours: Duration,
}

impl SeriesSpans {
    /// The first moments that are kept.
    pub(crate) fn keep(self, now_ms: u64) -> SeriesKeep {
        SeriesKeep::last(now_ms, ms(self.minutes), ms(self.hours))
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A span of time. Its end is not covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportPeriod {
    /// First Unix millisecond.
    pub(crate) from_ms: u64,
    /// First Unix millisecond after it.
    pub(crate) to_ms: u64,
}

impl ReportPeriod {
    /// The time up to now.
    pub(crate) fn last(now_ms: u64, length: Duration) -> Self {
        Self {
            from_ms: now_ms.saturating_sub(ms(length)),
            to_ms: now_ms + 1,
        }
    }

    /// Reads `since`, or the days of `from` and `to`; without them the last day.
    pub(crate) fn read(parameters: &mut Parameters, now_ms: u64) -> Result<Self, BadParameter> {
        if !parameters.has(&["since", "from", "to"]) {
            return Ok(Self::last(now_ms, USUAL));
        }
        let (_, filter) = usage::covered(parameters, now_ms)?;
        Ok(Self::of(&filter))
    }

    /// The time of a filter.
    pub(crate) fn of(filter: &ReceiptFilter) -> Self {
        Self {
            from_ms: filter.from_ms,
            to_ms: filter.to_ms,
        }
    }

    /// The period of the same length before this one.
    fn before(self) -> Self {
        let length = self.to_ms.saturating_sub(self.from_ms);
        Self {
            from_ms: self.from_ms.saturating_sub(length),
            to_ms: self.from_ms,
        }
    }

    fn buckets(self, resolution: Resolution) -> u64 {
        let first = resolution.start(self.from_ms);
        self.to_ms.saturating_sub(first).div_ceil(resolution.ms())
    }
}

/// Figures of a period beside those of the one before.
pub(crate) struct Overview {
    /// Time of the figures.
    pub(crate) period: ReportPeriod,
    /// Figures of the period.
    pub(crate) now: SeriesFigures,
    /// Figures of the period of the same length before it.
    pub(crate) before: SeriesFigures,
    /// Receipts that are not in the figures yet.
    pub(crate) waiting: u64,
    /// Whether receipts of earlier versions are still being added.
    pub(crate) is_back_filling: bool,
}

/// Figures of one name over a period.
pub(crate) struct TopRow {
    /// Name of the receipts.
    pub(crate) name: SeriesName,
    /// Figures of the receipts.
    pub(crate) figures: SeriesFigures,
}

/// An account in the list of all.
pub(crate) struct AccountRow {
    /// Id of the account.
    pub(crate) account: AccountId,
    /// Balance of the account.
    pub(crate) balance: Balance,
    /// Amount that it owed beyond its balance and that nobody paid.
    pub(crate) debt: MicroUsd,
}

/// A page of the list of all accounts.
pub(crate) struct AccountList {
    /// Accounts in the order of their ids.
    pub(crate) accounts: Vec<AccountRow>,
    /// The `after` of the next page; `None` after the last one.
    pub(crate) next: Option<String>,
}

impl Operator {
    /// Adds the newest receipts to the series, as far as that takes moments.
    pub(crate) async fn refresh_series(&self) -> Result<(), OperatorError> {
        self.ledger.flush().await?;
        let keep = self.series.keep(self.clock.now_ms());
        for _ in 0..3 {
            if !self.ledger.roll_up(keep, FRESH_MAX).await?.has_more {
                break;
            }
        }
        Ok(())
    }

    /// Figures of a period, and of the one before.
    pub(crate) async fn overview(&self, period: ReportPeriod) -> Result<Overview, OperatorError> {
        self.refresh_series().await?;
        let lag = self.ledger.lag().await?;
        Ok(Overview {
            period,
            now: self.figures(period).await?,
            before: self.figures(period.before()).await?,
            waiting: lag.waiting,
            is_back_filling: lag.is_back_filling,
        })
    }

    async fn figures(&self, period: ReportPeriod) -> Result<SeriesFigures, OperatorError> {
        let rows = self.summed(period, SeriesDimension::Total, None).await?;
        let mut sum = SeriesFigures::default();
        for row in rows {
            sum.add(&row.figures);
        }
        Ok(sum)
    }

    /// The names of a dimension with the largest figures of one kind, the largest first.
    pub(crate) async fn top(
        &self,
        period: ReportPeriod,
        dimension: SeriesDimension,
        order: Figure,
        limit: usize,
    ) -> Result<Vec<TopRow>, OperatorError> {
        self.refresh_series().await?;
        let mut rows = self.summed(period, dimension, None).await?;
        rows.sort_by_key(|row| std::cmp::Reverse(row.figures.get(order)));
        rows.truncate(limit);
        let top = rows.into_iter().map(|row| TopRow {
            name: row.name,
            figures: row.figures,
        });
        Ok(top.collect())
    }

    /// A row for each name of a dimension over a period, of one account or of all.
    pub(crate) async fn summed(
        &self,
        period: ReportPeriod,
        dimension: SeriesDimension,
        account: Option<&AccountId>,
    ) -> Result<Vec<SeriesRow>, OperatorError> {
        let most = match dimension {
            SeriesDimension::Total => BUCKETS_MAX,
            _ => NAMED_BUCKETS_MAX,
        };
        let query = SeriesQuery {
            resolution: self.resolution(period, account.is_some(), most),
            from_ms: period.from_ms,
            to_ms: period.to_ms,
            account: account.cloned(),
            dimension,
            only: None,
            summed: true,
        };
        Ok(self.ledger.series(query).await?)
    }

    /// The finest resolution that is kept for a period and needs no more than `most` buckets.
    fn resolution(&self, period: ReportPeriod, is_of_one: bool, most: u64) -> Resolution {
        let keep = self.series.keep(self.clock.now_ms());
        let is_kept = |resolution: &Resolution| {
            let first = resolution.start(period.from_ms);
            let is_in_time = *resolution != Resolution::Minute || first >= keep.minutes_from_ms;
            let has_rows = *resolution != Resolution::Minute || !is_of_one;
            is_in_time && has_rows && period.buckets(*resolution) <= most
        };
        let finest = Resolution::ALL.into_iter().find(is_kept);
        finest.unwrap_or(Resolution::Day)
    }

    /// Accounts with their balances and debts, after the page that ended at `after`.
    pub(crate) async fn accounts(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> Result<AccountList, OperatorError> {
        let found = self.ledger.accounts(after, limit).await?;
        let is_full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let last = found.last().filter(|_| is_full);
        Ok(AccountList {
            next: last.map(|last| last.account.to_string()),
            accounts: found
                .into_iter()
                .map(|view| AccountRow {
                    account: view.account,
                    balance: view.balance,
                    debt: view.debt,
                })
                .collect(),
        })
    }
}

/// Reads a length of buckets; `None` where none is named.
pub(crate) fn step(text: Option<&str>) -> Result<Option<Resolution>, BadParameter> {
    let Some(text) = text else {
        return Ok(None);
    };
    let found = Resolution::ALL.into_iter().find(|one| one.as_str() == text);
    let message = "`step` must be minute, hour or day";
    found
        .map(Some)
        .ok_or_else(|| BadParameter::new("step", message))
}
