//! An engine, the simulated providers behind it, and what they received.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use bardo_engine::{
    Answer, AnswerBody, AnswerHead, Billing, CachePolicy, Deadlines, DefaultLimits, Engine,
    EngineError, EventSink, Hints, Principal, Received, Resilience, Services, SetupPolicy,
    Snapshot, Stages, Task,
};
use bardo_providers::transport::{Origin, Transport, UpstreamBody};
use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
use bardo_router::{
    BackendModels, BackendSpec, Catalog, ModelFilter, Policy, RosterBuilder, Router,
};
use bardo_sandbox::{Sandbox, SandboxConfig};
use bardo_types::fault::Fault;
use bardo_types::ids::RequestId;
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::receipt::Receipt;
use bardo_types::secret::Secret;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

/// Service, path of its base address, dialect it is held to, models.
type Row = (
    Service,
    &'static str,
    Option<Dialect>,
    &'static [&'static str],
);

/// One backend for each dialect that the gateway speaks upstream, and one without tool calls.
const BACKENDS: &[Row] = &[
    (
        Service::OpenAi,
        "/openai/v1",
        Some(Dialect::Chat),
        &["gpt-5.5", "text-embedding-3-small"],
    ),
    (
        Service::OpenAi,
        "/openai/v1",
        Some(Dialect::Responses),
        &["gpt-6-sol"],
    ),
    (
        Service::Anthropic,
        "/anthropic",
        None,
        &["claude-sonnet-5-5", "claude-opus-5-5"],
    ),
    (Service::Google, "/google", None, &["gemini-3-flash"]),
    (Service::DeepSeek, "/deepseek", None, &["deepseek-v4-pro"]),
    (Service::Local, "/local/v1", None, &["hermes-4"]),
];

/// A simulation and an engine whose backends are all in it.
pub(crate) struct Bench {
    pub(crate) engine: Arc<Engine>,
    sandbox: SocketAddr,
}

/// What a request asks, and for whom.
pub(crate) struct Call<'a> {
    pub(crate) task: Task,
    pub(crate) dialect: Dialect,
    pub(crate) body: &'a Value,
    pub(crate) principal: Principal,
    pub(crate) hints: Hints,
}

/// An answer as its caller reads it.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) head: AnswerHead,
    pub(crate) text: String,
}

impl Read {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("a JSON body")
    }
}

pub(crate) struct Silent;

impl EventSink for Silent {
    fn settled(&self, _receipt: &Receipt) {}

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &Fault) {}
}

impl Bench {
    pub(crate) fn start() -> Self {
        Self::with(Services::without_money(Arc::new(Silent)), |address| {
            world(address, true, None)
        })
    }

    pub(crate) fn with(services: Services, world: impl FnOnce(SocketAddr) -> Snapshot) -> Self {
        Self::adjusted(services, world, |engine| engine)
    }

    /// As [`Self::with`], with another engine made of the usual one.
    pub(crate) fn adjusted(
        services: Services,
        world: impl FnOnce(SocketAddr) -> Snapshot,
        adjust: impl FnOnce(Engine) -> Engine,
    ) -> Self {
        let sandbox = Sandbox::bind(SandboxConfig::default()).expect("a free port");
        let address = sandbox.local_addr();
        tokio::spawn(sandbox.run(std::future::pending()));
        let transport = Transport::new(Duration::from_secs(5));
        let engine = adjust(Engine::new(world(address), transport, services));
        engine.start_settler(&tokio::runtime::Handle::current());
        Self {
            engine: Arc::new(engine),
            sandbox: address,
        }
    }

    /// Puts another world in place.
    pub(crate) fn swap(&self, world: impl FnOnce(SocketAddr) -> Snapshot) {
        self.engine.swap_world(world(self.sandbox));
    }

    /// Sends a caller's request and reads the answer to its end.
    pub(crate) async fn ask(&self, dialect: Dialect, body: &Value) -> Result<Read, EngineError> {
        self.task(Task::Generate, dialect, body).await
    }

    pub(crate) async fn task(
        &self,
        task: Task,
        dialect: Dialect,
        body: &Value,
    ) -> Result<Read, EngineError> {
        let call = Call {
            task,
            dialect,
            body,
            principal: Principal::owner("test").expect("an id"),
            hints: Hints::default(),
        };
        let call = self.read(call)?;
        read(Arc::clone(&self.engine).answer(call).await?).await
    }

    pub(crate) fn read(&self, call: Call<'_>) -> Result<bardo_engine::Call, EngineError> {
        self.engine.read(received(call))
    }

    /// A request of the operator, as it was received.
    pub(crate) fn received_request(&self, dialect: Dialect, body: &Value) -> Received {
        received(Call {
            task: Task::Generate,
            dialect,
            body,
            principal: Principal::owner("test").expect("an id"),
            hints: Hints::default(),
        })
    }

    /// Lets the next requests to a service fail.
    pub(crate) async fn fault(&self, service: &str, times: u32, fault: Value) {
        let body = json!({ "service": service, "times": times, "fault": fault });
        let request = http::Request::post("/_sandbox/faults")
            .header("host", self.sandbox.to_string())
            .body(Full::new(Bytes::from(body.to_string())))
            .expect("a request");
        let answer = self.control(request).await;
        assert!(answer.status().is_success());
    }

    async fn control(&self, request: http::Request<Full<Bytes>>) -> http::Response<UpstreamBody> {
        let url = format!("http://{}", self.sandbox);
        let origin = Origin::new(&BaseUrl::parse(&url).expect("an address"), true);
        let transport = Transport::new(Duration::from_secs(5));
        transport.send(&origin, request).await.expect("an answer")
    }

