//! `bardo-gateway serve`: from the command line to a running gateway, and down again.

mod handler;
mod logging;
mod runtime;
mod signals;
pub(crate) mod start;
mod start_only;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use bardo_engine::Engine;
use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use bardo_types::clock::{Clock as _, SystemClock};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot, watch};

use self::handler::{edge, policy};
use self::logging::start_logging;
pub(crate) use self::runtime::{ThreadRuntime, runtime};
use self::signals::{Signals, quit};
use self::start::{Announced, Listeners, announce, load};
pub(crate) use self::start::{known_clients, no_provider};
use self::start_only::StartOnly;
use crate::assemble::{self, AssembledBackend, LiveLists};
use crate::auth::StoredKeys;
use crate::cli::{CliFailure, ServeArgs, environment};
use crate::config::{self, Config, Loaded};
use crate::console::Console;
use crate::edge::Edge;
use crate::export::Pumps;
use crate::ops::{Ops, Status};
use crate::refresh::{self, Fetched};
use crate::server::{self, StopPhase};
use crate::sink;
use crate::stores::ProcessStores;
use crate::{
    bankr, cache_secret, funds, last_lists, notify, ops, peers, probe, sale, simulation, stores,
    upkeep,
};

/// A start waits this long for the prices of backends that callers are charged for.
const FIRST_PRICES: Duration = Duration::from_millis(200);
/// The time limit for settling open requests at the end of the process.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for settling open requests after a second stop signal.
const SETTLE_TIMEOUT_FORCED: Duration = Duration::from_secs(3);
/// The time limit for background tasks after all requests have ended.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(50);

/// The state that stays the same for the life of the process.
struct ProcessState {
    edge: Arc<Edge>,
    /// The keys of the store, if there is one.
    stored: StoredKeys,
    status: Arc<ArcSwap<Status>>,
    catalog: Arc<Catalog>,
    transport: Transport,
    /// The data folder.
    folder: PathBuf,
    args_config: Option<PathBuf>,
    sandbox: bool,
    /// The settings that a reload does not change.
    started: StartOnly,
}

/// Runs until a signal ends it.
pub(crate) fn run(args: &ServeArgs) -> Result<(), CliFailure> {
    start_logging(args.sandbox);
    serve(args, None, |announced| {
        announce(args, announced);
        notify::tell(notify::ProcessStep::Ready);
    })
}

/// Runs beside something else in this process, in silence, until `quit` or a signal ends it. `ready`
/// gets the addresses for clients and operators, and the sandbox's key.
pub(crate) fn run_beside(
    args: &ServeArgs,
    quit: oneshot::Receiver<()>,
    ready: impl FnOnce(SocketAddr, SocketAddr, &str),
) -> Result<(), CliFailure> {
    serve(args, Some(quit), |announced| {
        let key = announced.key.unwrap_or_default();
        ready(announced.listen, announced.admin_listen, key);
    })
}

