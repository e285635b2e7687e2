//! The list of requests, with filters in its address.

use bardo_console::format::{encoded, ms, short, usd_text};
use bardo_console::pages::{FilterField, RequestsPage};
use bardo_console::parts::{Cell, Empty, FormChoice, PageTable};
use bardo_console::render;
use serde_json::Value;

use super::backends::tone;
use super::visit::{PageProblem, PageResult, Shown, Visit, at};
use crate::admin::receipts;
use crate::operator::{FoundReceipt, OperatorError};
use crate::usage::Parameters;

/// Length of a request's id.
const ID_LENGTH: usize = 36;
/// Number of requests on a page.
const PAGE: usize = 50;
/// Number of requests in a file.
const FILE_ROWS: usize = 1_000;

/// Values and words of the times to choose from.
const TIMES: [(&str, &str); 5] = [
    ("1h", "last hour"),
    ("24h", "last 24 hours"),
    ("7d", "last 7 days"),
    ("30d", "last 30 days"),
    ("365d", "last year"),
];
const OUTCOMES: [&str; 4] = ["finished", "failed", "aborted", "unknown"];
/// Filters with free text, and their words.
const FIELDS: [(&str, &str); 9] = [
    ("model", "Model"),
    ("backend", "Backend"),
    ("key", "Key"),
    ("account", "Account"),
    ("golem", "Agent"),
    ("subsystem", "Subsystem"),
    ("session", "Session"),
    ("cache", "Stored answer"),
    ("min_cost", "Least cost, USD"),
];
const LAYERS: [&str; 4] = ["hash", "semantic", "miss", "bypass"];
/// Columns of the CSV file.
const COLUMNS: [&str; 22] = [
    "request_id",
    "created",
    "status",
    "model_requested",
    "model",
    "provider",
    "key",
    "session",
    "subsystem",
    "dialect",
    "stream",
    "cache",
    "input_tokens",
    "cache_read_tokens",
    "output_tokens",
    "provider_cost",
    "charge",
    "savings",
    "total_ms",
    "first_content_ms",
    "attempts",
    "client_request_id",
];

/// The filters of the address as a query that receipts are read with.
fn filters(visit: &Visit<'_>) -> String {
    let mut query = String::new();
    let since = visit.query.get("since").unwrap_or("24h");
    query.push_str(&format!("since={}", encoded(since)));
    let names = FIELDS.iter().map(|(name, _)| *name).chain(["outcome"]);
    for name in names {
        if let Some(value) = visit.query.get(name) {
            query.push_str(&format!("&{name}={}", encoded(value)));
        }
    }
    query
}

async fn read(
    visit: &Visit<'_>,
    query: &str,
) -> Result<(Vec<Value>, Option<String>), OperatorError> {
    let operator = &visit.ops.operator;
    let mut parameters = Parameters::read(Some(query))?;
    let cursor = parameters.take("cursor");
    let (_, search) = receipts::search(operator, &mut parameters)?;
    let page = operator.search(search, cursor.as_deref()).await?;
    let rows = page.receipts.iter().map(FoundReceipt::json);
    Ok((rows.collect(), page.next))
}

/// Shows the list page.
pub(super) async fn list(visit: &Visit<'_>) -> PageResult {
    let wanted = visit.query.text("q");
    if wanted.starts_with("req_") && wanted.len() >= ID_LENGTH {
        return Ok(Shown::Redirect(super::receipt::path_of(&wanted)));
    }
    let mut filters = filters(visit);
    if !wanted.is_empty() {
        filters.push_str(&format!("&request={}", encoded(&wanted)));
    }
    let mut query = format!("{filters}&limit={PAGE}");
    if let Some(cursor) = visit.query.get("cursor") {
        query.push_str(&format!("&cursor={}", encoded(cursor)));
    }
    let mut problem = String::new();
    let (rows, next) = match read(visit, &query).await {
        Ok(found) => found,
        Err(error @ OperatorError::Unavailable(_)) => return Err(PageProblem::from(error)),
        Err(error) => {
            problem = error.to_string();
            (Vec::new(), None)
        }
    };
    let rows: Vec<&Value> = rows.iter().collect();
    let mut requests = table(&rows)
        .export("CSV", format!("/console/requests.csv?{filters}"))
        .export("JSON", format!("/console/requests.json?{filters}"));
    requests.next = next.map_or_else(String::new, |next| {
        format!("/console/requests?{filters}&cursor={}", encoded(&next))
    });
    let since = visit.query.get("since").unwrap_or("24h");
    let times = TIMES.map(|(value, label)| FormChoice {
        value: value.to_owned(),
        label: label.to_owned(),
        chosen: value == since,
    });
    let outcome = visit.query.text("outcome");
    let mut outcomes = vec![FormChoice {
        value: String::new(),
        label: "all outcomes".to_owned(),
        chosen: outcome.is_empty(),
    }];
    outcomes.extend(FormChoice::list(OUTCOMES, &outcome));
    let shell = visit.shell("Requests", "requests");
    Ok(Shown::Html(render(&RequestsPage {
        shell: &shell,
        covered: covered(visit),
        query: wanted,
        times: times.to_vec(),
        outcomes,
        fields: fields(visit),
        problem,
        requests,
    })))
}

