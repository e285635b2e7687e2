//! Stored answers that are removed because something changed, on the built binary.

use bardo_store::servers::RedisServer;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Folder, Gateway, Sandbox, command, eventually, makers, with};
use crate::sse::Caller;

const POOL: &str = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";

/// Asks about a market; `about` is part of the prompt.
fn ask(gateway: &Gateway, about: &str) -> Answer {
    ask_in(gateway, about, "defi")
}

fn ask_in(gateway: &Gateway, about: &str, domain: &str) -> Answer {
    let text = "Some words and a few more words that fill this answer up to its end.";
    let script = json!({ "steps": [{ "text": text }] });
    let question = format!("About {about}. bardo-script: {script}");
    let mut body = Caller::Chat.request("gpt-5.5", &question, false);
    body["bardo"] = json!({ "cache": "default", "domain": domain });
    gateway.send(&Request::json("/v1/chat/completions", &body))
}

fn place(gateway: &Gateway, about: &str) -> String {
    let answer = ask(gateway, about);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let place = answer.header("x-bardo-cache");
    place.expect("each answer has it").to_owned()
}

fn invalidate(gateway: &Gateway, order: &Value) -> Answer {
    Request::json("/admin/cache/invalidate", order).send(gateway.admin)
}

/// The `cache` verb beside the server.
fn verb(folder: &Folder, arguments: &[&str]) -> Value {
    let done = command(folder)
        .arg("cache")
        .args(arguments)
        .arg("--json")
        .output();
    let done = done.expect("the binary runs");
    let error = String::from_utf8_lossy(&done.stderr);
    serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{error}"))
}

