//! Schemas in words and tools, marks, predictions: what is done where there is no member.

use bardo_profile::{MinPFallback, SchemaMode, Wanted};
use bardo_types::chat::{
    ChatRequest, Document, DocumentSource, OutputFormat, Part, Role, ThinkingDisplay, Tool,
    ToolChoice,
};
use bardo_types::feature::Feature;
use bardo_types::hints::RouteHints;
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Service};
use bardo_types::profile::InferenceProfile;
use serde_json::json;

use crate::case::{Case, DEEPSEEK, GPT_4_1, GPT_5_4, KIMI, LLAMA, OPUS_5_5, at, want};
use crate::models::{message, question, wish};

use Dialect::{Anthropic, Chat};

#[test]
fn words_come_last_in_the_system_prompt_and_never_before_signed_thinking() {
    let wanted = wish("hypnagogic_capture", &RouteHints::default());
    let mut case = Case::of(LLAMA);
    case.capabilities.structured_output = false;
    case.capabilities.forced_tool_choice = false;
    let mut request = question(Chat);
    let applied = case.apply(&wanted, &mut request);
    assert_eq!(
        applied.schema.as_ref().map(|check| check.mode),
        Some(SchemaMode::Prompt)
    );
    assert!(applied.touched_conversation);
    let system = request.leading_system();
    assert_eq!(system[0].text(), "You are an agent.");
    assert_eq!(system.len(), 2);
    let words = system[1].text();
    assert!(words.starts_with("Respond ONLY with valid JSON matching this schema:\n{\n  \"type\""));
    let told: Vec<&str> = applied.degraded.iter().map(|lost| &*lost.detail).collect();
    assert!(told.contains(
        &"response_schema capture_result → prompt-guided JSON (the model does not accept a schema for its answer here)"
    ));

    let mut bound = Case::of(OPUS_5_5);
    bound.capabilities.structured_output = false;
    let mut signed = question(Anthropic);
    let mut thought = message(Role::Assistant, "Hm.");
    thought.parts.insert(
        0,
        Part::Reasoning(bardo_types::chat::Reasoning {
            opaque: Some(bardo_types::chat::Opaque::AnthropicSignature(
                "c2ln".to_owned(),
            )),
            ..Default::default()
        }),
    );
    signed
        .messages
        .extend([thought, message(Role::User, "And?")]);
    let before = signed.messages.clone();
    let applied = bound.apply(&wanted, &mut signed);
    assert_eq!(signed.messages, before);
    assert!(signed.tools.is_empty() && applied.schema.is_none());
    assert_eq!(
        applied.degraded.last().unwrap().detail,
        "response_schema capture_result → free text (a change before signed thinking would invalidate it)"
    );
}

#[test]
fn an_answer_tool_is_forced_where_nothing_else_holds_the_model() {
    let mut request = question(Chat);
    let wanted = wish("hypnagogic_capture", &RouteHints::default());
    let applied = Case::of(DEEPSEEK).apply(&wanted, &mut request);
    assert_eq!(applied.schema.unwrap().mode, SchemaMode::Tool);
    assert_eq!(
        request.tool_choice,
        Some(ToolChoice::Named("capture_result".to_owned()))
    );
    assert!(
        matches!(&request.tools[..], [Tool::Function { name, .. }] if name == "capture_result")
    );
    assert_eq!(request.output, OutputFormat::Text);
    // Nobody is forced while it thinks, so words and the JSON mode have to do.
    let mut request = question(Chat);
    let applied = Case::of(DEEPSEEK).apply(&wish("curator", &RouteHints::default()), &mut request);
    assert_eq!(applied.schema.unwrap().mode, SchemaMode::Prompt);
    assert_eq!(request.output, OutputFormat::JsonObject);
    // BlockRun holds models of OpenAI to a schema, and no others.
    for (name, mode) in [
        ("openai/gpt-5.4", SchemaMode::Native),
        ("anthropic/claude-opus-4-6", SchemaMode::Prompt),
    ] {
        let mut request = question(Chat);
        let case = Case::of(at(Service::BlockRun, Chat, name));
        let applied = case.apply(&wish("curator", &RouteHints::default()), &mut request);
        assert_eq!(applied.schema.unwrap().mode, mode, "{name}");
    }
    // A caller with a shape of its own keeps it.
    let mut request = question(Chat);
    request.output = OutputFormat::JsonObject;
    let applied = Case::of(KIMI).apply(&wanted, &mut request);
    assert_eq!(
        (applied.schema, request.output),
        (None, OutputFormat::JsonObject)
    );
}

