//! Results as one HTML page that needs nothing else.

use std::fmt::Write as _;

use super::break_even;
use super::claims;
use super::run::Study;
use super::table::{COUNTED, Row, SAVED, digits, hits, rows, saved_columns, saved_headings, scope};

const STYLE: &str = include_str!("page/style.css");
/// Width of the chart and of its bars, in units of the drawing.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 370.0;
const BARS: f64 = 450.0;
const BAR: f64 = 26.0;
const STEP: f64 = 42.0;

/// The results as a page that needs no other file and no network.
pub(crate) fn page(study: &Study) -> String {
    let rows = rows(study);
    let mut html = String::new();
    let title = format!("What caches save: {}", study.workload.title);
    let _ = write!(
        html,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n<p>{1}.</p>\n",
        escaped(&title),
        escaped(&scope(study)),
    );
    chart(&mut html, study, &rows);
    figures(&mut html, study, &rows);
    list(
        &mut html,
        "Assumptions",
        study.workload.assumptions.iter().map(|line| coded(line)),
    );
    let claims = claims::of(&study.workload);
    if !claims.is_empty() {
        let items = claims.iter().map(|claim| {
            format!(
                "<q>{}</q> {}",
                coded(claim.quoted),
                coded(&claim.arithmetic)
            )
        });
        list(&mut html, "Figures of others, checked", items);
    }
    let _ = write!(
        html,
        "<p class=\"note\">Simulated providers with the list prices and the prompt-cache rules of the real ones; \
         no model ran. Printed again by <code>{}</code>.</p>\n</main>\n</body>\n</html>\n",
        escaped(&command(study)),
    );
    html
}

/// The command that plays the same again.
fn command(study: &Study) -> String {
    let plan = &study.plan;
    let mut command = match study.workload.name {
        "recorded" => "bardo-gateway simulate --recorded FILE".to_owned(),
        name => format!(
            "bardo-gateway simulate {name} --seed {} --seeds {}",
            plan.seed, plan.seeds
        ),
    };
    if let Some(calls) = plan.most_calls {
        let _ = write!(command, " --calls {calls}");
    }
    if let Some(model) = &plan.model {
        let _ = write!(command, " --model {model}");
    }
    for row in &plan.rows {
        let _ = write!(command, " --row {row}");
    }
    command
}

/// Parts of a bill, in the order of the bar.
fn parts(study: &Study, row: &Row) -> [(&'static str, f64); 4] {
    let Some(result) = row.result.map(|at| &study.arms[at]) else {
        return [
            ("fresh", row.bill.mean),
            ("read", 0.0),
            ("written", 0.0),
            ("output", 0.0),
        ];
    };
    #[expect(clippy::cast_precision_loss, reason = "few seeds")]
    let (sum, seeds) = (result.sum(), result.tallies.len().max(1) as f64);
    [
        ("fresh", sum.fresh.usd / seeds),
        ("read", sum.read.usd / seeds),
        ("written", sum.written.usd / seeds),
        ("output", sum.output.usd / seeds),
    ]
}

fn chart(html: &mut String, study: &Study, rows: &[Row]) {
    // A baseline that is many times dearer would leave nothing to see of the others: it has a line
    // of words below the chart.
    let shown: Vec<&Row> = rows.iter().filter(|row| row.result.is_some()).collect();
    let reach = |row: &&Row| row.bill.mean + row.bill.margin.unwrap_or(0.0);
    let most = shown.iter().map(reach).fold(1e-9, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "few rows")]
    let height = shown.len() as f64 * STEP + 10.0;
    let _ = write!(
        html,
        "<figure>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"The provider's bill of each way\">\n"
    );
    for (at, row) in shown.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        let y = at as f64 * STEP + 8.0;
        let middle = y + BAR / 2.0;
        let _ = writeln!(
            html,
            "<text class=\"name\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
            LEFT - 12.0,
            escaped(&row.label)
        );
        let mut x = LEFT;
        for (class, usd) in parts(study, row) {
            let width = usd / most * BARS;
            if width > 0.0 {
                let _ = writeln!(
                    html,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\"><title>{class}: ${usd:.4}</title></rect>"
                );
            }
            x += width;
        }
        if let Some(margin) = row.bill.margin {
            let end = |sign: f64| LEFT + (row.bill.mean + sign * margin).max(0.0) / most * BARS;
            let _ = writeln!(
                html,
                "<line class=\"margin\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>",
                end(-1.0),
                end(1.0)
            );
            x = x.max(end(1.0));
        }
        let _ = writeln!(
            html,
            "<text class=\"value\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
            x + 8.0,
            escaped(&format!("${:.*}", digits(row.bill.mean), row.bill.mean))
        );
    }
    html.push_str("</svg>\n<figcaption>");
    for (class, label) in [
        ("fresh", "fresh input"),
        ("read", "read from the provider's cache"),
        ("written", "written to it"),
        ("output", "output"),
    ] {
        let _ = write!(html, "<span><i class=\"{class}\"></i>{label}</span>");
    }
    html.push_str("</figcaption>\n");
    for row in rows.iter().filter(|row| row.result.is_none()) {
        let _ = writeln!(
            html,
            "<p class=\"note\">Not drawn, as its bar would leave nothing to see of the others: {}, ${:.2}.</p>",
            escaped(&row.label),
            row.bill.mean
        );
    }
    html.push_str("</figure>\n");
}

fn figures(html: &mut String, study: &Study, rows: &[Row]) {
    let saved = rows.iter().map(|row| saved_columns(study, row)).collect();
    table(html, rows, saved_headings(study), saved);
    let _ = writeln!(html, "<p class=\"note\">{}</p>", escaped(SAVED));
    let counted = rows.iter().map(|row| hits(study, row).to_vec()).collect();
    table(html, rows, COUNTED.map(str::to_owned).to_vec(), counted);
    if let Some(days) = study.earning_days() {
        html.push_str("<h2>Break-even</h2>\n");
        let needed = rows.iter().map(|row| break_even::columns(row, days));
        let headings = break_even::HEADINGS.map(str::to_owned).to_vec();
        table(html, rows, headings, needed.collect());
        let meaning = escaped(&break_even::meaning(days));
        let _ = writeln!(html, "<p class=\"note\">{meaning}</p>");
    }
}

/// A table with one line for each row.
fn table(html: &mut String, rows: &[Row], headings: Vec<String>, lines: Vec<Vec<String>>) {
    let cells = |cells: Vec<String>, name: &str| -> String {
        let cell = |cell: String| format!("<{name}>{}</{name}>", escaped(&cell));
        cells.into_iter().map(cell).collect()
    };
    let headings = cells(headings, "th");
    let _ = writeln!(
        html,
        "<div class=\"scroll\"><table>\n<thead><tr><th></th>{headings}</tr></thead>\n<tbody>"
    );
    for (row, line) in rows.iter().zip(lines) {
        let (label, line) = (escaped(&row.label), cells(line, "td"));
        let _ = writeln!(html, "<tr><th>{label}</th>{line}</tr>");
    }
    html.push_str("</tbody>\n</table></div>\n");
}

fn list(html: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let _ = write!(html, "<h2>{title}</h2>\n<ul>\n");
    for item in items {
        let _ = writeln!(html, "<li>{item}</li>");
    }
    html.push_str("</ul>\n");
}

/// A text with its parts between backticks as code.
fn coded(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let shown = parts.map(|(at, part)| match at % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    shown.collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
