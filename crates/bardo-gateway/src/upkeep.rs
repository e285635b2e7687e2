//! Regular work on the store: release expired holds, delete old receipts, notice changes of other
//! processes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bardo_engine::Engine;
use bardo_providers::transport::Transport;
use bardo_types::clock::{Clock as _, SystemClock};
use tokio::time::MissedTickBehavior;

use crate::alerts;
use crate::caches::EvidenceFile;
use crate::config::Config;
use crate::control::Control;
use crate::series;
use crate::stores::{ProcessStores, tell_unavailable};

/// How often expired holds are released.
const EXPIRE: Duration = Duration::from_secs(5);
/// How often expired answers are removed.
const SWEEP: Duration = Duration::from_secs(30);
/// How often flushes of other gateways are looked for.
const FOLLOW: Duration = Duration::from_secs(1);
/// How often the first contact with other gateways is tried: no answer is shared before it.
const MEET: Duration = Duration::from_millis(50);
/// How often keepalive calls that are due are made.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// How often old receipts are deleted.
const PRUNE: Duration = Duration::from_secs(3_600);
/// How long a claim outlives its expired payment.
const KEEP_CLAIMS: Duration = Duration::from_secs(7 * 86_400);

/// Looks after the stores, and watches for alerts, for as long as the process runs. `listen` is
/// where it takes requests.
///
/// # Errors
/// What is wrong with the settings of alerts.
pub(crate) fn start(
    stores: &ProcessStores,
    engine: &Arc<Engine>,
    folder: &Path,
    config: &Config,
    transport: &Transport,
    listen: SocketAddr,
) -> Result<(), String> {
    let keep_receipts = config.store.keep_receipts.0;
    let evidence = EvidenceFile::restore(engine.cache(), folder);
    tokio::spawn(sweep(Arc::clone(engine), evidence));
    if engine.cache().second().is_some() {
        tokio::spawn(follow_flushes(Arc::clone(engine)));
    }
    tokio::spawn(keep_warm(Arc::clone(engine)));
    tokio::spawn(expire(stores.clone()));
    tokio::spawn(prune(stores.clone(), keep_receipts));
    tokio::spawn(series::keep_up(Arc::clone(&stores.ledger), stores.series));
    // Several gateways on one Postgres have a folder each, or share the socket of the last.
    match Control::bind(folder) {
        Ok(control) => {
            let (store, engine) = (stores.sqlite.clone(), Arc::clone(engine));
            tokio::spawn(control.serve(store, engine, stores.operator(), listen));
        }
        // Changes of other processes are then noticed a moment later.
        Err(error) => tracing::debug!(%error, "no control socket"),
    }
    alerts::start(&config.alerts, stores.operator(), engine, transport)
}

/// Removes stored answers that have expired, which only take room, and writes the evidence of audits:
/// also at once when a domain begins or ceases to serve, and when the process ends.
async fn sweep(engine: Arc<Engine>, evidence: EvidenceFile) {
    let mut kept = KeptEvidence { engine, evidence };
    let mut tick = tokio::time::interval(SWEEP);
    loop {
        // Both may be dropped: a tick comes later, and a notice stays until it is taken.
        tokio::select! {
            _ = tick.tick() => {
                kept.engine.cache().store().sweep(SystemClock.now_ms());
            }
            () = kept.engine.cache().meaning().domain_changed() => {}
        }
        kept.evidence.store(kept.engine.cache());
    }
}

/// Evidence that is written when it is dropped.
struct KeptEvidence {
    engine: Arc<Engine>,
    evidence: EvidenceFile,
}

impl Drop for KeptEvidence {
    fn drop(&mut self) {
        self.evidence.store(self.engine.cache());
    }
}

/// Removes the stored answers that other gateways removed.
async fn follow_flushes(engine: Arc<Engine>) {
    meet(&engine).await;
    let mut tick = tokio::time::interval(FOLLOW);
    loop {
        tick.tick().await;
        // The level behind has told that it is unavailable.
        let _ = engine.follow_flushes().await;
    }
}

/// Makes the first contact with the level behind as soon as it is there.
async fn meet(engine: &Engine) {
    let Some(level) = engine.cache().second() else {
        return;
    };
    let mut tick = tokio::time::interval(MEET);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // From the first call on, the removals of others count as unknown.
    while engine.follow_flushes().await.is_err() {
        tick.tick().await;
        while level.mode() != "up" {
            tick.tick().await;
        }
    }
}

/// Makes the keepalive calls that are due.
async fn keep_warm(engine: Arc<Engine>) {
    let mut tick = tokio::time::interval(KEEPALIVE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        engine.keep_warm().await;
    }
}

async fn expire(stores: ProcessStores) {
    let mut tick = tokio::time::interval(EXPIRE);
    // The start has already said that a store was not reached.
    let mut is_away = !stores.reached.load(Ordering::Relaxed);
    loop {
        tick.tick().await;
        let expired = stores.ledger.expire(SystemClock.now_ms()).await;
        match &expired {
            Ok(count) if *count > 0 => tracing::info!(count, "released expired holds"),
            Ok(_) => {}
            // One line for the whole time, not one every few seconds.
            Err(error) if !is_away => tell_unavailable(error),
            Err(error) => tracing::debug!(%error, "cannot release expired holds"),
        }
        if expired.is_ok() {
            stores.reached.store(true, Ordering::Relaxed);
            if is_away {
                tracing::info!("the store answers");
            }
        }
        is_away = expired.is_err();
    }
}

async fn prune(stores: ProcessStores, keep: Duration) {
    let keep_ms = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
    let mut tick = tokio::time::interval(PRUNE);
    loop {
        tick.tick().await;
        let before = SystemClock.now_ms().saturating_sub(keep_ms);
        if let Err(error) = stores.prune(before).await {
            tracing::warn!(%error, "cannot delete old receipts");
        }
        let before_s = (SystemClock.now_ms() / 1_000).saturating_sub(KEEP_CLAIMS.as_secs());
        if let Err(error) = stores.prune_claims(before_s).await {
            tracing::warn!(%error, "cannot delete old claims");
        }
        // Clocks of gateways that share the store differ by less.
        let before_s = (SystemClock.now_ms() / 1_000).saturating_sub(PRUNE.as_secs());
        if let Err(error) = stores.prune_proofs(before_s).await {
            tracing::warn!(%error, "cannot delete old marks of proofs");
        }
    }
}
