//! An engine between scripted providers and strict callers, on a paused clock.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_engine::{
    Answer, AnswerBody, Billing, Breaker, CachePolicy, Deadlines, DefaultLimits, Engine,
    EngineError, EventSink, Hints, Payer, Principal, Received, Resilience, Services, SetupPolicy,
    Snapshot, Stages, Stores, Task, Unlimited,
};
use bardo_ledger::Holds;
use bardo_providers::transport::Transport;
use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
use bardo_router::{
    BackendModels, BackendSpec, Catalog, ModelFilter, Policy, RosterBuilder, Router,
};
use bardo_types::fault::Fault as UpstreamFault;
use bardo_types::ids::RequestId;
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::{BasisPoints, PricePerMillion};
use bardo_types::receipt::Receipt;
use bardo_types::secret::Secret;
use bytes::Bytes;
use tokio::time::Instant;

use crate::client::{Ending, Leaves, Reading, Wish, whole_text};
use crate::fault::Patience;
use crate::purse::{PausedClock, Purse};
use crate::upstream::{Network, Upstream};

/// How often another backend may be asked.
pub const MAX_ATTEMPTS: usize = 3;

/// A provider and the models that it serves.
pub struct Backend {
    /// The scripted provider.
    pub upstream: Arc<Upstream>,
    /// By these names.
    pub models: Vec<String>,
}

/// How a visit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A whole answer.
    Whole,
    /// A stream, to its end.
    Stream(Ending),
    /// An error in place of an answer.
    Refused {
        /// Text of the error.
        error: String,
        /// The provider may have carried it out.
        unknown: bool,
    },
    /// The caller left.
    Left,
}

/// The course of one caller's request.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The request that the caller sent.
    pub wish: Wish,
    /// When it came.
    pub came_at: Instant,
    /// When it was done or had left.
    pub went_at: Instant,
    /// How that ended.
    pub end: End,
    /// The text that reached it.
    pub text: String,
    /// All bytes that reached it.
    pub bytes: Bytes,
    /// The rules that a strict reader saw broken.
    pub damage: Vec<String>,
}

/// An engine, its providers and what it reported.
pub struct Scene {
    /// The engine under test.
    pub engine: Arc<Engine>,
    /// The providers, in the owner's order.
    pub upstreams: Vec<Arc<Upstream>>,
    /// The accounts that can pay.
    pub purses: Vec<Purse>,
    sink: Arc<Sink>,
}

#[derive(Default)]
struct Sink {
    receipts: Mutex<Vec<Receipt>>,
}

impl EventSink for Sink {
    fn settled(&self, receipt: &Receipt) {
        let mut receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
        receipts.push(receipt.clone());
    }

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &UpstreamFault) {}
}

/// How failures are borne: as the shipped configuration says.
const RESILIENCE: Resilience = Resilience {
    retry_budget_permille: 200,
    breaker: Breaker {
        enabled: true,
        failures: 10,
        connect_failures: 3,
        error_permille: 500,
        min_samples: 20,
        open_for: Duration::from_secs(30),
        open_for_max: Duration::from_secs(300),
    },
};

/// The addition to costs.
pub const SPREAD: BasisPoints = match BasisPoints::new(2_000) {
    Some(spread) => spread,
    None => BasisPoints::ZERO,
};

/// 2.00 USD per million tokens in, 10.00 USD out, 0.20 USD from cache.
#[must_use]
pub fn price() -> Price {
    Price {
        input: PricePerMillion::from_micro(2_000_000),
        output: PricePerMillion::from_micro(10_000_000),
        cache_read: Some(PricePerMillion::from_micro(200_000)),
        ..Price::default()
    }
}

impl Scene {
    /// An engine over these backends, for its owner alone.
    #[must_use]
    pub fn new(backends: &[Backend]) -> Self {
        Self::over(backends, None, Vec::new())
    }

    /// An engine over these backends and books, for callers who pay.
    #[must_use]
    pub fn selling(backends: &[Backend], ledger: Arc<dyn Holds>, purses: Vec<Purse>) -> Self {
        Self::over(backends, Some(ledger), purses)
    }

    fn over(backends: &[Backend], ledger: Option<Arc<dyn Holds>>, purses: Vec<Purse>) -> Self {
        let upstreams: Vec<Arc<Upstream>> = backends
            .iter()
            .map(|backend| Arc::clone(&backend.upstream))
            .collect();
        let transport = Transport::with_connector(Patience::CONNECT, Network::of(&upstreams));
        let sink = Arc::new(Sink::default());
        let services = Services {
            ledger,
            limits: Arc::new(Unlimited),
            clock: Arc::new(PausedClock::new()),
            sink: Arc::<Sink>::clone(&sink),
        };
        let engine = Arc::new(Engine::new(world(backends), transport, services));
        engine.start_settler(&tokio::runtime::Handle::current());
        Self {
            engine,
            upstreams,
            purses,
            sink,
        }
    }

    /// The scene with stores of answers.
    ///
    /// # Panics
    /// When the engine is in use already.
    #[must_use]
    pub fn with_stores(mut self, stores: Stores) -> Self {
        let engine = Arc::into_inner(self.engine).expect("no request holds it");
        self.engine = Arc::new(engine.with_stores(stores));
        self
    }

    /// Puts a new world in place, as a change of the configuration does.
    pub fn reload(&self, backends: &[Backend]) {
        self.engine.swap_world(world(backends));
    }

