//! Fixtures, the known bugs by number, the mapping tables row by row, and rude input.

mod answers;
mod bugs;
mod errors;
mod properties;
mod relay;
mod requests;
mod streams;
mod table;
mod translated;

use std::sync::Arc;

use bardo_types::chat::{
    Assembler, ChatRequest, ChatResponse, Message, Part, Role, StreamEvent, Text, Tool, ToolCall,
    ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, Effort, Service, ThinkingModes};
use serde_json::Value;

use super::*;
use crate::codec::{DecodeContext, Encoded, ReplyContext, Target};
use crate::sse::SseParser;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/anthropic");

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FIXTURES}/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the fixtures in a folder, without their ending.
fn fixtures(folder: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(format!("{FIXTURES}/{folder}"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Like Opus 5.5: always thinks, no sampling, no forced tools, bound thinking.
fn newest() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            by_default: true,
            ..ThinkingModes::default()
        },
        efforts: vec![
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Xhigh,
            Effort::Max,
        ],
        sampling: false,
        forced_tool_choice: false,
        mid_system: true,
        bound_thinking: true,
        prefill: false,
        cache_marks: true,
        max_output_tokens: 128_000,
        ..Capabilities::default()
    }
}

/// Like Sonnet 4.5: budgets, sampling, forced tools, prefill.
fn older() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            budget: true,
            disabled: true,
            ..ThinkingModes::default()
        },
        cache_marks: true,
        max_output_tokens: 64_000,
        ..Capabilities::default()
    }
}

fn target(capabilities: Capabilities) -> Target {
    Target {
        model: "claude-test".into(),
        service: Service::Anthropic,
        capabilities: Arc::new(capabilities),
    }
}

fn chat(messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        messages,
        ..ChatRequest::new(Dialect::Chat, "m")
    }
}

fn say(role: Role, text: &str) -> Message {
    Message::new(role, vec![Text::new(text).into()])
}

fn hello() -> ChatRequest {
    chat(vec![say(Role::User, "Hello")])
}

fn function(name: &str, schema: Option<&str>) -> Tool {
    Tool::Function {
        name: name.into(),
        description: None,
        schema: schema.map(|schema| RawJson::parse(schema).unwrap()),
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

fn called(id: &str, name: &str, input: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, name, input))
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

/// The body as JSON, and the features that were lost.
#[track_caller]
fn encoded(request: &ChatRequest, capabilities: Capabilities) -> (Value, Vec<String>) {
    let encoded = encode_request(request, &target(capabilities)).unwrap();
    (body(&encoded), features(&encoded))
}

#[track_caller]
fn body(encoded: &Encoded) -> Value {
    serde_json::from_slice(&encoded.body).unwrap()
}

fn features(encoded: &Encoded) -> Vec<String> {
    encoded
        .degraded
        .iter()
        .map(|lost| lost.feature.clone().into_owned())
        .collect()
}

fn context_for(request: ChatRequest) -> DecodeContext {
    DecodeContext {
        target: target(newest()),
        request: Arc::new(request),
        renamed_tools: Vec::new(),
        id_seed: "seed".into(),
    }
}

fn context() -> DecodeContext {
    context_for(hello())
}

fn reply() -> ReplyContext {
    ReplyContext {
        request: Arc::new(hello()),
        id_seed: "seed".into(),
        created: 1_760_000_000,
        model: "asked-for".into(),
        original: None,
    }
}

/// Decodes a stream that arrives in pieces of `piece` bytes.
fn decode_stream(bytes: &[u8], piece: usize, context: DecodeContext) -> Vec<StreamEvent> {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = stream_decoder(context);
    let mut out = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        parser
            .push(piece, |event| decoder.event(event, &mut out))
            .unwrap();
    }
    parser.finish(|event| decoder.event(event, &mut out));
    decoder.end(&mut out);
    out
}

fn assemble(events: Vec<StreamEvent>) -> Result<ChatResponse, bardo_types::fault::Fault> {
    let mut assembler = Assembler::default();
    events.into_iter().for_each(|event| assembler.push(event));
    assembler.finish()
}

fn encode_stream(events: impl IntoIterator<Item = StreamEvent>) -> Vec<u8> {
    let mut encoder = stream_encoder(reply());
    let mut out = Vec::new();
    for event in events {
        encoder.encode(event, "", &mut out);
    }
    out
}

