//! The first page: what the gateway does now and did of late, from the series of the store.

use std::time::Duration;

use bardo_console::format::{count, encoded, ms, noun, percent, short, usd};
use bardo_console::pages::OverviewPage;
use bardo_console::parts::{Cell, ChartKind, Empty, PageChart, PageTable, Tab, Tile, Tone, Unit};
use bardo_console::render;
use bardo_ledger::series::{Figure, Resolution, SeriesDimension, SeriesFigures, SeriesName};

use super::backends;
use super::visit::{PageResult, Shown, Visit, at};
use crate::operator::OperatorError;
use crate::series::{ChartQuery, ReportPeriod, TopRow};

const HOUR: u64 = 3_600;
/// Name, length in seconds and step of the times to choose from.
const WINDOWS: [(&str, u64, Resolution); 4] = [
    ("1h", HOUR, Resolution::Minute),
    ("24h", 24 * HOUR, Resolution::Hour),
    ("7d", 168 * HOUR, Resolution::Hour),
    ("30d", 720 * HOUR, Resolution::Day),
];
/// The time without a choice.
const USUAL: usize = 1;
/// Number of rows of a list of the largest.
const TOP: usize = 6;

/// The figures of a time.
#[derive(Default)]
struct Window {
    starts: Vec<u64>,
    steps: Vec<SeriesFigures>,
    now: SeriesFigures,
    before: SeriesFigures,
    models: Vec<TopRow>,
    keys: Vec<TopRow>,
}

/// Shows the overview.
pub(super) async fn show(visit: &Visit<'_>) -> PageResult {
    let wanted = visit.query.text("window");
    let chosen = WINDOWS.iter().find(|(name, ..)| *name == wanted);
    let (name, length, step) = *chosen.unwrap_or(&WINDOWS[USUAL]);
    let mut problems = Vec::new();
    let window = match read(visit, length, step).await {
        Ok((window, is_back_filling)) => {
            if is_back_filling {
                problems.push("Requests of an earlier version are still being counted.".to_owned());
            }
            window
        }
        Err(error) => {
            problems.push(format!(
                "The store does not answer, so figures of the past are missing: {error}"
            ));
            Window::default()
        }
    };
    let windows = WINDOWS.iter().map(|(one, ..)| Tab {
        label: (*one).to_owned(),
        href: format!("/console/?window={one}"),
        current: *one == name,
    });
    let shell = visit.shell("Overview", "overview");
    let page = OverviewPage {
        shell: &shell,
        windows: windows.collect(),
        refresh: format!("/console/?window={name}"),
        alerts: alerts(visit),
        is_new: window.now.is_empty() && problems.is_empty(),
        welcome: welcome(),
        tiles: tiles(&window, name),
        charts: charts(&window, name),
        savings: savings(&window),
        providers: backends::short_table(visit),
        models: top(&window.models, "model", name),
        keys: top(&window.keys, "key", name),
        problems,
    };
    Ok(Shown::Html(render(&page)))
}

async fn read(
    visit: &Visit<'_>,
    length: u64,
    step: Resolution,
) -> Result<(Window, bool), OperatorError> {
    let operator = &visit.ops.operator;
    let period = ReportPeriod::last(visit.ops.now_ms(), Duration::from_secs(length));
    let overview = operator.overview(period).await?;
    let chart = ChartQuery {
        period,
        step: Some(step),
        by: SeriesDimension::Total,
        only: None,
        lines: 1,
    };
    let chart = operator.chart(chart).await?;
    let line = chart.lines.into_iter().next();
    let most = |dimension| operator.top(period, dimension, Figure::Cost, TOP);
    let window = Window {
        steps: match line {
            Some(line) => line.points,
            None => vec![SeriesFigures::default(); chart.starts.len()],
        },
        starts: chart.starts,
        now: overview.now,
        before: overview.before,
        models: most(SeriesDimension::Model).await?,
        keys: most(SeriesDimension::Key).await?,
    };
    Ok((window, overview.is_back_filling))
}

/// The alerts whose causes last.
fn alerts(visit: &Visit<'_>) -> PageTable {
    let mut table = PageTable::new("Alerts", &["Alert", "About", "What", "Since*"]);
    for alert in visit.ops.operator.alerts.firing() {
        table.push(vec![
            Cell::badge(alert.event.as_str().replace(['_', '.'], " "), Tone::Bad),
            Cell::text(alert.subject),
            Cell::text(alert.text),
            at(&alert.since_ms.into()),
        ]);
    }
    table
}

fn welcome() -> Empty {
    Empty::new(
        "No request in this time",
        "Send one from the playground, or connect a tool: Claude Code, Codex, Aider, Cursor or an SDK.",
    )
    .link("Connect a tool", "/console/connect")
}

/// An amount of series for people.
fn money(figures: &SeriesFigures, figure: Figure) -> String {
    usd(figures.get(figure))
}

