//! Translation §1, row by row.

use bardo_types::chat::{Message, OutputFormat, Role, ThinkingMode, ToolChoice, Verbosity};
use bardo_types::model::{Effort, ThinkingModes};

use super::requests::{able, foreign, function, plain, raw, sent, text, user};
use super::*;

/// One row of the table of translations: a request, where it goes, what has to be in the body, what is lost.
struct Row {
    name: &'static str,
    change: fn(&mut ChatRequest),
    target: Target,
    expected: &'static [(&'static str, &'static str)],
    lost: &'static [&'static str],
}

fn row(
    name: &'static str,
    target: Target,
    change: fn(&mut ChatRequest),
    expected: &'static [(&'static str, &'static str)],
    lost: &'static [&'static str],
) -> Row {
    Row {
        name,
        change,
        target,
        expected,
        lost,
    }
}

fn check(rows: Vec<Row>) {
    for row in rows {
        let mut request = foreign();
        (row.change)(&mut request);
        let (body, lost) = sent(&request, &row.target);
        for (pointer, expected) in row.expected {
            let found = body
                .pointer(pointer)
                .map_or("absent".to_owned(), ToString::to_string);
            assert_eq!(&found, expected, "{}: {pointer} in {body}", row.name);
        }
        assert_eq!(lost, row.lost, "{}", row.name);
    }
}

