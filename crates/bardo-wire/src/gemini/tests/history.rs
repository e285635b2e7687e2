use bardo_types::chat::{
    Image, MediaSource, Opaque, Part, Reasoning, Role, ServerBlock, Text, ToolResult,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::gemini::{decode_response, encode_request};

/// The body and what it lost.
#[track_caller]
fn check(name: &str, request: &ChatRequest) {
    insta::assert_json_snapshot!(name, json!({"body": body(request), "lost": lost(request)}));
}

/// Results of a batch come first, together, in the order of their calls.
#[test]
fn results_and_words_in_any_order() {
    let request = chat(vec![
        user("Weather?"),
        says(
            Role::Assistant,
            vec![
                Text::new("Looking.").into(),
                call("a", "weather", r#"{"city":"Bern"}"#),
                call("b", "now", ""),
            ],
        ),
        says(
            Role::User,
            vec![
                Text::new("first").into(),
                result("b", "12:00"),
                Text::new("second").into(),
                Part::ToolResult(ToolResult {
                    call_id: "a".into(),
                    parts: vec![
                        Text::new("sun").into(),
                        Part::Image(Image {
                            source: MediaSource::Base64 {
                                media_type: "image/png".into(),
                                data: "iVBO".into(),
                            },
                            detail: None,
                            cache: None,
                        }),
                        Text::new("warm").into(),
                    ],
                    is_error: true,
                    custom: false,
                    cache: None,
                }),
            ],
        ),
    ]);
    check("results_and_words", &request);
}

#[test]
fn a_missing_result_becomes_an_error_and_a_stray_one_is_refused() {
    let mut request = chat(vec![
        user("Go"),
        says(
            Role::Assistant,
            vec![call("a", "f", "{}"), call("b", "g", "{}")],
        ),
        says(Role::User, vec![result("b", "done")]),
    ]);
    check("a_missing_result", &request);
    request
        .messages
        .push(says(Role::User, vec![result("zzz", "?")]));
    let refused = refusal(&request);
    assert_eq!(refused.param, "messages[3].content[0]");
    assert!(refused.message.contains("zzz"), "{}", refused.message);
}

#[test]
fn ids_that_repeat_in_every_turn_pair_within_their_turn() {
    let request = chat(vec![
        user("Go"),
        says(Role::Assistant, vec![call("call_0", "f", "{}")]),
        says(Role::User, vec![result("call_0", "one")]),
        says(Role::Assistant, vec![call("call_0", "g", "{}")]),
        says(Role::User, vec![result("call_0", "two")]),
    ]);
    let contents = &body(&request)["contents"];
    assert_eq!(
        contents[2]["parts"][0]["functionResponse"],
        json!({"id": "call_0", "name": "f", "response": {"output": "one"}})
    );
    assert_eq!(
        contents[4]["parts"][0]["functionResponse"],
        json!({"id": "call_0", "name": "g", "response": {"output": "two"}})
    );
}

#[test]
fn a_tool_reference_in_a_result_is_not_empty() {
    let request = chat(vec![
        user("Go"),
        says(Role::Assistant, vec![call("a", "search_tools", "{}")]),
        says(
            Role::User,
            vec![Part::ToolResult(ToolResult {
                call_id: "a".into(),
                parts: vec![Part::Server(ServerBlock {
                    dialect: Dialect::Anthropic,
                    kind: "tool_reference".into(),
                    raw: raw(r#"{"type":"tool_reference","tool_name":"x"}"#),
                })],
                is_error: false,
                custom: false,
                cache: None,
            })],
        ),
    ]);
    assert_eq!(
        body(&request)["contents"][2]["parts"][0]["functionResponse"]["response"]["output"],
        r#"{"type":"tool_reference","tool_name":"x"}"#
    );
}

#[test]
fn instructions_in_the_middle_become_words_of_the_user() {
    let request = chat(vec![
        user("Hi"),
        says(Role::System, vec![Text::new("Be brief now").into()]),
        says(Role::Assistant, vec![Text::new("OK").into()]),
    ]);
    check("instructions_in_the_middle", &request);
}

#[test]
fn broken_arguments_in_the_history_are_sent_as_one_string() {
    let request = chat(vec![
        user("Go"),
        says(Role::Assistant, vec![call("a", "f", "{\"x\": 1")]),
        says(Role::User, vec![result("a", "cut")]),
    ]);
    assert_eq!(
        body(&request)["contents"][1]["parts"][0]["functionCall"]["args"],
        json!({"arguments": "{\"x\": 1"})
    );
    assert_eq!(lost(&request), ["tool_arguments"]);
}

#[test]
fn foreign_state_is_dropped_once_and_envelopes_never_leave() {
    let opaque = |opaque| {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            summary: false,
            opaque: Some(opaque),
        })
    };
    let sealed = crate::envelope::seal(&Opaque::ReasoningContent, None);
    let request = chat(vec![
        user("Go"),
        says(
            Role::Assistant,
            vec![
                opaque(Opaque::AnthropicSignature("sig".into())),
                opaque(Opaque::ReasoningContent),
                opaque(Opaque::GeminiSignature(sealed)),
                Text::new("Yes").into(),
            ],
        ),
        user("Why?"),
    ]);
    assert_eq!(lost(&request), ["thinking_state"]);
    assert_eq!(
        body(&request)["contents"][1],
        json!({"role": "model", "parts": [{"text": "Yes"}]})
    );
}

/// Clients of Chat Completions hand thinking back as bare words, and the signature on the call.
#[test]
fn a_message_of_ours_that_came_back_with_its_signature_lost_nothing() {
    let bare = || {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            summary: false,
            opaque: Some(Opaque::ReasoningContent),
        })
    };
    let turn = |signature: &str| {
        let mut made = call("a", "f", "{}");
        if let Part::ToolCall(call) = &mut made {
            call.opaque = Some(Opaque::GeminiSignature(signature.into()));
        }
        let said = says(Role::Assistant, vec![bare(), made]);
        chat(vec![
            user("Go"),
            said,
            says(Role::User, vec![result("a", "x")]),
        ])
    };
    let request = turn("sig");
    assert_eq!(lost(&request), [""; 0]);
    let parts = &body(&request)["contents"][1]["parts"];
    assert_eq!(parts[0], json!({"text": "hm", "thought": true}));
    assert_eq!(parts[1]["thoughtSignature"], "sig");
    // Without a signature of Gemini's, they are another model's.
    let sealed = crate::envelope::seal(&Opaque::ReasoningContent, None);
    assert_eq!(lost(&turn(&sealed)), ["thinking_state"]);
}

