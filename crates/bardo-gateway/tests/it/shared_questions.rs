//! Questions that gateways share through a server that speaks the REST interface of Qdrant, with
//! their answers in a real Redis server, on the built binary.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_store::servers::RedisServer;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Folder, Gateway, Sandbox, command, eventually, makers, with};
use crate::scripted::{Got, Scripted, Turn};
use crate::sse::Caller;

const SECRET: &str = "an operator's secret of more than thirty-two bytes";
const API_KEY: &str = "key-of-the-vector-store";

/// The collection of the server, and what it does wrong.
#[derive(Default)]
struct Collection {
    dimension: Option<u64>,
    points: Vec<Value>,
    forges: bool,
    is_gone: bool,
}

/// A server with the part of Qdrant's REST interface that gateways use: creating a collection and
/// its indexes, storing points, searching with a filter, and deleting by ids or by a filter.
struct VectorServer {
    server: Scripted,
    state: Arc<Mutex<Collection>>,
}

fn locked(state: &Mutex<Collection>) -> MutexGuard<'_, Collection> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl VectorServer {
    fn start() -> Self {
        let state = Arc::new(Mutex::new(Collection::default()));
        let own = Arc::clone(&state);
        let server = Scripted::start(move |mut turn: Turn| {
            let mut state = locked(&own);
            if state.is_gone {
                return;
            }
            let (status, body) = state.answer(&turn.got);
            turn.answer(status, "application/json", &body.to_string());
        });
        Self { server, state }
    }

    fn points(&self) -> usize {
        locked(&self.state).points.len()
    }
}

