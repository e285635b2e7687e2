//! Stored answers: which requests get them, in which form, and what is never stored.

use std::sync::Arc;

use bardo_access::{CachePermission, DelegatedSpending, PayerTerms};
use bardo_engine::{CachePolicy, EngineError, Hints, Principal, Snapshot, Task};
use bardo_types::ids::KeyId;
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{Outcome, Receipt};
use bardo_types::usage::Usage;
use serde_json::{Value, json};

use crate::purse::{PRICE, Purse};
use crate::world::{Bench, Call, Read, prompt, read, script, world, world_named};

const DIALECTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Completions,
];

/// The shipped policy, with the cache on.
pub(crate) fn policy() -> CachePolicy {
    CachePolicy {
        enabled: true,
        ..CachePolicy::default()
    }
}

/// A caller with money before an engine that stores answers.
pub(crate) async fn purse() -> Purse {
    let purse = Purse::with("1000").await;
    purse.bench.swap(|address| {
        let mut world = world(address, false, Some(PRICE));
        world.billing.spread = BasisPoints::new(2_000).expect("in range");
        world.cache = policy();
        world
    });
    purse
}

/// A request that asks for the cache.
pub(crate) fn asking(dialect: Dialect, model: &str, text: &str, stream: bool) -> Value {
    let mut body = match dialect {
        Dialect::Completions => json!({ "model": model, "prompt": text }),
        _ => prompt(dialect, model, text),
    };
    let limit = match dialect {
        Dialect::Responses => "max_output_tokens",
        _ => "max_tokens",
    };
    body[limit] = json!(1000);
    body["stream"] = json!(stream);
    body["bardo"] = json!({ "cache": "default" });
    body
}

/// A scripted answer of some words, which begin with `mark`.
pub(crate) fn words(mark: &str) -> String {
    let text = format!("{mark} and a few more words that fill this answer up to its end.");
    script(json!([{ "text": text }]))
}

/// The words of an answer, streamed or whole.
pub(crate) fn said(answer: &str) -> String {
    if !answer.contains("data: ") {
        return answer.to_owned();
    }
    let places = [
        "/choices/0/delta/content",
        "/choices/0/text",
        "/delta/text",
        "/delta",
    ];
    let events = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events = events.filter_map(|json| serde_json::from_str::<Value>(json).ok());
    let words = |event: Value| {
        let found = places
            .iter()
            .find_map(|place| event.pointer(place)?.as_str());
        found.map(str::to_owned)
    };
    events.filter_map(words).collect()
}

async fn last(purse: &Purse) -> Receipt {
    purse.settled().await.pop().expect("a receipt")
}

