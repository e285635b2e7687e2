//! The conversation as the service sees it: strings become blocks, and neighbours of one role
//! become one turn.

use serde_json::{Value, json};

/// The author of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant, Self::System]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// One content block and where the client put it.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) value: Value,
    pub(crate) message: usize,
    pub(crate) position: usize,
}

impl Block {
    pub(crate) fn kind(&self) -> &str {
        self.value["type"].as_str().unwrap_or_default()
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap_or_default()
    }

    pub(crate) fn is_thinking(&self) -> bool {
        matches!(self.kind(), "thinking" | "redacted_thinking")
    }

    /// The path of the block, e.g. `messages.2.content.0`.
    pub(crate) fn path(&self) -> String {
        format!("messages.{}.content.{}", self.message, self.position)
    }
}

/// Consecutive messages of one role.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block>,
}

/// Merges the messages of a body whose shape has been checked.
pub(crate) fn merged(messages: &[Value]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (message, value) in messages.iter().enumerate() {
        let role = value["role"]
            .as_str()
            .and_then(Role::parse)
            .unwrap_or(Role::User);
        let blocks =
            blocks_of(&value["content"])
                .into_iter()
                .enumerate()
                .map(|(position, value)| Block {
                    value,
                    message,
                    position,
                });
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn {
                role,
                blocks: blocks.collect(),
            }),
        }
    }
    turns
}

/// The blocks of a `content`, which may be a plain string.
pub(crate) fn blocks_of(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}
