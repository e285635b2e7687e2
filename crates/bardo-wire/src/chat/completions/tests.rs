use std::sync::Arc;

use bardo_types::chat::{ChatRequest, StreamEvent, Text};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use serde_json::{Value, json};

use super::*;

fn context(include_usage: bool) -> ReplyContext {
    let mut request = ChatRequest::new(Dialect::Completions, "m");
    request.include_usage = include_usage;
    ReplyContext {
        request: Arc::new(request),
        id_seed: "seed".into(),
        created: 7,
        model: "m".into(),
        original: None,
    }
}

#[test]
fn a_prompt_is_one_user_message() {
    for prompt in [r#""Say hi""#, r#"["Say hi"]"#] {
        let body = format!(
            r#"{{"model":"m","prompt":{prompt},"max_tokens":16,"n":2,"best_of":2,"logprobs":3,"stop":"x","suffix":null,"echo":false,"temperature":0.50}}"#
        );
        let request = decode_request(body.as_bytes()).unwrap();
        assert_eq!(request.dialect, Dialect::Completions);
        assert_eq!(request.messages.len(), 1);
        assert_eq!(request.messages[0].text(), "Say hi");
        assert_eq!(request.max_output_tokens, Some(16));
        assert_eq!(request.n, Some(2));
        assert_eq!(request.logprobs.and_then(|wanted| wanted.top), Some(3));
        assert_eq!(
            request.sampling.temperature.as_ref().map(RawJson::as_str),
            Some("0.50")
        );
        assert!(request.extra.is_empty());
    }
}

#[test]
fn what_a_chat_cannot_do_is_refused_by_name() {
    for (body, param) in [
        (r#"{"model":"m"}"#, "prompt"),
        (r#"{"model":"m","prompt":["a","b"]}"#, "prompt"),
        (r#"{"model":"m","prompt":[]}"#, "prompt"),
        (r#"{"model":"m","prompt":[1,2]}"#, "prompt"),
        (r#"{"model":"m","prompt":[[1,2]]}"#, "prompt"),
        (r#"{"model":"m","prompt":"a","suffix":"b"}"#, "suffix"),
        (r#"{"model":"m","prompt":"a","echo":true}"#, "echo"),
        (r#"{"model":"m","prompt":"a","best_of":2}"#, "best_of"),
        (r#"{"prompt":"a"}"#, "model"),
    ] {
        assert_eq!(
            decode_request(body.as_bytes()).unwrap_err().param,
            param,
            "{body}"
        );
    }
}

fn probabilities(token: &str) -> RawJson {
    RawJson::parse(format!(
        r#"{{"content":[{{"token":"{token}","logprob":-0.5,"top_logprobs":[{{"token":"{token}","logprob":-0.5}}]}}]}}"#
    ))
    .unwrap()
}

#[test]
fn a_whole_answer() {
    let response = ChatResponse {
        model: Some("gpt".into()),
        choices: vec![Choice {
            parts: vec![Text::new("Hi").into()],
            finish: Some(Finish::Length),
            logprobs: Some(probabilities("Hi")),
            ..Choice::default()
        }],
        usage: Some(Usage {
            fresh_input: 3,
            output: 1,
            ..Usage::default()
        }),
        ..ChatResponse::default()
    };
    let body: Value = serde_json::from_slice(&encode_response(&response, &context(false))).unwrap();
    assert_eq!(body["id"], "cmpl-seed");
    assert_eq!(body["object"], "text_completion");
    assert_eq!(
        body["choices"][0],
        json!({"text": "Hi", "index": 0, "logprobs": {"tokens": ["Hi"], "token_logprobs": [-0.5], "top_logprobs": [{"Hi": -0.5}], "text_offset": [0]}, "finish_reason": "length"})
    );
    assert_eq!(body["usage"]["total_tokens"], 4);
}

#[test]
fn a_stream() {
    let mut encoder = stream_encoder(context(true));
    let mut out = Vec::new();
    let text = |words: &str| StreamEvent::Text {
        choice: 0,
        text: words.into(),
    };
    let logprobs = |token| StreamEvent::Logprobs {
        choice: 0,
        raw: probabilities(token),
    };
    for step in [
        StreamEvent::Start {
            id: None,
            model: None,
            created: None,
            service_tier: None,
        },
        logprobs("Hé"),
        text("Hé"),
        logprobs("y"),
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Usage(Usage::default()),
        StreamEvent::Done,
    ] {
        encoder.encode(step, ": note\n", &mut out);
    }
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}
