//! Results of tools: one message per call, right behind the message that calls.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use bardo_types::Losses;
use bardo_types::chat::{Message, Part, Role, ToolCall, ToolResult};
use bardo_types::model::Dialect;

use super::Job;
use super::call_id::call_id;
use super::pieces::{self, Piece};
use crate::json::Array;

/// The results of a conversation, each to be handed out once.
pub(super) struct Results<'a> {
    /// Turn, result, and whether it was handed out; in the order of turns.
    all: Vec<(usize, &'a ToolResult, bool)>,
    /// Places in `all` of the results that may still be handed out, by the id of their call.
    results: HashMap<&'a str, VecDeque<usize>>,
    /// Turns that call, by the id of the call.
    calls: HashMap<&'a str, VecDeque<usize>>,
}

impl<'a> Results<'a> {
    pub(super) fn of(turns: &'a [Message]) -> Self {
        let mut found = Self {
            all: Vec::new(),
            results: HashMap::new(),
            calls: HashMap::new(),
        };
        for (turn, message) in turns.iter().enumerate() {
            for part in &message.parts {
                match part {
                    Part::ToolResult(result) => {
                        let places = found.results.entry(&result.call_id).or_default();
                        places.push_back(found.all.len());
                        found.all.push((turn, result, false));
                    }
                    Part::ToolCall(call) => {
                        found.calls.entry(&call.id).or_default().push_back(turn);
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// The result of a call made in `turn`, however late it comes, as long as the id is not
    /// used for another call before. Turns are visited in their order.
    fn take(&mut self, turn: usize, id: &str) -> Option<&'a ToolResult> {
        let places = self.results.get_mut(id)?;
        while places.front().is_some_and(|&at| self.all[at].0 <= turn) {
            places.pop_front();
        }
        let &at = places.front()?;
        if let Some(calls) = self.calls.get_mut(id) {
            while calls.front().is_some_and(|&call| call <= turn) {
                calls.pop_front();
            }
            if calls.front().is_some_and(|&call| call < self.all[at].0) {
                return None;
            }
        }
        places.pop_front();
        self.all[at].2 = true;
        Some(self.all[at].1)
    }

    /// Writes the answers to the calls of `turn`.
    pub(super) fn answer(
        &mut self,
        job: &Job<'_>,
        turn: usize,
        calls: &[&ToolCall],
        lost: &mut Losses,
        list: &mut Array<'_>,
    ) {
        for call in calls {
            let result = self.take(turn, &call.id);
            let mut message = list.object();
            message
                .set("role", "tool")
                .set("tool_call_id", call_id(&call.id));
            match result {
                Some(result) => write_content(job, result, lost, message.key("content")),
                None => {
                    lost.lose(
                        "missing_tool_result",
                        "a tool call without a result was answered with an error",
                    );
                    message.set(
                        "content",
                        "{\"error\":\"no result was given for this tool call\"}",
                    );
                }
            }
        }
    }

    /// Results in `turn` that answer no call: the upstream takes them only as words.
    pub(super) fn orphans(&self, turn: usize) -> impl Iterator<Item = &'a ToolResult> {
        let from = self.all.partition_point(|(at, ..)| *at < turn);
        self.all[from..]
            .iter()
            .take_while(move |(at, ..)| *at == turn)
            .filter(|(_, _, used)| !used)
            .map(|(_, result, _)| *result)
    }
}

fn write_content(job: &Job<'_>, result: &ToolResult, lost: &mut Losses, out: &mut Vec<u8>) {
    let mut texts = pieces_of(job, result, lost);
    if result.is_error {
        let text = pieces::joined(&texts, "\n");
        let wrapped = serde_json::json!({ "error": text }).to_string();
        texts = vec![Piece::Text(Cow::Owned(wrapped), None)];
    }
    if let (Some(mark), Some(Piece::Text(_, last))) = (&result.cache, texts.last_mut()) {
        last.get_or_insert(mark);
    }
    if texts.is_empty() {
        texts.push(Piece::Text(Cow::Borrowed(""), result.cache.as_ref()));
    }
    if job.quirks().string_results {
        let text = pieces::joined(&texts, "\n");
        texts = vec![Piece::Text(Cow::Owned(text), None)];
    }
    pieces::write(job, &texts, "\n", lost, out);
}

/// The result in words; what is no text is announced here and follows in a user message.
fn pieces_of<'a>(job: &Job<'_>, result: &'a ToolResult, lost: &mut Losses) -> Vec<Piece<'a>> {
    let mut texts = Vec::with_capacity(result.parts.len());
    for part in &result.parts {
        match part {
            Part::Image(_) => {
                texts.push(Piece::Text(Cow::Borrowed("[image attached below]"), None))
            }
            Part::Document(_) => {
                texts.push(Piece::Text(
                    Cow::Borrowed("[document attached below]"),
                    None,
                ));
            }
            Part::Audio(_) => {
                texts.push(Piece::Text(Cow::Borrowed("[audio attached below]"), None))
            }
            Part::Server(block) if block.dialect != Dialect::Chat => {
                let text = format!("[{}] {}", block.kind, block.raw.as_str());
                texts.push(Piece::Text(Cow::Owned(text), None));
            }
            Part::Server(block) => {
                texts.push(Piece::Text(Cow::Borrowed(block.raw.as_str()), None));
            }
            part => pieces::collect(job, part, lost, &mut texts),
        }
    }
    texts
}

/// Appends what the results in a user message show beside text.
pub(super) fn attachments<'a>(
    job: &Job<'_>,
    message: &'a Message,
    lost: &mut Losses,
    out: &mut Vec<Piece<'a>>,
) {
    debug_assert_eq!(message.role, Role::User);
    for part in &message.parts {
        let Part::ToolResult(result) = part else {
            continue;
        };
        for inner in &result.parts {
            if matches!(inner, Part::Image(_) | Part::Document(_) | Part::Audio(_)) {
                pieces::collect(job, inner, lost, out);
            }
        }
    }
}

/// A result without its call, told in words.
pub(super) fn orphan_text(job: &Job<'_>, result: &ToolResult, lost: &mut Losses) -> String {
    lost.lose(
        "orphan_tool_result",
        "a tool result without a call was sent as text of a user message",
    );
    let text = pieces::joined(&pieces_of(job, result, lost), "\n");
    format!("[result of tool call {}]\n{text}", result.call_id)
}
