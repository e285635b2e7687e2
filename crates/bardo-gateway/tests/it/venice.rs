//! The endpoints below `/venice`: the caller's own calls there, and nothing of what was said.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::paying::till::{Key, Till};
use crate::rig::{Gateway, Sandbox, everything, makers, with};

const MODEL: &str = "venice/zai-org-glm-5-2";
const SECRET: &str = "the password is swordfish";

fn ask(tick: u64) -> Value {
    json!({
        "model": MODEL,
        "messages": [{ "role": "user", "content": SECRET }],
        "bardo": { "subsystem": "dream_rem", "tick": tick, "golem_id": "g1" },
    })
}

struct Scene {
    sandbox: Sandbox,
    gateway: Gateway,
    key: Key,
    stranger: Key,
    _till: Till,
}

fn scene() -> Scene {
    let sandbox = Sandbox::start();
    // The list of the tests has no prices for Venice.
    let config = with(everything(&sandbox), "providers.venice.bill", json!(false));
    let till = Till::new(config);
    let (key, stranger) = (till.rich("1"), till.rich("1"));
    Scene {
        gateway: till.open(),
        sandbox,
        key,
        stranger,
        _till: till,
    }
}

impl Scene {
    fn call(&self, tick: u64) -> Answer {
        let request = self
            .key
            .sign(Request::json("/v1/chat/completions", &ask(tick)));
        self.gateway.send(&request)
    }

    #[track_caller]
    fn read(&self, key: &Key, path: &str) -> Value {
        let answer = self.gateway.send(&key.get(path));
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.json()
    }

    #[track_caller]
    fn token(&self) -> String {
        let issued = self
            .gateway
            .send(&self.key.get("/venice/stream-token").method("POST"));
        assert_eq!(issued.status(), 200, "{}", issued.text());
        assert_eq!(issued.header("cache-control"), Some("no-store"));
        issued.json()["token"].as_str().expect("a token").to_owned()
    }
}