fn serve(
    args: &ServeArgs,
    quit: Option<oneshot::Receiver<()>>,
    announce: impl FnOnce(&Announced<'_>),
) -> Result<(), CliFailure> {
    if args.sandbox {
        stores::refuse_real_store(&args.common)?;
    }
    let mut loaded = load(args)?;
    let started = StartOnly::of(&loaded);
    let listeners = Listeners::bind(&loaded)?;
    let transport = Transport::new(loaded.config.upstream.connect_timeout.0);
    let catalog = Arc::new(Catalog::embedded());
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    assemble::tell_notices(&loaded.config, args.sandbox);
    assemble::names::tell_misspelt(&loaded.config, &backends, &catalog);
    let (folder, stores) = stores::for_server(args, &loaded.config.store)?;
    cache_secret::complete(&mut loaded.config, folder.path());
    let stored = StoredKeys::over(Arc::clone(&stores.keys));
    let key = match args.sandbox {
        true => Some(simulation::fund(
            &stores.operator(),
            &stored,
            folder.path(),
        )?),
        false => None,
    };
    // A store that does not answer yet accepts no key either.
    let has_keys = || Ok(runtime()?.block_on(stored.exist()).unwrap_or(true));
    known_clients(&loaded.config, has_keys)?;
    let lists = LiveLists::new();
    let (config, sandbox) = (&loaded.config, args.sandbox);
    let snapshot = assemble::snapshot(config, &backends, &catalog, &lists, sandbox);
    let world = (snapshot, folder.path());
    let edge = edge(&loaded, &stores, &stored, world, &transport)
        .map_err(|reason| loaded.refuse(&reason))?;
    let unpriced = assemble::unpriced(&edge.engine.snapshot());
    edge.metrics.unpriced_models(unpriced);
    let Listeners {
        data,
        admin,
        listen,
        admin_listen,
    } = listeners;
    let (stop, stopping) = watch::channel(StopPhase::No);
    let server = &loaded.config.server;
    let console = Console::new(server, listen, key.as_deref());
    let (workers, patience) = (workers(server.workers), server.read_timeout.0);
    let threads = server::run(&edge, data, workers, patience, &stopping);
    // The workers' receivers alone tell when the last of them is done.
    drop(stopping);
    let running = ProcessState {
        edge,
        stored,
        status: Arc::new(ArcSwap::from_pointee(Status::of(&loaded))),
        catalog,
        transport,
        folder: folder.path().to_owned(),
        args_config: args.common.config.clone(),
        sandbox: args.sandbox,
        started,
    };
    let runtime = runtime()?;
    running.start_sale(&runtime, &loaded, &stores)?;
    let engine = Arc::clone(&running.edge.engine);
    engine.start_settler(runtime.handle());
    peers::start(&engine, &running.edge.bus, runtime.handle());
    bankr::store_seeds(&engine, folder.path());
    let world = (&loaded.config, &engine, &running.transport);
    funds::start(&runtime, world, stores.operator());
    let pumps = Pumps::start(&running.edge, &running.transport, runtime.handle());
    let patience = runtime.block_on(async {
        let (config, transport) = (&loaded.config, &running.transport);
        upkeep::start(&stores, &engine, folder.path(), config, transport, listen)?;
        let admin = tokio::net::TcpListener::from_std(admin).map_err(|error| error.to_string())?;
        let (edge, server) = (&running.edge, &loaded.config.server);
        let ops = Ops::new(edge, &running.status, stores.operator(), server, console);
        tokio::spawn(ops::serve(admin, Arc::new(ops)));
        // Before the process says that it is ready, for signals too.
        let signals = Signals::watch(quit)?;
        let announced = Announced {
            listen,
            admin_listen,
            key: key.as_deref(),
            folder: folder.path(),
        };
        let ready = || announce(&announced);
        running
            .attend(loaded, backends, &stop, signals, ready)
            .await
    })?;
    for thread in threads {
        let _ = thread.join();
    }
    end(runtime, &engine, pumps, patience);
    Ok(())
}

/// Ends the process after its last request: settles all money that requests left behind, and drops
/// background counts.
fn end(runtime: ThreadRuntime, engine: &Engine, pumps: Pumps, patience: Duration) {
    let settled = async { tokio::time::timeout(patience, engine.drain_settler()).await };
    if runtime.block_on(settled).is_err() {
        tracing::error!("not all requests are settled; their holds stay until they expire");
    }
    runtime.block_on(pumps.finish());
    runtime.shut_down(RUNTIME_SHUTDOWN_TIMEOUT);
    tracing::info!("stopped");
}

/// The number of worker threads; 0 in the configuration: one for each core.
fn workers(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        workers => workers,
    }
}

