//! The work that keeps series up to date, beside all requests.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::Ledger;
use bardo_types::clock::{Clock as _, SystemClock};

use super::SeriesSpans;

/// How often new receipts are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// Pause between two steps while receipts wait, so that requests have the processor.
const PAUSE: Duration = Duration::from_millis(100);
/// Pause between two steps while very many wait.
const PAUSE_BEHIND: Duration = Duration::from_millis(25);
/// Number of waiting receipts that counts as very many.
const BEHIND: u64 = 100_000;
/// Receipts of a step at most, so that under load one step takes all of a second: a step writes each
/// row once, however many receipts it adds. Stores take fewer where that is too much at once.
const STEP: u32 = 8_192;

/// Adds receipts to the series for as long as the process runs.
pub(crate) async fn keep_up(ledger: Arc<dyn Ledger>, spans: SeriesSpans) {
    let mut is_failing = false;
    loop {
        tokio::time::sleep(LOOK).await;
        loop {
            let keep = spans.keep(SystemClock.now_ms());
            match ledger.roll_up(keep, STEP).await {
                Ok(step) => {
                    is_failing = false;
                    if !step.has_more {
                        break;
                    }
                    tokio::time::sleep(pause(&*ledger).await).await;
                }
                Err(error) => {
                    // One line for the whole time, not one every second.
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(%error, "cannot add receipts to the series of charts; they are added later");
                    }
                    break;
                }
            }
        }
    }
}

async fn pause(ledger: &dyn Ledger) -> Duration {
    match ledger.lag().await {
        Ok(lag) if lag.waiting > BEHIND => PAUSE_BEHIND,
        _ => PAUSE,
    }
}
