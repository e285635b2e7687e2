//! What has to be remembered between requests of one caller because its client cannot carry it:
//! thinking state beside tool calls, and the items of stored responses.
//!
//! Bounded in bytes and time; losing an entry degrades an answer, never fails one.

mod items;
mod record;
mod restore;
mod shared;
mod value;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bardo_cache::shared::SharedValues;
use bardo_types::chat::{ChatRequest, ChatResponse, Part, Role, ToolInput};
use bardo_types::privacy::SecurityClass;
use tokio::runtime::Handle;
use tokio::time::Instant;

use restore::{is_partial, is_signed_by_gemini, restore};
use shared::{SharedMemory, goes_on_with};
use value::{CallState, Remembered};

const SHARDS: usize = 16;
const SHARD_BYTES: usize = 4 << 20;
/// Number of callers in the list before those without any state are removed from it.
const GUARDED_MAX: usize = 4_096;
const KEEP: Duration = Duration::from_secs(6 * 3600);

#[derive(Debug)]
struct Entry {
    value: Remembered,
    bytes: usize,
    since: Instant,
    /// How well it has to be kept.
    class: SecurityClass,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<String, Entry>,
    /// Keys in the order they came, the oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

/// The store, shared by all workers.
#[derive(Debug)]
pub(crate) struct Memory {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    /// Callers of whose calls something was kept that must not go everywhere, and when last.
    guarded: OnceLock<Mutex<HashMap<String, Instant>>>,
    /// What all processes remember; `None`: this one remembers for itself.
    shared: Option<SharedMemory>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            guarded: OnceLock::new(),
            shared: None,
        }
    }
}

impl Memory {
    /// The memory of one of several processes.
    pub(crate) fn shared_by(self, values: Arc<dyn SharedValues>) -> Self {
        Self {
            shared: Some(SharedMemory::new(values)),
            ..self
        }
    }

    /// Starts to write, on this runtime, what other processes may need.
    pub(crate) fn start_sharing(&self, runtime: &Handle) {
        if let Some(shared) = &self.shared {
            shared.start(runtime);
        }
    }

    /// Learns from other processes what a request of this caller goes on with.
    pub(crate) async fn recall(&self, principal: &str, body: &[u8]) {
        let Some(shared) = &self.shared else {
            return;
        };
        let earlier = goes_on_with(body);
        let response = earlier.response.iter().map(|id| items_key(principal, id));
        let outputs = earlier.outputs.iter().map(|id| output_key(principal, id));
        let calls = earlier.calls.iter().map(|id| call_key(principal, id));
        let unknown = response
            .chain(outputs)
            .chain(calls)
            .filter(|key| self.class(key).is_none());
        for (key, value) in shared.read(unknown.collect()).await {
            self.put(key, value, SecurityClass::Standard);
        }
    }