fn covered(visit: &Visit<'_>) -> String {
    let since = visit.query.get("since").unwrap_or("24h");
    let known = TIMES.iter().find(|(value, _)| *value == since);
    known.map_or_else(|| format!("last {since}"), |(_, words)| (*words).to_owned())
}

fn fields(visit: &Visit<'_>) -> Vec<FilterField> {
    let snapshot = visit.ops.edge.engine.snapshot();
    let options = |name: &str| -> Vec<String> {
        match name {
            "model" => snapshot
                .roster()
                .shown()
                .map(|model| model.id.clone())
                .take(400)
                .collect(),
            "cache" => LAYERS.map(str::to_owned).to_vec(),
            "backend" => snapshot.remote().map(|one| one.name.clone()).collect(),
            _ => Vec::new(),
        }
    };
    let field = |(name, label): (&str, &str)| FilterField {
        name: name.to_owned(),
        label: label.to_owned(),
        value: visit.query.text(name),
        options: options(name),
    };
    FIELDS.map(field).to_vec()
}

/// The cost that a receipt shows, and whether an account was charged it.
pub(super) fn cost(receipt: &Value) -> (Option<&str>, bool) {
    let cost = &receipt["cost"];
    let billed = cost["billed"].as_bool() == Some(true);
    let shown = if billed {
        &cost["charge"]
    } else {
        &cost["provider_cost"]
    };
    (shown.as_str(), billed)
}

/// Requests as rows.
pub(super) fn table(rows: &[&Value]) -> PageTable {
    let headings = [
        "Time",
        "Status",
        "Model",
        "Provider*",
        "Key*",
        "#Tokens*",
        "#Took",
        "#Cost",
    ];
    let empty = Empty::new(
        "No request matches",
        "Choose a longer time or clear the filters. Where nothing was sent yet, send a request from the playground.",
    )
    .link("Open the playground", "/console/playground");
    let mut table = PageTable::new("Requests", &headings).empty(empty);
    for receipt in rows {
        let text = |name: &str| receipt[name].as_str().unwrap_or_default();
        let tokens = |name: &str| receipt["usage"][name].as_u64().unwrap_or(0);
        let status = text("status");
        let is_hit = matches!(text("cache"), "hash" | "semantic");
        let mut model = Cell::text(text("model"));
        if text("model_requested") != text("model") {
            model = model.note(format!("asked for {}", text("model_requested")));
        }
        let (cost, _) = cost(receipt);
        table.push(vec![
            at(&receipt["created_ms"]).link(super::receipt::path_of(text("request_id"))),
            if is_hit {
                Cell::badge(format!("{status} · cached"), tone(status))
            } else {
                Cell::badge(status, tone(status))
            },
            model,
            Cell::maybe(receipt["provider"].as_str()),
            match receipt["key"].as_str() {
                Some(key) => Cell::code(key).link(super::keys::path_of(key)),
                None => Cell::text("–"),
            },
            Cell::text(short(tokens("input_tokens") + tokens("output_tokens"))),
            Cell::text(
                receipt["timings_ms"]["total"]
                    .as_u64()
                    .map_or_else(|| "–".to_owned(), ms),
            ),
            Cell::text(usd_text(cost)),
        ]);
    }
    table
}

/// Answers the list as a file.
pub(super) async fn file(visit: &Visit<'_>, kind: &str) -> PageResult {
    let query = format!("{}&limit={FILE_ROWS}", filters(visit));
    let (rows, _) = read(visit, &query).await?;
    if kind == "json" {
        return Ok(super::export::file("requests", kind, &[], rows));
    }
    let rows = rows.into_iter().map(flat).collect();
    Ok(super::export::file("requests", kind, &COLUMNS, rows))
}

/// A receipt without nested members.
fn flat(mut receipt: Value) -> Value {
    for (from, names) in [
        (
            "usage",
            &["input_tokens", "cache_read_tokens", "output_tokens"][..],
        ),
        ("cost", &["provider_cost", "charge", "savings"][..]),
    ] {
        for name in names {
            receipt[*name] = receipt[from][*name].clone();
        }
    }
    receipt["total_ms"] = receipt["timings_ms"]["total"].clone();
    receipt["first_content_ms"] = receipt["timings_ms"]["first_content"].clone();
    receipt["attempts"] = receipt["attempts"].as_array().map(Vec::len).into();
    receipt
}
