//! What was counted, in every spelling that services of this dialect use (translation §3).

use std::fmt;

use bardo_types::usage::Usage;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::value::RawValue;

use crate::json::wire_object;

wire_object! {
    struct WireUsage<'a> {
        "prompt_tokens" => prompt: Count,
        "completion_tokens" => completion: Count,
        "total_tokens" => total: Count,
        "prompt_tokens_details" => prompt_details: Option<PromptDetails<'a>>,
        "completion_tokens_details" => completion_details: Option<CompletionDetails<'a>>,
        "prompt_cache_hit_tokens" => cache_hit: Count,
        "prompt_cache_miss_tokens" => cache_miss: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation_input_tokens" => cache_creation: Count,
        "reasoning_tokens" => reasoning: Count,
        "cost" => cost: Option<&'a RawValue>,
        "server_tool_use_details" => server_tools: Option<ServerTools<'a>>,
        "server_tool_use" => server_tool_use: Option<ServerTools<'a>>,
    }
}

wire_object! {
    struct PromptDetails<'a> {
        "cached_tokens" => cached: Count,
        "cache_write_tokens" => written: Count,
        "cached_creation_tokens" => cached_creation: Count,
        "cache_creation_input_tokens" => cache_creation: Count,
        "audio_tokens" => audio: Count,
    }
}

wire_object! {
    struct CompletionDetails<'a> {
        "reasoning_tokens" => reasoning: Count,
        "audio_tokens" => audio: Count,
        "accepted_prediction_tokens" => accepted: Count,
        "rejected_prediction_tokens" => rejected: Count,
    }
}

wire_object! {
    struct ServerTools<'a> {
        "web_search_requests" => web_searches: Count,
    }
}

wire_object! {
    /// Venice's top-level `cost`.
    struct VeniceCost<'a> {
        "usd" => usd: Option<&'a RawValue>,
        "diem" => diem: Option<&'a RawValue>,
    }
}

/// A count that may be absent, `null`, or a float that holds a whole number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count(Option<u64>);

impl Count {
    fn get(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count of tokens")
            }
            fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
                Ok(Count(Some(count)))
            }
            fn visit_i64<E>(self, count: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(count).ok()))
            }
            fn visit_f64<E>(self, count: f64) -> Result<Count, E> {
                // A cast from float saturates; negative numbers become 0.
                Ok(Count(Some(count as u64)))
            }
            fn visit_unit<E>(self) -> Result<Count, E> {
                Ok(Count(None))
            }
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// Reads a `usage` object; `top_cost` is the `cost` that Venice puts beside it. `None` when there
/// is nothing to read.
pub(in super::super) fn read(
    usage: Option<&RawValue>,
    top_cost: Option<&RawValue>,
) -> Option<Usage> {
    let wire: Option<WireUsage<'_>> =
        usage.and_then(|usage| serde_json::from_str(usage.get()).ok());
    let provider_cost_usd = top_cost
        .and_then(venice_cost)
        .or_else(|| wire.as_ref()?.cost.and_then(decimal));
    if wire.is_none() && provider_cost_usd.is_none() {
        return None;
    }
    let wire = wire.unwrap_or_default();
    let prompt_details = wire.prompt_details.unwrap_or_default();
    let details = wire.completion_details.unwrap_or_default();
    let read = first(&[prompt_details.cached, wire.cache_hit, wire.cache_read]);
    let written = first(&[
        prompt_details.written,
        prompt_details.cached_creation,
        prompt_details.cache_creation,
        wire.cache_creation,
    ]);
    let prompt = match wire.prompt.0 {
        Some(prompt) => prompt,
        None => wire.cache_hit.get().saturating_add(wire.cache_miss.get()),
    };
    let reasoning = details.reasoning.0.or(wire.reasoning.0);
    Some(Usage {
        fresh_input: prompt.saturating_sub(read).saturating_sub(written),
        cache_read: read,
        cache_write_5m: written,
        cache_write_1h: 0,
        output: output(wire.completion, wire.total, prompt, reasoning.unwrap_or(0)),
        reasoning,
        audio_input: prompt_details.audio.0,
        audio_output: details.audio.0,
        accepted_prediction: details.accepted.0,
        rejected_prediction: details.rejected.0,
        web_searches: wire
            .server_tools
            .or(wire.server_tool_use)
            .and_then(|tools| tools.web_searches.0),
        provider_cost_usd,
    })
}

/// The first of several spellings that says more than nothing.
fn first(spellings: &[Count]) -> u64 {
    spellings
        .iter()
        .map(|count| count.get())
        .find(|count| *count > 0)
        .unwrap_or(0)
}

