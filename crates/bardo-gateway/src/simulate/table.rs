//! Results as text and as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use super::break_even::{self, BreakEven};
use super::claims;
use super::figures::MeanInterval;
use super::run::{ArmResult, Study};

/// One row of the report.
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) label: String,
    pub(super) bill: MeanInterval,
    /// With the gateway's addition for keys of this kind.
    pub(super) with_spread: MeanInterval,
    /// With a key of one's own, and with the spread.
    pub(super) saved: Savings,
    pub(super) saved_with_spread: Savings,
    pub(super) result: Option<usize>,
}

/// Shares of the costs of others that a row saves. `None`: the other is this row, or was not played.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Savings {
    /// Against the naive baseline.
    pub(super) against_naive: Option<MeanInterval>,
    /// Against the client without cache marks.
    pub(super) against_none: Option<MeanInterval>,
    /// Against the client with marks; for rows in which somebody sets marks.
    pub(super) against_marks: Option<MeanInterval>,
}

/// The rows, dearest idea first.
pub(super) fn rows(study: &Study) -> Vec<Row> {
    let base = |id| study.of(id).map(ArmResult::costs).unwrap_or_default();
    let (plain, marked) = (base("direct"), base("direct_marked"));
    let naive = study
        .workload
        .naive
        .zip(study.naive_usd)
        .map(|(naive, usd)| {
            let bill = MeanInterval {
                mean: usd,
                margin: None,
            };
            Row {
                id: "naive",
                label: naive.label.to_owned(),
                bill,
                with_spread: bill,
                saved: Savings::default(),
                saved_with_spread: Savings::default(),
                result: None,
            }
        });
    let arms = study.arms.iter().enumerate().map(|(at, result)| {
        let costs = result.costs();
        let factor = match result.arm.has_spread() {
            true => 1.0 + study.workload.spread_percent / 100.0,
            false => 1.0,
        };
        let charged: Vec<f64> = costs.iter().map(|cost| cost * factor).collect();
        let is_base = result.arm.id() == "direct";
        let saved = |costs: &[f64]| {
            let against =
                |base: &[f64]| (!base.is_empty()).then(|| MeanInterval::saving(costs, base));
            Savings {
                against_naive: against(&naive_costs(study, costs.len())),
                against_none: against(&plain).filter(|_| !is_base),
                against_marks: against(&marked).filter(|_| result.arm.has_marks()),
            }
        };
        Row {
            id: result.arm.id(),
            label: result.arm.label().to_owned(),
            bill: MeanInterval::of(&costs),
            with_spread: MeanInterval::of(&charged),
            saved: saved(&costs),
            saved_with_spread: saved(&charged),
            result: Some(at),
        }
    });
    naive.into_iter().chain(arms).collect()
}

/// The cost of the naive baseline for each of so many seeds; none where the workload has no such one.
fn naive_costs(study: &Study, seeds: usize) -> Vec<f64> {
    study
        .naive_usd
        .map_or_else(Vec::new, |usd| vec![usd; seeds])
}

/// Digits behind the point of an amount in USD: small ones have as many as tell two of them apart,
/// down to the millionth in which providers bill.
pub(super) fn digits(usd: f64) -> usize {
    const LEAST: [(f64, usize); 4] = [(10.0, 2), (0.1, 3), (0.01, 4), (0.001, 5)];
    let found = LEAST.into_iter().find(|(least, _)| usd >= *least);
    let smallest = if usd > 0.0 { 6 } else { 3 };
    found.map_or(smallest, |(_, digits)| digits)
}

pub(super) fn money(estimate: MeanInterval) -> String {
    let digits = digits(estimate.mean);
    match estimate.margin {
        Some(margin) => format!("${:.digits$} ± {margin:.digits$}", estimate.mean),
        None => format!("${:.digits$}", estimate.mean),
    }
}

pub(super) fn percent(estimate: Option<MeanInterval>) -> String {
    match estimate {
        None => "-".to_owned(),
        Some(MeanInterval {
            mean,
            margin: Some(margin),
        }) => {
            format!("{:.1} % ± {:.1}", 100.0 * mean, 100.0 * margin)
        }
        Some(MeanInterval { mean, margin: None }) => format!("{:.1} %", 100.0 * mean),
    }
}

/// Hits of a row per seed, in words.
pub(super) fn hits(study: &Study, row: &Row) -> [String; 3] {
    let Some(result) = row.result.map(|at| &study.arms[at]) else {
        let calls = study.workload.naive.map_or(0, |naive| naive.calls);
        return [calls.to_string(), "-".into(), "-".into()];
    };
    let (sum, seeds) = (result.sum(), result.tallies.len().max(1) as u64);
    let stored = sum.hash_hits + sum.shared + sum.semantic_hits;
    let prompt = sum.fresh.tokens + sum.read.tokens + sum.written.tokens;
    [
        (sum.upstream / seeds).to_string(),
        share(stored, sum.calls),
        share(sum.read.tokens, prompt),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / (whole as f64).max(1.0))
}

