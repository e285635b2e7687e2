//! What is known of Venice, and how well requests were protected.

use bardo_console::format::{count, encoded, percent};
use bardo_console::pages::VenicePage;
use bardo_console::parts::{Cell, Empty, PageTable, Tile, Tone};
use bardo_console::render;
use bardo_ledger::ReceiptFilter;
use bardo_ledger::series::ReceiptSearch;
use bardo_types::model::Tier;
use bardo_types::privacy::SecurityClass;
use serde_json::Value;

use super::visit::{PageResult, Shown, Visit};
use crate::operator::OperatorError;
use crate::venice;

/// Days whose requests are looked at.
const DAYS: u64 = 7;
const DAY_MS: u64 = 86_400_000;
/// Latest requests that are looked at.
const REQUESTS_MAX: u32 = 500;
/// Most models on the page.
const MODELS_MAX: usize = 300;

/// Requests of one class.
#[derive(Default)]
struct ClassSums {
    asked: u64,
    kept: u64,
    by_venice: u64,
}

/// The latest requests by the class that they asked for, in the order of classes, and their number.
async fn requests(
    visit: &Visit<'_>,
    backends: &[&str],
) -> Result<([ClassSums; 4], usize), OperatorError> {
    let now = visit.ops.now_ms();
    let search = ReceiptSearch {
        filter: ReceiptFilter::between(now.saturating_sub(DAYS * DAY_MS), now + 1),
        golem: None,
        layer: None,
        min_cost: None,
        request_prefix: None,
        after: None,
        limit: REQUESTS_MAX,
    };
    let found = visit.ops.operator.search(search, None).await?.receipts;
    let mut sums = <[ClassSums; 4]>::default();
    for receipt in &found {
        let json = receipt.json();
        let class = |name: &str| {
            let text = json["routing"][name].as_str();
            text.and_then(SecurityClass::parse).unwrap_or_default()
        };
        let (asked, got) = (class("security_class"), class("security"));
        let Some(sum) = sums.get_mut(asked as usize) else {
            continue;
        };
        sum.asked += 1;
        // A request that no backend answered was shown to none.
        let backend = receipt.facts.backend.as_deref();
        sum.kept += u64::from(got >= asked || backend.is_none());
        sum.by_venice += u64::from(backend.is_some_and(|name| backends.contains(&name)));
    }
    Ok((sums, found.len()))
}

fn classes(sums: &[ClassSums]) -> PageTable {
    let empty = Empty::new(
        "No request in the last 7 days",
        "Send one with the header `X-Bardo-Security-Class: private`.",
    )
    .link("Open the playground", "/console/playground");
    let headings = [
        "Class asked for",
        "#Requests",
        "#Kept",
        "#Lost",
        "#By Venice*",
    ];
    let mut table = PageTable::new("Requests by class", &headings).empty(empty);
    for (class, sum) in SecurityClass::ALL.iter().zip(sums) {
        if sum.asked == 0 {
            continue;
        }
        let lost = sum.asked - sum.kept;
        table.push(vec![
            Cell::text(class.as_str()),
            Cell::text(count(sum.asked)),
            Cell::text(percent(sum.kept, sum.asked)).bar(sum.kept * 100 / sum.asked),
            match lost {
                0 => Cell::text("0"),
                lost => Cell::badge(count(lost), Tone::Bad),
            },
            Cell::text(count(sum.by_venice)),
        ]);
    }
    table
}

fn models(visit: &Visit<'_>) -> PageTable {
    let empty = Empty::new(
        "Venice is not configured",
        "Add its key to the configuration; it is read again at once.",
    )
    .code("providers:\n  venice:\n    api_key: ${VENICE_API_KEY}")
    .link("Settings", "/console/settings");
    let headings = ["Model", "Privacy", "Evidence", "Tier*"];
    let mut table = PageTable::new("Models of Venice", &headings).empty(empty);
    let snapshot = visit.ops.edge.engine.snapshot();
    let mut all = venice::models(snapshot.roster());
    all.sort_by_key(|entry| std::cmp::Reverse(entry.security));
    for entry in all.iter().take(MODELS_MAX) {
        let (words, tone) = match venice::privacy(entry) {
            "e2ee_listed" => ("TEE, encryption by the client", Tone::Good),
            "tee_listed" => ("TEE", Tone::Good),
            "private" => ("private", Tone::Good),
            _ => ("anonymized", Tone::Plain),
        };
        table.push(vec![
            Cell::text(&entry.id).link(format!(
                "/console/requests?since=7d&model={}",
                encoded(&entry.id)
            )),
            Cell::badge(words, tone),
            Cell::text("listed, not verified"),
            Cell::maybe(entry.tier.map(Tier::as_str)),
        ]);
    }
    table
}

fn tiles(facts: &Value) -> Vec<Tile> {
    let number = |name: &str| count(facts["models"][name].as_u64().unwrap_or(0));
    vec![
        Tile::new("Models", number("total")),
        Tile::new("Private", number("private")).note("nothing is stored, by the list"),
        Tile::new("TEE", number("tee_listed")).note("listed, not verified"),
        Tile::new("E2EE", number("e2ee_listed")).note("listed; not used by this version"),
        Tile::new("Anonymized", number("anonymized")).note("passed on without a name"),
        Tile::new("Balance", "not known").note("this version does not read it"),
    ]
}

/// Shows the page.
pub(super) async fn show(visit: &Visit<'_>) -> PageResult {
    let snapshot = visit.ops.edge.engine.snapshot();
    let facts = venice::status(snapshot.roster());
    let mut problem = String::new();
    let found = requests(visit, &venice::backends(snapshot.roster())).await;
    let (sums, read) = found.unwrap_or_else(|error| {
        problem = format!("The store does not answer, so requests are missing: {error}");
        Default::default()
    });
    let shell = visit.shell("Venice", "venice");
    Ok(Shown::Html(render(&VenicePage {
        shell: &shell,
        note: venice::UNVERIFIED,
        tiles: tiles(&facts),
        models: models(visit),
        classes: classes(&sums),
        classes_note: format!(
            "Of the latest {} requests of the last 7 days, at all providers.",
            count(read as u64)
        ),
        problem,
    })))
}

/// Answers the facts as JSON.
pub(super) fn file(visit: &Visit<'_>) -> Shown {
    let snapshot = visit.ops.edge.engine.snapshot();
    Shown::Json(venice::status(snapshot.roster()))
}