#[test]
fn an_event_on_a_chain_removes_what_names_its_address_and_a_regime_what_is_about_a_market() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let fill = || {
        for about in [POOL, "stETH"] {
            place(&gateway, about);
            assert_eq!(place(&gateway, about), "hash");
        }
    };
    fill();
    let event = json!({ "chain": "base", "addresses": [POOL.to_lowercase()] });
    let removed = invalidate(&gateway, &event);
    assert_eq!(removed.json()["flushed"], 1, "{}", removed.text());
    assert_eq!(place(&gateway, POOL), "miss");
    assert_eq!(place(&gateway, "stETH"), "hash");

    let tags = [
        "flush",
        "--address",
        POOL,
        "--token",
        "steth",
        "--chain",
        "base",
    ];
    assert_eq!(verb(&gateway.folder, &tags)["flushed"], 2);
    fill();
    let regime = verb(&gateway.folder, &["flush", "--regime", "crash"]);
    assert_eq!(
        (&regime["flushed"], &regime["regime"]),
        (&json!(2), &json!("crisis"))
    );

    for wrong in [
        json!({}),
        json!({ "chain": "base" }),
        json!({ "regime": "wild" }),
        json!({ "addresses": ["hello"] }),
    ] {
        assert_eq!(invalidate(&gateway, &wrong).status(), 400, "{wrong}");
    }
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    for line in [
        "bardo_cache_invalidations_total{reason=\"chain\"} 3",
        "bardo_cache_invalidations_total{reason=\"regime\"} 1",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[test]
fn names_of_one_kind_can_be_repeated_and_an_order_without_a_name_lists_all_of_them() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let refused = |arguments: &[&str]| {
        let mut verb = command(&gateway.folder);
        let done = verb.args(["cache", "flush"]).args(arguments).output();
        let done = done.expect("the binary runs");
        assert!(!done.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let told = refused(&[]);
    for option in [
        "--all",
        "--account",
        "--agent",
        "--domain",
        "--token",
        "--pool",
        "--playbook",
        "--market",
        "--regime",
        "--address",
    ] {
        assert!(told.contains(option), "{option}: {told}");
    }
    assert!(
        !told.contains("--json") && !told.contains("--chain"),
        "{told}"
    );
    let told = refused(&[
        "--token",
        "ETH",
        "--token",
        "BTC",
        "--account",
        "a",
        "--agent",
        "g",
    ]);
    assert!(told.contains("--agent"), "{told}");
    let told = refused(&["--regime", "wild"]);
    assert!(told.contains("panic") && told.contains("crisis"), "{told}");

    for about in ["ETH", "BTC", "SOL"] {
        place(&gateway, about);
    }
    let removed = verb(
        &gateway.folder,
        &["flush", "--token", "eth", "--token", "btc"],
    );
    assert_eq!(removed["flushed"], 2, "{removed}");
    assert_eq!(place(&gateway, "SOL"), "hash");
}

#[test]
fn mistakes_in_orders_of_operators_are_told_without_the_words_of_the_parser() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    for (body, words) in [
        (r#"{"tokens":"ETH"}"#, "`tokens` must be a list"),
        ("hello", "is not valid JSON"),
        (r#"{"tokns":["ETH"]}"#, "`tokns` is unknown; use "),
        (r#"{"market":"yes"}"#, "`market` must be true or false"),
        ("{}", "`pools`"),
    ] {
        let request = Request::post("/admin/cache/invalidate", body);
        let answer = request.send(gateway.admin);
        assert_eq!(answer.status(), 400, "{body}: {}", answer.text());
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains(words), "{body}: {message}");
        assert!(!message.contains("expected"), "{body}: {message}");
    }
}

#[test]
fn an_account_that_loses_answers_reads_it_in_its_events() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    place(&gateway, POOL);
    let mut feed = gateway.open(&Request::get("/v1/events?events=cache.*"));
    assert_eq!(feed.head().status, 200);
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    invalidate(&gateway, &json!({ "addresses": [POOL] }));
    feed.until(&mut seen, "event: cache.flushed\ndata: ");
    feed.until(&mut seen, "}\n\n");
    let seen = String::from_utf8(seen).expect("UTF-8");
    let data = seen.split("data: ").last().expect("an event");
    let event: Value = serde_json::from_str(data.trim()).expect("JSON");
    assert_eq!(
        (&event["cause"], &event["removed"]),
        (&json!("chain"), &json!(1))
    );
}

#[test]
fn an_answer_that_is_stored_is_told_with_its_lifetime() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let mut feed = gateway.open(&Request::get("/v1/events?events=cache.stored"));
    assert_eq!(feed.head().status, 200);
    let mut seen = Vec::new();
    feed.until(&mut seen, ": connected");
    assert_eq!(place(&gateway, POOL), "miss");
    feed.until(&mut seen, "event: cache.stored\ndata: ");
    feed.until(&mut seen, "}\n\n");
    let seen = String::from_utf8(seen).expect("UTF-8");
    let data = seen.split("data: ").last().expect("an event");
    let event: Value = serde_json::from_str(data.trim()).expect("JSON");
    assert!(event["ttl_s"].as_u64() > Some(0), "{event}");
    assert!(
        event["request_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("req_"))
    );
    assert_eq!(place(&gateway, POOL), "hash");
}

#[test]
fn an_event_at_one_gateway_empties_the_memory_of_another_that_shares_its_redis() {
    let (sandbox, redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let key = "an operator's secret of more than thirty-two bytes";
    let shared = json!({ "redis_url": redis.url(), "redis_key": key });
    let config = with(makers(&sandbox), "cache", shared);
    let [here, there] = [(); 2].map(|()| Gateway::start(&config));
    let stats = |gateway: &Gateway| Request::get("/admin/cache").send(gateway.admin).json();
    for gateway in [&here, &there] {
        eventually("it has heard the others", || {
            (stats(gateway)["second_level"]["knows_removals"] == true).then_some(())
        });
        eventually("its own memory", || {
            (place(gateway, "stETH") == "hash").then_some(())
        });
    }
    eventually("Redis takes the order", || {
        let done = invalidate(&here, &json!({ "tokens": ["STETH"] })).json();
        done["second_level"]["error"].is_null().then_some(())
    });
    let removed = "bardo_cache_invalidations_total{reason=\"elsewhere\"} ";
    eventually("the other gateway learns of it", || {
        let metrics = Request::get("/metrics").send(there.admin).text();
        let entries = &stats(&there)["entries"];
        (metrics.contains(removed) && *entries == 0).then_some(())
    });
}

#[test]
fn a_gateway_that_cannot_hear_the_others_serves_no_stored_answers_about_a_market() {
    let (sandbox, mut redis) = (Sandbox::start(), RedisServer::start().expect("Redis"));
    let key = "an operator's secret of more than thirty-two bytes";
    let shared = json!({ "redis_url": redis.url(), "redis_key": key });
    let gateway = Gateway::start(&with(makers(&sandbox), "cache", shared));
    let domain = |domain: &str| {
        let answer = ask_in(&gateway, "stETH", domain);
        let place = answer.header("x-bardo-cache");
        place.expect("each answer has it").to_owned()
    };
    for name in ["defi", "docs"] {
        eventually("it is stored", || (domain(name) == "hash").then_some(()));
    }
    redis.stop();
    eventually("the market is too old", || {
        (domain("defi") == "miss").then_some(())
    });
    assert_eq!(domain("defi"), "miss");
    assert_eq!(domain("docs"), "hash");
}
