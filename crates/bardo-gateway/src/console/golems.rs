//! Agents: what each one costs, what it saves, and the state that it reported last.

use std::collections::BTreeMap;

use bardo_console::format::{count, encoded, percent, short, usd};
use bardo_console::pages::GolemsPage;
use bardo_console::parts::{Cell, ChartKind, Empty, PageChart, PageTable, Tab, Tile, Tone, Unit};
use bardo_console::render;
use bardo_ledger::series::{Figure, SeriesFigures, SeriesName};
use bardo_types::calendar::rfc3339;
use serde_json::{Value, json};

use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::operator::OperatorError;
use crate::series::{GolemRow, ReportPeriod};

const DAY_MS: u64 = 86_400_000;
/// Names and days of the times to choose from.
const WINDOWS: [(&str, u64); 2] = [("7d", 7), ("30d", 30)];
/// Most agents on the page; files have all.
const SHOWN_MAX: usize = 200;
/// Most lines of the chart.
const LINES: usize = 5;
/// Columns of the CSV file.
const COLUMNS: [&str; 12] = [
    "golem",
    "account",
    "requests",
    "unpriced_requests",
    "tokens",
    "cost_usd",
    "cache_savings_usd",
    "phase",
    "vitality",
    "sustainability",
    "first_seen",
    "last_seen",
];

/// A number of whole days in UTC that ends now.
pub(super) struct GolemSpan {
    /// Name of the time in addresses.
    pub(super) name: &'static str,
    pub(super) period: ReportPeriod,
    /// Unix milliseconds at which the days begin.
    pub(super) starts: Vec<u64>,
}

impl GolemSpan {
    /// The time that the address names, else the last 7 days.
    pub(super) fn of(visit: &Visit<'_>) -> Self {
        let wanted = visit.query.get("window").unwrap_or_default();
        let found = WINDOWS.iter().find(|(name, _)| *name == wanted);
        let (name, days) = *found.unwrap_or(&WINDOWS[0]);
        let now = visit.ops.now_ms();
        let today = now / DAY_MS * DAY_MS;
        let starts: Vec<u64> = (0..days)
            .rev()
            .map(|back| today.saturating_sub(back * DAY_MS))
            .collect();
        let period = ReportPeriod {
            from_ms: starts.first().copied().unwrap_or(today),
            to_ms: now + 1,
        };
        Self {
            name,
            period,
            starts,
        }
    }

    /// Links to the same page over other times; `more` begins with `&`.
    pub(super) fn tabs(&self, path: &str, more: &str) -> Vec<Tab> {
        let tab = |(name, _): &(&'static str, u64)| Tab {
            label: (*name).to_owned(),
            href: format!("{path}?window={name}{more}"),
            current: *name == self.name,
        };
        WINDOWS.iter().map(tab).collect()
    }

    /// The cost of each day in 10⁻⁶ USD, with days without requests.
    pub(super) fn costs(&self, row: &GolemRow) -> Vec<i64> {
        let costs: BTreeMap<u64, i64> = row.days.iter().copied().collect();
        let cost = |start: &u64| costs.get(start).copied().unwrap_or(0);
        self.starts.iter().map(cost).collect()
    }

    /// A chart of cost per day without lines.
    pub(super) fn chart(&self, title: &str) -> PageChart {
        let times = self.starts.iter().map(|start| start / 1_000);
        PageChart::new("golem-cost", title, Unit::Usd).times(times.collect())
    }
}

/// The agents of a time, the dearest first.
pub(super) async fn gathered(
    visit: &Visit<'_>,
    period: ReportPeriod,
) -> Result<Vec<GolemRow>, OperatorError> {
    visit.ops.operator.golems(period).await
}

/// Amounts for a chart.
#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
pub(super) fn dollars(micro: i64) -> Option<f64> {
    Some(micro as f64 / 1e6)
}

/// Tokens of prompts and answers.
pub(super) fn tokens(figures: &SeriesFigures) -> u64 {
    [
        Figure::InputTokens,
        Figure::CachedTokens,
        Figure::CacheWriteTokens,
        Figure::OutputTokens,
    ]
    .into_iter()
    .map(|figure| figures.count(figure))
    .sum()
}

/// Savings by stored answers and by the prompt caches of providers.
pub(super) fn saved(figures: &SeriesFigures) -> i64 {
    [
        Figure::HashSavings,
        Figure::SemanticSavings,
        Figure::PrefixSavings,
    ]
    .into_iter()
    .map(|figure| figures.get(figure))
    .fold(0, i64::saturating_add)
}

