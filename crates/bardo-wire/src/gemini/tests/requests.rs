use bardo_types::chat::{
    Audio, CacheMark, Document, DocumentSource, Image, Logprobs, MediaSource, Message,
    OutputFormat, Part, Role, SearchResult, Text, Tool, ToolChoice,
};
use serde_json::{Value, json};

use super::*;
use crate::gemini::encode_request;

/// The body and what it lost.
#[track_caller]
fn check(name: &str, request: &ChatRequest) {
    insta::assert_json_snapshot!(name, json!({"body": body(request), "lost": lost(request)}));
}

#[test]
fn a_whole_request() {
    let mut request = chat(vec![
        says(Role::System, vec![Text::new("Be brief.").into()]),
        says(Role::System, vec![Text::new("Be kind.").into()]),
        user("Hi"),
        says(Role::Assistant, vec![Text::new("Hello").into()]),
        user("Again"),
    ]);
    request.max_output_tokens = Some(1_000);
    request.sampling.temperature = Some(raw("1.0"));
    request.sampling.top_p = Some(raw("0.90"));
    request.sampling.top_k = Some(raw("40"));
    request.sampling.seed = Some(raw("7"));
    request.sampling.presence_penalty = Some(raw("0.5"));
    request.sampling.frequency_penalty = Some(raw("-0.5"));
    request.stop = vec!["END".into()];
    request.n = Some(2);
    request.logprobs = Some(Logprobs { top: Some(3) });
    request.service_tier = Some("flex".into());
    request.output = OutputFormat::JsonSchema {
        name: Some("n".into()),
        description: None,
        schema: raw(r#"{"type":"object","additionalProperties":false}"#),
        strict: Some(true),
    };
    request.extra = vec![(
        "safetySettings".into(),
        raw(r#"[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]"#),
    )];
    check("a_whole_request", &request);
    let text = String::from_utf8(encode(&request).body).unwrap();
    assert!(text.contains(r#""temperature":1.0,"topP":0.90"#), "{text}");
}

#[test]
fn what_gemini_lacks_is_named_once_each() {
    let mut request = chat(vec![Message {
        name: Some("Ann".into()),
        ..user("Hi")
    }]);
    request.sampling.min_p = Some(raw("0.1"));
    request.sampling.repetition_penalty = Some(raw("1.1"));
    request.sampling.logit_bias = Some(raw(r#"{"5":1}"#));
    request.sampling.seed = Some(raw("9223372036854775807"));
    request.stop = (0..6).map(|n| format!("stop{n}")).collect();
    request.end_user = Some("u".into());
    request.metadata = Some(raw("{}"));
    request.prediction = Some(raw("{}"));
    request.modalities = Some(raw(r#"["text","audio"]"#));
    request.audio = Some(raw("{}"));
    request.store = Some(true);
    request.cache.key = Some("k".into());
    request.parallel_tool_calls = Some(false);
    request.tools.push(function("f"));
    request.service_tier = Some("scale".into());
    request.extra = vec![
        ("vendor_thing".into(), raw("1")),
        ("absent".into(), raw("null")),
    ];
    check("what_gemini_lacks", &request);
}

#[test]
fn nothing_is_lost_where_nothing_was_asked() {
    let mut request = chat(vec![user("Hi")]);
    request.sampling.logit_bias = Some(raw("{}"));
    request.modalities = Some(raw(r#"["text"]"#));
    request.store = Some(false);
    request.service_tier = Some("auto".into());
    request.parallel_tool_calls = Some(false);
    assert_eq!(lost(&request), [""; 0]);
}

#[test]
fn nothing_of_a_schema_is_lost() {
    let schema = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"const":{"const":1},"default":{"type":"number","exclusiveMinimum":0,"multipleOf":0.10,"default":1.0},"list":{"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/x"}}},"propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":false,"$defs":{"x":{"type":"string"}}}"##;
    let mut request = chat(vec![user("Hi")]);
    request.tools.push(Tool::Function {
        name: "f".into(),
        description: Some("Does f".into()),
        schema: Some(raw(schema)),
        strict: None,
        cache: None,
        extra: Vec::new(),
    });
    let encoded = String::from_utf8(encode(&request).body).unwrap();
    let expected = format!(r#""parametersJsonSchema":{schema}"#);
    assert!(encoded.contains(&expected), "{encoded}");
    assert_eq!(lost(&request), [""; 0]);
}

#[test]
fn a_tool_without_arguments() {
    let mut request = chat(vec![
        user("Hi"),
        says(Role::Assistant, vec![call("a", "now", "")]),
        says(Role::User, vec![result("a", "12:00")]),
    ]);
    request.tools.push(function("now"));
    let body = body(&request);
    assert_eq!(
        body["tools"],
        json!([{"functionDeclarations": [{"name": "now"}]}])
    );
    assert_eq!(
        body["contents"][1]["parts"][0]["functionCall"]["args"],
        json!({})
    );
}

#[test]
fn names_that_gemini_refuses_are_changed_everywhere_and_told() {
    let odd = "swap tokens!";
    let mut request = chat(vec![
        user("Go"),
        says(Role::Assistant, vec![call("a", odd, "{}")]),
        says(Role::User, vec![result("a", "ok")]),
    ]);
    request.tools = vec![function(odd), function("swap_tokens_"), function("9lives")];
    request.tools.push(function(&"x".repeat(200)));
    request.tool_choice = Some(ToolChoice::Named(odd.into()));
    let encoded = encode(&request);
    let [(sent, original), (digits, _), (long, _)] = encoded.renamed_tools.as_slice() else {
        panic!("{:?}", encoded.renamed_tools);
    };
    assert_eq!(original, odd);
    assert!(
        sent.starts_with("swap_tokens_") && sent.len() == 20,
        "{sent}"
    );
    assert!(digits.starts_with("_9lives"), "{digits}");
    assert!(long.len() <= 128, "{long}");
    let body = body(&request);
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], **sent);
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"][0],
        **sent
    );
    assert_eq!(
        body["contents"][1]["parts"][0]["functionCall"]["name"],
        **sent
    );
    assert_eq!(
        body["contents"][2]["parts"][0]["functionResponse"]["name"],
        **sent
    );
}

/// Section 1, the tool choice rows.
#[test]
fn every_tool_choice() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rows = [
        (Some(ToolChoice::Auto), false, json!({"mode": "AUTO"})),
        (Some(ToolChoice::None), true, json!({"mode": "NONE"})),
        (Some(ToolChoice::Required), false, json!({"mode": "ANY"})),
        (None, true, json!({"mode": "VALIDATED"})),
        (Some(ToolChoice::Auto), true, json!({"mode": "VALIDATED"})),
        (None, false, Value::Null),
        (
            Some(ToolChoice::Named("g".into())),
            false,
            json!({"mode": "ANY", "allowedFunctionNames": ["g"]}),
        ),
        (
            Some(ToolChoice::Allowed {
                required: true,
                names: names(&["f", "g"]),
            }),
            false,
            json!({"mode": "ANY", "allowedFunctionNames": ["f", "g"]}),
        ),
        (
            Some(ToolChoice::Allowed {
                required: false,
                names: names(&["g"]),
            }),
            false,
            json!({"mode": "AUTO"}),
        ),
    ];
    for (choice, is_strict, expected) in rows {
        let mut request = chat(vec![user("Hi")]);
        request.tools = vec![function("f"), function("g")];
        if let Tool::Function { strict, .. } = &mut request.tools[0] {
            *strict = Some(is_strict);
        }
        request.tool_choice = choice.clone();
        let body = body(&request);
        assert_eq!(
            body["toolConfig"]["functionCallingConfig"], expected,
            "{choice:?}"
        );
        let declared = body["tools"][0]["functionDeclarations"].as_array().unwrap();
        let left_out = matches!(
            choice,
            Some(ToolChoice::Allowed {
                required: false,
                ..
            })
        );
        assert_eq!(declared.len(), if left_out { 1 } else { 2 }, "{choice:?}");
        assert_eq!(lost(&request), [""; 0], "{choice:?}");
    }
}

#[test]
fn a_choice_that_the_model_cannot_be_forced_to_is_asked_for() {
    let mut request = chat(vec![user("Hi")]);
    request.tools = vec![function("f")];
    request.tool_choice = Some(ToolChoice::Required);
    let capabilities = Capabilities {
        forced_tool_choice: false,
        ..levels()
    };
    let encoded = encode_request(&request, &target(capabilities)).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    insta::assert_json_snapshot!(body);
    assert_eq!(encoded.degraded[0].feature, "forced_tool_choice");
}

fn server(kind: &str, definition: &str) -> Tool {
    Tool::Server {
        dialect: Dialect::Anthropic,
        kind: kind.into(),
        name: None,
        raw: raw(definition),
    }
}

#[test]
fn server_tools_map_where_gemini_has_the_same() {
    let rows: [(&str, &str, Value, &[&str]); 6] = [
        (
            "web_search_20260318",
            r#"{"type":"web_search_20260318","name":"web_search","allowed_domains":null}"#,
            json!([{"googleSearch": {}}]),
            &[],
        ),
        (
            "web_search_20260318",
            r#"{"type":"web_search_20260318","name":"web_search","max_uses":5}"#,
            json!([{"googleSearch": {}}]),
            &["max_uses"],
        ),
        (
            "web_search_20260318",
            r#"{"type":"web_search_20260318","name":"web_search","allowed_domains":["a.example"]}"#,
            Value::Null,
            &["server_tools"],
        ),
        (
            "code_interpreter",
            r#"{"type":"code_interpreter","container":{"type":"auto"}}"#,
            json!([{"codeExecution": {}}]),
            &[],
        ),
        (
            "web_fetch_20260309",
            r#"{"type":"web_fetch_20260309","name":"web_fetch"}"#,
            json!([{"urlContext": {}}]),
            &[],
        ),
        (
            "bash_20250124",
            r#"{"type":"bash_20250124","name":"bash"}"#,
            Value::Null,
            &["server_tools"],
        ),
    ];
    for (kind, definition, tools, losses) in rows {
        let mut request = chat(vec![user("Hi")]);
        request.tools.push(server(kind, definition));
        assert_eq!(body(&request)["tools"], tools, "{definition}");
        assert_eq!(lost(&request), losses, "{definition}");
    }
    let mut request = chat(vec![user("Hi")]);
    request.extra = vec![("web_search_options".into(), raw("{}"))];
    assert_eq!(body(&request)["tools"], json!([{"googleSearch": {}}]));
    request.tools.push(function("f"));
    assert_eq!(lost(&request), ["server_tools"]);
}

#[test]
fn a_custom_tool_is_wrapped() {
    let mut request = chat(vec![user("Hi")]);
    request.tools.push(Tool::Custom {
        name: "patch".into(),
        description: Some("Applies a patch".into()),
        format: Some(raw(
            r#"{"type":"grammar","syntax":"lark","definition":"x"}"#,
        )),
    });
    check("a_custom_tool", &request);
}

#[test]
fn media_of_every_kind() {
    let media = |media_type: &str, data: &str| MediaSource::Base64 {
        media_type: media_type.into(),
        data: data.into(),
    };
    let image = |source| {
        Part::Image(Image {
            source,
            detail: None,
            cache: None,
        })
    };
    let document = |source, title: Option<&str>| {
        Part::Document(Document {
            source,
            title: title.map(str::to_owned),
            context: None,
            citations: false,
            cache: None,
        })
    };
    let request = chat(vec![says(
        Role::User,
        vec![
            image(media("image/png", "iVBO")),
            image(MediaSource::Url("data:image/jpeg;base64,/9j/".into())),
            image(MediaSource::Url("gs://bucket/a.webp".into())),
            image(MediaSource::Url("https://youtu.be/abc".into())),
            image(MediaSource::File("files/abc".into())),
            document(
                DocumentSource::Media(media("application/pdf", "JVBE")),
                Some("report.pdf"),
            ),
            document(DocumentSource::Text("Words".into()), Some("Notes")),
            document(
                DocumentSource::Parts(vec![Text::new("Part one").into()]),
                None,
            ),
            Part::Audio(Audio {
                data: "UklG".into(),
                format: "wav".into(),
                id: None,
            }),
            Part::SearchResult(SearchResult {
                source: "https://a.example".into(),
                title: "A".into(),
                content: vec![Text::new("Found")],
                citations: true,
                cache: Some(CacheMark(raw(r#"{"type":"ephemeral"}"#))),
            }),
        ],
    )]);
    check("media_of_every_kind", &request);
}

#[test]
fn what_gemini_cannot_fetch_is_refused_by_name() {
    let with = |dialect, source| {
        let mut request = chat(vec![
            says(Role::System, vec![Text::new("s").into()]),
            says(
                Role::User,
                vec![
                    Text::new("see").into(),
                    Part::Image(Image {
                        source,
                        detail: None,
                        cache: None,
                    }),
                ],
            ),
        ]);
        request.dialect = dialect;
        refusal(&request).param
    };
    let web = || MediaSource::Url("https://example.com/a.png".into());
    assert_eq!(with(Dialect::Chat, web()), "messages[1].content[1]");
    assert_eq!(with(Dialect::Anthropic, web()), "messages[0].content[1]");
    assert_eq!(with(Dialect::Responses, web()), "input[1].content[1]");
    for source in [
        MediaSource::File("file-abc".into()),
        MediaSource::Url("data:image/png,plain".into()),
        MediaSource::Url("https://youtube.com.evil.example/x".into()),
        MediaSource::Url("https://generativelanguage.googleapis.com/v1/models".into()),
    ] {
        assert_eq!(with(Dialect::Chat, source), "messages[1].content[1]");
    }
}

#[test]
fn a_conversation_needs_words() {
    assert_eq!(refusal(&chat(Vec::new())).param, "messages");
    let only_system = chat(vec![says(Role::System, vec![Text::new("Say hi").into()])]);
    check("only_a_system_prompt", &only_system);
}

#[test]
fn cached_content_replaces_what_it_holds() {
    let mut request = chat(vec![
        says(Role::System, vec![Text::new("s").into()]),
        user("Hi"),
    ]);
    request.tools.push(function("f"));
    request.tool_choice = Some(ToolChoice::Auto);
    request.extra = vec![("cachedContent".into(), raw("\"cachedContents/abc\""))];
    check("cached_content", &request);
}

#[test]
fn a_schema_that_the_model_cannot_be_held_to_is_asked_for() {
    let mut request = chat(vec![user("Hi")]);
    request.output = OutputFormat::JsonSchema {
        name: None,
        description: None,
        schema: raw(r#"{"type":"object"}"#),
        strict: None,
    };
    let capabilities = Capabilities {
        structured_output: false,
        ..levels()
    };
    let encoded = encode_request(&request, &target(capabilities)).unwrap();
    assert_eq!(encoded.degraded[0].feature, "structured_output");
    let text = String::from_utf8(encoded.body).unwrap();
    assert!(text.contains(r#"{\"type\":\"object\"}"#), "{text}");
    assert!(!text.contains("responseJsonSchema"), "{text}");
}

#[test]
fn the_detail_that_all_images_share_is_the_resolution() {
    let sent = |details: &[Option<&str>]| {
        let images = details.iter().map(|detail| {
            Part::Image(Image {
                source: MediaSource::Base64 {
                    media_type: "image/png".into(),
                    data: "aGk=".into(),
                },
                detail: detail.map(str::to_owned),
                cache: None,
            })
        });
        let request = chat(vec![says(Role::User, images.collect())]);
        let resolution = body(&request)["generationConfig"]["mediaResolution"].clone();
        (
            resolution,
            lost(&request).contains(&"image_detail".to_owned()),
        )
    };
    let low = json!("MEDIA_RESOLUTION_LOW");
    let high = json!("MEDIA_RESOLUTION_HIGH");
    assert_eq!(sent(&[Some("low"), Some("low")]), (low, false));
    assert_eq!(sent(&[Some("high")]), (high, false));
    assert_eq!(sent(&[None, Some("auto")]), (Value::Null, false));
    assert_eq!(sent(&[Some("low"), Some("high")]), (Value::Null, true));
    assert_eq!(sent(&[Some("low"), None]), (Value::Null, true));
}
