//! The day, to read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::{Day, Thought};

/// One line of the table.
#[derive(Default)]
struct Row {
    calls: usize,
    input: u64,
    output: u64,
    micro_usd: u64,
    unpriced: usize,
    /// `model@backend` and how often.
    routes: BTreeMap<String, usize>,
    lost: BTreeMap<String, usize>,
    notes: BTreeMap<String, usize>,
}

impl Row {
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
        for name in thought.lost() {
            *self.lost.entry(name).or_default() += 1;
        }
        for note in thought.profile_notes() {
            *self.notes.entry(note).or_default() += 1;
        }
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

/// Everything worth knowing about a day.
pub(crate) fn report(day: &Day, wall: Duration) -> String {
    let mut rows: Vec<(&str, Row)> = Vec::new();
    let mut total = Row::default();
    for thought in day.answered() {
        let known = rows.iter_mut().find(|(name, _)| *name == thought.subsystem);
        match known {
            Some((_, row)) => row.add(thought),
            None => {
                let mut row = Row::default();
                row.add(thought);
                rows.push((&thought.subsystem, row));
            }
        }
        total.add(thought);
    }
    rows.sort_by_key(|(name, _)| *name);
    let mut out = String::new();
    head(&mut out, day, wall);
    table(&mut out, &rows, &total);
    compare(&mut out, day, &total);
    tell(&mut out, day, &rows);
    out
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
        "\nA Golem's day: {} ticks in {:.1} s ({place})\n\n\
         heartbeat   {} ticks without a model (T0, {} %), {} for a small one (T1), {} for a strong one (T2)\n\
         \x20           System 1 settled {} %; {} ticks were handed over because T1 was not sure\n\
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

fn table(out: &mut String, rows: &[(&str, Row)], total: &Row) {
    let names = rows.iter().map(|(name, _)| name.len());
    let wide = names.max().unwrap_or(0).max("subsystem".len());
    let routes = rows.iter().map(|(_, row)| row.route().chars().count());
    let far = routes.max().unwrap_or(0).max("model@backend".len());
    let mut line = |name: &str,
                    calls: &str,
                    route: &str,
                    tokens: [&str; 2],
                    cost: &str,
                    lost: &str| {
        let [input, output] = tokens;
        let text = format!(
            "{name:<wide$}  {calls:>5}  {route:<far$}  {input:>8}  {output:>7}  {cost:>11}  {lost}"
        );
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(
        "subsystem",
        "calls",
        "model@backend",
        ["tokens in", "out"],
        "USD",
        "lost",
    );
    let named = rows.iter().map(|(name, row)| (*name, row.route(), row));
    for (name, route, row) in named.chain([("all", String::new(), total)]) {
        let cost = match row.unpriced {
            0 => usd(row.micro_usd),
            _ => format!("{} + ?", usd(row.micro_usd)),
        };
        line(
            name,
            &row.calls.to_string(),
            &route,
            [&row.input.to_string(), &row.output.to_string()],
            &cost,
            &counted(&row.lost),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure to compare with")]
fn compare(out: &mut String, day: &Day, total: &Row) {
    let Some(baseline) = &day.baseline else {
        let _ = writeln!(
            out,
            "\nNo price of the frontier model is known: nothing to compare with."
        );
        return;
    };
    let naive = baseline.naive(day);
    let own = total.micro_usd as f64 / 1e6;
    let _ = writeln!(
        out,
        "\nThe same day on {} alone, at its list price of {:.2} and {:.2} USD per million tokens:\n\
         \x20 the {} calls above          {:>10.4} USD\n\
         \x20 a call on each T0 tick too  {:>10.4} USD\n\
         \x20 together                    {:>10.4} USD",
        baseline.model,
        baseline.input * 1e6,
        baseline.output * 1e6,
        total.calls,
        naive.calls,
        naive.quiet_ticks,
        naive.total(),
    );
    let _ = match total.unpriced {
        0 => writeln!(
            out,
            "This day                      {own:>10.4} USD, {:.1} times less",
            naive.total() / own.max(1e-9)
        ),
        // A ratio of sums of which one lacks a part would flatter.
        lacking => writeln!(
            out,
            "This day                      {own:>10.4} USD, and {lacking} calls of which nobody \
             knows the price"
        ),
    };
}

fn tell(out: &mut String, day: &Day, rows: &[(&str, Row)]) {
    let noted: Vec<_> = rows
        .iter()
        .filter(|(_, row)| !row.notes.is_empty())
        .collect();
    if !noted.is_empty() {
        let _ = writeln!(out, "\nHow models were set up");
        for (name, row) in noted {
            let _ = writeln!(out, "  {name}: {}", counted(&row.notes));
        }
    }
    if !day.warnings.is_empty() {
        let _ = writeln!(out, "\nWhat its owner was told");
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
