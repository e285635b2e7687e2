//! Payments of callers on a chain: sums, the chain, each payment, wallets, debts.

use bardo_console::format::{count, encoded, usd_text};
use bardo_console::pages::{PaymentPage, PaymentsPage};
use bardo_console::parts::{Cell, Empty, FactList, PageTable, Tab, Tile, Tone};
use bardo_console::render;
use bardo_ledger::claims::{ClaimQuery, ClaimRecord, ClaimStage, ClaimTotals, WalletRecord};
use bardo_types::money::MicroUsd;
use serde_json::Value;

use super::visit::{PageProblem, PageResult, Shown, Visit, at};
use crate::operator::payments::{PAYMENT_COLUMNS, PaymentList, payment_filter, payment_row};
use crate::usage::Parameters;

/// Payments on the page, and in a file.
const SHOWN_MAX: u32 = 100;
const FILE_MAX: usize = 100_000;
/// Wallets on the page.
const WALLETS_MAX: u32 = 50;
/// The address of a payment's page.
fn path_of(id: &str) -> String {
    format!("/console/payments/{}", encoded(id))
}

fn usd(amount: MicroUsd) -> String {
    usd_text(Some(amount.text().as_str()))
}

/// The payments that the address asks for.
fn asked(visit: &Visit<'_>, limit: u32) -> Result<ClaimQuery, PageProblem> {
    let given = |name: &'static str| (name, visit.query.get(name).map(str::to_owned));
    let mut filters = Parameters::of(["stage", "wallet", "account"].map(given));
    let query = payment_filter(&mut filters, visit.ops.operator.clock.now_ms())?;
    Ok(ClaimQuery {
        below_no: visit.query.get("below").and_then(|text| text.parse().ok()),
        limit,
        ..query
    })
}

/// Shows the page.
pub(super) async fn list(visit: &Visit<'_>) -> PageResult {
    let operator = &visit.ops.operator;
    let page = operator.payments(asked(visit, SHOWN_MAX)?).await?;
    let totals = operator.payment_totals().await?;
    let wallets = operator.wallets(None, WALLETS_MAX).await?;
    let sale = visit.ops.edge.sale.as_deref();
    let mut facts = FactList::default();
    if let Some(sale) = sale {
        chain(&sale.status(), &mut facts);
    }
    let shell = visit.shell("Payments", "payments");
    Ok(Shown::Html(render(&PaymentsPage {
        shell: &shell,
        is_open: sale.is_some(),
        stages: stages(visit),
        tiles: tiles(&totals),
        facts,
        payments: table(visit, &page),
        wallets: wallet_table(&wallets),
    })))
}

/// What is known of the chain.
fn chain(status: &Value, facts: &mut FactList) {
    facts.add("Network", Cell::maybe(status["network"].as_str()));
    for (label, name) in [
        ("Paid address", "pay_to"),
        ("Settlement account", "settlement_account"),
    ] {
        facts.add(label, Cell::code(status[name].as_str().unwrap_or("–")));
    }
    if let Some(name) = status["facilitator"].as_str() {
        facts.add("Facilitator", Cell::code(name));
    }
    for endpoint in status["endpoints"].as_array().into_iter().flatten() {
        let name = endpoint["name"].as_str().unwrap_or_default();
        let cell = match endpoint["reason"].as_str() {
            None => Cell::badge("in use", Tone::Good).note(name),
            Some(reason) => Cell::badge("set aside", Tone::Bad).note(format!("{name}: {reason}")),
        };
        facts.add("Endpoint", cell);
    }
    if let Some(block) = status["transfers_block"].as_u64() {
        facts.add("Transfers read up to block", Cell::text(block.to_string()));
    }
}