/// What `--seeds` and the like made of it, in one line.
pub(super) fn scope(study: &Study) -> String {
    let (plan, seeds) = (
        &study.plan,
        study.arms.first().map_or(0, |arm| arm.tallies.len()),
    );
    let calls = study.arms.first().map_or(0, |arm| arm.sum().calls);
    let part = if plan.most_calls.is_some() {
        ", the beginning alone"
    } else {
        ""
    };
    let each = crate::cli::number_of(calls / seeds.max(1) as u64, "call");
    match seeds {
        1 => format!("{each}, one run{part}"),
        _ => format!(
            "{each} on average, {seeds} seeds from {}{part}; ± is the 95 % confidence interval over seeds",
            plan.seed
        ),
    }
}

/// What the columns of savings mean.
pub(super) const SAVED: &str = "Savings are means of the savings of each seed, against a client without cache marks and against a client that sets marks of 5 minutes. A negative one costs more. The extra price of writing into a cache, and audits, are included. Keys of your own at the provider have no spread.";

/// Headings of the columns of [`saved_columns`].
pub(super) fn saved_headings(study: &Study) -> Vec<String> {
    let spread = format!("with {} % spread", study.workload.spread_percent);
    let mut headings = vec!["provider's bill".to_owned()];
    let savings = ["saved", "against marks"];
    headings.extend(savings.map(str::to_owned));
    headings.push(spread);
    headings.extend(savings.map(str::to_owned));
    if study.naive_usd.is_some() {
        headings.push("saved against naive".to_owned());
    }
    headings
}

/// What a row costs and saves: with keys of one's own, with the spread, and against the naive
/// baseline where there is one.
pub(super) fn saved_columns(study: &Study, row: &Row) -> Vec<String> {
    let mut cells = vec![
        money(row.bill),
        percent(row.saved.against_none),
        percent(row.saved.against_marks),
        money(row.with_spread),
        percent(row.saved_with_spread.against_none),
        percent(row.saved_with_spread.against_marks),
    ];
    if study.naive_usd.is_some() {
        cells.push(percent(row.saved_with_spread.against_naive));
    }
    cells
}

/// Headings of the columns of [`hits`].
pub(super) const COUNTED: [&str; 3] = ["provider calls", "stored answers", "prompt from cache"];

fn saved_cells(study: &Study, rows: &[Row]) -> Vec<Vec<String>> {
    let headings = [vec![String::new()], saved_headings(study)].concat();
    let cells = rows
        .iter()
        .map(|row| [vec![row.label.clone()], saved_columns(study, row)].concat());
    std::iter::once(headings).chain(cells).collect()
}

fn counted_cells(study: &Study, rows: &[Row]) -> Vec<Vec<String>> {
    let headings = [&[""][..], &COUNTED].concat();
    let headings = headings.into_iter().map(str::to_owned).collect();
    let cells = rows
        .iter()
        .map(|row| [vec![row.label.clone()], hits(study, row).to_vec()].concat());
    std::iter::once(headings).chain(cells).collect()
}

/// The report as text.
pub(crate) fn words(study: &Study) -> String {
    let rows = rows(study);
    let mut lines = vec![study.workload.title.to_owned(), scope(study), String::new()];
    lines.extend(crate::cli::table(&saved_cells(study, &rows)));
    lines.push(String::new());
    lines.push(SAVED.to_owned());
    lines.push(String::new());
    lines.extend(crate::cli::table(&counted_cells(study, &rows)));
    lines.extend(break_even::words(study));
    lines.push("\nAssumptions".to_owned());
    if let Some(model) = &study.plan.model {
        lines.push(format!("- all calls go to {model}, whatever is said below"));
    }
    lines.extend(
        study
            .workload
            .assumptions
            .iter()
            .map(|line| format!("- {line}")),
    );
    let claims = claims::of(&study.workload);
    if !claims.is_empty() {
        lines.push("\nFigures of others, checked".to_owned());
    }
    for claim in claims {
        lines.push(format!("- \"{}\" {}", claim.quoted, claim.arithmetic));
    }
    lines.join("\n")
}

/// The report as JSON.
pub(crate) fn json(study: &Study) -> Value {
    let rows = rows(study).into_iter().map(|row| {
        let result = row.result.map(|at| &study.arms[at]);
        json!({
            "id": row.id,
            "label": row.label,
            "bill_usd": row.bill,
            "with_spread_usd": row.with_spread,
            "break_even": study.earning_days().map(|days| BreakEven::of(&row, days)),
            "saved": row.saved.against_none,
            "saved_against_marks": row.saved.against_marks,
            "saved_against_naive": row.saved.against_naive,
            "saved_with_spread": row.saved_with_spread,
            "bills_usd": result.map(ArmResult::costs),
            "all_seeds": result.map(ArmResult::sum),
        })
    });
    let claims = claims::of(&study.workload)
        .into_iter()
        .map(|claim| json!({ "quoted": claim.quoted, "arithmetic": claim.arithmetic }));
    json!({
        "workload": study.workload.name,
        "days": study.workload.days,
        "played_days": study.days,
        "seed": study.plan.seed,
        "seeds": study.arms.first().map_or(0, |arm| arm.tallies.len()),
        "most_calls": study.plan.most_calls,
        "model": study.plan.model,
        "spread_percent": study.workload.spread_percent,
        "assumptions": study.workload.assumptions,
        "rows": rows.collect::<Vec<_>>(),
        "claims": claims.collect::<Vec<_>>(),
    })
}