#[tokio::test]
async fn an_identical_request_is_served_from_the_cache_in_each_dialect_streamed_and_whole() {
    let purse = purse().await;
    for dialect in DIALECTS {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            for (first, second) in [(false, false), (false, true), (true, false), (true, true)] {
                let place = format!("{dialect:?}-{model}-{first}-{second}");
                let text = words(&place);
                let calls = purse.bench.received().await.len();
                let made = purse
                    .ask(dialect, &asking(dialect, model, &text, first))
                    .await;
                assert_eq!(made.expect(&place).head.cache, "miss", "{place}");
                let spent = purse.balance().await.spent;
                let found = purse
                    .ask(dialect, &asking(dialect, model, &text, second))
                    .await;
                let found = found.expect(&place);
                assert_eq!(found.head.cache, "hash", "{place}");
                assert!(found.head.cache_age.is_some(), "{place}");
                let figures = found.head.figures.expect("they are known at the start");
                assert_eq!(figures.cost, Some(MicroUsd::ZERO), "{place}");
                assert!(figures.savings > Some(MicroUsd::ZERO), "{place}");
                let words = said(&found.text);
                assert!(
                    words.contains(&place) && words.contains("up to its end."),
                    "{words}"
                );
                assert_eq!(purse.bench.received().await.len(), calls + 1, "{place}");
                let receipt = last(&purse).await;
                assert_eq!(receipt.outcome, Outcome::Finished, "{place}");
                assert_eq!(receipt.usage, Some(Usage::default()), "{place}");
                assert!(receipt.saved_usage.is_some_and(|saved| saved.output > 9));
                assert_eq!(receipt.amounts.charge, MicroUsd::ZERO, "{place}");
                assert!(receipt.backend.is_empty() && receipt.attempts.is_empty());
                assert_eq!(purse.balance().await.spent, spent, "{place}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_of_messages_says_the_size_of_its_prompt_when_it_begins() {
    let purse = purse().await;
    for (model, first) in [
        ("gpt-5.5", false),
        ("gpt-5.5", true),
        ("claude-sonnet-5-5", false),
        ("claude-sonnet-5-5", true),
    ] {
        let text = words(&format!("{model}-{first}"));
        let body = |stream| asking(Dialect::Anthropic, model, &text, stream);
        let made = purse.ask(Dialect::Anthropic, &body(first)).await;
        made.expect("an answer");
        let found = purse.ask(Dialect::Anthropic, &body(true)).await;
        let found = found.expect("an answer");
        assert_eq!(found.head.cache, "hash", "{model} {first}");
        let data = |kind: &str| -> Value {
            let lines = found.text.lines();
            let mut data = lines.filter_map(|line| line.strip_prefix("data: "));
            let json = data.find(|json| json.contains(kind)).expect(kind);
            serde_json::from_str(json).expect("JSON")
        };
        let begun = &data("message_start")["message"]["usage"];
        let ended = &data("message_delta")["usage"];
        assert!(begun["input_tokens"].as_u64() > Some(0), "{}", found.text);
        assert_eq!(begun["input_tokens"], ended["input_tokens"]);
        // A client that adds both up gets the right sum.
        assert_eq!(begun["output_tokens"], 0);
        assert!(ended["output_tokens"].as_u64() > Some(9));
        let saved = last(&purse).await.saved_usage.expect("it was saved");
        assert_eq!(ended["output_tokens"], saved.output);
        assert_eq!(begun["input_tokens"], saved.prompt());
    }
}

#[tokio::test]
async fn a_stored_answer_names_its_agent_and_warns_about_hints() {
    let purse = purse().await;
    let mut body = asking(Dialect::Chat, "gpt-5.5", &words("an agent"), false);
    let hints = json!({
        "cache": "default", "golem_id": "golem-7", "tick": 41, "vitality": 0.5, "phase": "moon",
    });
    body["bardo"] = hints;
    let mut warnings = Vec::new();
    for layer in ["miss", "hash"] {
        let read = purse.ask(Dialect::Chat, &body).await.expect(layer);
        assert_eq!(read.head.cache, layer);
        warnings.push(read.head.warnings.clone());
        let receipt = last(&purse).await;
        let routing = receipt.routing.expect("the caller gave hints");
        assert_eq!(routing.golem_id.as_deref(), Some("golem-7"), "{layer}");
        assert_eq!((routing.tick, routing.vitality), (Some(41), Some(0.5)));
        assert!(!routing.automatic, "{layer}");
        assert_eq!(routing.warnings.len(), 1, "{layer} {routing:?}");
    }
    assert!(warnings[0].contains("phase"), "{warnings:?}");
    assert_eq!(warnings[0], warnings[1]);
    // Without hints there is nothing to say.
    let silent = asking(Dialect::Chat, "gpt-5.5", &words("nobody"), false);
    for layer in ["miss", "hash"] {
        let read = purse.ask(Dialect::Chat, &silent).await.expect(layer);
        assert_eq!(read.head.cache, layer);
        assert!(last(&purse).await.routing.is_none(), "{layer}");
    }
}

#[tokio::test]
async fn a_body_with_members_that_are_not_read_is_served_to_its_twin_alone_and_only_when_asked() {
    let purse = purse().await;
    // The API of Chat Completions refuses such members.
    for (dialect, list) in [
        (Dialect::Anthropic, "messages"),
        (Dialect::Responses, "input"),
    ] {
        let text = words(list);
        let body = |phase: &str, stream: bool| {
            let mut body = asking(dialect, "gpt-5.5", &text, stream);
            body[list] = json!([
                { "role": "user", "content": "Is it ready?" },
                { "role": "assistant", "content": "I look.", "phase": phase },
                { "role": "user", "content": text },
            ]);
            body
        };
        let place = async |body: &Value| {
            let answer = purse.ask(dialect, body).await;
            answer.expect(list).head.cache
        };
        assert_eq!(place(&body("commentary", false)).await, "miss");
        assert_eq!(place(&body("commentary", false)).await, "hash");
        assert_eq!(place(&body("commentary", true)).await, "hash");
        assert_eq!(place(&body("final_answer", false)).await, "miss");
        let mut silent = body("commentary", false);
        silent["temperature"] = json!(0);
        silent.as_object_mut().expect("an object").remove("bardo");
        assert_eq!(place(&silent).await, "bypass");
    }
}

#[tokio::test]
async fn an_answer_in_one_dialect_serves_the_others() {
    let purse = purse().await;
    let text = words("shared");
    for (index, dialect) in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses]
        .into_iter()
        .enumerate()
    {
        let body = asking(dialect, "gpt-5.5", &text, index == 1);
        let answer = purse.ask(dialect, &body).await.expect("an answer");
        let expected = if index == 0 { "miss" } else { "hash" };
        assert_eq!(answer.head.cache, expected, "{dialect:?}");
        assert!(said(&answer.text).contains("shared"), "{}", answer.text);
    }
    assert_eq!(purse.bench.received().await.len(), 1);
}

#[tokio::test]
async fn callers_say_whether_answers_are_stored_and_served() {
    let purse = purse().await;
    let dialect = Dialect::Chat;
    let ask = async |mark: &str, cache: Option<&str>, temperature: Option<f64>| {
        let mut body = asking(dialect, "gemini-3-flash", &words(mark), false);
        body["bardo"] = json!({});
        if let Some(cache) = cache {
            body["bardo"]["cache"] = json!(cache);
        }
        if let Some(temperature) = temperature {
            body["temperature"] = json!(temperature);
        }
        let answer = purse.ask(dialect, &body).await;
        answer.map(|answer| answer.head.cache.into_owned())
    };
    let said = async |mark, cache, temperature| {
        let answer = ask(mark, cache, temperature).await;
        answer.unwrap_or_else(|error| error.to_string())
    };
    // Nothing is said: only an answer that leaves nothing to chance.
    assert_eq!(said("a", None, None).await, "bypass");
    assert_eq!(said("a", None, Some(1.0)).await, "bypass");
    assert_eq!(said("b", None, Some(0.0)).await, "miss");
    assert_eq!(said("b", None, Some(0.0)).await, "hash");
    // Never above 0.7.
    assert_eq!(said("c", Some("default"), Some(0.9)).await, "bypass");
    // Neither stored nor served.
    assert_eq!(said("d", Some("no-store"), None).await, "bypass");
    assert_eq!(said("d", Some("default"), None).await, "miss");
    assert_eq!(said("d", Some("no-store"), None).await, "bypass");
    // Stored and not served.
    assert_eq!(said("d", Some("no-cache"), None).await, "miss");
    assert_eq!(said("e", Some("no-cache"), None).await, "miss");
    assert_eq!(said("e", Some("only-if-cached"), None).await, "hash");
    let calls = purse.bench.received().await.len();
    let refused = ask("f", Some("only-if-cached"), None).await.unwrap_err();
    assert!(
        matches!(refused, EngineError::NotCached { .. }),
        "{refused}"
    );
    assert_eq!(purse.bench.received().await.len(), calls);
}

/// Asks twice and says how many calls that took.
async fn calls_of_two(purse: &Purse, dialect: Dialect, body: &Value) -> usize {
    let before = purse.bench.received().await.len();
    for _ in 0..2 {
        let _ = purse.ask(dialect, body).await;
    }
    purse.bench.received().await.len() - before
}

#[tokio::test]
async fn what_did_not_end_well_is_never_stored() {
    let purse = purse().await;
    let long = "One sentence after another keeps the stream going. ".repeat(4);
    let short = json!([{ "text": "Yes." }]);
    let cut = |kind: &str| json!([{ "text": long, "fault": { "kind": kind, "events": 6 } }]);
    let tool = json!([{ "tool": { "name": "look", "input": {} } }]);
    for (name, steps) in [
        ("short", short),
        ("eof", cut("eof_after")),
        ("cut", cut("cut_after")),
        ("error", cut("error_event_after")),
        ("tool", tool),
    ] {
        for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
            for model in ["gpt-5.5", "claude-sonnet-5-5"] {
                let body = asking(dialect, model, &script(steps.clone()), true);
                let calls = calls_of_two(&purse, dialect, &body).await;
                assert_eq!(calls, 2, "{name} {dialect:?} {model}");
            }
        }
    }
    // A limit that ends the answer in its middle.
    let mut body = asking(
        Dialect::Chat,
        "gpt-5.5",
        &script(json!([{ "text": long }])),
        false,
    );
    body["max_tokens"] = json!(12);
    assert_eq!(calls_of_two(&purse, Dialect::Chat, &body).await, 2);
    // Several answers.
    let mut body = asking(Dialect::Chat, "gpt-5.5", &words("n"), false);
    body["n"] = json!(2);
    assert_eq!(calls_of_two(&purse, Dialect::Chat, &body).await, 2);
    assert_eq!(purse.bench.engine.cache().store().stats().hits, 0);
}

#[tokio::test]
async fn an_answer_without_the_form_that_its_request_asks_for_is_never_stored() {
    let purse = purse().await;
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "integer" }, "words": { "type": "string" } },
        "required": ["value", "words"],
        "additionalProperties": false
    });
    let words = "enough words that this answer is as long as one that is stored";
    let good = json!({ "value": 4, "words": words }).to_string();
    let typed = json!({ "value": "four", "words": words }).to_string();
    let cut = good[..good.len() - 1].to_owned();
    for (text, of_schema, of_object) in [
        (&good, 1, 1),
        (&typed, 2, 1),
        (&cut, 2, 2),
        (&words.to_owned(), 2, 2),
    ] {
        for stream in [false, true] {
            let prompt = script(json!([{ "text": text }]));
            let mut body = asking(Dialect::Chat, "gpt-5.5", &prompt, stream);
            body["seed"] = json!(u8::from(stream));
            let asked = json!({ "name": "answer", "strict": true, "schema": schema });
            body["response_format"] = json!({ "type": "json_schema", "json_schema": asked });
            let calls = calls_of_two(&purse, Dialect::Chat, &body).await;
            assert_eq!(calls, of_schema, "{text} {stream}");
        }
        let mut body = asking(
            Dialect::Chat,
            "gpt-5.5",
            &script(json!([{ "text": text }])),
            false,
        );
        let messages = body["messages"].as_array_mut().expect("a list");
        messages.insert(0, json!({ "role": "system", "content": "Answer in JSON." }));
        body["response_format"] = json!({ "type": "json_object" });
        let calls = calls_of_two(&purse, Dialect::Chat, &body).await;
        assert_eq!(calls, of_object, "{text}");
    }
}

