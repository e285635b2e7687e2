//! Digests of prefixes, under keys of this process: no caller can make two prompts share one.

use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::sync::OnceLock;

use bardo_cache::prefix::PrefixId;
use bardo_types::chat::{ChatRequest, Message, Part, Tool};

static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();

/// A digest of 128 bits. Each piece is preceded by its length.
pub(super) struct Digest([DefaultHasher; 2]);

impl Default for Digest {
    fn default() -> Self {
        let keys = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
        Self([keys[0].build_hasher(), keys[1].build_hasher()])
    }
}

impl Digest {
    pub(super) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn id(self, id: PrefixId) -> Self {
        self.bytes(&id.to_be_bytes())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        for hasher in &mut self.0 {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
        self
    }

    /// Tools and system prompt of a request.
    pub(super) fn stable(self, request: &ChatRequest) -> Self {
        let tools = request.tools.iter().fold(self, Self::tool);
        request.leading_system().iter().fold(tools, Self::message)
    }

    fn tool(self, tool: &Tool) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match tool {
            Tool::Function {
                name,
                description,
                schema,
                ..
            } => {
                let schema = schema.as_ref().map_or("", |schema| schema.as_str());
                self.text("function")
                    .text(name)
                    .text(&text(description))
                    .text(schema)
            }
            Tool::Custom {
                name,
                description,
                format,
            } => {
                let format = format.as_ref().map_or("", |format| format.as_str());
                self.text("custom")
                    .text(name)
                    .text(&text(description))
                    .text(format)
            }
            Tool::Server { kind, raw, .. } => self.text(kind).text(raw.as_str()),
        }
    }

    /// The texts of a message. Of other parts the size counts: they change with their message.
    pub(super) fn message(self, message: &Message) -> Self {
        message.parts.iter().fold(self, |digest, part| match part {
            Part::Text(text) => digest.text(&text.text),
            other => digest.bytes(&other.bytes().to_be_bytes()),
        })
    }

    pub(super) fn done(self) -> PrefixId {
        let [high, low] = self.0.map(|hasher| u128::from(hasher.finish()));
        high << 64 | low
    }
}
