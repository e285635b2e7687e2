//! A request's own limit of costs: what a limit pays for, each higher one pays for too, and a
//! refusal names the least limit that pays.

use serde_json::{Value, json};

use super::{asked, hinted, receipt, trio};
use crate::http::{Answer, Request};
use crate::paying::till::{header, micro};
use crate::rig::{Gateway, Sandbox, with};
use crate::sse::Caller;

const SUBSYSTEMS: [&str; 8] = [
    "risk",
    "curator",
    "heartbeat_t1",
    "heartbeat_t2",
    "operator",
    "dream_rem",
    "death",
    "playbook",
];
/// Limits in millionths of a USD.
const LIMITS: [u64; 22] = [
    1, 50, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000,
    12_000, 20_000, 25_000, 40_000, 80_000, 500_000,
];

fn usd(micro: u64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

fn ask(gateway: &Gateway, hints: &Value, most: u64) -> Answer {
    let mut hints = hints.clone();
    hints["max_cost_usd"] = json!(usd(most));
    let body = hinted(Caller::Chat, "bardo/auto", &hints);
    gateway.send(&Request::json(Caller::Chat.path(), &body))
}

/// The amount that a refusal says to raise the limit to.
fn advised(answer: &Answer) -> Option<u64> {
    assert_eq!(answer.status(), 400, "{}", answer.text());
    let error = answer.json()["error"].clone();
    assert_eq!(error["bardo_code"], "requirements_unsatisfiable", "{error}");
    let message = error["message"].to_string();
    assert!(message.contains("max_cost_usd"), "{message}");
    assert!(!message.contains("max_tokens"), "{message}");
    let (_, amount) = message.split_once("raise it to ")?;
    amount.split(' ').next().map(micro)
}

fn check(gateway: &Gateway, hints: &Value) {
    let mut least = None;
    for most in LIMITS {
        let answer = ask(gateway, hints, most);
        if answer.status() == 200 {
            let charged = micro(
                receipt(gateway, &answer)["cost"]["provider_cost"]
                    .as_str()
                    .expect("an amount"),
            );
            assert!(charged <= most, "{hints} {most}: {charged}");
            least = least.or(Some(most));
            continue;
        }
        assert_eq!(least, None, "{hints}: {most} is refused: {}", answer.text());
        let Some(amount) = advised(&answer) else {
            panic!("{hints} {most}: {}", answer.text());
        };
        assert!(amount > most, "{hints} {most} {amount}");
        assert_eq!(
            ask(gateway, hints, amount).status(),
            200,
            "{hints} {amount}"
        );
    }
    assert!(least.is_some(), "{hints}");
}

#[test]
fn each_limit_above_one_that_pays_pays_too_and_a_refusal_names_the_least() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    for subsystem in SUBSYSTEMS {
        check(&gateway, &json!({ "subsystem": subsystem }));
    }
    let refused = ask(&gateway, &json!({ "subsystem": "risk" }), 1);
    let least = advised(&refused).expect("an amount");
    sandbox.forget();
    let below = ask(&gateway, &json!({ "subsystem": "risk" }), least - 1);
    assert_eq!(advised(&below), Some(least));
    assert_eq!(asked(&sandbox), [""; 0]);
}

#[test]
fn each_limit_above_one_that_pays_for_two_models_pays_too() {
    let sandbox = Sandbox::start();
    let config = with(
        trio(&sandbox),
        "inference",
        json!({ "verify_above_usd": 100, "provider_order": ["openrouter", "venice", "blockrun"] }),
    );
    let gateway = Gateway::start(&config);
    let hints = json!({ "subsystem": "risk", "stakes_usd": 5000 });
    check(&gateway, &hints);
    let answer = ask(&gateway, &hints, 500_000);
    assert!(!header(&answer, "x-bardo-verification").is_empty());
}

#[test]
fn a_dry_run_shows_the_model_that_a_limit_leaves() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    for most in LIMITS {
        let hints = json!({ "subsystem": "risk", "max_cost_usd": usd(most) });
        let body = hinted(Caller::Chat, "bardo/auto", &hints);
        let shown = gateway
            .send(&Request::json("/v1/route/explain", &body))
            .json();
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        let model = answer.header("x-bardo-model").unwrap_or_default();
        let resolved = shown["resolution"]["model"].as_str().unwrap_or_default();
        assert_eq!(resolved, model, "{most}: {shown}");
    }
}

#[test]
fn a_limit_is_for_all_answers_of_a_request() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&trio(&sandbox));
    let limit = |answers: u64| {
        let mut body = hinted(Caller::Chat, "gpt-5.5", &json!({ "max_cost_usd": "0.05" }));
        body["n"] = json!(answers);
        sandbox.forget();
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let entry = sandbox.journal().remove(0);
        let sent: Value =
            serde_json::from_str(entry["body"].as_str().expect("a body")).expect("JSON");
        let limits = ["max_tokens", "max_completion_tokens"].map(|name| sent[name].as_u64());
        limits
            .into_iter()
            .flatten()
            .next()
            .unwrap_or_else(|| panic!("{sent}"))
    };
    let (one, four) = (limit(1), limit(4));
    assert!(four * 4 <= one + 4, "{one} {four}");
}