    /// The receipts so far.
    #[must_use]
    pub fn receipts(&self) -> Vec<Receipt> {
        let receipts = self.sink.receipts.lock();
        receipts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One caller from coming to going.
    pub async fn visit(&self, wish: &Wish) -> Visit {
        let came_at = Instant::now();
        let mut bytes = Vec::new();
        let end = match wish.leaves {
            Leaves::After(patience) => {
                let staying = self.stay(wish, &mut bytes);
                let end = tokio::time::timeout(patience, staying).await;
                end.unwrap_or(End::Left)
            }
            Leaves::Never | Leaves::AfterReads(_) => self.stay(wish, &mut bytes).await,
        };
        let (text, damage) = read(wish, &end, &bytes);
        let end = match end {
            End::Stream(_) => End::Stream(Reading::of(wish.dialect, &bytes).ending),
            other => other,
        };
        Visit {
            wish: wish.clone(),
            came_at,
            went_at: Instant::now(),
            end,
            text,
            bytes: bytes.into(),
            damage,
        }
    }

    fn received(&self, wish: &Wish) -> Received {
        let principal = match wish.purse {
            None => Principal::owner("owner").expect("an id"),
            Some(index) => Principal {
                account: self.purses[index].key.account.clone(),
                payer: Payer::Prepaid(Arc::new(bardo_access::PayerTerms::of_key(
                    &self.purses[index].key,
                ))),
            },
        };
        Received {
            request_id: request_id(wish.case),
            client_request_id: None,
            task: Task::Generate,
            dialect: wish.dialect,
            body: wish.body(),
            forward: http::HeaderMap::new(),
            hints: Hints::default(),
            principal,
            url: None,
        }
    }

    async fn stay(&self, wish: &Wish, bytes: &mut Vec<u8>) -> End {
        let admitted = match self.engine.read(self.received(wish)) {
            Ok(admitted) => admitted,
            Err(error) => return refused(&error),
        };
        let answer = match Arc::clone(&self.engine).answer(admitted).await {
            Ok(Answer { body, .. }) => body,
            Err(error) => return refused(&error),
        };
        let mut stream = match answer {
            AnswerBody::Whole(whole) => {
                bytes.extend_from_slice(&whole);
                return End::Whole;
            }
            AnswerBody::Stream(stream) => stream,
        };
        let mut reads = 0;
        loop {
            if wish.leaves == Leaves::AfterReads(reads) {
                return End::Left;
            }
            match std::future::poll_fn(|cx| stream.poll_next(cx)).await {
                Some(piece) => bytes.extend_from_slice(&piece),
                None => return End::Stream(Ending::Open),
            }
            reads += 1;
        }
    }
}

/// The id of the request with a number.
#[must_use]
pub fn request_id(case: u64) -> RequestId {
    RequestId::parse(&format!("req_{case}")).expect("an id")
}

fn read(wish: &Wish, end: &End, bytes: &[u8]) -> (String, Vec<String>) {
    match end {
        End::Refused { .. } => (String::new(), Vec::new()),
        End::Whole => {
            let body = serde_json::from_slice(bytes).unwrap_or_default();
            match whole_text(wish.dialect, &body) {
                Some(text) => (text, Vec::new()),
                None => (String::new(), vec![format!("no text in {body}")]),
            }
        }
        End::Stream(_) | End::Left => {
            let reading = Reading::of(wish.dialect, bytes);
            (reading.text, reading.damage)
        }
    }
}

fn refused(error: &EngineError) -> End {
    let unknown = match error {
        EngineError::Upstream(failure) => failure.unknown_outcome,
        _ => false,
    };
    End::Refused {
        error: error.to_string(),
        unknown,
    }
}

fn world(backends: &[Backend]) -> Snapshot {
    let mut roster = RosterBuilder::new(Arc::new(Catalog::embedded()));
    let mut endpoints = Vec::new();
    for (index, backend) in backends.iter().enumerate() {
        let upstream = &backend.upstream;
        let (service, dialects, path) = match upstream.dialect {
            Dialect::Chat | Dialect::Completions => {
                (Service::OpenAi, Some(vec![Dialect::Chat]), "/v1")
            }
            Dialect::Responses => (Service::OpenAi, Some(vec![Dialect::Responses]), "/v1"),
            Dialect::Anthropic => (Service::Anthropic, None, ""),
            Dialect::Gemini => (Service::Google, None, ""),
        };
        let name = format!("backend-{index}");
        let spec = BackendSpec {
            name: name.clone(),
            service,
            filter: ModelFilter::new(backend.models.clone()),
        };
        roster.backend(spec, BackendModels::Snapshot, Some(price()));
        let url = format!("http://{}{path}", upstream.host);
        endpoints.push(Arc::new(Endpoint::new(EndpointConfig {
            name,
            service,
            base: BaseUrl::parse(&url).expect("a host makes an address"),
            key: Secret::new("upstream-key".into()),
            allow_private: false,
            dialects,
            direct: false,
        })));
    }
    Snapshot {
        router: Router::new(roster.build(), Policy::default()),
        profiles: BTreeMap::new(),
        setup: SetupPolicy::default(),
        endpoints,
        fallbacks: HashMap::new(),
        deadlines: Deadlines {
            header: Patience::HEADER,
            whole_header: Patience::HEADER,
            first_token: Patience::FIRST_TOKEN,
            idle: Patience::IDLE,
            total: Patience::TOTAL,
            heartbeat: Patience::HEARTBEAT,
        },
        max_attempts: MAX_ATTEMPTS,
        resilience: RESILIENCE,
        wallet: None,
        sandbox: false,
        billing: Billing {
            spread: SPREAD,
            ..Billing::new(Patience::TOTAL)
        },
        limits: DefaultLimits::default(),
        stages: Stages::default(),
        cache: CachePolicy::default(),
    }
}
