//! Keys: the list, a key's page, and what an operator does to keys.

use std::time::Duration;

use bardo_console::format::{count, encoded};
use bardo_console::pages::{KeyMadePage, KeyPage, KeysPage};
use bardo_console::parts::{Cell, Empty, FactList, FormChoice, PageTable, Tile};
use bardo_console::render;
use bardo_ledger::series::{Figure, Resolution, SeriesDimension, SeriesFigures};
use bardo_types::money::MicroUsd;
use serde_json::Value;

use super::backends::tone;
use super::visit::{PageProblem, PageResult, Shown, Visit, at};
use crate::assemble::names;
use crate::config::units::Span;
use crate::operator::{KeyChange, KeySpec, OperatorError, Unseen};
use crate::series::{ChartQuery, ReportPeriod};

/// Number of keys on the page; more are found by the search.
const SHOWN_MAX: usize = 500;
const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Names of the form's fields that are scopes of the same name.
const SCOPES: [&str; 6] = [
    "rpm",
    "tpm",
    "spend-day",
    "spend-month",
    "spend-total",
    "cache",
];
/// Limits that can be changed later, with their words.
const LIMITS: [(&str, &str); 6] = [
    ("rpm", "Requests per minute"),
    ("tpm", "Tokens per minute"),
    ("spend-session", "Cap per session, USD"),
    ("spend-day", "Cap per day, USD"),
    ("spend-month", "Cap per month, USD"),
    ("spend-total", "Cap in total, USD"),
];

fn text<'v>(key: &'v Value, name: &str) -> &'v str {
    key[name].as_str().unwrap_or_default()
}

pub(super) fn path_of(id: &str) -> String {
    format!("/console/keys/{}", encoded(id))
}

fn account_path(account: &str) -> String {
    format!("/console/accounts/{}", encoded(account))
}

/// A table of keys.
pub(super) fn table(keys: &[&Value], empty: Empty) -> PageTable {
    let headings = ["Name", "State", "Account*", "Tier*", "Limits*", "Created*"];
    let mut table = PageTable::new("Keys", &headings).empty(empty);
    for key in keys {
        let (id, name, state) = (text(key, "id"), text(key, "name"), text(key, "state"));
        let named = if name.is_empty() {
            "without a name"
        } else {
            name
        };
        let kind = if text(key, "kind") == "read_only" {
            " · read only"
        } else {
            ""
        };
        table.push(vec![
            Cell::text(named)
                .link(path_of(id))
                .note(format!("{id}{kind}")),
            Cell::badge(state, tone(state)),
            Cell::text(text(key, "account")).link(account_path(text(key, "account"))),
            Cell::maybe(key["tier"].as_str()),
            Cell::text(in_short(&key["scopes"])),
            at(&key["created_at_ms"]),
        ]);
    }
    table
}

