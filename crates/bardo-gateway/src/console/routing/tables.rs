//! The tables of the routing page.

use bardo_console::format::{count, encoded, usd_text};
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tone};
use serde_json::Value;

use super::PageExplanation;
use super::question::RoutingQuestion;

/// Most candidates on the page.
const SHOWN_MAX: usize = 60;
/// Models that a reason names as examples.
const EXAMPLES: usize = 3;

fn names(list: &Value) -> Vec<&str> {
    rows(list).filter_map(Value::as_str).collect()
}

fn rows(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// A model with its backend below.
fn model(one: &Value) -> Cell {
    match text(one, "model") {
        "" => Cell::text("–"),
        model => Cell::text(model).note(text(one, "backend")),
    }
}

/// The features that a request loses, and whether it is refused for that.
fn losses(body: &Value) -> (Vec<&str>, bool) {
    let refusal = &body["refusal"];
    match refusal.is_null() {
        true => (names(&body["resolution"]["degraded"]), false),
        false => (names(&refusal["missing"]), true),
    }
}

/// What to change in the configuration or in the request.
fn mends(body: &Value) -> String {
    let mut all = names(&body["advice"]);
    let of_refusal = text(&body["refusal"], "advice");
    if !of_refusal.is_empty() && !all.contains(&of_refusal) {
        all.insert(0, of_refusal);
    }
    all.join("; ")
}

/// A row for each subsystem and for plain clients, and what mends their losses.
pub(super) fn subsystems(
    question: &RoutingQuestion,
    all: &[&str],
    backends: &[String],
    explain: impl Fn(&RoutingQuestion) -> PageExplanation,
) -> (PageTable, PageTable) {
    let mut headings = vec![
        "Subsystem",
        "First choice",
        "Second choice",
        "#Expected cost",
        "Degraded",
    ];
    let places: Vec<String> = backends.iter().map(|name| format!("{name}*")).collect();
    headings.extend(places.iter().map(String::as_str));
    let mut table = PageTable::new("Subsystems and backends", &headings);
    let empty = Empty::new(
        "Nothing is lost",
        "Every subsystem gets what it requires from the configured backends.",
    );
    let mut mended =
        PageTable::new("Degradations", &["Subsystem", "Lost", "What mends it"]).empty(empty);
    for name in [""].iter().chain(all) {
        let label = if name.is_empty() {
            "plain client"
        } else {
            *name
        };
        let href = format!("/console/routing?{}#explained", question.query(name));
        let subsystem = Cell::text(label).link(href);
        let body = match explain(&question.for_table(name)) {
            Ok((body, _)) => body,
            Err(problem) => {
                let mut row = vec![subsystem, Cell::badge("refused", Tone::Bad).note(problem)];
                row.resize(headings.len(), Cell::text("–"));
                table.push(row);
                continue;
            }
        };
        let (lost, is_refused) = losses(&body);
        table.push(row(subsystem, &body, backends, &lost, is_refused));
        let mends = mends(&body);
        if (is_refused || !lost.is_empty()) && !mends.is_empty() {
            mended.push(vec![
                Cell::text(label),
                Cell::maybe(Some(&*lost.join(", "))),
                Cell::text(mends),
            ]);
        }
    }
    (table, mended)
}

fn row(
    subsystem: Cell,
    body: &Value,
    backends: &[String],
    lost: &[&str],
    is_refused: bool,
) -> Vec<Cell> {
    let chosen = &body["resolution"];
    let first = match is_refused {
        true => Cell::badge("refused", Tone::Bad).note(text(&body["refusal"], "code")),
        false => model(chosen),
    };
    let mut row = vec![
        subsystem,
        first,
        model(&body["fallbacks"][0]),
        Cell::text(usd_text(chosen["estimated_cost_usd"].as_str())),
        match (lost.is_empty(), is_refused) {
            (true, _) => Cell::text("–"),
            (false, true) => Cell::badge(lost.join(", "), Tone::Bad),
            (false, false) => Cell::badge(lost.join(", "), Tone::Warn),
        },
    ];
    let order: Vec<&str> = [chosen]
        .into_iter()
        .chain(rows(&body["fallbacks"]))
        .map(|one| text(one, "backend"))
        .collect();
    for backend in backends {
        row.push(match order.iter().position(|one| one == backend) {
            Some(0) => Cell::badge("1", Tone::Good),
            Some(place) => Cell::badge((place + 1).to_string(), Tone::Plain),
            None => Cell::text("–"),
        });
    }
    row
}

/// The backend that would answer, or why none would.
pub(super) fn choice(body: &Value, hold: Option<&str>) -> FactList {
    let mut facts = FactList::default();
    let refusal = &body["refusal"];
    if !refusal.is_null() {
        facts.add("Refused", Cell::badge(text(refusal, "code"), Tone::Bad));
        facts.add(
            "Missing",
            Cell::maybe(Some(&*names(&refusal["missing"]).join(", "))),
        );
        facts.add("What to do", Cell::maybe(refusal["advice"].as_str()));
        for one in rows(&refusal["lacks"]) {
            facts.add(text(one, "backend"), Cell::text(text(one, "lacks")));
        }
        return facts;
    }
    let chosen = &body["resolution"];
    let backend = text(chosen, "backend");
    let provider = format!("/console/providers/{}", encoded(backend));
    facts.add("Backend", Cell::text(backend).link(provider));
    facts.add("Model", Cell::maybe(chosen["model"].as_str()));
    facts.add("Tier", Cell::maybe(chosen["tier"].as_str()));
    let privacy = Cell::maybe(chosen["security_class"].as_str());
    facts.add(
        "Privacy",
        match chosen["tee"].as_str() {
            Some("listed") => privacy.note("TEE: listed by the provider, not verified"),
            Some(evidence) => privacy.note(format!("TEE: {evidence}")),
            None => privacy,
        },
    );
    let cost = usd_text(chosen["estimated_cost_usd"].as_str());
    facts.add("Expected cost", Cell::text(cost));
    facts.add(
        "Hold",
        match hold {
            Some(hold) => Cell::text(usd_text(Some(hold))).note("of a prepaid key's balance"),
            None => Cell::text("none").note("also for a prepaid key"),
        },
    );
    let warnings = names(&body["warnings"]);
    if !warnings.is_empty() {
        facts.add("Warnings", Cell::text(warnings.join(" ")));
    }
    facts
}

/// The place of a candidate in the order in which backends are called.
fn place(body: &Value, one: &Value) -> Option<usize> {
    let same =
        |other: &&Value| other["backend"] == one["backend"] && other["model"] == one["model"];
    let order = [&body["resolution"]]
        .into_iter()
        .chain(rows(&body["fallbacks"]));
    let mut order = order.filter(|other| !other.is_null()).enumerate();
    order
        .find(|(_, other)| same(other))
        .map(|(place, _)| place + 1)
}

/// The candidates: those that would be called in their order, then the other eligible ones by
/// score, then those that a filter removed.
pub(super) fn candidates(body: &Value) -> PageTable {
    let empty = Empty::new("No candidate", "No configured backend has this model.")
        .link("Models", "/console/models");
    let headings = [
        "Place",
        "Model",
        "Eligible",
        "#Score*",
        "#Expected cost",
        "Reasons*",
    ];
    let mut table = PageTable::new("Candidates", &headings).empty(empty);
    let score = |one: &Value| one["score"]["total"].as_f64();
    let mut all: Vec<(Option<usize>, &Value)> = rows(&body["candidates"])
        .map(|one| (place(body, one), one))
        .collect();
    all.sort_by(|(first, one), (second, other)| {
        let by_place = first
            .unwrap_or(usize::MAX)
            .cmp(&second.unwrap_or(usize::MAX));
        let by_eligible = (other["eligible"] == true).cmp(&(one["eligible"] == true));
        let (left, right) = (score(one).unwrap_or(-1.0), score(other).unwrap_or(-1.0));
        by_place.then(by_eligible).then(right.total_cmp(&left))
    });
    for (place, one) in all.into_iter().take(SHOWN_MAX) {
        table.push(vec![
            Cell::text(place.map_or_else(|| "–".to_owned(), |place| place.to_string())),
            model(one),
            match one["eligible"] == true {
                true => Cell::badge("yes", Tone::Good),
                false => Cell::badge("no", Tone::Plain),
            },
            Cell::text(score(one).map_or_else(|| "–".to_owned(), |score| format!("{score:.3}"))),
            Cell::text(usd_text(one["estimated_cost_usd"].as_str())),
            Cell::maybe(Some(&*names(&one["reasons"]).join("; "))),
        ]);
    }
    table
}

/// The reasons for which candidates were removed, those that removed the most first.
pub(super) fn removed(body: &Value) -> PageTable {
    let empty = Empty::new(
        "Nothing was removed",
        "Every candidate could serve this request.",
    );
    let headings = ["Reason", "#Removed", "Such as*"];
    let mut table = PageTable::new("Filters", &headings).empty(empty);
    let mut reasons: Vec<(&str, u64, Vec<String>)> = Vec::new();
    for one in rows(&body["candidates"]).filter(|one| one["eligible"] != true) {
        for reason in names(&one["reasons"]) {
            let example = format!("{} at {}", text(one, "model"), text(one, "backend"));
            match reasons.iter_mut().find(|(known, ..)| *known == reason) {
                Some((_, number, examples)) => {
                    *number += 1;
                    if examples.len() < EXAMPLES {
                        examples.push(example);
                    }
                }
                None => reasons.push((reason, 1, vec![example])),
            }
        }
    }
    reasons.sort_by_key(|(_, number, _)| std::cmp::Reverse(*number));
    for (reason, number, examples) in reasons {
        table.push(vec![
            Cell::text(reason),
            Cell::text(count(number)),
            Cell::text(examples.join(", ")),
        ]);
    }
    table
}

/// What the request loses, each with the advice that mends it.
pub(super) fn lost(body: &Value) -> PageTable {
    let empty = Empty::new(
        "Nothing is lost",
        "The first choice has everything that was required or preferred.",
    );
    let mut table = PageTable::new("Losses", &["Lost", "What mends it"]).empty(empty);
    let (lost, is_refused) = losses(body);
    let advice = mends(body);
    let tone = if is_refused { Tone::Bad } else { Tone::Warn };
    let all = names(&body["advice"]);
    for name in &lost {
        // Advice names the feature that it mends, in quotes or in words.
        let spoken = name.replace('_', " ");
        let about = |line: &&&str| line.contains(*name) || line.contains(&spoken);
        let own: Vec<&str> = all.iter().filter(about).copied().collect();
        table.push(vec![
            Cell::badge(*name, tone),
            match own.is_empty() {
                true => Cell::maybe(Some(&advice)),
                false => Cell::text(own.join("; ")),
            },
        ]);
    }
    table
}
