use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bardo_providers::transport::Transport;
use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::chat::ChatRequest;
use bardo_types::fault::Fault;
use bardo_types::ids::RequestId;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use bardo_wire::json::{Member, TopLevel};
use tokio::time::Instant;

use crate::breaker::Health;
use crate::entitle;
use crate::error::EngineError;
use crate::head::warnings_list;
use crate::hints::Hints;
use crate::idempotency::Idempotency;
use crate::memory::Memory;
use crate::observed::Statistics;
use crate::read::Read;
use crate::received::{Principal, Received, Task};
use crate::respond::Answer;
use crate::routing::Routed;
use crate::scrub::for_logs;
use crate::search::Searches;
use crate::services::Services;
use crate::settler::Settler;
use crate::size::Size;
use crate::world::World;

/// Answers requests.
pub struct Engine {
    world: ArcSwap<World>,
    pub(crate) transport: Transport,
    pub(crate) memory: Memory,
    pub(crate) health: Arc<Health>,
    pub(crate) observed: Arc<Statistics>,
    pub(crate) idempotency: Idempotency,
    pub(crate) services: Arc<Services>,
    pub(crate) settler: Settler,
    pub(crate) searches: Searches,
}

/// A request that is known to be well formed and to have somewhere to go.
pub struct Admitted {
    pub(crate) request_id: RequestId,
    pub(crate) client_request_id: Option<Arc<str>>,
    pub(crate) principal: Principal,
    pub(crate) task: Task,
    pub(crate) dialect: Dialect,
    pub(crate) body: bytes::Bytes,
    members: Vec<Member>,
    pub(crate) forward: http::HeaderMap,
    pub(crate) hints: Hints,
    pub(crate) model: Arc<str>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) candidates: Vec<Candidate>,
    /// What the router decided, where the caller left anything to it.
    pub(crate) routed: Option<Box<Routed>>,
    /// The request in neutral form, where the router had to see it.
    pub(crate) neutral: Option<Arc<ChatRequest>>,
    pub(crate) world: Arc<World>,
    pub(crate) received_at: Instant,
    pub(crate) received_at_ms: u64,
    /// Money is held in slices as the answer flows.
    pub(crate) sliced: bool,
    /// Tokens of output that the caller's money pays for, where it set no limit of its own.
    pub(crate) output_cap: Option<u64>,
    /// Said where backends or models were left out because the caller cannot pay for them.
    pub(crate) unfunded: Vec<Degradation>,
    size: OnceLock<Size>,
}

impl Admitted {
    /// The class of what is remembered of an answer of one candidate: what the request had to have,
    /// and what it should have had as far as it got it.
    pub(crate) fn effective_class(&self, candidate: &Candidate) -> SecurityClass {
        let Some(routed) = &self.routed else {
            return SecurityClass::Standard;
        };
        let got = routed.choice(candidate).map(|choice| choice.security);
        let got = got.unwrap_or(candidate.entry.security);
        routed.security_class.max(routed.wished_class.min(got))
    }

    /// Whether a candidate has the protection that the request should have.
    pub(crate) fn meets_floor(&self, candidate: &Candidate) -> bool {
        let routed = self.routed.as_ref();
        routed.is_none_or(|routed| {
            let choice = routed.choice(candidate);
            choice.is_none_or(|choice| choice.security >= routed.wished_class)
        })
    }

    /// The protection that a candidate lacks.
    pub(crate) fn lost_protection(&self, candidate: &Candidate) -> Vec<Degradation> {
        let routed = self.routed.as_ref();
        routed.map_or_else(Vec::new, |routed| routed.lost_protection(candidate))
    }

    /// What was odd about the hints, as a header value.
    pub(crate) fn warnings(&self) -> String {
        let routed = self.routed.iter();
        let all = routed.flat_map(|routed| routed.all_warnings().cloned());
        warnings_list(&all.collect::<Vec<_>>())
    }

    /// Whether the caller wants the answer piece by piece.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.stream
    }

    pub(crate) fn top(&self) -> TopLevel<'_> {
        TopLevel::over(&self.body, &self.members)
    }

    /// What is known of its size; looked at once.
    pub(crate) fn size(&self) -> Size {
        *self
            .size
            .get_or_init(|| Size::of(self.dialect, &self.top()))
    }
}

impl Engine {
    /// An engine over a first world.
    #[must_use]
    pub fn new(world: World, transport: Transport, services: Services) -> Self {
        Self {
            world: ArcSwap::from_pointee(world),
            transport,
            memory: Memory::default(),
            health: Arc::default(),
            observed: Arc::default(),
            idempotency: Idempotency::default(),
            services: Arc::new(services),
            settler: Settler::default(),
            searches: Searches::default(),
        }
    }

