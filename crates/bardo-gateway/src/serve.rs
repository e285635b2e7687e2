//! `bardo-gateway serve`: from the command line to a running gateway, and down again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use bardo_engine::{Engine, Principal, Services};
use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use bardo_types::model::ModelEntry;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::assemble::{self, Backend, LiveLists};
use crate::auth::{Authenticator, OpenLoopback, StaticKeys};
use crate::cli::{ServeArgs, environment, say};
use crate::config::{self, Config, Loaded};
use crate::edge::{Edge, Limits, Policy};
use crate::ops::Status;
use crate::server::{self, Stop};
use crate::sink::LogSink;
use crate::{ops, refresh, simulation};

const NO_PROVIDER: &str = "no provider is configured. Either try it with simulated ones:
  bardo-gateway serve --sandbox
or name a provider, in a file or by a variable such as ANTHROPIC_API_KEY or OPENROUTER_API_KEY:
  bardo-gateway serve --config bardo.yaml      # see README.md, \"Configuration\"";

/// At the end of the process the books get so long to take what is not settled yet.
const SETTLE_WAIT: Duration = Duration::from_secs(10);

/// What stays the same over the process's life.
struct Running {
    edge: Arc<Edge>,
    status: Arc<ArcSwap<Status>>,
    catalog: Arc<Catalog>,
    transport: Transport,
    args_config: Option<PathBuf>,
    sandbox: bool,
}

/// Runs until a signal ends it.
pub(crate) fn run(args: &ServeArgs) -> Result<(), String> {
    start_logging(args.sandbox);
    let mut key = None;
    let mut loaded = if args.sandbox {
        let fresh = fresh_key()?;
        let simulated = simulation::configuration(simulation::start()?, &fresh);
        key = Some(fresh);
        config::embedded("sandbox", simulated)
    } else {
        config::load(args.common.config.as_deref(), &environment())
    }
    .map_err(|error| error.to_string())?;
    if !loaded.config.has_providers() {
        return Err(NO_PROVIDER.into());
    }
    loaded.config.server.listen = args.listen.unwrap_or(loaded.config.server.listen);
    loaded.config.server.admin_listen = args
        .admin_listen
        .unwrap_or(loaded.config.server.admin_listen);
    loaded.config.check()?;
    let server = &loaded.config.server;
    let bind = |address| {
        server::bind(address).map_err(|error| format!("cannot listen on {address}: {error}"))
    };
    let (listener, admin) = (bind(server.listen)?, bind(server.admin_listen)?);
    let address =
        |listener: &std::net::TcpListener| listener.local_addr().map_err(|error| error.to_string());
    let (listen, admin_listen) = (address(&listener)?, address(&admin)?);

    let transport = Transport::new(loaded.config.upstream.connect_timeout.0);
    let catalog = Arc::new(Catalog::embedded());
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let world = assemble::world(
        &loaded.config,
        &backends,
        &catalog,
        &LiveLists::new(),
        args.sandbox,
    );
    let edge = Arc::new(Edge {
        engine: Arc::new(Engine::new(
            world,
            transport.clone(),
            Services::without_money(Arc::new(LogSink)),
        )),
        policy: ArcSwap::from_pointee(policy(&loaded.config)),
        draining: AtomicBool::new(false),
    });
    let (stop, stopping) = watch::channel(Stop::No);
    let workers = match server.workers {
        0 => std::thread::available_parallelism().map_or(2, usize::from),
        workers => workers,
    };
    let threads = server::run(&edge, listener, workers, server.read_timeout.0, &stopping);
    // The workers' receivers alone tell when the last of them is done.
    drop(stopping);
    let status = Status {
        config_file: loaded.file.as_ref().map(|file| file.display().to_string()),
        config_hash: hash(&loaded),
        ..Status::default()
    };
    let running = Running {
        edge,
        status: Arc::new(ArcSwap::from_pointee(status)),
        catalog,
        transport,
        args_config: args.common.config.clone(),
        sandbox: args.sandbox,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let engine = Arc::clone(&running.edge.engine);
    engine.start_settler(runtime.handle());
    runtime.block_on(async {
        let admin = tokio::net::TcpListener::from_std(admin).map_err(|error| error.to_string())?;
        tokio::spawn(ops::serve(
            admin,
            Arc::clone(&running.edge),
            Arc::clone(&running.status),
        ));
        // Before anybody is told that this process is ready for signals too.
        let signals = Signals::watch()?;
        announce(args, listen, admin_listen, key.as_deref());
        running.attend(loaded, backends, &stop, signals).await
    })?;
    for thread in threads {
        let _ = thread.join();
    }
    // Money is never dropped: what callers left behind is settled before the process ends.
    let settled = async { tokio::time::timeout(SETTLE_WAIT, engine.drain_settler()).await };
    if runtime.block_on(settled).is_err() {
        tracing::error!("the books do not answer; what is unsettled is held until it expires");
    }
    Ok(())
}

fn announce(
    args: &ServeArgs,
    listen: std::net::SocketAddr,
    admin: std::net::SocketAddr,
    key: Option<&str>,
) {
    if args.common.json {
        let mut ready = json!({
            "event": "ready",
            "listen": listen.to_string(),
            "admin_listen": admin.to_string(),
            "sandbox": args.sandbox,
        });
        if let Some(key) = key {
            ready["key"] = json!(key);
        }
        say(ready.to_string());
    } else if let Some(key) = key {
        say(simulation::banner(listen, admin, key));
    } else {
        say(format!(
            "serving on http://{listen}, operators on http://{admin}"
        ));
    }
}

fn start_logging(sandbox: bool) {
    // In sandbox mode a newcomer wants to see that a request arrived.
    let usual = if sandbox {
        "info,bardo::requests=debug"
    } else {
        "info"
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let color = std::env::var_os("NO_COLOR").is_none()
        && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .try_init();
}

fn fresh_key() -> Result<String, String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("bardo_sk_sandbox_{secret}"))
}

