//! The engine: what every request shares, and its constructor. What it does with a request stands
//! in `run.rs`.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use bardo_cache::shared::SharedValues;
use bardo_providers::transport::Transport;
use bardo_types::ids::AccountId;

use crate::answer_cache::AnswerCache;
use crate::engine_future::EngineFuture;
use crate::health::HealthRecords;
use crate::idempotency::Idempotency;
use crate::memory::Memory;
use crate::offers::Offers;
use crate::ports::OwnVectors;
use crate::prompt_cache::PromptCaches;
use crate::record::RecordContext;
use crate::searches::Searches;
use crate::seeds::{Credit, Seeds};
use crate::services::Services;
use crate::settler::Settler;
use crate::single_flight::FlightBoard;
use crate::snapshot::Snapshot;
use crate::stores::Stores;
use crate::warm_prompts::WarmPrompts;

/// Carries requests out, from a read body to a settled receipt.
pub struct Engine {
    snapshot: ArcSwap<Snapshot>,
    pub(crate) transport: Transport,
    pub(crate) memory: Memory,
    pub(crate) health: Arc<HealthRecords>,
    pub(crate) idempotency: Idempotency,
    pub(crate) services: Arc<Services>,
    pub(crate) settler: Settler,
    pub(crate) searches: Arc<Searches>,
    pub(crate) seeds: Arc<Seeds>,
    pub(crate) bankr_credit: Credit,
    pub(crate) stores: Stores,
    pub(crate) cache: Arc<AnswerCache>,
    /// Made with the first request, when nothing of it is replaced any more.
    record_context: OnceLock<Arc<RecordContext>>,
    /// Answers that identical requests may share while they are made.
    pub(crate) flights: FlightBoard,
    /// Memory of the prompt caches of providers.
    pub(crate) prompt_caches: Arc<PromptCaches>,
    /// Prompts that keepalive calls keep in providers' caches.
    pub(crate) warm_prompts: Arc<WarmPrompts>,
    /// Sells single requests; `None`: none are sold.
    pub(crate) offers: Option<Box<dyn Offers>>,
    /// Answers for the backend in this process; `None`: there is no such backend.
    pub(crate) vectors: Option<Arc<dyn OwnVectors>>,
    /// Values that several processes share; `None`: this process has its own alone.
    pub(crate) shared: Option<Arc<dyn SharedValues>>,
}

impl Engine {
    /// An engine over a first world.
    #[must_use]
    pub fn new(snapshot: Snapshot, transport: Transport, services: Services) -> Self {
        let cache = AnswerCache::new(snapshot.cache.limits, || None, None);
        cache.obey(&snapshot.cache);
        cache.meaning().tell(Arc::clone(&services.sink));
        Self {
            snapshot: ArcSwap::from_pointee(snapshot),
            transport,
            memory: Memory::default(),
            health: Arc::default(),
            idempotency: Idempotency::default(),
            services: Arc::new(services),
            settler: Settler::default(),
            searches: Arc::default(),
            seeds: Arc::default(),
            bankr_credit: Credit::default(),
            stores: Stores::default(),
            cache: Arc::new(cache),
            record_context: OnceLock::new(),
            flights: FlightBoard::default(),
            prompt_caches: Arc::default(),
            warm_prompts: Arc::default(),
            offers: None,
            vectors: None,
            shared: None,
        }
    }

    /// The engine with stores that its look-ups ask.
    #[must_use]
    pub fn with_stores(self, stores: Stores) -> Self {
        Self { stores, ..self }
    }

    /// The engine with this cache of answers in place of its own.
    #[must_use]
    pub fn with_cache(self, cache: AnswerCache) -> Self {
        cache.obey(&self.snapshot.load().cache);
        cache.meaning().tell(Arc::clone(&self.services.sink));
        Self {
            cache: Arc::new(cache),
            record_context: OnceLock::new(),
            ..self
        }
    }

    /// The engine of one of several processes, which share values for a time.
    #[must_use]
    pub fn with_shared(self, values: Arc<dyn SharedValues>) -> Self {
        let idempotency = self.idempotency.shared_by(Arc::clone(&values));
        let memory = self.memory.shared_by(Arc::clone(&values));
        Self {
            idempotency,
            memory,
            shared: Some(values),
            ..self
        }
    }

    /// Learns from the other processes what a request goes on with: thinking beside tool calls, a
    /// stored response. To be called before the request is read; does nothing where no state is
    /// shared.
    pub async fn recall(&self, account: &AccountId, body: &[u8]) {
        self.memory.recall(account.as_str(), body).await;
    }

    /// The values that several processes share; `None`: this process has its own alone.
    #[must_use]
    pub fn shared(&self) -> Option<&Arc<dyn SharedValues>> {
        self.shared.as_ref()
    }

    /// The stored answers.
    #[must_use]
    pub fn cache(&self) -> &AnswerCache {
        &self.cache
    }

    /// The engine with a seller of single requests, asked where an account does not pay.
    #[must_use]
    pub fn with_offers(self, offers: Box<dyn Offers>) -> Self {
        let offers = Some(offers);
        Self { offers, ..self }
    }

    /// The engine with vectors that are made in this process.
    #[must_use]
    pub fn with_vectors(self, vectors: Arc<dyn OwnVectors>) -> Self {
        let vectors = Some(vectors);
        Self { vectors, ..self }
    }

    /// The engine of a simulation: gaps between calls are measured by the wall clock of its services,
    /// which need not move with the machine's.
    #[must_use]
    pub fn in_simulated_time(self) -> Self {
        let clock = Arc::clone(&self.services.clock);
        let prompt_caches = Arc::new(PromptCaches::simulated(clock));
        Self {
            prompt_caches,
            ..self
        }
    }

    /// Starts to settle, on a runtime that outlives those that serve, what callers left behind.
    /// Without this their holds stay until they expire.
    pub fn start_settler(&self, runtime: &tokio::runtime::Handle) {
        self.settler.start(runtime, self.transport.clone());
        self.memory.start_sharing(runtime);
    }

    /// Answers when no request is under way any more and every one is settled. For the end of the
    /// process, after the last connection was closed; whoever calls bounds the time.
    pub fn drain_settler(&self) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            self.settler.drain().await;
            self.idempotency.drain().await;
        })
    }

    /// How many requests are over and not settled yet, because the books do not answer.
    #[must_use]
    pub fn settlements_waiting(&self) -> u64 {
        self.settler.waiting()
    }

    /// The clock, stores, transport and other ports that the engine was made with.
    #[must_use]
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The world that the next request will see.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// As [`Self::snapshot`], for a look that takes no time: nothing is counted that all threads
    /// share.
    pub(crate) fn present(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// Whether the next request will be answered by simulated providers.
    #[must_use]
    pub fn is_sandbox(&self) -> bool {
        self.present().sandbox
    }

    /// What the records of all requests use, by one counter of its users.
    pub(crate) fn record_context(&self) -> Arc<RecordContext> {
        let context = self.record_context.get_or_init(|| {
            Arc::new(RecordContext {
                services: Arc::clone(&self.services),
                health: Arc::clone(&self.health),
                cache: Arc::clone(&self.cache),
            })
        });
        Arc::clone(context)
    }

    /// Puts another world in place. Requests under way keep theirs.
    pub fn swap_world(&self, snapshot: Snapshot) {
        self.cache.obey(&snapshot.cache);
        let (before, now) = (self.snapshot().cache.regime, snapshot.cache.regime);
        self.snapshot.store(Arc::new(snapshot));
        self.regime_configured(before, now);
        self.drop_unwanted_prefixes();
    }
}
