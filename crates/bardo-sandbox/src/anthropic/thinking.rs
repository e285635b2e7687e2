//! Thinking state: what a signature binds, and what happens when it does not fit any more.
//!
//! A signature names the model and the organisation that it was made for. On models that bind
//! the conversation it also covers everything that stood before the block: the system prompt, the
//! set of tools, and every earlier block that is not thinking. Each signature further names the
//! thinking block before it, so that a block taken out of the middle is noticed while a leading or
//! a trailing run may go.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::access::Access;
use super::error::ApiError;
use super::model::{Display, Model};
use super::turns::{Block, Turn};
use crate::world::World;

const THINKING: &str = "anthropic.thinking";
const REDACTED: &str = "anthropic.redacted_thinking";

/// Whether and how the model thinks in this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Off,
    BetweenTools,
    Adaptive,
    /// `enabled`, with a budget.
    Manual,
}

impl Mode {
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Self::Adaptive | Self::Manual)
    }
}

/// What to do with thinking from another conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MismatchPolicy {
    Error,
    DropBlock,
}

/// The `thinking` of a request, resolved for its model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThinkingPlan {
    pub(crate) mode: Mode,
    pub(crate) display: Display,
    pub(crate) on_mismatch: MismatchPolicy,
}

/// A thinking block that was taken out before the model saw the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transformation {
    pub(crate) path: String,
    pub(crate) reason: &'static str,
}

impl Transformation {
    pub(crate) fn json(&self) -> Value {
        json!({"type": "thinking_dropped", "path": self.path, "reason": self.reason})
    }
}

/// A running digest of the conversation.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    hash: Sha256,
    /// The thinking block that came last.
    before: String,
}

impl Prefix {
    /// The prefix of the first message: the system prompt and the set of tools.
    pub(crate) fn start(body: &Map<String, Value>) -> Self {
        let mut hash = Sha256::new();
        let system = super::turns::blocks_of(body.get("system").unwrap_or(&Value::Null));
        for block in &system {
            hash.update(canonical(block).to_string());
        }
        hash.update([0]);
        let tools = body.get("tools").and_then(Value::as_array);
        let mut tools: Vec<String> = tools
            .into_iter()
            .flatten()
            .filter(|tool| tool["defer_loading"] != true)
            .map(|tool| {
                let name = tool["name"].as_str().unwrap_or_default();
                format!("{name}\0{}", canonical(tool))
            })
            .collect();
        tools.sort();
        for tool in tools {
            hash.update(tool);
            hash.update([0]);
        }
        Self {
            hash,
            before: String::new(),
        }
    }

    /// The prefix after everything in `turns`.
    pub(crate) fn after(body: &Map<String, Value>, turns: &[Turn]) -> Self {
        let mut prefix = Self::start(body);
        for turn in turns {
            for block in &turn.blocks {
                prefix.push(turn.role.name(), &block.value);
            }
        }
        prefix
    }

    /// Goes past one block.
    pub(crate) fn push(&mut self, role: &str, block: &Value) {
        match seal_of(block) {
            Some(seal) => self.before = hex(&Sha256::digest(seal)),
            None => {
                self.hash.update(role);
                self.hash.update(canonical(block).to_string());
                self.hash.update([0]);
            }
        }
    }

