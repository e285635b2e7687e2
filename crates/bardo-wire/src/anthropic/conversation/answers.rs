//! Every call is answered in the next user turn, before anything else (translation §7, 42 and 46).

use std::borrow::Cow;

use bardo_types::chat::Role;

use super::{Body, Sent, Turn};
use crate::anthropic::lost::Lost;

/// What the model is told of a call that nobody answered.
const UNANSWERED: &str = "The tool was not run, or its result was lost.";

/// Puts results where they belong, makes up those that are missing, and turns results without a
/// call into text.
pub(super) fn settle(turns: &mut Vec<Turn<'_>>, lost: &mut Lost) {
    let mut at = 0;
    while at < turns.len() {
        let calls: Vec<String> = match turns[at].role {
            Role::Assistant => calls_of(&turns[at]),
            _ => Vec::new(),
        };
        if turns[at].role == Role::Assistant {
            let next_is_user = turns
                .get(at + 1)
                .is_some_and(|next| next.role == Role::User);
            if !calls.is_empty() && !next_is_user {
                turns.insert(at + 1, Turn::new(Role::User));
            }
            if let Some(next) = turns.get_mut(at + 1).filter(|next| next.role == Role::User) {
                answer(next, &calls, lost);
                at += 1;
            }
        } else {
            answer(&mut turns[at], &calls, lost);
        }
        at += 1;
    }
}

fn calls_of(turn: &Turn<'_>) -> Vec<String> {
    turn.blocks
        .iter()
        .filter_map(|block| match &block.body {
            Body::Call { id, .. } => Some(id.clone().into_owned()),
            _ => None,
        })
        .collect()
}

fn answer(turn: &mut Turn<'_>, calls: &[String], lost: &mut Lost) {
    let mut open: Vec<&str> = calls.iter().map(String::as_str).collect();
    let mut results = Vec::new();
    let mut rest = Vec::new();
    for block in std::mem::take(&mut turn.blocks) {
        match block {
            Sent {
                body:
                    Body::Result {
                        id,
                        parts,
                        is_error,
                    },
                cache,
            } => {
                if let Some(place) = open.iter().position(|open| *open == id) {
                    open.remove(place);
                    let body = Body::Result {
                        id,
                        parts,
                        is_error,
                    };
                    results.push(Sent { body, cache });
                } else {
                    lost.note(
                        "tool_result",
                        "a result that answers no call of the turn before was sent as text",
                    );
                    rest.push(Sent::text(format!("Result of tool call `{id}`:")));
                    rest.extend(parts);
                }
            }
            block => rest.push(block),
        }
    }
    for id in open {
        lost.note(
            "tool_result",
            "a call without a result was answered with an error in its place",
        );
        results.push(Sent {
            body: Body::Result {
                id: Cow::Owned(id.to_owned()),
                parts: vec![Sent::text(UNANSWERED)],
                is_error: true,
            },
            cache: None,
        });
    }
    results.append(&mut rest);
    turn.blocks = results;
}
