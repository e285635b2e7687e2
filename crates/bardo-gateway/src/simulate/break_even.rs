//! What an agent has to earn in a day so that its inference pays for itself.
//!
//! Revenue and cost decide the agent's band (`bardo_router::Band`): above a ratio of 1 it sustains
//! itself, above 2 it expands. Before its first revenue it has the seed of a day at Bankr.

use bardo_router::SEED_OF_A_DAY;
use serde::Serialize;

use super::run::Study;
use super::table::{Row, rows};

/// Ratio of revenue to cost above which an agent has a larger budget.
const EXPANDING: f64 = 2.0;
/// Digits of amounts, which are often cents.
const DIGITS: usize = 3;

/// The revenue that one way of a workload needs, in USD of a day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct BreakEven {
    /// What the provider bills: for a key of the agent's own.
    pub(super) bill_usd_per_day: f64,
    /// With the gateway's spread: revenue above it pays for all of the agent's inference.
    pub(super) revenue_usd_per_day: f64,
    /// Revenue above it gives the agent a larger budget.
    pub(super) expanding_usd_per_day: f64,
    /// Share of a day that the seed of an agent without revenue pays for.
    pub(super) seed_share: f64,
}

impl BreakEven {
    pub(super) fn of(row: &Row, days: f64) -> Self {
        let (bill, charged) = (row.bill.mean / days, row.with_spread.mean / days);
        let seed = seed_usd();
        Self {
            bill_usd_per_day: bill,
            revenue_usd_per_day: charged,
            expanding_usd_per_day: EXPANDING * charged,
            seed_share: if charged > seed { seed / charged } else { 1.0 },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures of a report")]
fn seed_usd() -> f64 {
    SEED_OF_A_DAY.get() as f64 / 1e6
}

/// Headings of the columns of [`columns`].
pub(super) const HEADINGS: [&str; 4] = [
    "revenue a day",
    "with keys of your own",
    "expanding from",
    "paid by a seed",
];

/// What a row needs over so many days.
pub(super) fn columns(row: &Row, days: f64) -> Vec<String> {
    let usd = |amount: f64| format!("${amount:.DIGITS$}");
    let needed = BreakEven::of(row, days);
    vec![
        usd(needed.revenue_usd_per_day),
        usd(needed.bill_usd_per_day),
        usd(needed.expanding_usd_per_day),
        format!("{:.0} %", 100.0 * needed.seed_share),
    ]
}

/// What the columns mean.
pub(super) fn meaning(days: f64) -> String {
    format!(
        "Revenue above the first figure pays for the inference of an agent over {days:.1} days. Above twice as much it has a larger budget at Bankr. Before its first revenue it has a seed of ${:.2} a day.",
        seed_usd()
    )
}

/// The rows as text; none where no agent has to earn the calls, or they are of less than a day.
pub(super) fn words(study: &Study) -> Vec<String> {
    let Some(days) = study.earning_days() else {
        return Vec::new();
    };
    let heading = [&[""][..], &HEADINGS].concat();
    let mut cells: Vec<Vec<String>> = vec![heading.into_iter().map(str::to_owned).collect()];
    for row in &rows(study) {
        cells.push([vec![row.label.clone()], columns(row, days)].concat());
    }
    let mut lines = vec!["\nBreak-even".to_owned()];
    lines.extend(crate::cli::table(&cells));
    lines.push(meaning(days));
    lines
}
