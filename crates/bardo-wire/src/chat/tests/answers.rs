use bardo_types::chat::Finish;
use bardo_types::fault::FaultClass;

use super::*;

/// The stream means the same wherever it is cut, and the same as its whole twin; told on to a
/// caller of this dialect both ways, it still does.
#[track_caller]
fn check(name: &str) {
    let (service, model) = service_of(name);
    let context = decode_context(service, model);
    let bytes = fixture(&format!("{name}.sse"));
    let steps = steps_of(&context, &[&bytes]);
    for cut in 1..bytes.len() {
        let cut_steps = steps_of(&context, &[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(cut_steps, steps, "cut at {cut}");
    }
    insta::assert_debug_snapshot!(name, steps);
    let answer = assembled(steps.clone()).unwrap();
    let body = fixture(&format!("{name}.json"));
    assert_eq!(decode_response(&body, &context).unwrap(), answer);

    let again = decode_context(Service::OpenRouter, "openrouter/auto");
    let told = streamed(steps, reply_context());
    let told_whole = encode_response(&answer, &reply_context());
    let from_stream = assembled(steps_of(&again, &[told.as_bytes()])).unwrap();
    let mut from_whole = decode_response(&told_whole, &again).unwrap();
    if answer.usage.is_none() {
        from_whole.usage = None;
    }
    assert_eq!(from_stream, from_whole, "{told}");
}

#[test]
fn openai_text() {
    check("openai/text");
}

#[test]
fn openai_parallel_tools() {
    check("openai/parallel_tools");
}

#[test]
fn openai_refusal() {
    check("openai/refusal");
}

#[test]
fn openai_annotations() {
    check("openai/annotations");
}

#[test]
fn openai_logprobs() {
    check("openai/logprobs");
}

#[test]
fn openai_two_choices() {
    check("openai/two_choices");
}

#[test]
fn openai_custom_tool() {
    check("openai/custom_tool");
}

#[test]
fn openai_truncated_call() {
    check("openai/truncated_call");
}

#[test]
fn openai_legacy_function() {
    check("openai/legacy_function");
}

#[test]
fn openrouter_claude_thinking() {
    check("openrouter/claude_thinking");
}

#[test]
fn openrouter_empty_thinking() {
    check("openrouter/empty_thinking");
}

#[test]
fn openrouter_wrapped_custom_tool() {
    check("openrouter/wrapped_custom");
}

#[test]
fn venice_reasoning() {
    check("venice/reasoning");
}

#[test]
fn venice_hidden_reasoning() {
    check("venice/hidden_reasoning");
}

#[test]
fn deepseek_tool_loop() {
    check("deepseek/tool_loop");
}

#[test]
fn local_same_index() {
    check("local/same_index");
}

#[test]
fn local_no_index() {
    check("local/no_index");
}

#[test]
fn local_interleaved() {
    check("local/interleaved");
}

#[test]
fn local_repeated_id() {
    check("local/repeated_id");
}

#[test]
fn local_empty_tool_list() {
    check("local/empty_tool_list");
}

#[test]
fn google_thought_signature() {
    check("google/thought_signature");
}

#[test]
fn details_of_other_makers_are_joined_and_kept_as_they_are() {
    let context = decode_context(Service::OpenRouter, "google/gemini-3-pro");
    let bytes = fixture("openrouter/gemini_details.sse");
    insta::assert_debug_snapshot!(assembled(steps_of(&context, &[&bytes])).unwrap());
}

/// A broken stream ends in a failure, is told as one, and never with `[DONE]`.
#[track_caller]
fn check_broken(name: &str, service: Service, class: FaultClass, message: &str) {
    let context = decode_context(service, "x/y");
    let bytes = fixture(&format!("broken/{name}.sse"));
    let steps = steps_of(&context, &[&bytes]);
    let Some(StreamEvent::Failed(fault)) = steps.last() else {
        panic!("{steps:?}");
    };
    assert_eq!((fault.class, &*fault.message), (class, message));
    assert!(
        !steps
            .iter()
            .any(|step| matches!(step, StreamEvent::Finish { .. } | StreamEvent::Done)),
        "{steps:?}"
    );
    let told = streamed(steps, reply_context());
    assert!(!told.contains("[DONE]"), "{told}");
    let last = told.trim_end().rsplit("\n\n").next().unwrap();
    let error: serde_json::Value =
        serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    for key in ["message", "type", "param", "code", "bardo_code"] {
        assert!(error["error"].get(key).is_some(), "{key} in {error}");
    }
}

#[test]
fn broken_streams_fail() {
    let cut = "the provider closed the stream before its end";
    let silent = "the provider's answer ended without a finish reason";
    let odd = "the provider's answer is not valid JSON of its protocol";
    for (name, service, class, message) in [
        (
            "openrouter_mid_stream",
            Service::OpenRouter,
            FaultClass::Overloaded,
            "Provider disconnected",
        ),
        (
            "cut_before_finish",
            Service::OpenAi,
            FaultClass::Connection,
            cut,
        ),
        (
            "cut_before_finish",
            Service::Local,
            FaultClass::Connection,
            cut,
        ),
        (
            "done_without_finish",
            Service::OpenAi,
            FaultClass::Malformed,
            silent,
        ),
        (
            "finish_without_done",
            Service::OpenAi,
            FaultClass::Connection,
            cut,
        ),
        (
            "venice_string",
            Service::Venice,
            FaultClass::Server,
            "Inference failed",
        ),
        (
            "deepseek_resources",
            Service::DeepSeek,
            FaultClass::Overloaded,
            "the provider ran out of resources before the answer was complete",
        ),
        ("not_json", Service::OpenAi, FaultClass::Malformed, odd),
        (
            "google_array",
            Service::Google,
            FaultClass::RateLimit,
            "Quota",
        ),
        (
            "unknown_finish",
            Service::Local,
            FaultClass::Malformed,
            "the answer ended with an unknown finish reason: `exploded`",
        ),
        ("nothing", Service::DeepSeek, FaultClass::Connection, cut),
        ("only_usage", Service::OpenAi, FaultClass::Malformed, silent),
    ] {
        check_broken(name, service, class, message);
    }
}

#[test]
fn events_of_other_kinds_are_passed_over() {
    let context = decode_context(Service::OpenAi, "gpt-5.5");
    let plain = fixture("openai/text.sse");
    let mut noisy = b"event: ping\ndata: {\"type\":\"ping\"}\n\ndata:\n\n".to_vec();
    noisy.extend_from_slice(&plain);
    noisy.extend_from_slice(b"data: [DONE]\n\ndata: {\"error\":\"late\"}\n\n");
    assert_eq!(steps_of(&context, &[&noisy]), steps_of(&context, &[&plain]));
}

#[test]
fn a_local_server_may_close_after_its_finish_reason() {
    let context = decode_context(Service::Local, "m");
    let bytes = fixture("broken/finish_without_done.sse");
    assert!(assembled(steps_of(&context, &[&bytes])).is_ok());
}

#[test]
fn whole_answers_that_are_failures_are_faults() {
    let context = decode_context(Service::OpenRouter, "x/y");
    let class = |body: &str| {
        decode_response(body.as_bytes(), &context)
            .unwrap_err()
            .class
    };
    for (body, expected) in [
        (
            r#"{"error":{"code":429,"message":"Rate limited","metadata":{}}}"#,
            FaultClass::RateLimit,
        ),
        (
            r#"{"id":"g","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"error","error":{"code":502,"message":"Bad"}}]}"#,
            FaultClass::Server,
        ),
        (
            r#"{"error":"Model offline","code":"MODEL_OFFLINE"}"#,
            FaultClass::Overloaded,
        ),
        (r#"{"detail":"Not Found"}"#, FaultClass::Server),
        (
            r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#,
            FaultClass::BadRequest,
        ),
        (r#"{"choices":[]}"#, FaultClass::Malformed),
        ("<html>", FaultClass::Malformed),
        (r#"{"choices":[{"mess"#, FaultClass::Malformed),
        ("", FaultClass::Malformed),
        (
            r#"{"choices":[{"index":4000000000,"message":{"content":"x"},"finish_reason":"stop"}]}"#,
            FaultClass::Malformed,
        ),
    ] {
        assert_eq!(class(body), expected, "{body}");
    }
}

#[test]
fn blank_lines_before_a_whole_answer_are_keep_alives() {
    let context = decode_context(Service::DeepSeek, "deepseek-v4-pro");
    let mut body = b"\n\n   \n".to_vec();
    body.extend_from_slice(&fixture("deepseek/tool_loop.json"));
    assert!(decode_response(&body, &context).is_ok());
}

#[test]
fn renamed_tools_get_their_names_back() {
    let mut context = decode_context(Service::OpenAi, "gpt-5.5");
    context.renamed_tools = vec![("weather".into(), "mcp.weather/today".into())];
    let answer = decode_response(&fixture("openai/parallel_tools.json"), &context).unwrap();
    let names: Vec<&str> = answer.choices[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            bardo_types::chat::Part::ToolCall(call) => Some(call.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["mcp.weather/today", "mcp.weather/today", "now"]);
}

#[test]
fn every_finish_reason_of_every_service_is_known() {
    let context = decode_context(Service::Local, "m");
    for (reason, calls, expected) in [
        ("stop", false, Finish::Stop),
        ("end_turn", false, Finish::Stop),
        ("eos", false, Finish::Stop),
        ("STOP", false, Finish::Stop),
        ("stop_sequence", false, Finish::StopSequence),
        ("length", false, Finish::Length),
        ("max_tokens", false, Finish::Length),
        ("MAX_TOKENS", false, Finish::Length),
        (
            "model_context_window_exceeded",
            false,
            Finish::ContextWindow,
        ),
        ("content_filter", false, Finish::Refusal),
        ("content_filter", true, Finish::Refusal),
        ("refusal", false, Finish::Refusal),
        ("SAFETY", false, Finish::Refusal),
        ("pause_turn", false, Finish::Pause),
        ("tool_calls", true, Finish::ToolCalls),
        ("tool_calls", false, Finish::Unknown),
        ("tool_use", true, Finish::ToolCalls),
        ("function_call", true, Finish::ToolCalls),
        ("stop", true, Finish::ToolCalls),
        ("length", true, Finish::ToolCalls),
    ] {
        let tool_calls = if calls {
            r#"[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]"#
        } else {
            "null"
        };
        let body = format!(
            r#"{{"choices":[{{"index":0,"message":{{"content":"x","tool_calls":{tool_calls}}},"finish_reason":"{reason}"}}]}}"#
        );
        let answer = decode_response(body.as_bytes(), &context).unwrap();
        assert_eq!(answer.choices[0].finish, Some(expected), "{reason} {calls}");
    }
}

#[test]
fn every_status_has_its_class() {
    for (status, class) in [
        (400, FaultClass::BadRequest),
        (401, FaultClass::Authentication),
        (402, FaultClass::Payment),
        (403, FaultClass::Permission),
        (404, FaultClass::NotFound),
        (408, FaultClass::Timeout),
        (409, FaultClass::Conflict),
        (410, FaultClass::NotFound),
        (413, FaultClass::TooLarge),
        (422, FaultClass::Unprocessable),
        (429, FaultClass::RateLimit),
        (500, FaultClass::Server),
        (502, FaultClass::Server),
        (503, FaultClass::Overloaded),
        (504, FaultClass::Timeout),
        (524, FaultClass::Timeout),
        (529, FaultClass::Overloaded),
    ] {
        let body = br#"{"error":{"message":"m","type":null,"param":null,"code":null}}"#;
        assert_eq!(
            decode_error(status, body, Service::Bankr).class,
            class,
            "{status}"
        );
        assert_eq!(
            decode_error(status, b"", Service::Bankr).class,
            class,
            "{status}"
        );
    }
}

#[test]
fn a_stop_text_that_came_up_is_told() {
    let context = decode_context(Service::Venice, "m");
    let answer = decode_response(&fixture("venice/hidden_reasoning.json"), &context).unwrap();
    assert_eq!(answer.choices[0].finish, Some(Finish::StopSequence));
    assert_eq!(answer.choices[0].stop_sequence.as_deref(), Some("END"));
}

#[test]
fn a_wrapped_custom_tool_that_was_cut_keeps_its_text() {
    use bardo_types::chat::{Part, ToolInput};
    let context = decode_context(Service::Local, "m");
    let body = r#"{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"apply_patch","arguments":"{\"input\":\"*** Be"}}]},"finish_reason":"length"}]}"#;
    let answer = decode_response(body.as_bytes(), &context).unwrap();
    let [Part::ToolCall(call)] = &answer.choices[0].parts[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(call.input, ToolInput::Text("*** Be".into()));
    assert_eq!(
        answer.choices[0].finish,
        Some(bardo_types::chat::Finish::Length)
    );
}

#[test]
fn a_thought_signature_of_venice_goes_back_to_venice_alone() {
    let context = decode_context(Service::Venice, "gemini-3-pro");
    let body = r#"{"choices":[{"index":0,"message":{"content":null,"thought_signature":"tsig","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let answer = decode_response(body.as_bytes(), &context).unwrap();
    // Through a caller of this dialect and back.
    let told: serde_json::Value =
        serde_json::from_slice(&encode_response(&answer, &reply_context())).unwrap();
    let back = serde_json::json!({"model": "m", "messages": [told["choices"][0]["message"]]});
    let request = decode_request(back.to_string().as_bytes()).unwrap();
    assert_eq!(request.messages[0].parts, answer.choices[0].parts);
    let (sent, _) = requests::sent(&request, &target(Service::Venice, "gemini-3-pro"));
    assert_eq!(sent["messages"][0]["thought_signature"], "tsig");
    assert!(sent["messages"][0].get("reasoning_details").is_none());
    let (sent, lost) = requests::sent(
        &request,
        &target(Service::OpenRouter, "google/gemini-3-pro"),
    );
    assert!(!sent.to_string().contains("tsig"));
    assert!(lost.contains(&"thinking_state".to_owned()));
}

#[test]
fn hidden_thinking_stays_hidden() {
    let body =
        r#"{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning":{"exclude":true}}"#;
    let request = decode_request(body.as_bytes()).unwrap();
    let (sent, _) = requests::sent(&request, &target(Service::OpenRouter, "a/b"));
    assert_eq!(sent["reasoning"], serde_json::json!({"exclude": true}));
    let context = ReplyContext {
        request: Arc::new(request),
        ..reply_context()
    };
    let bytes = fixture("openrouter/claude_thinking.sse");
    let steps = steps_of(&decode_context(Service::OpenRouter, "a/b"), &[&bytes]);
    let answer = assembled(steps.clone()).unwrap();
    let whole = String::from_utf8(encode_response(&answer, &context)).unwrap();
    for told in [streamed(steps, context), whole] {
        assert!(!told.contains("reasoning_content") && !told.contains("reasoning_details"));
    }
}

#[test]
fn a_second_reason_that_says_less_than_whole_makes_the_end_unknown() {
    let context = decode_context(Service::OpenAi, "m");
    for (first, second, expected) in [
        ("stop", "stop", Finish::Stop),
        ("stop", "length", Finish::Unknown),
        ("stop", "content_filter", Finish::Unknown),
        ("length", "stop", Finish::Length),
    ] {
        let reasons = [first, second].map(|reason| {
            format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"{reason}\"}}]}}\n\n"
            )
        });
        let stream = format!("{}data: [DONE]\n\n", reasons.concat());
        let answer = assembled(steps_of(&context, &[stream.as_bytes()])).unwrap();
        assert_eq!(answer.choices[0].finish, Some(expected), "{first} {second}");
    }
}

#[test]
fn results_of_a_search_beside_the_choices_are_sources() {
    let context = decode_context(Service::OpenAi, "sonar");
    let urls = r#""citations":["https://a.example/","https://b.example/"]"#;
    let results = r#""search_results":[{"title":"A","url":"https://a.example/","date":null},{"url":"https://b.example/"}]"#;
    for (members, title) in [
        (urls.to_owned(), ""),
        (format!("{results},{urls}"), "A"),
        (format!(r#"{urls},"search_results":"none""#), ""),
    ] {
        let body = format!(
            r#"{{{members},"choices":[{{"index":0,"message":{{"content":"x"}},"finish_reason":"stop"}}]}}"#
        );
        let answer = decode_response(body.as_bytes(), &context).unwrap();
        let shown = encode_response(&answer, &reply_context());
        let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
        let sources = &shown["choices"][0]["message"]["annotations"];
        assert_eq!(sources.as_array().unwrap().len(), 2, "{shown}");
        assert_eq!(sources[0]["url_citation"]["url"], "https://a.example/");
        assert_eq!(sources[0]["url_citation"]["title"], title);
    }
}
