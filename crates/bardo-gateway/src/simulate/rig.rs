//! One simulated provider and one engine in front of it, in a time that the simulation sets.

#[cfg(feature = "embedder")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_access::{KeyTier, PayerTerms};
use bardo_engine::{
    Answer, AnswerBody, AnswerCache, Engine, EventSink, Hints, Payer, Principal, Received,
    Services, Task, Unlimited,
};
use bardo_ledger::MemoryLedger;
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use bardo_sandbox::{AnswerBook, Sandbox, SandboxConfig};
use bardo_types::clock::Clock;
use bardo_types::fault::Fault;
use bardo_types::ids::{AccountId, KeyId, RequestId};
use bardo_types::model::{Dialect, Price};
use bardo_types::receipt::Receipt;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::assemble::{self, LiveLists};
use crate::caches;
use crate::config;
#[cfg(feature = "embedder")]
use crate::config::SemanticCacheConfig;
#[cfg(feature = "embedder")]
use crate::vectors;

/// When every simulation begins, in Unix milliseconds.
const BEGINNING_MS: u64 = 1_793_000_000_000;

/// Time that moves when the simulation says so.
#[derive(Debug, Clone)]
pub(super) struct SimulatedClock(Arc<AtomicU64>);

impl Clock for SimulatedClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A model at its provider.
pub(super) struct SimulatedBackend {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) price: Price,
    /// Its name there.
    pub(super) model: Arc<str>,
    /// Whether a temperature is accepted.
    pub(super) takes_sampling: bool,
}

/// Keeps the receipts.
#[derive(Default)]
struct ReceiptShelf(Mutex<Vec<Receipt>>);

impl EventSink for ReceiptShelf {
    fn settled(&self, receipt: &Receipt) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.push(receipt.clone());
    }

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &Fault) {}
}

/// Engine, provider, and their time. Dropping it stops the provider.
pub(super) struct SimulationRig {
    pub(super) transport: Transport,
    engine: Arc<Engine>,
    clock: SimulatedClock,
    answers: AnswerBook,
    receipts: Arc<ReceiptShelf>,
    principal: Principal,
    /// Requests so far.
    sent: AtomicU64,
    _stop: oneshot::Sender<()>,
}

impl SimulationRig {
    /// Starts both on the runtime of the caller. `settings` are laid over the defaults.
    ///
    /// # Errors
    /// When a socket cannot be had.
    pub(super) fn start(seed: u64, settings: Value, tier: Option<KeyTier>) -> Result<Self, String> {
        let time = Arc::new(AtomicU64::new(BEGINNING_MS));
        let clock = SimulatedClock(Arc::clone(&time));
        let answers = AnswerBook::default();
        let sandbox = Sandbox::bind(SandboxConfig {
            seed,
            clock: Some(time),
            answers: answers.clone(),
            ..SandboxConfig::default()
        });
        let sandbox = sandbox.map_err(|error| format!("cannot start the providers: {error}"))?;
        let address = sandbox.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(sandbox.run(async {
            let _ = stopped.await;
        }));
        let mut all = settings;
        all["providers"] = json!({ "direct": { "keys": [
            { "provider": "anthropic", "api_key": "sandbox", "base_url": format!("http://{address}/anthropic") },
            { "provider": "openai", "api_key": "sandbox", "base_url": format!("http://{address}/openai/v1") },
        ] } });
        let loaded = config::embedded("simulate", all).map_err(|error| error.to_string())?;
        let backends = assemble::backends(&loaded.config)?;
        let catalog = Arc::new(Catalog::embedded());
        let lists = LiveLists::new();
        let snapshot = assemble::snapshot(&loaded.config, &backends, &catalog, &lists, true);
        let receipts = Arc::new(ReceiptShelf::default());
        let services = Services {
            ledger: Some(Arc::new(MemoryLedger::new())),
            limits: Arc::new(Unlimited),
            clock: Arc::new(clock.clone()),
            sink: Arc::<ReceiptShelf>::clone(&receipts),
        };
        let transport = Transport::new(Duration::from_secs(5));
        let cache = AnswerCache::new(snapshot.cache.limits, caches::sealer, None);
        let engine = Engine::new(snapshot, transport.clone(), services).with_cache(cache);
        #[cfg(feature = "embedder")]
        let engine = with_model(engine, &loaded.config.cache.semantic);
        let engine = Arc::new(engine.in_simulated_time());
        engine.start_settler(&tokio::runtime::Handle::current());
        Ok(Self {
            transport,
            engine,
            clock,
            answers,
            receipts,
            principal: principal(tier)?,
            sent: AtomicU64::new(0),
            _stop: stop,
        })
    }

