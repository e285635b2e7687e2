//! Counts what the provider did not, away from the threads that serve.

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, Part, ToolInput};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::{json, table};

use crate::count::text_tokens;
use crate::lifecycle::Ended;
use crate::meter::{Meter, prompt_tokens};
use crate::received::Task;
use crate::tab::Tab;

/// Counts where that is needed. Whoever stops waiting leaves the request to the settler.
pub(crate) async fn counted(mut ended: Ended) -> Ended {
    if !ended.tab().needs_count() {
        return ended;
    }
    let work = move || {
        count(ended.tab_mut());
        ended
    };
    tokio::task::spawn_blocking(work)
        .await
        .expect("counting does not panic, and a runtime that ends polls nobody")
}

fn count(tab: &mut Tab) {
    let written = match (tab.source.task, tab.meter.take(), tab.source.answer.take()) {
        (Task::Generate, Some(meter), _) => Meter::delivered_tokens(meter),
        (Task::Generate, None, Some(answer)) => {
            answer_tokens(tab.receipt.upstream_dialect, &answer)
        }
        _ => 0,
    };
    let prompt = match &tab.receipt.usage {
        Some(usage) if usage.prompt() > 0 => None,
        _ => Some(request_tokens(tab)),
    };
    let usage = tab.receipt.usage.get_or_insert_default();
    if let Some(prompt) = prompt {
        usage.fresh_input = prompt;
    }
    usage.output = usage.output.max(written);
    tab.receipt.estimated = true;
}

fn request_tokens(tab: &Tab) -> u64 {
    let source = &tab.source;
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

fn answer_tokens(dialect: Dialect, body: &[u8]) -> u64 {
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
    let Ok(response) = table::decode_response(dialect, body, &context) else {
        return 0;
    };
    let parts = response.choices.iter().flat_map(|choice| &choice.parts);
    parts.map(part_tokens).sum()
}

fn part_tokens(part: &Part) -> u64 {
    match part {
        Part::Text(text) => text_tokens(&text.text),
        Part::Refusal(text) => text_tokens(text),
        Part::Reasoning(reasoning) => text_tokens(&reasoning.text),
        Part::ToolCall(call) => match &call.input {
            ToolInput::Json(text) | ToolInput::Text(text) => {
                text_tokens(&call.name) + text_tokens(text)
            }
        },
        Part::Server(block) => text_tokens(block.raw.as_str()),
        Part::Image(_)
        | Part::Audio(_)
        | Part::Document(_)
        | Part::SearchResult(_)
        | Part::ToolResult(_) => 0,
    }
}
