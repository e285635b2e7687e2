//! What a caller gets.

use std::collections::BTreeMap;

use bardo_types::chat::{
    Choice, Citation, CitationSource, Finish, Opaque, Part, Reasoning, ServerBlock, Text, ToolCall,
    ToolInput,
};
use bardo_types::json::RawJson;
use bardo_types::usage::Usage;
use serde_json::Value;

use super::*;

mod state;

/// The events of a reply, checked against the grammar that clients rely on.
#[track_caller]
fn checked(bytes: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    let mut parser = SseParser::new(1 << 20);
    parser
        .push(bytes, |event| {
            let data = json(event.data);
            assert_eq!(data["type"], event.name);
            assert_eq!(data["sequence_number"], events.len());
            events.push(data);
        })
        .unwrap();
    let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
    assert_eq!(name(&events[0]), "response.created");
    assert_eq!(name(&events[1]), "response.in_progress");
    let last = events.last().unwrap();
    assert!(matches!(
        name(last).as_str(),
        "response.completed" | "response.incomplete" | "response.failed"
    ));
    for event in &events {
        if let Some(response) = event.get("response") {
            assert_eq!(response["id"], events[0]["response"]["id"]);
        }
    }
    let items = items(&events);
    if name(last) != "response.failed" {
        assert_eq!(last["response"]["output"], Value::Array(items));
    }
    events
}

/// What deltas brought, by the index and the kind of their text.
type Texts<'a> = BTreeMap<(u64, &'a str), String>;