    /// The bodies that reached the providers, in order.
    pub(crate) async fn received(&self) -> Vec<String> {
        let request = http::Request::get("/_sandbox/journal")
            .header("host", self.sandbox.to_string())
            .body(Full::new(Bytes::new()))
            .expect("a request");
        let answer = self.control(request).await;
        let body = answer.into_body().collect().await.expect("a body");
        let journal: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
        let entries = journal["entries"].as_array().expect("a list");
        entries
            .iter()
            .filter_map(|entry| entry["body"].as_str().map(str::to_owned))
            .collect()
    }
}

pub(crate) fn received(call: Call<'_>) -> Received {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("req_{:032x}", NEXT.fetch_add(1, Ordering::Relaxed));
    Received {
        request_id: RequestId::parse(&id).expect("an id"),
        client_request_id: None,
        task: call.task,
        dialect: call.dialect,
        body: call.body.to_string().into(),
        forward: http::HeaderMap::new(),
        hints: call.hints,
        principal: call.principal,
        url: None,
    }
}

/// Takes work on until it waits for something that has to happen first: between its stages it only
/// lets others go first. Answers whether it is still under way.
pub(crate) fn waits<F: Future + ?Sized>(work: &mut Pin<Box<F>>) -> bool {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    while woken.0.swap(false, Ordering::Relaxed) {
        if work
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
        {
            return false;
        }
    }
    true
}

/// Reads an answer to its end.
pub(crate) async fn read(answer: Answer) -> Result<Read, EngineError> {
    let Answer { head, body } = answer;
    let mut bytes = Vec::new();
    match body {
        AnswerBody::Whole(whole) => bytes.extend_from_slice(&whole),
        AnswerBody::Stream(mut stream) => {
            while let Some(piece) = std::future::poll_fn(|cx| stream.poll_next(cx)).await {
                bytes.extend_from_slice(&piece);
            }
        }
    }
    let text = String::from_utf8(bytes).expect("answers are text");
    Ok(Read { head: *head, text })
}

/// `direct`: the backends' keys are the callers' own. `price`: of every model.
pub(crate) fn world(sandbox: SocketAddr, direct: bool, price: Option<Price>) -> Snapshot {
    world_of(sandbox, |_| direct, price)
}

/// As [`world`], with some backends whose keys are the callers' own.
pub(crate) fn world_of(
    sandbox: SocketAddr,
    direct: impl Fn(Service) -> bool,
    price: Option<Price>,
) -> Snapshot {
    world_named(sandbox, direct, price, None)
}

/// As [`world_of`], with a name of the owner's own for a model.
pub(crate) fn world_named(
    sandbox: SocketAddr,
    direct: impl Fn(Service) -> bool,
    price: Option<Price>,
    alias: Option<(&str, &str)>,
) -> Snapshot {
    world_with(sandbox, BACKENDS, direct, price, alias)
}

/// As [`world`], with one more backend of OpenAI, `backend-6`.
pub(crate) fn world_with_two_of_openai(sandbox: SocketAddr, price: Option<Price>) -> Snapshot {
    let rows = [BACKENDS, &BACKENDS[..1]].concat();
    world_with(sandbox, &rows, |_| false, price, None)
}

fn world_with(
    sandbox: SocketAddr,
    rows: &[Row],
    direct: impl Fn(Service) -> bool,
    price: Option<Price>,
    alias: Option<(&str, &str)>,
) -> Snapshot {
    let mut roster = RosterBuilder::new(Arc::new(Catalog::embedded()));
    if let Some((name, model)) = alias {
        roster.alias(name.to_owned(), model.to_owned());
    }
    let mut endpoints = Vec::new();
    for (index, (service, path, dialect, models)) in rows.iter().enumerate() {
        let base = BaseUrl::parse(&format!("http://{sandbox}{path}")).expect("an address");
        let name = format!("backend-{index}");
        let filter = ModelFilter::new(models.iter().map(|&model| model.to_owned()).collect());
        let spec = BackendSpec {
            name: name.clone(),
            service: *service,
            filter,
        };
        roster.backend(spec, BackendModels::Snapshot, price);
        endpoints.push(Arc::new(Endpoint::new(EndpointConfig {
            name,
            service: *service,
            base,
            key: Secret::new("sandbox-key".into()),
            allow_private: true,
            dialects: dialect.map(|dialect| vec![dialect]),
            direct: direct(*service),
        })));
    }
    let patience = Duration::from_secs(10);
    Snapshot {
        router: Router::new(roster.build(), Policy::default()),
        profiles: std::collections::BTreeMap::new(),
        setup: SetupPolicy::default(),
        endpoints,
        fallbacks: HashMap::new(),
        deadlines: Deadlines {
            header: patience,
            whole_header: patience,
            first_token: patience,
            idle: patience,
            total: patience,
            heartbeat: patience,
        },
        max_attempts: 3,
        resilience: Resilience::NONE,
        wallet: None,
        sandbox: true,
        billing: Billing::new(patience),
        limits: DefaultLimits::default(),
        stages: Stages::default(),
        cache: CachePolicy::default(),
    }
}

/// A prompt that scripts the simulated model.
pub(crate) fn script(steps: Value) -> String {
    format!("Please. bardo-script: {}", json!({ "steps": steps }))
}

/// A request of one user message in any caller's dialect.
pub(crate) fn prompt(dialect: Dialect, model: &str, text: &str) -> Value {
    match dialect {
        Dialect::Responses => json!({ "model": model, "input": text }),
        Dialect::Anthropic => {
            json!({ "model": model, "max_tokens": 1000, "messages": [{ "role": "user", "content": text }] })
        }
        _ => json!({ "model": model, "messages": [{ "role": "user", "content": text }] }),
    }
}
