//! Accounts: balances, deposits, the ledger, and requests with an unknown outcome.

use std::collections::BTreeMap;

use bardo_console::format::{count, encoded, usd, usd_text};
use bardo_console::pages::{AccountListPage, AccountPage};
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tile, Tone};
use bardo_console::render;
use bardo_ledger::{Balance, Posting, StoreError};
use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use serde_json::Value;

use super::visit::{PageProblem, PageResult, Shown, Visit, at};
use crate::operator::Unseen;

/// Number of accounts on the page.
const SHOWN_MAX: u32 = 200;
/// Less than this is a low balance.
const LOW: MicroUsd = MicroUsd::new(1_000_000);
/// Number of postings on the page, the newest.
const POSTINGS_MAX: usize = 200;
/// Number of postings that are read at once.
const PAGE: u32 = 400;

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The address of an account's page.
pub(super) fn path_of(account: &str) -> String {
    format!("/console/accounts/{}", encoded(account))
}

/// Shows the list page.
pub(super) async fn list(visit: &Visit<'_>) -> PageResult {
    page(visit, FactList::default()).await
}

/// Verifies the books, and shows the result on the list page.
pub(super) async fn verify(visit: &Visit<'_>) -> PageResult {
    page(visit, books(visit).await?).await
}

async fn page(visit: &Visit<'_>, books: FactList) -> PageResult {
    let operator = &visit.ops.operator;
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for key in operator.list_keys(None).await? {
        *keys.entry(text(&key, "account").to_owned()).or_default() += 1;
    }
    let after = visit.query.get("after").map(str::to_owned);
    let is_first = after.is_none();
    let page = operator.accounts(after, SHOWN_MAX).await?;
    let empty = Empty::new(
        "No account yet",
        "An account is created with its first key.",
    )
    .link("Create a key", "/console/keys?new=1");
    let headings = [
        "Account",
        "#Keys*",
        "#Deposited*",
        "#Spent",
        "#Held*",
        "#Available",
        "#Debt*",
    ];
    let mut accounts = PageTable::new("Accounts", &headings).empty(empty);
    for row in &page.accounts {
        let number = keys.remove(row.account.as_str()).unwrap_or(0);
        accounts.push(cells(row.account.as_str(), number, &row.balance, row.debt));
    }
    // Accounts that never had money are known by their keys alone.
    if is_first && page.next.is_none() {
        let rest = SHOWN_MAX as usize - accounts.rows.len().min(SHOWN_MAX as usize);
        for (name, number) in keys.iter().take(rest) {
            accounts.push(cells(name, *number, &Balance::default(), MicroUsd::ZERO));
        }
    }
    if let Some(next) = &page.next {
        accounts.next = format!("/console/accounts?after={}", encoded(next));
    }
    let shell = visit.shell("Accounts", "accounts");
    Ok(Shown::Html(render(&AccountListPage {
        shell: &shell,
        accounts,
        books,
        unknown: unknown(visit).await?,
    })))
}

fn cells(name: &str, keys: usize, balance: &Balance, debt: MicroUsd) -> Vec<Cell> {
    let usd = |amount: MicroUsd| usd_text(Some(amount.text().as_str()));
    let is_low = balance.available < LOW && balance.deposited > MicroUsd::ZERO;
    vec![
        Cell::text(name).link(path_of(name)),
        Cell::text(count(keys as u64)).link(format!("/console/keys?q={}", encoded(name))),
        Cell::text(usd(balance.deposited)).link(format!("{}#ledger", path_of(name))),
        Cell::text(usd(balance.spent)).link(format!(
            "/console/requests?since=30d&account={}",
            encoded(name)
        )),
        Cell::text(usd(balance.held)),
        match is_low {
            true => Cell::badge(usd(balance.available), Tone::Warn),
            false => Cell::text(usd(balance.available)),
        },
        Cell::text(usd(debt)),
    ]
}

/// Whether the books add up.
async fn books(visit: &Visit<'_>) -> Result<FactList, PageProblem> {
    let mut facts = FactList::default();
    let (ok, found) = visit.ops.operator.verify().await?;
    facts.add(
        "Result",
        match ok {
            true => Cell::badge("everything adds up", Tone::Good),
            false => Cell::badge("something does not add up", Tone::Bad),
        },
    );
    for name in ["accounts", "postings", "holds"] {
        facts.add(
            name,
            Cell::text(found[name].as_u64().map_or_else(|| "–".to_owned(), count)),
        );
    }
    let paid = &found["provider_payments"];
    if paid["payments"] != 0 {
        let usd = |name: &str| paid[name].as_str().unwrap_or_default().to_owned();
        for (name, member) in [
            ("Paid to providers per call, USD", "signed"),
            ("… without an answer, USD", "unanswered"),
            ("… taken by them, USD", "taken"),
            ("… booked as cost, USD", "booked"),
        ] {
            facts.add(name, Cell::text(usd(member)));
        }
    }
    for problem in found["problems"].as_array().into_iter().flatten().take(20) {
        facts.add("Problem", Cell::text(problem.as_str().unwrap_or_default()));
    }
    Ok(facts)
}

