//! The handler of the data listener, made from the settings.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arc_swap::ArcSwap;
use bardo_engine::{AnswerCache, Engine, Principal, Services, Snapshot};
use bardo_providers::transport::Transport;
use bardo_telemetry::Metrics;
use bardo_types::clock::{Clock as _, SystemClock};

use crate::auth::{Credentials, Gatekeeper, Privy, StaticKeys, StoredKeys};
use crate::body::BodyBudget;
use crate::config::{Config, Loaded};
use crate::cors::Cors;
use crate::edge::{Edge, EdgeLimits, EdgePolicy};
use crate::events::{Bus, OwnerMessages};
use crate::export::Exports;
use crate::sink::Sink;
use crate::stores::ProcessStores;
use crate::venice::VeniceFeed;
use crate::venice::tokens::StreamTokens;
use crate::{caches, sale, stores, wallet};

/// Builds the handler of the data listener.
pub(super) fn edge(
    loaded: &Loaded,
    stores: &ProcessStores,
    stored: &StoredKeys,
    (mut snapshot, folder): (Snapshot, &std::path::Path),
    transport: &Transport,
) -> Result<Arc<Edge>, String> {
    if let Some(wallet) = wallet::open(loaded.config.providers.blockrun.as_ref(), Some(folder))? {
        tracing::info!(
            address = wallet.address(),
            "BlockRun is paid per call by the wallet"
        );
        snapshot.wallet = Some(wallet);
    }
    let sandbox = snapshot.sandbox;
    let policy = policy(&loaded.config, stored.clone(), transport)?;
    let (metrics, bus) = (Arc::new(Metrics::new()), Bus::default());
    let venice = Arc::new(VeniceFeed::new(SystemClock.now_ms()));
    let counters = stores::limits(&loaded.config.limits)?;
    let exports = Exports::open(&loaded.config.telemetry, &metrics)?;
    let cache = AnswerCache::new(
        snapshot.cache.limits,
        caches::sealer,
        stores::shared_answers(&loaded.config.cache)?,
    );
    let sale = sale::open(&loaded.config, stores, transport, sandbox)?;
    let holds: Arc<dyn bardo_ledger::Holds> = match &sale {
        Some((sale, _)) => Arc::clone(&sale.holds) as Arc<dyn bardo_ledger::Holds>,
        None => Arc::<dyn bardo_ledger::Ledger>::clone(&stores.ledger),
    };
    let services = Services {
        ledger: Some(holds),
        limits: Arc::clone(&counters),
        clock: Arc::new(SystemClock),
        sink: Arc::new(Sink {
            exports: exports.clone(),
            metrics: Arc::clone(&metrics),
            bus: bus.clone(),
            venice: Arc::clone(&venice),
            owners: OwnerMessages::default(),
        }),
    };
    crate::vector_store::share(&cache, &loaded.config.cache, transport)?;
    let mut engine = Engine::new(snapshot, transport.clone(), services).with_cache(cache);
    if let Some(shared) = stores::shared_values(&loaded.config.shared)? {
        engine = engine.with_shared(shared);
    }
    let sale = match sale {
        Some((sale, offers)) => {
            engine = engine.with_offers(Box::new(offers));
            Some(Arc::new(sale))
        }
        None => None,
    };
    #[cfg(feature = "embedder")]
    let (engine, embedder) = crate::embedding::share(engine, &loaded.config.cache.semantic);
    Ok(Arc::new(Edge {
        #[cfg(feature = "embedder")]
        embedder,
        bodies: BodyBudget::default(),
        engine: Arc::new(engine),
        policy: ArcSwap::from_pointee(policy),
        draining: AtomicBool::new(false),
        refresh_lists: tokio::sync::Notify::new(),
        store_reached: Arc::clone(&stores.reached),
        operator: stores.operator(),
        counters,
        metrics,
        bus,
        venice,
        stream_tokens: StreamTokens::default(),
        sale,
        exports,
    }))
}

/// Settings of the handler that a reload replaces.
pub(super) fn policy(
    config: &Config,
    stored: StoredKeys,
    transport: &Transport,
) -> Result<EdgePolicy, String> {
    let keys = &config.auth.keys;
    let fixed = keys
        .iter()
        .filter_map(|key| Some((Principal::owner(&key.id).ok()?, &key.key)));
    let privy = config
        .auth
        .privy
        .as_ref()
        .map(|privy| Privy::new(privy, transport.clone(), Instant::now()))
        .transpose()?;
    let credentials = Credentials {
        fixed: StaticKeys::new(fixed),
        stored: Some(stored),
        privy,
        is_loopback: config.server.listen.ip().is_loopback(),
        sells: config.payments.enabled,
        origins: config.server.cors.origins.clone(),
    };
    Ok(EdgePolicy {
        limits: EdgeLimits {
            max_body: config.server.max_body.0,
            max_bodies: config.server.max_bodies.0,
            max_header: config.server.max_header.0,
            read_timeout: config.server.read_timeout.0,
            write_timeout: config.server.write_timeout.0,
            heartbeat: config.server.heartbeat.0,
        },
        cors: Cors::new(&config.server.cors.origins),
        gate: Gatekeeper::new(credentials),
        propagates: config.telemetry.propagate,
    })
}