    /// Moves the time to so many milliseconds after the beginning.
    pub(super) fn set_time(&self, at_ms: u64) {
        let now_ms = BEGINNING_MS.saturating_add(at_ms);
        self.clock.0.store(now_ms, Ordering::Relaxed);
    }

    /// Tells the provider what to answer to a question.
    pub(super) fn teach(&self, question: &str, text: &str, tokens: u64) {
        self.answers.set(question, text, tokens);
    }

    /// The backend of a model, and what it is there.
    ///
    /// # Errors
    /// When the model is unknown or has no price.
    pub(super) fn backend(&self, model: &str) -> Result<SimulatedBackend, String> {
        let snapshot = self.engine.snapshot();
        let candidates = snapshot.roster().resolve(model).unwrap_or_default();
        let candidate = candidates.first().ok_or_else(|| {
            format!("the simulated providers of Anthropic and OpenAI do not have `{model}`")
        })?;
        let price = candidate.entry.price;
        let price = price.ok_or_else(|| format!("no price of `{model}` is known"))?;
        Ok(SimulatedBackend {
            endpoint: Arc::clone(&snapshot.endpoints[candidate.backend]),
            price,
            model: candidate.entry.upstream_id.as_str().into(),
            takes_sampling: candidate.entry.capabilities.sampling,
        })
    }

    /// Carries one request out.
    ///
    /// # Errors
    /// What the caller would be told.
    pub(super) async fn send(&self, dialect: Dialect, body: Bytes) -> Result<(), String> {
        let received = Received {
            request_id: self.next_id()?,
            client_request_id: None,
            task: Task::Generate,
            dialect,
            body,
            forward: HeaderMap::new(),
            hints: Hints::default(),
            principal: self.principal.clone(),
            url: None,
        };
        let call = self
            .engine
            .read(received)
            .map_err(|error| error.to_string())?;
        let answer = Arc::clone(&self.engine).answer(call).await;
        match answer {
            Ok(Answer {
                body: AnswerBody::Whole(_),
                ..
            }) => Ok(()),
            Ok(_) => Err("a stream came where none was wanted".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Ids count up: which hits are audited depends on them.
    fn next_id(&self) -> Result<RequestId, String> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        RequestId::parse(&format!("req_simulated_{number}")).map_err(|error| error.to_string())
    }

    /// The receipts since the last time.
    pub(super) fn receipts(&self) -> Vec<Receipt> {
        let mut held = self
            .receipts
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *held)
    }
}

/// Gives an engine the model for questions in other words, which is loaded once for all runs of this
/// process, and only if it is needed.
#[cfg(feature = "embedder")]
fn with_model(engine: Engine, semantic: &SemanticCacheConfig) -> Engine {
    static MODEL: OnceLock<Arc<bardo_embed::Embedder>> = OnceLock::new();
    if !semantic.enabled {
        return engine;
    }
    let model = MODEL.get_or_init(vectors::embedder);
    vectors::share(model, model, engine, semantic)
}

/// A caller with a key of this tier.
fn principal(tier: Option<KeyTier>) -> Result<Principal, String> {
    let key = KeyId::parse("simulated").map_err(|error| error.to_string())?;
    let account = AccountId::parse("acct_simulated").map_err(|error| error.to_string())?;
    let terms = PayerTerms {
        tier,
        ..PayerTerms::without_key(key)
    };
    Ok(Principal {
        account,
        payer: Payer::Prepaid(Arc::new(terms)),
    })
}