/// Rebuilds the items from deltas and compares them with what the done events say.
#[track_caller]
fn items(events: &[Value]) -> Vec<Value> {
    let mut open: BTreeMap<u64, (String, Texts<'_>)> = BTreeMap::new();
    let mut done = BTreeMap::new();
    for event in events {
        let name = event["type"].as_str().unwrap();
        let Some(place) = event["output_index"].as_u64() else {
            continue;
        };
        if name == "response.output_item.added" {
            let id = event["item"]["id"].as_str().unwrap().to_owned();
            assert!(
                open.insert(place, (id, BTreeMap::new())).is_none(),
                "{event}"
            );
            continue;
        }
        let (id, texts) = open.get_mut(&place).expect("announced before");
        if name == "response.output_item.done" {
            let item = &event["item"];
            assert_eq!(item["id"].as_str(), Some(id.as_str()));
            assert!(done.insert(place, item.clone()).is_none());
            continue;
        }
        assert_eq!(event["item_id"].as_str(), Some(id.as_str()));
        assert!(!done.contains_key(&place), "{name} after its item was done");
        let index = event["content_index"]
            .as_u64()
            .or(event["summary_index"].as_u64())
            .unwrap_or(0);
        let sort = name.rsplit_once('.').unwrap().0;
        if let Some(delta) = event["delta"].as_str() {
            assert!(!delta.is_empty());
            texts.entry((index, sort)).or_default().push_str(delta);
        } else if let Some(whole) = ["text", "refusal", "arguments", "input"]
            .iter()
            .find_map(|key| event[*key].as_str())
        {
            let text = texts.get(&(index, sort)).map_or("", String::as_str);
            assert_eq!(text, whole, "{name}");
        }
    }
    assert_eq!(open.len(), done.len(), "every item is closed");
    done.into_values().collect()
}

fn encoded(steps: impl IntoIterator<Item = StreamEvent>) -> Vec<u8> {
    let mut encoder = stream_encoder(reply_context());
    let mut out = Vec::new();
    for step in steps {
        encoder.encode(step, ": bardo {\"cost\":\"0.000001\"}\n", &mut out);
    }
    out
}

/// The steps that make up an answer, as a decoder of any dialect might give them.
fn steps_of(response: &ChatResponse) -> Vec<StreamEvent> {
    let mut out = vec![StreamEvent::Start {
        id: response.id.clone(),
        model: response.model.clone(),
        created: response.created,
        service_tier: response.service_tier.clone(),
    }];
    let choice = 0;
    let mut call = 0;
    for part in response.choices[0].parts.clone() {
        match part {
            Part::Reasoning(reasoning) => {
                for piece in pieces(&reasoning.text) {
                    out.push(StreamEvent::Reasoning {
                        choice,
                        text: piece,
                        summary: reasoning.summary,
                    });
                }
                out.push(StreamEvent::ReasoningEnd {
                    choice,
                    opaque: reasoning.opaque,
                });
            }
            Part::Text(text) => {
                for piece in pieces(&text.text) {
                    out.push(StreamEvent::Text {
                        choice,
                        text: piece,
                    });
                }
                for citation in text.citations {
                    out.push(StreamEvent::Citation { choice, citation });
                }
                out.push(StreamEvent::TextEnd {
                    choice,
                    opaque: text.opaque,
                });
            }
            Part::Refusal(text) => out.push(StreamEvent::Refusal { choice, text }),
            Part::ToolCall(made) => {
                let (custom, input) = match made.input {
                    ToolInput::Json(text) => (false, text),
                    ToolInput::Text(text) => (true, text),
                };
                out.push(StreamEvent::ToolStart {
                    choice,
                    call,
                    id: made.id,
                    name: made.name,
                    custom,
                    opaque: made.opaque,
                });
                for fragment in pieces(&input) {
                    out.push(StreamEvent::ToolInput {
                        choice,
                        call,
                        fragment,
                    });
                }
                out.push(StreamEvent::ToolEnd { choice, call });
                call += 1;
            }
            Part::Server(block) => out.push(StreamEvent::Server { choice, block }),
            other => panic!("no answer has {other:?}"),
        }
    }
    out.extend(response.usage.clone().map(StreamEvent::Usage));
    out.push(StreamEvent::Finish {
        choice,
        reason: response.choices[0].finish.unwrap(),
        stop_sequence: None,
        details: None,
    });
    out.push(StreamEvent::Done);
    out
}

fn pieces(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(5).map(|piece| piece.iter().collect()).collect()
}

fn answer(parts: Vec<Part>, finish: Finish) -> ChatResponse {
    ChatResponse {
        id: Some("msg_01".into()),
        model: Some("claude-opus-5-5".into()),
        choices: vec![Choice {
            parts,
            finish: Some(finish),
            ..Choice::default()
        }],
        usage: Some(Usage {
            fresh_input: 10,
            cache_read: 1000,
            cache_write_5m: 100,
            output: 5,
            ..Usage::default()
        }),
        ..ChatResponse::default()
    }
}

/// An answer with every kind of part that another provider can give.
fn foreign() -> ChatResponse {
    let url = |start, end| Citation {
        source: CitationSource::Url {
            url: "https://example.com".into(),
            title: "Example".into(),
            start,
            end,
        },
        cited_text: Some("Größe".into()),
        raw: None,
    };
    answer(
        vec![
            Part::Reasoning(Reasoning {
                text: "Thinking it through.".into(),
                summary: false,
                opaque: Some(Opaque::AnthropicSignature("EqQB".into())),
            }),
            Part::Reasoning(Reasoning {
                opaque: Some(Opaque::AnthropicSignature("empty".into())),
                ..Reasoning::default()
            }),
            Part::Reasoning(Reasoning {
                opaque: Some(Opaque::AnthropicRedacted("redacted".into())),
                ..Reasoning::default()
            }),
            Part::Text(Text::new("Über Größe. ")),
            Part::Text(Text {
                citations: vec![url(Some(12), Some(17)), url(None, None)],
                ..Text::new("Größe is size.")
            }),
            Part::ToolCall(ToolCall::new("toolu_1", "f", "{\"a\": 1}")),
            Part::ToolCall(ToolCall {
                opaque: Some(Opaque::GeminiSignature("sig".into())),
                ..ToolCall::new("toolu_2", "g", "")
            }),
            Part::ToolCall(ToolCall::new(
                "toolu_3",
                "apply_patch",
                r#"{"input":"*** Begin\n\"x\""}"#,
            )),
        ],
        Finish::ToolCalls,
    )
}

#[test]
fn streams_keep_the_grammar_and_end_as_the_whole_reply() {
    let mut answers: Vec<(String, ChatResponse)> = twins()
        .into_iter()
        .map(|name| (name.clone(), from_whole(&name).unwrap()))
        .collect();
    answers.push(("foreign".into(), foreign()));
    for (name, response) in answers {
        let stream = encoded(steps_of(&response));
        let events = checked(&stream);
        let mut streamed = events.last().unwrap()["response"].clone();
        let mut whole = json(&encode_response(&response, &reply_context()));
        // OpenAI's item keeps its own id where its words were not announced under another, and
        // logprobs belong to one part where the stream told which.
        for reply in [&mut streamed, &mut whole] {
            for item in reply["output"].as_array_mut().unwrap() {
                if item["type"] == "reasoning" && name != "foreign" {
                    *item = Value::Null;
                }
            }
        }
        if name != "logprobs" {
            assert_eq!(streamed, whole, "{name}");
        }
    }
}

#[test]
fn a_stream_reads_as_reviewed() {
    let text = String::from_utf8(encoded(steps_of(&foreign()))).unwrap();
    insta::assert_snapshot!("foreign_stream", text);
}

#[test]
fn the_trailer_stands_right_before_the_terminal_event() {
    let text = String::from_utf8(encoded(steps_of(&foreign()))).unwrap();
    let trailer = ": bardo {\"cost\":\"0.000001\"}\nevent: response.completed\n";
    assert_eq!(text.matches(": bardo").count(), 1);
    assert!(text.contains(trailer));
}

#[test]
fn usage_and_status_follow_the_answer() {
    let whole = |finish, parts| json(&encode_response(&answer(parts, finish), &reply_context()));
    let reply = whole(Finish::Stop, vec![Text::new("a").into()]);
    assert_eq!(reply["status"], "completed");
    // bug 35
    assert_eq!(reply["usage"]["input_tokens"], 1110);
    assert_eq!(
        reply["usage"]["input_tokens_details"]["cached_tokens"],
        1000
    );
    assert_eq!(
        reply["usage"]["input_tokens_details"]["cache_write_tokens"],
        100
    );
    assert_eq!(reply["usage"]["total_tokens"], 1115);
    for (finish, parts, status, reason) in [
        (
            Finish::Length,
            vec![Text::new("a").into()],
            "incomplete",
            Some("max_output_tokens"),
        ),
        (
            Finish::ContextWindow,
            vec![],
            "incomplete",
            Some("max_output_tokens"),
        ),
        (
            Finish::Refusal,
            vec![],
            "incomplete",
            Some("content_filter"),
        ),
        (
            Finish::Refusal,
            vec![Part::Refusal("no".into())],
            "completed",
            None,
        ),
        (Finish::StopSequence, vec![], "completed", None),
        (Finish::Pause, vec![], "completed", None),
        (Finish::ToolCalls, vec![], "completed", None),
    ] {
        let reply = whole(finish, parts);
        assert_eq!(reply["status"], status, "{finish:?}");
        assert_eq!(
            reply["incomplete_details"]["reason"].as_str(),
            reason,
            "{finish:?}"
        );
    }
}

#[test]
fn citations_count_within_their_own_part() {
    let reply = json(&encode_response(&foreign(), &reply_context()));
    let annotations = &reply["output"][3]["content"][1]["annotations"];
    assert_eq!(
        (&annotations[0]["start_index"], &annotations[0]["end_index"]),
        (&0.into(), &5.into())
    );
    assert_eq!(
        (&annotations[1]["start_index"], &annotations[1]["end_index"]),
        (&0.into(), &14.into())
    );
}

#[test]
fn a_custom_tool_gets_its_free_text_from_any_model() {
    let events = checked(&encoded(steps_of(&foreign())));
    let of = |kind: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect()
    };
    let deltas = of("response.custom_tool_call_input.delta");
    assert_eq!(deltas.len(), 1);
    assert_eq!(deltas[0]["delta"], "*** Begin\n\"x\"");
    let output = &events.last().unwrap()["response"]["output"];
    let call = output.as_array().unwrap().last().unwrap();
    assert_eq!(call["type"], "custom_tool_call");
    assert_eq!(call["input"], "*** Begin\n\"x\"");
}

