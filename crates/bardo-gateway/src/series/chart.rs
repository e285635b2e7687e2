//! Charts: a line for each name, a point for each bucket.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bardo_ledger::series::{
    Figure, Resolution, SeriesDimension, SeriesFigures, SeriesName, SeriesQuery,
};
use bardo_types::ids::AccountId;

use super::ReportPeriod;
use crate::operator::{Operator, OperatorError};
use crate::usage::BadParameter;

/// Most points of a line.
pub(crate) const POINTS_MAX: u64 = 1_500;
/// Points of a line that a chart has at most when it chooses its step itself.
const POINTS_USUAL: u64 = 400;

/// Asks for a chart.
pub(crate) struct ChartQuery {
    /// Time that it covers, widened to whole buckets.
    pub(crate) period: ReportPeriod,
    /// Length of a bucket; `None` for the finest one with a few hundred points.
    pub(crate) step: Option<Resolution>,
    /// The names of the lines.
    pub(crate) by: SeriesDimension,
    /// One name of a dimension alone. With `by` of another dimension only an account can be named.
    pub(crate) only: Option<(SeriesDimension, String)>,
    /// Largest number of lines; the rest is one line more.
    pub(crate) lines: usize,
}

/// A line of a chart.
pub(crate) struct ChartLine {
    /// Name of the receipts.
    pub(crate) name: SeriesName,
    /// Figures of all its points together.
    pub(crate) total: SeriesFigures,
    /// A point for each start of the chart.
    pub(crate) points: Vec<SeriesFigures>,
}

/// Lines over time.
pub(crate) struct SeriesChart {
    /// Length of a bucket.
    pub(crate) step: Resolution,
    /// Unix milliseconds at which the buckets begin.
    pub(crate) starts: Vec<u64>,
    /// Lines, those with the most requests first, the rest last.
    pub(crate) lines: Vec<ChartLine>,
}

impl ChartQuery {
    /// The account, dimension and name of the rows that the chart shows.
    fn source(
        &self,
    ) -> Result<(Option<AccountId>, SeriesDimension, Option<SeriesName>), BadParameter> {
        let Some((dimension, name)) = &self.only else {
            return Ok((None, self.by, None));
        };
        if self.by == SeriesDimension::Total || self.by == *dimension {
            let only = SeriesName::Named(name.clone());
            return Ok((None, *dimension, Some(only)));
        }
        let message = format!(
            "a chart by {} can be narrowed to an account, not to a {}; remove `{1}` or `by`",
            self.by.as_str(),
            dimension.as_str()
        );
        let refused = || BadParameter::new(dimension.as_str(), message.clone());
        if *dimension != SeriesDimension::Account || !self.by.is_kept_per_account() {
            return Err(refused());
        }
        let account = AccountId::parse(name);
        let account = account.map_err(|error| BadParameter::new("account", error.to_string()))?;
        Ok((Some(account), self.by, None))
    }
}

impl Operator {
    /// A chart of figures over time.
    pub(crate) async fn chart(&self, chart: ChartQuery) -> Result<SeriesChart, OperatorError> {
        let (account, dimension, only) = chart.source()?;
        let step = match chart.step {
            None => self.resolution(chart.period, account.is_some(), POINTS_USUAL),
            Some(step) => step,
        };
        if chart.period.buckets(step) > POINTS_MAX {
            let message = format!(
                "the chart has more than {POINTS_MAX} points; shorten the time, or use a longer `step`"
            );
            return Err(BadParameter::new("step", message).into());
        }
        if step == Resolution::Minute && account.is_some() {
            let message = "figures of a single account are stored per hour and day";
            return Err(BadParameter::new("step", message).into());
        }
        self.refresh_series().await?;
        let query = SeriesQuery {
            resolution: step,
            from_ms: chart.period.from_ms,
            to_ms: chart.period.to_ms,
            account,
            dimension,
            only,
            summed: false,
        };
        let starts: Vec<u64> = query.starts().collect();
        let mut lines = BTreeMap::<SeriesName, ChartLine>::new();
        for row in self.ledger.series(query).await? {
            let line = lines
                .entry(row.name.clone())
                .or_insert_with(|| empty(row.name, starts.len()));
            line.total.add(&row.figures);
            if let Ok(place) = starts.binary_search(&row.starts_at_ms) {
                line.points[place].add(&row.figures);
            }
        }
        let lines = largest(lines.into_values().collect(), chart.lines);
        Ok(SeriesChart {
            step,
            starts,
            lines,
        })
    }
}

fn empty(name: SeriesName, points: usize) -> ChartLine {
    ChartLine {
        name,
        total: SeriesFigures::default(),
        points: vec![SeriesFigures::default(); points],
    }
}

/// Keeps the lines with the most requests, and adds up the others.
fn largest(lines: Vec<ChartLine>, most: usize) -> Vec<ChartLine> {
    let (mut rest, mut named): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .partition(|line| line.name == SeriesName::Other);
    named.sort_by_key(|line| Reverse(line.total.get(Figure::Requests)));
    rest.extend(named.split_off(most.min(named.len())));
    let Some(mut other) = rest.pop() else {
        return named;
    };
    other.name = SeriesName::Other;
    for line in rest {
        other.total.add(&line.total);
        for (sum, more) in other.points.iter_mut().zip(&line.points) {
            sum.add(more);
        }
    }
    named.push(other);
    named
}