fn stages(visit: &Visit<'_>) -> Vec<Tab> {
    let wanted = visit.query.get("stage").unwrap_or_default();
    let all = [("all", ""), ("debts", "debts")];
    let named = ClaimStage::ALL
        .iter()
        .map(|stage| (stage.as_str(), stage.as_str()));
    let tab = |(label, stage): (&str, &str)| Tab {
        label: label.to_owned(),
        href: match stage {
            "" => "/console/payments".to_owned(),
            stage => format!("/console/payments?stage={stage}"),
        },
        current: stage == wanted,
    };
    all.into_iter().chain(named).map(tab).collect()
}

fn tiles(totals: &ClaimTotals) -> Vec<Tile> {
    let settled = totals.of(ClaimStage::Settled);
    let mut debt = Tile::new("Debts", usd(totals.debt)).link("/console/payments?stage=debts");
    if totals.debt > MicroUsd::ZERO {
        debt = debt.tone(Tone::Bad);
    }
    let note = format!("{} payments", count(settled.count));
    vec![
        Tile::new("Settled", usd(totals.settled)).note(note),
        Tile::new("Booked", usd(totals.booked)),
        Tile::new("Open ceilings", usd(totals.exposure)),
        debt,
        Tile::new("Wallets", count(totals.wallets)),
    ]
}

fn badge(claim: &ClaimRecord) -> Cell {
    let word = claim.stage.as_str();
    match claim.stage {
        ClaimStage::Settled => Cell::badge(word, Tone::Good),
        ClaimStage::Failed if claim.debt() > MicroUsd::ZERO => Cell::badge("debt", Tone::Bad),
        ClaimStage::Failed => Cell::badge(word, Tone::Warn),
        ClaimStage::Owed | ClaimStage::Settling => Cell::badge(word, Tone::Info),
        ClaimStage::Claimed | ClaimStage::Void => Cell::text(word),
    }
}

/// An address as lists show it; its page has it whole.
fn shortened(address: &str) -> String {
    match (
        address.get(..8),
        address.get(address.len().saturating_sub(4)..),
    ) {
        (Some(first), Some(last)) if address.len() > 14 => format!("{first}…{last}"),
        _ => address.to_owned(),
    }
}

fn table(visit: &Visit<'_>, page: &PaymentList) -> PageTable {
    let empty = Empty::new("No payment", "A payment appears here with its request.");
    let headings = [
        "Time", "Payment", "State", "Scheme*", "Wallet*", "#Signed*", "#Charged", "#Settled",
    ];
    let stage = visit.query.text("stage");
    let file = |kind: &str| format!("/console/payments.{kind}?stage={}", encoded(&stage));
    let mut table = PageTable::new("Payments", &headings)
        .empty(empty)
        .export("CSV", file("csv"))
        .export("JSON", file("json"));
    for claim in &page.claims {
        let id = claim.request.as_str();
        let settled = claim.settlement.map(|settlement| usd(settlement.amount));
        let wallet = claim.key.wallet().to_string();
        table.push(vec![
            at(&claim.claimed_at_ms.into()),
            Cell::code(id).link(path_of(id)),
            badge(claim),
            Cell::text(claim.scheme.as_str()),
            Cell::code(shortened(&claim.key.payer.to_string()))
                .link(format!("/console/payments?wallet={}", encoded(&wallet))),
            Cell::text(usd(claim.ceiling)),
            Cell::text(usd(claim.used)),
            Cell::maybe(settled.as_deref()),
        ]);
    }
    if let Some(next) = page.next {
        let wallet = visit.query.text("wallet");
        table.next = format!(
            "/console/payments?stage={}&wallet={}&below={}",
            encoded(&stage),
            encoded(&wallet),
            next
        );
    }
    table
}

fn wallet_table(wallets: &[WalletRecord]) -> PageTable {
    let empty = Empty::new(
        "No wallet yet",
        "A wallet appears here with its first payment.",
    );
    let headings = [
        "Wallet",
        "#Open*",
        "#Open ceilings*",
        "#Payments",
        "#Settled",
        "#Debt",
    ];
    let mut table = PageTable::new("Wallets", &headings).empty(empty);
    for one in wallets {
        let name = one.wallet.to_string();
        let debt = match one.debt {
            MicroUsd::ZERO => Cell::text(usd(one.debt)),
            debt => Cell::badge(usd(debt), Tone::Bad),
        };
        table.push(vec![
            Cell::code(&name).link(format!("/console/payments?wallet={}", encoded(&name))),
            Cell::text(count(one.open)),
            Cell::text(usd(one.exposure)),
            Cell::text(count(one.settlements)),
            Cell::text(usd(one.settled)),
            debt,
        ]);
    }
    table
}