    /// Starts to settle, on a runtime that outlives those that serve, what callers left behind.
    /// Without this their holds stay until they expire.
    pub fn start_settler(&self, runtime: &tokio::runtime::Handle) {
        self.settler.start(runtime);
    }

    /// Answers when no request is under way any more and every one is settled. For the end of the
    /// process, after the last connection was closed; whoever calls bounds the time.
    pub async fn drain_settler(&self) {
        self.settler.drain().await;
    }

    /// How many requests are over and not settled yet, because the books do not answer.
    #[must_use]
    pub fn settlements_waiting(&self) -> u64 {
        self.settler.waiting()
    }

    /// What the engine works with.
    #[must_use]
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The world that the next request will see.
    #[must_use]
    pub fn world(&self) -> Arc<World> {
        self.world.load_full()
    }

    /// Puts another world in place. Requests under way keep theirs.
    pub fn swap_world(&self, world: World) {
        self.world.store(Arc::new(world));
    }

    /// Checks a request and finds who can answer it. Does no I/O.
    ///
    /// # Errors
    /// When the body is malformed, or nobody serves the model.
    pub fn admit(&self, received: Received) -> Result<Admitted, EngineError> {
        let received_at = Instant::now();
        let world = self.world();
        let read = self.read(received, &world)?;
        let (neutral, routed, candidates) = if read.is_open() {
            let neutral = read.neutral();
            let question = read.question(&world, neutral.as_ref());
            let routed = self.told(self.route_with_fallbacks(&question))?;
            let candidates = routed.candidates();
            (neutral, Some(Box::new(routed)), candidates)
        } else {
            let candidates = self.told(by_name(&read.received.principal, &world, &read.model))?;
            (None, None, candidates)
        };
        let unfunded = routed.iter().filter_map(|routed| routed.instead());
        let unfunded = unfunded.collect();
        let received_at_ms = self.services.clock.now_ms();
        let Read {
            received,
            members,
            hints,
            model,
            stream,
            include_usage,
            size,
        } = read;
        Ok(Admitted {
            request_id: received.request_id,
            client_request_id: received.client_request_id,
            principal: received.principal,
            task: received.task,
            dialect: received.dialect,
            body: received.body,
            members,
            forward: received.forward,
            hints,
            model: model.into(),
            stream,
            include_usage,
            candidates,
            routed,
            neutral: neutral.map(Arc::new),
            world,
            received_at,
            received_at_ms,
            sliced: false,
            output_cap: None,
            unfunded,
            size,
        })
    }

    /// Reads a request and refuses what is not understood of it.
    pub(crate) fn read(&self, received: Received, world: &World) -> Result<Read, EngineError> {
        let mut read = Read::of(received)?;
        read.check_subsystem(world)?;
        read.go_on(&self.memory);
        Ok(read)
    }

    /// Tells the operator of models that nobody priced.
    fn told<T>(&self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if let Err(EngineError::Unpriced { model }) = &result {
            self.services.sink.unpriced(model);
        }
        result
    }

    /// Carries out an admitted request.
    ///
    /// # Errors
    /// See [`EngineError`]. Nothing has been sent to the caller then.
    pub async fn answer(self: Arc<Self>, mut admitted: Admitted) -> Result<Answer, EngineError> {
        let received = self.open(&admitted)?;
        let received = self.limit(received, &admitted).await?;
        match admitted.task {
            Task::Generate => {
                self.allow_search(&mut admitted);
                let reserved = self.reserve(received, &mut admitted).await?;
                self.dispatch(&admitted, reserved).await
            }
            Task::Embeddings => {
                let reserved = self.reserve(received, &mut admitted).await?;
                self.embed(&admitted, reserved).await
            }
            Task::CountTokens => {
                let mut answer = self.count(&admitted).await?;
                answer.head.limits.clone_from(&received.tab().admission);
                Ok(answer)
            }
        }
    }

    pub(crate) fn note_failure(&self, admitted: &Admitted, backend: &str, fault: &Fault) {
        let told = for_logs(fault, &admitted.body);
        self.services
            .sink
            .attempt_failed(admitted.request_id.as_str(), backend, &told);
    }
}

/// Who serves a model that the caller names without any hint, in the owner's order, and behind
/// them the models that the owner named for when they fail.
fn by_name(
    principal: &Principal,
    world: &World,
    model: &str,
) -> Result<Vec<Candidate>, EngineError> {
    let mut candidates = world.roster().resolve(model)?;
    entitle::within_scopes(principal, world, model, &mut candidates);
    for other in world.fallbacks.get(model).into_iter().flatten() {
        let mut others = world.roster().resolve(other).unwrap_or_default();
        entitle::within_scopes(principal, world, other, &mut others);
        candidates.extend(others);
    }
    entitle::payable(principal, world, model, &mut candidates)?;
    Ok(candidates)
}
