//! Regular work on the store: release expired holds, delete old receipts, notice changes of other
//! processes.

use std::path::Path;
use std::time::Duration;

use bardo_types::clock::{Clock as _, SystemClock};

use crate::control::Control;
use crate::stores::Stores;

/// How often expired holds are released.
const EXPIRE: Duration = Duration::from_secs(5);
/// How often old receipts are deleted.
const PRUNE: Duration = Duration::from_secs(3_600);

/// Looks after the stores for as long as the process runs.
pub(crate) fn start(stores: &Stores, folder: &Path, keep_receipts: Duration) {
    tokio::spawn(expire(stores.clone()));
    tokio::spawn(prune(stores.clone(), keep_receipts));
    let Some(sqlite) = &stores.sqlite else {
        return;
    };
    match Control::bind(folder) {
        Ok(control) => {
            tokio::spawn(control.serve(std::sync::Arc::clone(sqlite)));
        }
        // Changes of other processes are then noticed a moment later.
        Err(error) => tracing::debug!(%error, "no control socket"),
    }
}

async fn expire(stores: Stores) {
    let mut tick = tokio::time::interval(EXPIRE);
    loop {
        tick.tick().await;
        match stores.ledger.expire(SystemClock.now_ms()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "released expired holds"),
            Err(error) => tracing::warn!(%error, "cannot release expired holds"),
        }
    }
}

async fn prune(stores: Stores, keep: Duration) {
    let keep_ms = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
    let mut tick = tokio::time::interval(PRUNE);
    loop {
        tick.tick().await;
        let before = SystemClock.now_ms().saturating_sub(keep_ms);
        if let Err(error) = stores.prune(before).await {
            tracing::warn!(%error, "cannot delete old receipts");
        }
    }
}
