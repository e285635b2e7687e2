use bardo_types::chat::{
    Assembler, ChatResponse, Choice, Finish, OutputFormat, Part, Reasoning, StreamEvent, Text,
    ThinkingMode, ToolCall, ToolChoice, ToolInput,
};
use bardo_types::fault::{Fault, FaultClass};

use super::*;
use crate::textual::{EventFilter, filter_response};

fn finish(reason: Finish) -> StreamEvent {
    StreamEvent::Finish {
        choice: 0,
        reason,
        stop_sequence: None,
        details: None,
    }
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text {
        choice: 0,
        text: text.into(),
    }
}

fn filtered(events: Vec<StreamEvent>, context: &DecodeContext) -> Vec<StreamEvent> {
    let mut filter = EventFilter::new(context);
    let mut out = Vec::new();
    for event in events {
        filter.push(event, &mut out);
    }
    out
}

fn assembled(events: Vec<StreamEvent>) -> ChatResponse {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.finish().unwrap()
}

fn whole(words: &str, reason: Finish) -> ChatResponse {
    ChatResponse {
        choices: vec![Choice {
            parts: vec![Text::new(words).into()],
            finish: Some(reason),
            ..Choice::default()
        }],
        ..ChatResponse::default()
    }
}

fn thinking_caller() -> DecodeContext {
    context(request(), ToolFormat::Hermes, ReasoningFormat::ThinkTags)
}

fn answer(words: &str, reason: Finish, context: &DecodeContext) -> Choice {
    let answer = filter_response(whole(words, reason), context);
    answer.choices.into_iter().next().unwrap()
}

const TURN: &str = "<think>\nWhich city?\n</think>\n\nChecking.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": \"x\\ny\"}}\n</tool_call>";

#[test]
fn text_becomes_thinking_words_and_calls() {
    let choice = answer(TURN, Finish::Stop, &thinking_caller());
    assert_eq!(
        choice.parts,
        [
            Part::Reasoning(Reasoning {
                text: "Which city?".into(),
                ..Reasoning::default()
            }),
            Text::new("Checking.").into(),
            Part::ToolCall(ToolCall::new(
                "call_01J_0",
                "weather",
                "{\"city\": \"Bern\"}"
            )),
            Part::ToolCall(ToolCall {
                input: ToolInput::Text("x\ny".into()),
                ..ToolCall::new("call_01J_1", "patch", "")
            }),
        ]
    );
    assert_eq!(choice.finish, Some(Finish::ToolCalls));
}

#[test]
fn a_call_alone_leaves_no_empty_text() {
    let words = "\n<tool_call>{\"name\":\"f\"}</tool_call>\n";
    let choice = answer(words, Finish::Stop, &thinking_caller());
    assert_eq!(
        choice.parts,
        [Part::ToolCall(ToolCall::new("call_01J_0", "f", "{}"))]
    );
}

#[test]
fn a_cut_call_keeps_its_finish_and_a_whole_one_does_not() {
    let whole = answer(
        "<tool_call>{\"name\":\"f\"}</tool_call> and",
        Finish::Length,
        &thinking_caller(),
    );
    assert_eq!(whole.finish, Some(Finish::ToolCalls));
    let cut = answer(
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"b",
        Finish::Length,
        &thinking_caller(),
    );
    assert_eq!(cut.finish, Some(Finish::Length));
    let Part::ToolCall(call) = &cut.parts[0] else {
        panic!("{cut:?}");
    };
    assert_eq!(call.input.as_object(), None);
}

#[test]
fn thinking_that_was_cut_is_thinking_and_an_answer_is_never_lost() {
    let cut = answer("hm, well", Finish::Length, &thinking_caller());
    assert!(matches!(&cut.parts[..], [Part::Reasoning(_)]), "{cut:?}");
    let answered = answer("Yes", Finish::Stop, &thinking_caller());
    assert!(
        matches!(&answered.parts[..], [Part::Reasoning(_), Part::Text(text)] if text.text == "Yes"),
        "{answered:?}"
    );
}