fn policy(config: &Config) -> Policy {
    let keys = &config.auth.keys;
    let authenticator: Box<dyn Authenticator> = if keys.is_empty() {
        tracing::info!("no keys are configured: everybody on this machine may call");
        Box::new(OpenLoopback)
    } else {
        Box::new(StaticKeys::new(keys.iter().filter_map(|key| {
            Some((Principal::owner(&key.id).ok()?, &key.key))
        })))
    };
    Policy {
        limits: Limits {
            max_body: config.server.max_body.0,
            max_header: config.server.max_header.0,
            read_timeout: config.server.read_timeout.0,
            heartbeat: config.server.heartbeat.0,
        },
        authenticators: vec![authenticator],
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

/// When the config file was last written, as far as the file system tells.
fn written(loaded: &Loaded) -> Option<SystemTime> {
    std::fs::metadata(loaded.file.as_ref()?)
        .and_then(|data| data.modified())
        .ok()
}

/// The signals that an operator sends.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn watch() -> Result<Self, String> {
        let watch_for = |kind| signal(kind).map_err(|error| error.to_string());
        Ok(Self {
            terminate: watch_for(SignalKind::terminate())?,
            interrupt: watch_for(SignalKind::interrupt())?,
            hangup: watch_for(SignalKind::hangup())?,
        })
    }

    /// Waits until it is time to go. Loses nothing when dropped.
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// A backend's list of models, as fetched for the backends of one configuration.
struct Fetched {
    generation: u64,
    name: String,
    list: Result<Vec<ModelEntry>, String>,
}

impl Running {
    /// Everything that goes on beside serving: lists, reloads, signals. Returns when it is time to
    /// go, with `stop` set.
    async fn attend(
        &self,
        mut loaded: Loaded,
        mut backends: Vec<Backend>,
        stop: &watch::Sender<Stop>,
        mut signals: Signals,
    ) -> Result<(), String> {
        let mut lists = LiveLists::new();
        let (fetched, mut arriving) = mpsc::channel(16);
        let mut generation = 0;
        let mut next_refresh = tokio::time::Instant::now();
        let mut changed = written(&loaded);
        let mut look = tokio::time::interval(Duration::from_secs(2));
        loop {
            let reload = tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                _ = signals.hangup.recv() => true,
                _ = look.tick() => {
                    let now = written(&loaded);
                    std::mem::replace(&mut changed, now) != now
                }
                () = tokio::time::sleep_until(next_refresh), if loaded.config.catalog.live => {
                    self.refresh(&backends, generation, &fetched);
                    next_refresh = tokio::time::Instant::now() + loaded.config.catalog.refresh.0;
                    false
                }
                Some(fetched) = arriving.recv() => {
                    // A list of a backend that has since been configured anew tells nothing.
                    if fetched.generation == generation {
                        self.take_list(fetched, &mut lists);
                        self.rebuild(&loaded.config, &backends, &lists);
                    }
                    false
                }
            };
            if reload && !self.sandbox {
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
                        tracing::info!(hash = hash(&loaded), "configuration reloaded");
                    }
                    Err(reason) => {
                        tracing::error!(%reason, "configuration not reloaded; the last good one stays")
                    }
                }
            }
        }
        self.edge.draining.store(true, Ordering::Relaxed);
        let _ = stop.send(Stop::Drain);
        tracing::info!("draining; a second signal ends at once");
        tokio::select! {
            () = stop.closed() => {}
            () = signals.stop() => {}
            () = tokio::time::sleep(loaded.config.server.drain.0) => tracing::warn!("the drain limit is over"),
        }
        let _ = stop.send(Stop::Now);
        Ok(())
    }

    /// Asks every backend for its list, each on its own, so that none holds up another or a signal.
    fn refresh(&self, backends: &[Backend], generation: u64, to: &mpsc::Sender<Fetched>) {
        for backend in backends.iter().filter(|backend| !backend.closed) {
            let (transport, catalog) = (self.transport.clone(), Arc::clone(&self.catalog));
            let (endpoint, to) = (Arc::clone(&backend.endpoint), to.clone());
            tokio::spawn(async move {
                let fetched = Fetched {
                    generation,
                    name: endpoint.name.clone(),
                    list: refresh::fetch(&transport, &endpoint, &catalog).await,
                };
                // Nobody waits for it any more when the process is about to end.
                let _ = to.send(fetched).await;
            });
        }
    }

    fn take_list(&self, fetched: Fetched, lists: &mut LiveLists) {
        let Fetched { name, list, .. } = fetched;
        match &list {
            Ok(list) => tracing::debug!(
                provider = name,
                models = list.len(),
                "list of models refreshed"
            ),
            Err(reason) => tracing::info!(
                provider = name,
                reason,
                "no live list of models; keeping what is known"
            ),
        }
        let mut status = Status::clone(&self.status.load());
        let told = list.as_ref().map(Vec::len).map_err(Clone::clone);
        match status.lists.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = told,
            None => status.lists.push((name.clone(), told)),
        }
        self.status.store(Arc::new(status));
        if let Ok(list) = list {
            lists.insert(name, list);
        }
    }

    fn rebuild(&self, config: &Config, backends: &[Backend], lists: &LiveLists) {
        self.edge.engine.swap_world(assemble::world(
            config,
            backends,
            &self.catalog,
            lists,
            self.sandbox,
        ));
    }

    /// Reads the configuration anew. What is listened on stays as it was.
    fn reload(&self, old: &Loaded) -> Result<(Loaded, Vec<Backend>), String> {
        let read = || {
            let mut newer = config::load(self.args_config.as_deref(), &environment())
                .map_err(|error| error.to_string())?;
            newer.config.server.listen = old.config.server.listen;
            newer.config.server.admin_listen = old.config.server.admin_listen;
            newer.config.check()?;
            if !newer.config.has_providers() {
                return Err("no provider is left".to_owned());
            }
            let backends =
                assemble::backends(&newer.config).map_err(|reason| newer.refuse(&reason))?;
            Ok((newer, backends))
        };
        let mut status = Status::clone(&self.status.load());
        let outcome = read();
        match &outcome {
            Ok((newer, _)) => {
                self.edge.policy.store(Arc::new(policy(&newer.config)));
                status.config_hash = hash(newer);
                status.reload_error = None;
            }
            Err(reason) => status.reload_error = Some(reason.clone()),
        }
        self.status.store(Arc::new(status));
        outcome
    }
}
