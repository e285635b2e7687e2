//! The day, to read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Day, Thought};

/// One line of the table.
#[derive(Default)]
struct BillRow {
    calls: usize,
    input: u64,
    output: u64,
    micro_usd: u64,
    unpriced: usize,
    /// `model@backend` and how often.
    routes: BTreeMap<String, usize>,
    lost: BTreeMap<String, usize>,
    tiers: BTreeSet<String>,
    setup: ReportedSetup,
}

/// Settings of the models of a row.
#[derive(Default)]
struct ReportedSetup {
    temperature: Option<(f64, f64)>,
    efforts: BTreeSet<String>,
    schemas: BTreeSet<String>,
    /// Settings that a model did not take.
    not_taken: BTreeSet<String>,
}

impl ReportedSetup {
    fn add(&mut self, thought: &Thought, not_taken: Vec<String>) {
        self.not_taken.extend(not_taken);
        let Some(receipt) = &thought.receipt else {
            return;
        };
        let routing = &receipt.routing;
        self.efforts.extend(routing.reasoning_effort.clone());
        self.schemas.extend(routing.schema.clone());
        if let Some(now) = routing.temperature {
            let (low, high) = self.temperature.unwrap_or((now, now));
            self.temperature = Some((low.min(now), high.max(now)));
        }
    }
}

impl std::fmt::Display for ReportedSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        match self.temperature {
            Some((low, high)) if high - low < 0.005 => parts.push(format!("temperature {low:.2}")),
            Some((low, high)) => parts.push(format!("temperature {low:.2} to {high:.2}")),
            None => {}
        }
        let mut list = |what: &str, names: &BTreeSet<String>| {
            if !names.is_empty() {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                parts.push(format!("{what} {}", names.join(", ")));
            }
        };
        list("effort", &self.efforts);
        list("schema", &self.schemas);
        list("not supported:", &self.not_taken);
        f.write_str(&parts.join("; "))
    }
}

impl BillRow {
    fn add(&mut self, thought: &Thought) {
        let (input, output) = thought.tokens();
        self.calls += 1;
        self.input += input;
        self.output += output;
        match thought.micro_usd() {
            Some(cost) => self.micro_usd += cost,
            None => self.unpriced += 1,
        }
        *self.routes.entry(thought.route()).or_default() += 1;
        let (lost, not_taken) = thought.lost_apart();
        for name in lost {
            *self.lost.entry(name).or_default() += 1;
        }
        let tier = thought
            .receipt
            .as_ref()
            .and_then(|receipt| receipt.routing.tier.clone());
        self.tiers.extend(tier);
        self.setup.add(thought, not_taken);
    }

    /// The usual route, and how many others there were.
    fn route(&self) -> String {
        let usual = self.routes.iter().max_by_key(|(_, count)| **count);
        let name = usual.map_or("", |(name, _)| name.as_str());
        match self.routes.len() {
            0 | 1 => name.to_owned(),
            many => format!("{name} +{}", many - 1),
        }
    }
}

