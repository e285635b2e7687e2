//! Backends, their health, circuits and lists of models.

use bardo_console::format::{count, encoded, ms, share};
use bardo_console::pages::{ProviderPage, ProvidersPage};
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tile, Tone};
use bardo_console::render;
use bardo_engine::CircuitHealth;
use bardo_types::calendar::rfc3339;
use bardo_types::money::MicroUsd;
use serde_json::Value;
use serde_json::value::RawValue;

use super::backends::{self, time, tone};
use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::ops::backends::circuit_state;

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn path_of(name: &str) -> String {
    format!("/console/providers/{}", encoded(name))
}

fn of_state<'v>(all: &'v [Value], state: &str) -> impl Iterator<Item = &'v Value> {
    let state = state.to_owned();
    all.iter().filter(move |one| one["state"] == *state)
}

/// Shows the list page.
pub(super) fn list(visit: &Visit<'_>) -> Shown {
    let all = backends::all(visit);
    let circuits = visit.ops.edge.engine.circuits();
    let open = circuits
        .iter()
        .filter(|one| circuit_state(one.state) != "closed")
        .count();
    let number = |state: &str| of_state(&all, state).count();
    let (down, degraded) = (number("down"), number("degraded"));
    let alarm = |count: usize, tone: Tone| if count > 0 { tone } else { Tone::Plain };
    let quarantined = visit.ops.edge.engine.snapshot().roster().quarantined();
    let tiles = vec![
        Tile::new("Backends", all.len().to_string()).note(format!("{} healthy", number("healthy"))),
        Tile::new("Degraded", degraded.to_string())
            .tone(alarm(degraded, Tone::Warn))
            .note("fail for some models"),
        Tile::new("Down", down.to_string())
            .tone(alarm(down, Tone::Bad))
            .note("skipped by routing"),
        Tile::new("Open circuits", open.to_string())
            .tone(alarm(open, Tone::Bad))
            .note("backend and model"),
        Tile::new("Quarantined models", quarantined.to_string())
            .note("omitted: their listed price cannot be right")
            .tone(alarm(quarantined, Tone::Warn)),
    ];
    let shell = visit.shell("Providers", "providers");
    Shown::Html(render(&ProvidersPage {
        shell: &shell,
        tiles,
        backends: table(visit, &all),
        funds: funds(visit),
        circuits: circuit_table(&circuits),
        lists: lists(visit),
    }))
}

fn table(visit: &Visit<'_>, all: &[Value]) -> PageTable {
    let snapshot = visit.ops.edge.engine.snapshot();
    let empty = Empty::new(
        "No provider",
        "Add a provider to the configuration; the file is read again by itself.",
    )
    .link("Settings", "/console/settings");
    let headings = [
        "Provider",
        "State",
        "Billing*",
        "#First token p50*",
        "#First token p95",
        "#Errors*",
        "Last check*",
    ];
    let mut table = PageTable::new("Backends", &headings).empty(empty);
    for backend in all {
        let name = text(backend, "provider");
        let models = backend["models"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let worst = |part: &str| {
            models
                .iter()
                .filter_map(|model| model["first_token"][part].as_u64())
                .max()
        };
        let errors = models
            .iter()
            .filter_map(|model| model["error_rate"].as_f64())
            .fold(0.0, f64::max);
        let direct = snapshot
            .remote()
            .find(|one| one.name == name)
            .is_some_and(|one| one.direct);
        let probe = &backend["probe"];
        let checked = probe["checked_ms_ago"]
            .as_u64()
            .map_or_else(|| "–".to_owned(), |ago| format!("{} ago", ms(ago)));
        let words = |found: Option<u64>| Cell::text(found.map_or_else(|| "–".to_owned(), ms));
        table.push(vec![
            Cell::text(name).link(path_of(name)),
            Cell::badge(text(backend, "state"), tone(text(backend, "state"))),
            Cell::text(if direct {
                "the owner's key"
            } else {
                "charged to accounts"
            }),
            words(worst("p50_ms")),
            words(worst("p95_ms")),
            Cell::text(share(errors)),
            Cell::text(checked).note(text(probe, "error")),
        ]);
    }
    table
}

fn circuit_table(circuits: &[CircuitHealth]) -> PageTable {
    let empty = Empty::new(
        "No backend has failed of late",
        "A circuit opens after repeated failures, and the backend is skipped until it answers again.",
    );
    let headings = [
        "Provider",
        "Model",
        "Circuit",
        "#Failures in a row",
        "#Failed of all*",
        "#Next try*",
    ];
    let mut table = PageTable::new("Circuits", &headings).empty(empty);
    for one in circuits {
        let state = circuit_state(one.state);
        let wait = one.retry_in.or(one.paused_for);
        let wait = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok());
        table.push(vec![
            Cell::text(&*one.backend).link(path_of(&one.backend)),
            Cell::text(&*one.model),
            Cell::badge(state.replace('_', "-"), tone(state)),
            Cell::text(one.failures_in_a_row.to_string()),
            Cell::text(format!(
                "{} of {}",
                one.failures,
                one.failures + one.successes
            )),
            Cell::text(wait.map_or_else(|| "–".to_owned(), |wait| format!("in {}", ms(wait)))),
        ]);
    }
    table
}