/// Completion tokens with reasoning. Some services leave reasoning out of the completion and
/// count it in the total alone.
fn output(completion: Count, total: Count, prompt: u64, reasoning: u64) -> u64 {
    let Some(completion) = completion.0 else {
        return total.get().saturating_sub(prompt);
    };
    let with_reasoning = completion.saturating_add(reasoning);
    if reasoning > 0 && total.0 == Some(prompt.saturating_add(with_reasoning)) {
        with_reasoning
    } else {
        completion
    }
}

/// The text of a JSON number, or of a string that holds one.
fn decimal(raw: &RawValue) -> Option<String> {
    let text = raw.get().trim_matches('"');
    text.starts_with(|first: char| first.is_ascii_digit())
        .then(|| text.to_owned())
}

/// Paid in DIEM or in USD; one DIEM is one USD of credit.
fn venice_cost(raw: &RawValue) -> Option<String> {
    let cost: VeniceCost<'_> = serde_json::from_str(raw.get()).ok()?;
    let usd = cost.usd.and_then(decimal);
    let is_zero = |text: &String| !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    match (usd, cost.diem.and_then(decimal)) {
        (Some(usd), Some(diem)) if is_zero(&usd) => Some(diem),
        (Some(usd), _) => Some(usd),
        (None, diem) => diem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Usage) {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        assert_eq!(read(Some(raw), None), Some(expected));
    }

    #[test]
    fn openai_counts_cache_reads_and_writes_within_the_prompt() {
        check(
            r#"{"prompt_tokens":3936,"completion_tokens":20,"total_tokens":3956,"prompt_tokens_details":{"cached_tokens":3712,"cache_write_tokens":24,"audio_tokens":3},"completion_tokens_details":{"reasoning_tokens":5,"audio_tokens":null,"accepted_prediction_tokens":2,"rejected_prediction_tokens":1}}"#,
            Usage {
                fresh_input: 200,
                cache_read: 3712,
                cache_write_5m: 24,
                output: 20,
                reasoning: Some(5),
                audio_input: Some(3),
                accepted_prediction: Some(2),
                rejected_prediction: Some(1),
                ..Usage::default()
            },
        );
    }

    #[test]
    fn each_service_has_its_own_name_for_cache_writes() {
        for (name, nested) in [
            ("cache_write_tokens", true),
            ("cached_creation_tokens", true),
            ("cache_creation_input_tokens", true),
            ("cache_creation_input_tokens", false),
        ] {
            let member = format!("\"{name}\":100");
            let text = if nested {
                format!(
                    r#"{{"prompt_tokens":1110,"completion_tokens":5,"prompt_tokens_details":{{"cached_tokens":1000,{member}}}}}"#
                )
            } else {
                format!(
                    r#"{{"prompt_tokens":1110,"completion_tokens":5,"cache_read_input_tokens":1000,{member}}}"#
                )
            };
            check(
                &text,
                Usage {
                    fresh_input: 10,
                    cache_read: 1000,
                    cache_write_5m: 100,
                    output: 5,
                    ..Usage::default()
                },
            );
        }
    }

    #[test]
    fn deepseek_tells_hits_and_misses() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}"#,
            Usage {
                fresh_input: 36,
                cache_read: 64,
                output: 9,
                ..Usage::default()
            },
        );
    }

    #[test]
    fn reasoning_left_out_of_the_completion_is_added() {
        check(
            r#"{"prompt_tokens":7,"completion_tokens":10,"total_tokens":107,"completion_tokens_details":{"reasoning_tokens":90}}"#,
            Usage {
                fresh_input: 7,
                output: 100,
                reasoning: Some(90),
                ..Usage::default()
            },
        );
    }

    #[test]
    fn costs_keep_the_text_of_their_number() {
        let usage: &RawValue =
            serde_json::from_str(r#"{"prompt_tokens":1,"completion_tokens":1,"cost":0.00014,"server_tool_use_details":{"web_search_requests":2}}"#).unwrap();
        let read_usage = read(Some(usage), None).unwrap();
        assert_eq!(read_usage.provider_cost_usd.as_deref(), Some("0.00014"));
        assert_eq!(read_usage.web_searches, Some(2));
        let venice: &RawValue = serde_json::from_str(r#"{"usd":0.006,"diem":0}"#).unwrap();
        assert_eq!(
            read(None, Some(venice))
                .unwrap()
                .provider_cost_usd
                .as_deref(),
            Some("0.006")
        );
        let diem: &RawValue = serde_json::from_str(r#"{"usd":0.0,"diem":0.25}"#).unwrap();
        assert_eq!(
            read(None, Some(diem)).unwrap().provider_cost_usd.as_deref(),
            Some("0.25")
        );
    }
}
