//! Draws figures into a buffer. Nothing here knows a terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Widget as _, Wrap};

use crate::figures::{Backend, Connection, Request, ScreenFigures};

/// Rows of the panels of sums, with their borders.
const SUMS: u16 = 7;
/// Least width and height of a screen.
const WIDTH_MIN: u16 = 60;
const HEIGHT_MIN: u16 = 16;

/// A screen of this size as text, one line per row.
#[must_use]
pub fn text(figures: &ScreenFigures, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(figures, area, &mut buffer);
    let mut lines = Vec::new();
    for row in 0..height {
        let cells = (0..width).filter_map(|column| buffer.cell((column, row)));
        let line: String = cells.map(ratatui::buffer::Cell::symbol).collect();
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// Draws a screen into a buffer.
pub(crate) fn draw(figures: &ScreenFigures, area: Rect, buffer: &mut Buffer) {
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let words = format!(
            "The terminal is too small: {WIDTH_MIN} columns and {HEIGHT_MIN} rows at least."
        );
        Paragraph::new(words)
            .wrap(Wrap { trim: true })
            .render(area, buffer);
        return;
    }
    let backends = u16::try_from(figures.status.backends.len()).unwrap_or(u16::MAX);
    // At least the half of the rest is for requests.
    let health = (backends.max(1) + 2)
        .min((area.height - SUMS - 2) / 2)
        .max(4);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(SUMS),
        Constraint::Length(health),
        Constraint::Min(4),
        Constraint::Length(1),
    ]);
    let [head, sums, backends, requests, foot] = rows.areas(area);
    header(figures).render(head, buffer);
    let thirds = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Fill(1),
        Constraint::Fill(1),
    ]);
    let [spend, cache, budget] = thirds.areas(sums);
    panel("Today (UTC)", today(figures), spend, buffer);
    panel("Cache", cached(figures), cache, buffer);
    panel("Accounts", accounts(figures, budget), budget, buffer);
    panel("Backends", health_rows(figures, backends), backends, buffer);
    panel(
        "Requests, newest first",
        request_rows(figures, requests),
        requests,
        buffer,
    );
    footer(figures).render(foot, buffer);
}

fn panel(title: &str, lines: Vec<Line<'_>>, area: Rect, buffer: &mut Buffer) {
    let block = Block::bordered().title(format!(" {title} "));
    Paragraph::new(lines).block(block).render(area, buffer);
}

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

fn header(figures: &ScreenFigures) -> Line<'_> {
    let status = &figures.status;
    let state = match &figures.connection {
        Connection::Connecting => Span::raw("connecting"),
        Connection::Lost { .. } => Span::styled("no answer", BOLD.fg(Color::Red)),
        Connection::Live if status.draining => Span::styled("stopping", BOLD.fg(Color::Yellow)),
        Connection::Live => Span::styled("live", BOLD.fg(Color::Green)),
    };
    let mut spans = vec![
        Span::styled("bardo-gateway ", BOLD),
        Span::raw(format!(
            "{} {} ",
            clean(&status.version),
            clean(&figures.address)
        )),
        state,
    ];
    if figures.connection == Connection::Live {
        let models = status.models;
        spans.push(Span::raw(format!(
            "  {} backends, {models} models",
            status.backends.len()
        )));
    }
    if status.sandbox {
        spans.push(Span::styled("  SANDBOX", BOLD));
    }
    Line::from(spans)
}

fn footer(figures: &ScreenFigures) -> Line<'_> {
    match &figures.connection {
        Connection::Lost { reason, help } => {
            let words = format!("{}. {}", clean(reason), clean(help));
            Line::styled(words, Style::new().fg(Color::Red))
        }
        _ => match &figures.status.config.reload_error {
            Some(error) => {
                let words = format!("q quit   the last reload was refused: {}", clean(error));
                Line::styled(words, Style::new().fg(Color::Yellow))
            }
            None => Line::styled("q quit", DIM),
        },
    }
}

/// A line with a name on the left and a figure behind it.
fn row(name: &str, figure: impl Into<String>) -> Line<'static> {
    Line::raw(format!("{name:<8} {}", figure.into()))
}

