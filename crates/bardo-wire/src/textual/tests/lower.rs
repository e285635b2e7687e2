use bardo_types::chat::{
    ChatResponse, Choice, Finish, Image, MediaSource, Message, Part, Role, Text, ToolCall,
    ToolChoice, ToolInput, ToolResult,
};

use super::*;
use crate::textual::{filter_response, lower};

fn conversation() -> ChatRequest {
    let mut request = request();
    let mut failed = ToolCall::new("b", "patch", "");
    failed.input = ToolInput::Text("x\ny".into());
    request.messages = vec![
        Message::new(Role::System, vec![Text::new("Be brief.").into()]),
        Message::new(Role::User, vec![Text::new("Weather?").into()]),
        Message::new(
            Role::Assistant,
            vec![
                Text::new("Checking.").into(),
                Part::ToolCall(ToolCall::new("a", "weather", r#"{"city":"Bern","days":2}"#)),
                Part::ToolCall(failed),
            ],
        ),
        Message::new(
            Role::User,
            vec![
                Part::ToolResult(ToolResult {
                    call_id: "a".into(),
                    parts: vec![
                        Text::new("sun").into(),
                        Part::Image(Image {
                            source: MediaSource::Url("data:image/png;base64,iVBO".into()),
                            detail: None,
                            cache: None,
                        }),
                    ],
                    is_error: false,
                    custom: false,
                    cache: None,
                }),
                Part::ToolResult(ToolResult {
                    call_id: "b".into(),
                    parts: vec![Text::new("no such file").into()],
                    is_error: true,
                    custom: true,
                    cache: None,
                }),
                Text::new("And tomorrow?").into(),
            ],
        ),
    ];
    request.tool_choice = Some(ToolChoice::Named("weather".into()));
    request.parallel_tool_calls = Some(false);
    request
}

fn texts(request: &ChatRequest) -> String {
    let mut all = String::new();
    for message in &request.messages {
        all.push_str(&format!("=== {:?}\n", message.role));
        for part in &message.parts {
            match part {
                Part::Text(text) => all.push_str(&text.text),
                other => all.push_str(&format!("\n{other:?}")),
            }
        }
        all.push('\n');
    }
    all
}

#[test]
fn a_conversation_for_hermes() {
    insta::assert_snapshot!(texts(&lower(&conversation(), ToolFormat::Hermes)));
}

#[test]
fn a_conversation_for_qwen_coder() {
    insta::assert_snapshot!(texts(&lower(&conversation(), ToolFormat::QwenXml)));
}

#[test]
fn a_conversation_for_an_older_claude() {
    insta::assert_snapshot!(texts(&lower(&conversation(), ToolFormat::Anthropic)));
}

#[test]
fn a_conversation_in_bare_json() {
    insta::assert_snapshot!(texts(&lower(&conversation(), ToolFormat::Json)));
}

#[test]
fn what_was_lowered_is_gone() {
    let lowered = lower(&conversation(), ToolFormat::Hermes);
    assert!(lowered.tools.is_empty());
    assert_eq!(lowered.tool_choice, None);
    assert_eq!(lowered.parallel_tool_calls, None);
    let untouched = lower(&conversation(), ToolFormat::Native);
    assert_eq!(untouched, conversation());
}

#[test]
fn without_a_system_prompt_tools_make_one() {
    let mut request = conversation();
    request.messages.remove(0);
    let lowered = lower(&request, ToolFormat::Hermes);
    assert_eq!(lowered.messages[0].role, Role::System);
    assert!(lowered.messages[0].text().starts_with("# Tools"));
    request.tools.clear();
    assert_eq!(
        lower(&request, ToolFormat::Hermes).messages[0].role,
        Role::User
    );
}

#[test]
fn every_choice_of_tools_is_an_instruction() {
    let rows = [
        (ToolChoice::None, "Do not call any function now"),
        (ToolChoice::Required, "You must call at least one function"),
        (
            ToolChoice::Named("weather".into()),
            "You must call the function `weather` now.",
        ),
        (
            ToolChoice::Allowed {
                required: true,
                names: vec!["a".into(), "b".into()],
            },
            "one of these functions now: `a`, `b`.",
        ),
        (
            ToolChoice::Allowed {
                required: false,
                names: vec!["a".into()],
            },
            "you may call only these now: `a`.",
        ),
    ];
    for (choice, expected) in rows {
        let mut request = conversation();
        request.tool_choice = Some(choice);
        let told = lower(&request, ToolFormat::Hermes).messages[0].text();
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

/// What the model would have said to make `call`, read again.
fn said_again(call: &ToolCall, format: ToolFormat) -> Choice {
    let mut request = request();
    request.tools.push(function(&call.name, "{}"));
    request.messages = vec![Message::new(
        Role::Assistant,
        vec![Part::ToolCall(call.clone())],
    )];
    let parts = lower(&request, format).messages.remove(1).parts;
    let answer = ChatResponse {
        choices: vec![Choice {
            parts,
            finish: Some(Finish::Stop),
            ..Choice::default()
        }],
        ..ChatResponse::default()
    };
    let context = context(request, format, ReasoningFormat::Member);
    filter_response(answer, &context).choices.remove(0)
}

fn textual() -> impl Strategy<Value = ToolFormat> {
    proptest::sample::select(vec![
        ToolFormat::Hermes,
        ToolFormat::QwenXml,
        ToolFormat::Anthropic,
        ToolFormat::Json,
    ])
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let words = prop_oneof![
        "[a-z äß\n\"'\\\\{}\\[\\]<>/`]{0,12}",
        proptest::sample::select(vec![
            "</tool_call>".to_owned(),
            "</invoke>".to_owned(),
            "</function_calls>".to_owned(),
            "</parameters>".to_owned(),
            "<parameter name=".to_owned(),
            "</parameter>".to_owned(),
            "<parameter=x>".to_owned(),
            "</function>".to_owned(),
            "<tool_call>{}".to_owned(),
            "\n5\n".to_owned(),
            "null".to_owned(),
            "```\n".to_owned(),
        ]),
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| serde_json::json!(number)),
        words.prop_map(Into::into),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Into::into),
            proptest::collection::btree_map("[a-z<>]{1,4}", inner, 0..3)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_lowered_call_reads_back_as_the_call(
        arguments in proptest::collection::btree_map(
            proptest::sample::select(vec![
                "city", "days", "scale", "hourly", "tags", "place", "note", "either", "pick",
                "point", "un known", "x>y",
            ]),
            any_json(),
            0..4,
        ),
        name in proptest::sample::select(vec!["weather", "f", "a \"b\" > c"]),
        format in textual(),
    ) {
        let written = serde_json::to_string(&arguments).unwrap();
        let call = ToolCall::new("call_01J_0", name, written.as_str());
        let mut choice = said_again(&call, format);
        prop_assert_eq!(choice.finish, Some(Finish::ToolCalls));
        if format == ToolFormat::Anthropic {
            // Tags within values come back as the same text in another spelling.
            let Part::ToolCall(read) = &mut choice.parts[0] else {
                panic!("{choice:?}");
            };
            let ToolInput::Json(text) = &read.input else {
                panic!("{read:?}");
            };
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            prop_assert_eq!(value(text), value(&written));
            read.input = call.input.clone();
        }
        prop_assert_eq!(choice.parts, vec![Part::ToolCall(call)]);
    }

    #[test]
    fn a_lowered_custom_call_reads_back_as_the_call(
        input in "[a-z \n\"'{}<>/]{0,20}",
        format in textual(),
    ) {
        let mut call = ToolCall::new("call_01J_0", "patch", "");
        call.input = ToolInput::Text(input);
        let choice = said_again(&call, format);
        prop_assert_eq!(choice.parts, vec![Part::ToolCall(call)]);
    }

    #[test]
    fn arguments_that_do_not_parse_read_back_as_they_were(text in "\\{[a-z\"':, ]{0,12}") {
        prop_assume!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err());
        let call = ToolCall::new("call_01J_0", "weather", text);
        for format in [ToolFormat::Hermes, ToolFormat::Anthropic] {
            let choice = said_again(&call, format);
            prop_assert_eq!(choice.parts, vec![Part::ToolCall(call.clone())]);
        }
    }
}
