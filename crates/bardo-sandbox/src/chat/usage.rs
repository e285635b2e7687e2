//! What a request costs in tokens, with the service's prompt cache played through.

use serde_json::{Value, json};

use crate::cache::{self, Automatic, CacheUse};
use crate::chat::Asked;
use crate::recorded::Recorded;
use crate::script::Turn;
use crate::tokens;
use crate::world::World;

/// Token counts of one request; each dialect names them its own way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The whole prompt, cached or not.
    pub(crate) input: u64,
    /// The whole answer, reasoning included.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_written: u64,
}

/// How the model's provider caches prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    Off,
    /// Automatic; writes cost nothing and are not reported.
    Automatic,
    /// Automatic with reported writes, and explicit breakpoints.
    Breakpoints,
    /// Only at `cache_control` markers, with reported writes.
    Markers,
}

impl Counts {
    /// The usage object of plain chat completions.
    pub(crate) fn openai(&self) -> Value {
        let (input, output) = (self.input, self.output);
        json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": {
                "cached_tokens": self.cache_read, "cache_write_tokens": self.cache_written,
                "audio_tokens": 0, "image_tokens": 0, "text_tokens": input,
            },
            "completion_tokens_details": {
                "reasoning_tokens": self.reasoning, "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0, "audio_tokens": 0,
                "text_tokens": output.saturating_sub(self.reasoning),
            },
        })
    }
}

/// Everything of a request that the model reads.
pub(super) fn prompt(asked: &Asked<'_>) -> String {
    ["tools", "functions", "response_format", "messages"]
        .iter()
        .filter_map(|name| asked.body.get(name))
        .map(tokens::render)
        .collect()
}

pub(super) fn count(asked: &Asked<'_>, prompt: &str, turns: &[Turn], world: &World) -> Counts {
    let used = match asked.caching {
        Caching::Off => CacheUse::default(),
        Caching::Automatic => {
            let used = automatic(asked, prompt, world);
            CacheUse { written: 0, ..used }
        }
        Caching::Breakpoints if is_explicit(asked.body) => {
            marked(asked, "prompt_cache_breakpoint", world)
        }
        Caching::Breakpoints => automatic(asked, prompt, world),
        Caching::Markers => marked(asked, "cache_control", world),
    };
    settle(tokens::count(prompt).max(1), used, turns)
}

/// Counts with the script's overrides, which apply to the first turn alone.
pub(crate) fn settle(input: u64, used: CacheUse, turns: &[Turn]) -> Counts {
    let says = &turns[0].usage;
    Counts {
        input: says.input.unwrap_or(input),
        output: turns.iter().map(Turn::output_tokens).sum(),
        reasoning: turns.iter().map(Turn::think_tokens).sum(),
        cache_read: says.cache_read.unwrap_or(used.read),
        cache_written: says.cache_write.unwrap_or(used.written),
    }
}

/// What separates one cache from another: service, model, account and the caller's routing key.
pub(crate) fn scope_of(request: &Recorded, model: &str, body: &Value) -> String {
    let account = request
        .bearer()
        .or(request.header("x-api-key"))
        .unwrap_or_default();
    let key = body
        .get("prompt_cache_key")
        .and_then(Value::as_str)
        .unwrap_or_default();
    [request.service, model, account, key].join("\0")
}

fn automatic(asked: &Asked<'_>, prompt: &str, world: &World) -> CacheUse {
    let scope = scope_of(asked.request, &asked.model, asked.body);
    world
        .cache
        .automatic(cache::COMMON, &scope, prompt, world.now_ms())
}

fn is_explicit(body: &Value) -> bool {
    body.pointer("/prompt_cache_options/mode")
        .and_then(Value::as_str)
        == Some("explicit")
        || count_key(
            body.get("messages").unwrap_or(&Value::Null),
            "prompt_cache_breakpoint",
        ) > 0
}

/// How often a key occurs at any depth.
pub(crate) fn count_key(value: &Value, key: &str) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| count_key(item, key)).sum(),
        Value::Object(fields) => {
            let here = usize::from(fields.contains_key(key));
            here + fields
                .values()
                .map(|field| count_key(field, key))
                .sum::<usize>()
        }
        _ => 0,
    }
}

/// Plays a cache that keeps only the prefixes that end at a marked content part.
fn marked(asked: &Asked<'_>, marker: &str, world: &World) -> CacheUse {
    let scope = scope_of(asked.request, &asked.model, asked.body);
    let mut prompt = String::new();
    let mut ends = Vec::new();
    if let Some(tools) = asked.body.get("tools") {
        prompt.push_str(&tokens::render(tools));
        if count_key(tools, marker) > 0 {
            ends.push(prompt.len());
        }
    }
    let messages = asked.body.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        prompt.push_str(
            message
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        );
        match message.get("content") {
            Some(Value::Array(parts)) => {
                for part in parts {
                    prompt.push_str(&tokens::render(&without(part, marker)));
                    if part.get(marker).is_some() {
                        ends.push(prompt.len());
                    }
                }
            }
            Some(content) => prompt.push_str(&tokens::render(content)),
            None => {}
        }
        prompt.push_str(&tokens::render(
            message.get("tool_calls").unwrap_or(&Value::Null),
        ));
        if message.get(marker).is_some() {
            ends.push(prompt.len());
        }
    }
    let Automatic {
        min_tokens, ttl_ms, ..
    } = cache::COMMON;
    let now_ms = world.now_ms();
    let mut used = CacheUse::default();
    let hashes = cache::prefixes(&scope, prompt.as_bytes(), ends.iter().copied());
    for (end, hash) in ends
        .iter()
        .zip(hashes)
        .filter(|(end, _)| **end / 4 >= min_tokens)
    {
        if world.cache.hit(&hash, now_ms) {
            used.read = (*end / 4) as u64;
        } else {
            world.cache.write(hash, now_ms, ttl_ms);
            used.written = (*end / 4) as u64;
        }
    }
    used.written = used.written.saturating_sub(used.read);
    used
}

fn without(part: &Value, key: &str) -> Value {
    let mut part = part.clone();
    if let Some(fields) = part.as_object_mut() {
        fields.shift_remove(key);
    }
    part
}
