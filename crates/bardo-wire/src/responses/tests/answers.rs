//! A provider's answers, streamed and whole.

use bardo_types::chat::{Finish, Opaque, Part, ToolInput};

use super::*;

#[test]
fn a_stream_and_its_whole_twin_are_the_same_answer() {
    for name in twins() {
        assert_eq!(from_stream(&name), from_whole(&name), "{name}");
    }
}

#[test]
fn any_split_of_the_bytes_gives_the_same_steps() {
    for name in twins() {
        let bytes = read(&format!("answers/{name}.sse"));
        let whole = steps(&bytes, bytes.len());
        for size in [1, 2, 3, 7, 64, 1021] {
            assert_eq!(steps(&bytes, size), whole, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn answers_decode_as_reviewed() {
    for name in twins() {
        insta::assert_debug_snapshot!(name.as_str(), from_whole(&name).unwrap());
    }
}

#[test]
fn an_item_that_is_not_complete_makes_the_end_unknown() {
    for (status, expected) in [
        ("completed", Finish::Stop),
        ("incomplete", Finish::Unknown),
        ("in_progress", Finish::Unknown),
    ] {
        let body = format!(
            r#"{{"id":"r","status":"completed","output":[{{"type":"message","role":"assistant","status":"{status}","content":[{{"type":"output_text","text":"x"}}]}}]}}"#
        );
        let whole = decode_response(body.as_bytes(), &decode_context()).unwrap();
        assert_eq!(whole.choices[0].finish, Some(expected), "{status}");
    }
}

#[test]
fn only_a_known_status_says_that_an_answer_is_complete() {
    let finish = |status: &str| {
        let body = format!(
            r#"{{"id":"r",{status}"output":[{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"x"}}]}}]}}"#
        );
        let whole = decode_response(body.as_bytes(), &decode_context()).unwrap();
        let told = |event: &str| {
            let data = format!(r#"{{"type":"{event}","response":{body}}}"#);
            let stream = format!("event: {event}\ndata: {data}\n\n");
            assembled(steps(stream.as_bytes(), 4096)).unwrap().choices[0].finish
        };
        (
            whole.choices[0].finish,
            told("response.completed"),
            told("response.done"),
        )
    };
    let all = |finish| (Some(finish), Some(finish), Some(finish));
    assert_eq!(finish(r#""status":"completed","#), all(Finish::Stop));
    assert_eq!(finish(r#""status":"incomplete","#), all(Finish::Length));
    assert_eq!(finish(r#""status":"something_new","#), all(Finish::Unknown));
    let by_event = (
        Some(Finish::Unknown),
        Some(Finish::Stop),
        Some(Finish::Unknown),
    );
    assert_eq!(finish(""), by_event);
    assert_eq!(finish(r#""status":null,"#), by_event);
}

fn inputs(response: &ChatResponse) -> Vec<(&str, &str)> {
    response.choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => match &call.input {
                ToolInput::Json(text) | ToolInput::Text(text) => {
                    Some((call.id.as_str(), text.as_str()))
                }
            },
            _ => None,
        })
        .collect()
}

#[test]
fn arguments_only_on_done_arrive_once() {
    for (name, expected) in [
        ("arguments_only_when_done", "{\"city\":\"Basel\"}"),
        ("arguments_only_in_the_item", "{\"city\":\"Chur\"}"),
    ] {
        let response = from_stream(name).unwrap();
        assert_eq!(inputs(&response), [("call_a", expected)], "{name}");
    }
    // With deltas as well they are not doubled.
    let response = from_stream("parallel_tools").unwrap();
    assert_eq!(inputs(&response)[0], ("call_a", "{\"city\":\"Zürich\"}"));
}

#[test]
fn parallel_calls_count_from_zero() {
    let numbers: Vec<(u32, String)> = steps(&read("answers/parallel_tools.sse"), 4096)
        .into_iter()
        .filter_map(|step| match step {
            StreamEvent::ToolStart { call, id, .. } => Some((call, id)),
            _ => None,
        })
        .collect();
    let expected = [(0, "call_a"), (1, "call_b"), (2, "call_c")];
    assert_eq!(numbers, expected.map(|(call, id)| (call, id.to_owned())));
}

#[test]
fn a_call_without_arguments_is_an_empty_object() {
    let response = from_stream("parallel_tools").unwrap();
    let Some(Part::ToolCall(call)) = response.choices[0].parts.last() else {
        panic!("the last part is a call");
    };
    assert_eq!(call.input.as_object().unwrap().as_str(), "{}");
}

#[test]
fn words_and_a_call_end_as_tool_calls_without_empty_text() {
    let response = from_stream("parallel_tools").unwrap();
    let choice = &response.choices[0];
    assert_eq!(choice.finish, Some(Finish::ToolCalls));
    let empty = |part: &Part| matches!(part, Part::Text(text) if text.text.is_empty());
    assert!(!choice.parts.iter().any(empty));
}

#[test]
fn a_failed_response_is_a_fault_with_the_providers_message() {
    let fault = from_stream("failed_quota").unwrap_err();
    assert_eq!(fault.class, bardo_types::fault::FaultClass::Payment);
    assert_eq!(fault.code.as_deref(), Some("insufficient_quota"));
    assert!(fault.message.starts_with("You exceeded your current quota"));
    assert_eq!(from_whole("failed_quota").unwrap_err(), fault);
}

#[test]
fn a_stream_without_its_terminal_event_failed() {
    let all = steps(&read("answers/ends_early.sse"), 100);
    let Some(StreamEvent::Failed(fault)) = all.last() else {
        panic!("the last step is a failure");
    };
    assert_eq!(fault.class, bardo_types::fault::FaultClass::Connection);
    assert!(!all.contains(&StreamEvent::Done));
    // Cut anywhere, a whole stream never looks finished either.
    let bytes = read("answers/text.sse");
    for end in (0..bytes.len() - 2).step_by(97) {
        assert!(assembled(steps(&bytes[..end], 4096)).is_err(), "{end}");
    }
}

#[test]
fn an_error_in_a_200_is_an_error() {
    let fault = decode_response(
        br#"{"error":{"code":503,"message":"no provider"},"output":[]}"#,
        &decode_context(),
    )
    .unwrap_err();
    assert_eq!(fault.class, bardo_types::fault::FaultClass::Overloaded);
    assert_eq!(fault.message, "no provider");
}

#[test]
fn cached_tokens_are_counted_apart() {
    let usage = from_whole("text").unwrap().usage.unwrap();
    assert_eq!((usage.fresh_input, usage.cache_read), (224, 3712));
    assert_eq!((usage.prompt(), usage.output), (3936, 20));
}

#[test]
fn an_error_event_fails_the_stream() {
    let fault = from_stream("error_event").unwrap_err();
    assert_eq!(fault.class, bardo_types::fault::FaultClass::Server);
    assert_eq!(fault.message, "The server had an error");
    assert_eq!(fault.code.as_deref(), Some("server_error"));
}

#[test]
fn a_call_whose_item_ends_without_a_type_ends_as_a_call() {
    let stream = concat!(
        r#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}"#,
        "\n\n",
        r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":null,"arguments":"{\"x\":1}"}}"#,
        "\n\n",
        r#"data: {"type":"response.completed","response":{"status":"completed"}}"#,
        "\n\n",
    );
    let steps = steps(stream.as_bytes(), 4096);
    assert!(steps.contains(&StreamEvent::ToolEnd { choice: 0, call: 0 }));
    let response = assembled(steps).unwrap();
    assert_eq!(inputs(&response), [("a", r#"{"x":1}"#)]);
    assert_eq!(response.choices[0].finish, Some(Finish::ToolCalls));
}

#[test]
fn ends_map_to_finish_reasons() {
    for (name, finish) in [
        ("text", Finish::Stop),
        ("cut_by_length", Finish::Length),
        ("call_cut_by_length", Finish::Length),
        ("content_filter", Finish::Refusal),
        ("refusal", Finish::Refusal),
        ("custom_tool", Finish::ToolCalls),
        ("web_search", Finish::Stop),
    ] {
        let response = from_whole(name).unwrap();
        assert_eq!(response.choices[0].finish, Some(finish), "{name}");
    }
}

#[test]
fn renamed_tools_get_their_names_back() {
    let mut context = decode_context();
    context.renamed_tools = vec![("get_weather".into(), "weather.get".into())];
    let response = decode_response(&read("answers/parallel_tools.json"), &context).unwrap();
    let names: Vec<&str> = response.choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["weather.get", "weather.get", "now"]);
}

#[test]
fn the_whole_reasoning_item_is_the_state() {
    let response = from_stream("parallel_tools").unwrap();
    let Part::Reasoning(reasoning) = &response.choices[0].parts[0] else {
        panic!("reasoning comes first");
    };
    assert!(reasoning.summary);
    assert_eq!(
        reasoning.text,
        "**Planning**\n\nI need two\n\n**Doing**\n\nNow"
    );
    let Some(Opaque::OpenAiReasoning(raw)) = &reasoning.opaque else {
        panic!("the state is OpenAI's");
    };
    assert!(
        raw.as_str()
            .starts_with(r#"{"id":"rs_1","type":"reasoning""#)
    );
    assert!(raw.as_str().contains("gAAAAABo-enc=="));
}

#[test]
fn searches_are_counted_because_they_are_billed() {
    assert_eq!(
        from_stream("web_search")
            .unwrap()
            .usage
            .unwrap()
            .web_searches,
        Some(1)
    );
    let told = br#"{"status":"completed","output":[],"usage":{"input_tokens":1},"tool_usage":{"web_search":{"num_requests":3}}}"#;
    let answer = decode_response(told, &decode_context()).unwrap();
    assert_eq!(answer.usage.unwrap().web_searches, Some(3));
    assert_eq!(observe_response(told).usage.unwrap().web_searches, Some(3));
}

#[test]
fn an_item_that_is_shown_only_at_the_end_is_not_lost_and_none_comes_twice() {
    // The events of the first call are lost, and places start at 4 as some servers have it.
    let stream = concat!(
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\"}}\n\n",
        "data: {\"type\":\"response.output_item.added\",\"output_index\":4,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"g\",\"arguments\":\"[]\"}]}}\n\n",
    );
    let response = assembled(steps(stream.as_bytes(), 50)).unwrap();
    assert_eq!(inputs(&response), [("a", "{}"), ("b", "[]")]);
}