    /// Remembers the state that `response` made for its calls, and how well that has to be kept.
    pub(crate) fn keep_calls(
        &self,
        principal: &str,
        response: &ChatResponse,
        class: SecurityClass,
    ) {
        for choice in &response.choices {
            let (mut opening, mut reasoning) = (Vec::new(), Vec::new());
            let mut has_words = false;
            let signed = choice.parts.iter().any(is_signed_by_gemini);
            for part in &choice.parts {
                match part {
                    Part::Reasoning(thought) if has_words => reasoning.push(thought.clone()),
                    Part::Reasoning(thought) => opening.push(thought.clone()),
                    Part::Text(_) | Part::Refusal(_) => has_words = true,
                    Part::ToolCall(call) => {
                        let made = match &call.input {
                            ToolInput::Json(made) if signed => Some(made.clone()),
                            _ => None,
                        };
                        // Only the first call of a batch carries the thinking before it.
                        let state = CallState {
                            opening: std::mem::take(&mut opening),
                            reasoning: std::mem::take(&mut reasoning),
                            opaque: call.opaque.clone(),
                            made,
                        };
                        if !state.is_empty() {
                            self.guard(principal, class);
                            self.keep(
                                call_key(principal, &call.id),
                                Remembered::Call(state),
                                class,
                            );
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Puts remembered state back into assistant turns whose client dropped it, all of it or a part.
    pub(crate) fn restore_calls(&self, principal: &str, request: &mut ChatRequest) {
        for message in request
            .messages
            .iter_mut()
            .filter(|message| message.role == Role::Assistant)
        {
            let mut known: Vec<Option<CallState>> = message
                .parts
                .iter()
                .filter_map(|part| match part {
                    Part::ToolCall(call) => Some(self.call(principal, &call.id)),
                    _ => None,
                })
                .collect();
            if known.iter().all(Option::is_none) {
                continue;
            }
            let restores = is_partial(&message.parts, &known);
            if restores {
                let is_thought = |part: &Part| matches!(part, Part::Reasoning(_));
                message.parts.retain(|part| !is_thought(part));
            }
            restore(&mut message.parts, known.drain(..), restores);
        }
    }

    fn call(&self, principal: &str, id: &str) -> Option<CallState> {
        self.get(&call_key(principal, id), |value| match value {
            Remembered::Call(state) => Some(state.clone()),
            Remembered::Items(_) => None,
        })
    }

    /// Whether state of this caller's calls is remembered that must not go everywhere.
    pub(crate) fn guards(&self, principal: &str) -> bool {
        let Some(guarded) = self.guarded.get() else {
            return false;
        };
        let guarded = guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let since = guarded.get(principal);
        since.is_some_and(|since| since.elapsed() < KEEP)
    }

    /// How well the remembered state of a request's calls has to be kept.
    pub(crate) fn class_of_calls(&self, principal: &str, request: &ChatRequest) -> SecurityClass {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let calls = parts.filter_map(|part| match part {
            Part::ToolCall(call) => Some(&call.id),
            _ => None,
        });
        calls
            .filter_map(|id| self.class(&call_key(principal, id)))
            .max()
            .unwrap_or_default()
    }

    fn guard(&self, principal: &str, class: SecurityClass) {
        if class == SecurityClass::Standard {
            return;
        }
        let guarded = self.guarded.get_or_init(Mutex::default);
        let mut guarded = guarded.lock().unwrap_or_else(PoisonError::into_inner);
        if guarded.len() >= GUARDED_MAX && !guarded.contains_key(principal) {
            guarded.retain(|_, since| since.elapsed() < KEEP);
        }
        guarded.insert(principal.to_owned(), Instant::now());
    }

    fn shard(&self, key: &str) -> std::sync::MutexGuard<'_, Shard> {
        let index = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64)
            .expect("less than the number of shards");
        self.shards[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn class(&self, key: &str) -> Option<SecurityClass> {
        let shard = self.shard(key);
        let entry = shard.entries.get(key);
        let entry = entry.filter(|entry| entry.since.elapsed() < KEEP)?;
        Some(entry.class)
    }

    fn get<T>(&self, key: &str, read: impl FnOnce(&Remembered) -> Option<T>) -> Option<T> {
        let shard = self.shard(key);
        let entry = shard
            .entries
            .get(key)
            .filter(|entry| entry.since.elapsed() < KEEP)?;
        read(&entry.value)
    }

    /// Remembers a value, here and where other processes see it.
    fn keep(&self, key: String, value: Remembered, class: SecurityClass) {
        if let Some(shared) = self
            .shared
            .as_ref()
            .filter(|_| class == SecurityClass::Standard)
        {
            shared.write(&key, &value);
        }
        self.put(key, value, class);
    }

    fn put(&self, key: String, value: Remembered, class: SecurityClass) {
        let bytes = value.bytes();
        if bytes > SHARD_BYTES {
            return;
        }
        let mut guard = self.shard(&key);
        let shard = &mut *guard;
        if let Some(replaced) = shard.entries.insert(
            key.clone(),
            Entry {
                value,
                bytes,
                since: Instant::now(),
                class,
            },
        ) {
            shard.bytes -= replaced.bytes;
        } else {
            shard.order.push_back(key);
        }
        shard.bytes += bytes;
        while shard.bytes > SHARD_BYTES
            || shard
                .order
                .front()
                .is_some_and(|oldest| is_stale(shard, oldest))
        {
            let Some(oldest) = shard.order.pop_front() else {
                break;
            };
            if let Some(gone) = shard.entries.remove(&oldest) {
                shard.bytes -= gone.bytes;
            }
        }
    }
}

fn is_stale(shard: &Shard, key: &str) -> bool {
    shard
        .entries
        .get(key)
        .is_none_or(|entry| entry.since.elapsed() >= KEEP)
}

fn call_key(principal: &str, id: &str) -> String {
    format!("call\0{principal}\0{id}")
}

fn items_key(principal: &str, id: &str) -> String {
    format!("items\0{principal}\0{id}")
}

fn output_key(principal: &str, answer: &str) -> String {
    format!("output\0{principal}\0{answer}")
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{Choice, Message, Opaque, Reasoning, Text, ToolCall};
    use bardo_types::json::RawJson;
    use bardo_types::model::Dialect;

    use super::*;

    fn thought() -> Reasoning {
        Reasoning {
            text: "hm".into(),
            summary: false,
            opaque: Some(Opaque::AnthropicSignature("sig".into())),
        }
    }

    fn response() -> ChatResponse {
        let parts = vec![
            Part::Reasoning(thought()),
            Part::ToolCall(ToolCall::new("call_1", "f", "{}")),
            Part::ToolCall(ToolCall::new("call_2", "f", "{}")),
        ];
        ChatResponse {
            choices: vec![Choice {
                parts,
                ..Choice::default()
            }],
            ..ChatResponse::default()
        }
    }

    fn turn() -> ChatRequest {
        let calls = ["call_1", "call_2"].map(|id| Part::ToolCall(ToolCall::new(id, "f", "{}")));
        ChatRequest {
            messages: vec![Message::new(Role::Assistant, calls.to_vec())],
            ..ChatRequest::new(Dialect::Chat, "m")
        }
    }

    #[test]
    fn thinking_that_the_client_dropped_comes_back_before_its_call() {
        let memory = Memory::default();
        memory.keep_calls("alice", &response(), SecurityClass::Standard);
        let mut request = turn();
        memory.restore_calls("alice", &mut request);
        assert_eq!(request.messages[0].parts.len(), 3);
        assert_eq!(request.messages[0].parts[0], Part::Reasoning(thought()));
        // Kept by the client: nothing is doubled.
        memory.restore_calls("alice", &mut request);
        assert_eq!(request.messages[0].parts.len(), 3);
    }

    #[test]
    fn thinking_before_the_words_comes_back_before_the_words() {
        let memory = Memory::default();
        let thought = |text: &str| {
            Part::Reasoning(Reasoning {
                text: text.into(),
                ..thought()
            })
        };
        let words = || Part::from(Text::new("words"));
        let call = || Part::ToolCall(ToolCall::new("call_1", "f", "{}"));
        let spoken = vec![thought("first"), words(), thought("second"), call()];
        memory.keep_calls(
            "alice",
            &ChatResponse {
                choices: vec![Choice {
                    parts: spoken.clone(),
                    ..Choice::default()
                }],
                ..ChatResponse::default()
            },
            SecurityClass::Standard,
        );
        let mut request = ChatRequest {
            messages: vec![Message::new(Role::Assistant, vec![words(), call()])],
            ..ChatRequest::new(Dialect::Chat, "m")
        };
        memory.restore_calls("alice", &mut request);
        assert_eq!(request.messages[0].parts, spoken);
    }

    /// The parts that a client sends back in place of the thinking in an answer.
    fn restored(thoughts: Vec<Reasoning>) -> Vec<Part> {
        let memory = Memory::default();
        memory.keep_calls("alice", &response(), SecurityClass::Standard);
        let mut request = turn();
        let thoughts = thoughts.into_iter().map(Part::Reasoning);
        request.messages[0].parts.splice(0..0, thoughts);
        memory.restore_calls("alice", &mut request);
        request.messages.remove(0).parts
    }

    #[test]
    fn thinking_of_which_the_client_kept_a_part_comes_back_whole() {
        let bare = |opaque| Reasoning {
            text: "hm".into(),
            summary: false,
            opaque,
        };
        let entry = |json: &str| Some(Opaque::ReasoningDetail(RawJson::parse(json).unwrap()));
        let parts = [
            bare(None),
            bare(Some(Opaque::ReasoningContent)),
            bare(entry(
                r#"{"type":"reasoning.text","text":"hm","signature":"sig"}"#,
            )),
            // The last of the pieces in which it was streamed.
            Reasoning {
                text: String::new(),
                ..thought()
            },
        ];
        for part in parts {
            let whole = restored(vec![part.clone()]);
            assert_eq!(whole[0], Part::Reasoning(thought()), "{part:?}");
            assert_eq!(whole.len(), 3, "{part:?}");
        }
        let foreign = Reasoning {
            opaque: Some(Opaque::AnthropicSignature("other".into())),
            ..thought()
        };
        assert_eq!(restored(vec![foreign.clone()])[0], Part::Reasoning(foreign));
    }

    #[test]
    fn words_that_are_all_the_state_there_is_stay_as_they_came() {
        let memory = Memory::default();
        let mut response = response();
        response.choices[0].parts[0] = Part::Reasoning(Reasoning {
            opaque: Some(Opaque::ReasoningContent),
            ..thought()
        });
        memory.keep_calls("alice", &response, SecurityClass::Standard);
        let mut request = turn();
        let own = Part::Reasoning(Reasoning {
            text: "as the client has it".into(),
            summary: false,
            opaque: Some(Opaque::ReasoningContent),
        });
        request.messages[0].parts.insert(0, own.clone());
        memory.restore_calls("alice", &mut request);
        assert_eq!(request.messages[0].parts[0], own);
    }

    /// A signed call comes back with these arguments.
    fn signed_call_with(sent: &str) -> ToolCall {
        let made = r#"{"file":"a.rs","edits":[{"old":"x"}],"n":1.0}"#;
        let call = |arguments: &str| ToolCall::new("call_1", "edit", arguments);
        let memory = Memory::default();
        let signed = ToolCall {
            opaque: Some(Opaque::GeminiSignature("sig".into())),
            ..call(made)
        };
        let mut response = response();
        response.choices[0].parts = vec![Part::ToolCall(signed)];
        memory.keep_calls("alice", &response, SecurityClass::Standard);
        let mut request = turn();
        request.messages[0].parts = vec![Part::ToolCall(call(sent))];
        memory.restore_calls("alice", &mut request);
        match request.messages[0].parts.remove(0) {
            Part::ToolCall(call) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_signed_call_goes_back_as_the_model_made_it() {
        let made = ToolInput::Json(r#"{"file":"a.rs","edits":[{"old":"x"}],"n":1.0}"#.into());
        for sent in [
            r#"{"n":1,"file":"a.rs","edits":[{"old":"x"}]}"#,
            r#"{"file":"a.rs","edits":[{"old":"x","replace_all":false}],"n":1,"replace_all":false}"#,
        ] {
            let call = signed_call_with(sent);
            assert_eq!(call.input, made, "{sent}");
            assert_eq!(call.opaque, Some(Opaque::GeminiSignature("sig".into())));
        }
    }

    #[test]
    fn a_signature_is_not_sent_with_other_arguments() {
        for sent in [
            r#"{"file":"b.rs","edits":[{"old":"x"}],"n":1}"#,
            "{}",
            "no JSON",
        ] {
            let call = signed_call_with(sent);
            assert_eq!(call.input, ToolInput::Json(sent.into()));
            assert!(
                !matches!(call.opaque, Some(Opaque::GeminiSignature(_)) | None),
                "{sent}: the loss has to be named"
            );
        }
    }

    #[test]
    fn nobody_gets_what_another_left() {
        let memory = Memory::default();
        memory.keep_calls("alice", &response(), SecurityClass::Standard);
        let mut request = turn();
        memory.restore_calls("bob", &mut request);
        assert_eq!(request, turn());
        memory.keep_items(
            "alice",
            "resp_1",
            vec![RawJson::empty_object()],
            SecurityClass::Standard,
        );
        assert_eq!(memory.items("bob", "resp_1"), None);
        assert_eq!(memory.items("alice", "resp_1").unwrap().len(), 1);
    }

    #[test]
    fn what_is_remembered_keeps_its_class() {
        let memory = Memory::default();
        memory.keep_calls("alice", &response(), SecurityClass::Standard);
        assert!(!memory.guards("alice"));
        memory.keep_calls("alice", &response(), SecurityClass::Tee);
        assert!(memory.guards("alice") && !memory.guards("bob"));
        assert_eq!(memory.class_of_calls("alice", &turn()), SecurityClass::Tee);
        assert_eq!(
            memory.class_of_calls("bob", &turn()),
            SecurityClass::Standard
        );
        memory.keep_items("alice", "resp_1", Vec::new(), SecurityClass::Private);
        let class = |who| memory.class_of_items(who, "resp_1");
        assert_eq!(class("alice"), Some(SecurityClass::Private));
        assert_eq!(class("bob"), None);
    }

    #[test]
    fn it_stays_within_its_bytes() {
        let memory = Memory::default();
        let item = RawJson::string(&"x".repeat(100_000));
        for n in 0..2_000 {
            memory.keep_items(
                "alice",
                &format!("resp_{n}"),
                vec![item.clone()],
                SecurityClass::Standard,
            );
        }
        let held: usize = memory
            .shards
            .iter()
            .map(|shard| shard.lock().unwrap().bytes)
            .sum();
        assert!(held <= SHARDS * SHARD_BYTES && held > SHARD_BYTES);
        assert!(memory.items("alice", "resp_1999").is_some());
        assert!(memory.items("alice", "resp_0").is_none());
    }
}
