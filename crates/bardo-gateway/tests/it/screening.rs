//! Screens of the configuration, on the built binary.

use serde_json::json;

use crate::http::Request;
use crate::paying::till::Till;
use crate::rig::{Gateway, Sandbox, makers, with};
use crate::sse::Caller;

#[test]
fn a_refused_phrase_is_refused_relayed_and_translated_streamed_and_whole() {
    let sandbox = Sandbox::start();
    let rules = json!({ "refused_phrases": [{ "phrases": ["project aurora"] }] });
    let gateway = Gateway::start(&with(makers(&sandbox), "screening", rules));
    sandbox.forget();
    for caller in Caller::ALL {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            for stream in [false, true] {
                let ask = |text: &str| {
                    let body = caller.request(model, text, stream).to_string();
                    gateway.send(&Request::post(caller.path(), body))
                };
                let refused = ask("What is Project\n AURORA?");
                assert_eq!(refused.status(), 400, "{caller:?} {model} {stream}");
                let error = &refused.json()["error"];
                assert_eq!(error["bardo_code"], "content_refused");
                let message = error["message"].as_str().expect("a message");
                assert!(message.contains("`project aurora`"), "{message}");
                assert!(sandbox.journal().is_empty(), "nothing is sent");
                assert_eq!(ask("What is the weather?").status(), 200);
                sandbox.forget();
            }
        }
    }
    let vectors = |input: serde_json::Value| {
        let body = json!({ "model": "text-embedding-3-small", "input": input }).to_string();
        gateway
            .send(&Request::post("/v1/embeddings", body))
            .status()
    };
    assert_eq!(vectors(json!(["Hello", "project aurora"])), 400);
    assert_eq!(vectors(json!("Hello")), 200);
}

#[test]
fn a_refusal_names_the_place_as_the_client_wrote_it() {
    let sandbox = Sandbox::start();
    let rules = json!({ "refused_phrases": [{ "phrases": ["aurora"] }] });
    let gateway = Gateway::start(&with(makers(&sandbox), "screening", rules));
    let turns = |last: &str| json!([{ "role": "user", "content": last }]);
    let messages = |system: &str, last: &str| json!({ "model": "claude-sonnet-5-5", "max_tokens": 9, "system": system, "messages": turns(last) });
    let responses = |system: &str, last: &str| json!({ "model": "gpt-5.5", "instructions": system, "input": last });
    for (path, body, place) in [
        ("/v1/messages", messages("Aurora.", "Hi."), "system"),
        (
            "/v1/messages",
            messages("Be kind.", "Aurora."),
            "messages[0]",
        ),
        ("/v1/responses", responses("Aurora.", "Hi."), "instructions"),
        ("/v1/responses", responses("Be kind.", "Aurora."), "input"),
        (
            "/v1/chat/completions",
            json!({ "model": "gpt-5.5", "messages": turns("Aurora.") }),
            "messages[0]",
        ),
    ] {
        let refused = gateway.send(&Request::post(path, body.to_string()));
        let error = &refused.json()["error"];
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.starts_with(&format!("{place} contains")),
            "{message}"
        );
    }
}

#[test]
fn a_rule_for_one_key_leaves_other_keys_alone() {
    let sandbox = Sandbox::start();
    let till = Till::new(makers(&sandbox));
    let (one, other) = (till.rich("1"), till.rich("1"));
    let rules = json!({ "refused_phrases": [{ "phrases": ["aurora"], "keys": [one.id] }] });
    let gateway = till.open_with(&with(till.config(), "screening", rules));
    let body = Caller::Chat.request("gpt-5.5", "Aurora?", false);
    assert_eq!(gateway.send(&one.ask(Caller::Chat, &body)).status(), 400);
    assert_eq!(gateway.send(&other.ask(Caller::Chat, &body)).status(), 200);
    assert_eq!(till.stand(&one).held, 0, "nothing stays held");
}
