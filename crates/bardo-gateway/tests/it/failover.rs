//! Another backend is asked only before the first content byte, and only where the one before
//! surely did not carry the request out.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, config, direct, with};
use crate::scripted::{Scripted, nobody};
use crate::sse::{Caller, events};

/// Two keys for the same model: the first goes wrong, the second is well.
struct Pair {
    first: Sandbox,
    second: Sandbox,
    gateway: Gateway,
    service: &'static str,
    model: &'static str,
}

impl Pair {
    fn start(service: &'static str, path: &str, model: &'static str) -> Self {
        let (first, second) = (Sandbox::start(), Sandbox::start());
        let gateway = Gateway::start(&config(&[
            direct(service, &first.at(path), &[]),
            direct(service, &second.at(path), &[]),
        ]));
        Self {
            first,
            second,
            gateway,
            service,
            model,
        }
    }

    fn all() -> [Self; 3] {
        [
            Self::start("openai", "/openai/v1", "gpt-5.5"),
            Self::start("anthropic", "/anthropic", "claude-sonnet-5-5"),
            Self::start("google", "/google", "gemini-3-flash"),
        ]
    }

    /// Asks while the first backend goes wrong like this; answers how often each was asked.
    fn ask(&self, caller: Caller, stream: bool, fault: &Value) -> (Answer, usize, usize) {
        self.first.forget();
        self.second.forget();
        self.first.fault(self.service, fault);
        let body = caller.request(self.model, "Hello", stream);
        let answer = self.gateway.send(&Request::json(caller.path(), &body));
        self.first.heal();
        (
            answer,
            self.first.journal().len(),
            self.second.journal().len(),
        )
    }

    /// The request goes on to the second backend, whatever the caller speaks.
    fn check_goes_on(&self, fault: &Value) {
        for caller in Caller::ALL {
            for stream in [false, true] {
                let what = format!("{} {caller:?} stream={stream} {fault}", self.service);
                let (answer, first, second) = self.ask(caller, stream, fault);
                assert_eq!(answer.status(), 200, "{what}: {}", answer.text());
                assert_eq!((first, second), (1, 1), "{what}");
                assert_eq!(
                    answer.header("x-bardo-provider"),
                    Some(&*format!("direct/{}#2", self.service)),
                    "{what}"
                );
                if stream {
                    let text = caller.streamed_text(&events(&answer.body));
                    assert!(text.starts_with("Sandbox answer"), "{what}: {text}");
                    assert_eq!(
                        text.matches("Sandbox answer").count(),
                        1,
                        "{what}: said once"
                    );
                }
            }
        }
    }

    /// The request ends with the first backend.
    fn check_stays(&self, fault: &Value, check: impl Fn(&str, &Answer)) {
        for caller in Caller::ALL {
            for stream in [false, true] {
                let what = format!("{} {caller:?} stream={stream} {fault}", self.service);
                let (answer, first, second) = self.ask(caller, stream, fault);
                assert_eq!((first, second), (1, 0), "{what}: {}", answer.text());
                caller.check_error(&answer.json());
                check(&what, &answer);
            }
        }
    }
}

#[test]
fn refusals_that_another_backend_may_not_share_go_on() {
    for pair in Pair::all() {
        for status in [401, 402, 403, 404, 429, 500, 502, 503, 504, 529] {
            if (pair.service, status) == ("google", 429) {
                // Its body names a time; see `retries.rs`.
                continue;
            }
            pair.check_goes_on(&json!({ "kind": "status", "status": status }));
        }
    }
}

#[test]
fn errors_inside_a_success_go_on() {
    for pair in Pair::all() {
        for fault in [
            json!({ "kind": "error_in_200", "status": 500 }),
            json!({ "kind": "html_body", "status": 200 }),
            json!({ "kind": "html_body", "status": 502 }),
            json!({ "kind": "redirect", "location": "http://127.0.0.1:9/elsewhere" }),
        ] {
            pair.check_goes_on(&fault);
        }
    }
}