#[test]
fn a_failure_in_mid_stream_is_response_failed_and_nothing_else() {
    let mut steps = steps_of(&foreign());
    steps.truncate(4);
    let fault = Fault::new(bardo_types::fault::FaultClass::Timeout, "too slow");
    steps.push(StreamEvent::Failed(fault));
    steps.push(StreamEvent::Done);
    let bytes = encoded(steps);
    let mut names = Vec::new();
    let mut last = Value::Null;
    SseParser::new(1 << 20)
        .push(&bytes, |event| {
            names.push(event.name.to_owned());
            last = json(event.data);
        })
        .unwrap();
    assert_eq!(names.last().unwrap(), "response.failed");
    assert!(!names.contains(&"response.completed".to_owned()));
    assert_eq!(last["response"]["status"], "failed");
    assert_eq!(last["response"]["error"]["code"], "server_error");
    assert_eq!(last["response"]["error"]["message"], "too slow");
}

#[test]
fn a_failure_before_anything_still_begins_with_created() {
    let fault = Fault::new(bardo_types::fault::FaultClass::Connection, "gone");
    let events = checked(&encoded([StreamEvent::Failed(fault)]));
    assert_eq!(events.len(), 3);
}

#[test]
fn interleaved_calls_keep_their_own_arguments() {
    let start = |call: u32| StreamEvent::ToolStart {
        choice: 0,
        call,
        id: format!("call_{call}"),
        name: "f".into(),
        custom: false,
        opaque: None,
    };
    let input = |call, fragment: &str| StreamEvent::ToolInput {
        choice: 0,
        call,
        fragment: fragment.into(),
    };
    let events = checked(&encoded([
        start(0),
        start(1),
        input(1, "{\"b\""),
        input(0, "{}"),
        input(1, ":1}"),
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::ToolCalls,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]));
    let output = &events.last().unwrap()["response"]["output"];
    assert_eq!(output[0]["arguments"], "{}");
    assert_eq!(output[1]["arguments"], "{\"b\":1}");
}