fn today(figures: &ScreenFigures) -> Vec<Line<'_>> {
    let today = &figures.today;
    let Some(requests) = today.requests else {
        return vec![Line::styled("no figures", DIM)];
    };
    let failed = match today.failed_requests {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    vec![
        row("requests", format!("{requests}{failed}")),
        row("cost", usd(today.cost.as_deref())),
        row("charged", usd(today.charge.as_deref())),
        row("saved", usd(today.savings.as_deref())),
        row(
            "tokens",
            format!(
                "{} in, {} out",
                count(today.input_tokens),
                count(today.output_tokens)
            ),
        ),
    ]
}

fn cached(figures: &ScreenFigures) -> Vec<Line<'_>> {
    let cache = &figures.cache;
    let Some(entries) = cache.entries else {
        return vec![Line::styled("no figures", DIM)];
    };
    let looked = cache.hits + cache.misses;
    let rate = match (cache.hits * 1_000).checked_div(looked) {
        None => "-".to_owned(),
        Some(permille) => format!("{}.{} %", permille / 10, permille % 10),
    };
    vec![
        row(
            "answers",
            format!("{} ({} KiB)", count(entries), count(cache.bytes >> 10)),
        ),
        row("hit rate", rate),
        row(
            "hits",
            format!("{} of {}", count(cache.hits), count(looked)),
        ),
        row("by sense", count(cache.semantic_hits)),
        row("saved", usd(cache.saved_usd.as_deref())),
    ]
}

fn accounts(figures: &ScreenFigures, area: Rect) -> Vec<Line<'_>> {
    if figures.balances.is_empty() {
        return vec![
            Line::styled("no charges today", DIM),
            Line::styled("`keys create` makes a key", DIM),
        ];
    }
    let width = usize::from(area.width.saturating_sub(2));
    let name_width = width.saturating_sub(13);
    let heading = format!("{:<name_width$} {:>12}", "", "LEFT USD");
    let mut lines = vec![Line::styled(heading, DIM)];
    lines.extend(figures.balances.iter().map(|balance| {
        let name = cut(&balance.account, name_width);
        let is_low = balance.available.starts_with("0.") || balance.available.starts_with('-');
        let style = if is_low {
            BOLD.fg(Color::Yellow)
        } else {
            Style::new()
        };
        Line::styled(
            format!("{name:<name_width$} {:>12}", cut(&balance.available, 12)),
            style,
        )
    }));
    lines
}

fn health_rows(figures: &ScreenFigures, area: Rect) -> Vec<Line<'_>> {
    let backends = &figures.status.backends;
    if backends.is_empty() {
        return vec![Line::styled(
            "no backend is configured: bardo-gateway init",
            DIM,
        )];
    }
    let room = usize::from(area.height.saturating_sub(2));
    let name_width = usize::from(area.width.saturating_sub(2))
        .saturating_sub(62)
        .clamp(16, 40);
    // Those that fail come first, so that a small screen shows them.
    let mut sorted: Vec<&Backend> = backends.iter().collect();
    sorted.sort_by_key(|backend| std::cmp::Reverse(severity(backend)));
    let hidden = sorted.len().saturating_sub(room);
    let shown = if hidden > 0 {
        room.saturating_sub(1)
    } else {
        room
    };
    let mut lines: Vec<Line<'_>> = sorted
        .iter()
        .take(shown)
        .map(|backend| health_row(backend, name_width))
        .collect();
    if hidden > 0 {
        lines.push(Line::styled(
            format!("and {} more", sorted.len() - shown),
            DIM,
        ));
    }
    lines
}

fn severity(backend: &Backend) -> u8 {
    match backend.state.as_str() {
        "down" => 3,
        "degraded" => 2,
        "healthy" | "up" | "ok" => 0,
        _ => 1,
    }
}

