//! Context editing, compaction and threads: shapes of the fields that betas unlock.

use serde_json::Value;

use super::Subject;
use super::fields::{self, Fields, array, join, object, one_of, present, required, string};
use crate::anthropic::error::ApiError;

/// An edit that the service applies to the prompt before the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Drops thinking of all but the last turns; `None` keeps all of it.
    ClearThinking { keep_turns: Option<u64> },
    /// Drops old tool results once a trigger is reached.
    ClearToolUses {
        trigger_tokens: Option<u64>,
        trigger_uses: Option<u64>,
        keep: u64,
    },
    /// Summarizes the conversation once it is long.
    Compact { trigger_tokens: u64, pause: bool },
}

/// Reads `context_management`, and checks the shape of `compaction` and `thread`.
pub(super) fn edits(body: &Fields, subject: &Subject<'_>) -> Result<Vec<Edit>, ApiError> {
    if let Some(compaction) = present(body, "compaction") {
        let fields = object("compaction", compaction)?;
        let kind = required("compaction", fields, "type")?;
        one_of("compaction.type", kind, &["summarize"])?;
        fields::only("compaction", fields, ["instructions"])?;
    }
    if let Some(thread) = present(body, "thread") {
        let fields = object("thread", thread)?;
        let kind = required("thread", fields, "type")?;
        if one_of("thread.type", kind, &["create", "continue"])? == "continue" {
            let id = required("thread", fields, "previous_message_id")?;
            string("thread.previous_message_id", id)?;
        }
    }
    let Some(management) = present(body, "context_management") else {
        return Ok(Vec::new());
    };
    let fields = object("context_management", management)?;
    fields::only("context_management", fields, ["edits"])?;
    let edits = fields.get("edits").filter(|edits| !edits.is_null());
    let edits = edits.map_or(Ok(&[][..]), |edits| {
        array("context_management.edits", edits)
    })?;
    edits
        .iter()
        .enumerate()
        .map(|(index, edit)| edit_of(&format!("context_management.edits.{index}"), edit, subject))
        .collect()
}

fn edit_of(path: &str, edit: &Value, subject: &Subject<'_>) -> Result<Edit, ApiError> {
    let fields = object(path, edit)?;
    let kind = fields::tag(path, fields)?;
    let tagged = join(path, kind);
    match kind {
        "clear_thinking_20251015" => {
            fields::only(&tagged, fields, ["keep"])?;
            let keep = &edit["keep"];
            let keep_turns = match keep {
                Value::Null => Some(1),
                Value::String(all) if all == "all" => None,
                _ if keep["type"] == "all" => None,
                _ => keep["value"].as_u64().or(keep.as_u64()),
            };
            Ok(Edit::ClearThinking { keep_turns })
        }
        "clear_tool_uses_20250919" => {
            let known = [
                "trigger",
                "keep",
                "clear_at_least",
                "exclude_tools",
                "clear_tool_inputs",
            ];
            fields::only(&tagged, fields, known)?;
            let trigger = &edit["trigger"];
            let by_uses = trigger["type"] == "tool_uses";
            let value = trigger["value"].as_u64();
            Ok(Edit::ClearToolUses {
                trigger_tokens: (!by_uses).then(|| value.unwrap_or(100_000)),
                trigger_uses: by_uses.then_some(value).flatten(),
                keep: edit["keep"]["value"].as_u64().unwrap_or(3),
            })
        }
        "compact_20260112" if subject.access.has_beta("compact-2026-01-12") => {
            let known = ["trigger", "instructions", "pause_after_compaction"];
            fields::only(&tagged, fields, known)?;
            let trigger_tokens = edit["trigger"]["value"].as_u64().unwrap_or(150_000);
            if trigger_tokens < 50_000 {
                return Err(ApiError::at(
                    join(&tagged, "trigger.value"),
                    "Input should be greater than or equal to 50000",
                ));
            }
            Ok(Edit::Compact {
                trigger_tokens,
                pause: edit["pause_after_compaction"] == true,
            })
        }
        _ => Err(ApiError::at(
            path,
            format!(
                "Input tag '{kind}' found using 'type' does not match any of the expected tags: \
                 'clear_thinking_20251015', 'clear_tool_uses_20250919'"
            ),
        )),
    }
}