#[tokio::test]
async fn a_failure_of_a_provider_is_never_stored() {
    let purse = purse().await;
    for status in [400, 404, 429, 500, 503] {
        let body = asking(
            Dialect::Chat,
            "gpt-5.5",
            &words(&format!("s{status}")),
            false,
        );
        let fault = json!({ "kind": "status", "status": status });
        purse.bench.fault("openai", 1, fault).await;
        assert!(purse.ask(Dialect::Chat, &body).await.is_err(), "{status}");
        let answer = purse.ask(Dialect::Chat, &body).await.expect("an answer");
        assert_eq!(answer.head.cache, "miss", "{status}");
    }
}

#[tokio::test]
async fn a_key_gets_no_answer_of_a_model_or_backend_that_it_may_not_use() {
    let mut purse = purse().await;
    let body = asking(Dialect::Chat, "gpt-5.5", &words("scoped"), false);
    let made = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert_eq!(made.head.cache, "miss");
    purse.key.scopes.models = vec!["claude-*".to_owned()];
    let refused = purse.ask(Dialect::Chat, &body).await.unwrap_err();
    assert!(matches!(refused, EngineError::Scope { .. }), "{refused}");
    purse.key.scopes.models.clear();
    purse.key.scopes.backends = vec!["backend-5".to_owned()];
    assert!(purse.ask(Dialect::Chat, &body).await.is_err());
    purse.key.scopes.backends.clear();
    let found = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert_eq!(found.head.cache, "hash");
}

