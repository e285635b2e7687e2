//! Every call is answered in the next user turn, before anything else.

use std::borrow::Cow;
use std::collections::HashSet;

use bardo_types::Losses;
use bardo_types::chat::Role;

use super::{BlockBody, Sent, Turn};

/// What the model is told of a call that nobody answered.
const UNANSWERED: &str = "The tool was not run, or its result was lost.";

/// Puts results where they belong, makes up those that are missing, and turns results without a
/// call into text.
pub(super) fn settle(turns: &mut Vec<Turn<'_>>, lost: &mut Losses) {
    let mut left = std::mem::take(turns).into_iter().peekable();
    turns.reserve(left.len());
    while let Some(mut turn) = left.next() {
        if turn.role != Role::Assistant {
            answer(&mut turn, &[], lost);
            turns.push(turn);
            continue;
        }
        let calls = calls_of(&turn);
        turns.push(turn);
        let next = left.next_if(|next| next.role == Role::User);
        let made_up = || (!calls.is_empty()).then(|| Turn::new(Role::User));
        if let Some(mut next) = next.or_else(made_up) {
            answer(&mut next, &calls, lost);
            turns.push(next);
        }
    }
}

fn calls_of<'a>(turn: &Turn<'a>) -> Vec<Cow<'a, str>> {
    turn.blocks
        .iter()
        .filter_map(|block| match &block.body {
            BlockBody::Call { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect()
}

/// Whether the turn begins with the results of all calls in their order, and has no other.
fn is_answered(turn: &Turn<'_>, calls: &[Cow<'_, str>]) -> bool {
    let mut results = turn.blocks.iter().map(|block| match &block.body {
        BlockBody::Result { id, .. } => Some(id),
        _ => None,
    });
    calls.iter().all(|call| results.next() == Some(Some(call)))
        && results.all(|result| result.is_none())
}

fn answer(turn: &mut Turn<'_>, calls: &[Cow<'_, str>], lost: &mut Losses) {
    if is_answered(turn, calls) {
        return;
    }
    // Ids of calls are unique, because each got one of its own.
    let mut open: HashSet<&str> = calls.iter().map(|id| &**id).collect();
    let mut results = Vec::new();
    let mut rest = Vec::new();
    for block in std::mem::take(&mut turn.blocks) {
        match block {
            Sent {
                body:
                    BlockBody::Result {
                        id,
                        parts,
                        is_error,
                    },
                cache,
            } => {
                if open.remove(&*id) {
                    let body = BlockBody::Result {
                        id,
                        parts,
                        is_error,
                    };
                    results.push(Sent { body, cache });
                } else {
                    lost.lose(
                        "tool_result",
                        "a tool result without a call in the previous turn was sent as text",
                    );
                    rest.push(Sent::text(format!("Result of tool call `{id}`:")));
                    rest.extend(parts);
                }
            }
            block => rest.push(block),
        }
    }
    let unanswered = calls.iter().filter(|id| open.contains(&***id));
    for id in unanswered {
        lost.lose(
            "tool_result",
            "a tool call without a result was answered with an error",
        );
        results.push(Sent {
            body: BlockBody::Result {
                id: Cow::Owned(id.clone().into_owned()),
                parts: vec![Sent::text(UNANSWERED)],
                is_error: true,
            },
            cache: None,
        });
    }
    results.append(&mut rest);
    turn.blocks = results;
}
