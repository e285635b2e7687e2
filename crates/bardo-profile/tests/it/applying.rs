//! What gives way to what, in which words, and how long the answer gets.

use bardo_types::chat::{ThinkingMode, ToolChoice};
use bardo_types::hints::RouteHints;
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort, Service};

use bardo_profile::apply;

use crate::case::{
    Case, DEEPSEEK, GPT_4_1, GPT_5_4, HAIKU_4_5, KIMI, LLAMA, OPUS_4_6, OPUS_5_5, able, at,
};
use crate::models::{model, question, wish};

use Dialect::Chat;

#[test]
fn what_is_changed_is_said_in_one_sentence() {
    for (row, place, told) in [
        (
            "risk",
            OPUS_4_6,
            &[
                "temperature 0.1 → provider default (thinking)",
                "top_p 0.85 → provider default (thinking)",
                "top_k 40 → provider default (thinking)",
            ][..],
        ),
        (
            "heartbeat_t1",
            OPUS_4_6,
            &[
                "reasoning_effort low → none (the profile sets sampling)",
                "top_p 0.9 → provider default (temperature is set, and the model accepts only one of the two)",
            ],
        ),
        (
            "heartbeat_t2",
            OPUS_4_6,
            &["temperature 0.5 → provider default (thinking)"],
        ),
        (
            "hypnagogic_dali",
            HAIKU_4_5,
            &[
                "temperature 1.5 → 1 (the maximum of the model)",
                "min_p 0.08 → provider default (the model does not accept it here)",
            ],
        ),
        (
            "mind_wandering",
            GPT_4_1,
            &[
                "min_p 0.1 → top_p 0.9 (the model does not accept it here)",
                "reasoning_effort none → prompt fallback (the model has no such setting)",
            ],
        ),
        (
            "operator",
            LLAMA,
            &["reasoning_effort high → prompt fallback (the model has no such setting)"],
        ),
        (
            "heartbeat_t2",
            LLAMA,
            &["reasoning_effort high → provider default (the answer must match a schema)"],
        ),
        (
            "risk",
            HAIKU_4_5,
            &[
                "thinking_budget 65536 → 59904 (it must be below the limit of the answer)",
                "temperature 0.1 → provider default (thinking)",
                "top_p 0.85 → provider default (thinking)",
                "top_k 40 → provider default (thinking)",
            ],
        ),
        (
            "hypnagogic_observer",
            OPUS_5_5,
            &[
                "reasoning_effort none → low (this model cannot disable thinking here)",
                "temperature 0.3 → provider default (the model does not support sampling settings)",
                "top_p 0.85 → provider default (the model does not support sampling settings)",
            ],
        ),
        ("daimon", KIMI, &[]),
        ("dream_rem", KIMI, &[]),
        (
            "capture",
            DEEPSEEK,
            &[
                "reasoning_effort low → none (the profile sets sampling)",
                "response_schema capture_result → a tool (the model does not accept a schema for its answer here)",
            ],
        ),
    ] {
        let case = Case::of(place);
        let row = if row == "capture" {
            "hypnagogic_capture"
        } else {
            row
        };
        let mut request = question(Chat);
        let applied = case.apply(&wish(row, &RouteHints::default()), &mut request);
        let said: Vec<&str> = applied.degraded.iter().map(|lost| &*lost.detail).collect();
        assert_eq!(said, told, "{row} on {}", case.name);
        let locked = row == "risk" || row == "operator";
        let told: Vec<String> = (locked && !said.is_empty())
            .then(|| {
                let all = said.join(", ");
                format!("the locked profile does not apply in full: {all}")
            })
            .into_iter()
            .collect();
        assert_eq!(applied.warnings, told, "one sentence for all of them");
    }
}