#[tokio::test]
async fn a_stored_answer_is_the_last_resort_and_says_so() {
    // The backend is down, or refuses the gateway's own key or its credit.
    let served = [503, 401, 402].map(|status| (status, "no-cache", true));
    // The backend refuses the request.
    let refused = [400, 403].map(|status| (status, "no-cache", false));
    let all = served.into_iter().chain(refused);
    for (status, cache, is_served) in all.chain([(503, "no-store", false)]) {
        let purse = purse().await;
        let mut body = asking(Dialect::Chat, "gpt-5.5", &words("resort"), true);
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
        let fault = json!({ "kind": "status", "status": status });
        purse.bench.fault("openai", 1, fault).await;
        body["bardo"]["cache"] = json!(cache);
        match purse.ask(Dialect::Chat, &body).await {
            Ok(answer) => {
                assert!(is_served, "{status} {cache}");
                assert_eq!(answer.head.cache, "hash");
                assert!(answer.head.degraded.contains("no_cache"));
                let receipt = last(&purse).await;
                assert_eq!(receipt.outcome, Outcome::Finished);
                assert_eq!(receipt.attempts.len(), 1);
                assert_eq!(receipt.amounts.charge, MicroUsd::ZERO);
            }
            Err(error) => assert!(!is_served, "{status} {cache}: {error}"),
        }
        purse.settled().await;
    }
}

