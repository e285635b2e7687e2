mod answers;
mod errors;
mod history;
mod requests;
mod thinking;

use std::sync::Arc;

use bardo_types::chat::{
    ChatRequest, Message, Part, Role, StreamEvent, Text, Tool, ToolCall, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, Effort, Service, ThinkingModes};

use serde_json::Value;

use crate::codec::{BadRequest, DecodeContext, Encoded, Target};
use crate::gemini::encode_request;
use crate::sse::SseParser;

/// A model with levels, like Gemini 3.
fn levels() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            by_default: true,
            ..ThinkingModes::default()
        },
        efforts: vec![Effort::Minimal, Effort::Low, Effort::Medium, Effort::High],
        ..Capabilities::default()
    }
}

/// A model with budgets, like Gemini 2.5.
fn budgets() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            budget: true,
            disabled: true,
            by_default: true,
            ..ThinkingModes::default()
        },
        ..Capabilities::default()
    }
}

fn target(capabilities: Capabilities) -> Target {
    Target {
        model: "gemini-3-flash".into(),
        service: Service::Google,
        capabilities: Arc::new(capabilities),
    }
}

fn context_of(request: ChatRequest) -> DecodeContext {
    DecodeContext {
        target: target(levels()),
        request: Arc::new(request),
        renamed_tools: vec![("swap_tokens".into(), "swap tokens".into())],
        id_seed: "01J".into(),
    }
}

fn context() -> DecodeContext {
    context_of(ChatRequest::new(Dialect::Chat, "gemini-3-flash"))
}

fn function(name: &str) -> Tool {
    Tool::Function {
        name: name.into(),
        description: None,
        schema: None,
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/gemini/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The steps of a stream that arrives in `pieces`.
fn decode(pieces: &[&[u8]], context: DecodeContext) -> Vec<StreamEvent> {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = super::stream_decoder(context);
    let mut out = Vec::new();
    for piece in pieces {
        parser
            .push(piece, |event| decoder.event(event, &mut out))
            .unwrap();
    }
    parser.finish(|event| decoder.event(event, &mut out));
    decoder.end(&mut out);
    out
}

fn chat(messages: Vec<Message>) -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.messages = messages;
    request
}

fn user(text: &str) -> Message {
    Message::new(Role::User, vec![Text::new(text).into()])
}

fn says(role: Role, parts: Vec<Part>) -> Message {
    Message::new(role, parts)
}

fn result(id: &str, text: &str) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        parts: vec![Text::new(text).into()],
        is_error: false,
        custom: false,
        cache: None,
    })
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, name, arguments))
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

fn encode(request: &ChatRequest) -> Encoded {
    encode_request(request, &target(levels())).unwrap()
}

fn body(request: &ChatRequest) -> Value {
    serde_json::from_slice(&encode(request).body).unwrap()
}

fn refusal(request: &ChatRequest) -> BadRequest {
    encode_request(request, &target(levels())).unwrap_err()
}

fn lost(request: &ChatRequest) -> Vec<String> {
    encode(request)
        .degraded
        .into_iter()
        .map(|degradation| degradation.feature.into_owned())
        .collect()
}
