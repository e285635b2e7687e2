//! Counts what the provider did not: by the tokenizer where somebody is charged for it, and
//! roughly where nobody is.

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, Part, ToolInput};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::{json, table};

use crate::meter::{Meter, prompt_tokens};
use crate::received::Task;
use crate::record::RequestRecord;
use crate::tokenizer::text_tokens;

/// Bytes of text that usually come to a token.
const TOKEN_BYTES: u64 = 4;

/// By the length of things alone: nobody is charged for it, so the tokenizer and its tables are not
/// worth their while.
pub(crate) fn estimate_usage(record: &mut RequestRecord) {
    let written = meter(record).estimate_bytes().div_ceil(TOKEN_BYTES);
    let prompt = record.source.body.len() as u64 / TOKEN_BYTES;
    let counted = record.counted;
    let unseen = unseen(record);
    let usage = record.receipt.usage.get_or_insert_default();
    if usage.prompt() == 0 {
        usage.fresh_input = prompt.max(1);
    }
    if !counted || usage.output == 0 {
        usage.output = usage.output.max(written);
    }
    add_unseen(usage, unseen);
    record.receipt.estimated = true;
}

/// Tokens that were made for a caller who left, beyond what it was handed.
fn unseen(record: &RequestRecord) -> u64 {
    record.unseen.filter(|_| !record.counted).unwrap_or(0)
}

/// Adds what nobody saw, unless the provider has told of it itself.
fn add_unseen(usage: &mut Usage, unseen: u64) {
    if unseen == 0 || usage.reasoning.is_some_and(|told| told > 0) {
        return;
    }
    usage.output = usage.output.saturating_add(unseen);
    usage.reasoning = Some(unseen);
}

/// What was handed over.
fn meter(record: &mut RequestRecord) -> Meter {
    match (
        record.source.task,
        record.meter.take(),
        record.source.answer.take(),
    ) {
        (Task::Generate, Some(meter), _) => meter,
        (Task::Generate, None, Some(answer)) => meter_of(record.receipt.upstream_dialect, &answer),
        _ => Meter::new(record.receipt.upstream_dialect),
    }
}

/// By the tokenizer.
pub(crate) fn count(record: &mut RequestRecord) {
    let meter = meter(record);
    let reported = record.receipt.usage.take();
    let (mut usage, _) = meter.reckon(reported, record.counted, || request_tokens(record));
    add_unseen(&mut usage, unseen(record));
    record.receipt.usage = Some(usage);
    record.receipt.estimated = true;
}

fn request_tokens(record: &RequestRecord) -> u64 {
    let source = &record.source;
    let decoded = match source.task {
        Task::Generate | Task::CountTokens => {
            table::decode_request(source.dialect, &source.body).ok()
        }
        Task::Embeddings => None,
    };
    match decoded {
        Some(request) => prompt_tokens(&request),
        None => {
            let input = json::scan(&source.body)
                .ok()
                .and_then(|top| top.get("input").map(text_tokens));
            input.unwrap_or(source.body.len() as u64 / 4).max(1)
        }
    }
}

/// A meter that has seen a whole answer.
fn meter_of(dialect: Dialect, body: &[u8]) -> Meter {
    let mut meter = Meter::new(dialect);
    let context = DecodeContext {
        target: Target {
            model: String::new(),
            service: Service::Local,
            capabilities: Arc::new(Capabilities::default()),
        },
        request: Arc::new(ChatRequest::new(dialect, "")),
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    };
    let choices = table::decode_response(dialect, body, &context)
        .map(|response| response.choices)
        .unwrap_or_default();
    for part in choices.iter().flat_map(|choice| &choice.parts) {
        match part {
            Part::Text(text) => meter.text(&text.text),
            Part::Refusal(text) => meter.text(text),
            Part::Reasoning(reasoning) => meter.text(&reasoning.text),
            Part::ToolCall(call) => {
                meter.text(&call.name);
                match &call.input {
                    ToolInput::Json(text) | ToolInput::Text(text) => meter.text(text),
                }
            }
            Part::Server(block) => meter.text(block.raw.as_str()),
            Part::Image(_)
            | Part::Audio(_)
            | Part::Document(_)
            | Part::SearchResult(_)
            | Part::ToolResult(_) => {}
        }
    }
    meter
}
