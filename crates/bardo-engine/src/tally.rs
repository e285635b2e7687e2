//! Counts what the provider did not: by the tokenizer where somebody is charged for it, away from
//! the threads that serve, and roughly where nobody is.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use bardo_types::chat::{ChatRequest, Part, ToolInput};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::{json, table};
use tokio::sync::Semaphore;

use crate::count::text_tokens;
use crate::lifecycle::Ended;
use crate::meter::{Meter, prompt_tokens};
use crate::received::Task;
use crate::tab::Tab;

/// Bytes of text that usually come to a token.
const TOKEN_BYTES: u64 = 4;

/// Counts where that is needed. Whoever stops waiting leaves the request to the settler.
pub(crate) async fn counted(mut ended: Ended) -> Ended {
    if !ended.tab().moves_money() || !ended.tab().needs_count() {
        return ended;
    }
    aside(move || {
        count(ended.tab_mut());
        ended
    })
    .await
}

thread_local! {
    /// Whoever counts keeps a core busy: more at a time would only take memory, a stack and the
    /// leavings of the allocator for each thread. Of each runtime's own, like its threads.
    static ROOM: Arc<Semaphore> = Arc::new(Semaphore::new(
        thread::available_parallelism().map_or(1, NonZero::get),
    ));
}

/// Works on a thread that serves nobody, on few of them at a time.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let room = ROOM.with(Arc::clone);
    let _permit = room.acquire().await.expect("it is never closed");
    tokio::task::spawn_blocking(work)
        .await
        .expect("counting does not panic, and a runtime that ends polls nobody")
}

/// By the length of things alone: nobody is charged for it, so the tokenizer and its tables are not
/// worth their while.
pub(crate) fn roughly(tab: &mut Tab) {
    let written = meter(tab).estimate_bytes().div_ceil(TOKEN_BYTES);
    let prompt = tab.source.body.len() as u64 / TOKEN_BYTES;
    let counted = tab.counted;
    let unseen = unseen(tab);
    let usage = tab.receipt.usage.get_or_insert_default();
    if usage.prompt() == 0 {
        usage.fresh_input = prompt.max(1);
    }
    if !counted || usage.output == 0 {
        usage.output = usage.output.max(written);
    }
    add_unseen(usage, unseen);
    tab.receipt.estimated = true;
}

/// Tokens that were made for a caller who left, beyond what it was handed.
fn unseen(tab: &Tab) -> u64 {
    tab.unseen.filter(|_| !tab.counted).unwrap_or(0)
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
fn meter(tab: &mut Tab) -> Meter {
    match (tab.source.task, tab.meter.take(), tab.source.answer.take()) {
        (Task::Generate, Some(meter), _) => meter,
        (Task::Generate, None, Some(answer)) => meter_of(tab.receipt.upstream_dialect, &answer),
        _ => Meter::new(tab.receipt.upstream_dialect),
    }
}

fn count(tab: &mut Tab) {
    let meter = meter(tab);
    let reported = tab.receipt.usage.take();
    let (mut usage, _) = meter.reckon(reported, tab.counted, || request_tokens(tab));
    add_unseen(&mut usage, unseen(tab));
    tab.receipt.usage = Some(usage);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// A thread for each of those who left at once would never be given back as memory.
    #[tokio::test]
    async fn a_crowd_that_leaves_is_counted_on_few_threads() {
        let (busy, most) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let mut crowd = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
            crowd.spawn(aside(move || {
                let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                // Long enough for others to come in beside it.
                thread::park_timeout(Duration::from_millis(1));
                busy.fetch_sub(1, Ordering::SeqCst);
            }));
        }
        crowd.join_all().await;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let most = most.load(Ordering::SeqCst);
        assert!((1..=cores).contains(&most), "{most} on {cores} cores");
    }
}
