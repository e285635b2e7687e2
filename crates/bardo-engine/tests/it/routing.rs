//! Who answers, how the model is set up, and what is said of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bardo_engine::{
    EngineError, EventSink, Explained, Hints, Principal, SeedSpent, Services, SetupPolicy,
    Snapshot, Task,
};
use bardo_providers::{BaseUrl, Endpoint, EndpointConfig};
use bardo_router::{
    BackendModels, BackendSpec, BankrPolicy, Catalog, ModelFilter, Policy, RefusalKind,
    RosterBuilder, Router,
};
use bardo_types::fault::Fault;
use bardo_types::model::{Dialect, Price, Service};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::profile::InferenceProfile;
use bardo_types::receipt::Receipt;
use bardo_types::secret::Secret;
use serde_json::{Value, json};

use crate::prompt_cache::CACHED;
use crate::purse::PRICE;
use crate::world::{Bench, Call, Read, prompt, read, script, world};

/// Keeps the receipts.
#[derive(Default)]
struct Kept(Mutex<Vec<Receipt>>);

impl EventSink for Kept {
    fn settled(&self, receipt: &Receipt) {
        self.0.lock().expect("nobody panics").push(receipt.clone());
    }

    fn attempt_failed(&self, _request_id: &str, _backend: &str, _fault: &Fault) {}
}

pub(crate) type Backend = (Service, &'static str, &'static str, &'static [&'static str]);

const BLOCKRUN: Backend = (
    Service::BlockRun,
    "blockrun",
    "/blockrun/v1",
    &[
        "claude-opus-5-5",
        "claude-sonnet-5",
        "claude-haiku-4-5",
        "gemini-3.6-flash",
    ],
);
pub(crate) const OPENROUTER: Backend = (
    Service::OpenRouter,
    "openrouter",
    "/openrouter/api/v1",
    &[
        "claude-opus-5-5",
        "claude-sonnet-5",
        "claude-haiku-4-5",
        "deepseek-v4-pro",
    ],
);
const VENICE: Backend = (
    Service::Venice,
    "venice",
    "/venice/api/v1",
    &["deepseek-v4-pro", "zai-org-glm-5-2"],
);
const BANKR: Backend = (Service::Bankr, "bankr", "/bankr/v1", &["claude-sonnet-4-6"]);
const ANTHROPIC: Backend = (
    Service::Anthropic,
    "direct/anthropic",
    "/anthropic",
    &["claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5"],
);

pub(crate) struct Scene {
    pub(crate) bench: Bench,
    kept: Arc<Kept>,
}

impl Scene {
    pub(crate) fn of(backends: &[Backend]) -> Self {
        Self::with(backends, BTreeMap::new())
    }

    fn with(backends: &[Backend], profiles: BTreeMap<String, InferenceProfile>) -> Self {
        let kept = Arc::new(Kept::default());
        let sink: Arc<dyn EventSink> = kept.clone();
        let bench = Bench::with(Services::without_money(sink), |address| Snapshot {
            profiles,
            ..routed_world(address, backends)
        });
        Self { bench, kept }
    }

    pub(crate) async fn ask(&self, body: &Value) -> Result<Read, EngineError> {
        let call = Call {
            task: Task::Generate,
            dialect: Dialect::Chat,
            body,
            principal: Principal::owner("test").expect("an id"),
            hints: Hints::default(),
        };
        let call = self.bench.read(call)?;
        read(Arc::clone(&self.bench.engine).answer(call).await?).await
    }

    fn explain(&self, body: &Value) -> Explained {
        let received = self.bench.received_request(Dialect::Chat, body);
        let engine = &self.bench.engine;
        engine.explain(received).expect("it is well formed")
    }

    pub(crate) fn last(&self) -> Receipt {
        let kept = self.kept.0.lock().expect("nobody panics");
        kept.last().expect("a receipt").clone()
    }

    async fn sent(&self) -> Value {
        let received = self.bench.received().await;
        serde_json::from_str(received.last().expect("a request")).expect("JSON")
    }
}

fn routed_world(sandbox: SocketAddr, backends: &[Backend]) -> Snapshot {
    ruled_world(sandbox, backends, Policy::default())
}

