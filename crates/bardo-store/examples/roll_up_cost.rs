//! What series cost per receipt: `cargo run --release -p bardo-store --example roll_up_cost`.
//!
//! Requests are reserved and settled at an even rate (5,000 a second, or the first argument), each
//! with a receipt as the gateway writes it, for some seconds (8, or the second argument). Each load
//! runs without steps of rolling up, and then with them. Printed is the processor time per receipt
//! of each thread of the ledger, as the kernel counts it.

#[path = "processor_time/threads.rs"]
mod threads;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bardo_ledger::series::{ReceiptDetails, SeriesKeep};
use bardo_ledger::{Charge, Deposit, End, Ledger, ReceiptRecord, Reserve, Settle};
use bardo_store::sqlite::{OpenMode, SqliteStore};
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::money::MicroUsd;

use threads::processor_time;

type Failure = Box<dyn std::error::Error>;

/// Receipts of a step, and the pauses between steps, as the gateway has them.
const STEP: u32 = 8_192;
const LOOK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(100);
/// Requests begin together, so many times a second.
const BEATS: u64 = 100;

/// The names that receipts have.
#[derive(Clone, Copy)]
enum Names {
    /// One account, no session, no agent: a plain chat.
    Plain,
    /// 50 accounts and agents, and a session for each 20 requests of an agent.
    Many,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (rate, seconds) = (number(5_000)?, number(8)?);
    let mut out = std::io::stdout();
    for (what, names) in [("plain", Names::Plain), ("many names", Names::Many)] {
        let without = measure(names, rate, seconds, false)?;
        let with = measure(names, rate, seconds, true)?;
        writeln!(out, "{what}, {} receipts", rate * seconds)?;
        for (thread, after) in &with {
            let before = without.get(thread).copied().unwrap_or_default();
            if *after >= 0.01 && thread.starts_with("ledger") {
                writeln!(
                    out,
                    "  {thread:<14} {after:6.2} µs per receipt, {before:6.2} without series"
                )?;
            }
        }
    }
    Ok(())
}

/// Microseconds of each thread per receipt.
fn measure(
    names: Names,
    rate: u64,
    seconds: u64,
    is_rolling: bool,
) -> Result<BTreeMap<String, f64>, Failure> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(folder.path().join("ledger.db"), OpenMode::Serve)?;
    let store = Arc::new(store);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()?;
    runtime.block_on(fund(&*store))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let before = processor_time();
    let roller = is_rolling.then(|| {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        runtime.spawn(async move { keep_up(&store, &is_over).await })
    });
    runtime.block_on(load(&store, names, rate, seconds));
    is_over.store(true, Ordering::Release);
    if let Some(roller) = roller {
        runtime.block_on(roller)?;
    }
    runtime.block_on(store.refresh())?;
    let after = processor_time();
    let receipts = (rate * seconds) as f64;
    let each = |(thread, total): (String, Duration)| {
        let spent = total.saturating_sub(before.get(&thread).copied().unwrap_or_default());
        (thread, spent.as_secs_f64() * 1e6 / receipts)
    };
    Ok(after.into_iter().map(each).collect())
}

/// Rolls receipts up as the gateway does, until none waits and no more come.
async fn keep_up(store: &SqliteStore, is_over: &AtomicBool) {
    loop {
        tokio::time::sleep(LOOK).await;
        let is_last = is_over.load(Ordering::Acquire);
        if is_last {
            // All receipts are to be where the steps find them.
            let _ = store.refresh().await;
        }
        loop {
            let now_ms = now_ms();
            let keep = SeriesKeep::last(now_ms, 172_800_000, 34_560_000_000);
            match bardo_ledger::ReceiptSeries::roll_up(store, keep, STEP).await {
                Ok(step) if step.has_more => tokio::time::sleep(PAUSE).await,
                Ok(_) => break,
                Err(error) => {
                    tracing::error!(%error, "a step failed");
                    return;
                }
            }
        }
        if is_last {
            return;
        }
    }
}