fn hash(loaded: &Loaded) -> String {
    let digest = Sha256::digest(loaded.layers.merged().to_string().as_bytes());
    digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Status {
    fn of(loaded: &Loaded) -> Self {
        Self {
            config_file: loaded.file.as_ref().map(|file| file.display().to_string()),
            config_hash: hash(loaded),
            settings: Arc::new(loaded.layers.effective()),
            loaded_at_ms: SystemClock.now_ms(),
            ..Self::default()
        }
    }
}

/// When the config file was last written, as far as the file system tells.
fn written(loaded: &Loaded) -> Option<SystemTime> {
    std::fs::metadata(loaded.file.as_ref()?)
        .and_then(|data| data.modified())
        .ok()
}

impl ProcessState {
    /// Starts to settle payments, on a chain that is the right one.
    fn start_sale(
        &self,
        runtime: &ThreadRuntime,
        loaded: &Loaded,
        stores: &ProcessStores,
    ) -> Result<(), CliFailure> {
        let Some(sale) = &self.edge.sale else {
            return Ok(());
        };
        let checked = runtime.block_on(sale.check_chain());
        checked.map_err(|reason| loaded.refuse(&reason))?;
        let ledger = Arc::clone(&stores.ledger);
        runtime.spawn(sale::keep_settling(Arc::clone(sale), ledger));
        Ok(())
    }

    /// Everything beside serving: lists, reloads, signals. Calls `ready` once. Returns when the
    /// process has to end, with `stop` set, and how long to wait for the store.
    async fn attend(
        &self,
        mut loaded: Loaded,
        mut backends: Vec<AssembledBackend>,
        stop: &watch::Sender<StopPhase>,
        mut signals: Signals,
        ready: impl FnOnce(),
    ) -> Result<Duration, CliFailure> {
        let mut lists = LiveLists::new();
        let (fetched, mut arriving) = mpsc::channel(16);
        let mut generation = 0;
        let mut next_refresh = tokio::time::Instant::now();
        if loaded.config.catalog.live {
            lists = last_lists::load(&self.folder, &backends, &self.catalog);
            self.refresh(&backends, generation, &fetched);
            next_refresh += loaded.config.catalog.refresh.0;
            self.first_prices(&backends, &mut lists, &mut arriving)
                .await;
            self.rebuild(&loaded.config, &backends, &lists);
        }
        ready();
        let every = watch::Sender::new(loaded.config.upstream.probe_every.0);
        // Simulated providers are always there, and their journal is for callers' requests.
        if !self.sandbox {
            let (engine, transport) = (Arc::clone(&self.edge.engine), self.transport.clone());
            tokio::spawn(probe::run(engine, transport, every.subscribe()));
        }
        let mut changed = written(&loaded);
        let mut look = tokio::time::interval(Duration::from_secs(2));
        loop {
            let reload = tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                () = quit(&mut signals.quit) => break,
                _ = signals.hangup.recv() => true,
                _ = look.tick() => {
                    let now = written(&loaded);
                    std::mem::replace(&mut changed, now) != now
                }
                () = refresh::due(next_refresh), if loaded.config.catalog.live => {
                    self.refresh(&backends, generation, &fetched);
                    next_refresh = tokio::time::Instant::now() + loaded.config.catalog.refresh.0;
                    false
                }
                () = self.edge.refresh_lists.notified() => {
                    next_refresh = tokio::time::Instant::now();
                    false
                }
                Some(fetched) = arriving.recv() => {
                    // A list of an earlier configuration is outdated.
                    if fetched.generation == generation {
                        self.take_list(fetched, &mut lists);
                        self.rebuild(&loaded.config, &backends, &lists);
                    }
                    false
                }
            };
            if reload && !self.sandbox {
                notify::tell(notify::ProcessStep::Reloading);
                match self.reload(&loaded) {
                    Ok((newer, newer_backends)) => {
                        (loaded, backends) = (newer, newer_backends);
                        generation += 1;
                        lists.retain(|name, _| {
                            backends
                                .iter()
                                .any(|backend| backend.endpoint.name == *name)
                        });
                        self.rebuild(&loaded.config, &backends, &lists);
                        next_refresh = tokio::time::Instant::now();
                        every.send_replace(loaded.config.upstream.probe_every.0);
                        tracing::info!(hash = hash(&loaded), "configuration reloaded");
                    }
                    Err(reason) => {
                        tracing::error!(%reason, "cannot reload the configuration; the last valid one stays in force")
                    }
                }
                notify::tell(notify::ProcessStep::Ready);
            }
        }
        let drain = loaded.config.server.drain.0;
        Ok(self.drain(drain, stop, &mut signals).await)
    }

    /// Waits for open requests, a second signal or `drain`. Returns the time to wait for the store.
    async fn drain(
        &self,
        drain: Duration,
        stop: &watch::Sender<StopPhase>,
        signals: &mut Signals,
    ) -> Duration {
        notify::tell(notify::ProcessStep::Stopping(drain));
        self.edge.draining.store(true, Ordering::Relaxed);
        self.edge.engine.stop_keepalive();
        self.edge.bus.close();
        self.edge.venice.close();
        let _ = stop.send(StopPhase::Drain);
        tracing::info!("draining: open requests finish first; a second signal stops at once");
        let patience = tokio::select! {
            () = stop.closed() => SETTLE_TIMEOUT,
            () = signals.stop() => SETTLE_TIMEOUT_FORCED,
            () = tokio::time::sleep(drain) => {
                tracing::warn!("`server.drain` has passed; closing open requests");
                SETTLE_TIMEOUT
            }
        };
        sink::note_stop();
        let _ = stop.send(StopPhase::Now);
        self.edge.engine.delete_stored_prefixes().await;
        patience
    }

    /// Waits a little for the lists of backends that callers are charged for: without their prices
    /// requests would be refused for good that are fine a moment later.
    async fn first_prices(
        &self,
        backends: &[AssembledBackend],
        lists: &mut LiveLists,
        arriving: &mut mpsc::Receiver<Fetched>,
    ) {
        let is_awaited = |backend: &&AssembledBackend| !backend.closed && !backend.endpoint.direct;
        let mut awaited: Vec<&str> = backends
            .iter()
            .filter(is_awaited)
            .map(|backend| backend.endpoint.name.as_str())
            .collect();
        // Simulated providers surely answer, however busy the machine is.
        let patience = FIRST_PRICES * if self.sandbox { 25 } else { 1 };
        let end = tokio::time::Instant::now() + patience;
        while !awaited.is_empty() {
            let Ok(Some(fetched)) = tokio::time::timeout_at(end, arriving.recv()).await else {
                tracing::info!(backends = ?awaited, "no price list is loaded yet; models without a price are refused");
                return;
            };
            awaited.retain(|name| *name != fetched.name);
            self.take_list(fetched, lists);
        }
    }

    /// Asks every backend for its list, each on its own, so that none holds up another or a signal.
    fn refresh(&self, backends: &[AssembledBackend], generation: u64, to: &mpsc::Sender<Fetched>) {
        for backend in backends.iter().filter(|backend| !backend.closed) {
            let (transport, catalog) = (self.transport.clone(), Arc::clone(&self.catalog));
            let (endpoint, to) = (Arc::clone(&backend.endpoint), to.clone());
            let folder = self.folder.clone();
            tokio::spawn(async move {
                let fetched = Fetched {
                    generation,
                    name: endpoint.name.clone(),
                    list: refresh::fetch(&transport, &endpoint, &catalog, folder).await,
                };
                // The receiver is dropped when the process ends.
                let _ = to.send(fetched).await;
            });
        }
    }

    fn take_list(&self, fetched: Fetched, lists: &mut LiveLists) {
        let Fetched { name, list, .. } = fetched;
        match &list {
            Ok(list) => refresh::tell(&self.edge.metrics, &name, list),
            Err(reason) => reason.log(&name),
        }
        let mut status = Status::clone(&self.status.load());
        let told = list.as_ref().map(|list| list.models.len());
        let told = told.map_err(ToString::to_string);
        match status.lists.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = told,
            None => status.lists.push((name.clone(), told)),
        }
        self.status.store(Arc::new(status));
        if let Ok(list) = list {
            lists.insert(name, list.models);
        }
    }

    fn rebuild(&self, config: &Config, backends: &[AssembledBackend], lists: &LiveLists) {
        let mut snapshot = assemble::snapshot(config, backends, &self.catalog, lists, self.sandbox);
        snapshot.wallet = self.edge.engine.snapshot().wallet.clone();
        self.edge
            .metrics
            .unpriced_models(assemble::unpriced(&snapshot));
        self.edge.engine.swap_world(snapshot);
    }

    /// Reads the configuration again. The listeners stay as they are.
    fn reload(&self, old: &Loaded) -> Result<(Loaded, Vec<AssembledBackend>), String> {
        let read = || {
            let mut newer = config::load(self.args_config.as_deref(), &environment())
                .map_err(|error| error.to_string())?;
            newer.config.server.listen = old.config.server.listen;
            newer.config.server.admin_listen = old.config.server.admin_listen;
            newer.config.check()?;
            cache_secret::complete(&mut newer.config, &self.folder);
            if !newer.config.has_providers() {
                return Err("no provider is configured".to_owned());
            }
            let backends =
                assemble::backends(&newer.config).map_err(|reason| newer.refuse(&reason).0)?;
            let policy = policy(&newer.config, self.stored.clone(), &self.transport)
                .map_err(|reason| newer.refuse(&reason).0)?;
            Ok((newer, backends, policy))
        };
        let mut status = Status::clone(&self.status.load());
        let outcome = read();
        match &outcome {
            Ok((newer, ..)) => {
                let read = Status::of(newer);
                (status.config_hash, status.settings) = (read.config_hash, read.settings);
                status.loaded_at_ms = read.loaded_at_ms;
                status.reload_error = None;
                status.restart_required = self.started.changed(newer);
            }
            Err(reason) => status.reload_error = Some(reason.clone()),
        }
        self.status.store(Arc::new(status));
        let (newer, backends, policy) = outcome?;
        for setting in self.started.changed(&newer) {
            tracing::warn!(
                "`{setting}` changed and is read only at the start: the old value stays in force until a restart"
            );
        }
        assemble::tell_notices(&newer.config, self.sandbox);
        assemble::names::tell_misspelt(&newer.config, &backends, &self.catalog);
        self.edge.policy.store(Arc::new(policy));
        Ok((newer, backends))
    }
}
