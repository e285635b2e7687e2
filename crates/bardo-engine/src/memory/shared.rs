//! What other processes of the gateway remember: read before a request that goes on with it, written
//! after an answer.
//!
//! Nothing above the usual class of privacy leaves the process. A store that does not answer costs
//! the thinking of a turn, never a request.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_cache::shared::{SharedName, SharedValues};
use bardo_wire::responses;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::KEEP;
use super::record;
use super::value::Remembered;

/// Values that wait to be written at most; more are not shared.
const WAITING_MAX: usize = 1_024;
/// Keys that one request asks for at most, the latest first.
const ASKED_MAX: usize = 128;
/// The latest keys, which another process may be about to write.
const LATEST: usize = 8;
/// Absent keys that are known at most.
const ABSENT_MAX: usize = 65_536;
/// Time that one request waits for all of them.
const PATIENCE: Duration = Duration::from_millis(100);

type Queued = (SharedName, Vec<u8>);

/// The store that processes share.
pub(super) struct SharedMemory {
    values: Arc<dyn SharedValues>,
    queue: mpsc::Sender<Queued>,
    waiting: Mutex<Option<mpsc::Receiver<Queued>>>,
    /// Digests of keys that nobody remembers anything under: most tool calls have no thinking.
    absent: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl std::fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedMemory").finish_non_exhaustive()
    }
}

impl SharedMemory {
    pub(super) fn new(values: Arc<dyn SharedValues>) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING_MAX);
        Self {
            values,
            queue,
            waiting: Mutex::new(Some(waiting)),
            absent: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Starts to write what is remembered from now on; once.
    pub(super) fn start(&self, runtime: &Handle) {
        let waiting = self.waiting.lock();
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner).take();
        let values = Arc::clone(&self.values);
        if let Some(mut waiting) = waiting {
            runtime.spawn(async move {
                while let Some((name, value)) = waiting.recv().await {
                    // A loss is counted by the store.
                    let _ = values.write(&name, &value, KEEP).await;
                }
            });
        }
    }

    /// Writes a value soon. Where too many wait, this one stays in the process.
    pub(super) fn write(&self, key: &str, value: &Remembered) {
        if let Ok(place) = self.queue.try_reserve() {
            place.send((name(key), record::write(value)));
        }
    }

    /// The values of these keys, as far as the store has them and answers in time. The latest keys
    /// come first.
    pub(super) async fn read(&self, keys: Vec<String>) -> Vec<(String, Remembered)> {
        let mut asked = JoinSet::new();
        for (place, key) in keys.into_iter().take(ASKED_MAX).enumerate() {
            let digest = self.hasher.hash_one(&key);
            if place >= LATEST && self.absent().contains(&digest) {
                continue;
            }
            let values = Arc::clone(&self.values);
            asked.spawn(async move {
                let found = values.read(&name(&key)).await;
                (place, digest, key, found)
            });
        }
        let mut known = Vec::new();
        let all = async {
            while let Some(one) = asked.join_next().await {
                match one {
                    Ok((_, _, key, Ok(Some(found)))) => {
                        known.extend(record::read(&found).map(|value| (key, value)));
                    }
                    Ok((place, digest, _, Ok(None))) if place >= LATEST => self.miss(digest),
                    Ok(_) | Err(_) => {}
                }
            }
        };
        let _ = tokio::time::timeout(PATIENCE, all).await;
        known
    }

    fn absent(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn miss(&self, digest: u64) {
        let mut absent = self.absent();
        if absent.len() >= ABSENT_MAX {
            absent.clear();
        }
        absent.insert(digest);
    }
}

fn name(key: &str) -> SharedName {
    SharedName::new("memory", &[key])
}

/// The members of a request that say what it goes on with, in any dialect.
#[derive(Deserialize, Default)]
#[serde(default)]
struct History<'b> {
    #[serde(borrow)]
    messages: Option<&'b RawValue>,
    #[serde(borrow)]
    input: Option<&'b RawValue>,
    previous_response_id: Option<String>,
}

/// One turn or item, as far as it has tool calls or is a reference.
#[derive(Deserialize, Default)]
#[serde(default)]
struct HistoryTurn<'b> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(borrow)]
    id: Option<&'b RawValue>,
    call_id: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<&'b RawValue>,
    #[serde(borrow)]
    content: Option<&'b RawValue>,
}

/// A tool call, or a part of a turn that may be one.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CallPart {
    #[serde(rename = "type")]
    kind: Option<String>,
    id: Option<String>,
}

