//! One agent: its days, its subsystems and its sessions.

use bardo_console::format::{count, encoded, percent, usd};
use bardo_console::pages::GolemPage;
use bardo_console::parts::{Cell, ChartKind, Empty, FactList, PageTable};
use bardo_console::render;
use bardo_ledger::ReceiptFilter;
use bardo_ledger::series::{Figure, ReceiptSearch, SeriesFigures};
use bardo_types::calendar::rfc3339;
use bardo_types::ids::AccountId;

use super::golems::{self, GolemSpan};
use super::visit::{PageProblem, PageResult, Shown, Visit};
use crate::operator::OperatorError;
use crate::series::GolemRow;

/// Latest requests whose sessions are listed.
const REQUESTS_MAX: u32 = 200;

/// A session in the latest requests of an agent.
struct SessionSums {
    name: Option<String>,
    last_ms: u64,
    figures: SeriesFigures,
}

/// The sessions of the latest requests, the latest session first, and the number of requests.
async fn sessions(
    visit: &Visit<'_>,
    span: &GolemSpan,
    row: &GolemRow,
) -> Result<(Vec<SessionSums>, usize), OperatorError> {
    let search = ReceiptSearch {
        filter: ReceiptFilter {
            account: AccountId::parse(&row.seen.account).ok(),
            ..ReceiptFilter::between(span.period.from_ms, span.period.to_ms)
        },
        golem: Some(row.seen.golem.clone()),
        layer: None,
        min_cost: None,
        request_prefix: None,
        after: None,
        limit: REQUESTS_MAX,
    };
    let found = visit.ops.operator.search(search, None).await?.receipts;
    let mut sessions: Vec<SessionSums> = Vec::new();
    for receipt in &found {
        let name = &receipt.facts.session;
        let known = sessions.iter_mut().find(|one| one.name == *name);
        match known {
            Some(one) => one.figures.add(&receipt.facts.figures),
            None => sessions.push(SessionSums {
                name: name.clone(),
                last_ms: receipt.facts.at_ms,
                figures: receipt.facts.figures,
            }),
        }
    }
    Ok((sessions, found.len()))
}

fn session_table(sessions: &[SessionSums], requests: &str) -> PageTable {
    let empty = Empty::new(
        "No request in this time",
        "Choose a longer time, or send a request with the header `X-Bardo-Session-Id`.",
    );
    let headings = ["Session", "#Requests", "#Cost", "Last request"];
    let mut table = PageTable::new("Sessions", &headings).empty(empty);
    for one in sessions {
        let name = match &one.name {
            Some(name) => Cell::code(name).link(format!("{requests}&session={}", encoded(name))),
            None => Cell::text("without a session"),
        };
        table.push(vec![
            name,
            Cell::text(count(one.figures.count(Figure::Requests))),
            golems::cost(&one.figures),
            Cell::time(one.last_ms, rfc3339(one.last_ms)),
        ]);
    }
    table
}

fn days(span: &GolemSpan, costs: &[i64]) -> PageTable {
    let mut table = PageTable::new("Days", &["Day (UTC)", "#Cost", "Share of the time"]);
    let positive = |cost: i64| u64::try_from(cost).unwrap_or(0);
    let whole: u64 = costs.iter().map(|cost| positive(*cost)).sum();
    for (start, cost) in span.starts.iter().zip(costs).rev() {
        let part = positive(*cost);
        let day = rfc3339(*start);
        let day = day.split('T').next().unwrap_or_default();
        table.push(vec![
            Cell::text(day),
            Cell::text(usd(*cost)),
            Cell::text(percent(part, whole)).bar(part.saturating_mul(100) / whole.max(1)),
        ]);
    }
    table
}

fn facts(row: &GolemRow) -> FactList {
    let seen = &row.seen;
    let mut facts = FactList::default();
    let account = super::accounts::path_of(&seen.account);
    facts.add("Account", Cell::text(&seen.account).link(account));
    facts.add("Phase", golems::phase(seen.phase.as_deref()));
    facts.add("Vitality", golems::reported(seen.vitality.as_deref()));
    facts.add(
        "Sustainability",
        golems::reported(seen.sustainability.as_deref()),
    );
    facts.add(
        "First request",
        Cell::time(seen.first_seen_ms, rfc3339(seen.first_seen_ms)),
    );
    facts.add(
        "Last request",
        Cell::time(seen.last_seen_ms, rfc3339(seen.last_seen_ms)),
    );
    facts
}

/// Shows the page of an agent. Accounts may use the same name for agents of their own: the address
/// names the account, and without it the dearest agent of the name is shown.
pub(super) async fn show(visit: &Visit<'_>, name: &str) -> PageResult {
    let span = GolemSpan::of(visit);
    let account = visit.query.get("account");
    let rows = golems::gathered(visit, span.period).await?;
    let row = rows.into_iter().find(|row| {
        row.seen.golem == name && account.is_none_or(|account| account == row.seen.account)
    });
    let Some(row) = row else {
        return Err(PageProblem::NotFound(format!(
            "The agent {name} made no request in the last {}. Try the last 30 days.",
            span.name
        )));
    };
    let (sessions, read) = sessions(visit, &span, &row).await?;
    let requests = format!(
        "/console/requests?since={}&golem={}&account={}",
        span.name,
        encoded(&row.seen.golem),
        encoded(&row.seen.account)
    );
    let costs = span.costs(&row);
    let line = costs.iter().copied().map(golems::dollars).collect();
    let cost = usd(row.figures.get(Figure::Cost));
    let path = format!("/console/golems/{}", encoded(name));
    let shell = visit.shell(&format!("Golem {name}"), "golems");
    Ok(Shown::Html(render(&GolemPage {
        shell: &shell,
        windows: span.tabs(&path, &format!("&account={}", encoded(&row.seen.account))),
        tiles: golems::tiles(&row.figures, &requests),
        facts: facts(&row),
        chart: span.chart("Cost per day").total(cost, &*requests).series(
            "cost",
            ChartKind::Bars,
            line,
        ),
        days: days(&span, &costs),
        subsystems: golems::subsystems(&row.subsystems, |name| {
            format!("{requests}&subsystem={}", encoded(name))
        }),
        sessions: session_table(&sessions, &requests),
        sessions_note: format!(
            "Of its latest {} requests in this time.",
            count(read as u64)
        ),
        requests,
    })))
}