#[test]
fn the_answer_keeps_its_room_beside_the_thinking() {
    let limit = |row: &str, place, said: Option<u64>| {
        let mut request = question(Chat);
        request.max_output_tokens = said;
        Case::of(place).apply(&wish(row, &RouteHints::default()), &mut request);
        request.max_output_tokens
    };
    for (row, place, said, sent) in [
        ("hypnagogic_dali", GPT_4_1, None, 100),
        ("heartbeat_t1", OPUS_4_6, None, 512),
        ("heartbeat_t1", GPT_5_4, None, 512 + 4_096),
        ("risk", OPUS_5_5, None, 4_096 + 65_536),
        ("risk", HAIKU_4_5, None, 64_000),
        ("curator", HAIKU_4_5, None, 2_048 + 4_096),
        ("risk", OPUS_5_5, Some(900), 900),
        // Nobody says how much it can answer.
        ("risk", at(Service::Local, Chat, "qwen3-8b"), None, 8_192),
    ] {
        assert_eq!(limit(row, place, said), Some(sent), "{row} {place:?}");
    }
    // No room for 1,024 thinking tokens.
    let mut request = question(Chat);
    request.max_output_tokens = Some(1_500);
    let applied = Case::of(HAIKU_4_5).apply(&wish("curator", &RouteHints::default()), &mut request);
    assert_eq!(request.reasoning.mode, Some(ThinkingMode::Disabled));
    assert_eq!(applied.effort, Some(Effort::None));
    assert_eq!(
        applied.degraded[0].detail,
        "reasoning_effort medium → none (the limit of the answer leaves no room for thinking)"
    );
}

#[test]
fn what_the_caller_demands_counts_more_than_thinking() {
    let mut request = question(Chat);
    request.tools = vec![crate::pairs::lookup()];
    request.tool_choice = Some(ToolChoice::Required);
    let case = Case::of(HAIKU_4_5);
    let applied = case.apply(&wish("curator", &RouteHints::default()), &mut request);
    assert_eq!(request.reasoning.mode, Some(ThinkingMode::Disabled));
    assert_eq!(
        applied.degraded[0].detail,
        "reasoning_effort medium → none (a tool call is required)"
    );
    let mut request = question(Chat);
    request.sampling.temperature = RawJson::parse("0.2").ok();
    let applied =
        Case::of(OPUS_4_6).apply(&wish("heartbeat_t2", &RouteHints::default()), &mut request);
    assert_eq!(applied.temperature, Some(0.2));
    assert_eq!(
        applied.degraded[0].detail,
        "reasoning_effort high → none (the caller set sampling itself)"
    );
    // A locked profile lets neither stand.
    let mut request = question(Chat);
    request.sampling.temperature = RawJson::parse("0.9").ok();
    request.sampling.min_p = RawJson::parse("0.2").ok();
    request.reasoning.effort = Some(Effort::Low);
    let applied = Case::of(KIMI).apply(&wish("operator", &RouteHints::default()), &mut request);
    assert_eq!(applied.temperature, Some(0.7));
    assert_eq!(applied.effort, Some(Effort::High));
    let said: Vec<&str> = applied.degraded.iter().map(|lost| &*lost.detail).collect();
    assert_eq!(
        said,
        [
            "temperature 0.9 → 0.7 (the profile is locked)",
            "min_p 0.2 → provider default (the profile is locked)",
            "reasoning_effort of the caller → high (the profile is locked)",
        ]
    );
}

/// Translation bug 58: version 2026-10-21 of the Messages API refuses sampling of every model.
#[test]
fn no_sampling_is_added_where_the_version_of_the_api_refuses_it() {
    let capabilities = able("claude-opus-4-6");
    let mut model = model(
        &capabilities,
        Service::Anthropic,
        Dialect::Anthropic,
        "claude-opus-4-6",
    );
    model.takes_sampling = false;
    let mut request = question(Dialect::Anthropic);
    let wanted = wish("heartbeat_t1", &RouteHints::default());
    let applied = apply(&wanted, &mut request, &model);
    assert_eq!(request.sampling, bardo_types::chat::Sampling::default());
    // With no temperature to keep, thinking need not give way.
    assert_eq!(applied.effort, Some(Effort::Low));
    assert_eq!(request.reasoning.mode, Some(ThinkingMode::Adaptive));
    let said: Vec<&str> = applied.degraded.iter().map(|lost| &*lost.detail).collect();
    assert_eq!(
        said,
        [
            "temperature 0.3 → provider default (this API version does not support sampling settings)",
            "top_p 0.9 → provider default (this API version does not support sampling settings)",
        ]
    );
}
