//! Results as text and as JSON.

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
    /// Against the client without cache marks.
    pub(super) saved: Option<MeanInterval>,
    /// Against the client with marks.
    pub(super) saved_marked: Option<MeanInterval>,
    pub(super) result: Option<usize>,
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
                saved: None,
                saved_marked: None,
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
        Row {
            id: result.arm.id(),
            label: result.arm.label().to_owned(),
            bill: MeanInterval::of(&costs),
            with_spread: MeanInterval::of(&charged),
            saved: (!is_base && !plain.is_empty()).then(|| MeanInterval::saving(&costs, &plain)),
            saved_marked: (result.arm.has_marks() && !marked.is_empty())
                .then(|| MeanInterval::saving(&costs, &marked)),
            result: Some(at),
        }
    });
    naive.into_iter().chain(arms).collect()
}

pub(super) fn money(estimate: MeanInterval) -> String {
    let digits = if estimate.mean < 10.0 { 3 } else { 2 };
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
    let each = calls / seeds.max(1) as u64;
    match seeds {
        1 => format!("{each} calls, one run{part}"),
        _ => format!(
            "{each} calls on average, {seeds} seeds from {}{part}; ± is the 95 % confidence interval over seeds",
            plan.seed
        ),
    }
}

/// The report as text.
pub(crate) fn words(study: &Study) -> String {
    let rows = rows(study);
    let spread = format!("with {} % spread", study.workload.spread_percent);
    let heading = [
        "",
        "provider's bill",
        &spread,
        "saved",
        "saved against marks",
        "calls",
        "stored answers",
        "prompt from cache",
    ];
    let mut cells: Vec<Vec<String>> = vec![heading.map(str::to_owned).to_vec()];
    for row in &rows {
        let [calls, stored, read] = hits(study, row);
        cells.push(vec![
            row.label.clone(),
            money(row.bill),
            money(row.with_spread),
            percent(row.saved),
            percent(row.saved_marked),
            calls,
            stored,
            read,
        ]);
    }
    let mut lines = vec![study.workload.title.to_owned(), scope(study), String::new()];
    lines.extend(crate::cli::table(&cells));
    lines.push(String::new());
    lines.push(
        "`saved`: of the bill, against a client without cache marks; `against marks`: against a client that sets marks of 5 minutes. The extra price of writing into a cache is included. Keys of your own at the provider have no spread.".to_owned(),
    );
    lines.extend(break_even::words(study));
    lines.push("\nAssumptions".to_owned());
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
            "break_even": study.days.map(|days| BreakEven::of(&row, days)),
            "saved": row.saved,
            "saved_against_marks": row.saved_marked,
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
