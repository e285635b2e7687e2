//! Fixtures are named by service and case; a `.sse` with a `.json` beside it is the same answer
//! told twice.

mod answers;
mod arbitrary;
mod bugs;
mod originals;
mod replies;
mod requests;
mod round_trip;
mod rows;

use std::path::PathBuf;
use std::sync::Arc;

use bardo_types::chat::{Assembler, ChatRequest, ChatResponse, StreamEvent, Tool};
use bardo_types::fault::Fault;
use bardo_types::model::{Capabilities, Dialect, Service};

use super::*;
use crate::codec::{DecodeContext, ReplyContext, Target};
use crate::sse::SseParser;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/chat")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn service_of(name: &str) -> (Service, &'static str) {
    match name.split('/').next().unwrap() {
        "openai" => (Service::OpenAi, "gpt-5.5"),
        "openrouter" => (Service::OpenRouter, "anthropic/claude-opus-5.5"),
        "venice" => (Service::Venice, "zai-org-glm-5-1"),
        "deepseek" => (Service::DeepSeek, "deepseek-v4-pro"),
        "local" => (Service::Local, "qwen3:8b"),
        "google" => (Service::Google, "gemini-3-flash"),
        _ => (Service::OpenRouter, "x/y"),
    }
}

fn target(service: Service, model: &str) -> Target {
    Target {
        model: model.into(),
        service,
        capabilities: Arc::new(Capabilities::default()),
    }
}

/// A caller that declared a custom tool and a stop text.
fn caller() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "m");
    request.stop = vec!["END".into()];
    request.include_usage = true;
    request.tools.push(Tool::Custom {
        name: "apply_patch".into(),
        description: None,
        format: None,
    });
    request
}

fn decode_context(service: Service, model: &str) -> DecodeContext {
    DecodeContext {
        target: target(service, model),
        request: Arc::new(caller()),
        renamed_tools: Vec::new(),
        id_seed: "seed".into(),
    }
}

fn reply_context() -> ReplyContext {
    ReplyContext {
        request: Arc::new(caller()),
        id_seed: "seed".into(),
        created: 1_790_000_000,
        model: "m".into(),
        original: None,
    }
}

/// Decodes a stream that arrives in `pieces`.
fn steps_of(context: &DecodeContext, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = stream_decoder(context.clone());
    let mut steps = Vec::new();
    for piece in pieces {
        parser
            .push(piece, |event| decoder.event(event, &mut steps))
            .unwrap();
    }
    parser.finish(|event| decoder.event(event, &mut steps));
    decoder.end(&mut steps);
    steps
}

fn assembled(steps: Vec<StreamEvent>) -> Result<ChatResponse, Fault> {
    let mut assembler = Assembler::default();
    for step in steps {
        assembler.push(step);
    }
    assembler.finish()
}

/// A caller's stream for `steps`.
fn streamed(steps: Vec<StreamEvent>, context: ReplyContext) -> String {
    let mut encoder = stream_encoder(context);
    let mut out = Vec::new();
    for step in steps {
        encoder.encode(step, ": bardo {}\n", &mut out);
    }
    String::from_utf8(out).unwrap()
}
