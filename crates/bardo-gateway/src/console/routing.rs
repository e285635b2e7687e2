//! Where requests of each subsystem would go, and why. All of it is a dry run.

mod question;
mod tables;

use bardo_console::pages::RoutingPage;
use bardo_console::parts::{FactList, FormChoice, PageTable};
use bardo_console::render;
use bardo_engine::{Payer, Principal};
use bardo_router::Subsystems;
use bardo_types::intent::Quality;
use bardo_types::phase::Phase;
use bardo_types::privacy::SecurityClass;
use serde_json::Value;

use self::question::RoutingQuestion;
use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::explain;

/// An explanation as JSON, in words, or why there is none.
type PageExplanation = Result<(Value, String), String>;

/// Explains a question as the operator's own request, or as one of a prepaid key. No backend is called.
fn explained(visit: &Visit<'_>, question: &RoutingQuestion, is_prepaid: bool) -> PageExplanation {
    let mut received = question.received().map_err(|error| error.to_string())?;
    if is_prepaid {
        let terms = question::prepaid().map_err(|error| error.to_string())?;
        received.principal = Principal {
            payer: Payer::Prepaid(terms.into()),
            ..received.principal
        };
    }
    let row = explain::subsystem(&received);
    let explained = visit.ops.edge.engine.explain(received);
    let explained =
        explained.map_err(|error| crate::error::Problem::from(error).fault.message.to_string())?;
    Ok(explain::shown(explained, row.as_deref(), |view| {
        (explain::body(view), explain::words(view, explain::WIDTH))
    }))
}

/// The amount that the balance of a prepaid key has to hold for the question.
fn hold(visit: &Visit<'_>, question: &RoutingQuestion) -> Option<String> {
    let (body, _) = explained(visit, question, true).ok()?;
    body["resolution"]["hold_usd"].as_str().map(str::to_owned)
}

/// Choices with one more that leaves the hint out.
fn choices<'a>(
    all: impl IntoIterator<Item = &'a str>,
    chosen: &str,
    without: &str,
) -> Vec<FormChoice> {
    let mut list = vec![FormChoice {
        value: String::new(),
        label: without.to_owned(),
        chosen: chosen.is_empty(),
    }];
    list.extend(FormChoice::list(all, chosen));
    list
}

/// Shows the routing page.
pub(super) fn show(visit: &Visit<'_>) -> PageResult {
    let rows = Subsystems::embedded().rows();
    let all: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
    let question = RoutingQuestion::of(visit, &all);
    let snapshot = visit.ops.edge.engine.snapshot();
    let backends: Vec<String> = snapshot.remote().map(|one| one.name.clone()).collect();
    let found = explained(visit, &question, false);
    let (choice, candidates, removed, lost, words, problem) = match &found {
        Ok((body, words)) => (
            tables::choice(body, hold(visit, &question).as_deref()),
            tables::candidates(body),
            tables::removed(body),
            tables::lost(body),
            words.clone(),
            String::new(),
        ),
        Err(problem) => (
            FactList::default(),
            PageTable::default(),
            PageTable::default(),
            PageTable::default(),
            String::new(),
            problem.clone(),
        ),
    };
    let (table, mended) = tables::subsystems(&question, &all, &backends, |question| {
        explained(visit, question, false)
    });
    let phases = Phase::ALL.map(Phase::as_str);
    let classes = SecurityClass::ALL.map(SecurityClass::as_str);
    let qualities = Quality::ALL.map(Quality::as_str);
    let shell = visit.shell("Routing", "routing");
    Ok(Shown::Html(render(&RoutingPage {
        shell: &shell,
        vitality: question.vitality,
        sustainability: question.sustainability,
        max_cost: question.max_cost.clone(),
        tokens: question.tokens,
        phases: choices(phases, &question.phase, "not given"),
        classes: choices(classes, &question.class, "not given"),
        qualities: choices(qualities, &question.quality, "not given"),
        subsystems: choices(
            all.iter().copied(),
            &question.subsystem,
            "none: a plain client",
        ),
        model: question.model,
        problem,
        choice,
        candidates,
        removed,
        lost,
        words,
        table,
        mended,
    })))
}

/// Answers the explanation as JSON.
pub(super) fn file(visit: &Visit<'_>) -> PageResult {
    let rows = Subsystems::embedded().rows();
    let all: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
    let question = RoutingQuestion::of(visit, &all);
    let (body, _) = explained(visit, &question, false).map_err(PageProblem::Invalid)?;
    Ok(Shown::Json(body))
}