fn usd(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

fn counted(names: &BTreeMap<String, usize>) -> String {
    let each = names.iter().map(|(name, count)| match count {
        1 => name.clone(),
        many => format!("{name} ×{many}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Everything worth knowing about a day, for people.
#[must_use]
pub fn report(day: &Day, wall: Duration) -> String {
    let (rows, total) = bill(day);
    let mut out = String::new();
    head(&mut out, day, wall);
    table(&mut out, &rows, &total);
    compare(&mut out, day, &total);
    tell(&mut out, day, &rows);
    out
}

/// The report of a day as JSON. Amounts are USD as text.
#[must_use]
pub fn report_json(day: &Day, wall: Duration) -> Value {
    let (rows, total) = bill(day);
    let row = |name: &str, row: &BillRow| {
        json!({
            "subsystem": name, "calls": row.calls, "tiers": row.tiers, "route": row.route(),
            "input_tokens": row.input, "output_tokens": row.output, "usd": usd(row.micro_usd),
            "calls_without_price": row.unpriced, "degraded": row.lost,
        })
    };
    let rows: Vec<Value> = rows.iter().map(|(name, each)| row(name, each)).collect();
    let compared = day.baseline.as_ref().map(|baseline| {
        let naive = baseline.naive(day);
        let side = |micro: u64| {
            let ratio = (total.unpriced == 0).then(|| times(micro, total.micro_usd));
            json!({ "usd": usd(micro), "ratio": ratio })
        };
        json!({
            "model": baseline.model,
            "input_usd_per_million": dollars(baseline.input),
            "output_usd_per_million": dollars(baseline.output),
            "like_for_like": side(naive.calls),
            "with_quiet_ticks": side(naive.total()),
        })
    });
    json!({
        "sandbox": day.is_sandbox,
        "seconds": wall.as_secs(),
        "ticks": { "all": day.counts.ticks(), "t0": day.counts.t0, "t1": day.counts.t1,
            "t2": day.counts.t2, "escalated": day.escalated },
        "requests": day.requests,
        "requests_at_t0": day.t0_requests,
        "died": day.died,
        "usd": usd(total.micro_usd),
        "calls_without_price": total.unpriced,
        "subsystems": rows,
        "baseline": compared,
        "warnings": day.warnings,
        "violations": day.violations(),
    })
}

/// The lines of the bill, by name, and their sum.
fn bill(day: &Day) -> (Vec<(&str, BillRow)>, BillRow) {
    let mut rows: Vec<(&str, BillRow)> = Vec::new();
    let mut total = BillRow::default();
    for thought in day.answered() {
        let known = rows.iter_mut().find(|(name, _)| *name == thought.subsystem);
        match known {
            Some((_, row)) => row.add(thought),
            None => {
                let mut row = BillRow::default();
                row.add(thought);
                rows.push((&thought.subsystem, row));
            }
        }
        total.add(thought);
    }
    rows.sort_by_key(|(name, _)| *name);
    (rows, total)
}

fn head(out: &mut String, day: &Day, wall: Duration) {
    let counts = day.counts;
    let share = |part: u64| part * 100 / counts.ticks().max(1);
    let place = if day.is_sandbox {
        "simulated providers, play money"
    } else {
        "real providers, real money"
    };
    let (first, last) = day.vitality;
    let _ = writeln!(
        out,
        "\nA Golem's day: {} ticks of its heartbeat in {:.1} s ({place})\n\
         T0 are rules without a model, T1 is a small model, T2 a strong one; T0 and T1 are System 1\n\n\
         heartbeat   {} ticks without a model (T0, {} %), {} for a small one (T1), {} for a strong one (T2)\n\
         \x20           System 1 decided {} %; {} ticks went on to T2 because T1 was not sure\n\
         life        vitality {first:.2} in the morning, {last:.2} in the end{}\n\
         requests    {} sent, {} at T0\n",
        counts.ticks(),
        wall.as_secs_f64(),
        counts.t0,
        share(counts.t0),
        counts.t1,
        counts.t2,
        share(counts.system_one()),
        day.escalated,
        if day.died { ", and it died" } else { "" },
        day.requests,
        day.t0_requests,
    );
}

fn table(out: &mut String, rows: &[(&str, BillRow)], total: &BillRow) {
    let head = [
        "subsystem",
        "calls",
        "tier",
        "model@backend",
        "tokens in",
        "out",
        "USD",
        "lost",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(
        rows.iter()
            .map(|(name, row)| cells(name, &row.route(), row)),
    );
    lines.push(cells("all", "", total));
    let mut wide = [0; 8];
    for line in &lines {
        for (wide, cell) in wide.iter_mut().zip(line) {
            *wide = (*wide).max(cell.chars().count());
        }
    }
    for line in &lines {
        let cells = line.iter().zip(wide).enumerate();
        let text: Vec<String> = cells
            .map(|(at, (cell, wide))| match at {
                // Numbers end where their column ends.
                1 | 4..=6 => format!("{cell:>wide$}"),
                _ => format!("{cell:<wide$}"),
            })
            .collect();
        let _ = writeln!(out, "{}", text.join("  ").trim_end());
    }
}

fn cells(name: &str, route: &str, row: &BillRow) -> [String; 8] {
    let tiers: Vec<&str> = row.tiers.iter().map(String::as_str).collect();
    let cost = match row.unpriced {
        0 => usd(row.micro_usd),
        _ => format!("{} + ?", usd(row.micro_usd)),
    };
    [
        name.to_owned(),
        row.calls.to_string(),
        if route.is_empty() {
            String::new()
        } else {
            tiers.join("/")
        },
        route.to_owned(),
        row.input.to_string(),
        row.output.to_string(),
        cost,
        counted(&row.lost),
    ]
}

/// The ratio of two amounts, with one decimal.
fn times(naive: u64, own: u64) -> String {
    let tenths = (u128::from(naive) * 10 + u128::from(own) / 2) / u128::from(own.max(1));
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn compare(out: &mut String, day: &Day, total: &BillRow) {
    let Some(baseline) = &day.baseline else {
        let _ = writeln!(
            out,
            "\nNo price of the frontier model is known: nothing to compare with."
        );
        return;
    };
    let naive = baseline.naive(day);
    let own = total.micro_usd;
    let line = |out: &mut String, what: &str, micro: u64| {
        let ratio = match total.unpriced {
            0 => format!(", {} times this day", times(micro, own)),
            // A ratio of sums of which one lacks a part would flatter.
            _ => String::new(),
        };
        let _ = writeln!(out, "  {what:<44} {:>12} USD{ratio}", usd(micro));
    };
    let _ = match total.unpriced {
        0 => writeln!(out, "\nThis day cost {} USD.", usd(own)),
        lacking => writeln!(
            out,
            "\nThis day cost {} USD, and {lacking} calls without a known price.",
            usd(own)
        ),
    };
    let _ = writeln!(
        out,
        "On {} alone, at its list price of {} and {} USD per million tokens without discounts for \
         cached tokens:",
        baseline.model,
        dollars(baseline.input),
        dollars(baseline.output),
    );
    let calls = format!("the same {} calls (like for like)", total.calls);
    line(out, &calls, naive.calls);
    let all = format!("and a call on each of the {} quiet ticks", day.counts.t0);
    line(out, &all, naive.total());
}

/// A price per million tokens.
fn dollars(micro: u64) -> String {
    format!("{}.{:02}", micro / 1_000_000, micro / 10_000 % 100)
}

fn tell(out: &mut String, day: &Day, rows: &[(&str, BillRow)]) {
    let setups = rows.iter().map(|(name, row)| (name, row.setup.to_string()));
    let told: Vec<_> = setups.filter(|(_, setup)| !setup.is_empty()).collect();
    if !told.is_empty() {
        let wide = told.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let _ = writeln!(out, "\nHow models were set up");
        for (name, setup) in told {
            let _ = writeln!(out, "  {name:<wide$}  {setup}");
        }
    }
    if !day.warnings.is_empty() {
        let _ = writeln!(out, "\nMessages to its owner");
        for warning in &day.warnings {
            let _ = writeln!(out, "  {warning}");
        }
    }
    let _ = writeln!(
        out,
        "\nProtected parts (risk, operator, death) at low vitality: {}",
        if day.changed.is_empty() {
            "as at full life"
        } else {
            "CHANGED"
        }
    );
}