#[test]
fn blocks_of_other_dialects_are_left_out_and_own_ones_pass() {
    let block = |dialect, raw: &str| {
        Part::Server(ServerBlock {
            dialect,
            kind: "x".into(),
            raw: RawJson::parse(raw).unwrap(),
        })
    };
    let response = answer(
        vec![
            block(Dialect::Anthropic, r#"{"type":"server_tool_use"}"#),
            block(
                Dialect::Responses,
                r#"{"type":"web_search_call","id":"ws_1"}"#,
            ),
        ],
        Finish::Stop,
    );
    let events = checked(&encoded(steps_of(&response)));
    let output = events.last().unwrap()["response"]["output"].clone();
    assert_eq!(
        output,
        serde_json::json!([{"type":"web_search_call","id":"ws_1"}])
    );
}

#[test]
fn the_reply_echoes_the_request() {
    let request = decode_request(&read("requests/everything.json")).unwrap();
    let context = ReplyContext {
        request: Arc::new(request),
        ..reply_context()
    };
    let response = answer(vec![Text::new("ok").into()], Finish::Stop);
    let reply = json(&encode_response(&response, &context));
    insta::assert_json_snapshot!("echo", reply);
    let asked = json(&read("requests/everything.json"));
    for key in [
        "tools",
        "tool_choice",
        "metadata",
        "truncation",
        "max_tool_calls",
        "instructions",
    ] {
        assert_eq!(reply[key], asked[key], "{key}");
    }
}

#[test]
fn logprobs_reach_the_part_they_belong_to() {
    let steps = steps(&read("answers/logprobs.sse"), 4096);
    let events = checked(&encoded(steps));
    let part = &events.last().unwrap()["response"]["output"][0]["content"][0];
    assert_eq!(part["logprobs"][1]["token"], "do");
    let deltas = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta");
    let weighed: Vec<&Value> = deltas
        .flat_map(|delta| delta["logprobs"].as_array().unwrap())
        .collect();
    assert_eq!(
        weighed,
        part["logprobs"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    );
    // A whole answer as a stream has them too.
    let streamed = checked(&encoded(from_whole("logprobs").unwrap().into_events()));
    let again = &streamed.last().unwrap()["response"]["output"][0]["content"][0];
    assert_eq!(again["logprobs"], part["logprobs"]);
    let whole = json(&encode_response(
        &from_whole("logprobs").unwrap(),
        &reply_context(),
    ));
    assert_eq!(&whole["output"][0]["content"][0], part);
}

#[test]
fn thinking_is_shown_as_the_summary_that_was_asked_for() {
    let mut request = request();
    request.reasoning.summary = Some("auto".into());
    let context = ReplyContext {
        request: Arc::new(request),
        ..reply_context()
    };
    let whole = json(&encode_response(&foreign(), &context));
    assert_eq!(
        whole["output"][0]["summary"][0]["text"],
        "Thinking it through."
    );
    let mut encoder = stream_encoder(context);
    let mut out = Vec::new();
    for step in steps_of(&foreign()) {
        encoder.encode(step, "", &mut out);
    }
    let events = checked(&out);
    assert_eq!(events.last().unwrap()["response"], whole);
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "response.reasoning_summary_text.delta")
    );
}
