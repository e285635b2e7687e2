//! What a caller may read of its own account, and of nobody else's.

use serde_json::{Value, json};

use crate::http::Request;
use crate::paying::maker::{self, OUTPUT, PROMPT};
use crate::paying::till::{Key, Stand, Till, header, micro_of};
use crate::rig::Gateway;
use crate::sse::Caller;

struct Scene {
    till: Till,
    gateway: Gateway,
    key: Key,
    /// Of the same account, and reads only.
    reader: Key,
}

fn scene() -> Scene {
    let maker = maker::maker();
    let till = Till::new(maker::billed(&maker));
    let key = till.rich("1");
    let reader = till.key(&["--account", &key.account, "--scope", "read-only"]);
    assert!(reader.key.starts_with("bardo_pk_"));
    let gateway = till.open();
    Scene {
        till,
        gateway,
        key,
        reader,
    }
}

impl Scene {
    #[track_caller]
    fn request(&self, own_id: Option<&str>, stream: bool) -> String {
        let body = Caller::Chat.request("m-chat", "Hello", stream);
        let mut request = self.key.ask(Caller::Chat, &body);
        if let Some(id) = own_id {
            request = request.with("x-request-id", id);
        }
        let answer = self.gateway.send(&request);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        header(&answer, "x-bardo-request-id").to_owned()
    }

    #[track_caller]
    fn read(&self, key: &Key, path: &str) -> Value {
        let answer = self.gateway.send(&key.get(path));
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer.json()
    }
}

#[test]
fn a_balance_is_what_the_verbs_show() {
    let scene = scene();
    scene.request(None, false);
    let stand = scene.till.stand(&scene.key);
    for key in [&scene.key, &scene.reader] {
        let shown = scene.read(key, "/v1/balance");
        assert_eq!(Stand::of(&shown), stand);
        assert_eq!(shown["mode"], "prepaid");
        assert_eq!(shown["currency"], "USD");
        assert_eq!(shown["account"], scene.key.account);
    }
    for key in [
        "bardo_sk_0123456789abcdef_0123456789",
        "bardo_pk_x_y",
        "nonsense",
    ] {
        let request = Request::get("/v1/balance").with("x-api-key", key);
        assert_eq!(scene.gateway.send(&request).status(), 401, "{key}");
    }
    assert_eq!(
        scene.gateway.send(&Request::get("/v1/balance")).status(),
        401
    );
    let posted = scene.key.sign(Request::json("/v1/balance", &json!({})));
    assert_eq!(scene.gateway.send(&posted).status(), 405);
}

#[test]
fn usage_is_summed_by_day_model_and_backend() {
    let scene = scene();
    for stream in [false, true, false] {
        scene.request(None, stream);
    }
    let charge = maker::charge(2_000);
    for key in [&scene.key, &scene.reader] {
        let usage = scene.read(key, "/v1/usage");
        assert_eq!(usage["total"]["requests"], 3, "{usage}");
        assert_eq!(usage["total"]["input_tokens"], 3 * PROMPT);
        assert_eq!(usage["total"]["output_tokens"], 3 * OUTPUT);
        assert_eq!(micro_of(&usage["total"]["charge"]), 3 * charge);
        assert_eq!(micro_of(&usage["total"]["provider_cost"]), 3 * 1_880);
        let rows = usage["data"].as_array().expect("rows");
        let requests: u64 = rows
            .iter()
            .map(|row| row["requests"].as_u64().expect("a number"))
            .sum();
        assert_eq!(requests, 3, "{usage}");
        assert!(rows.iter().all(|row| row["model"] == "m-chat"), "{usage}");
        assert!(
            rows.iter().all(|row| row["provider"] == "direct/openai"),
            "{usage}"
        );
        // The day of the first row, and one without any.
        let day = rows[0]["date"].as_str().expect("a date");
        let one = scene.read(key, &format!("/v1/usage?from={day}&to={day}"));
        assert_eq!(one["from"], day);
        assert!(one["total"]["requests"].as_u64() > Some(0), "{one}");
        let none = scene.read(key, "/v1/usage?from=2020-02-28&to=2020-02-29");
        assert_eq!(none["total"]["requests"], 0);
        assert_eq!(none["data"], json!([]));
        assert_eq!(none["total"]["charge"], "0.000000");
    }
    let wrong = [
        "from=yesterday",
        "to=2026-02-30",
        "from=2026-11-20&to=2026-11-19",
        "from=2020-01-01&to=2026-01-01",
        "from=20261120",
    ];
    for query in wrong {
        let answer = scene
            .gateway
            .send(&scene.key.get(&format!("/v1/usage?{query}")));
        assert_eq!(answer.status(), 400, "{query}: {}", answer.text());
        Caller::Chat.check_error(&answer.json());
    }
    let stranger = scene.till.rich("1");
    assert_eq!(scene.read(&stranger, "/v1/usage")["total"]["requests"], 0);
}