/// What Gemini wrote goes back as it came.
#[test]
fn an_answer_returns_with_its_signatures() {
    for name in ["parallel_calls", "thoughts_then_text", "code_execution"] {
        let answer = fixture(&format!("{name}.json"));
        let decoded = decode_response(&answer, &context()).unwrap();
        let parts = decoded.choices.into_iter().next().unwrap().parts;
        let results: Vec<Part> = parts
            .iter()
            .filter_map(|part| match part {
                Part::ToolCall(call) => Some(result(&call.id, "ok")),
                _ => None,
            })
            .collect();
        let mut messages = vec![user("Go"), says(Role::Assistant, parts)];
        messages.push(if results.is_empty() {
            user("Thanks")
        } else {
            says(Role::User, results)
        });
        check(&format!("returns_{name}"), &chat(messages));
    }
}

/// Callers whose dialect has no slot on a call hand the signature back as a block before it.
#[test]
fn a_signature_before_a_call_belongs_to_the_call() {
    let state = |text: &str| {
        Part::Reasoning(Reasoning {
            text: text.into(),
            summary: true,
            opaque: Some(Opaque::GeminiSignature("c2ln".into())),
        })
    };
    let request = chat(vec![
        user("Go"),
        says(
            Role::Assistant,
            vec![state("thought"), call("a", "f", "{}"), call("b", "f", "{}")],
        ),
        says(Role::User, vec![result("a", "1"), result("b", "2")]),
        says(Role::Assistant, vec![Text::new("Done").into(), state("")]),
        user("Good"),
    ]);
    check("a_signature_before_a_call", &request);
}