#[test]
fn marks_keys_and_shown_thinking_go_where_they_are_taken() {
    let wanted = wish("operator", &RouteHints::default());
    let mut native = question(Anthropic);
    native.tools = vec![crate::pairs::lookup()];
    let mut small = native.clone();
    assert!(
        !Case::of(OPUS_5_5)
            .apply(&wanted, &mut small)
            .touched_conversation
    );
    assert_eq!(small.messages, native.messages);
    // The model caches from 512 tokens on; the tools alone do not reach it.
    native.messages[0] = message(Role::System, &"You are an agent. ".repeat(100));
    let mut only_system = native.clone();
    Case::of(OPUS_5_5).apply(&wanted, &mut only_system);
    assert!(matches!(
        &only_system.tools[0],
        Tool::Function { cache: None, .. }
    ));
    native
        .tools
        .extend((0..100).map(|_| crate::pairs::lookup()));
    let applied = Case::of(OPUS_5_5).apply(&wanted, &mut native);
    assert!(applied.touched_conversation);
    let marks = |request: &ChatRequest| {
        let of = |part: &Part| matches!(part, Part::Text(text) if text.cache.is_some());
        request
            .messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter(|part| of(part))
            .count()
    };
    assert_eq!(marks(&native), 1);
    assert!(matches!(
        &native.tools[100],
        Tool::Function { cache: Some(_), .. }
    ));
    // A caller that marks is left alone, and encoders mark for the others.
    let mut marked = question(Anthropic);
    marked.cache.automatic = RawJson::parse(r#"{"type":"ephemeral"}"#).ok();
    assert!(
        !Case::of(OPUS_5_5)
            .apply(&wanted, &mut marked)
            .touched_conversation
    );
    let mut chat = question(Chat);
    assert!(
        !Case::of(OPUS_5_5)
            .apply(&wanted, &mut chat)
            .touched_conversation
    );
    for (words, is_marked) in [(1, false), (200, true)] {
        let mut routed = question(Chat);
        routed.messages[1] = message(Role::User, &"What now? ".repeat(words));
        Case::of(at(Service::OpenRouter, Chat, "claude-opus-5-5")).apply(&wanted, &mut routed);
        assert_eq!(routed.cache.automatic.is_some(), is_marked);
    }

    let wanted = wish("death_reflect", &RouteHints::default());
    for (place, display, told) in [
        (OPUS_5_5, Some(ThinkingDisplay::Summarized), None),
        (KIMI, None, None),
        (
            GPT_5_4,
            None,
            Some("visible_thinking wanted → none (this endpoint does not show thinking)"),
        ),
        (
            GPT_4_1,
            None,
            Some("visible_thinking wanted → none (this endpoint does not show thinking)"),
        ),
        (
            LLAMA,
            None,
            Some("visible_thinking wanted → none (the model does not think)"),
        ),
    ] {
        let mut request = question(Chat);
        let applied = Case::of(place).apply(&wanted, &mut request);
        assert!(applied.visible_thinking);
        assert_eq!(request.reasoning.display, display, "{place:?}");
        let found = applied
            .degraded
            .iter()
            .find(|lost| lost.feature == "visible_thinking");
        assert_eq!(found.map(|lost| &*lost.detail), told, "{place:?}");
    }
}

#[test]
fn a_likely_answer_is_handed_in_where_models_take_one() {
    let mut case = Case::of(GPT_4_1);
    case.capabilities.features = case.capabilities.features.with(Feature::PredictedOutputs);
    let mut request = question(Anthropic);
    let book = Document {
        source: DocumentSource::Text("1. Survive.".to_owned()),
        title: Some("PLAYBOOK.md".to_owned()),
        context: None,
        citations: false,
        cache: None,
    };
    request.messages[1].parts.push(Part::Document(book));
    let wanted = wish("playbook", &RouteHints::default());
    let whole = request.clone();
    let (body, lost) = case.body(&wanted, request);
    assert_eq!(
        body["prediction"],
        json!({"type": "content", "content": "1. Survive."})
    );
    assert!(
        !lost.iter().any(|lost| lost.starts_with("predicted_output")),
        "{lost:?}"
    );
    // Not beside tools, and not by every model.
    let mut tooled = whole.clone();
    tooled.tools = vec![crate::pairs::lookup()];
    for (case, request) in [(case, tooled), (Case::of(GPT_5_4), whole)] {
        let (body, lost) = case.body(&wanted, request);
        assert_eq!(body.get("prediction"), None);
        assert!(
            lost.iter().any(|lost| lost.starts_with("predicted_output")),
            "{lost:?}"
        );
    }
    // Nothing to predict is nothing lost.
    let (_, lost) = Case::of(GPT_5_4).body(&wanted, question(Chat));
    assert!(
        !lost.iter().any(|lost| lost.starts_with("predicted_output")),
        "{lost:?}"
    );
}

#[test]
fn greedy_is_cold_and_min_p_may_be_dropped() {
    let case = Case::of(GPT_4_1);
    let greedy = want(InferenceProfile {
        top_k: Some(1),
        ..InferenceProfile::default()
    });
    let (body, lost) = case.body(&greedy, question(Chat));
    assert_eq!(body["temperature"], 0);
    assert_eq!(
        lost,
        ["top_k 1 → temperature 0 (the model does not accept it here)"]
    );
    let dropped = Wanted {
        min_p_fallback: MinPFallback::Drop,
        ..want(InferenceProfile {
            min_p: Some(0.1),
            ..InferenceProfile::default()
        })
    };
    let (body, lost) = case.body(&dropped, question(Chat));
    assert_eq!(body.get("top_p"), None);
    assert_eq!(
        lost,
        ["min_p 0.1 → provider default (the model does not accept it here)"]
    );
}

#[test]
fn a_soft_switch_is_used_only_by_models_that_read_it_and_only_without_a_member() {
    let wanted = wish("mind_wandering", &RouteHints::default());
    let switch = |request: &ChatRequest| {
        request
            .leading_system()
            .iter()
            .any(|m| m.text() == "/no_think")
    };
    for (service, used) in [(Service::Local, false), (Service::BlockRun, true)] {
        let mut request = question(Chat);
        Case::of(at(service, Chat, "qwen-think-8b")).apply(&wanted, &mut request);
        assert_eq!(switch(&request), used, "{service:?}");
    }
    let mut request = question(Chat);
    Case::of(at(Service::BlockRun, Chat, "deepseek-v4-pro")).apply(&wanted, &mut request);
    assert!(!switch(&request));
}