#[tokio::test]
async fn the_answer_of_a_fallback_is_not_stored_where_its_name_stands_for_another_model() {
    let bench = Bench::start();
    bench.swap(|address| {
        let alias = Some(("gpt-5.5", "claude-sonnet-5-5"));
        let mut world = world_named(address, |_| true, None, alias);
        let fallbacks = vec!["backend-0/gpt-5.5".to_owned()];
        world.fallbacks.insert("gpt-5.5".to_owned(), fallbacks);
        world.cache = policy();
        world
    });
    let body = asking(Dialect::Chat, "gpt-5.5", &words("renamed"), false);
    let fault = json!({ "kind": "status", "status": 503 });
    bench.fault("anthropic", 1, fault).await;
    for (model, cache) in [
        ("gpt-5.5", "miss"),
        ("claude-sonnet-5-5", "miss"),
        ("claude-sonnet-5-5", "hash"),
    ] {
        let answer = bench.ask(Dialect::Chat, &body).await.expect("an answer");
        let told = (&*answer.head.model, &*answer.head.cache);
        assert_eq!(told, (model, cache));
    }
}

#[tokio::test]
async fn an_answer_that_lacks_what_a_request_insists_on_does_not_serve_it() {
    let purse = purse().await;
    let insisting = |on: &str| {
        let mut body = asking(Dialect::Chat, "claude-sonnet-5-5", &words("seed"), false);
        body["seed"] = json!(7);
        body["bardo"]["require"] = json!([on]);
        body
    };
    let answer = purse.ask(Dialect::Chat, &insisting("logprobs")).await;
    let answer = answer.expect("an answer");
    assert!(answer.head.degraded.contains("seed"), "{:?}", answer.head);
    let refused = purse.ask(Dialect::Chat, &insisting("seed")).await;
    assert!(refused.is_err(), "{:?}", refused.map(|answer| answer.head));
}