/// A cost with the number of requests that have none.
pub(super) fn cost(figures: &SeriesFigures) -> Cell {
    let cell = Cell::text(usd(figures.get(Figure::Cost)));
    match figures.count(Figure::Unpriced) {
        0 => cell,
        missing => cell.note(format!("{} without a known price", count(missing))),
    }
}

/// A phase as a badge.
pub(super) fn phase(phase: Option<&str>) -> Cell {
    match phase {
        None => Cell::text("not reported"),
        Some(phase @ ("thriving" | "stable")) => Cell::badge(phase, Tone::Good),
        Some(phase @ "conservation") => Cell::badge(phase, Tone::Warn),
        Some(phase) => Cell::badge(phase, Tone::Bad),
    }
}

/// What the agent reported, or that it reported nothing.
pub(super) fn reported(text: Option<&str>) -> Cell {
    Cell::text(text.unwrap_or("not reported"))
}

/// The address of an agent's page.
pub(super) fn path_of(row: &GolemRow, window: &str) -> String {
    format!(
        "/console/golems/{}?account={}&window={window}",
        encoded(&row.seen.golem),
        encoded(&row.seen.account)
    )
}

/// The tiles of a sum.
pub(super) fn tiles(figures: &SeriesFigures, requests: &str) -> Vec<Tile> {
    let cost = usd(figures.get(Figure::Cost));
    let mut spent = Tile::new("Cost", cost).link(requests);
    let missing = figures.count(Figure::Unpriced);
    if missing > 0 {
        let note = format!(
            "{} requests without a known price are missing",
            count(missing)
        );
        spent = spent.note(note).tone(Tone::Warn);
    }
    let saved = saved(figures);
    let failed = figures.count(Figure::Failed);
    let asked = figures.count(Figure::Requests);
    vec![
        spent,
        Tile::new("Requests", count(asked))
            .note(format!("{} failed", count(failed)))
            .link(requests),
        Tile::new("Tokens", short(tokens(figures))).note(format!(
            "{} in answers",
            short(figures.count(Figure::OutputTokens))
        )),
        Tile::new("Saved by caches", usd(saved))
            .tone(if saved > 0 { Tone::Good } else { Tone::Plain })
            .note("stored answers and prompt caches"),
        Tile::new(
            "Answers from the cache",
            percent(
                figures.count(Figure::HashHits) + figures.count(Figure::SemanticHits),
                asked,
            ),
        ),
    ]
}

/// A row per subsystem with its share of the cost as a bar. Where nothing costs, the share is that of
/// the requests.
pub(super) fn subsystems(
    parts: &[(SeriesName, SeriesFigures)],
    link: impl Fn(&str) -> String,
) -> PageTable {
    let empty = Empty::new(
        "No subsystem",
        "Name the subsystem of each request in the header `X-Bardo-Subsystem`.",
    );
    let headings = [
        "Subsystem",
        "Share",
        "#Cost",
        "#Requests",
        "#Tokens*",
        "#Saved*",
    ];
    let mut table = PageTable::new("Subsystems", &headings).empty(empty);
    let sum = |figure| parts.iter().map(|(_, one)| one.count(figure)).sum::<u64>();
    let by = match sum(Figure::Cost) {
        0 => Figure::Requests,
        _ => Figure::Cost,
    };
    let whole = sum(by);
    for (name, figures) in parts {
        let part = figures.count(by);
        let cell = match name {
            SeriesName::Named(name) => Cell::text(name).link(link(name)),
            SeriesName::Unnamed => Cell::text("without a subsystem"),
            SeriesName::Other => Cell::text("others"),
        };
        table.push(vec![
            cell,
            Cell::text(percent(part, whole)).bar(part.saturating_mul(100) / whole.max(1)),
            cost(figures),
            Cell::text(count(figures.count(Figure::Requests))),
            Cell::text(short(tokens(figures))),
            Cell::text(usd(saved(figures))),
        ]);
    }
    table
}

/// What an agent has to send.
fn empty(visit: &Visit<'_>) -> Empty {
    let base = super::build::base(visit);
    Empty::new(
        "No agent in this time",
        "An agent shows up here when it sends the header X-Bardo-Golem-Id. With X-Bardo-Subsystem its cost is split by subsystem, and with X-Bardo-Phase and X-Bardo-Sustainability its state is shown. Send a first request:",
    )
    .code(format!(
        "curl {base}/v1/chat/completions -H \"Authorization: Bearer $BARDO_KEY\" -H \"Content-Type: application/json\" -H \"X-Bardo-Golem-Id: my-agent\" -H \"X-Bardo-Subsystem: heartbeat\" -d '{{\"model\":\"bardo/auto\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'"
    ))
    .link("Create a key", "/console/connect")
}

