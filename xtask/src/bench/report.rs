//! The figures, what they should be, and the table of both.

use std::{fs, path::Path, thread};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

use super::{
    median,
    workload::{Case, Shape},
};

/// Which stages of a request are built in, and so which ratios are promised.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Goals {
    /// Keys, parsing, routing and receipts.
    Foundation,
    /// With limits, holds, the ledger, the cache and metrics too.
    Full,
    /// Nothing is promised: the method is checking itself.
    #[value(skip)]
    None,
}

impl Goals {
    /// CPU time per request as a multiple of the floor's.
    pub(super) fn cpu(self, case: Case) -> Option<f64> {
        let (foundation, full) = match (case.shape, case.route.translates()) {
            (Shape::Chat, false) => (1.5, 2.5),
            (Shape::Stream, false) => (0.8, 1.0),
            (Shape::Agent, false) => (2.5, 3.5),
            (Shape::Chat, true) => (2.0, 3.0),
            (Shape::Stream, true) => (1.5, 1.7),
            (Shape::Agent, true) => (8.0, 9.0),
            (Shape::AgentStream, _) => return None,
        };
        match self {
            Self::Foundation => Some(foundation),
            Self::Full => Some(full),
            Self::None => None,
        }
    }

    pub(super) fn added_p50_micros(self) -> Option<f64> {
        self.always(70.0)
    }

    /// Idle, after load, with 2,000 open streams.
    pub(super) fn memory_mebibytes(self) -> [Option<f64>; 3] {
        [20.0, 60.0, 200.0].map(|goal| self.always(goal))
    }

    pub(super) fn start_millis(self) -> Option<f64> {
        self.always(25.0)
    }

    pub(super) fn key_check_micros(self) -> Option<f64> {
        self.always(1.0)
    }

    /// Of a decision among 50 candidates.
    pub(super) fn decision_micros(self) -> Option<f64> {
        self.always(10.0)
    }

    /// Of an eligible request that is not found, as a multiple of the floor's.
    pub(super) fn cache_miss(self) -> Option<f64> {
        self.always(2.5)
    }

    /// Of a request without a part of the cache, as a multiple of the same with the cache off.
    pub(super) fn cache_bystander(self) -> Option<f64> {
        self.always(1.03)
    }

    /// Of a request while 5 % of all are traced, as a multiple of the same without telemetry.
    pub(super) fn traced_some(self) -> Option<f64> {
        self.always(1.03)
    }

    /// CPU of a hit.
    pub(super) fn hit_micros(self) -> Option<f64> {
        self.always(30.0)
    }

    /// Time of a hit as a multiple of the floor's, which has to ask the provider.
    pub(super) fn hit_latency(self) -> Option<f64> {
        self.always(1.0)
    }

    /// Memory that a full cache adds, as a multiple of its byte budget.
    pub(super) fn cache_memory(self) -> Option<f64> {
        self.always(1.0)
    }

    /// Of a look-up among 5,000 stored answers, at the 99th percentile.
    pub(super) fn look_up_micros(self) -> Option<f64> {
        self.always(20.0)
    }

    pub(super) fn binary_mebibytes(self) -> Option<f64> {
        self.always(50.0)
    }

    /// A goal that holds whatever is built in.
    fn always(self, goal: f64) -> Option<f64> {
        (self != Self::None).then_some(goal)
    }
}

/// The median of several rounds and how far they lie apart.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    pub(super) fn of(values: Vec<f64>) -> Self {
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            median: median(values),
        }
    }
}

/// A figure of the report.
#[derive(Serialize)]
pub(super) struct Row {
    section: &'static str,
    name: String,
    unit: &'static str,
    floor: Option<f64>,
    gateway: Option<f64>,
    ratio: Option<Spread>,
    /// At most this: of the ratio where there is one, else of the figure.
    goal: Option<f64>,
    met: Option<bool>,
    note: Option<String>,
}

impl Row {
    /// A figure judged by its ratio to the floor's.
    pub(super) fn ratio(
        section: &'static str,
        name: String,
        unit: &'static str,
        floor: f64,
        gateway: f64,
        ratio: Spread,
        goal: Option<f64>,
    ) -> Self {
        Self {
            ratio: Some(ratio),
            met: goal.map(|goal| ratio.median <= goal),
            ..Self::value(section, name, unit, gateway, goal).beside(floor)
        }
    }

    /// A figure judged by itself.
    pub(super) fn value(
        section: &'static str,
        name: String,
        unit: &'static str,
        value: f64,
        goal: Option<f64>,
    ) -> Self {
        Self {
            section,
            name,
            unit,
            floor: None,
            gateway: Some(value),
            ratio: None,
            goal,
            met: goal.map(|goal| value <= goal),
            note: None,
        }
    }

