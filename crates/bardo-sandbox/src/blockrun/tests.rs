use super::*;
use crate::x402;
use crate::x402::tests::payment;

fn request(body: &Value) -> Recorded {
    Recorded::test("blockrun", "/api/v1/chat/completions", body)
}

fn body(model: &str) -> Value {
    json!({ "model": model, "max_tokens": 1024, "messages": [{ "role": "user", "content": "hi" }] })
}

fn challenge(reply: &Reply) -> Value {
    x402::decode(reply.header("payment-required").expect("a challenge")).expect("JSON")
}

fn pay(body: &Value, nonce: char, world: &World) -> Recorded {
    let offer = challenge(&handle(&request(body), world));
    let paid = payment(&offer["accepts"][0], nonce, world.now_ms() / 1_000);
    let mut request = request(body);
    request.headers.insert(
        "payment-signature",
        x402::encode(&paid).parse().expect("ascii"),
    );
    request
}

#[test]
fn an_unpaid_call_gets_a_quote_by_the_formula() {
    let world = World::new(7, Vec::new());
    let reply = handle(&request(&body("anthropic/claude-opus-5")), &world);
    assert_eq!(reply.status, 402);
    let offer = challenge(&reply);
    // Measured at the service: "hi" with 1024 tokens costs 3660 micro-USDC.
    assert_eq!(offer["accepts"][0]["amount"], "3660");
    assert_eq!(offer["x402Version"], 2);
    assert_eq!(reply.body()["price"]["amount"], "0.003660");
    let mut short = body("anthropic/claude-opus-5");
    short["max_tokens"] = json!(100);
    assert_eq!(
        challenge(&handle(&request(&short), &world))["accepts"][0]["amount"],
        "2000"
    );
}

#[test]
fn a_payment_is_served_once() {
    let world = World::new(7, Vec::new());
    let paid = pay(&body("openai/gpt-5.4"), '1', &world);
    let reply = handle(&paid, &world);
    assert_eq!(reply.status, 200);
    let receipt = x402::decode(reply.header("payment-response").expect("a receipt")).expect("JSON");
    assert_eq!(receipt["success"], true);
    let again = handle(&paid, &world);
    assert_eq!(
        (again.status, &again.body()["code"]),
        (402, &json!("PAYMENT_REPLAY"))
    );
    assert!(again.header("payment-required").is_none());
}

#[test]
fn a_payment_for_another_body_does_not_fit() {
    let world = World::new(7, Vec::new());
    let cheap = pay(&body("openai/gpt-5.4"), '2', &world);
    let dear = Recorded {
        body: body("anthropic/claude-opus-5.5").to_string().into(),
        ..cheap
    };
    assert_eq!(handle(&dear, &world).body()["code"], "PAYMENT_INVALID");
}

#[test]
fn a_refused_request_gives_the_nonce_back() {
    let world = World::new(7, Vec::new());
    let mut broken = body("openai/gpt-5.4");
    broken["messages"] = json!([]);
    let paid = pay(&broken, '3', &world);
    assert_eq!(handle(&paid, &world).body()["code"], "EMPTY_CONVERSATION");
    assert_eq!(handle(&paid, &world).body()["code"], "EMPTY_CONVERSATION");
}

#[test]
fn free_models_need_no_payment_and_flat_ones_have_one_price() {
    let world = World::new(7, Vec::new());
    let free = handle(&request(&body("nvidia/llama-3.2-11b-vision")), &world);
    assert_eq!(
        (free.status, free.header("x-free-model")),
        (200, Some("true"))
    );
    let flat = handle(&request(&body("openai/gpt-oss-120b")), &world);
    assert_eq!(challenge(&flat)["accepts"][0]["amount"], "2000");
    let unknown = handle(&request(&body("blockrun/claude-haiku-4-5")), &world);
    assert_eq!(unknown.status, 400);
    assert!(
        unknown.body()["error"]
            .as_str()
            .expect("text")
            .starts_with("Unknown model")
    );
}

#[test]
fn every_endpoint_asks_for_payment() {
    let world = World::new(7, Vec::new());
    for (path, model) in [
        ("messages", "claude-opus-4-8"),
        ("responses", "openai/gpt-5.5"),
    ] {
        let mut asked = body(model);
        asked["input"] = json!("hi");
        let reply = handle(
            &Recorded::test("blockrun", &format!("/api/v1/{path}"), &asked),
            &world,
        );
        assert_eq!(reply.status, 402, "{path}");
        assert_eq!(reply.body()["error"]["type"], "payment_required");
    }
}

fn with_key(key: &str, model: &str) -> Recorded {
    let mut request = Recorded::test("blockrun", "/v1/chat/completions", &body(model));
    let value = format!("Bearer {key}").parse().expect("ascii");
    request.headers.insert("authorization", value);
    request
}

#[test]
fn an_account_pays_from_its_credit_and_signs_nothing() {
    let world = World::new(7, Vec::new());
    let served = handle(&with_key("brk_live_1", "openai/gpt-5.4"), &world);
    assert_eq!(served.status, 200);
    let broke = handle(&with_key("brk_live_empty", "openai/gpt-5.4"), &world);
    assert_eq!(broke.status, 402);
    assert!(broke.header("payment-required").is_none());
    let free = handle(
        &with_key("brk_live_empty", "nvidia/llama-3.2-11b-vision"),
        &world,
    );
    assert_eq!(free.status, 200, "a free model needs no credit");
}

#[test]
fn the_account_s_door_knows_keys_alone() {
    let world = World::new(7, Vec::new());
    for key in ["sk-1", "bad"] {
        let refused = handle(&with_key(key, "openai/gpt-5.4"), &world);
        assert_eq!(refused.status, 401, "{key}");
    }
    let none = Recorded::test("blockrun", "/v1/chat/completions", &body("openai/gpt-5.4"));
    assert_eq!(handle(&none, &world).status, 401);
}