/// The limits of a key in a line.
fn in_short(scopes: &Value) -> String {
    let mut parts = Vec::new();
    let list = |name: &str| {
        let names: Vec<&str> = scopes[name]
            .as_array()?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    parts.extend(list("models"));
    parts.extend(list("backends"));
    if let Some(rpm) = scopes["requests_per_minute"].as_u64() {
        parts.push(match rpm {
            0 => "unlimited requests".to_owned(),
            rpm => format!("{} requests/min", count(rpm)),
        });
    }
    for (name, word) in [("day", "day"), ("month", "month"), ("total", "in total")] {
        if let Some(cap) = scopes["spend"][name].as_str() {
            let cap = bardo_console::format::usd_text(Some(cap));
            parts.push(if name == "total" {
                format!("{cap} {word}")
            } else {
                format!("{cap}/{word}")
            });
        }
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(" · ")
    }
}

/// Shows the list page.
pub(super) async fn list(visit: &Visit<'_>) -> PageResult {
    let all = visit.ops.operator.list_keys(None).await?;
    let wanted = visit.query.text("q").to_lowercase();
    let state = visit.query.text("state");
    let is_meant = |key: &&Value| {
        let found = ["id", "name", "account"]
            .iter()
            .any(|name| text(key, name).to_lowercase().contains(&wanted));
        found && (state.is_empty() || text(key, "state") == state)
    };
    let found: Vec<&Value> = all.iter().filter(is_meant).take(SHOWN_MAX).collect();
    let empty = match all.is_empty() {
        true => Empty::new("No key yet", "Create the first key with the form above.")
            .code("bardo-gateway keys create --name team-a --deposit-usd 10"),
        false => Empty::new("No key matches", "Change the search, or show all keys.")
            .link("All keys", "/console/keys"),
    };
    let query = encoded(&visit.query.text("q"));
    let keys = table(&found, empty)
        .export("CSV", format!("/console/keys.csv?q={query}&state={state}"))
        .export(
            "JSON",
            format!("/console/keys.json?q={query}&state={state}"),
        );
    let mut accounts: Vec<String> = all
        .iter()
        .map(|key| text(key, "account").to_owned())
        .collect();
    accounts.sort();
    accounts.dedup();
    accounts.truncate(200);
    let states = [
        ("", "all states"),
        ("active", "active"),
        ("expired", "expired"),
        ("revoked", "revoked"),
    ];
    let states = states.map(|(value, label)| FormChoice {
        value: value.to_owned(),
        label: label.to_owned(),
        chosen: value == state,
    });
    let shell = visit.shell("Keys", "keys");
    Ok(Shown::Html(render(&KeysPage {
        shell: &shell,
        open: all.is_empty() || visit.query.get("new").is_some(),
        draft_name: visit.query.text("name"),
        draft_account: visit.query.text("account"),
        accounts,
        query: visit.query.text("q"),
        states: states.to_vec(),
        keys,
    })))
}

/// Answers the list as a file.
pub(super) async fn file(visit: &Visit<'_>, kind: &str) -> PageResult {
    let all = visit.ops.operator.list_keys(None).await?;
    let wanted = visit.query.text("q").to_lowercase();
    let state = visit.query.text("state");
    let found = all.into_iter().filter(|key| {
        let found = ["id", "name", "account"]
            .iter()
            .any(|name| text(key, name).to_lowercase().contains(&wanted));
        found && (state.is_empty() || text(key, "state") == state)
    });
    let columns = [
        "id",
        "name",
        "account",
        "kind",
        "state",
        "tier",
        "created_at_ms",
        "expires_at_ms",
        "revoked_at_ms",
        "scopes",
    ];
    Ok(super::export::file("keys", kind, &columns, found.collect()))
}

fn scope_texts(visit: &Visit<'_>) -> Vec<String> {
    let mut scopes = Vec::new();
    for (field, scope) in [("models", "model"), ("backends", "backend"), ("ip", "ip")] {
        let names = visit.form.text(field);
        let names = names
            .split([',', ' '])
            .map(str::trim)
            .filter(|name| !name.is_empty());
        scopes.extend(names.map(|name| format!("{scope}={name}")));
    }
    for name in SCOPES {
        scopes.extend(visit.form.get(name).map(|value| format!("{name}={value}")));
    }
    if visit.form.get("read_only").is_some() {
        scopes.push("read-only".to_owned());
    }
    scopes
}

pub(super) fn amount(visit: &Visit<'_>, name: &str) -> Result<Option<MicroUsd>, PageProblem> {
    let Some(text) = visit.form.get(name) else {
        return Ok(None);
    };
    let read = MicroUsd::from_usd(text);
    read.map(Some).map_err(|_| {
        PageProblem::Invalid(format!(
            "`{text}` is not an amount in USD such as 10 or 2.50"
        ))
    })
}

/// Creates a key.
pub(super) async fn create(visit: &Visit<'_>) -> PageResult {
    let scopes = scope_texts(visit);
    let snapshot = visit.ops.edge.engine.snapshot();
    let backends = snapshot.endpoints.iter().map(|one| one.name.as_str());
    if let Some((part, reason)) = names::unknown_backend_scope(backends, &scopes) {
        return Err(PageProblem::Invalid(format!(
            "the scope `{part}`: {reason}"
        )));
    }
    let expires = visit
        .form
        .get("expires")
        .map(str::parse::<Span>)
        .transpose();
    let expires = expires
        .map_err(|error| PageProblem::Invalid(format!("the time until it expires: {error}")))?;
    let spec = KeySpec {
        name: visit.form.text("name"),
        account: visit.form.get("account").map(str::to_owned),
        unseen: Unseen::of(visit.form.get("create_account").is_some()),
        scopes,
        tier: visit.form.get("tier").map(str::to_owned),
        deposit: amount(visit, "deposit_usd")?,
        expires_in: expires.map(|span| span.0),
    };
    let made = visit.ops.operator.create_key(spec).await?;
    Ok(shown_once(visit, "New key", &made))
}

/// A key with its text.
fn shown_once(visit: &Visit<'_>, title: &str, made: &Value) -> Shown {
    let mut warnings = Vec::new();
    if let Some(error) = made["deposit_error"].as_str() {
        warnings.push(format!("The deposit was not booked: {error}"));
    }
    warnings.extend(crate::unbilled::of_key(made, &visit.ops.unbilled()));
    let (id, shell) = (text(made, "id"), visit.shell(title, "keys"));
    Shown::Html(render(&KeyMadePage {
        shell: &shell,
        heading: match text(made, "name") {
            "" => "The text of the key".to_owned(),
            name => format!("The text of the key {name}"),
        },
        key: text(made, "key").to_owned(),
        warnings,
        facts: facts(made),
        connect: format!("/console/connect?key={}", encoded(id)),
        details: path_of(id),
    }))
}

fn facts(key: &Value) -> FactList {
    let mut facts = FactList::default();
    let (state, account) = (text(key, "state"), text(key, "account"));
    facts.add("Id", Cell::code(text(key, "id")));
    facts.add("Name", Cell::maybe(key["name"].as_str()));
    facts.add("State", Cell::badge(state, tone(state)));
    facts.add("Account", Cell::text(account).link(account_path(account)));
    facts.add("Kind", Cell::text(text(key, "kind").replace('_', " ")));
    facts.add("Tier", Cell::maybe(key["tier"].as_str()));
    facts.add("Created", at(&key["created_at_ms"]));
    facts.add("Expires", at(&key["expires_at_ms"]));
    if !key["revoked_at_ms"].is_null() {
        facts.add("Revoked", at(&key["revoked_at_ms"]));
    }
    if let Some(old) = key["replaces"].as_str() {
        facts.add("Replaces", Cell::code(old).link(path_of(old)));
    }
    facts
}

fn limits(scopes: &Value) -> FactList {
    let mut facts = FactList::default();
    let list = |name: &str| {
        let names = scopes[name]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        Cell::text(if names.is_empty() {
            "all".to_owned()
        } else {
            names.join(", ")
        })
    };
    let number = |name: &str| {
        let number = scopes[name].as_u64().map(count);
        Cell::text(number.unwrap_or_else(|| "of the tier".to_owned()))
    };
    let usd = |amount: &Value| {
        Cell::text(amount.as_str().map_or_else(
            || "none".to_owned(),
            |text| bardo_console::format::usd_text(Some(text)),
        ))
    };
    facts.add("Models", list("models"));
    facts.add("Backends", list("backends"));
    facts.add("Networks", list("networks"));
    facts.add("Requests per minute", number("requests_per_minute"));
    facts.add("Tokens per minute", number("tokens_per_minute"));
    let spend = &scopes["spend"];
    for (name, words) in [
        ("session", "Cap per session"),
        ("day", "Cap per day"),
        ("month", "Cap per month"),
        ("total", "Cap in total"),
    ] {
        facts.add(words, usd(&spend[name]));
    }
    let allowance = &scopes["allowance"];
    if let Some(tokens) = allowance["tokens_per_hour"].as_u64() {
        let beyond = allowance["overage"].as_str().unwrap_or_default();
        facts.add(
            "Tokens per hour",
            Cell::text(count(tokens)).note(format!("beyond: {beyond}")),
        );
    }
    for (name, cap) in scopes["spend_day_of_subsystems"]
        .as_object()
        .into_iter()
        .flatten()
    {
        facts.add(&format!("Cap per day of {name}"), usd(cap));
    }
    facts.add(
        "Stored answers",
        Cell::text(scopes["cache"].as_str().unwrap_or("as configured")),
    );
    facts
}

/// A key's page.
pub(super) async fn show(visit: &Visit<'_>, id: &str) -> PageResult {
    let key = visit.ops.operator.show_key(id).await?;
    let id = text(&key, "id");
    let now = visit.ops.now_ms();
    let period = ReportPeriod::last(now, MONTH);
    let (spent, problem) = match spent(visit, period, id).await {
        Ok(figures) => (figures, String::new()),
        Err(error) => (
            SeriesFigures::default(),
            format!("Its use cannot be shown: {error}"),
        ),
    };
    let requests = format!("/console/requests?since=30d&key={}", encoded(id));
    let usd = |figure| bardo_console::format::usd(spent.get(figure));
    let tiles = vec![
        Tile::new("Spend, 30 days", usd(Figure::Cost)).link(&requests),
        Tile::new("Charged, 30 days", usd(Figure::Charge))
            .link(account_path(text(&key, "account"))),
        Tile::new("Requests, 30 days", count(spent.count(Figure::Requests))).link(&requests),
        Tile::new("Failed, 30 days", count(spent.count(Figure::Failed)))
            .link(format!("{requests}&outcome=failed")),
    ];
    let title = match text(&key, "name") {
        "" => id.to_owned(),
        name => name.to_owned(),
    };
    let shell = visit.shell(&title, "keys");
    let fields = LIMITS.map(|(value, label)| FormChoice {
        value: value.to_owned(),
        label: label.to_owned(),
        chosen: false,
    });
    Ok(Shown::Html(render(&KeyPage {
        shell: &shell,
        id: id.to_owned(),
        here: path_of(id),
        requests,
        account: account_path(text(&key, "account")),
        active: text(&key, "state") == "active",
        version: text(&key, "version").to_owned(),
        problem,
        facts: facts(&key),
        tiles,
        limits: limits(&key["scopes"]),
        fields: fields.to_vec(),
    })))
}

/// What a key spent.
async fn spent(
    visit: &Visit<'_>,
    period: ReportPeriod,
    id: &str,
) -> Result<SeriesFigures, OperatorError> {
    let chart = ChartQuery {
        period,
        step: Some(Resolution::Day),
        by: SeriesDimension::Key,
        only: Some((SeriesDimension::Key, id.to_owned())),
        lines: 1,
    };
    let mut sum = SeriesFigures::default();
    for line in visit.ops.operator.chart(chart).await?.lines {
        sum.add(&line.total);
    }
    Ok(sum)
}

/// Changes the limits of a key.
pub(super) async fn change(visit: &Visit<'_>, id: &str) -> PageResult {
    let given = LIMITS
        .iter()
        .filter_map(|(name, _)| Some(format!("{name}={}", visit.form.get(name)?)));
    visit
        .ops
        .operator
        .set_key(id, &given.collect::<Vec<_>>(), visit.form.get("version"))
        .await?;
    Ok(Shown::Redirect(format!("{}?done=limits", path_of(id))))
}

/// Creates a key in place of another one.
pub(super) async fn rotate(visit: &Visit<'_>, id: &str) -> PageResult {
    let overlap: Span = visit
        .form
        .get("overlap")
        .unwrap_or("24h")
        .parse()
        .map_err(|error| PageProblem::Invalid(format!("the time of the old key: {error}")))?;
    let made = visit
        .ops
        .operator
        .change_key(id, KeyChange::Rotate(overlap.0))
        .await?;
    Ok(shown_once(visit, "Replaced key", &made))
}

/// Revokes a key.
pub(super) async fn revoke(visit: &Visit<'_>, id: &str) -> PageResult {
    visit.ops.operator.change_key(id, KeyChange::Revoke).await?;
    Ok(Shown::Redirect(format!("{}?done=revoked", path_of(id))))
}