#[test]
fn a_receipt_is_its_callers_alone() {
    let scene = scene();
    let first = scene.request(Some("my-own-id.1"), false);
    let second = scene.request(Some("my-own-id.1"), true);
    assert_ne!(
        first, second,
        "the caller's own id may repeat, ours does not"
    );
    let stranger = scene.till.rich("1");
    for key in [&scene.key, &scene.reader] {
        for id in [&first, &second] {
            let receipt = scene.read(key, &format!("/v1/receipts/{id}"));
            assert_eq!(receipt["request_id"], **id);
            assert_eq!(receipt["client_request_id"], "my-own-id.1");
        }
        let newest = scene.read(key, "/v1/receipts/my-own-id.1");
        assert_eq!(newest["request_id"], second, "{newest}");
    }
    let text = scene
        .read(&scene.key, &format!("/v1/receipts/{first}"))
        .to_string();
    assert!(!text.contains("Hello"), "no prompt and no answer: {text}");
    assert!(!text.contains(&scene.key.key));
    let long = "x".repeat(500);
    let missing = |key: &Key, id: &str| {
        let answer = scene.gateway.send(&key.get(&format!("/v1/receipts/{id}")));
        assert_eq!(answer.status(), 404, "{}", answer.text());
        Caller::Chat.check_error(&answer.json());
        assert_eq!(answer.json()["error"]["bardo_code"], "receipt_not_found");
        assert_eq!(answer.json()["error"]["code"], "receipt_not_found");
    };
    for id in [&first, &second, "my-own-id.1"] {
        missing(&stranger, id);
    }
    for id in ["req_nothing", "..%2F..", "'%20OR%201=1--", &long] {
        missing(&scene.key, id);
    }
}

#[test]
fn events_tell_what_was_settled_to_its_own_account() {
    let scene = scene();
    let stranger = scene.till.rich("1");
    let mut feeds: Vec<_> = [&scene.key, &scene.reader, &stranger]
        .map(|key| {
            let mut exchange = scene
                .gateway
                .open(&key.get("/v1/events?events=inference.completed"));
            let head = exchange.head();
            assert_eq!(head.status, 200);
            let kind = head.get("content-type").expect("a type");
            assert!(kind.starts_with("text/event-stream"), "{kind}");
            let mut seen = Vec::new();
            exchange.until(&mut seen, ": connected");
            (exchange, seen)
        })
        .into();
    let ids = [scene.request(None, false), scene.request(None, true)];
    let body = Caller::Chat.request("m-chat", "Hello", false);
    let theirs = scene.gateway.send(&stranger.ask(Caller::Chat, &body));
    let theirs = header(&theirs, "x-request-id").to_owned();
    for (index, (exchange, seen)) in feeds.iter_mut().enumerate() {
        let (own, others) = match index {
            2 => (vec![&theirs], ids.iter().collect()),
            _ => (ids.iter().collect(), vec![&theirs]),
        };
        for id in own {
            exchange.until(seen, id);
        }
        exchange.until(seen, "\n\n");
        let text = String::from_utf8_lossy(seen);
        assert!(text.contains("event: inference.completed"), "{text}");
        assert!(
            others.iter().all(|id: &&String| !text.contains(*id)),
            "{text}"
        );
    }
}
