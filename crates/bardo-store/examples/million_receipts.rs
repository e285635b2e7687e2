//! How long searches, charts and lists take over very many receipts on SQLite.
//!
//! `cargo run --release -p bardo-store --example million_receipts -- [COUNT] [DAYS] [FOLDER]` writes
//! receipts in bulk (a million over the last 30 days), rolls them up, and prints a line for each
//! question. With FOLDER the database stays there, so that a gateway with this data folder can show
//! it; else it is temporary. No test runs it, because it takes minutes and gigabytes.

#![allow(clippy::print_stdout, reason = "its figures are for a reader")]

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bardo_ledger::contract::block_on;
use bardo_ledger::series::{ReceiptSearch, Resolution, SeriesDimension, SeriesKeep, SeriesQuery};
use bardo_ledger::{ReceiptFilter, ReceiptSeries};
use bardo_store::sqlite::{OpenMode, SqliteStore};
use bardo_types::ids::{AccountId, KeyId};
use bardo_types::money::MicroUsd;
use rusqlite::{Connection, params};

type Failure = Box<dyn std::error::Error>;

/// Time that searches cover, up to now.
const SPAN_MS: u64 = 30 * 86_400_000;

/// The Unix millisecond at which a span of so many milliseconds begins that ends now.
fn start(span_ms: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_millis());
    u64::try_from(now).unwrap_or(u64::MAX) - span_ms
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = match arguments.next() {
        Some(count) => count.parse()?,
        None => 1_000_000,
    };
    let days: u64 = match arguments.next() {
        Some(days) => days.parse()?,
        None => 30,
    };
    let kept = arguments.next().map(std::path::PathBuf::from);
    let temporary = || std::env::temp_dir().join(format!("receipts-{}", std::process::id()));
    let folder = kept.clone().unwrap_or_else(temporary);
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("bardo.db");
    let done = measure(&file, count, days * 86_400_000);
    if kept.is_none() {
        std::fs::remove_dir_all(&folder)?;
    }
    done
}

fn measure(file: &Path, count: u64, span_ms: u64) -> Result<(), Failure> {
    drop(SqliteStore::open(file, OpenMode::Serve)?);
    let started = Instant::now();
    fill(file, count, span_ms)?;
    println!("{count} receipts written in {:?}", started.elapsed());
    let store = SqliteStore::open(file, OpenMode::Serve)?;
    let (mut steps, mut longest) = (0, Duration::ZERO);
    let started = Instant::now();
    loop {
        let step = Instant::now();
        let rolled = block_on(store.roll_up(SeriesKeep::default(), 1_000))?;
        longest = longest.max(step.elapsed());
        steps += 1;
        if !rolled.has_more {
            break;
        }
    }
    let all = started.elapsed();
    let each = all.as_nanos() / u128::from(count.max(1));
    println!("rolled up in {all:?}: {steps} steps, the longest {longest:?}, {each} ns a receipt");
    searches(&store)?;
    charts(&store)
}

