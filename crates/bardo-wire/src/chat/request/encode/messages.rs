//! The conversation as a list of messages.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{Message, Part, Role};

use super::Job;
use super::assistant;
use super::pieces::{self, Piece};
use super::results::{self, Results};
use crate::json::Array;

/// Writes all messages; `notes` are instructions of the gateway's own that stand in for what the
/// target cannot be asked otherwise.
pub(super) fn write(job: &Job<'_>, notes: &[String], lost: &mut Losses, out: &mut Vec<u8>) {
    let request = job.request;
    let mut list = Array::new(out);
    write_leading(job, notes, lost, &mut list);
    let turns = request.turns();
    let mut results = Results::of(turns);
    for (turn, message) in turns.iter().enumerate() {
        match message.role {
            Role::System => write_system(job, message, lost, &mut list),
            Role::Assistant => {
                let calls = assistant::write(job, message, lost, &mut list);
                results.answer(job, turn, &calls, lost, &mut list);
            }
            Role::User => write_user(job, turn, message, &results, lost, &mut list),
        }
    }
    let is_prefill = turns.last().is_some_and(|last| {
        last.role == Role::Assistant
            && !last
                .parts
                .iter()
                .any(|part| matches!(part, Part::ToolCall(_)))
    });
    if is_prefill && !job.target.capabilities.prefill {
        lost.lose(
            "prefill",
            "the model cannot continue a partial answer; it starts a new one",
        );
    }
}

fn write_leading(job: &Job<'_>, notes: &[String], lost: &mut Losses, list: &mut Array<'_>) {
    let leading = job.request.leading_system();
    if job.quirks().one_system_message {
        let mut all = Vec::new();
        for message in leading {
            collect_all(job, message, lost, &mut all);
        }
        all.extend(
            notes
                .iter()
                .map(|note| Piece::Text(Cow::Borrowed(note), None)),
        );
        if !all.is_empty() {
            let mut object = list.object();
            object.set("role", "system");
            pieces::write(job, &all, "\n\n", lost, object.key("content"));
        }
        return;
    }
    for message in leading {
        write_system(job, message, lost, list);
    }
    if !notes.is_empty() {
        list.object()
            .set("role", system_role(job, false))
            .set("content", notes.join("\n\n"));
    }
}

/// The role of instructions.
fn system_role(job: &Job<'_>, developer: bool) -> &'static str {
    let wants_developer = developer || job.target.capabilities.max_completion_tokens;
    if job.quirks().developer_role && wants_developer {
        "developer"
    } else {
        "system"
    }
}

fn write_system(job: &Job<'_>, message: &Message, lost: &mut Losses, list: &mut Array<'_>) {
    let mut all = Vec::with_capacity(message.parts.len());
    collect_all(job, message, lost, &mut all);
    if all.is_empty() {
        return;
    }
    let mut object = list.object();
    object
        .set("role", system_role(job, message.developer))
        .set_some("name", message.name.as_deref());
    pieces::write(job, &all, "\n\n", lost, object.key("content"));
}

fn collect_all<'a>(
    job: &Job<'_>,
    message: &'a Message,
    lost: &mut Losses,
    out: &mut Vec<Piece<'a>>,
) {
    for part in &message.parts {
        pieces::collect(job, part, lost, out);
    }
}

fn write_user(
    job: &Job<'_>,
    turn: usize,
    message: &Message,
    results: &Results<'_>,
    lost: &mut Losses,
    list: &mut Array<'_>,
) {
    let mut all = Vec::with_capacity(message.parts.len());
    results::attachments(job, message, lost, &mut all);
    for orphan in results.orphans(turn) {
        let text = results::orphan_text(job, orphan, lost);
        all.push(Piece::Text(Cow::Owned(text), None));
    }
    collect_all(job, message, lost, &mut all);
    if all.is_empty() {
        return;
    }
    let mut object = list.object();
    object
        .set("role", "user")
        .set_some("name", message.name.as_deref());
    pieces::write(job, &all, "\n\n", lost, object.key("content"));
}