#[test]
fn calls_of_another_model_get_the_documented_signature_in_the_current_turn_only() {
    let messages = vec![
        user("One"),
        says(Role::Assistant, vec![call("a", "f", "{}")]),
        says(Role::User, vec![result("a", "1")]),
        says(Role::Assistant, vec![Text::new("Done").into()]),
        user("Two"),
        says(
            Role::Assistant,
            vec![call("b", "f", "{}"), call("c", "f", "{}")],
        ),
        says(Role::User, vec![result("b", "2"), result("c", "3")]),
        says(Role::Assistant, vec![call("d", "f", "{}")]),
        says(
            Role::User,
            vec![result("d", "4"), Text::new("go on").into()],
        ),
    ];
    let request = chat(messages);
    check("calls_of_another_model", &request);
    let plain = encode_request(&request, &target(Capabilities::default())).unwrap();
    let text = String::from_utf8(plain.body).unwrap();
    assert!(!text.contains("thoughtSignature"), "{text}");
}

#[test]
fn a_model_that_cannot_continue_is_asked_to() {
    let request = chat(vec![
        user("Count"),
        says(Role::Assistant, vec![Text::new("1, 2,").into()]),
    ]);
    let capabilities = Capabilities {
        prefill: false,
        ..levels()
    };
    let encoded = encode_request(&request, &target(capabilities)).unwrap();
    assert_eq!(encoded.degraded[0].feature, "prefill");
    assert!(!lost(&request).contains(&"prefill".to_owned()));
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-zä\"]{0,4}".prop_map(|text| Part::Text(Text::new(text))),
        ("[ab]", "[fg ]{1,2}", "(|\\{\\}|\\{)")
            .prop_map(|(id, name, arguments)| call(&id, &name, &arguments)),
        ("[abc]", "[a-z]{0,3}").prop_map(|(id, text)| result(&id, &text)),
        "[a-z]{0,3}".prop_map(|text| Part::Reasoning(Reasoning {
            opaque: Some(Opaque::GeminiSignature(text.clone())),
            text,
            summary: true,
        })),
    ]
}

proptest! {
    /// Whatever is accepted obeys Gemini's rules: turns alternate, none is empty, and each batch
    /// of calls is answered in full, in order, by the turn after it.
    #[test]
    fn accepted_conversations_obey_the_rules(
        turns in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(any_part(), 0..4)),
            0..6,
        ),
    ) {
        let messages = turns
            .into_iter()
            .map(|(model, parts)| says(if model { Role::Assistant } else { Role::User }, parts))
            .collect();
        let Ok(encoded) = encode_request(&chat(messages), &target(levels())) else {
            return Ok(());
        };
        let body: Value = serde_json::from_slice(&encoded.body).unwrap();
        let contents = body["contents"].as_array().unwrap();
        prop_assert!(!contents.is_empty());
        let mut asked: Vec<(Value, Value)> = Vec::new();
        for pair in contents.windows(2) {
            prop_assert_ne!(&pair[0]["role"], &pair[1]["role"]);
        }
        for content in contents {
            let parts = content["parts"].as_array().unwrap();
            prop_assert!(!parts.is_empty());
            let of = |member: &str| -> Vec<(Value, Value)> {
                parts
                    .iter()
                    .filter_map(|part| part.get(member))
                    .map(|part| (part["id"].clone(), part["name"].clone()))
                    .collect()
            };
            prop_assert_eq!(of("functionResponse"), std::mem::take(&mut asked));
            asked = of("functionCall");
        }
        prop_assert!(asked.is_empty());
    }
}
