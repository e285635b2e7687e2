//! The order that every chat service insists on: a call, then its result.

use serde_json::Value;

/// How a conversation breaks the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The calls with these ids have no result right behind them.
    Unanswered { at: usize, ids: Vec<String> },
    /// The message at this place is a result of nothing.
    Orphan { at: usize },
    /// A second result for the same call.
    Twice { at: usize, id: String },
}

/// Checks that every call is answered by the tool messages right behind it, and none comes from
/// nowhere.
pub(crate) fn check(messages: &[Value]) -> Result<(), Broken> {
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<&str> = Vec::new();
    let unanswered = |open: &[&str], at: usize| Broken::Unanswered {
        at,
        ids: open.iter().map(|id| (*id).to_owned()).collect(),
    };
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.iter().position(|held| *held == id) {
                Some(found) => answered.push(open.remove(found)),
                None if answered.contains(&id) => {
                    return Err(Broken::Twice {
                        at,
                        id: id.to_owned(),
                    });
                }
                None => return Err(Broken::Orphan { at }),
            }
            continue;
        }
        if !open.is_empty() {
            return Err(unanswered(&open, at));
        }
        answered.clear();
        let calls = message.get("tool_calls").and_then(Value::as_array);
        open = calls
            .into_iter()
            .flatten()
            .filter_map(|call| call["id"].as_str())
            .collect();
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&open, messages.len()))
    }
}
