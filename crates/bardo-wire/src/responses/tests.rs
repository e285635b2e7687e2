//! Fixtures are read from `fixtures/responses`: `answers/*.sse` with a whole twin `*.json`, and
//! `requests/*.json`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bardo_types::chat::{Assembler, ChatRequest, ChatResponse, StreamEvent, Tool};
use bardo_types::fault::Fault;
use bardo_types::model::{Capabilities, Dialect, Effort, Service, ThinkingModes};

use super::*;
use crate::codec::{DecodeContext, ReplyContext, Target};
use crate::sse::SseParser;

mod answers;
mod failing;
mod hostile;
mod messages;
mod replies;
mod requests;
mod upstream;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/responses")
        .join(name)
}

fn read(name: &str) -> Vec<u8> {
    let path = folder(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all fixtures that exist as a stream and as a whole, failures aside.
fn twins() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder("answers"))
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let whole = path.extension()? == "json" && path.with_extension("sse").exists();
            let name = path.file_stem()?.to_str()?.to_owned();
            (whole && !name.starts_with("failed")).then_some(name)
        })
        .collect();
    names.sort();
    assert!(names.len() > 10);
    names
}

fn target() -> Target {
    Target {
        model: "gpt-5.5".into(),
        service: Service::OpenAi,
        capabilities: Arc::new(Capabilities {
            thinking: ThinkingModes {
                adaptive: true,
                ..ThinkingModes::default()
            },
            efforts: vec![Effort::None, Effort::Low, Effort::Medium, Effort::High],
            ..Capabilities::default()
        }),
    }
}

fn request() -> ChatRequest {
    ChatRequest {
        tools: vec![Tool::Custom {
            name: "apply_patch".into(),
            description: None,
            format: None,
        }],
        stream: true,
        ..ChatRequest::new(Dialect::Responses, "gpt-5.5")
    }
}

fn decode_context() -> DecodeContext {
    DecodeContext {
        target: target(),
        request: Arc::new(request()),
        renamed_tools: Vec::new(),
        id_seed: "seed".into(),
    }
}

fn reply_context() -> ReplyContext {
    ReplyContext {
        request: Arc::new(request()),
        id_seed: "seed".into(),
        created: 1_790_000_000,
        model: "gpt-5.5".into(),
        original: None,
    }
}

/// The steps of a stream that arrives in pieces of `size` bytes.
fn steps(bytes: &[u8], size: usize) -> Vec<StreamEvent> {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = stream_decoder(decode_context());
    let mut out = Vec::new();
    for piece in bytes.chunks(size) {
        parser
            .push(piece, |event| decoder.event(event, &mut out))
            .unwrap();
    }
    parser.finish(|event| decoder.event(event, &mut out));
    decoder.end(&mut out);
    out
}

fn assembled(steps: Vec<StreamEvent>) -> Result<ChatResponse, Fault> {
    let mut assembler = Assembler::default();
    steps.into_iter().for_each(|step| assembler.push(step));
    assembler.finish()
}

fn from_stream(name: &str) -> Result<ChatResponse, Fault> {
    assembled(steps(&read(&format!("answers/{name}.sse")), 4096))
}

fn from_whole(name: &str) -> Result<ChatResponse, Fault> {
    decode_response(&read(&format!("answers/{name}.json")), &decode_context())
}

fn json(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}