/// What pays the providers. An amount that is unknown is shown as unknown.
fn funds(visit: &Visit<'_>) -> PageTable {
    let empty = Empty::new(
        "No provider tells what you have there",
        "Bankr tells its credit. A wallet that pays BlockRun is read over `payments.rpc_urls`.",
    );
    let headings = [
        "Provider",
        "Paid by",
        "#Left",
        "Last read",
        "Budget of the day",
        "#Used at the provider*",
        "#Receipts*",
    ];
    let mut table = PageTable::new("Funds", &headings).empty(empty);
    let usd = |amount: MicroUsd| format!("${amount}");
    let dash = || "–".to_owned();
    for row in visit.ops.operator.funds.rows() {
        let left = match (row.amount, row.is_low(MicroUsd::ZERO)) {
            (Some(amount), Some(true)) => Cell::badge(usd(amount), Tone::Bad),
            (Some(amount), _) => Cell::text(usd(amount)),
            (None, _) => Cell::badge("unknown", Tone::Warn),
        };
        let read = row.read_at_ms.map_or_else(dash, rfc3339);
        let budget = row.daily_budget.as_deref().map_or("–", RawValue::get);
        let usage = row.usage.map(|usage| {
            let days = format!("{} days", usage.provider.days);
            let receipts = usage.receipts.map_or_else(dash, usd);
            (usd(usage.provider.cost), days, receipts)
        });
        let (used, days, receipts) = usage.unwrap_or_else(|| (dash(), String::new(), dash()));
        table.push(vec![
            Cell::text(&*row.provider).link(path_of(&row.provider)),
            Cell::text(row.kind.as_str()),
            left.note(row.error.as_deref().unwrap_or_default()),
            Cell::text(read),
            Cell::text(budget),
            Cell::text(used).note(days),
            Cell::text(receipts),
        ]);
    }
    table
}

fn lists(visit: &Visit<'_>) -> PageTable {
    let status = visit.ops.status.load();
    let empty = Empty::new(
        "No list was read yet",
        "Lists of models are read at the start and now and then; refresh them with the button above.",
    );
    let mut table =
        PageTable::new("Model lists", &["Provider", "Last read", "#Models"]).empty(empty);
    for (name, list) in &status.lists {
        let (state, number) = match list {
            Ok(number) => (Cell::badge("read", Tone::Good), count(*number as u64)),
            Err(reason) => (
                Cell::badge("failed", Tone::Bad).note(reason),
                "–".to_owned(),
            ),
        };
        let href = format!("/console/models?backend={}", encoded(name));
        table.push(vec![
            Cell::text(name).link(path_of(name)),
            state,
            Cell::text(number).link(href),
        ]);
    }
    table
}

/// The page of a backend.
pub(super) fn show(visit: &Visit<'_>, name: &str) -> PageResult {
    let all = backends::all(visit);
    let backend = all.iter().find(|one| one["provider"] == *name);
    let backend = backend
        .ok_or_else(|| PageProblem::NotFound(format!("No provider has the name {name}.")))?;
    let snapshot = visit.ops.edge.engine.snapshot();
    let mut facts = FactList::default();
    facts.add(
        "State",
        Cell::badge(text(backend, "state"), tone(text(backend, "state"))),
    );
    if let Some(endpoint) = snapshot.remote().find(|one| one.name == name) {
        facts.add(
            "Billing",
            Cell::text(if endpoint.direct {
                "the owner's key"
            } else {
                "charged to accounts"
            }),
        );
        facts.add("Payment", Cell::text(endpoint.payment.as_str()));
    }
    let probe = &backend["probe"];
    if !probe.is_null() {
        facts.add(
            "Last probe",
            Cell::text(format!(
                "{} ago",
                ms(probe["checked_ms_ago"].as_u64().unwrap_or(0))
            ))
            .note(text(probe, "error")),
        );
        facts.add(
            "Probes failed in a row",
            Cell::text(probe["failures_in_a_row"].to_string()),
        );
    }
    facts.add(
        "Models",
        Cell::text("Models that it serves")
            .link(format!("/console/models?backend={}", encoded(name))),
    );
    let requests = format!("/console/requests?since=24h&backend={}", encoded(name));
    let empty = Empty::new(
        "No request of late",
        "Send one with a model of this provider.",
    )
    .link("Open the playground", "/console/playground");
    let headings = [
        "Model",
        "State",
        "#First token p50",
        "#First token p95",
        "#Whole answer p95*",
        "#Errors",
        "#Samples*",
    ];
    let mut models = PageTable::new("Models seen", &headings).empty(empty);
    for model in backend["models"].as_array().into_iter().flatten() {
        let state = text(model, "state");
        models.push(vec![
            Cell::text(text(model, "model")).link(format!(
                "{requests}&model={}",
                encoded(text(model, "model"))
            )),
            Cell::badge(state, tone(state)),
            time(&model["first_token"]["p50_ms"]),
            time(&model["first_token"]["p95_ms"]),
            time(&model["whole_answer"]["p95_ms"]),
            Cell::text(share(model["error_rate"].as_f64().unwrap_or(0.0))),
            Cell::text(
                model["samples"]
                    .as_u64()
                    .map_or_else(|| "–".to_owned(), count),
            ),
        ]);
    }
    let circuits = visit.ops.edge.engine.circuits();
    let circuits: Vec<CircuitHealth> = circuits
        .into_iter()
        .filter(|one| *one.backend == *name)
        .collect();
    let shell = visit.shell(name, "providers");
    Ok(Shown::Html(render(&ProviderPage {
        shell: &shell,
        requests,
        facts,
        models,
        circuits: circuit_table(&circuits),
    })))
}

/// Reads the lists of models again.
pub(super) fn refresh(visit: &Visit<'_>) -> Shown {
    visit.ops.edge.refresh_lists.notify_one();
    Shown::Redirect("/console/providers?done=refresh".to_owned())
}
