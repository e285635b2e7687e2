//! Requests that nobody here can read: the first backend of the plan decides, and no other company
//! gets them.

use serde_json::{Value, json};

use crate::bad_input::{check, post, start};
use crate::http::Request;
use crate::paying::till::Till;
use crate::rig::{Gateway, Sandbox, everything};
use crate::sse::Caller;

#[test]
fn a_content_part_of_unknown_type_is_refused_where_it_is_translated_and_relayed_elsewhere() {
    let (sandbox, gateway) = start();
    for (caller, model, accepted) in [
        (Caller::Chat, "claude-sonnet-5-5", "`image_url`"),
        (Caller::Responses, "claude-sonnet-5-5", "`input_image`"),
        (Caller::Anthropic, "gpt-5.5", "`document`"),
    ] {
        sandbox.forget();
        let mut body = caller.request(model, "Hello", false);
        let list = if caller == Caller::Responses {
            "input"
        } else {
            "messages"
        };
        let odd = json!({ "type": "txt", "text": "Hello" });
        body[list] = json!([{ "role": "user", "content": [odd] }]);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        check(caller, &answer, 400, "invalid_request", "`txt`");
        assert!(answer.text().contains(accepted), "{}", answer.text());
        if caller != Caller::Anthropic {
            assert_eq!(
                answer.json()["error"]["param"],
                format!("{list}[0].content[0].type")
            );
        }
        assert!(sandbox.journal().is_empty(), "nothing is sent");
    }
    let mut body = Caller::Chat.request("gpt-5.5", "Hello", false);
    body["messages"] = json!([{ "role": "user", "content": [{ "type": "txt", "text": "Hello" }] }]);
    gateway.send(&Request::json(Caller::Chat.path(), &body));
    let sent = sandbox.journal();
    let sent = sent.first().expect("the provider decides");
    assert!(sent.to_string().contains("txt"), "{sent}");
}

/// Content parts of a type that no translation knows, wherever content may stand in a dialect, with
/// the word that the refusal has to have.
fn odd_content(caller: Caller) -> Vec<(Value, &'static str, &'static str)> {
    let odd = json!([{ "type": "hologram", "text": "Hello" }]);
    let user = json!({ "role": "user", "content": "Hello" });
    let said = json!({ "role": "assistant", "content": odd });
    match caller {
        Caller::Responses => vec![
            (
                json!([{ "role": "user", "content": odd }]),
                "`input_image`",
                "input[0].content[0].type",
            ),
            (json!([user, said]), "`output_text`", "input"),
            (
                json!([
                    { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
                    { "type": "function_call_output", "call_id": "c", "output": odd },
                ]),
                "`input_image`",
                "input",
            ),
        ],
        Caller::Anthropic => vec![
            (
                json!([{ "role": "user", "content": odd }]),
                "`document`",
                "",
            ),
            (json!([user, said, user]), "`tool_use`", ""),
            (
                json!([
                    user,
                    { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "f", "input": {} }] },
                    { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": odd }] },
                ]),
                "`search_result`",
                "",
            ),
        ],
        _ => vec![
            (
                json!([{ "role": "user", "content": odd }]),
                "`image_url`",
                "messages[0].content[0].type",
            ),
            (
                json!([user, said, user]),
                "`refusal`",
                "messages[1].content[0].type",
            ),
            (
                json!([
                    user,
                    { "role": "assistant", "tool_calls": [
                        { "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                        { "id": "b", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                    ] },
                    { "role": "tool", "tool_call_id": "a", "content": "x" },
                    { "role": "tool", "tool_call_id": "b", "content": odd },
                ]),
                "`image_url`",
                "messages[3].content[0].type",
            ),
        ],
    }
}

fn list_of(caller: Caller) -> &'static str {
    match caller {
        Caller::Responses => "input",
        _ => "messages",
    }
}

#[test]
fn what_the_first_backend_cannot_read_goes_to_no_other_company() {
    let sandbox = Sandbox::start();
    // OpenRouter and Bankr have these models too, and speak the dialects of all callers.
    let gateway = Gateway::start(&everything(&sandbox));
    for (caller, model) in [
        (Caller::Chat, "claude-sonnet-5-5"),
        (Caller::Chat, "gemini-3-flash"),
        (Caller::Responses, "claude-sonnet-5-5"),
        (Caller::Anthropic, "gpt-5.5"),
    ] {
        for (list, accepted, param) in odd_content(caller) {
            sandbox.forget();
            let mut body = caller.request(model, "Hello", false);
            body[list_of(caller)] = list;
            let answer = post(&gateway, caller, body.to_string());
            check(caller, &answer, 400, "invalid_request", "`hologram`");
            assert!(
                answer.text().contains(accepted),
                "{caller:?} {}",
                answer.text()
            );
            if caller != Caller::Anthropic {
                assert_eq!(answer.json()["error"]["param"], param, "{caller:?}");
            }
            assert!(sandbox.journal().is_empty(), "{:?}", sandbox.journal());

            // The explanation reads a body without another sign as Chat Completions.
            if caller == Caller::Chat {
                let explained = Request::json("/v1/route/explain", &body);
                let explained = gateway.send(&explained).text();
                assert!(explained.contains("hologram"), "{explained}");
            }
        }
    }
}

#[test]
fn a_relaying_backend_that_comes_first_gets_unknown_parts_and_its_refusal_is_the_end() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for (caller, model, service) in [
        (Caller::Chat, "gpt-5.5", "openai"),
        (Caller::Responses, "gpt-5.5", "openai"),
        (Caller::Anthropic, "claude-sonnet-5-5", "anthropic"),
    ] {
        sandbox.forget();
        let mut body = caller.request(model, "Hello", false);
        let odd = json!([{ "type": "hologram", "text": "Hello" }]);
        body[list_of(caller)] = json!([{ "role": "user", "content": odd }]);
        gateway.send(&Request::json(caller.path(), &body));
        let entry = sandbox.only_entry();
        assert_eq!(entry["service"], service, "{entry}");
        assert!(entry.to_string().contains("hologram"), "{entry}");
    }
}

#[test]
fn a_conversation_that_is_no_list_of_objects_is_refused_before_any_backend_is_asked() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for caller in Caller::ALL {
        for model in [
            "gpt-5.5",
            "claude-sonnet-5-5",
            "gemini-3-flash",
            "bardo/auto",
        ] {
            for value in [json!("hi"), json!([1]), json!({}), json!(["hi"]), json!([])] {
                // A text is a whole input of Responses, and nothing may be one.
                if caller == Caller::Responses && (value.is_string() || value == json!([])) {
                    continue;
                }
                let what = format!("{caller:?} {model} {value}");
                let mut body = caller.request(model, "Hello", false);
                body[list_of(caller)] = value;
                let answer = post(&gateway, caller, body.to_string());
                let named = format!("`{}`", list_of(caller));
                check(caller, &answer, 400, "invalid_request", &named);
                assert!(
                    !answer.text().contains("expected"),
                    "{what}: {}",
                    answer.text()
                );
            }
        }
    }
    assert!(sandbox.journal().is_empty(), "nothing is sent");
}