    /// A figure that could not be measured. It misses any goal.
    pub(super) fn failed(
        section: &'static str,
        name: String,
        goal: Option<f64>,
        error: &anyhow::Error,
    ) -> Self {
        Self {
            section,
            name,
            unit: "",
            floor: None,
            gateway: None,
            ratio: None,
            goal,
            met: Some(false),
            note: Some(format!("{error:#}")),
        }
    }

    pub(super) fn beside(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    pub(super) fn noted(mut self, note: String) -> Self {
        self.note = Some(note);
        self
    }

    fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "pass",
            Some(false) => "MISS",
            None => "",
        }
    }

    fn line(&self) -> String {
        let figure = |value: Option<f64>| {
            value.map_or_else(String::new, |value| {
                format!("{} {}", short(value), self.unit)
            })
        };
        let ratio = self.ratio.map_or_else(String::new, |ratio| {
            format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max)
        });
        let goal = self.goal.map_or_else(String::new, |goal| match self.ratio {
            None if !self.unit.is_empty() => format!("{goal:.0} {}", self.unit),
            _ => format!("{goal:.2}"),
        });
        let note = self.note.as_deref().unwrap_or_default();
        let note: String = note.chars().take(NOTE_CHARS).collect();
        let line = format!(
            "  {:<42} {:>12} {:>12}  {ratio:<18} {goal:>8}  {:<4}  {}",
            self.name,
            figure(self.floor),
            figure(self.gateway),
            self.verdict(),
            note,
        );
        line.trim_end().to_owned()
    }
}

/// Of a note in the table; the JSON has all of it.
const NOTE_CHARS: usize = 100;

/// Three digits that matter.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Everything measured in one run.
pub(super) struct Report {
    goals: Goals,
    rows: Vec<Row>,
}

impl Report {
    pub(super) fn new(goals: Goals) -> Self {
        let rows = Vec::new();
        Self { goals, rows }
    }

    pub(super) fn goals(&self) -> Goals {
        self.goals
    }

    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Whether every figure that has a goal meets it, and none failed.
    pub(super) fn all_met(&self) -> bool {
        self.rows.iter().all(|row| row.met != Some(false))
    }

    pub(super) fn print(&self) {
        println!(
            "  {:<42} {:>12} {:>12}  {:<18} {:>8}",
            "", "floor", "gateway", "ratio (min–max)", "goal"
        );
        let mut section = "";
        for row in &self.rows {
            if row.section != section {
                section = row.section;
                println!("{section}");
            }
            println!("{}", row.line());
        }
        let met = |wanted| {
            self.rows
                .iter()
                .filter(|row| row.met == Some(wanted))
                .count()
        };
        println!("{} goals met, {} missed", met(true), met(false));
        println!(
            "on {} cores, load average {} (the benchmark's own load included)",
            cores(),
            load_average().map_or_else(|| "unknown".to_owned(), |load| format!("{load:.1}")),
        );
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let report = json!({
            "cores": cores(), "load_average": load_average(),
            "all_met": self.all_met(), "rows": self.rows,
        });
        let text = serde_json::to_string_pretty(&report)?;
        fs::write(path, text + "\n").with_context(|| format!("write {}", path.display()))
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(0, usize::from)
}

/// The load of the machine in the last minute. Far above the number of
/// cores, times are unreliable and ratios still hold.
fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(values: &[f64], goal: f64) -> Row {
        let spread = Spread::of(values.to_vec());
        Row::ratio("s", "n".into(), "µs", 10.0, 15.0, spread, Some(goal))
    }

    #[test]
    fn a_ratio_is_judged_by_its_median() {
        let row = ratio(&[1.1, 9.0, 1.4], 1.5);
        assert_eq!(row.verdict(), "pass");
        assert!(row.line().contains("1.40 (1.10–9.00)"), "{}", row.line());
        assert_eq!(ratio(&[1.6, 1.6, 1.0], 1.5).verdict(), "MISS");
    }

    #[test]
    fn a_figure_that_could_not_be_taken_is_a_miss() {
        let mut report = Report::new(Goals::Foundation);
        report.add(Row::value("s", "n".into(), "ms", 3.0, None));
        assert!(report.all_met());
        report.add(Row::failed("s", "n".into(), None, &anyhow::anyhow!("x")));
        assert!(!report.all_met());
    }

    #[test]
    fn goals_follow_the_stages_built_in() {
        let goal = |goals: Goals| goals.cpu(Case::CHAT).unwrap();
        assert!(goal(Goals::Foundation) < goal(Goals::Full));
    }
}
