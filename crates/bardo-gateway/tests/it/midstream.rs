//! A stream that fails after its first content: an error event in the caller's dialect, never a
//! clean ending, nothing torn.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, config, direct, everything, with};
use crate::scripted::Scripted;
use crate::sse::{Caller, blocks, events, without_figures};

const TEXT: &str = "A sentence of some length, streamed in small pieces, so that something is left to lose: 東京 🗼.";

/// The simulated services by dialect, each with a model that answers there alone.
const UPSTREAMS: [(&str, &str); 4] = [
    ("openai", "direct/openai/gpt-5.5"),
    ("anthropic", "direct/anthropic/claude-sonnet-5-5"),
    ("google", "direct/google/gemini-3-flash"),
    ("openrouter", "openrouter/gpt-5.5"),
];

fn start() -> Gateway {
    Gateway::start(&everything(&Sandbox::start()))
}

fn ask(gateway: &Gateway, caller: Caller, model: &str, fault: &Value) -> Answer {
    let script = json!({ "steps": [{ "text": TEXT, "chunk": 4, "fault": fault }] });
    let body = caller.request(model, &format!("bardo-script: {script}"), true);
    gateway.send(&Request::json(caller.path(), &body))
}

/// After so many events every service has sent content, and none is done.
const EVENTS: usize = 9;

#[track_caller]
fn check_fails(gateway: &Gateway, caller: Caller, model: &str, fault: &Value) {
    let what = format!("{caller:?} from {model} with {fault}");
    let answer = ask(gateway, caller, model, fault);
    assert_eq!(answer.status(), 200, "{what}: {}", answer.text());
    assert!(answer.complete, "{what}: the framing ends well");
    let seen = events(&answer.body);
    let last = seen.last().unwrap_or_else(|| panic!("{what}: no event"));
    let event = std::panic::catch_unwind(|| caller.check_error_event(last));
    assert!(event.is_ok(), "{what}: {}", answer.text());
    let text = answer.text();
    for clean in ["[DONE]", "message_stop", "response.completed", ": bardo "] {
        assert!(!text.contains(clean), "{what}: {text}");
    }
    let said = caller.streamed_text(&seen);
    assert!(!said.is_empty(), "{what}: {text}");
    assert!(TEXT.starts_with(&said), "{what}: {said:?}");
    if caller == Caller::Anthropic {
        let started = text.matches("event: message_start").count();
        assert_eq!(started, 1, "{what}");
    }
}

#[track_caller]
fn check_everywhere(gateway: &Gateway, fault: &Value) {
    for (_, model) in UPSTREAMS {
        // At once, because each may wait for the provider's silence to be noticed.
        std::thread::scope(|scope| {
            for caller in Caller::ALL {
                scope.spawn(move || check_fails(gateway, caller, model, fault));
            }
        });
    }
}

#[test]
fn a_connection_that_breaks() {
    check_everywhere(&start(), &json!({ "kind": "cut_after", "events": EVENTS }));
}

#[test]
fn a_stream_that_just_ends() {
    check_everywhere(&start(), &json!({ "kind": "eof_after", "events": EVENTS }));
}

#[test]
fn an_error_in_the_providers_own_words() {
    check_everywhere(
        &start(),
        &json!({ "kind": "error_event_after", "events": EVENTS }),
    );
}

#[test]
fn a_provider_that_falls_silent() {
    // Long enough for the content of each, on a busy machine too.
    let limits = json!({ "idle_timeout": "1s" });
    let config = with(everything(&Sandbox::start()), "upstream", limits);
    let fault = json!({ "kind": "stall_after", "events": EVENTS });
    check_everywhere(&Gateway::start(&config), &fault);
}

/// Where an event has to be understood to be translated. A relay hands it on as it came.
#[test]
fn an_event_that_is_no_json() {
    let gateway = start();
    let fault = json!({ "kind": "malformed_after", "events": EVENTS });
    for (service, model) in UPSTREAMS {
        for caller in Caller::ALL {
            let relays = match service {
                "openai" => caller != Caller::Anthropic,
                "anthropic" => caller == Caller::Anthropic,
                "google" => false,
                _ => caller == Caller::Chat,
            };
            if relays {
                let answer = ask(&gateway, caller, model, &fault);
                assert!(
                    answer.text().contains(caller.terminal()),
                    "{caller:?} {model}"
                );
            } else {
                check_fails(&gateway, caller, model, &fault);
            }
        }
    }
}

