mod captured;

use std::sync::Arc;

use bardo_types::chat::{OutputFormat, ThinkingDisplay, ThinkingMode, Verbosity};
use bardo_types::model::{Capabilities, Effort, Service, ThinkingModes};

use super::*;
use crate::splice::splice;

type Change = fn(&mut ChatRequest);

fn target(service: Service, capabilities: Capabilities) -> Target {
    Target {
        model: "claude-x".to_owned(),
        service,
        capabilities: Arc::new(capabilities),
    }
}

fn thinker() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            budget: true,
            disabled: true,
            ..ThinkingModes::default()
        },
        efforts: vec![Effort::Low, Effort::Medium, Effort::High, Effort::Max],
        ..Capabilities::default()
    }
}

/// A model that takes neither sampling nor forced calls nor efforts.
fn stubborn() -> Capabilities {
    Capabilities {
        sampling: false,
        forced_tool_choice: false,
        structured_output: false,
        ..Capabilities::default()
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// Members around the prompt, which has to come out as it went in.
fn body(dialect: Dialect, members: &str) -> String {
    let prompt = match dialect {
        Dialect::Responses => r#""input":[{"role":"user","content":"A  \u0062"}]"#,
        Dialect::Anthropic => {
            r#""max_tokens":9000,"messages":[{"role":"user","content":"A  \u0062"}]"#
        }
        _ => r#""messages":[{"role":"user","content":"A  \u0062"}]"#,
    };
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"model":"m",{prompt}{comma}{members}}}"#)
}

#[track_caller]
fn edited(dialect: Dialect, target: &Target, members: &str, change: Change) -> String {
    let body = body(dialect, members);
    let top = scan(body.as_bytes()).unwrap();
    let edits = settings_edits(dialect, &top, target, change).unwrap();
    let out = String::from_utf8(splice(&top, &edits)).unwrap();
    let prefix = &body[..body.len() - members.len() - 1];
    let rest = out.strip_prefix(prefix.trim_end_matches(','));
    let rest = rest.unwrap_or_else(|| panic!("the prompt changed: {out}"));
    rest.strip_suffix('}')
        .unwrap()
        .trim_start_matches(',')
        .to_owned()
}

#[track_caller]
fn check(dialect: Dialect, target: &Target, rows: &[(&str, Change, &str)]) {
    for (members, change, expected) in rows {
        let out = edited(dialect, target, members, *change);
        assert_eq!(&out, expected, "{members}");
    }
}

#[test]
fn chat_settings_are_edited_and_nothing_else() {
    let openai = target(Service::OpenAi, thinker());
    check(
        Dialect::Chat,
        &openai,
        &[
            (
                r#""temperature": 0.70, "x":1"#,
                |r| r.sampling.temperature = Some(raw("0.2")),
                r#""temperature": 0.2, "x":1"#,
            ),
            (
                r#""x":1"#,
                |r| r.sampling.top_p = Some(raw("0.9")),
                r#""x":1,"top_p":0.9"#,
            ),
            (
                r#""temperature":0.7,"x":1"#,
                |r| r.sampling.temperature = None,
                r#""x":1"#,
            ),
            (
                r#""seed":1,"frequency_penalty":0.5,"presence_penalty":1"#,
                |r| r.sampling.seed = Some(raw("7")),
                r#""seed":7,"frequency_penalty":0.5,"presence_penalty":1"#,
            ),
            (
                r#""stop":"END""#,
                |r| r.stop.push("X".into()),
                r#""stop":["END","X"]"#,
            ),
            (
                r#""reasoning_effort":"high""#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning_effort":"low""#,
            ),
            (
                r#""reasoning_effort":"ultra""#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning_effort":"low""#,
            ),
            (
                r#""reasoning":{"effort":"high"}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning_effort":"low""#,
            ),
            (
                r#""response_format":{"type":"text"}"#,
                |r| r.output = OutputFormat::JsonObject,
                r#""response_format":{"type":"json_object"}"#,
            ),
            (
                r#""verbosity":"low""#,
                |r| r.verbosity = Some(Verbosity::High),
                r#""verbosity":"high""#,
            ),
            (
                r#""prompt_cache_key":"a""#,
                |r| r.cache.key = Some("b".into()),
                r#""prompt_cache_key":"b""#,
            ),
            (
                r#""prediction":{"type":"content","content":"x"}"#,
                |r| r.prediction = None,
                "",
            ),
            (
                r#""user":"a","safety_identifier":"b""#,
                |r| r.end_user = Some("c".into()),
                r#""safety_identifier":"c""#,
            ),
            (
                r#""logit_bias":{ "1":5 }"#,
                |r| r.sampling.logit_bias = None,
                "",
            ),
            (
                r#""max_tokens":5"#,
                |r| r.max_output_tokens = Some(9),
                r#""max_tokens":9"#,
            ),
            (
                r#""service_tier":"auto""#,
                |r| r.service_tier = Some("flex".into()),
                r#""service_tier":"flex""#,
            ),
            (
                r#""temperature":null"#,
                |r| r.sampling.temperature = Some(raw("1")),
                r#""temperature":1"#,
            ),
        ],
    );
    let reasoner = Capabilities {
        max_completion_tokens: true,
        ..thinker()
    };
    check(
        Dialect::Chat,
        &target(Service::OpenAi, reasoner),
        &[(
            r#""max_tokens":5"#,
            |r| r.max_output_tokens = Some(9),
            r#""max_completion_tokens":9"#,
        )],
    );
}