#[test]
fn limits_roles_and_streaming() {
    let reasoning_model = || {
        able(Service::OpenAi, "gpt-6-sol", |able| {
            able.max_completion_tokens = true;
        })
    };
    let system = |request: &mut ChatRequest| {
        request
            .messages
            .insert(0, Message::new(Role::System, vec![text("S"), text("T")]));
    };
    check(vec![
        row(
            "max tokens of reasoning models",
            reasoning_model(),
            |request| request.max_output_tokens = Some(9),
            &[("/max_completion_tokens", "9"), ("/max_tokens", "absent")],
            &[],
        ),
        row(
            "max tokens elsewhere",
            plain(Service::Local),
            |request| request.max_output_tokens = Some(9),
            &[("/max_tokens", "9"), ("/max_completion_tokens", "absent")],
            &[],
        ),
        row(
            "max tokens of Venice",
            plain(Service::Venice),
            |request| request.max_output_tokens = Some(9),
            &[
                ("/max_completion_tokens", "9"),
                (
                    "/venice_parameters",
                    r#"{"include_venice_system_prompt":false}"#,
                ),
            ],
            &[],
        ),
        row(
            "a limit beyond the model's",
            able(Service::OpenAi, "m", |able| able.max_output_tokens = 5),
            |request| request.max_output_tokens = Some(9),
            &[("/max_tokens", "5")],
            &["max_output_tokens"],
        ),
        row(
            "system of reasoning models",
            reasoning_model(),
            system,
            &[
                ("/messages/0/role", r#""developer""#),
                ("/messages/0/content/1/text", r#""T""#),
            ],
            &[],
        ),
        row(
            "system elsewhere",
            plain(Service::Local),
            system,
            &[("/messages/0", r#"{"role":"system","content":"S\n\nT"}"#)],
            &[],
        ),
        row(
            "system inside the conversation",
            plain(Service::OpenAi),
            |request| {
                let mut later = Message::new(Role::System, vec![text("now")]);
                later.output_config = Some(raw(r#"{"effort":"low"}"#));
                request.messages.push(later);
                request.messages.push(user(vec![text("go")]));
            },
            &[
                ("/messages/1", r#"{"role":"system","content":"now"}"#),
                ("/messages/2/content", r#""go""#),
            ],
            &["effort"],
        ),
        row(
            "stream usage",
            plain(Service::Local),
            |request| request.stream = true,
            &[
                ("/stream", "true"),
                ("/stream_options/include_usage", "true"),
            ],
            &[],
        ),
    ]);
}

#[test]
fn effort_in_every_spelling() {
    let efforts = |service, list: &'static [Effort]| {
        able(service, "some-model", move |able| {
            able.efforts = list.to_vec();
        })
    };
    let low_high = &[Effort::Low, Effort::High];
    let max = |request: &mut ChatRequest| request.reasoning.effort = Some(Effort::Max);
    let off = |request: &mut ChatRequest| {
        request.reasoning.mode = Some(ThinkingMode::Disabled);
    };
    let budget = |request: &mut ChatRequest| {
        request.reasoning.mode = Some(ThinkingMode::Budget(24_576));
    };
    check(vec![
        row(
            "nearest allowed",
            efforts(Service::OpenAi, low_high),
            max,
            &[("/reasoning_effort", r#""high""#)],
            &["effort"],
        ),
        row(
            "allowed",
            efforts(Service::OpenAi, &[Effort::Max]),
            max,
            &[("/reasoning_effort", r#""max""#)],
            &[],
        ),
        row(
            "no knob",
            plain(Service::Bankr),
            max,
            &[("/reasoning_effort", "absent")],
            &["effort"],
        ),
        row(
            "budget",
            efforts(Service::OpenAi, low_high),
            budget,
            &[("/reasoning_effort", r#""high""#)],
            &[],
        ),
        row(
            "off where none is an effort",
            efforts(Service::OpenAi, &[Effort::None, Effort::Low]),
            off,
            &[("/reasoning_effort", r#""none""#)],
            &[],
        ),
        row(
            "off where it cannot be",
            efforts(Service::OpenAi, low_high),
            off,
            &[("/reasoning_effort", r#""low""#)],
            &["effort"],
        ),
        row(
            "OpenRouter effort",
            efforts(Service::OpenRouter, low_high),
            max,
            &[("/reasoning", r#"{"effort":"high"}"#)],
            &["effort"],
        ),
        row(
            "OpenRouter off",
            plain(Service::OpenRouter),
            off,
            &[("/reasoning", r#"{"enabled":false}"#)],
            &[],
        ),
        row(
            "OpenRouter budget",
            able(Service::OpenRouter, "a/b", |able| {
                able.thinking.budget = true
            }),
            budget,
            &[("/reasoning", r#"{"max_tokens":24576}"#)],
            &[],
        ),
        row(
            "Venice effort",
            efforts(Service::Venice, low_high),
            max,
            &[("/reasoning_effort", r#""high""#)],
            &["effort"],
        ),
        row(
            "Venice off",
            plain(Service::Venice),
            off,
            &[("/reasoning", r#"{"enabled":false}"#)],
            &[],
        ),
        row(
            "DeepSeek off",
            plain(Service::DeepSeek),
            off,
            &[("/thinking/type", r#""disabled""#)],
            &[],
        ),
        row(
            "DeepSeek effort",
            plain(Service::DeepSeek),
            |request| request.reasoning.effort = Some(Effort::Xhigh),
            &[
                ("/thinking/type", r#""enabled""#),
                ("/reasoning_effort", r#""high""#),
            ],
            &[],
        ),
        row(
            "local off",
            able(Service::Local, "qwen3", |able| {
                able.thinking.disabled = true
            }),
            off,
            &[("/chat_template_kwargs", r#"{"enable_thinking":false}"#)],
            &[],
        ),
        row(
            "a model that does not think",
            plain(Service::Local),
            off,
            &[("/reasoning_effort", "absent")],
            &[],
        ),
    ]);
}

#[test]
fn sampling_and_its_limits() {
    let fixed = || able(Service::OpenAi, "gpt-6-sol", |able| able.sampling = false);
    let all = |request: &mut ChatRequest| {
        request.sampling.temperature = Some(raw("0.50"));
        request.sampling.top_k = Some(raw("40"));
        request.sampling.logit_bias = Some(raw(r#"{"1":5}"#));
        request.sampling.seed = Some(raw("7"));
    };
    check(vec![
        row(
            "a reasoning model",
            fixed(),
            all,
            &[("/temperature", "absent"), ("/seed", "7")],
            &["temperature", "top_k", "logit_bias"],
        ),
        row(
            "a default is no loss",
            fixed(),
            |request| request.sampling.temperature = Some(raw("1.0")),
            &[("/temperature", "absent")],
            &[],
        ),
        row(
            "OpenAI has no top_k",
            plain(Service::OpenAi),
            all,
            &[("/temperature", "0.5"), ("/top_k", "absent")],
            &["top_k"],
        ),
        row(
            "local servers have all",
            plain(Service::Local),
            all,
            &[("/temperature", "0.5"), ("/top_k", "40")],
            &[],
        ),
        row(
            "DeepSeek while it thinks",
            able(Service::DeepSeek, "m", |able| {
                able.thinking.by_default = true
            }),
            |request| request.sampling.temperature = Some(raw("0.5")),
            &[("/temperature", "absent")],
            &["temperature"],
        ),
        row(
            "five stop texts",
            plain(Service::OpenAi),
            |request| request.stop = ["1", "2", "3", "4", "5"].map(str::to_owned).to_vec(),
            &[("/stop", r#"["1","2","3","4"]"#)],
            &["stop"],
        ),
    ]);
}

#[test]
fn shapes_of_the_answer() {
    let schema = |request: &mut ChatRequest| {
        request.output = OutputFormat::JsonSchema {
            name: None,
            description: None,
            schema: raw(r#"{"type":"object","properties":{"x":{"const":1}}}"#),
            strict: None,
        };
    };
    check(vec![
        row(
            "bug 51: a schema gets its wrapper and a name",
            plain(Service::OpenAi),
            schema,
            &[(
                "/response_format",
                r#"{"type":"json_schema","json_schema":{"name":"response","schema":{"type":"object","properties":{"x":{"const":1}}}}}"#,
            )],
            &[],
        ),
        row(
            "Venice takes strict schemas only",
            plain(Service::Venice),
            schema,
            &[("/response_format/json_schema/strict", "true")],
            &[],
        ),
        row(
            "DeepSeek has no schemas",
            plain(Service::DeepSeek),
            schema,
            &[
                ("/response_format", r#"{"type":"json_object"}"#),
                ("/messages/0/role", r#""system""#),
            ],
            &["json_schema"],
        ),
        row(
            "no structure at all",
            able(Service::Local, "m", |able| able.structured_output = false),
            |request| request.output = OutputFormat::JsonObject,
            &[
                ("/response_format", "absent"),
                (
                    "/messages/0/content",
                    r#""Answer with one JSON object and nothing else.""#,
                ),
            ],
            &["json_object"],
        ),
        row(
            "verbosity",
            plain(Service::Local),
            |request| request.verbosity = Some(Verbosity::Low),
            &[("/verbosity", "absent")],
            &["verbosity"],
        ),
    ]);
}

#[test]
fn tools_and_choices() {
    let tool = |request: &mut ChatRequest| request.tools.push(function("f"));
    let unforced = |service| {
        able(service, "some-model", |able| {
            able.forced_tool_choice = false
        })
    };
    check(vec![
        row(
            "no choice without tools",
            plain(Service::OpenAi),
            |request| {
                request.tool_choice = Some(ToolChoice::Auto);
                request.parallel_tool_calls = Some(false);
            },
            &[
                ("/tool_choice", "absent"),
                ("/parallel_tool_calls", "absent"),
            ],
            &[],
        ),
        row(
            "named",
            plain(Service::OpenAi),
            |request| {
                request.tools.push(function("f"));
                request.tool_choice = Some(ToolChoice::Named("f".into()));
                request.parallel_tool_calls = Some(false);
            },
            &[
                (
                    "/tool_choice",
                    r#"{"type":"function","function":{"name":"f"}}"#,
                ),
                ("/parallel_tool_calls", "false"),
            ],
            &[],
        ),
        row(
            "a choice that cannot be forced",
            unforced(Service::BlockRun),
            |request| {
                request.tools.push(function("f"));
                request.tool_choice = Some(ToolChoice::Required);
            },
            &[
                ("/tool_choice", r#""auto""#),
                (
                    "/messages/0/content",
                    r#""Answer by calling at least one of the tools.""#,
                ),
            ],
            &["forced_tool_choice"],
        ),
        row(
            "allowed tools elsewhere",
            plain(Service::OpenRouter),
            |request| {
                request.tools.push(function("f"));
                request.tools.push(function("g"));
                request.tool_choice = Some(ToolChoice::Allowed {
                    required: true,
                    names: vec!["g".into()],
                });
            },
            &[
                ("/tools/0/function/name", r#""g""#),
                ("/tools/1", "absent"),
                ("/tool_choice", r#""required""#),
            ],
            &[],
        ),
        row(
            "one at a time at DeepSeek",
            plain(Service::DeepSeek),
            |request| {
                request.tools.push(function("f"));
                request.parallel_tool_calls = Some(false);
            },
            &[("/parallel_tool_calls", "absent")],
            &["parallel_tool_calls"],
        ),
        row(
            "server tools of others",
            plain(Service::OpenAi),
            |request| {
                request.tools.push(Tool::Server {
                    dialect: Dialect::Anthropic,
                    kind: "web_search_20250305".into(),
                    name: Some("web_search".into()),
                    raw: raw("{}"),
                });
            },
            &[("/tools", "absent")],
            &["web_search_20250305"],
        ),
        row(
            "plain",
            plain(Service::OpenAi),
            tool,
            &[("/tools/0/function/parameters/type", r#""object""#)],
            &[],
        ),
    ]);
}

#[test]
fn switching_thinking_off_never_switches_it_on() {
    let claude = |service| {
        able(service, "claude-opus-4.6", |able| {
            able.thinking = ThinkingModes {
                adaptive: true,
                disabled: true,
                ..ThinkingModes::default()
            };
            able.efforts = vec![Effort::Low, Effort::High];
        })
    };
    let mut request = foreign();
    for (mode, effort) in [
        (Some(ThinkingMode::Disabled), None),
        (None, Some(Effort::None)),
    ] {
        request.reasoning.mode = mode;
        request.reasoning.effort = effort;
        for service in [Service::Bankr, Service::BlockRun] {
            let (body, _) = sent(&request, &claude(service));
            assert_eq!(body.get("reasoning_effort"), None, "{service:?}");
        }
        let (body, lost) = sent(&request, &claude(Service::OpenRouter));
        assert_eq!(body["reasoning"], serde_json::json!({"enabled": false}));
        assert_eq!(lost, [""; 0]);
    }
}

#[test]
fn a_search_is_asked_of_venice_and_of_nobody_else() {
    let mut request = foreign();
    for (wish, word) in [(Some(true), "on"), (Some(false), "off")] {
        request.web_search = wish;
        let (body, lost) = sent(&request, &plain(Service::Venice));
        assert_eq!(body["venice_parameters"]["enable_web_search"], word);
        assert_eq!(lost, [""; 0]);
    }
    request.web_search = Some(true);
    let (_, lost) = sent(&request, &plain(Service::OpenRouter));
    assert_eq!(lost, ["web_search"]);
    // What the caller says in Venice's own words counts more.
    request.dialect = Dialect::Chat;
    let own = raw(r#"{"enable_web_search":"auto"}"#);
    request.extra.push(("venice_parameters".into(), own));
    let (body, _) = sent(&request, &plain(Service::Venice));
    assert_eq!(body["venice_parameters"]["enable_web_search"], "auto");
}

#[test]
fn stop_texts_stay_away_from_models_that_refuse_them() {
    let mut request = foreign();
    request.stop = vec!["END".into()];
    let target = able(Service::OpenAi, "o3", |able| able.stop = false);
    let (body, lost) = sent(&request, &target);
    assert_eq!(body.get("stop"), None);
    assert_eq!(lost, ["stop"]);
}