fn health_row(backend: &Backend, name_width: usize) -> Line<'_> {
    let samples: u64 = backend.models.iter().map(|model| model.samples).sum();
    let busiest = backend.models.iter().max_by_key(|model| model.samples);
    let took = busiest.map(|model| {
        let stream = &model.first_token;
        if stream.p50_ms.is_some() {
            ("first token", stream)
        } else {
            ("answer", &model.whole_answer)
        }
    });
    let figures = match took {
        Some((kind, latency)) if samples > 0 => format!(
            "{kind} p50 {}, p95 {}; {} call{}",
            ms(latency.p50_ms),
            ms(latency.p95_ms),
            count(samples),
            if samples == 1 { "" } else { "s" },
        ),
        _ => "no calls".to_owned(),
    };
    let errors = busiest.map_or(0.0, |model| model.error_rate * 100.0);
    let errors = if errors > 0.0 {
        format!("; {errors:.1} % errors")
    } else {
        String::new()
    };
    let is_open = backend.models.iter().any(|model| {
        model
            .circuit
            .as_deref()
            .is_some_and(|state| state != "closed")
    });
    let circuit = if is_open { "; circuit open" } else { "" };
    let probe = backend
        .probe
        .as_ref()
        .and_then(|probe| probe.error.as_deref());
    let probe = probe.map_or_else(String::new, |error| format!("; {}", clean(error)));
    let style = match severity(backend) {
        3 => BOLD.fg(Color::Red),
        2 => BOLD.fg(Color::Yellow),
        _ => Style::new(),
    };
    let name = cut(&backend.provider, name_width);
    let state = cut(&backend.state, 9);
    Line::styled(
        format!("{name:<name_width$} {state:<9} {figures}{errors}{circuit}{probe}"),
        style,
    )
}

fn request_rows(figures: &ScreenFigures, area: Rect) -> Vec<Line<'_>> {
    if figures.requests.is_empty() {
        return vec![
            Line::styled("no requests yet; send one:", DIM),
            Line::styled("curl http://127.0.0.1:8402/v1/models", DIM),
        ];
    }
    let width = usize::from(area.width.saturating_sub(2));
    let names = width.saturating_sub(51);
    let (model, provider) = (
        names.saturating_sub(names * 2 / 5).max(14),
        (names * 2 / 5).max(10),
    );
    let heading = format!(
        "{:<8} {:<8} {:<model$} {:<provider$} {:>6} {:>6} {:>9} {:>7}",
        "TIME", "STATUS", "MODEL", "BACKEND", "IN", "OUT", "USD", "TOOK"
    );
    let mut lines = vec![Line::styled(heading, DIM)];
    lines.extend(
        figures
            .requests
            .iter()
            .map(|one| request_row(one, model, provider)),
    );
    lines.truncate(usize::from(area.height.saturating_sub(2)));
    lines
}

fn request_row(one: &Request, model: usize, provider: usize) -> Line<'_> {
    let time = one.created.get(11..19).unwrap_or("-");
    let backend = match one.cache.as_str() {
        "hash" | "semantic" => format!("cache:{}", one.cache),
        _ => one.provider.clone(),
    };
    let tokens = |pick: fn(&crate::figures::RequestUsage) -> u64| {
        one.usage
            .as_ref()
            .map_or_else(|| "-".to_owned(), |usage| count(pick(usage)))
    };
    let cost = match one.cost.billed {
        true => one.cost.charge.as_deref(),
        false => one.cost.provider_cost.as_deref(),
    };
    let style = match one.status.as_str() {
        "finished" => Style::new(),
        "failed" | "unknown" => Style::new().fg(Color::Red),
        _ => Style::new().fg(Color::Yellow),
    };
    let line = format!(
        "{time:<8} {:<8} {:<model$} {:<provider$} {:>6} {:>6} {:>9} {:>7}",
        cut(&one.status, 8),
        cut(&one.model, model),
        cut(&backend, provider),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        cut(&usd(cost), 9),
        ms(one.timings_ms.total.or(one.timings_ms.first_content)),
    );
    Line::styled(line, style)
}

/// A text without control characters, which a terminal could obey.
fn clean(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// A clean text of at most so many letters.
fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= width {
        return text;
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// An amount without zeros at its end, beyond the cents.
fn usd(amount: Option<&str>) -> String {
    let Some(amount) = amount else {
        return "-".to_owned();
    };
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let kept = fraction
        .trim_end_matches('0')
        .len()
        .max(2)
        .min(fraction.len());
    match fraction {
        "" => clean(whole),
        _ => clean(&format!("{whole}.{}", &fraction[..kept])),
    }
}

/// A number with at most four digits and its unit.
fn count(number: u64) -> String {
    match number {
        0..=9_999 => number.to_string(),
        10_000..=9_999_999 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// A time in milliseconds, or in seconds from ten on.
fn ms(ms: Option<u64>) -> String {
    match ms {
        None => "-".to_owned(),
        Some(ms @ 0..=9_999) => format!("{ms}ms"),
        Some(ms) => format!("{}s", ms / 1_000),
    }
}

#[cfg(test)]
mod tests;