fn ruled_world(sandbox: SocketAddr, backends: &[Backend], policy: Policy) -> Snapshot {
    priced_world(sandbox, backends, policy, PRICE)
}

pub(crate) fn priced_world(
    sandbox: SocketAddr,
    backends: &[Backend],
    policy: Policy,
    price: Price,
) -> Snapshot {
    let mut roster = RosterBuilder::new(Arc::new(Catalog::embedded()));
    let mut endpoints = Vec::new();
    for (service, name, path, models) in backends {
        let filter = ModelFilter::new(models.iter().map(|&model| model.to_owned()).collect());
        let spec = BackendSpec {
            name: (*name).to_owned(),
            service: *service,
            filter,
        };
        roster.backend(spec, BackendModels::Snapshot, Some(price));
        endpoints.push(Arc::new(Endpoint::new(EndpointConfig {
            name: (*name).to_owned(),
            service: *service,
            base: BaseUrl::parse(&format!("http://{sandbox}{path}")).expect("an address"),
            // BlockRun's keys begin so.
            key: Secret::new("brk_live_sandbox".into()),
            allow_private: true,
            dialects: None,
            direct: false,
        })));
    }
    Snapshot {
        router: Router::new(roster.build(), policy),
        endpoints,
        ..world(sandbox, true, None)
    }
}

fn asked(model: &str, bardo: Value) -> Value {
    let mut body = prompt(Dialect::Chat, model, "Hello");
    body["bardo"] = bardo;
    body
}

#[tokio::test]
async fn a_dream_goes_where_nothing_is_kept_and_nowhere_else() {
    let scene = Scene::of(&[BLOCKRUN, OPENROUTER, VENICE]);
    let dream = asked("bardo/auto", json!({ "subsystem": "dream" }));
    let answer = scene.ask(&dream).await.unwrap();
    assert_eq!(&*answer.head.backend, "venice");
    let routing = scene.last().routing.expect("it was routed");
    assert_eq!(routing.security_class, SecurityClass::Private);
    assert_eq!(routing.subsystem.as_deref(), Some("dream"));
    assert!(routing.automatic);

    scene
        .bench
        .fault("venice", 20, json!({ "kind": "status", "status": 503 }))
        .await;
    let before = scene.bench.received().await.len();
    let refused = scene.ask(&dream).await.unwrap_err();
    assert!(matches!(refused, EngineError::Upstream(_)), "{refused}");
    let receipt = scene.last();
    assert!(receipt.attempts.iter().all(|one| &*one.backend == "venice"));
    assert!(scene.bench.received().await.len() > before);
}

#[tokio::test]
async fn what_is_to_be_kept_secret_is_refused_where_nobody_keeps_it_so() {
    let scene = Scene::of(&[BLOCKRUN, OPENROUTER]);
    for class in ["private", "tee", "e2ee"] {
        for model in ["bardo/auto", "claude-opus-5-5"] {
            let body = asked(
                model,
                json!({ "security_class": class, "accept_degraded": true }),
            );
            let refused = scene.ask(&body).await.unwrap_err();
            let EngineError::Refused { refusal, .. } = refused else {
                panic!("{class} {model}: {refused}");
            };
            assert_eq!(refusal.kind, RefusalKind::Privacy);
            // No hosted provider encrypts to its own hardware, so Venice mends the others alone.
            let mends = if class == "e2ee" {
                "trusted_local"
            } else {
                "venice"
            };
            assert!(refusal.advice.contains(mends), "{}", refusal.advice);
        }
    }
    assert!(scene.bench.received().await.is_empty());
}

#[tokio::test]
async fn a_floor_of_the_table_yields_visibly_where_nobody_could_keep_it() {
    let scene = Scene::of(&[BLOCKRUN]);
    let answer = scene
        .ask(&asked("bardo/auto", json!({ "subsystem": "dream" })))
        .await
        .unwrap();
    let lost: Vec<&str> = answer.head.degraded.split(',').collect();
    assert!(lost.contains(&"privacy"), "{lost:?}");
    assert!(lost.contains(&"visible_thinking"), "{lost:?}");
}