/// JSON texts within an answer, without their white space.
fn compact(mut response: ChatResponse) -> ChatResponse {
    let squeeze = |raw: &RawJson| RawJson::of(&raw.read::<Value>().unwrap()).unwrap();
    for choice in &mut response.choices {
        choice.details = choice.details.as_ref().map(squeeze);
        for part in &mut choice.parts {
            match part {
                Part::ToolCall(ToolCall {
                    input: ToolInput::Json(json),
                    ..
                }) => {
                    if let Ok(raw) = RawJson::parse(json.as_str()) {
                        *json = squeeze(&raw).as_str().to_owned();
                    }
                }
                Part::Server(block) => block.raw = squeeze(&block.raw),
                Part::Text(text) => {
                    for citation in &mut text.citations {
                        if let Some((_, raw)) = &mut citation.raw {
                            *raw = squeeze(raw);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    response
}

/// The events of an encoded stream as (name, data).
#[track_caller]
fn events_of(stream: &[u8]) -> Vec<(String, Value)> {
    let mut parser = SseParser::new(1 << 20);
    let mut events = Vec::new();
    parser
        .push(stream, |event| {
            let data: Value = serde_json::from_slice(event.data).expect("data is JSON");
            events.push((event.name.to_owned(), data));
        })
        .unwrap();
    events
}

/// Checks every rule of the stream's grammar and answers the events.
#[track_caller]
fn grammatical(stream: &[u8]) -> Vec<(String, Value)> {
    let events = events_of(stream);
    let mut open: Option<(u64, String)> = None;
    let mut next = 0;
    let mut json = String::new();
    let mut signed = false;
    for (at, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["type"], **name, "the event line names the type");
        assert_eq!(name == "message_start", at == 0, "the message starts once");
        match name.as_str() {
            "content_block_start" => {
                assert!(open.is_none(), "one block at a time");
                assert_eq!(data["index"], next, "indexes are contiguous");
                let kind = data["content_block"]["type"].as_str().unwrap().to_owned();
                open = Some((next, kind));
                json.clear();
                signed = false;
            }
            "content_block_delta" => {
                let (index, kind) = open.as_ref().expect("deltas come within a block");
                assert_eq!(data["index"], *index);
                assert!(!signed, "nothing follows a signature");
                let delta = data["delta"]["type"].as_str().unwrap();
                match kind.as_str() {
                    "text" => assert!(matches!(delta, "text_delta" | "citations_delta")),
                    "thinking" => {
                        signed = delta == "signature_delta";
                        if signed {
                            assert_ne!(data["delta"]["signature"], "");
                        }
                    }
                    _ => {
                        assert_eq!(delta, "input_json_delta");
                        json.push_str(data["delta"]["partial_json"].as_str().unwrap());
                    }
                }
            }
            "content_block_stop" => {
                let (index, kind) = open.take().expect("a block is open");
                assert_eq!(data["index"], index);
                assert_eq!(kind == "thinking", signed, "thinking ends with a signature");
                if !json.is_empty() {
                    serde_json::from_str::<Value>(&json).expect("the input is JSON");
                }
                next += 1;
            }
            "message_delta" => {
                assert!(open.is_none());
                assert!(data["usage"]["output_tokens"].is_u64());
            }
            "message_stop" => assert_eq!(events[at - 1].0, "message_delta"),
            "message_start" | "error" => {}
            other => panic!("unexpected event {other}"),
        }
    }
    events
}

/// The blocks that a client would put together from a stream.
#[track_caller]
fn blocks_of(events: &[(String, Value)]) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    let mut json = String::new();
    for (name, data) in events {
        match name.as_str() {
            "content_block_start" => {
                blocks.push(data["content_block"].clone());
                json.clear();
            }
            "content_block_delta" => {
                let block = blocks.last_mut().unwrap();
                let delta = &data["delta"];
                for member in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[member].as_str() {
                        let so_far = block[member].as_str().unwrap_or_default();
                        block[member] = Value::from(format!("{so_far}{more}"));
                    }
                }
                if let Some(more) = delta["partial_json"].as_str() {
                    json.push_str(more);
                }
            }
            "content_block_stop" if !json.is_empty() => {
                blocks.last_mut().unwrap()["input"] = serde_json::from_str(&json).unwrap();
            }
            _ => {}
        }
    }
    blocks
}