/// The key that the provider refuses is the gateway's.
#[test]
fn a_providers_401_within_a_relayed_chat_stream_does_not_blame_the_callers_key() {
    let upstream = Scripted::start(|mut turn| {
        turn.stream_head();
        turn.chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n");
        turn.chunk("data: {\"error\":{\"code\":401,\"message\":\"User not found.\"}}\n\n");
        turn.end();
    });
    let gateway = Gateway::start(&config(&[direct("openai", &upstream.at("/v1"), &["m"])]));
    let body = Caller::Chat.request("m", "Hello", true);
    let text = gateway.send(&Request::json(Caller::Chat.path(), &body));
    let text = text.text();
    assert!(text.contains("word") && text.contains("error"), "{text}");
    for blame in ["invalid_api_key", "authentication_error"] {
        assert!(!text.contains(blame), "{text}");
    }
}

#[test]
fn a_providers_refusal_of_our_account_within_messages_does_not_blame_the_callers_key() {
    for refusal in ["authentication_error", "permission_error", "billing_error"] {
        let upstream = Scripted::start(move |mut turn| {
            turn.stream_head();
            for event in [
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word"}}"#,
            ] {
                turn.chunk(format!("data: {event}\n\n"));
            }
            turn.chunk(format!(
                "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{refusal}\",\"message\":\"our secret words\"}}}}\n\n"
            ));
            turn.end();
        });
        let gateway = Gateway::start(&config(&[direct("anthropic", &upstream.at(""), &["m"])]));
        let body = Caller::Anthropic.request("m", "Hello", true);
        let answer = gateway.send(&Request::json(Caller::Anthropic.path(), &body));
        let text = answer.text();
        assert!(
            text.contains("word") && text.contains("event: error"),
            "{text}"
        );
        for blame in [refusal, "our secret words"] {
            assert!(!text.contains(blame), "{text}");
        }
        assert!(text.contains("operator"), "{text}");
    }
}

/// Cut at any byte: whole events of the clean stream, then the error, nothing between.
#[test]
fn an_event_torn_by_a_cut_is_dropped_whole() {
    let gateway = start();
    for (caller, model) in [
        (Caller::Chat, "direct/openai/gpt-5.5"),
        (Caller::Anthropic, "direct/anthropic/claude-sonnet-5-5"),
        (Caller::Responses, "direct/openai/gpt-5.5"),
        (Caller::Chat, "direct/anthropic/claude-sonnet-5-5"),
        (Caller::Anthropic, "direct/google/gemini-3-flash"),
    ] {
        let clean = ask(&gateway, caller, model, &Value::Null);
        let (clean, _) = without_figures(&clean.body, caller.terminal());
        let clean_text = caller.streamed_text(&events(&clean));
        assert_eq!(clean_text, TEXT);
        for n in (2_900..3_000).step_by(17) {
            let fault = json!({ "kind": "cut_at_byte", "n": n });
            let answer = ask(&gateway, caller, model, &fault);
            let what = format!("{caller:?} from {model} cut at {n}: {}", answer.text());
            // `blocks` refuses torn ones.
            let seen = blocks(&answer.body);
            assert!(seen.len() > 2, "{what}");
            let shown = events(&answer.body);
            caller.check_error_event(shown.last().expect("an error"));
            let said = caller.streamed_text(&shown);
            assert!(TEXT.starts_with(&said), "{what}");
            assert!(!answer.text().contains(caller.terminal()), "{what}");
        }
    }
}

/// In chat the finish reasons and the whole body say all that `[DONE]` does. In the other dialects
/// an end that lacks its last word is no clean end.
#[test]
fn a_missing_terminal_event_is_a_failure_but_in_a_chat_answer_that_finished() {
    let gateway = start();
    let fault = json!({ "kind": "no_done" });
    for (service, model) in UPSTREAMS {
        for caller in Caller::ALL {
            let in_chat = match service {
                // Gemini has none.
                "google" => continue,
                "openrouter" => true,
                "openai" => caller != Caller::Responses,
                _ => false,
            };
            if in_chat {
                let answer = ask(&gateway, caller, model, &fault);
                let (stream, _) = without_figures(&answer.body, caller.terminal());
                let said = caller.streamed_text(&events(&stream));
                assert_eq!(said, TEXT, "{caller:?} {model}");
            } else {
                check_fails(&gateway, caller, model, &fault);
            }
        }
    }
    for caller in Caller::ALL {
        let answer = ask(
            &gateway,
            caller,
            "local-model",
            &json!({ "kind": "no_done" }),
        );
        assert!(
            answer.text().contains(caller.terminal()),
            "{}",
            answer.text()
        );
        assert_eq!(caller.streamed_text(&events(&answer.body)), TEXT);
    }
}
