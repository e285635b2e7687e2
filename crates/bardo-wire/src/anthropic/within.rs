//! Thinking in a relayed Messages request whose limit of output tokens is lowered.

use serde_json::{Map, Value};

use super::thinking::BUDGET_MIN;
use crate::json::TopLevel;
use crate::splice::Edit;

/// Keeps a budget for thinking, in the body or in `edits` of it, at half of a new `limit` of output
/// tokens at most, so that the rest is left for the answer. A budget that would fall below what the
/// API takes turns thinking off.
pub fn think_within(body: &TopLevel<'_>, edits: &mut Vec<Edit>, limit: u64) {
    const KEY: &str = "thinking";
    let edited = edits.iter().find(|edit| edit.key() == KEY);
    let json = match edited {
        Some(Edit::Set { value, .. }) => Some(value.as_str()),
        Some(Edit::Remove { .. } | Edit::Rename { .. }) => None,
        None => body.get(KEY),
    };
    let thinking = json.and_then(|json| serde_json::from_str::<Map<String, Value>>(json).ok());
    let Some(mut thinking) = thinking else { return };
    let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
    let half = limit / 2;
    if budget.is_none_or(|budget| budget <= half) {
        return;
    }
    if half < BUDGET_MIN {
        thinking.clear();
        thinking.insert("type".to_owned(), "disabled".into());
    } else {
        thinking.insert("budget_tokens".to_owned(), half.into());
    }
    edits.retain(|edit| edit.key() != KEY);
    edits.push(Edit::set(KEY, Value::Object(thinking).to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;
    use crate::splice::splice;

    #[track_caller]
    fn check(body: &str, mut edits: Vec<Edit>, limit: u64, expected: &str) {
        let top = scan(body.as_bytes()).unwrap();
        think_within(&top, &mut edits, limit);
        assert_eq!(String::from_utf8(splice(&top, &edits)).unwrap(), expected);
    }

    #[test]
    fn a_budget_for_thinking_leaves_half_of_the_limit_to_the_answer() {
        let of =
            |budget| format!(r#"{{"thinking":{{"type":"enabled","budget_tokens":{budget}}}}}"#);
        check(&of(64_000), Vec::new(), 8_001, &of(4_000));
        check(&of(4_000), Vec::new(), 8_001, &of(4_000));
        let off = r#"{"thinking":{"type":"disabled"}}"#;
        check(&of(64_000), Vec::new(), 2_000, off);
        check(off, Vec::new(), 2_000, off);
        check("{}", Vec::new(), 2_000, "{}");
        let set = Edit::set("thinking", r#"{"type":"enabled","budget_tokens":9000}"#);
        check("{}", vec![set], 8_000, &of(4_000));
    }
}
