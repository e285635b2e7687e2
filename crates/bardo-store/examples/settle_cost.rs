//! What settling a request costs: `cargo run --release -p bardo-store --example settle_cost`.
//!
//! Some callers reserve and settle as fast as they are answered, each settlement with a receipt of
//! a usual size, from some accounts (50, or the first argument). Printed are requests per second
//! and the processor time per request, by thread, as the kernel counts it.

#[path = "processor_time/threads.rs"]
mod threads;

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use bardo_ledger::{Charge, Deposit, End, Ledger, ReceiptRecord, Reserve, Settle};
use bardo_store::sqlite::{OpenMode, SqliteStore};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use threads::processor_time;

/// How many callers there are at once, and how many requests they send in all.
const LOADS: [(u64, u64); 4] = [(1, 5_000), (8, 50_000), (64, 100_000), (512, 200_000)];
const RECEIPT_BYTES: usize = 1_200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    let accounts = std::env::args()
        .nth(1)
        .map_or(Ok(50), |text| text.parse())?;
    for (callers, requests) in LOADS {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("ledger.db");
        let store = Arc::new(SqliteStore::open(&file, OpenMode::Serve)?);
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        runtime.block_on(fund(&*store, accounts))?;
        let before = processor_time();
        let start = Instant::now();
        runtime.block_on(load(&store, accounts, callers, requests));
        let took = start.elapsed();
        // What is in the journal has to go into the database too.
        runtime.block_on(store.refresh())?;
        let after = processor_time();
        let size = fs::metadata(&file)?.len();
        writeln!(
            out,
            "{callers} callers: {:.0} requests/s, {} bytes per request",
            requests as f64 / took.as_secs_f64(),
            size / requests
        )?;
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

async fn fund(store: &dyn Ledger, accounts: u64) -> Result<(), Box<dyn std::error::Error>> {
    for number in 0..accounts {
        store
            .deposit(Deposit {
                account: account(number)?,
                amount: MicroUsd::new(1_000_000_000_000),
                reference: "operator:bench".to_owned(),
                now_ms: 1,
            })
            .await??;
    }
    Ok(())
}

fn account(number: u64) -> Result<AccountId, bardo_types::ids::InvalidId> {
    AccountId::parse(&format!("acct_0192f8c7b3a4{number:04}"))
}

async fn load(store: &Arc<SqliteStore>, accounts: u64, callers: u64, requests: u64) {
    let json: Arc<str> = format!("{{\"pad\":\"{}\"}}", "x".repeat(RECEIPT_BYTES)).into();
    let tasks = (0..callers).map(|caller| {
        let (store, json) = (Arc::clone(store), Arc::clone(&json));
        async move {
            for number in 0..requests / callers {
                if let Err(error) =
                    one(&*store, &json, caller % accounts, number * callers + caller).await
                {
                    tracing::error!(%error, "a request failed");
                }
            }
        }
    });
    futures_util::future::join_all(tasks).await;
}

async fn one(
    store: &dyn Ledger,
    json: &Arc<str>,
    payer: u64,
    number: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let account = account(payer)?;
    let request = RequestId::parse(&format!("req_0192f8c7b3a47c1e8f{number:014}"))?;
    let key = Some(KeyId::parse("k0192f8c7b3a4")?);
    let now_ms = 1_795_190_400_000 + number / 10;
    store
        .reserve(Reserve {
            request: request.clone(),
            account: account.clone(),
            key: key.clone(),
            amount: MicroUsd::new(50_000),
            caps: Vec::new(),
            expires_at_ms: now_ms + 900_000,
            now_ms,
        })
        .await??;
    let record = ReceiptRecord {
        request: request.clone(),
        client_request_id: None,
        account: account.clone(),
        key,
        at_ms: now_ms,
        model: "claude-sonnet-4.5".into(),
        provider: "openrouter".into(),
        outcome: "finished",
        input_tokens: 1_200,
        output_tokens: 300,
        provider_cost: Some(MicroUsd::new(8_100)),
        charge: MicroUsd::new(9_720),
        savings: MicroUsd::ZERO,
        prompt_cache: bardo_ledger::PromptCacheFigures::default(),
        subsystem: Some("dream_rem".into()),
        session: Some("session-1".into()),
        json: Arc::clone(json).into(),
        details: None,
    };
    store
        .settle(Settle {
            account,
            request,
            end: End::Capture(Charge {
                provider: "openrouter".into(),
                provider_cost: MicroUsd::new(8_100),
                spread: MicroUsd::new(1_620),
            }),
            record: Some(record),
            now_ms,
        })
        .await?;
    Ok(())
}