#[tokio::test]
async fn a_profile_is_put_into_a_relayed_request_and_nothing_else_moves() {
    let scene = Scene::of(&[BLOCKRUN]);
    let mut body = asked("gemini-3.6-flash", json!({ "subsystem": "playbook" }));
    body["messages"][0]["content"] = json!("Hello,  \u{00e9} there");
    scene.ask(&body).await.unwrap();
    let sent = scene.sent().await;
    assert_eq!(sent["temperature"], json!(0.4));
    assert!(sent["max_tokens"].is_u64(), "{sent}");
    assert_eq!(sent["messages"], body["messages"]);
    assert!(sent.get("bardo").is_none());
    let profile = scene.last().routing.unwrap().profile.expect("a profile");
    assert_eq!(profile.row.as_deref(), Some("playbook"));
    assert_eq!(profile.temperature, Some(0.4));
}

#[tokio::test]
async fn the_callers_own_parameter_wins_unless_the_row_is_locked() {
    let scene = Scene::of(&[BLOCKRUN]);
    let mut body = asked("gemini-3.6-flash", json!({ "subsystem": "heartbeat_t1" }));
    body["temperature"] = json!(1.0);
    scene.ask(&body).await.unwrap();
    assert_eq!(scene.sent().await["temperature"], json!(1.0));
    body["bardo"]["subsystem"] = json!("risk");
    scene.ask(&body).await.unwrap();
    assert_ne!(scene.sent().await["temperature"], json!(1.0));
}

#[tokio::test]
async fn the_owner_sets_up_a_subsystem() {
    let owner = InferenceProfile {
        temperature: Some(0.75),
        ..InferenceProfile::default()
    };
    let scene = Scene::with(&[BLOCKRUN], [("heartbeat_t1".to_owned(), owner)].into());
    let body = asked("gemini-3.6-flash", json!({ "subsystem": "heartbeat_t1" }));
    scene.ask(&body).await.unwrap();
    assert_eq!(scene.sent().await["temperature"], json!(0.75));
}

#[tokio::test]
async fn traffic_moves_to_who_satisfies_the_same_and_the_receipt_says_so() {
    let scene = Scene::of(&[BLOCKRUN, OPENROUTER, VENICE]);
    scene
        .bench
        .fault("blockrun", 20, json!({ "kind": "status", "status": 503 }))
        .await;
    let body = asked("bardo/auto", json!({ "subsystem": "heartbeat_t2" }));
    let answer = scene.ask(&body).await.unwrap();
    assert_eq!(&*answer.head.backend, "openrouter");
    let receipt = scene.last();
    assert_eq!(&*receipt.attempts[0].backend, "blockrun");
    assert!(receipt.attempts[0].failure.is_some());
    assert_eq!(&*receipt.backend, "openrouter");
}

#[tokio::test]
async fn an_answer_that_misses_its_schema_is_mended_once() {
    let scene = Scene::of(&[ANTHROPIC]);
    let kept = r#"{"action":"hold"}"#;
    let schema = json!({ "type": "object", "properties": { "action": { "type": "string" } }, "required": ["action"], "additionalProperties": false });
    let ask = |steps: Value| {
        let mut body = prompt(Dialect::Chat, "claude-haiku-4-5", &script(steps));
        let profile =
            json!({ "response_schema": { "name": "act", "schema": schema, "strict": true } });
        body["bardo"] = json!({ "profile": profile });
        body
    };
    let broken = ask(json!([{ "text": "hold, I think" }, { "text": kept }]));
    let answer = scene.ask(&broken).await.unwrap();
    assert_eq!(
        answer.json()["choices"][0]["message"]["content"],
        json!(kept)
    );
    let receipt = scene.last();
    let outcome = receipt.routing.as_ref().unwrap().schema.clone().unwrap();
    assert_eq!((outcome.valid, outcome.repaired), (Some(true), true));
    assert_eq!(receipt.attempts.len(), 2);
    assert_eq!(scene.bench.received().await.len(), 2);
}