#[test]
fn a_part_without_a_text_type_is_refused_before_any_backend_is_asked() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&everything(&sandbox));
    for caller in Caller::ALL {
        let list = list_of(caller);
        let text = match caller {
            Caller::Responses => "input_text",
            _ => "text",
        };
        let good = json!({ "type": text, "text": "Hello" });
        for model in ["gpt-5.5", "claude-sonnet-5-5", "bardo/auto"] {
            for (part, place) in [
                (json!({ "text": "no type" }), ".type` is required"),
                (json!({ "type": 5 }), ".type` is a number"),
                (json!({ "type": null, "text": "x" }), ".type` is null"),
                (json!("str"), "` is a text"),
                (json!(5), "` is a number"),
            ] {
                let mut body = caller.request(model, "Hello", false);
                let content = json!([good, part]);
                body[list] = json!([{ "role": "user", "content": content }]);
                let answer = post(&gateway, caller, body.to_string());
                let words = format!("`{list}[0].content[1]{place}");
                check(caller, &answer, 400, "invalid_request", &words);
            }
        }
    }
    assert!(sandbox.journal().is_empty(), "nothing is sent");
    // The parts of a long history are not read before a relay.
    let mut body = Caller::Chat.request("gpt-5.5", "Hello", false);
    let long = json!({ "type": "text", "text": "x".repeat(17 << 10) });
    body["messages"] = json!([{ "role": "user", "content": [long, { "text": "no type" }] }]);
    let answer = post(&gateway, Caller::Chat, body.to_string());
    assert_eq!(answer.status(), 400, "{}", answer.text());
    assert_eq!(answer.json()["error"]["bardo_code"], "upstream_rejected");
    assert_eq!(sandbox.journal().len(), 1);
}

#[test]
fn a_seller_that_gets_a_part_of_unknown_type_refuses_it_and_nothing_is_charged() {
    let sandbox = Sandbox::start();
    let till = Till::new(everything(&sandbox));
    let key = till.rich("10");
    let gateway = till.open();
    for model in ["openrouter/gpt-5.5", "bankr/gpt-5.5"] {
        for part in [
            json!({ "type": "hologram", "text": "Hello" }),
            json!({ "type": "image_url" }),
        ] {
            sandbox.forget();
            let mut body = Caller::Chat.request(model, "Hello", false);
            body["messages"] = json!([{ "role": "user", "content": [part] }]);
            let answer = gateway.send(&key.ask(Caller::Chat, &body));
            assert_eq!(answer.status(), 400, "{model} {part} {}", answer.text());
            assert!(!sandbox.journal().is_empty(), "{model}: the seller decides");
        }
    }
    assert_eq!(till.stand(&key).spent, 0);
}
