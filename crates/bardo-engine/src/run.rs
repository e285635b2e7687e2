use std::sync::Arc;

use arc_swap::ArcSwap;
use bardo_providers::transport::Transport;
use bardo_router::Candidate;
use bardo_types::fault::Fault;
use bardo_types::model::Dialect;
use bardo_wire::codec::BadRequest;
use bardo_wire::json::{Member, TopLevel, scan};
use tokio::time::Instant;

use crate::error::EngineError;
use crate::hints::Hints;
use crate::memory::Memory;
use crate::receipt::EventSink;
use crate::received::{Principal, Received, Task};
use crate::respond::Answer;
use crate::world::World;

/// Answers requests.
pub struct Engine {
    world: ArcSwap<World>,
    pub(crate) transport: Transport,
    pub(crate) memory: Memory,
    pub(crate) sink: Arc<dyn EventSink>,
}

/// A request that is known to be well formed and to have somewhere to go.
pub struct Admitted {
    pub(crate) request_id: String,
    pub(crate) principal: Principal,
    pub(crate) task: Task,
    pub(crate) dialect: Dialect,
    pub(crate) body: bytes::Bytes,
    members: Vec<Member>,
    pub(crate) forward: http::HeaderMap,
    pub(crate) hints: Hints,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) world: Arc<World>,
    pub(crate) received_at: Instant,
}

impl Admitted {
    /// Whether the caller wants the answer piece by piece.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.stream
    }

    pub(crate) fn top(&self) -> TopLevel<'_> {
        TopLevel::over(&self.body, &self.members)
    }
}

impl Engine {
    /// An engine over a first world.
    #[must_use]
    pub fn new(world: World, transport: Transport, sink: Arc<dyn EventSink>) -> Self {
        Self {
            world: ArcSwap::from_pointee(world),
            transport,
            memory: Memory::default(),
            sink,
        }
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
        let top = scan(&received.body)?;
        let mut hints = received.hints;
        if let Some(json) = top.get("bardo") {
            hints.body(json)?;
        }
        let model = read_model(&top)?;
        let stream = read_flag(&top, "stream")?;
        let include_usage = stream && includes_usage(&top)?;
        let mut candidates = world.roster.resolve(&model)?;
        for other in world.fallbacks.get(&model).into_iter().flatten() {
            candidates.extend(world.roster.resolve(other).unwrap_or_default());
        }
        let members = top.into_members();
        Ok(Admitted {
            request_id: received.request_id,
            principal: received.principal,
            task: received.task,
            dialect: received.dialect,
            body: received.body,
            members,
            forward: received.forward,
            hints,
            model,
            stream: stream && received.task == Task::Generate,
            include_usage,
            candidates,
            world,
            received_at,
        })
    }

    /// Carries out an admitted request.
    ///
    /// # Errors
    /// See [`EngineError`]. Nothing has been sent to the caller then.
    pub async fn answer(self: Arc<Self>, admitted: Admitted) -> Result<Answer, EngineError> {
        match admitted.task {
            Task::Generate => self.dispatch(&admitted).await,
            Task::CountTokens => self.count(&admitted).await,
            Task::Embeddings => self.embed(&admitted).await,
        }
    }

    pub(crate) fn note_failure(&self, admitted: &Admitted, backend: &str, fault: &Fault) {
        self.sink
            .attempt_failed(&admitted.request_id, backend, fault);
    }
}

fn read_model(top: &TopLevel<'_>) -> Result<String, BadRequest> {
    let Some(json) = top.get("model") else {
        return Err(BadRequest::new(
            "model",
            "`model` is required; `GET /v1/models` lists what is served",
        ));
    };
    match serde_json::from_str::<String>(json) {
        Ok(model) if !model.trim().is_empty() && model.len() <= 256 => Ok(model),
        Ok(_) => Err(BadRequest::new(
            "model",
            "`model` must be a name of 1 to 256 bytes",
        )),
        Err(_) => Err(BadRequest::new("model", "`model` must be a string")),
    }
}

fn read_flag(top: &TopLevel<'_>, key: &'static str) -> Result<bool, BadRequest> {
    match top.get(key) {
        None | Some("null" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(BadRequest::new(
            key,
            format!("`{key}` must be true or false"),
        )),
    }
}

fn includes_usage(top: &TopLevel<'_>) -> Result<bool, BadRequest> {
    #[derive(serde::Deserialize, Default)]
    struct StreamOptions {
        #[serde(default)]
        include_usage: Option<bool>,
    }
    let Some(json) = top.get("stream_options") else {
        return Ok(false);
    };
    let options: Option<StreamOptions> = serde_json::from_str(json).map_err(|error| {
        BadRequest::new(
            "stream_options",
            format!("`stream_options` is malformed: {error}"),
        )
    })?;
    Ok(options.unwrap_or_default().include_usage.unwrap_or(false))
}