/// The payments as a file.
pub(super) async fn file(visit: &Visit<'_>, kind: &str) -> PageResult {
    let mut query = asked(visit, 1_000)?;
    let mut rows = Vec::new();
    while rows.len() < FILE_MAX {
        let page = visit.ops.operator.payments(query.clone()).await?;
        rows.extend(page.claims.iter().map(payment_row).map(Value::Object));
        query.below_no = page.next;
        if query.below_no.is_none() {
            break;
        }
    }
    Ok(super::export::file(
        "payments",
        kind,
        &PAYMENT_COLUMNS,
        rows,
    ))
}

/// Shows one payment.
pub(super) async fn show(visit: &Visit<'_>, id: &str) -> PageResult {
    let claim = visit.ops.operator.payment(id).await?;
    let mut facts = FactList::default();
    facts.add("State", badge(&claim));
    facts.add("Answer", Cell::text(claim.service.as_str()));
    facts.add("Order", Cell::text(claim.order.as_str()));
    let account = claim.account.as_str();
    facts.add(
        "Account",
        Cell::text(account).link(super::accounts::path_of(account)),
    );
    facts.add("Request", Cell::code(id).link(super::receipt::path_of(id)));
    facts.add("Wallet", Cell::code(claim.key.payer.to_string()));
    facts.add("Nonce", Cell::code(claim.key.nonce.to_string()));
    facts.add("Authorized", at(&claim.claimed_at_ms.into()));
    facts.add("Last change", at(&claim.changed_at_ms.into()));
    facts.add("Expires", at(&(claim.deadline_s * 1_000).into()));
    if let Some(settlement) = claim.settlement {
        facts.add("Settled by", Cell::code(settlement.transaction.to_string()));
        facts.add("Block", Cell::text(settlement.block.to_string()));
    }
    facts.add("Reason", Cell::maybe(claim.reason.as_deref()));
    facts.add("End of the debt", Cell::maybe(claim.debt_end.as_deref()));
    let empty = Empty::new("None", "Nothing was sent to the chain.");
    let mut sent = PageTable::new("Transactions", &["Hash", "#Nonce"]).empty(empty);
    for one in claim.transactions.iter().filter(|one| !one.raw.is_empty()) {
        let nonce = Cell::text(one.sender_nonce.to_string());
        sent.push(vec![Cell::code(one.hash.to_string()), nonce]);
    }
    let amount = |label: &str, amount: Option<MicroUsd>| {
        Tile::new(label, amount.map_or_else(|| "–".to_owned(), usd))
    };
    let shell = visit.shell(&format!("Payment {id}"), "payments");
    Ok(Shown::Html(render(&PaymentPage {
        shell: &shell,
        here: path_of(id),
        tiles: vec![
            amount("Signed", Some(claim.ceiling)),
            amount("Charged", Some(claim.used)),
            amount(
                "Settled",
                claim.settlement.map(|settlement| settlement.amount),
            ),
            amount("Booked", claim.booked),
        ],
        facts,
        transactions: sent,
        is_debt: claim.debt() > MicroUsd::ZERO,
    })))
}

/// Writes a debt off.
pub(super) async fn write_off(visit: &Visit<'_>, id: &str) -> PageResult {
    let reason = visit.form.get("reason");
    let reason = reason.ok_or_else(|| PageProblem::Invalid("Name a reason.".to_owned()))?;
    visit.ops.operator.write_off(id, "console", reason).await?;
    Ok(Shown::Redirect(format!("{}?done=written_off", path_of(id))))
}