async fn unknown(visit: &Visit<'_>) -> Result<PageTable, PageProblem> {
    let empty = Empty::new(
        "None",
        "Nothing to decide. A request appears here if its provider may have billed it, and the gateway cannot know.",
    );
    let headings = [
        "Request",
        "Account*",
        "Model*",
        "Provider",
        "#Held",
        "Decide with",
    ];
    let mut table = PageTable::new("Requests with an unknown outcome", &headings).empty(empty);
    for hold in visit.ops.operator.unknown().await? {
        let id = text(&hold, "request_id");
        table.push(vec![
            at(&hold["created_at_ms"])
                .link(super::receipt::path_of(id))
                .note(id),
            Cell::text(text(&hold, "account")).link(path_of(text(&hold, "account"))),
            Cell::maybe(hold["model"].as_str()),
            Cell::maybe(hold["provider"].as_str()),
            Cell::text(usd_text(hold["held"].as_str())),
            Cell::code(format!("bardo-gateway reconcile {id} --release")),
        ]);
    }
    Ok(table)
}

async fn found(visit: &Visit<'_>, name: &str) -> Result<AccountId, PageProblem> {
    Ok(visit.ops.operator.account(name).await?)
}

/// The page of an account.
pub(super) async fn show(visit: &Visit<'_>, name: &str) -> PageResult {
    let operator = &visit.ops.operator;
    let account = found(visit, name).await?;
    let name = account.as_str();
    let balance = operator.balance(&account).await?;
    let amount = |member: &str| usd_text(balance[member].as_str());
    let requests = format!("/console/requests?since=30d&account={}", encoded(name));
    let tiles = vec![
        Tile::new("Available", amount("available")).note("for the next requests"),
        Tile::new("Held", amount("held")).note("for open requests"),
        Tile::new("Deposited", amount("deposited")).link("#ledger"),
        Tile::new("Spent", amount("spent")).link(&requests),
    ];
    let keys = operator.list_keys(Some(name)).await?;
    let keys: Vec<&Value> = keys.iter().collect();
    let empty = Empty::new(
        "No key",
        "Nothing can be sent on this account without a key.",
    )
    .link(
        "Create a key",
        format!("/console/keys?new=1&account={}", encoded(name)),
    );
    let shell = visit.shell(name, "accounts");
    Ok(Shown::Html(render(&AccountPage {
        shell: &shell,
        here: path_of(name),
        requests,
        tiles,
        keys: super::keys::table(&keys, empty),
        ledger: ledger(visit, &account).await?,
    })))
}

async fn ledger(visit: &Visit<'_>, account: &AccountId) -> Result<PageTable, PageProblem> {
    let empty = Empty::new(
        "No posting yet",
        "Deposit money above. Each deposit, hold and charge appears here.",
    );
    let path = path_of(account.as_str());
    let mut table = PageTable::new(
        "Postings",
        &["Time", "Kind", "Book*", "#Amount", "Reference"],
    )
    .empty(empty)
    .export("CSV", format!("{path}/ledger.csv"))
    .export("JSON", format!("{path}/ledger.json"));
    for posting in latest(visit, account)
        .await?
        .iter()
        .rev()
        .take(POSTINGS_MAX)
    {
        let reference = posting.reference.as_str();
        let href = match reference.starts_with("req_") {
            true => super::receipt::path_of(reference),
            false => String::new(),
        };
        table.push(vec![
            at(&posting.at_ms.into()),
            Cell::text(posting.kind.as_str()),
            Cell::text(posting.book.as_str()),
            Cell::text(usd(posting.amount)),
            Cell::code(reference).link(href),
        ]);
    }
    Ok(table)
}

/// The latest postings of an account, the oldest of them first. The ledger is read forward, so this
/// looks for the place from which less than a page is left: its time grows with the logarithm of the
/// number of postings.
async fn latest(visit: &Visit<'_>, account: &AccountId) -> Result<Vec<Posting>, PageProblem> {
    let ledger = &visit.ops.operator.ledger;
    let unavailable = |error: StoreError| PageProblem::Unavailable(error.to_string());
    let is_full = |page: &[Posting]| page.len() >= PAGE as usize;
    let read = |after| ledger.postings(account, after, PAGE);
    let mut page = read(0).await.map_err(unavailable)?;
    if !is_full(&page) {
        return Ok(page);
    }
    let (mut low, mut high) = (0, 1_024);
    loop {
        page = read(high).await.map_err(unavailable)?;
        if !is_full(&page) {
            break;
        }
        (low, high) = (high, high.saturating_mul(4));
    }
    while page.len() < POSTINGS_MAX && high - low > 1 {
        let middle = low + (high - low) / 2;
        let found = read(middle).await.map_err(unavailable)?;
        match is_full(&found) {
            true => low = middle,
            false => (high, page) = (middle, found),
        }
    }
    Ok(page)
}

/// The whole ledger of an account as a file.
pub(super) async fn file(visit: &Visit<'_>, name: &str, kind: &str) -> PageResult {
    let account = found(visit, name).await?;
    let postings = visit.ops.operator.postings(&account).await?;
    let columns = ["transfer", "at_ms", "kind", "book", "amount", "reference"];
    Ok(super::export::file("ledger", kind, &columns, postings))
}

/// Books a deposit.
pub(super) async fn deposit(visit: &Visit<'_>, name: &str) -> PageResult {
    let text = visit.form.text("usd");
    let amount = MicroUsd::from_usd(&text).map_err(|_| {
        PageProblem::Invalid(format!(
            "`{text}` is not an amount in USD such as 10 or 2.50"
        ))
    })?;
    let operator = &visit.ops.operator;
    let account = operator.payee(name, Unseen::Refuse).await?;
    let path = path_of(account.as_str());
    let reference = visit.form.get("reference").map(str::to_owned);
    operator.deposit(account, amount, reference).await?;
    Ok(Shown::Redirect(format!("{path}?done=deposited")))
}