/// The ids of what a request goes on with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GoesOnWith {
    /// The response that it continues.
    pub(super) response: Option<String>,
    /// The answers whose items it refers to, the latest first.
    pub(super) outputs: Vec<String>,
    /// Its tool calls, the latest first.
    pub(super) calls: Vec<String>,
}

/// What a request goes on with. What cannot be read is left out: whoever reads the request says so.
pub(super) fn goes_on_with(body: &[u8]) -> GoesOnWith {
    let holds = |word: &str| memchr::memmem::find(body, word.as_bytes()).is_some();
    let words = [
        "tool_calls",
        "tool_use",
        "function_call",
        "custom_tool_call",
        "previous_response_id",
    ];
    if !words.iter().any(|word| holds(word)) && !responses::holds_own_marks(body) {
        return GoesOnWith::default();
    }
    let history: History<'_> = serde_json::from_slice(body).unwrap_or_default();
    let (mut calls, mut outputs) = (Vec::new(), Vec::new());
    for list in [history.messages, history.input].into_iter().flatten() {
        let turns: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        for turn in turns {
            let turn: HistoryTurn<'_> = serde_json::from_str(turn.get()).unwrap_or_default();
            let id: Option<String> = turn.id.and_then(|id| serde_json::from_str(id.get()).ok());
            outputs.extend(id.as_deref().and_then(responses::maker_of_item));
            calls_of(turn, &mut calls);
        }
    }
    calls.reverse();
    outputs.reverse();
    outputs.dedup();
    GoesOnWith {
        response: history.previous_response_id,
        outputs,
        calls,
    }
}

fn calls_of(turn: HistoryTurn<'_>, calls: &mut Vec<String>) {
    let is_item = matches!(
        turn.kind.as_deref(),
        Some("function_call" | "custom_tool_call")
    );
    calls.extend(turn.call_id.filter(|_| is_item));
    let read = |list: Option<&RawValue>| -> Vec<CallPart> {
        let parts = list.and_then(|list| serde_json::from_str(list.get()).ok());
        parts.unwrap_or_default()
    };
    calls.extend(read(turn.tool_calls).into_iter().filter_map(|call| call.id));
    let parts = read(turn.content).into_iter();
    let uses = parts.filter(|part| part.kind.as_deref() == Some("tool_use"));
    calls.extend(uses.filter_map(|part| part.id));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(body: &serde_json::Value) -> (Option<String>, Vec<String>) {
        let found = goes_on_with(body.to_string().as_bytes());
        (found.response, found.calls)
    }

    #[test]
    fn calls_are_found_in_every_dialect_the_latest_first() {
        let calls = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let chat = json!({ "messages": [
            { "role": "user", "content": "Hi, call_9" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                { "id": "call_2", "type": "function", "function": { "name": "f", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": "call_1", "content": "x" },
            { "role": "assistant", "content": "", "tool_calls": [{ "id": "call_3" }] },
        ] });
        assert_eq!(found(&chat), (None, calls(&["call_3", "call_2", "call_1"])));
        let anthropic = json!({ "messages": [
            { "role": "assistant", "content": [
                { "type": "text", "text": "tool_use" },
                { "type": "tool_use", "id": "toolu_1", "name": "f", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1" }] },
        ] });
        assert_eq!(found(&anthropic), (None, calls(&["toolu_1"])));
        let responses = json!({ "previous_response_id": "resp_1", "input": [
            { "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_1", "output": "x" },
        ] });
        assert_eq!(
            found(&responses),
            (Some("resp_1".into()), calls(&["call_1"]))
        );
    }

    #[test]
    fn answers_whose_items_are_referred_to_are_found_the_latest_first() {
        let body = json!({ "input": [
            { "type": "item_reference", "id": "msg_bardo_ab_0" },
            { "role": "user", "content": "x" },
            { "id": "rs_bardo_cd_0" },
            { "type": "item_reference", "id": "msg_bardo_cd_1" },
            { "type": "item_reference", "id": "msg_1" },
        ] });
        let found = goes_on_with(body.to_string().as_bytes());
        assert_eq!(found.outputs, ["resp_cd", "resp_ab"]);
    }

    #[test]
    fn a_request_that_goes_on_with_nothing_or_is_malformed_asks_for_nothing() {
        for body in [
            json!({ "messages": [{ "role": "user", "content": "tool_use" }] }),
            json!({ "messages": "tool_calls" }),
            json!({ "input": "function_call" }),
            json!({ "messages": [7, { "tool_calls": 7 }, { "content": { "type": "tool_use" } }] }),
        ] {
            assert_eq!(found(&body), (None, Vec::new()), "{body}");
        }
        assert_eq!(goes_on_with(b"{\"tool_calls"), GoesOnWith::default());
    }
}
