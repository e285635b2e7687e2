//! What the journal is measured against: `cargo run --release -p bardo-store --example
//! group_commit_cost`.
//!
//! The load of `settle_cost`, on SQLite's own write-ahead log alone: one thread takes all requests
//! that wait and writes them in one transaction, and a caller is answered after its commit. Holds
//! are written without waiting, as in the product. Tables and indexes are those of the product,
//! without caps, checks of balances and triggers, so the comparison favors SQLite.

#[path = "processor_time/threads.rs"]
mod threads;

use std::io::Write;
use std::sync::mpsc;
use std::time::Instant;

use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use threads::processor_time;

const LOADS: [(u64, u64); 4] = [(1, 5_000), (8, 50_000), (64, 100_000), (512, 200_000)];
const ACCOUNTS: u64 = 50;
const RECEIPT_BYTES: usize = 1_200;
/// Requests in one transaction at most.
const BATCH: usize = 1_024;

const SCHEMA: &str = "
    PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -8192;
    CREATE TABLE accounts (no INTEGER PRIMARY KEY, spent INTEGER NOT NULL, held INTEGER NOT NULL);
    CREATE TABLE holds (account INTEGER, request TEXT, amount INTEGER, state TEXT,
        created_at_ms INTEGER, expires_at_ms INTEGER, PRIMARY KEY (account, request)) WITHOUT ROWID;
    CREATE TABLE transfers (no INTEGER PRIMARY KEY, at_ms INTEGER, kind TEXT, account INTEGER,
        reference TEXT, counterparty TEXT, customer_amount INTEGER, counterparty_amount INTEGER,
        spread_amount INTEGER, shortfall INTEGER);
    CREATE UNIQUE INDEX transfers_by_reference ON transfers (reference, account, kind);
    CREATE INDEX transfers_by_account ON transfers (no / 4096, account);
    CREATE TABLE receipts (no INTEGER PRIMARY KEY, account INTEGER, request TEXT,
        client_request TEXT, key TEXT, at_ms INTEGER, model TEXT, provider TEXT, outcome TEXT,
        input_tokens INTEGER, output_tokens INTEGER, provider_cost INTEGER, charge INTEGER,
        savings INTEGER);
    CREATE UNIQUE INDEX receipts_by_request ON receipts (request, account);
    CREATE INDEX receipts_by_minute ON receipts (at_ms / 60000, account);
    CREATE TABLE receipt_texts (no INTEGER PRIMARY KEY, json TEXT NOT NULL);";

enum Entry {
    Hold(u64, String),
    Settle(u64, String, oneshot::Sender<()>),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    for (callers, requests) in LOADS {
        let folder = tempfile::tempdir()?;
        let connection = Connection::open(folder.path().join("ledger.db"))?;
        connection.execute_batch(SCHEMA)?;
        for no in 0..ACCOUNTS {
            connection.execute("INSERT INTO accounts VALUES (?1, 0, 0)", [no])?;
        }
        let (queue, waiting) = mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || write(&connection, &waiting))?;
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let (before, start) = (processor_time(), Instant::now());
        runtime.block_on(load(&queue, callers, requests));
        let (took, after) = (start.elapsed(), processor_time());
        drop(queue);
        writer.join().expect("the writer does not panic")?;
        let rate = requests as f64 / took.as_secs_f64();
        writeln!(out, "{callers} callers: {rate:.0} requests/s")?;
        for (thread, total) in after {
            let spent = total.saturating_sub(before.get(&thread).copied().unwrap_or_default());
            let micros = spent.as_secs_f64() * 1e6 / requests as f64;
            if micros >= 0.01 {
                writeln!(out, "  {thread:<14} {micros:6.2} µs per request")?;
            }
        }
    }
    Ok(())
}

async fn load(queue: &mpsc::Sender<Entry>, callers: u64, requests: u64) {
    let tasks = (0..callers).map(|caller| async move {
        for number in 0..requests / callers {
            let request = format!("req_0192f8c7b3a47c1e8f{:014}", number * callers + caller);
            let (done, settled) = oneshot::channel();
            let account = caller % ACCOUNTS;
            let hold = Entry::Hold(account, request.clone());
            let both = [hold, Entry::Settle(account, request, done)];
            let sent = both.into_iter().all(|entry| queue.send(entry).is_ok());
            assert!(sent && settled.await.is_ok(), "the writer ended early");
        }
    });
    futures_util::future::join_all(tasks).await;
}

/// Writes what waits in one transaction, then answers.
fn write(connection: &Connection, waiting: &mpsc::Receiver<Entry>) -> rusqlite::Result<()> {
    let json = format!("{{\"pad\":\"{}\"}}", "x".repeat(RECEIPT_BYTES));
    let mut settled = Vec::new();
    while let Ok(first) = waiting.recv() {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let rest = waiting.try_iter().take(BATCH - 1);
        for entry in std::iter::once(first).chain(rest) {
            match entry {
                Entry::Hold(account, request) => hold(connection, account, &request)?,
                Entry::Settle(account, request, done) => {
                    settle(connection, account, &request, &json)?;
                    settled.push(done);
                }
            }
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        for done in settled.drain(..) {
            let _ = done.send(());
        }
    }
    Ok(())
}

fn hold(connection: &Connection, account: u64, request: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO holds VALUES (?1, ?2, 50000, 'open', ?3, ?3)")?
        .execute(params![account, request, 1_795_190_400_000_i64])?;
    connection
        .prepare_cached("UPDATE accounts SET held = held + 50000 WHERE no = ?1")?
        .execute([account])?;
    Ok(())
}

fn settle(
    connection: &Connection,
    account: u64,
    request: &str,
    json: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM holds WHERE account = ?1 AND request = ?2")?
        .execute(params![account, request])?;
    connection
        .prepare_cached(
            "UPDATE accounts SET held = held - 50000, spent = spent + 9720 WHERE no = ?1",
        )?
        .execute([account])?;
    let at_ms = 1_795_190_400_000_i64;
    connection
        .prepare_cached(
            "INSERT INTO transfers VALUES (NULL, ?1, 'charge', ?2, ?3, 'provider:openrouter', \
            -9720, 8100, 1620, 0)",
        )?
        .execute(params![at_ms, account, request])?;
    connection
        .prepare_cached(
            "INSERT INTO receipts VALUES (NULL, ?1, ?2, NULL, 'k0192f8c7b3a4', ?3, \
            'claude-sonnet-4.5', 'openrouter', 'finished', 1200, 300, 8100, 9720, 0)",
        )?
        .execute(params![account, request, at_ms])?;
    connection
        .prepare_cached("INSERT INTO receipt_texts VALUES (NULL, ?1)")?
        .execute([json])?;
    Ok(())
}