    fn digest(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

/// The opaque field of a thinking block; `None` for any other block.
fn seal_of(block: &Value) -> Option<&str> {
    match block["type"].as_str() {
        Some("thinking") => block["signature"].as_str(),
        Some("redacted_thinking") => block["data"].as_str(),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A block without cache markers and empty fields, its keys in one order, so that moving a
/// breakpoint or echoing `"citations": null` is no edit.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut kept: Vec<(&String, &Value)> = fields
                .iter()
                .filter(|(name, value)| *name != "cache_control" && !value.is_null())
                .collect();
            kept.sort_by_key(|(name, _)| *name);
            Value::Object(
                kept.into_iter()
                    .map(|(name, value)| (name.clone(), canonical(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// Who makes a thinking block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) model: &'a str,
    pub(crate) organization: &'a str,
}

/// Makes a thinking block whose text the client sees or, with `Display::Omitted`, does not.
pub(crate) fn block(
    text: &str,
    display: Display,
    maker: Maker<'_>,
    prefix: &Prefix,
    world: &World,
) -> Value {
    let shown = match display {
        Display::Summarized => text,
        Display::Omitted => "",
    };
    let carried = carried(text, maker, prefix);
    let signature = world.seals.mint(THINKING, &[shown.as_bytes()], &carried);
    json!({"type": "thinking", "thinking": shown, "signature": signature})
}

/// Makes a thinking block that nobody but the service can read.
pub(crate) fn redacted(text: &str, maker: Maker<'_>, prefix: &Prefix, world: &World) -> Value {
    let carried = carried(text, maker, prefix);
    json!({"type": "redacted_thinking", "data": world.seals.mint(REDACTED, &[], &carried)})
}

fn carried(text: &str, maker: Maker<'_>, prefix: &Prefix) -> Vec<u8> {
    json!({
        "model": maker.model,
        "organization": maker.organization,
        "prefix": prefix.digest(),
        "before": prefix.before,
        "text": text,
    })
    .to_string()
    .into_bytes()
}

/// Checks every thinking block of a conversation and takes out those that this model cannot read.
pub(crate) fn verify(
    turns: &mut [Turn],
    body: &Map<String, Value>,
    model: &Model,
    plan: &ThinkingPlan,
    access: &Access,
    world: &World,
) -> Result<Vec<Transformation>, ApiError> {
    let mut transformations = Vec::new();
    let mut prefix = Prefix::start(body);
    let mut first = true;
    for turn in turns {
        let mut kept = Vec::with_capacity(turn.blocks.len());
        for block in std::mem::take(&mut turn.blocks) {
            if block.is_thinking() {
                let fits = judge(&block, &prefix, first, model, access, world)?;
                if let Some(reason) = fits.problem() {
                    if fits == Fit::OtherConversation && plan.on_mismatch == MismatchPolicy::Error {
                        return Err(other_conversation(&block));
                    }
                    let path = block.path();
                    transformations.push(Transformation { path, reason });
                    continue;
                }
                first = false;
            }
            prefix.push(turn.role.name(), &block.value);
            kept.push(block);
        }
        turn.blocks = kept;
    }
    Ok(transformations)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Readable,
    OtherModel,
    OtherOrganization,
    OtherConversation,
}

impl Fit {
    fn problem(self) -> Option<&'static str> {
        match self {
            Self::Readable => None,
            Self::OtherModel => Some("model_binding_mismatch"),
            Self::OtherOrganization => Some("organization_binding_mismatch"),
            Self::OtherConversation => Some("prefix_binding_mismatch"),
        }
    }
}

fn judge(
    block: &Block,
    prefix: &Prefix,
    first: bool,
    model: &Model,
    access: &Access,
    world: &World,
) -> Result<Fit, ApiError> {
    let opened = match block.kind() {
        "thinking" => {
            let shown = block.text("thinking").as_bytes();
            world
                .seals
                .open(THINKING, &[shown], block.text("signature"))
        }
        _ => world.seals.open(REDACTED, &[], block.text("data")),
    };
    let carried: Value = opened
        .and_then(|carried| serde_json::from_slice(&carried).ok())
        .ok_or_else(|| tampered(block))?;
    Ok(if carried["organization"] != access.organization {
        Fit::OtherOrganization
    } else if carried["model"] != model.id {
        Fit::OtherModel
    } else if model.prefix_bound
        && (carried["prefix"] != prefix.digest() || (!first && carried["before"] != prefix.before))
    {
        Fit::OtherConversation
    } else {
        Fit::Readable
    })
}

fn tampered(block: &Block) -> ApiError {
    let (field, kind) = match block.kind() {
        "thinking" => ("signature", "thinking"),
        _ => ("data", "redacted_thinking"),
    };
    ApiError::at(block.path(), format!("Invalid `{field}` in `{kind}` block"))
}

fn other_conversation(block: &Block) -> ApiError {
    let text = tampered(block).message;
    ApiError::invalid(format!(
        "{text}. The block is bound to a different conversation. Send it back only with the \
         system prompt, the tools and the earlier messages it was created with, or remove every \
         thinking block."
    ))
}
