use super::*;

fn ask(world: &World, path: &str, more: Value) -> Reply {
    let mut body = json!({ "model": "claude-sonnet-4.6", "max_tokens": 100,
        "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    handle(&Recorded::test("bankr", path, &body), world)
}

fn get(world: &World, path: &str) -> Value {
    handle(&Recorded::test("bankr", path, &Value::Null), world).body()
}

fn world() -> World {
    World::new(7, Vec::new())
}

#[test]
fn answers_are_deducted_from_the_credit_in_both_dialects() {
    let world = world();
    assert_eq!(get(&world, "/v1/credits")["effectiveBalanceUsd"], 9.15);
    assert_eq!(ask(&world, "/v1/chat/completions", json!({})).status, 200);
    let after_chat = get(&world, "/v1/credits")["balanceUsd"]
        .as_f64()
        .expect("a number");
    assert!(after_chat < 9.15);
    assert_eq!(
        ask(&world, "/v1/chat/completions", json!({ "stream": true })).status,
        200
    );
    let after_stream = get(&world, "/v1/credits")["balanceUsd"]
        .as_f64()
        .expect("a number");
    assert!(after_stream < after_chat);
    assert_eq!(ask(&world, "/v1/messages", json!({})).status, 200);
    assert!(get(&world, "/v1/credits")["balanceUsd"].as_f64() < Some(after_stream));
    let usage = get(&world, "/v1/usage?days=365");
    assert_eq!(
        (&usage["days"], &usage["byModel"][0]["requests"]),
        (&json!(90), &json!(3))
    );
}

#[test]
fn a_top_up_adds_and_an_empty_account_refuses() {
    let world = world();
    change(&world, -20.0);
    let refused = ask(&world, "/v1/chat/completions", json!({}));
    assert_eq!(
        (refused.status, &refused.body()["error"]["type"]),
        (402, &json!("insufficient_credits"))
    );
    let top_up = |amount: Value| {
        let body = json!({ "amountUsd": amount });
        handle(
            &Recorded::test("bankr", "/llm/credits/topup", &body),
            &world,
        )
    };
    assert_eq!(top_up(json!(0.5)).status, 400);
    assert_eq!(top_up(json!(25)).body()["newBalance"], 14.15);
    assert_eq!(ask(&world, "/v1/chat/completions", json!({})).status, 200);
}

fn change(world: &World, usd: f64) {
    world.shelf.put(
        "bankr:balance_micro_usd",
        json!(9_150_000 + (usd * 1e6) as i64),
    );
}

#[test]
fn privacy_fails_closed() {
    let world = world();
    let cases = [
        ("/v1/chat/completions", json!({}), 200, "standard"),
        (
            "/v1/chat/completions",
            json!({ "privacy": "zdr" }),
            200,
            "zdr",
        ),
        ("/zdr/v1/chat/completions", json!({}), 200, "zdr"),
        (
            "/v1/chat/completions",
            json!({ "model": "glm-5.2:private" }),
            200,
            "private",
        ),
        (
            "/v1/chat/completions",
            json!({ "privacy": "private" }),
            422,
            "",
        ),
        (
            "/v1/chat/completions",
            json!({ "privacy": "secret" }),
            400,
            "",
        ),
        (
            "/zdr/v1/chat/completions",
            json!({ "privacy": "standard" }),
            400,
            "",
        ),
    ];
    for (path, more, status, tier) in cases {
        let reply = ask(&world, path, more.clone());
        assert_eq!(reply.status, status, "{path} {more}");
        assert_eq!(reply.header("x-privacy-tier").unwrap_or_default(), tier);
    }
}

#[test]
fn models_are_listed_deprecated_and_removed() {
    let world = world();
    let row = get(&world, "/v1/models")["data"][0].clone();
    assert!(row["pricing"]["input"].is_number() && row["context_window"].is_u64());
    let old = ask(
        &world,
        "/v1/chat/completions",
        json!({ "model": "claude-opus-4.6" }),
    );
    assert_eq!(old.header("x-model-replacement"), Some("claude-opus-4.8"));
    assert_eq!(
        ask(
            &world,
            "/v1/chat/completions",
            json!({ "model": "claude-opus-4.1" })
        )
        .status,
        410
    );
}