#[test]
fn calls_are_listed_newest_first_to_their_own_account_without_a_word_of_them() {
    let scene = scene();
    for tick in 1..=3 {
        let answer = scene.call(tick);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    scene
        .sandbox
        .fault("venice", &json!({ "kind": "status", "status": 401 }));
    assert_ne!(scene.call(4).status(), 200);
    let told = scene.read(&scene.key, "/venice/telemetry");
    let ticks: Vec<_> = told["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["tick_id"])
        .collect();
    assert_eq!(ticks, ["4", "3", "2", "1"]);
    let (failed, last) = (&told["data"][0], &told["data"][1]);
    assert_eq!(failed["outcome"], "failed");
    assert_eq!(failed["failure"]["class"], "authentication");
    assert_eq!(last["cognition_class"], "dream_rem");
    assert_eq!(last["privacy_tier"], "private");
    assert_eq!(last["outcome"], "finished");
    assert!(last["input_tokens"].as_u64() > Some(0), "{last}");
    assert!(last["cf_ray"].is_string(), "{last}");
    assert!(!told.to_string().contains("swordfish"));
    assert_eq!(
        scene.read(&scene.key, "/venice/telemetry?limit=1")["data"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        scene.read(&scene.stranger, "/venice/telemetry")["data"],
        json!([])
    );
    assert_eq!(
        scene.read(&scene.key, "/venice/attestations")["data"],
        json!([])
    );

    let status = scene.read(&scene.key, "/venice/status");
    assert_eq!(status["keyStatus"], "expired");
    assert_eq!(status["lastTickId"], "4");
    assert_eq!(status["privacyTierDistribution"], json!({ "private": 1.0 }));
    assert!(
        status["budget"]["dream_rem"]["consumed"].is_string(),
        "{status}"
    );
    let of_stranger = scene.read(&scene.stranger, "/venice/status");
    assert_eq!(of_stranger["calls"], 0);
    assert_eq!(of_stranger["totalCostUsd"], "0.000000");
}

#[test]
fn a_stream_tells_calls_as_they_happen_and_those_that_were_missed() {
    let scene = scene();
    let mut feed = scene.gateway.open(&Request::get(&format!(
        "/venice/stream?token={}",
        scene.token()
    )));
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    scene.call(1);
    feed.until(&mut seen, "\"tickId\":\"1\"");
    feed.until(&mut seen, "\n\n");
    let text = String::from_utf8_lossy(&seen).into_owned();
    assert!(text.contains("event: budget"), "{text}");
    assert!(
        text.contains("event: cognition") && !text.contains("swordfish"),
        "{text}"
    );
    let id = text
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .expect("an id")
        .to_owned();
    drop(feed);
    scene.call(2);
    scene.call(3);
    let again = scene.key.get("/venice/stream").with("last-event-id", &id);
    let mut again = scene.gateway.open(&again);
    let mut seen = Vec::new();
    again.until(&mut seen, "\"tickId\":\"3\"");
    let text = String::from_utf8_lossy(&seen).into_owned();
    assert!(
        text.contains("\"tickId\":\"2\"") && !text.contains("\"tickId\":\"1\""),
        "{text}"
    );
    let mut other = scene.gateway.open(
        &scene
            .stranger
            .get("/venice/stream")
            .with("last-event-id", "0-0"),
    );
    let mut seen = Vec::new();
    other.until(&mut seen, ": connected");
    assert!(!String::from_utf8_lossy(&seen).contains("cognition"));
}

#[test]
fn a_token_of_a_stream_opens_it_once_and_bad_requests_say_what_is_wrong() {
    let scene = scene();
    let path = format!("/venice/stream?token={}", scene.token());
    assert_eq!(scene.gateway.open(&Request::get(&path)).head().status, 200);
    for refused in [&*path, "/venice/stream?token=guessed"] {
        let answer = scene.gateway.send(&Request::get(refused));
        assert_eq!(answer.status(), 401, "{}", answer.text());
        assert!(answer.text().contains("stream-token"), "{}", answer.text());
    }
    assert!(
        !scene
            .gateway
            .log()
            .contains(path.trim_start_matches("/venice/stream?token="))
    );
    for path in ["/venice/telemetry", "/venice/stream", "/venice/status"] {
        assert_eq!(
            scene.gateway.send(&Request::get(path)).status(),
            401,
            "{path}"
        );
    }
    for limit in ["0", "-1", "many", "1.5"] {
        let answer = scene
            .gateway
            .send(&scene.key.get(&format!("/venice/telemetry?limit={limit}")));
        assert_eq!(answer.status(), 400, "{}", answer.text());
        assert_eq!(answer.json()["error"]["param"], "limit");
    }
    let wrong = scene.gateway.send(&scene.key.get("/venice/stream-token"));
    assert_eq!((wrong.status(), wrong.header("allow")), (405, Some("POST")));
}

#[test]
fn without_venice_its_endpoints_make_nothing_up() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&with(makers(&sandbox), "catalog", json!({})));
    for path in [
        "/venice/telemetry",
        "/venice/attestations",
        "/venice/stream",
    ] {
        let answer = gateway.send(&Request::get(path));
        assert_eq!(answer.status(), 503, "{path}: {}", answer.text());
        assert_eq!(answer.json()["error"]["bardo_code"], "not_configured");
        assert!(
            answer.text().contains("providers.venice.api_key"),
            "{}",
            answer.text()
        );
    }
    let status = gateway.send(&Request::get("/venice/status")).json();
    assert_eq!(
        (&status["configured"], &status["keyStatus"]),
        (&json!(false), &Value::Null)
    );
}

#[test]
fn the_page_loads_its_own_files_alone() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for (path, kind) in [
        ("/venice", "text/html"),
        ("/venice/page.css", "text/css"),
        ("/venice/page.js", "text/javascript"),
    ] {
        let answer = gateway.send(&Request::get(path));
        assert_eq!(answer.status(), 200, "{path}");
        assert!(
            answer
                .header("content-type")
                .is_some_and(|is| is.starts_with(kind)),
            "{path}"
        );
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"));
    }
    assert_eq!(
        gateway.send(&Request::get("/venice/page.php")).status(),
        404
    );
}
