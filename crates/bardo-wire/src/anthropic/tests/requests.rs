use super::*;

/// Everything a request may hold, for round trips.
fn permissive() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            budget: true,
            disabled: true,
            between_tools: true,
            by_default: false,
        },
        efforts: newest().efforts,
        mid_system: true,
        ..Capabilities::default()
    }
}

#[test]
fn requests_decode() {
    for name in fixtures("requests") {
        let request = decode_request(&fixture(&format!("requests/{name}.json"))).unwrap();
        insta::assert_debug_snapshot!(format!("request_{name}"), request);
    }
}

#[test]
fn a_request_keeps_its_meaning_in_its_own_dialect() {
    for name in fixtures("requests") {
        let bytes = fixture(&format!("requests/{name}.json"));
        let request = decode_request(&bytes).unwrap();
        let encoded = encode_request(&request, &target(permissive())).unwrap();
        let again = decode_request(&encoded.body).unwrap();
        let mut squeezed = squeeze(request);
        squeezed.model = "claude-test".into();
        assert_eq!(features(&encoded), [""; 0], "{name}");
        assert_eq!(squeeze(again), squeezed, "{name}");
    }
}

/// JSON texts without their white space, and the order of free members out of the way.
fn squeeze(request: ChatRequest) -> ChatRequest {
    let mut request = request;
    let tidy = |raw: &mut RawJson| *raw = RawJson::of(&raw.read::<Value>().unwrap()).unwrap();
    for (_, raw) in &mut request.extra {
        tidy(raw);
    }
    request.extra.sort_by(|a, b| a.0.cmp(&b.0));
    for message in &mut request.messages {
        message.output_config.iter_mut().for_each(tidy);
        for part in &mut message.parts {
            tidy_part(part);
        }
    }
    for tool in &mut request.tools {
        match tool {
            Tool::Function {
                schema,
                cache,
                extra,
                ..
            } => {
                schema.iter_mut().for_each(tidy);
                cache.iter_mut().for_each(|mark| tidy(&mut mark.0));
                extra.iter_mut().for_each(|(_, raw)| tidy(raw));
            }
            Tool::Server { raw, .. } => tidy(raw),
            Tool::Custom { .. } => {}
        }
    }
    if let bardo_types::chat::OutputFormat::JsonSchema { schema, .. } = &mut request.output {
        tidy(schema);
    }
    request
}

fn tidy_part(part: &mut Part) {
    let tidy = |raw: &mut RawJson| *raw = RawJson::of(&raw.read::<Value>().unwrap()).unwrap();
    match part {
        Part::Text(text) => {
            text.cache.iter_mut().for_each(|mark| tidy(&mut mark.0));
            for citation in &mut text.citations {
                citation.raw.iter_mut().for_each(|(_, raw)| tidy(raw));
            }
        }
        Part::ToolCall(call) => {
            if let ToolInput::Json(json) = &mut call.input {
                *json = serde_json::from_str::<Value>(json).unwrap().to_string();
            }
            call.extra.iter_mut().for_each(|(_, raw)| tidy(raw));
        }
        Part::ToolResult(result) => result.parts.iter_mut().for_each(tidy_part),
        Part::Server(block) => tidy(&mut block.raw),
        Part::Document(document) => {
            document.cache.iter_mut().for_each(|mark| tidy(&mut mark.0));
        }
        _ => {}
    }
}

#[track_caller]
fn refused(body: &str, param: &str) {
    let refusal = decode_request(body.as_bytes()).unwrap_err();
    assert_eq!(refusal.param, param, "{}", refusal.message);
    assert!(refusal.message.contains(param), "{}", refusal.message);
}

#[test]
fn refusals_name_the_field() {
    refused(r#"{"max_tokens":1,"messages":[]}"#, "model");
    refused(r#"{"model":"m","messages":[]}"#, "max_tokens");
    refused(r#"{"model":"m","max_tokens":1}"#, "messages");
    refused(
        r#"{"model":"m","max_tokens":"1","messages":[]}"#,
        "max_tokens",
    );
    refused(
        r#"{"model":"m","max_tokens":-1,"messages":[]}"#,
        "max_tokens",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[],"stream":"yes"}"#,
        "stream",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[],"temperature":"hot"}"#,
        "temperature",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"tool","content":"a"}]}"#,
        "messages[1].role",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user"}]}"#,
        "messages[0].content",
    );
    refused(
        "{\"model\":\"m\",\n\"max_tokens\":1,\n\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":7}]}]}",
        "messages[0].content[1].text",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
        "messages[0].content[0].tool_use_id",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"gopher"}}]}]}"#,
        "messages[0].content[0].source.type",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[],"tools":[{"name":"a","input_schema":{}},{"input_schema":{}}]}"#,
        "tools[1].name",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[],"thinking":{"type":"enabled"}}"#,
        "thinking.budget_tokens",
    );
    refused(
        r#"{"model":"m","max_tokens":1,"messages":[],"tool_choice":{"type":"tool"}}"#,
        "tool_choice.name",
    );
}

#[test]
fn a_count_needs_no_limit_and_sends_only_what_counts() {
    let body = br#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"system":"S"}"#;
    let request = decode_count_request(body).unwrap();
    assert_eq!(request.max_output_tokens, None);
    let agent = decode_request(&fixture("requests/agent.json")).unwrap();
    let encoded = encode_count_request(&agent, &target(permissive())).unwrap();
    insta::assert_json_snapshot!("count_agent", super::body(&encoded));
    assert_eq!(encode_count(42), br#"{"input_tokens":42}"#);
}

#[test]
fn thinking_that_a_later_version_knows_goes_through() {
    let body = br#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"thinking":{"type":"dreaming","depth":3,"display":"omitted"},"output_config":{"effort":"ultra"}}"#;
    let request = decode_request(body).unwrap();
    let (sent, lost) = encoded(&request, permissive());
    assert_eq!(
        sent["thinking"],
        serde_json::json!({"type":"dreaming","depth":3,"display":"omitted"})
    );
    assert_eq!(sent["output_config"], serde_json::json!({"effort":"ultra"}));
    assert_eq!(lost, [""; 0]);
}