#[test]
fn an_opening_tag_is_missing_only_where_the_model_thinks() {
    let words = "hm</think>Yes";
    let mut off = request();
    off.reasoning.mode = Some(ThinkingMode::Disabled);
    let off = context(off, ToolFormat::Hermes, ReasoningFormat::ThinkTags);
    assert_eq!(
        answer(words, Finish::Stop, &off).parts,
        [Text::new(words).into()]
    );
    assert_eq!(
        answer(words, Finish::Stop, &thinking_caller()).parts.len(),
        2
    );
    // A server that tells thinking apart leaves no tag out of its text.
    let events = vec![
        StreamEvent::Reasoning {
            choice: 0,
            text: "hm".into(),
            summary: false,
        },
        text("Yes"),
        finish(Finish::Stop),
        StreamEvent::Done,
    ];
    assert_eq!(filtered(events.clone(), &thinking_caller()), events);
}

#[test]
fn without_tools_or_with_none_allowed_tags_are_words() {
    let words = "<tool_call>{\"name\":\"f\"}</tool_call>";
    let mut none = request();
    none.tool_choice = Some(ToolChoice::None);
    let mut bare = request();
    bare.tools.clear();
    for request in [none, bare] {
        let context = context(request, ToolFormat::Hermes, ReasoningFormat::Member);
        let choice = answer(words, Finish::Stop, &context);
        assert_eq!(choice.parts, [Text::new(words).into()]);
        assert_eq!(choice.finish, Some(Finish::Stop));
    }
}

#[test]
fn a_json_answer_keeps_its_tags() {
    let mut request = request();
    request.output = OutputFormat::JsonObject;
    let context = context(request, ToolFormat::Native, ReasoningFormat::ThinkTags);
    let words = "{\"a\":\"\n<think>\"}";
    assert_eq!(
        answer(words, Finish::Stop, &context).parts,
        [Text::new(words).into()]
    );
}

#[test]
fn native_calls_are_counted_before_written_ones() {
    let events = vec![
        StreamEvent::ToolStart {
            choice: 0,
            call: 0,
            id: "x".into(),
            name: "f".into(),
            custom: false,
            opaque: None,
        },
        text("</think><tool_call>{\"name\":\"g\"}</tool_call>"),
        finish(Finish::Stop),
        StreamEvent::Done,
    ];
    let answer = assembled(filtered(events, &thinking_caller()));
    let ids: Vec<_> = answer.choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["x", "call_01J_1"]);
}

#[test]
fn a_failure_shows_what_was_held_and_never_a_call() {
    let failed = || StreamEvent::Failed(Fault::new(FaultClass::Connection, "gone"));
    let events = vec![text("<think>hm</think>Words <tool"), failed()];
    let out = filtered(events, &thinking_caller());
    assert_eq!(out.last(), Some(&failed()));
    assert!(out.contains(&text(" <tool")), "{out:?}");
}

#[test]
fn only_models_that_need_it_are_filtered() {
    let needed = |tools, reasoning| {
        let context = context(request(), tools, reasoning);
        EventFilter::needed(&context.target.capabilities)
    };
    assert!(!needed(ToolFormat::Native, ReasoningFormat::Member));
    assert!(!needed(ToolFormat::Unsupported, ReasoningFormat::Member));
    assert!(needed(ToolFormat::Hermes, ReasoningFormat::Member));
    assert!(needed(ToolFormat::QwenXml, ReasoningFormat::Member));
    assert!(needed(ToolFormat::Anthropic, ReasoningFormat::Member));
    assert!(needed(ToolFormat::Json, ReasoningFormat::Member));
    assert!(needed(ToolFormat::Native, ReasoningFormat::ThinkTags));
}

proptest! {
    #[test]
    fn a_stream_and_a_whole_answer_are_the_same(
        texts in cut_text(&[
            "<think>", "</think>", "hm", "\n", " ", "Words", "<tool_call>",
            "{\"name\":\"weather\",\"arguments\":{}}", "</tool_call>", "```\n", "<",
        ]),
        reason in proptest::sample::select(vec![Finish::Stop, Finish::Length, Finish::Refusal]),
    ) {
        let context = thinking_caller();
        let mut events: Vec<_> = texts.iter().map(|words| text(words)).collect();
        events.push(finish(reason));
        events.push(StreamEvent::Done);
        let streamed = assembled(filtered(events, &context));
        let buffered = filter_response(whole(&texts.concat(), reason), &context);
        prop_assert_eq!(streamed, buffered);
    }
}