/// Some providers forget that a stream was asked for when they fail.
#[test]
fn an_error_object_instead_of_a_stream_goes_on() {
    for kind in ["application/json", "text/event-stream"] {
        let first = Scripted::start(move |mut turn| {
            turn.answer(
                200,
                kind,
                r#"{"error":{"message":"The engine is currently overloaded","type":"server_error","param":null,"code":503}}"#,
            );
        });
        let second = Sandbox::start();
        let mut settings = config(&[
            direct("openai", &first.at("/v1"), &["gpt-5.5"]),
            direct("openai", &second.at("/openai/v1"), &["gpt-5.5"]),
        ]);
        settings["providers"]["direct"]["keys"][0]["api"] = json!("chat");
        let gateway = Gateway::start(&settings);
        for caller in Caller::ALL {
            let body = caller.request("gpt-5.5", "Hello", true);
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), 200, "{caller:?} {}", answer.text());
            assert_eq!(answer.header("x-bardo-provider"), Some("direct/openai#2"));
            assert!(answer.text().contains(caller.terminal()));
        }
        assert_eq!(first.got().len(), 3);
    }
}

#[test]
fn a_refused_key_or_an_empty_account_is_not_worth_a_retry() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]));
    for (status, shown) in [(401, 502), (403, 502), (402, 503)] {
        sandbox.fault("openai", &json!({ "kind": "status", "status": status }));
        for caller in Caller::ALL {
            let body = caller.request("gpt-5.5", "Hello", false);
            let answer = gateway.send(&Request::json(caller.path(), &body));
            assert_eq!(answer.status(), shown, "{caller:?} {}", answer.text());
            assert_eq!(answer.header("x-should-retry"), Some("false"));
            caller.check_error(&answer.json());
        }
        sandbox.heal();
    }
}

#[test]
fn an_error_event_before_content_goes_on() {
    for pair in Pair::all() {
        for caller in Caller::ALL {
            for events in [0, 1] {
                let fault = json!({ "kind": "error_event_after", "events": events });
                let (answer, first, second) = pair.ask(caller, true, &fault);
                // Gemini's first event is content already.
                if (pair.service, events) == ("google", 1) {
                    assert_eq!((first, second), (1, 0));
                    continue;
                }
                assert_eq!(
                    (first, second),
                    (1, 1),
                    "{} {caller:?} {fault}: {}",
                    pair.service,
                    answer.text()
                );
                assert!(answer.text().contains(caller.terminal()));
            }
        }
    }
}

#[test]
fn a_request_that_is_wrong_everywhere_is_not_tried_elsewhere() {
    for pair in Pair::all() {
        for status in [400, 413, 422] {
            if status != 400 && pair.service == "google" {
                continue;
            }
            pair.check_stays(
                &json!({ "kind": "status", "status": status }),
                |what, answer| {
                    assert_eq!(answer.status(), status, "{what}");
                },
            );
        }
    }
}

#[test]
fn an_accepted_request_whose_connection_drops_is_not_repeated() {
    for pair in Pair::all() {
        pair.check_stays(&json!({ "kind": "reset_on_connect" }), |what, answer| {
            assert_eq!(answer.status(), 502, "{what}");
            assert_eq!(answer.header("x-should-retry"), Some("false"), "{what}");
        });
        for fault in [
            json!({ "kind": "cut_after", "events": 0 }),
            json!({ "kind": "empty_body" }),
            json!({ "kind": "gzip_unasked" }),
        ] {
            pair.check_stays(&fault, |what, answer| {
                assert_eq!(answer.status(), 502, "{what}");
                assert_eq!(answer.header("x-should-retry"), Some("false"), "{what}");
            });
        }
    }
}

#[test]
fn nobody_there_goes_on_in_the_owners_order() {
    let well = Sandbox::start();
    let gateway = Gateway::start(&config(&[
        direct("openai", &format!("http://{}/v1", nobody()), &[]),
        direct("openai", &format!("http://{}/v1", nobody()), &[]),
        direct("openai", &well.at("/openai/v1"), &[]),
    ]));
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("x-bardo-provider"), Some("direct/openai#3"));
        assert!(caller.text(&answer.json()).starts_with("Sandbox answer"));
    }
    let log = gateway.log();
    assert!(log.contains("direct/openai#2"), "{log}");
}

