//! Digests of prefixes, under keys of this process: no caller can make two prompts share one.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use bardo_cache::prefix::PrefixId;
use bardo_types::chat::{ChatRequest, Message, OutputFormat, Part, Tool, ToolChoice};

/// Pieces of up to so many bytes together are digested by SipHash, which is faster for short ones,
/// longer ones by BLAKE3.
const SHORT_MAX: usize = 128;

static SHORT_KEYS: LazyLock<[RandomState; 2]> =
    LazyLock::new(|| [RandomState::new(), RandomState::new()]);
static LONG_KEY: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let mut key = [0; 32];
    for (index, part) in key.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(index).to_be_bytes());
    }
    key
});

/// A digest of 128 bits. Each piece is preceded by its length.
pub(super) struct Digest(Vec<u8>);

impl Default for Digest {
    fn default() -> Self {
        Self(Vec::with_capacity(2 * SHORT_MAX))
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
        self.0.extend_from_slice(&bytes.len().to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Tools and system prompt of a request, with what changes how providers read them: the tools
    /// that are left out, and the form of the answer.
    pub(super) fn stable(self, request: &ChatRequest) -> Self {
        let allowed: &[String] = match &request.tool_choice {
            Some(ToolChoice::Allowed { names, .. }) => names,
            _ => &[],
        };
        let allowed = allowed.iter().fold(self, |digest, name| digest.text(name));
        let form = match &request.output {
            OutputFormat::Text => allowed,
            OutputFormat::JsonObject => allowed.text("json"),
            OutputFormat::JsonSchema { schema, .. } => allowed.text("schema").text(schema.as_str()),
        };
        let tools = request.tools.iter().fold(form, Self::tool);
        request.leading_system().iter().fold(tools, Self::message)
    }

    fn tool(self, tool: &Tool) -> Self {
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
                    .text(description.as_deref().unwrap_or_default())
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
                    .text(description.as_deref().unwrap_or_default())
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
        let pieces = self.0;
        if pieces.len() <= SHORT_MAX {
            let [high, low] = [0, 1].map(|key| u128::from(SHORT_KEYS[key].hash_one(&pieces)));
            return high << 64 | low;
        }
        let digest = blake3::keyed_hash(&LONG_KEY, &pieces);
        let first = digest.as_bytes().first_chunk();
        PrefixId::from_be_bytes(*first.expect("a digest has 32 bytes"))
    }
}
