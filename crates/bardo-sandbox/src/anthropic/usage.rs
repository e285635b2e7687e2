//! What a prompt costs: tokens, and which of them a cache breakpoint read or wrote.

use serde_json::{Map, Value, json};

use super::check::Checked;
use super::turns::{Role, blocks_of};
use crate::cache::{self, PrefixHash};
use crate::tokens;
use crate::world::World;

const FIVE_MINUTES_MS: u64 = 5 * 60_000;
const ONE_HOUR_MS: u64 = 60 * 60_000;
/// How many positions before a breakpoint are looked at for an older entry.
const LOOK_BACK: usize = 20;

/// Input tokens by what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InputTokens {
    pub(crate) plain: u64,
    pub(crate) read: u64,
    pub(crate) written_5m: u64,
    pub(crate) written_1h: u64,
}

impl InputTokens {
    pub(crate) fn total(&self) -> u64 {
        self.plain + self.read + self.written_5m + self.written_1h
    }

    /// The input half of a `usage` object.
    pub(crate) fn json(&self) -> Map<String, Value> {
        let usage = json!({
            "input_tokens": self.plain,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        });
        match usage {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

/// One position of the prompt: a tool, a system block or a content block.
struct Position {
    rendered: String,
    ttl_ms: Option<u64>,
    cacheable: bool,
}

/// The prompt of a request, position by position, in the order in which caches see it.
pub(crate) struct Prompt {
    positions: Vec<Position>,
    scope: String,
    minimum: u64,
}

impl Prompt {
    pub(crate) fn of(checked: &Checked) -> Self {
        let body = &checked.body;
        let mut positions: Vec<Position> = Vec::new();
        let tools = body.get("tools").and_then(Value::as_array);
        positions.extend(
            tools
                .into_iter()
                .flatten()
                .map(|tool| position("tool", tool)),
        );
        let system = blocks_of(body.get("system").unwrap_or(&Value::Null));
        positions.extend(system.iter().map(|block| position("system", block)));
        for turn in &checked.turns {
            let role = turn.role;
            let blocks = turn.blocks.iter();
            positions.extend(blocks.map(|block| position(role.name(), &block.value)));
        }
        if let Some(ttl_ms) = body.get("cache_control").and_then(ttl_of) {
            let last = positions
                .iter_mut()
                .rev()
                .find(|position| position.cacheable);
            if let Some(last) = last {
                last.ttl_ms.get_or_insert(ttl_ms);
            }
        }
        Self {
            positions,
            scope: format!(
                "anthropic/{}/{}",
                checked.access.organization, checked.model.id
            ),
            minimum: checked.model.cache_minimum_tokens,
        }
    }

    /// All tokens of the prompt.
    pub(crate) fn tokens(&self) -> u64 {
        let bytes: usize = self.positions.iter().map(|p| p.rendered.len()).sum();
        (bytes.div_ceil(4) as u64).max(1)
    }

    /// Reads and writes the cache as this request would.
    pub(crate) fn cached(&self, world: &World) -> InputTokens {
        let (ends, hashes) = self.prefixes();
        let now_ms = world.now_ms();
        let tokens_to = |position: usize| ends[position].div_ceil(4) as u64;
        let marked: Vec<(usize, u64)> = self
            .positions
            .iter()
            .enumerate()
            .filter_map(|(at, position)| Some((at, position.ttl_ms?)))
            .filter(|(at, _)| tokens_to(*at) >= self.minimum)
            .collect();
        let read_at = marked.iter().rev().find_map(|(marker, _)| {
            let oldest = marker.saturating_sub(LOOK_BACK - 1);
            (oldest..=*marker)
                .rev()
                .filter(|at| tokens_to(*at) >= self.minimum)
                .find(|at| world.cache.hit(&hashes[*at], now_ms))
        });
        let mut used = InputTokens {
            read: read_at.map_or(0, tokens_to),
            ..InputTokens::default()
        };
        let mut covered = used.read;
        for (marker, ttl_ms) in marked {
            if read_at.is_some_and(|read_at| marker <= read_at) {
                // An entry in front of the one that is read is used too, and lives for its own time.
                world.cache.hit(&hashes[marker], now_ms);
                continue;
            }
            world.cache.write(hashes[marker], now_ms, ttl_ms);
            let written = tokens_to(marker) - covered;
            covered += written;
            match ttl_ms {
                ONE_HOUR_MS => used.written_1h += written,
                _ => used.written_5m += written,
            }
        }
        used.plain = self.tokens().saturating_sub(covered);
        used
    }

    fn prefixes(&self) -> (Vec<usize>, Vec<PrefixHash>) {
        let mut bytes = String::new();
        let mut ends = Vec::with_capacity(self.positions.len());
        for position in &self.positions {
            bytes.push_str(&position.rendered);
            ends.push(bytes.len());
        }
        let hashes = cache::prefixes(&self.scope, bytes.as_bytes(), ends.iter().copied());
        (ends, hashes)
    }
}

fn position(place: &str, block: &Value) -> Position {
    let thinking = matches!(
        block["type"].as_str(),
        Some("thinking" | "redacted_thinking")
    );
    let own = block.get("cache_control").and_then(ttl_of);
    let inner = block["content"].as_array();
    let inner = inner.into_iter().flatten();
    let ttl_ms = own.or_else(|| inner.filter_map(|b| ttl_of(b.get("cache_control")?)).max());
    Position {
        rendered: format!("{place} {}", tokens::render(block)),
        ttl_ms,
        cacheable: !thinking,
    }
}

fn ttl_of(control: &Value) -> Option<u64> {
    match control {
        Value::Null => None,
        control if control["ttl"] == "1h" => Some(ONE_HOUR_MS),
        _ => Some(FIVE_MINUTES_MS),
    }
}

/// Tokens of all thinking that is older than the last `keep` assistant turns, and how many turns
/// that is.
pub(crate) fn old_thinking(checked: &Checked, keep: u64) -> (u64, u64) {
    let mut with_thinking: Vec<u64> = checked
        .turns
        .iter()
        .filter(|turn| turn.role == Role::Assistant)
        .map(|turn| {
            let thinking = turn.blocks.iter().filter(|block| block.is_thinking());
            thinking
                .map(|block| tokens::count(&tokens::render(&block.value)))
                .sum()
        })
        .filter(|tokens| *tokens > 0)
        .collect();
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    with_thinking.truncate(with_thinking.len().saturating_sub(keep));
    (with_thinking.iter().sum(), with_thinking.len() as u64)
}
