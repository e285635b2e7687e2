//! Agents: what each one costs, by its parts and days, and how it was last seen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bardo_ledger::series::{
    Figure, GolemSeen, Resolution, SeriesDimension, SeriesFigures, SeriesName, SeriesQuery, unpair,
};
use bardo_types::ids::AccountId;

use super::ReportPeriod;
use crate::operator::{Operator, OperatorError};

/// Most agents in a list.
const GOLEMS_MAX: u32 = 1_000;

/// An agent over a period.
pub(crate) struct GolemRow {
    /// The agent as its last request shows it.
    pub(crate) seen: GolemSeen,
    /// Its figures over the period.
    pub(crate) figures: SeriesFigures,
    /// Its figures by subsystem, the dearest first; requests without a subsystem have no name.
    pub(crate) subsystems: Vec<(SeriesName, SeriesFigures)>,
    /// Unix milliseconds at which days begin, and the cost of each day in 10⁻⁶ USD.
    pub(crate) days: Vec<(u64, i64)>,
}

#[derive(Default)]
struct GolemSums {
    figures: SeriesFigures,
    subsystems: BTreeMap<SeriesName, SeriesFigures>,
    days: BTreeMap<u64, i64>,
}

impl Operator {
    /// Agents that made requests within a period, the dearest first. Days are whole days in UTC.
    pub(crate) async fn golems(
        &self,
        period: ReportPeriod,
    ) -> Result<Vec<GolemRow>, OperatorError> {
        self.refresh_series().await?;
        let seen = self.ledger.golems(period.from_ms, GOLEMS_MAX).await?;
        let accounts: BTreeSet<&str> = seen.iter().map(|golem| &*golem.account).collect();
        let mut sums = BTreeMap::<(String, String), GolemSums>::new();
        for account in accounts {
            let Ok(account) = AccountId::parse(account) else {
                continue;
            };
            let query = SeriesQuery {
                resolution: Resolution::Day,
                from_ms: period.from_ms,
                to_ms: period.to_ms,
                account: Some(account.clone()),
                dimension: SeriesDimension::GolemSubsystem,
                only: None,
                summed: false,
            };
            for row in self.ledger.series(query).await? {
                let Some(name) = row.name.label() else {
                    continue;
                };
                let (golem, subsystem) = unpair(name);
                let of_golem = sums.entry((account.to_string(), golem.to_owned()));
                let of_golem = of_golem.or_default();
                of_golem.figures.add(&row.figures);
                let name = subsystem.map(|name| SeriesName::Named(name.to_owned()));
                let part = of_golem
                    .subsystems
                    .entry(name.unwrap_or(SeriesName::Unnamed));
                part.or_default().add(&row.figures);
                *of_golem.days.entry(row.starts_at_ms).or_default() +=
                    row.figures.get(Figure::Cost);
            }
        }
        let mut rows: Vec<GolemRow> = seen
            .into_iter()
            .map(|seen| {
                let key = (seen.account.clone(), seen.golem.clone());
                row(seen, sums.remove(&key).unwrap_or_default())
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.figures.get(Figure::Cost)));
        Ok(rows)
    }
}

fn row(seen: GolemSeen, sums: GolemSums) -> GolemRow {
    let mut subsystems: Vec<_> = sums.subsystems.into_iter().collect();
    subsystems.sort_by_key(|(_, figures)| Reverse(figures.get(Figure::Cost)));
    GolemRow {
        seen,
        figures: sums.figures,
        subsystems,
        days: sums.days.into_iter().collect(),
    }
}