async fn fund(store: &dyn Ledger) -> Result<(), Failure> {
    for number in 0..50 {
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

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

async fn load(store: &Arc<SqliteStore>, names: Names, rate: u64, seconds: u64) {
    let mut beat = tokio::time::interval(Duration::from_millis(1_000 / BEATS));
    let each = rate / BEATS;
    for group in 0..seconds * BEATS {
        beat.tick().await;
        let all = (0..each).map(|place| one(&**store, names, group * each + place));
        for done in futures_util::future::join_all(all).await {
            if let Err(error) = done {
                tracing::error!(%error, "a request failed");
            }
        }
    }
}

async fn one(store: &dyn Ledger, names: Names, number: u64) -> Result<(), Failure> {
    let (payer, session, golem) = match names {
        Names::Plain => (0, None, None),
        Names::Many => (
            number % 50,
            Some(format!("session-{}-{}", number % 50, number / 1_000)),
            Some(format!("golem-{}", number % 50)),
        ),
    };
    let account = account(payer)?;
    let request = RequestId::parse(&format!("req_0192f8c7b3a47c1e8f{number:014}"))?;
    let key = Some(KeyId::parse(&format!("k0192f8c7b3a4{payer}"))?);
    let now_ms = now_ms();
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
        session: session.as_deref().map(Into::into),
        json: json(&request, golem.as_deref(), number).into(),
        details: Some(Box::new(details(golem.as_deref(), number))),
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

/// The members of [`json`] that series use, as the gateway hands them over.
fn details(golem: Option<&str>, number: u64) -> ReceiptDetails {
    ReceiptDetails {
        layer: "miss".into(),
        golem: golem.map(Into::into),
        phase: Some("stable"),
        vitality: Some(0.5),
        sustainability: None,
        class: None,
        attempts: 1,
        failed_attempts: 0,
        reasoning_tokens: 7,
        is_prepaid: true,
        spread: MicroUsd::new(1_620),
        shortfall: MicroUsd::ZERO,
        total_ms: number % 3_000,
        first_content_ms: Some(number % 900),
    }
}

/// A text as the gateway writes it.
fn json(request: &RequestId, golem: Option<&str>, number: u64) -> String {
    let golem = golem.map_or("null".to_owned(), |golem| format!("\"{golem}\""));
    format!(
        r#"{{"request_id":"{request}","client_request_id":null,"trace_id":null,"created":"2026-11-20T19:27:27.904Z","created_ms":1795202847904,"status":"finished","dialect":"chat","stream":false,"model_requested":"openrouter/claude-sonnet-4.5","model":"claude-sonnet-4.5","model_answered":"claude-sonnet-4.5","provider":"openrouter","upstream_request_id":null,"session":null,"subsystem":"dream_rem","key":"k0192f8c7b3a4","attempts":[{{"provider":"openrouter","model":"claude-sonnet-4.5","outcome":"answered","class":null,"status":null,"ms":20}}],"usage":{{"input_tokens":1200,"fresh_input_tokens":1200,"cache_read_tokens":0,"cache_write_5m_tokens":0,"cache_write_1h_tokens":0,"output_tokens":300,"reasoning_tokens":7,"audio_input_tokens":null,"audio_output_tokens":null,"web_searches":null,"byok":false,"estimated":false}},"cost":{{"mode":"prepaid","currency":"USD","provider_cost":"0.008100","spread":"0.001620","spread_bps":2000,"charge":"0.009720","shortfall":"0.000000","list_price":"0.008100","savings":"0.000000","balance":"999.999102"}},"cache":"miss","degraded":[],"optimizations":[],"routing":{{"subsystem":"dream_rem","automatic":true,"quality":"medium","cost_sensitivity":0.5,"security_class":"standard","security":"standard","tier":"strong","requested":["citations"],"features":["citations","tools"],"degraded":[],"estimated_cost":"0.020546","warnings":[],"owner_message":null,"profile":null,"schema":null,"golem_id":{golem},"tick":null,"vitality":0.5,"phase":"stable"}},"timings_ms":{{"reserved":0,"sent":0,"head":20,"first_content":{},"total":{}}}}}"#,
        number % 900,
        number % 3_000
    )
}