#[tokio::test]
async fn nothing_is_asked_or_sent_for_an_explanation() {
    let scene = Scene::of(&[BLOCKRUN, VENICE]);
    let body = asked(
        "bardo/auto",
        json!({ "subsystem": "dream", "vitality": 0.2 }),
    );
    let explained = scene
        .bench
        .engine
        .explain(scene.bench.received_request(Dialect::Chat, &body))
        .unwrap();
    let route = explained.explanation.outcome.expect("a route");
    assert_eq!(route.security_class, SecurityClass::Private);
    assert!(explained.explanation.considered.len() >= 4);
    assert!(explained.wanted.is_some());
    assert!(scene.bench.received().await.is_empty());
    assert!(scene.kept.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn hints_that_make_no_sense_are_said_and_do_no_harm() {
    let scene = Scene::of(&[BLOCKRUN]);
    let body = asked("claude-haiku-4-5", json!({ "vitality": 7, "mood": "fine" }));
    let answer = scene.ask(&body).await.unwrap();
    assert_eq!(&*answer.head.model, "claude-haiku-4-5");
    let routing = scene.last().routing.unwrap();
    assert_eq!(routing.warnings.len(), 2, "{:?}", routing.warnings);
    assert_eq!(routing.vitality, Some(1.0));
}

#[tokio::test]
async fn what_is_required_may_be_missing_where_the_caller_takes_that() {
    let scene = Scene::of(&[VENICE]);
    let body = |accept: bool| {
        let intent = json!({ "require": ["citations"] });
        asked(
            "zai-org-glm-5-2",
            json!({ "intent": intent, "accept_degraded": accept }),
        )
    };
    let refused = scene.ask(&body(false)).await.unwrap_err();
    assert!(matches!(refused, EngineError::Refused { .. }), "{refused}");
    let answer = scene.ask(&body(true)).await.unwrap();
    assert_eq!(answer.head.degraded, "citations");
}

#[tokio::test]
async fn an_agent_shares_a_prompt_cache_within_a_session_and_the_provider_learns_no_name() {
    let scene = Scene::of(&[VENICE]);
    let ask = async |session: &str, secret: &str, named: Option<&str>| {
        scene.bench.swap(|address| Snapshot {
            setup: SetupPolicy {
                cache_key_secret: Secret::new(secret.to_owned()),
                ..SetupPolicy::default()
            },
            ..routed_world(address, &[VENICE])
        });
        let mut hints =
            json!({ "subsystem": "dream_rem", "golem_id": "golem-7", "session_id": session });
        if let Some(named) = named {
            hints["profile"] = json!({ "prompt_cache_key": named });
        }
        let messages = json!([{ "role": "user", "content": "Dream." }]);
        let body = json!({ "model": "bardo/auto", "messages": messages, "bardo": hints });
        scene.ask(&body).await.expect("an answer");
        scene.sent().await["prompt_cache_key"].clone()
    };
    let first = ask("s1", "a secret", None).await;
    let text = first.as_str().expect("a key");
    assert!(text.starts_with("golem-") && text.len() == 32 && !text.contains("golem-7"));
    assert_eq!(ask("s1", "a secret", None).await, first);
    assert_ne!(ask("s2", "a secret", None).await, first);
    assert_ne!(ask("s1", "another secret", None).await, first);
    assert_eq!(ask("s1", "", None).await, Value::Null);
    // A name of the caller's own is sealed too, and is the same in all sessions.
    let named = ask("s1", "a secret", Some("main")).await;
    assert!(named != first && named.as_str().is_some_and(|key| !key.contains("main")));
    assert_eq!(ask("s2", "a secret", Some("main")).await, named);
    assert_ne!(ask("s1", "a secret", Some("other")).await, named);
}

#[tokio::test]
async fn the_seed_of_a_day_pays_for_an_agent_until_it_is_spent_and_a_restart_gives_no_other() {
    let start = || {
        let scene = Scene::of(&[BANKR, BLOCKRUN]);
        scene.bench.swap(|address| {
            let bankr = BankrPolicy {
                self_funding: true,
                lifetime_revenue: Some(MicroUsd::ZERO),
                ..BankrPolicy::default()
            };
            let policy = Policy {
                bankr,
                ..Policy::default()
            };
            ruled_world(address, &[BANKR, BLOCKRUN], policy)
        });
        scene
    };
    let stored: Arc<Mutex<Vec<SeedSpent>>> = Arc::default();
    let first = start();
    let kept = Arc::clone(&stored);
    let store = move |spent: &SeedSpent| kept.lock().expect("no panic").push(spent.clone());
    first.bench.engine.seeds().store_by(store);
    // 300 tokens at 100 USD a million: three answers and a little cost 0.09 of the 0.10 USD.
    let answered = async |scene: &Scene, golem: &str| {
        let text = script(json!([{ "text": "Well.", "usage": { "output": 300 } }]));
        let mut body = prompt(Dialect::Chat, "bardo/auto", &text);
        body["max_tokens"] = json!(300);
        body["bardo"] = json!({ "subsystem": "autonomous", "golem_id": golem });
        let answer = scene.ask(&body).await.expect("an answer");
        answer.head.backend.to_string()
    };
    for _ in 0..3 {
        assert_eq!(answered(&first, "g1").await, "bankr");
    }
    assert_eq!(answered(&first, "g1").await, "blockrun");
    assert_eq!(answered(&first, "g2").await, "bankr", "each has its own");
    let again = start();
    let known = stored.lock().expect("no panic").clone();
    assert_eq!(known.len(), 4);
    again.bench.engine.seeds().load(known);
    assert_eq!(answered(&again, "g1").await, "blockrun");
    assert_eq!(answered(&again, "g2").await, "bankr");
}

/// Venice with a model that its simulation has.
const GLM: Backend = (
    Service::Venice,
    "venice",
    "/venice/api/v1",
    &["zai-org-glm-5-2"],
);

/// Requests that leave more and less to the gateway, each with what the caller says beside it.
fn questions() -> Vec<Value> {
    let schema = json!({ "type": "object", "properties": { "action": { "type": "string" } }, "required": ["action"], "additionalProperties": false });
    let schema = json!({ "name": "act", "schema": schema, "strict": true });
    let mut all = vec![
        prompt(Dialect::Chat, "claude-haiku-4-5", "Hello"),
        prompt(Dialect::Chat, "claude-opus-5-5", "Hello"),
        asked("bardo/auto", json!({ "subsystem": "heartbeat_t1" })),
        asked("bardo/auto", json!({ "subsystem": "heartbeat_t2" })),
        asked(
            "bardo/auto",
            json!({ "subsystem": "dream", "vitality": 0.2 }),
        ),
        asked("bardo/auto", json!({ "subsystem": "risk" })),
        asked(
            "bardo/auto",
            json!({ "subsystem": "heartbeat_t1", "max_cost_usd": 0.5 }),
        ),
        asked("claude-opus-5-5", json!({ "subsystem": "operator" })),
        asked(
            "claude-haiku-4-5",
            json!({ "profile": { "response_schema": schema, "temperature": 0.2 } }),
        ),
    ];
    let mut limited = prompt(Dialect::Chat, "claude-sonnet-5", "Hello");
    limited["max_tokens"] = json!(300);
    all.push(limited);
    all
}

/// The limit of output of a request as a provider got it, in whatever dialect.
fn output_limit(sent: &Value) -> Option<u64> {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    names.iter().find_map(|name| sent[name].as_u64())
}

#[tokio::test]
async fn what_an_explanation_shows_is_what_the_next_request_does() {
    for body in questions() {
        let scene = Scene::of(&[BLOCKRUN, ANTHROPIC, OPENROUTER, GLM]);
        let explained = scene.explain(&body);
        let legs = &explained.legs;
        let choices = explained.explanation.outcome.expect("a route").choices;
        let shown = choices.iter().map(|choice| &choice.candidate.entry.id);
        assert!(shown.eq(legs.iter().map(|leg| &leg.model)), "{body}");

        let answer = scene.ask(&body).await.expect("an answer");
        let attempts = scene.last().attempts;
        assert_eq!(attempts.len(), 1, "{body}: {attempts:?}");
        assert_eq!(*answer.head.backend, *legs[0].backend, "{body}");
        assert_eq!(*answer.head.model, *legs[0].model, "{body}");
        assert_eq!(answer.head.degraded, explained.degraded_list, "{body}");
        let sent = output_limit(&scene.sent().await);
        if let Some(limit) = legs[0].output_limit {
            assert_eq!(sent, Some(limit), "{body}");
        }
        // Anthropic's format has no requests without a limit.
        let needs_limit = scene.last().upstream_dialect == Dialect::Anthropic;
        assert!(
            sent.is_none() || needs_limit || legs[0].output_limit.is_some(),
            "{body}"
        );
    }
}

#[tokio::test]
async fn failover_goes_in_the_order_that_an_explanation_shows() {
    for body in questions() {
        let scene = Scene::of(&[BLOCKRUN, ANTHROPIC, OPENROUTER, GLM]);
        let explained = scene.explain(&body);
        let legs = &explained.legs;
        for service in ["blockrun", "anthropic", "openrouter", "venice"] {
            let unavailable = json!({ "kind": "status", "status": 503 });
            scene.bench.fault(service, 20, unavailable).await;
        }
        assert!(!legs.is_empty(), "{body}: {:?}", explained.refused);
        let error = scene.ask(&body).await.expect_err("nothing is up");
        assert!(
            matches!(error, EngineError::Upstream(_)),
            "{body}: {error:?}"
        );
        let attempts = scene.last().attempts;
        let tried: Vec<&str> = attempts.iter().map(|one| &*one.backend).collect();
        let order: Vec<&str> = legs.iter().map(|leg| &*leg.backend).collect();
        let distinct = tried.len().min(order.len());
        assert_eq!(tried[..distinct], order[..distinct], "{body}");
        assert_eq!(distinct, order.len().min(3), "{body}: {tried:?}");
    }
}

#[tokio::test]
async fn a_model_that_is_named_without_hints_is_explained_as_it_is_served() {
    let scene = Scene::of(&[OPENROUTER, BLOCKRUN]);
    let body = prompt(Dialect::Chat, "claude-haiku-4-5", "Hello");
    let explained = scene.explain(&body);
    let order: Vec<&str> = explained.legs.iter().map(|leg| &*leg.backend).collect();
    assert_eq!(order, ["openrouter", "blockrun"]);
    let choices = explained.explanation.outcome.expect("a route").choices;
    let shown: Vec<usize> = choices.iter().map(|one| one.candidate.backend).collect();
    assert_eq!(shown, [0, 1]);
}

#[tokio::test]
async fn a_session_goes_back_to_the_backend_that_holds_its_prompt() {
    let haiku: &[&str] = &["claude-haiku-4-5"];
    let (first, second) = (
        (BLOCKRUN.0, BLOCKRUN.1, BLOCKRUN.2, haiku),
        (OPENROUTER.0, OPENROUTER.1, OPENROUTER.2, haiku),
    );
    let scene = Scene::of(&[first, second]);
    scene
        .bench
        .swap(|address| priced_world(address, &[first, second], Policy::default(), CACHED));
    let body = |session: &str, rules: &str| {
        let mut body = asked("bardo/auto", json!({ "session_id": session }));
        let messages = body["messages"].as_array_mut().expect("a list");
        let mark = json!({ "type": "ephemeral" });
        let part = json!({ "type": "text", "text": rules.repeat(2_000), "cache_control": mark });
        messages.insert(0, json!({ "role": "system", "content": [part] }));
        body
    };
    let plan = |body: &Value| -> (Vec<String>, Option<String>) {
        let explained = scene.explain(body);
        let legs = explained.legs.into_iter().map(|leg| leg.backend).collect();
        (legs, explained.prompt_cache.affinity)
    };
    let (usual, none) = plan(&body("s1", "Follow the rules. "));
    assert_eq!(none, None);
    // The usual backend fails once, and the other one takes the session over.
    let service = usual[0].clone();
    let fault = json!({ "kind": "status", "status": 503 });
    scene.bench.fault(&service, 1, fault).await;
    let answer = scene.ask(&body("s1", "Follow the rules. ")).await.unwrap();
    assert_eq!(*answer.head.backend, *usual[1]);

    let (order, why) = plan(&body("s1", "Follow the rules. "));
    let why = why.expect("the session is warm");
    assert_eq!(order, [usual[1].as_str(), usual[0].as_str()], "{why}");
    assert!(why.contains("in its prompt cache"), "{why}");
    // Another session and another prompt go the usual way.
    for other in [
        body("s2", "Follow the rules. "),
        body("s1", "Other rules. "),
    ] {
        assert_eq!(plan(&other).1, None);
    }
}