fn tokens(figures: &SeriesFigures) -> u64 {
    [
        Figure::InputTokens,
        Figure::CachedTokens,
        Figure::CacheWriteTokens,
        Figure::OutputTokens,
    ]
    .iter()
    .map(|figure| figures.count(*figure))
    .sum()
}

/// How a figure compares with the time before.
fn change(now: i64, before: i64) -> String {
    match before {
        0 => "no data before".to_owned(),
        _ => {
            let percent = (i128::from(now) - i128::from(before)) * 100 / i128::from(before);
            let sign = if percent > 0 { "+" } else { "" };
            format!("{sign}{percent}% to before")
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn point(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
fn dollars(micro: i64) -> f64 {
    micro as f64 / 1e6
}

fn time(found: Option<u64>) -> String {
    found.map_or_else(|| "–".to_owned(), ms)
}

fn tiles(window: &Window, name: &str) -> Vec<Tile> {
    let (now, before) = (&window.now, &window.before);
    let spark = |of: &dyn Fn(&SeriesFigures) -> f64| window.steps.iter().map(of).collect();
    let line = |figure: Figure| spark(&|one| point(one.get(figure)));
    let saved_line = spark(&|one| point(saved(one)));
    let (requests, failed) = (now.count(Figure::Requests), now.count(Figure::Failed));
    let error_tone = match failed {
        0 => Tone::Plain,
        _ if failed * 20 > requests => Tone::Bad,
        _ => Tone::Warn,
    };
    let all = format!("/console/requests?since={name}");
    let hits = now.count(Figure::HashHits) + now.count(Figure::SemanticHits);
    let looked = hits + now.count(Figure::CacheMisses);
    let latency = now.latency();
    let first = now.first_content();
    vec![
        Tile::new("Spend", money(now, Figure::Cost))
            .note(change(now.get(Figure::Cost), before.get(Figure::Cost)))
            .link(&all)
            .spark(line(Figure::Cost)),
        Tile::new("Saved", usd(saved(now)))
            .note("by stored answers, prompt caches, prices")
            .link("/console/cache")
            .spark(saved_line),
        Tile::new("Requests", short(requests))
            .note(change(
                now.get(Figure::Requests),
                before.get(Figure::Requests),
            ))
            .link(&all)
            .spark(line(Figure::Requests)),
        Tile::new("Errors", percent(failed, requests))
            .note(format!("{} failed", count(failed)))
            .link(format!("{all}&outcome=failed"))
            .tone(error_tone)
            .spark(line(Figure::Failed)),
        Tile::new("Latency p95", time(latency.quantile(950)))
            .note(format!("first content {}", time(first.quantile(950))))
            .link("/console/providers")
            .spark(spark(&|one| {
                one.latency()
                    .quantile(950)
                    .map_or(0.0, |ms| point(i64::try_from(ms).unwrap_or(0)))
            })),
        Tile::new("Tokens", short(tokens(now)))
            .note(format!(
                "{} of them output",
                short(now.count(Figure::OutputTokens))
            ))
            .link(&all)
            .spark(spark(&|one| point(i64::try_from(tokens(one)).unwrap_or(0)))),
        Tile::new("Cache hits", percent(hits, looked))
            .note(format!(
                "{} of {} {}",
                short(hits),
                short(looked),
                noun(looked, "look-up")
            ))
            .link("/console/cache")
            .spark(line(Figure::HashHits)),
    ]
}

fn charts(window: &Window, name: &str) -> Vec<PageChart> {
    let times: Vec<u64> = window.starts.iter().map(|start| start / 1_000).collect();
    let values = |of: &dyn Fn(&SeriesFigures) -> Option<f64>| -> Vec<Option<f64>> {
        window.steps.iter().map(of).collect()
    };
    let counts = |figure: Figure| values(&|one| Some(point(one.get(figure))));
    let amounts = |figure: Figure| values(&|one| Some(dollars(one.get(figure))));
    let quantile = |permille: u16| {
        values(&|one| {
            let found = one.latency().quantile(permille)?;
            i64::try_from(found).ok().map(point)
        })
    };
    let chart = |id: &str, title: &str, unit| PageChart::new(id, title, unit).times(times.clone());
    let all = format!("/console/requests?since={name}");
    let now = &window.now;
    vec![
        chart("chart-spend", "Spend and savings", Unit::Usd)
            .total(money(now, Figure::Cost), &all)
            .series("Cost", ChartKind::Area, amounts(Figure::Cost))
            .series(
                "Savings",
                ChartKind::Line,
                values(&|one| Some(dollars(saved(one)))),
            ),
        chart("chart-requests", "Requests", Unit::Count)
            .total(count(now.count(Figure::Requests)), &all)
            .series("Finished", ChartKind::Bars, counts(Figure::Finished))
            .series(
                "Left by the client",
                ChartKind::Bars,
                counts(Figure::Aborted),
            )
            .series("Unknown", ChartKind::Bars, counts(Figure::Unknown))
            .series("Failed", ChartKind::Bars, counts(Figure::Failed)),
        chart("chart-latency", "Latency", Unit::Ms)
            .total(
                format!("p50 {}", time(now.latency().quantile(500))),
                "/console/providers",
            )
            .series("p50", ChartKind::Line, quantile(500))
            .series("p95", ChartKind::Line, quantile(950))
            .series("p99", ChartKind::Line, quantile(990)),
        chart("chart-tokens", "Tokens", Unit::Count)
            .total(short(tokens(now)), &all)
            .series("Fresh input", ChartKind::Bars, counts(Figure::InputTokens))
            .series(
                "Cached input",
                ChartKind::Bars,
                counts(Figure::CachedTokens),
            )
            .series(
                "Written to caches",
                ChartKind::Bars,
                counts(Figure::CacheWriteTokens),
            )
            .series("Output", ChartKind::Bars, counts(Figure::OutputTokens)),
    ]
}

/// All that was saved. [`Figure::Savings`] compares with the list price of the same tokens, in which
/// those that a provider read from its prompt cache are cheap already.
fn saved(figures: &SeriesFigures) -> i64 {
    let by_caches = figures.get(Figure::PrefixSavings);
    figures.get(Figure::Savings).saturating_add(by_caches)
}

/// What was saved by prices below those of the maker's list, for requests that were sent.
fn saved_by_prices(figures: &SeriesFigures) -> i64 {
    let stored = [Figure::HashSavings, Figure::SemanticSavings];
    let stored = stored.map(|figure| figures.get(figure)).into_iter();
    stored.fold(figures.get(Figure::Savings), i64::saturating_sub)
}

fn savings(window: &Window) -> PageTable {
    let mut table = PageTable::new("Savings by layer", &["Layer", "#Hits", "#Saved"]);
    let now = &window.now;
    let rows = [
        (
            "Identical requests",
            "request",
            Figure::HashHits,
            Figure::HashSavings,
        ),
        (
            "Answers by meaning",
            "request",
            Figure::SemanticHits,
            Figure::SemanticSavings,
        ),
        (
            "Prompt caches of providers",
            "token",
            Figure::CachedTokens,
            Figure::PrefixSavings,
        ),
    ];
    for (name, unit, hits, saved) in rows {
        table.push(vec![
            Cell::text(name).link("/console/cache"),
            Cell::text(format!(
                "{} {}",
                short(now.count(hits)),
                noun(now.count(hits), unit)
            )),
            Cell::text(money(now, saved)),
        ]);
    }
    for (name, saved) in [
        ("Prices below the maker's list", saved_by_prices(now)),
        ("All", saved(now)),
    ] {
        table.push(vec![
            Cell::text(name),
            Cell::text(""),
            Cell::text(usd(saved)),
        ]);
    }
    table
}

/// The words for a name of a series, and whether it can be filtered by.
pub(super) fn named(name: &SeriesName) -> (String, bool) {
    match name {
        SeriesName::Named(name) => (name.clone(), true),
        SeriesName::Unnamed => ("without one".to_owned(), false),
        SeriesName::Other => ("others".to_owned(), false),
    }
}

/// The largest names of a dimension, such as `model`, with links to their requests.
pub(super) fn top(rows: &[TopRow], parameter: &str, window: &str) -> PageTable {
    let empty = Empty::new(
        "No request in this time",
        "Choose a longer time, or send a request.",
    )
    .link("Open the playground", "/console/playground");
    let heading = if parameter == "key" { "Key" } else { "Model" };
    let headings = [heading, "#Requests", "#Tokens*", "#Cost"];
    let mut table = PageTable::new(&format!("{heading}s by cost"), &headings).empty(empty);
    let cost = |row: &TopRow| row.figures.count(Figure::Cost);
    let most = rows.iter().map(cost).max().unwrap_or(1).max(1);
    for row in rows {
        let (name, is_filter) = named(&row.name);
        let href = match is_filter {
            true => format!(
                "/console/requests?since={window}&{parameter}={}",
                encoded(&name)
            ),
            false => String::new(),
        };
        table.push(vec![
            Cell::text(name).link(href),
            Cell::text(count(row.figures.count(Figure::Requests))),
            Cell::text(short(tokens(&row.figures))),
            Cell::text(money(&row.figures, Figure::Cost)).bar(cost(row).saturating_mul(100) / most),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_savings_add_up_to_the_sum_below_them() {
        let layers = [
            (Figure::HashSavings, 30_400),
            (Figure::SemanticSavings, 3_990),
            (Figure::PrefixSavings, -150),
        ];
        let prices = 500;
        let mut numbers = *SeriesFigures::default().numbers();
        for (figure, amount) in layers {
            numbers[figure as usize] = amount;
        }
        numbers[Figure::Savings as usize] = 30_400 + 3_990 + prices;
        let figures = SeriesFigures::read(&numbers);
        assert_eq!(saved_by_prices(&figures), prices);
        let rows: i64 = layers.iter().map(|(_, amount)| amount).sum();
        assert_eq!(saved(&figures), rows + prices);
    }
}