/// Writes receipts as the gateway does, many in one transaction.
fn fill(file: &Path, count: u64, span_ms: u64) -> Result<(), Failure> {
    let first_ms = start(span_ms);
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction()?;
    for account in 1..=50 {
        let sql = "INSERT OR IGNORE INTO accounts (no, id) VALUES (?1, ?2)";
        transaction.execute(sql, params![account, format!("acct_{account}")])?;
    }
    {
        let mut receipt = transaction.prepare(
            "INSERT INTO receipts (account, request, key, at_ms, model, provider, outcome, \
             input_tokens, output_tokens, provider_cost, charge, savings, subsystem, session) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1000, 100, ?8, ?8, 5, ?9, ?10)",
        )?;
        let mut text =
            transaction.prepare("INSERT INTO receipt_texts (no, json) VALUES (?1, ?2)")?;
        for number in 0..count {
            let at_ms = first_ms + number * span_ms / count.max(1);
            let is_rare = number % (count / 3).max(1) == 1;
            let outcome = if is_rare { "unknown" } else { "finished" };
            receipt.execute(params![
                number % 50 + 1,
                format!("req_{number:012}"),
                format!("key{}", number % 200),
                i64::try_from(at_ms)?,
                if is_rare {
                    "rare-model".to_owned()
                } else {
                    format!("model-{}", number % 12)
                },
                format!("backend-{}", number % 5),
                outcome,
                if is_rare { 900_000 } else { 40 },
                format!("part-{}", number % 15),
                format!("session-{}", number / 20),
            ])?;
            let no = transaction.last_insert_rowid();
            text.execute(params![no, json(number, is_rare)])?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// A text of the usual length.
fn json(number: u64, is_rare: bool) -> String {
    let layer = if number.is_multiple_of(4) {
        "hash"
    } else {
        "miss"
    };
    let golem = if is_rare {
        "golem-rare".to_owned()
    } else {
        format!("golem-{}", number % 40)
    };
    let filler = "x".repeat(800);
    format!(
        r#"{{"request_id":"req_{number:012}","attempts":[{{"provider":"backend","model":"m","outcome":"answered","class":null,"status":null,"ms":12}}],"usage":{{"input_tokens":1000,"reasoning_tokens":7}},"cost":{{"mode":"prepaid","spread":"0.000004","charge":"0.000044"}},"cache":"{layer}","degraded":["{filler}"],"routing":{{"golem_id":"{golem}","phase":"stable","vitality":0.5}},"timings_ms":{{"first_content":{},"total":{}}}}}"#,
        number % 900,
        number % 3_000
    )
}

fn searches(store: &SqliteStore) -> Result<(), Failure> {
    let first_ms = start(SPAN_MS);
    let all = || ReceiptSearch {
        filter: ReceiptFilter::between(first_ms, first_ms + SPAN_MS),
        limit: 100,
        ..ReceiptSearch::default()
    };
    type Change = fn(&mut ReceiptSearch);
    let cases: [(&str, Change); 16] = [
        ("no filter", |_| {}),
        ("account", |search| {
            search.filter.account = AccountId::parse("acct_7").ok()
        }),
        ("key", |search| {
            search.filter.key = KeyId::parse("key7").ok()
        }),
        ("model", |search| {
            search.filter.model = Some("model-3".to_owned())
        }),
        ("rare model", |search| {
            search.filter.model = Some("rare-model".to_owned())
        }),
        ("backend", |search| {
            search.filter.backend = Some("backend-2".to_owned())
        }),
        ("subsystem", |search| {
            search.filter.subsystem = Some("part-4".to_owned())
        }),
        ("old session", |search| {
            search.filter.session = Some("session-3".to_owned())
        }),
        ("outcome, rare", |search| {
            search.filter.outcome = Some("unknown".to_owned())
        }),
        ("golem", |search| search.golem = Some("golem-9".to_owned())),
        ("rare golem", |search| {
            search.golem = Some("golem-rare".to_owned())
        }),
        ("cache layer", |search| {
            search.layer = Some("hash".to_owned())
        }),
        ("min cost, rare", |search| {
            search.min_cost = Some(MicroUsd::new(500_000))
        }),
        ("request, whole id", |search| {
            search.request_prefix = Some("req_000000000123".to_owned());
        }),
        ("request, half of all", |search| {
            search.request_prefix = Some("req_".to_owned())
        }),
        ("first hour, by key", |search| {
            search.filter.to_ms = search.filter.from_ms + 3_600_000;
            search.filter.key = KeyId::parse("key7").ok();
        }),
    ];
    for (what, change) in cases {
        let mut search = all();
        change(&mut search);
        let started = Instant::now();
        let page = block_on(store.search(search))?;
        let took = started.elapsed();
        println!("search, {what}: {took:?}, {} receipts", page.records.len());
    }
    Ok(())
}

fn charts(store: &SqliteStore) -> Result<(), Failure> {
    for (what, resolution, dimension, days) in [
        (
            "30 days per hour, total",
            Resolution::Hour,
            SeriesDimension::Total,
            30,
        ),
        (
            "30 days per hour, by model",
            Resolution::Hour,
            SeriesDimension::Model,
            30,
        ),
        (
            "30 days per hour, by session",
            Resolution::Hour,
            SeriesDimension::Session,
            30,
        ),
        (
            "30 days per day, by key",
            Resolution::Day,
            SeriesDimension::Key,
            30,
        ),
        (
            "a day per minute, by golem",
            Resolution::Minute,
            SeriesDimension::Golem,
            1,
        ),
    ] {
        let query = SeriesQuery {
            resolution,
            from_ms: start(SPAN_MS),
            to_ms: start(SPAN_MS) + days * 86_400_000,
            account: None,
            dimension,
            only: None,
            summed: false,
        };
        let started = Instant::now();
        let rows = block_on(store.series(query))?;
        println!(
            "chart, {what}: {:?}, {} rows",
            started.elapsed(),
            rows.len()
        );
    }
    let started = Instant::now();
    let accounts = block_on(store.accounts(None, 100))?;
    println!("accounts: {:?}, {} rows", started.elapsed(), accounts.len());
    let started = Instant::now();
    let golems = block_on(store.golems(0, 1_000))?;
    println!("golems: {:?}, {} rows", started.elapsed(), golems.len());
    Ok(())
}
