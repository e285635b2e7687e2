use bardo_types::chat::{Message, ReasoningRequest, Role, Text, ThinkingDisplay, ThinkingMode};
use bardo_types::json::RawJson;
use serde_json::{Value, json};

use super::*;
use crate::gemini::encode_request;

fn asked(reasoning: ReasoningRequest) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.messages = vec![Message::new(Role::User, vec![Text::new("Hi").into()])];
    request.reasoning = reasoning;
    request
}

fn effort(effort: Effort) -> ReasoningRequest {
    ReasoningRequest {
        effort: Some(effort),
        ..ReasoningRequest::default()
    }
}

fn mode(mode: ThinkingMode) -> ReasoningRequest {
    ReasoningRequest {
        mode: Some(mode),
        ..ReasoningRequest::default()
    }
}

/// The thinking configuration without `includeThoughts`, and what was lost.
fn sent(request: &ChatRequest, capabilities: Capabilities) -> (Value, Vec<String>) {
    let encoded = encode_request(request, &target(capabilities)).unwrap();
    let mut body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let mut config = body["generationConfig"]["thinkingConfig"].take();
    if let Some(config) = config.as_object_mut() {
        config.remove("includeThoughts");
    }
    let lost = encoded
        .degraded
        .into_iter()
        .map(|degradation| degradation.feature.into_owned())
        .collect();
    (config, lost)
}

fn shown(request: &ChatRequest) -> bool {
    let encoded = encode_request(request, &target(levels())).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    body["generationConfig"]["thinkingConfig"]["includeThoughts"] == true
}

/// Section 1, the effort table for models with levels.
#[test]
fn efforts_become_levels() {
    let extended = || Capabilities {
        efforts: vec![Effort::Low, Effort::Medium, Effort::High, Effort::Xhigh],
        ..levels()
    };
    let rows: [(Effort, Capabilities, &str, &[&str]); 10] = [
        (Effort::None, levels(), "MINIMAL", &["thinking_off"]),
        (Effort::Minimal, levels(), "MINIMAL", &[]),
        (Effort::Low, levels(), "LOW", &[]),
        (Effort::Medium, levels(), "MEDIUM", &[]),
        (Effort::High, levels(), "HIGH", &[]),
        (Effort::Xhigh, levels(), "HIGH", &["effort"]),
        (Effort::Max, levels(), "HIGH", &["effort"]),
        (Effort::Max, extended(), "XHIGH", &[]),
        (Effort::Xhigh, extended(), "XHIGH", &[]),
        (Effort::None, extended(), "LOW", &["thinking_off"]),
    ];
    for (wanted, capabilities, level, lost) in rows {
        let expected = (
            json!({"thinkingLevel": level}),
            lost.iter().map(ToString::to_string).collect(),
        );
        assert_eq!(
            sent(&asked(effort(wanted)), capabilities),
            expected,
            "{wanted:?}"
        );
    }
}

/// Section 1, the effort table for models with budgets.
#[test]
fn efforts_become_budgets() {
    let rows = [
        (Effort::None, 0),
        (Effort::Minimal, 1_024),
        (Effort::Low, 1_024),
        (Effort::Medium, 8_192),
        (Effort::High, 24_576),
        (Effort::Max, 24_576),
    ];
    for (wanted, tokens) in rows {
        let (config, lost) = sent(&asked(effort(wanted)), budgets());
        assert_eq!(config, json!({"thinkingBudget": tokens}), "{wanted:?}");
        assert_eq!(lost, [""; 0], "{wanted:?}");
    }
}

#[test]
fn budgets_are_sent_or_become_levels() {
    let budget = |tokens| asked(mode(ThinkingMode::Budget(tokens)));
    let (config, lost) = sent(&budget(5_000), budgets());
    assert_eq!((config, lost.len()), (json!({"thinkingBudget": 5_000}), 0));
    let (config, lost) = sent(&budget(31_999), budgets());
    assert_eq!(config, json!({"thinkingBudget": 24_576}));
    assert_eq!(lost, ["thinking_budget"]);
    let (config, lost) = sent(&budget(5_000), levels());
    assert_eq!(config, json!({"thinkingLevel": "MEDIUM"}));
    assert_eq!(lost, ["thinking_budget"]);
}

#[test]
fn thinking_is_off_where_it_can_be() {
    let off = asked(mode(ThinkingMode::Disabled));
    assert_eq!(
        sent(&off, budgets()),
        (json!({"thinkingBudget": 0}), Vec::new())
    );
    let mut stubborn = budgets();
    stubborn.thinking.disabled = false;
    assert_eq!(
        sent(&off, stubborn),
        (json!({"thinkingBudget": 128}), vec!["thinking_off".into()])
    );
    assert!(!shown(&off));
}

#[test]
fn a_model_that_does_not_think_is_sent_nothing() {
    let none = Capabilities::default;
    assert_eq!(
        sent(&asked(effort(Effort::High)), none()),
        (Value::Null, vec!["thinking".into()])
    );
    assert_eq!(
        sent(&asked(mode(ThinkingMode::Disabled)), none()),
        (Value::Null, Vec::new())
    );
    assert_eq!(
        sent(&asked(ReasoningRequest::default()), none()),
        (Value::Null, Vec::new())
    );
}

#[test]
fn the_model_decides_where_it_was_told_to() {
    let free = asked(mode(ThinkingMode::Adaptive));
    assert_eq!(sent(&free, budgets()).0, json!({"thinkingBudget": -1}));
    assert_eq!(sent(&free, levels()).0, json!({}));
    let between = asked(mode(ThinkingMode::BetweenTools));
    assert_eq!(sent(&between, levels()).1, ["thinking_mode"]);
}

#[test]
fn the_latest_setting_in_the_conversation_wins() {
    let mut request = asked(effort(Effort::Low));
    for name in ["low", "high"] {
        let mut message = Message::new(Role::System, vec![Text::new("x").into()]);
        message.output_config = RawJson::parse(format!(r#"{{"effort":"{name}"}}"#)).ok();
        request.messages.push(message);
    }
    assert_eq!(sent(&request, levels()).0, json!({"thinkingLevel": "HIGH"}));
}

#[test]
fn thoughts_are_shown_to_those_who_want_them() {
    let of = |dialect, reasoning: ReasoningRequest| {
        let mut request = asked(reasoning);
        request.dialect = dialect;
        shown(&request)
    };
    let display = |display| ReasoningRequest {
        display: Some(display),
        ..mode(ThinkingMode::Adaptive)
    };
    assert!(of(Dialect::Chat, ReasoningRequest::default()));
    assert!(!of(Dialect::Anthropic, ReasoningRequest::default()));
    assert!(of(Dialect::Anthropic, mode(ThinkingMode::Adaptive)));
    assert!(!of(Dialect::Anthropic, display(ThinkingDisplay::Omitted)));
    assert!(of(Dialect::Anthropic, display(ThinkingDisplay::Summarized)));
    assert!(!of(Dialect::Responses, effort(Effort::High)));
    let summary = ReasoningRequest {
        summary: Some("auto".into()),
        ..effort(Effort::High)
    };
    assert!(of(Dialect::Responses, summary));
}