impl Collection {
    fn answer(&mut self, got: &Got) -> (u16, Value) {
        let sent = |name: &str| {
            let mut headers = got.headers.iter();
            let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim().to_owned())
        };
        if sent("api-key").as_deref() != Some(API_KEY) {
            return (403, json!({ "status": { "error": "Forbidden" } }));
        }
        let body: Value = serde_json::from_slice(&got.body).expect("a body in JSON");
        let mut line = got.line.split(' ');
        let place = (line.next().unwrap_or(""), line.next().unwrap_or(""));
        let done = json!({ "result": { "operation_id": 1, "status": "acknowledged" }, "status": "ok", "time": 0.001 });
        if place == ("PUT", "/collections/questions") {
            assert_eq!(body["vectors"]["distance"], "Cosine");
            self.dimension = body["vectors"]["size"].as_u64();
            return (200, json!({ "result": true, "status": "ok", "time": 0.01 }));
        }
        let Some(dimension) = self.dimension else {
            let error = "Not found: Collection `questions` doesn't exist!";
            return (404, json!({ "status": { "error": error }, "time": 0.0 }));
        };
        match place {
            ("PUT", "/collections/questions/index") => (200, done),
            ("PUT", "/collections/questions/points") => {
                for point in body["points"].as_array().expect("points") {
                    let count = point["vector"].as_array().map(Vec::len);
                    assert_eq!(count, usize::try_from(dimension).ok());
                    self.points.retain(|known| known["id"] != point["id"]);
                    self.points.push(point.clone());
                }
                (200, done)
            }
            ("POST", "/collections/questions/points/query") => {
                let near = self.points.iter();
                let near = near.filter(|one| fits(one, &body["filter"]));
                let mut near: Vec<(f64, &Value)> = near
                    .map(|one| (cosine(&one["vector"], &body["query"]), one))
                    .collect();
                near.sort_by(|one, other| other.0.total_cmp(&one.0));
                let limit = body["limit"].as_u64().unwrap_or(10) as usize;
                let found = near.into_iter().take(limit).map(|(score, one)| {
                    let sealed = match self.forges {
                        true => json!("Zm9yZ2Vk"),
                        false => one["payload"]["sealed"].clone(),
                    };
                    json!({ "id": one["id"], "version": 0, "score": score, "payload": { "sealed": sealed } })
                });
                let found: Vec<Value> = found.collect();
                (
                    200,
                    json!({ "result": { "points": found }, "status": "ok", "time": 0.001 }),
                )
            }
            ("POST", "/collections/questions/points/delete") => {
                let ids = body["points"].as_array().cloned().unwrap_or_default();
                self.points.retain(|one| match body["filter"].is_null() {
                    true => !ids.contains(&one["id"]),
                    false => !fits(one, &body["filter"]),
                });
                (200, done)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Whether a point meets all conditions of a filter.
fn fits(point: &Value, filter: &Value) -> bool {
    let conditions = filter["must"].as_array().expect("conditions");
    conditions.iter().all(|condition| {
        let value = &point["payload"][condition["key"].as_str().expect("a key")];
        let number = value.as_u64().unwrap_or(0);
        let is_one_of = |wanted: &Value| match value {
            Value::Array(values) => values.contains(wanted),
            value => value == wanted,
        };
        if let Some(any) = condition["match"]["any"].as_array() {
            any.iter().any(is_one_of)
        } else if let Some(limit) = condition["range"]["gt"].as_u64() {
            number > limit
        } else if let Some(limit) = condition["range"]["lte"].as_u64() {
            number <= limit
        } else {
            is_one_of(&condition["match"]["value"])
        }
    })
}

fn cosine(one: &Value, other: &Value) -> f64 {
    let numbers = |value: &Value| -> Vec<f64> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(Value::as_f64).collect()
    };
    let (one, other) = (numbers(one), numbers(other));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
}

fn settings(sandbox: &Sandbox, redis: &RedisServer, vectors: &VectorServer) -> Value {
    let cache = json!({
        "redis_url": redis.url(),
        "redis_key": SECRET,
        "semantic": {
            "deadline": "30s", "first_audits": 0, "audit_share": 0, "baseline_share": 0,
            "vectors": { "url": vectors.server.at(""), "collection": "questions", "api_key": API_KEY },
        },
    });
    with(makers(sandbox), "cache", cache)
}

fn gateway(settings: &Value) -> Gateway {
    let gateway = Gateway::start(settings);
    eventually("answers are shared", || {
        (stats(&gateway)["second_level"]["knows_removals"] == true).then_some(())
    });
    gateway
}

fn stats(gateway: &Gateway) -> Value {
    Request::get("/admin/cache").send(gateway.admin).json()
}

fn ask(gateway: &Gateway, text: &str) -> Answer {
    let body = Caller::Chat.request("gpt-5.5", text, false).to_string();
    let request = Request::post(Caller::Chat.path(), body).with("x-bardo-cache", "semantic");
    let answer = gateway.send(&request.with("x-bardo-domain", "support"));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer
}

/// How often a look by meaning or a change of the shared questions was given up.
fn skipped(gateway: &Gateway) -> u64 {
    let stats = stats(gateway);
    let counts = stats["semantic"]["skipped"].as_object();
    let counts = counts.into_iter().flat_map(|counts| counts.values());
    counts.filter_map(Value::as_u64).sum()
}

/// Asks other questions until one of them is counted for this reason.
fn lost(gateway: &Gateway, reason: &str, first: u32) {
    let mut number = first;
    eventually(reason, || {
        number += 1;
        let answer = ask(gateway, &format!("Where is the key of room {number}?"));
        assert_eq!(answer.header("x-bardo-cache"), Some("miss"));
        let count = stats(gateway)["semantic"]["skipped"][reason].as_u64();
        (count > Some(0)).then_some(())
    });
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    let line = format!("bardo_cache_semantic_skipped_total{{reason=\"{reason}\"}}");
    assert!(metrics.contains(&line), "{metrics}");
}

#[test]
fn a_question_that_one_gateway_learnt_is_answered_by_another() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let vectors = VectorServer::start();
    let settings = settings(&sandbox, &redis, &vectors);
    let (here, there) = (gateway(&settings), gateway(&settings));

    // A busy machine may be late: then the other gateway has an answer of its own, and searches
    // nothing for a second.
    let mut rooms = 1..;
    let (room, served) = eventually("a hit by meaning", || {
        let room = rooms.next()?;
        let (known, before) = (vectors.points(), skipped(&here));
        let first = ask(
            &here,
            &format!("How do I turn on night mode in room {room}?"),
        );
        assert_eq!(first.header("x-bardo-cache"), Some("miss"));
        eventually("the question is shared", || {
            (vectors.points() > known || skipped(&here) > before).then_some(())
        });
        sandbox.forget();
        let same = format!("How can I turn on night mode in room {room}?");
        let same = ask(&there, &same);
        (same.header("x-bardo-cache") == Some("semantic")).then_some((room, same))
    });
    assert_eq!(served.header("x-bardo-cost"), Some("0.000000"));
    assert!(sandbox.journal().is_empty(), "no provider is called");

    let opposite = format!("How do I turn off night mode in room {room}?");
    let opposite = ask(&there, &opposite);
    assert_eq!(opposite.header("x-bardo-cache"), Some("miss"));
    for got in vectors.server.got() {
        let text = got.text().to_lowercase();
        for word in ["mode", "turn", "support", "gpt", "acct"] {
            assert!(!text.contains(&format!("\"{word}")) && !text.contains(&format!("{word} ")));
        }
    }

    // A question that is on its way during a flush arrives behind it.
    eventually("the flush reaches the vectors", || {
        let flush = Request::json("/admin/cache/flush", &json!({ "all": true }));
        flush.send(here.admin);
        (vectors.points() == 0).then_some(())
    });
}

#[test]
fn a_vector_store_that_is_gone_or_answers_with_forged_questions_is_a_miss_and_a_count() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let vectors = VectorServer::start();
    let gateway = gateway(&settings(&sandbox, &redis, &vectors));
    ask(&gateway, "How do I turn on night mode?");
    let mut rooms = 200_000..;
    eventually("a question is shared", || {
        ask(
            &gateway,
            &format!("Where is the key of room {}?", rooms.next()?),
        );
        (vectors.points() > 0).then_some(())
    });
    locked(&vectors.state).forges = true;
    lost(&gateway, "vectors_foreign", 0);
    locked(&vectors.state).is_gone = true;
    lost(&gateway, "vectors_down", 100_000);
    // Its own memory goes on.
    let own = ask(&gateway, "How can I enable night mode?");
    assert_eq!(own.header("x-bardo-cache"), Some("semantic"));
}

#[test]
fn a_vector_store_without_shared_answers_is_refused_by_check() {
    let sandbox = Sandbox::start();
    let folder = Folder::new();
    for (vectors, part) in [
        (
            json!({ "url": "http://127.0.0.1:6333" }),
            "`cache.semantic.vectors` needs `cache.redis_url`",
        ),
        (json!({ "url": "qdrant" }), "`cache.semantic.vectors"),
    ] {
        let cache = json!({ "semantic": { "vectors": vectors } });
        let file = folder.write(
            "bad.yaml",
            &with(makers(&sandbox), "cache", cache).to_string(),
        );
        let done = command(&folder)
            .args(["check", "--config"])
            .arg(file)
            .output()
            .expect("the binary runs");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(!done.status.success() && error.contains(part), "{error}");
    }
}