fn table(visit: &Visit<'_>, span: &GolemSpan, rows: &[GolemRow]) -> PageTable {
    let headings = [
        "Agent",
        "#Cost",
        "#Requests",
        "#Tokens*",
        "#Saved by caches*",
        "Phase",
        "#Sustainability*",
        "Last seen*",
    ];
    let file = |kind: &str| format!("/console/golems.{kind}?window={}", span.name);
    let mut table = PageTable::new("Agents", &headings)
        .empty(empty(visit))
        .export("CSV", file("csv"))
        .export("JSON", file("json"));
    let most = rows.iter().map(|row| row.figures.count(Figure::Cost)).max();
    let most = most.unwrap_or(0).max(1);
    for row in rows.iter().take(SHOWN_MAX) {
        let (seen, figures) = (&row.seen, &row.figures);
        table.push(vec![
            Cell::text(&seen.golem)
                .link(path_of(row, span.name))
                .note(&seen.account),
            cost(figures).bar(figures.count(Figure::Cost).saturating_mul(100) / most),
            Cell::text(count(figures.count(Figure::Requests))),
            Cell::text(short(tokens(figures))),
            Cell::text(usd(saved(figures))),
            phase(seen.phase.as_deref()),
            reported(seen.sustainability.as_deref()),
            Cell::time(seen.last_seen_ms, rfc3339(seen.last_seen_ms)),
        ]);
    }
    table
}

/// Lines of the dearest agents, and one of the others.
fn chart(span: &GolemSpan, rows: &[GolemRow]) -> PageChart {
    let mut chart = span.chart("Cost per day");
    let line = |costs: Vec<i64>| costs.into_iter().map(dollars).collect();
    for row in rows.iter().take(LINES) {
        chart = chart.series(&row.seen.golem, ChartKind::Line, line(span.costs(row)));
    }
    if rows.len() > LINES {
        let mut others = vec![0_i64; span.starts.len()];
        for row in &rows[LINES..] {
            for (sum, cost) in others.iter_mut().zip(span.costs(row)) {
                *sum = sum.saturating_add(cost);
            }
        }
        chart = chart.series("others", ChartKind::Line, line(others));
    }
    chart
}

/// Shows the list page.
pub(super) async fn list(visit: &Visit<'_>) -> PageResult {
    let span = GolemSpan::of(visit);
    let mut problem = String::new();
    let rows = gathered(visit, span.period).await.unwrap_or_else(|error| {
        problem = format!("The store does not answer, so agents are missing: {error}");
        Vec::new()
    });
    let mut total = SeriesFigures::default();
    let mut parts = BTreeMap::<SeriesName, SeriesFigures>::new();
    for row in &rows {
        total.add(&row.figures);
        for (name, figures) in &row.subsystems {
            parts.entry(name.clone()).or_default().add(figures);
        }
    }
    let mut parts: Vec<_> = parts.into_iter().collect();
    parts.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.get(Figure::Cost)));
    let requests = format!("/console/requests?since={}", span.name);
    let mut tiles = tiles(&total, &requests);
    tiles.insert(0, Tile::new("Agents", count(rows.len() as u64)));
    let shell = visit.shell("Golems", "golems");
    Ok(Shown::Html(render(&GolemsPage {
        shell: &shell,
        windows: span.tabs("/console/golems", ""),
        problem,
        tiles,
        chart: chart(&span, &rows),
        golems: table(visit, &span, &rows),
        subsystems: subsystems(&parts, |name| {
            format!("{requests}&subsystem={}", encoded(name))
        }),
    })))
}

/// Answers the list as a file.
pub(super) async fn file(visit: &Visit<'_>, kind: &str) -> PageResult {
    let span = GolemSpan::of(visit);
    let rows = gathered(visit, span.period)
        .await
        .map_err(PageProblem::from)?;
    let row = |row: &GolemRow| -> Value {
        json!({
            "golem": row.seen.golem,
            "account": row.seen.account,
            "requests": row.figures.count(Figure::Requests),
            "unpriced_requests": row.figures.count(Figure::Unpriced),
            "tokens": tokens(&row.figures),
            "cost_usd": row.figures.usd(Figure::Cost).to_string(),
            "cache_savings_usd": bardo_types::money::SignedMicroUsd::new(saved(&row.figures)).to_string(),
            "phase": row.seen.phase,
            "vitality": row.seen.vitality,
            "sustainability": row.seen.sustainability,
            "first_seen": rfc3339(row.seen.first_seen_ms),
            "last_seen": rfc3339(row.seen.last_seen_ms),
        })
    };
    let rows = rows.iter().map(row).collect();
    Ok(super::export::file("golems", kind, &COLUMNS, rows))
}
