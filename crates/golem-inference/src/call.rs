//! One thought, as it is sent.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::hints::Hints;

/// The name under which the gateway chooses the model itself.
pub const AUTO: &str = "bardo/auto";

/// One call of a model. The conversation stays as it is written here: the gateway's caches, and
/// the providers', go by its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSpec {
    /// A model by name, or [`AUTO`].
    pub model: String,
    /// The conversation to answer.
    pub messages: Vec<Message>,
    /// The most tokens of an answer, thinking included.
    pub max_tokens: Option<u64>,
    /// Whether the answer comes piece by piece.
    pub stream: bool,
    /// Tools in OpenAI's format.
    pub tools: Vec<Value>,
    /// Other members of the OpenAI body, as they are.
    pub extra: Map<String, Value>,
    /// Hints to the gateway.
    pub hints: Hints,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// Text, or OpenAI's list of parts.
    pub content: Value,
    /// Other members, e.g. `tool_calls` or `tool_call_id`.
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message of the system.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::text("system", text.into())
    }

    /// A message of the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::text("user", text.into())
    }

    /// An earlier answer.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::text("assistant", text.into())
    }

    fn text(role: &'static str, text: String) -> Self {
        Self {
            role,
            content: Value::String(text),
            extra: Map::new(),
        }
    }

    fn to_json(&self) -> Value {
        let mut message = json!({ "role": self.role, "content": self.content });
        if let Some(members) = message.as_object_mut() {
            members.extend(self.extra.clone());
        }
        message
    }
}

impl CallSpec {
    /// A thought of a part of the agent, on a model of the gateway's choice.
    #[must_use]
    pub fn new(subsystem: &str, messages: Vec<Message>) -> Self {
        Self {
            model: AUTO.to_owned(),
            messages,
            max_tokens: None,
            stream: false,
            tools: Vec::new(),
            extra: Map::new(),
            hints: Hints::of(subsystem),
        }
    }

    /// The part of the agent that asks; empty where none is named.
    #[must_use]
    pub fn subsystem(&self) -> &str {
        self.hints.subsystem.as_deref().unwrap_or_default()
    }

    /// The body of the request.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let messages: Vec<Value> = self.messages.iter().map(Message::to_json).collect();
        let mut body = json!({ "model": self.model, "messages": messages });
        let Some(members) = body.as_object_mut() else {
            return body;
        };
        if !self.tools.is_empty() {
            members.insert("tools".to_owned(), json!(self.tools));
        }
        if let Some(tokens) = self.max_tokens {
            // Models that think refuse the older `max_tokens`; the gateway writes whichever name
            // its provider wants.
            members.insert("max_completion_tokens".to_owned(), json!(tokens));
        }
        if self.stream {
            members.insert("stream".to_owned(), json!(true));
            members.insert(
                "stream_options".to_owned(),
                json!({ "include_usage": true }),
            );
        }
        members.extend(self.extra.clone());
        let hints = self.hints.to_json();
        if hints.as_object().is_some_and(|hints| !hints.is_empty()) {
            members.insert("bardo".to_owned(), hints);
        }
        body
    }

    pub(crate) fn to_bytes(&self) -> Bytes {
        Bytes::from(self.to_json().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_is_an_openai_request_with_hints() {
        let mut spec = CallSpec::new(
            "risk",
            vec![Message::system("You guard."), Message::user("Is it safe?")],
        );
        spec.max_tokens = Some(400);
        spec.stream = true;
        assert_eq!(
            spec.to_json(),
            json!({
                "model": "bardo/auto",
                "messages": [
                    { "role": "system", "content": "You guard." },
                    { "role": "user", "content": "Is it safe?" },
                ],
                "max_completion_tokens": 400,
                "stream": true,
                "stream_options": { "include_usage": true },
                "bardo": { "subsystem": "risk" },
            })
        );
    }

    #[test]
    fn a_thought_without_hints_is_plain() {
        let mut spec = CallSpec::new("", vec![Message::user("hi")]);
        spec.hints = Hints::default();
        spec.extra.insert("seed".to_owned(), json!(1));
        assert_eq!(
            spec.to_json(),
            json!({ "model": "bardo/auto", "messages": [{ "role": "user", "content": "hi" }], "seed": 1 })
        );
    }
}