#[test]
fn members_of_one_service_are_edited_in_its_words() {
    check(
        Dialect::Chat,
        &target(Service::OpenRouter, thinker()),
        &[
            (
                r#""reasoning":{ "effort":"high","zap":1}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning":{"effort":"low","zap":1}"#,
            ),
            (
                r#""reasoning":{"max_tokens":2000}"#,
                |r| (r.reasoning.mode, r.reasoning.effort) = (None, Some(Effort::High)),
                r#""reasoning":{"effort":"high"}"#,
            ),
            (
                r#""provider":{"order":["a"]}"#,
                |r| r.extra.push(("transforms".into(), raw("[]"))),
                r#""provider":{"order":["a"]},"transforms":[]"#,
            ),
            (
                r#""provider":{"order":["a"]}"#,
                |r| r.extra[0].1 = raw(r#"{"sort":"price"}"#),
                r#""provider":{"sort":"price"}"#,
            ),
        ],
    );
    check(
        Dialect::Chat,
        &target(Service::Venice, thinker()),
        &[
            (
                r#""venice_parameters":{ "a":1}"#,
                |r| r.sampling.top_k = Some(raw("3")),
                r#""venice_parameters":{ "a":1},"top_k":3"#,
            ),
            (
                r#""max_tokens":5"#,
                |r| r.max_output_tokens = Some(9),
                r#""max_completion_tokens":9"#,
            ),
        ],
    );
    check(
        Dialect::Chat,
        &target(Service::DeepSeek, thinker()),
        &[(
            r#""thinking":{"type":"enabled"},"reasoning_effort":"high""#,
            |r| (r.reasoning.mode, r.reasoning.effort) = (Some(ThinkingMode::Disabled), None),
            r#""thinking":{"type":"disabled"}"#,
        )],
    );
    check(
        Dialect::Chat,
        &target(Service::Local, thinker()),
        &[(
            r#""chat_template_kwargs":{"x":1,"enable_thinking":true}"#,
            |r| r.reasoning.effort = Some(Effort::None),
            r#""chat_template_kwargs":{"x":1,"enable_thinking":false}"#,
        )],
    );
}

#[test]
fn messages_settings_are_edited_and_nothing_else() {
    check(
        Dialect::Anthropic,
        &target(Service::Anthropic, thinker()),
        &[
            (
                r#""temperature": 0.70, "x":1"#,
                |r| r.sampling.temperature = Some(raw("0.2")),
                r#""temperature": 0.2, "x":1"#,
            ),
            (
                r#""top_p":0.5"#,
                |r| (r.sampling.top_p, r.sampling.top_k) = (None, Some(raw("4"))),
                r#""top_k":4"#,
            ),
            // Thinking takes no other temperature.
            (
                r#""temperature":0.5,"x":1"#,
                |r| r.reasoning.mode = Some(ThinkingMode::Adaptive),
                r#""x":1,"thinking":{"type":"adaptive"}"#,
            ),
            (
                r#""thinking":{"type":"enabled","budget_tokens":5000,"zap":1}"#,
                |r| r.reasoning.mode = Some(ThinkingMode::Adaptive),
                r#""thinking":{"type":"adaptive","zap":1}"#,
            ),
            (
                r#""thinking":{"type":"adaptive"}"#,
                |r| r.reasoning.display = Some(ThinkingDisplay::Omitted),
                r#""thinking":{"type":"adaptive","display":"omitted"}"#,
            ),
            (
                r#""output_config":{ "format":{"type":"json_schema","schema":{"type":"object"}},"effort":"max"}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""output_config":{"format":{"type":"json_schema","schema":{"type":"object"}},"effort":"low"}"#,
            ),
            (
                r#""output_config":{"effort":"ultra","zap":1}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""output_config":{"effort":"low","zap":1}"#,
            ),
            (
                r#""output_format":{"type":"json_schema","schema":{}},"output_config":{"effort":"max"}"#,
                |r| r.output = OutputFormat::Text,
                r#""output_config":{"effort":"max"}"#,
            ),
            (r#""stop_sequences":["a"]"#, |r| r.stop.clear(), ""),
            (
                r#""metadata":{"user_id":"a","zap":1}"#,
                |r| r.end_user = None,
                r#""metadata":{"zap":1}"#,
            ),
            (
                r#""cache_control":{"type":"ephemeral"}"#,
                |r| r.cache.automatic = None,
                "",
            ),
            (
                r#""tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"}"#,
                |r| r.tool_choice = Some(ToolChoice::Auto),
                r#""tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"auto"}"#,
            ),
            (
                r#""tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"f"}"#,
                |r| r.parallel_tool_calls = Some(false),
                r#""tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}"#,
            ),
            (
                r#""service_tier":"auto""#,
                |r| r.extra.push(("speed".into(), raw("\"fast\""))),
                r#""service_tier":"auto","speed":"fast""#,
            ),
        ],
    );
    let top = body(Dialect::Anthropic, "");
    let top = scan(top.as_bytes()).unwrap();
    let claude = target(Service::Anthropic, thinker());
    let change: Change = |r| r.max_output_tokens = Some(7);
    let edits = settings_edits(Dialect::Anthropic, &top, &claude, change).unwrap();
    assert_eq!(edits, [Edit::set("max_tokens", "7")]);
}

#[test]
fn responses_settings_are_edited_and_nothing_else() {
    check(
        Dialect::Responses,
        &target(Service::OpenAi, thinker()),
        &[
            (
                r#""temperature": 0.70, "x":1"#,
                |r| r.sampling.temperature = Some(raw("0.2")),
                r#""temperature": 0.2, "x":1"#,
            ),
            (
                r#""reasoning":{"effort":"high","zap":1}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning":{"effort":"low","zap":1}"#,
            ),
            (
                r#""reasoning":{"effort":"ultra"}"#,
                |r| r.reasoning.effort = Some(Effort::Low),
                r#""reasoning":{"effort":"low"}"#,
            ),
            (
                r#""reasoning":{"summary":"auto"}"#,
                |r| r.reasoning.summary = None,
                "",
            ),
            (
                r#""text":{"verbosity":"low"}"#,
                |r| r.output = OutputFormat::JsonObject,
                r#""text":{"verbosity":"low","format":{"type":"json_object"}}"#,
            ),
            (
                r#""include":["web_search_call.results"]"#,
                |r| r.reasoning.encrypted = true,
                r#""include":["web_search_call.results","reasoning.encrypted_content"]"#,
            ),
            (
                r#""max_output_tokens":50"#,
                |r| r.max_output_tokens = None,
                "",
            ),
            (
                r#""prompt_cache_key":"k","store":true"#,
                |r| r.store = Some(false),
                r#""prompt_cache_key":"k","store":false"#,
            ),
            (
                r#""tools":[{"type":"custom","name":"f"}],"tool_choice":{"type":"custom","name":"f"}"#,
                |r| r.tool_choice = Some(ToolChoice::Required),
                r#""tools":[{"type":"custom","name":"f"}],"tool_choice":"required""#,
            ),
            (
                r#""tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}"#,
                |r| r.tool_choice = Some(ToolChoice::Auto),
                r#""tools":[{"type":"web_search"}],"tool_choice":"auto""#,
            ),
        ],
    );
}

#[test]
fn what_the_target_does_not_take_is_taken_out_once_it_is_touched() {
    check(
        Dialect::Chat,
        &target(Service::OpenAi, stubborn()),
        &[
            (
                r#""temperature":0.5,"x":1"#,
                |r| r.sampling.temperature = Some(raw("0.1")),
                r#""x":1"#,
            ),
            (
                r#""temperature":0.5,"x":1"#,
                |r| r.sampling.temperature = None,
                r#""x":1"#,
            ),
            (
                r#""temperature":0.5,"seed":1"#,
                |r| r.sampling.seed = None,
                r#""temperature":0.5"#,
            ),
            (
                r#""reasoning_effort":"high""#,
                |r| r.reasoning.effort = Some(Effort::Low),
                "",
            ),
        ],
    );
    let text = body(Dialect::Chat, r#""temperature":0.5"#);
    let top = scan(text.as_bytes()).unwrap();
    let change: Change = |r| r.reasoning.effort = Some(Effort::Low);
    let of = target(Service::OpenAi, stubborn());
    let changed = settings_change(Dialect::Chat, &top, &of, change).unwrap();
    let lost: Vec<_> = changed.degraded.iter().map(|lost| &*lost.feature).collect();
    // The temperature was lost before the change, which the caller's own bytes do not lose.
    assert_eq!(lost, ["effort"]);
}

#[test]
fn a_change_beyond_settings_asks_for_a_translation() {
    let rows: [(Dialect, Capabilities, &str, Change, &str); 7] = [
        (
            Dialect::Chat,
            thinker(),
            "",
            |r| r.messages.clear(),
            "messages",
        ),
        (
            Dialect::Chat,
            thinker(),
            r#""tools":[{"type":"function","function":{"name":"f"}}]"#,
            |r| r.tools.clear(),
            "tools",
        ),
        (
            Dialect::Chat,
            thinker(),
            r#""tools":[{"type":"function","function":{"name":"f"}}]"#,
            |r| r.tool_choice = Some(ToolChoice::Named("f".into())),
            "tool_choice",
        ),
        (
            Dialect::Chat,
            thinker(),
            r#""functions":[{"name":"f"}]"#,
            |r| r.tool_choice = Some(ToolChoice::Required),
            "functions",
        ),
        // A model without schemas has to be told in words.
        (
            Dialect::Chat,
            stubborn(),
            "",
            |r| r.output = OutputFormat::JsonObject,
            "messages",
        ),
        (
            Dialect::Anthropic,
            stubborn(),
            "",
            |r| r.output = OutputFormat::JsonObject,
            "system",
        ),
        (
            Dialect::Responses,
            thinker(),
            "",
            |r| r.extra.push(("brand_new".into(), raw("1"))),
            "brand_new",
        ),
    ];
    for (dialect, capabilities, members, change, param) in rows {
        let text = body(dialect, members);
        let top = scan(text.as_bytes()).unwrap();
        let service = if dialect == Dialect::Anthropic {
            Service::Anthropic
        } else {
            Service::OpenAi
        };
        let refused =
            settings_edits(dialect, &top, &target(service, capabilities), change).unwrap_err();
        assert_eq!(
            (refused.code, &*refused.param),
            (Some(TRANSLATE), param),
            "{members}"
        );
    }
    let text = body(Dialect::Completions, "");
    let top = scan(text.as_bytes()).unwrap();
    let of = target(Service::OpenAi, thinker());
    let refused = settings_edits(Dialect::Completions, &top, &of, |_| {}).unwrap_err();
    assert_eq!(refused.code, Some(TRANSLATE));
}

#[test]
fn a_setting_that_is_wrong_is_told_as_the_decoder_tells_it() {
    let text = body(Dialect::Chat, r#""temperature":"hot""#);
    let top = scan(text.as_bytes()).unwrap();
    let of = target(Service::OpenAi, thinker());
    let refused = settings_edits(Dialect::Chat, &top, &of, |_| {}).unwrap_err();
    assert_eq!((refused.code, &*refused.param), (None, "temperature"));
}
