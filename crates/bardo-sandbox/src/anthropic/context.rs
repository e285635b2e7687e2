//! Context edits and compaction, applied to a finished answer.

use serde_json::{Value, json};

use super::answer::Answer;
use super::check::{Checked, Edit};
use super::usage::{self, InputTokens};
use crate::tokens;
use crate::world::World;

/// Applies context edits and compaction to the finished answer.
pub(super) fn manage(answer: &mut Answer, checked: &Checked, world: &World) {
    let total = answer.input.total();
    if checked
        .body
        .get("compaction")
        .is_some_and(|value| !value.is_null())
    {
        answer.content = vec![compaction(checked, world)];
        "compaction".clone_into(&mut answer.stop_reason);
    }
    if !checked.body.contains_key("context_management") {
        return;
    }
    let mut applied = Vec::new();
    for edit in &checked.edits {
        match edit {
            Edit::ClearThinking { keep_turns } => {
                let Some(keep) = keep_turns else { continue };
                let (cleared, turns) = usage::old_thinking(checked, *keep);
                if turns > 0 {
                    answer.input.plain = answer.input.plain.saturating_sub(cleared);
                    applied.push(json!({"type": "clear_thinking_20251015",
                        "cleared_thinking_turns": turns, "cleared_input_tokens": cleared}));
                }
            }
            Edit::ClearToolUses {
                trigger_tokens,
                trigger_uses,
                keep,
            } => {
                let (cleared, uses) = old_tool_results(checked, *keep);
                let all = uses + keep;
                let due = trigger_tokens.is_some_and(|trigger| total >= trigger)
                    || trigger_uses.is_some_and(|trigger| all >= trigger);
                if due && uses > 0 {
                    answer.input.plain = answer.input.plain.saturating_sub(cleared);
                    applied.push(json!({"type": "clear_tool_uses_20250919",
                        "cleared_tool_uses": uses, "cleared_input_tokens": cleared}));
                }
            }
            Edit::Compact {
                trigger_tokens,
                pause,
            } if total >= *trigger_tokens => compact(answer, checked, *pause, world),
            Edit::Compact { .. } => {}
        }
    }
    answer.applied_edits = Some(json!({"applied_edits": applied}));
}

fn compaction(checked: &Checked, world: &World) -> Value {
    let summary = format!("Summary of {} turns, by the sandbox.", checked.turns.len());
    let signature = world
        .seals
        .mint("anthropic.compaction", &[summary.as_bytes()], b"");
    json!({"type": "compaction", "content": summary, "encrypted_content": null,
        "signature": signature})
}

/// Puts a summary before the answer; what it cost is listed apart and not in the totals.
fn compact(answer: &mut Answer, checked: &Checked, pause: bool, world: &World) {
    answer.content.insert(0, compaction(checked, world));
    answer.broken_inputs.clear();
    let entry = |kind: &str, input: u64, output: u64| {
        json!({"type": kind, "input_tokens": input, "output_tokens": output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})
    };
    let before = answer.input.total();
    answer.input = InputTokens {
        plain: 200,
        ..InputTokens::default()
    };
    let mut iterations = vec![entry("compaction", before, 40)];
    if pause {
        answer.content.truncate(1);
        "compaction".clone_into(&mut answer.stop_reason);
        answer.output_tokens = 0;
    } else {
        iterations.push(entry("message", 200, answer.output_tokens));
    }
    answer.iterations = Some(Value::Array(iterations));
}

/// Tokens and number of tool results before the last `keep`.
fn old_tool_results(checked: &Checked, keep: u64) -> (u64, u64) {
    let results: Vec<u64> = checked
        .turns
        .iter()
        .flat_map(|turn| &turn.blocks)
        .filter(|block| block.kind() == "tool_result")
        .map(|block| tokens::count(&tokens::render(&block.value["content"])))
        .collect();
    let old = results
        .len()
        .saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    (results[..old].iter().sum(), old as u64)
}