/// A caller and an agent of it.
async fn of_agent(bench: &Bench, account: &str, agent: Option<&str>, body: &Value) -> Read {
    let mut hints = Hints::default();
    if let Some(agent) = agent {
        hints.header("golem-id", agent);
    }
    let call = Call {
        task: Task::Generate,
        dialect: Dialect::Chat,
        body,
        principal: Principal::owner(account).expect("an id"),
        hints,
    };
    let call = bench.read(call).expect("a request");
    let answer = Arc::clone(&bench.engine).answer(call).await;
    read(answer.expect("an answer")).await.expect("all of it")
}

#[tokio::test]
async fn no_answer_crosses_from_one_account_or_agent_to_another() {
    let bench = Bench::start();
    bench.swap(|address| Snapshot {
        cache: policy(),
        ..world(address, true, None)
    });
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    let accounts = ["alice", "bob", "alic", "alice2"];
    let agents = [None, Some("a"), Some("b"), Some("alice")];
    let mut seen = std::collections::HashSet::new();
    for _ in 0..150 {
        let (account, agent) = (accounts[random(4)], agents[random(4)]);
        let question = random(3);
        let body = asking(
            Dialect::Chat,
            "gpt-5.5",
            &words(&format!("q{question}")),
            false,
        );
        let answer = of_agent(&bench, account, agent, &body).await;
        let is_new = seen.insert((account, agent, question));
        let expected = if is_new { "miss" } else { "hash" };
        assert_eq!(
            answer.head.cache, expected,
            "{account} {agent:?} {question}"
        );
    }
}

#[tokio::test]
async fn who_spends_by_a_delegation_gets_no_answer_of_the_account_nor_of_another_delegation() {
    let mut purse = purse().await;
    let own = purse.key.id.clone();
    let mut body = asking(Dialect::Chat, "gpt-5.5", &words("delegated"), false);
    let caller = |name: &KeyId, purse: &Purse| {
        let most = MicroUsd::new(1_000_000);
        let counted_as = name.clone();
        let delegated = (*name != own).then_some(DelegatedSpending { counted_as, most });
        let terms = PayerTerms::of_key(&purse.key);
        PayerTerms { delegated, ..terms }
    };
    let names = [own.as_str(), "0x1:0x2", "0x1:0x3"].map(|name| KeyId::parse(name).expect("an id"));
    for agent in ["", "one"] {
        body["bardo"]["golem_id"] = json!(agent);
        for expected in ["miss", "hash"] {
            for name in &names {
                purse.terms = Some(caller(name, &purse));
                let answer = purse.ask(Dialect::Chat, &body).await.expect("an answer");
                assert_eq!(answer.head.cache, expected, "{name} {agent}");
            }
        }
    }
}

#[tokio::test]
async fn the_scope_of_a_key_speaks_for_silent_requests_and_off_is_off() {
    let mut purse = purse().await;
    let mut body = asking(Dialect::Chat, "gpt-5.5", &words("scoped"), false);
    let member = |body: &mut Value, wish: &str| body["bardo"] = json!({ "cache": wish });
    let place = async |purse: &Purse, body: &Value| {
        let answer = purse.ask(Dialect::Chat, body).await;
        answer.expect("an answer").head.cache
    };
    member(&mut body, "default");
    assert_eq!(place(&purse, &body).await, "miss");
    // A silent request of a temperature of its own takes part where its key says so.
    body.as_object_mut().expect("an object").remove("bardo");
    assert_eq!(place(&purse, &body).await, "bypass");
    for scope in [CachePermission::Default, CachePermission::Semantic] {
        purse.key.scopes.cache = Some(scope);
        assert_eq!(place(&purse, &body).await, "hash", "{scope:?}");
    }
    member(&mut body, "no-store");
    assert_eq!(place(&purse, &body).await, "bypass");
    purse.key.scopes.cache = Some(CachePermission::Off);
    for wish in ["default", "no-cache"] {
        member(&mut body, wish);
        assert_eq!(place(&purse, &body).await, "bypass", "{wish}");
    }
    member(&mut body, "only-if-cached");
    let refused = purse.ask(Dialect::Chat, &body).await;
    let Err(EngineError::NotCached { why }) = refused else {
        panic!("a key without a cache was served from it");
    };
    assert!(why.contains("cache=off"), "{why}");
}