#[test]
fn no_more_backends_are_tried_than_allowed() {
    let busy: Vec<Scripted> = (0..4)
        .map(|_| {
            Scripted::start(|mut turn| {
                turn.answer(
                    429,
                    "application/json",
                    r#"{"error":{"message":"slow down","type":"rate_limit"}}"#,
                );
            })
        })
        .collect();
    let keys: Vec<Value> = busy
        .iter()
        .map(|upstream| direct("openai", &upstream.at("/v1"), &["m"]))
        .collect();
    let gateway = Gateway::start(&with(
        config(&keys),
        "upstream",
        json!({ "max_attempts": 2 }),
    ));
    let body = Caller::Chat.request("m", "Hello", false);
    let answer = gateway.send(&Request::json("/v1/chat/completions", &body));
    assert_eq!(answer.status(), 429);
    let asked: Vec<usize> = busy.iter().map(|upstream| upstream.got().len()).collect();
    assert_eq!(asked, [1, 1, 0, 0]);
}

#[test]
fn the_hint_when_to_come_back_reaches_the_caller() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&config(&[direct("openai", &sandbox.at("/openai/v1"), &[])]));
    sandbox.fault(
        "openai",
        &json!({ "kind": "status", "status": 429, "retry_after_ms": 1500 }),
    );
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", true);
        // Somebody who repeats the request already, so that nothing is tried again here.
        let request = Request::json(caller.path(), &body).with("x-stainless-retry-count", "1");
        let answer = gateway.send(&request);
        assert_eq!(answer.status(), 429);
        // Each caller asks for itself and gets the provider's own word.
        assert_eq!(answer.header("retry-after-ms"), Some("1500"));
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(answer.json()["error"]["bardo_code"], "upstream_rate_limit");
        caller.check_error(&answer.json());
    }
}

#[test]
fn a_fallback_is_for_the_model_in_every_spelling_and_by_every_alias() {
    let sandbox = Sandbox::start();
    let keys = config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
    ]);
    let names = json!({
        "aliases": { "sonnet": "claude-sonnet-5-5", "mine": "claude-sonnet-5-5" },
        "fallbacks": {
            "claude-sonnet-5-5": ["gpt-5.5"],
            "mine": ["gpt-5.4-mini"],
            "gpt-4-of-old": ["gpt-5.5"],
        },
    });
    let gateway = Gateway::start(&with(keys, "inference", names));
    sandbox.fault("anthropic", &json!({ "kind": "status", "status": 503 }));
    for (model, other) in [
        ("claude-sonnet-5-5", "gpt-5.5"),
        ("claude-sonnet-5.5", "gpt-5.5"),
        ("anthropic/claude-sonnet-5-5", "gpt-5.5"),
        ("sonnet", "gpt-5.5"),
        // An entry of its own comes first.
        ("mine", "gpt-5.4-mini"),
        // No backend has it.
        ("gpt-4-of-old", "gpt-5.5"),
    ] {
        for hints in [None, Some(json!({ "quality": "low" }))] {
            let mut body = Caller::Chat.request(model, "Hello", false);
            if let Some(hints) = hints {
                body["bardo"] = hints;
            }
            let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
            assert_eq!(answer.status(), 200, "{model} {}", answer.text());
            assert_eq!(answer.header("x-bardo-model"), Some(other), "{model}");
        }
    }
    for (model, status) in [
        ("openai/claude-sonnet-5-5", 404),
        ("venice/claude-sonnet-5-5", 404),
        ("claude-opus-5-5", 503),
    ] {
        let body = Caller::Chat.request(model, "Hello", false);
        let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
        assert_ne!(answer.status(), 200, "{model}");
        assert_eq!(answer.status() == 404, status == 404, "{model}");
    }
}

#[test]
fn another_model_answers_where_the_owner_named_one() {
    let sandbox = Sandbox::start();
    let keys = config(&[
        direct("openai", &sandbox.at("/openai/v1"), &[]),
        direct("anthropic", &sandbox.at("/anthropic"), &[]),
    ]);
    let fallbacks = json!({ "fallbacks": { "gpt-5.5": ["claude-sonnet-5-5"] } });
    let gateway = Gateway::start(&with(keys, "inference", fallbacks));
    sandbox.fault("openai", &json!({ "kind": "status", "status": 503 }));
    for caller in Caller::ALL {
        let body = caller.request("gpt-5.5", "Hello", false);
        let answer = gateway.send(&Request::json(caller.path(), &body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("x-bardo-model-requested"), Some("gpt-5.5"));
        assert_eq!(answer.header("x-bardo-model"), Some("claude-sonnet-5-5"));
        assert_eq!(answer.header("x-bardo-provider"), Some("direct/anthropic"));
    }
}
