//! What was counted, in every spelling that services of this dialect use.

use bardo_types::usage::{Usage, prompt_classes};
use serde_json::value::RawValue;

use crate::json::{Count, Lenient, byok_fee, decimal, wire_object};
use crate::kit::openai::{InputDetails, OutputDetails};

wire_object! {
    struct ChatUsage<'a> {
        "prompt_tokens" => prompt: Count,
        "completion_tokens" => completion: Count,
        "total_tokens" => total: Count,
        "prompt_tokens_details" => prompt_details: Lenient<InputDetails<'a>>,
        "completion_tokens_details" => completion_details: Lenient<OutputDetails<'a>>,
        "prompt_cache_hit_tokens" => cache_hit: Count,
        "prompt_cache_miss_tokens" => cache_miss: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation_input_tokens" => cache_creation: Count,
        "cache_creation" => split: Lenient<CacheSplit<'a>>,
        "reasoning_tokens" => reasoning: Count,
        "cost" => cost: Option<&'a RawValue>,
        "is_byok" => is_byok: Option<&'a RawValue>,
        "server_tool_use_details" => server_tools: Lenient<ServerTools<'a>>,
        "server_tool_use" => server_tool_use: Lenient<ServerTools<'a>>,
    }

    /// Cache writes by duration, where a service tells them as Anthropic does.
    struct CacheSplit<'a> {
        "ephemeral_1h_input_tokens" => one_hour: Count,
    }

    struct ServerTools<'a> {
        "web_search_requests" => web_searches: Count,
    }

    /// llama.cpp's `timings`, which stand beside the answer also where no usage was asked for.
    struct Timings<'a> {
        "cache_n" => cached: Count,
        "prompt_n" => prompt: Count,
        "predicted_n" => predicted: Count,
    }

    /// Venice's top-level `cost`.
    struct VeniceCost<'a> {
        "usd" => usd: Option<&'a RawValue>,
        "diem" => diem: Option<&'a RawValue>,
    }
}

/// Reads what a chunk or a whole answer counts, wherever it stands; `None` when there is nothing
/// to read.
pub(in crate::chat) fn read(counts: &Counts<'_>) -> Option<Usage> {
    let wire: Option<ChatUsage<'_>> = counts
        .usage
        .and_then(|usage| serde_json::from_str(usage).ok());
    let provider_cost_usd = counts
        .cost
        .and_then(venice_cost)
        .or_else(|| wire.as_ref()?.cost.and_then(decimal));
    if let Some(wire) = wire {
        return Some(of_usage(wire, provider_cost_usd));
    }
    let timed = counts.timings.and_then(of_timings);
    if timed.is_none() && provider_cost_usd.is_none() {
        return None;
    }
    Some(Usage {
        provider_cost_usd,
        ..timed.unwrap_or_default()
    })
}

/// The members of an answer that may count, each as JSON text.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::chat) struct Counts<'a> {
    /// `usage`, beside the choices or within the last.
    pub(in crate::chat) usage: Option<&'a str>,
    /// Venice's member `cost`.
    pub(in crate::chat) cost: Option<&'a str>,
    /// llama.cpp's member `timings`.
    pub(in crate::chat) timings: Option<&'a str>,
}

fn of_usage(wire: ChatUsage<'_>, provider_cost_usd: Option<String>) -> Usage {
    let prompt_details = wire.prompt_details.0.unwrap_or_default();
    let details = wire.completion_details.0.unwrap_or_default();
    let read = first(&[prompt_details.cached, wire.cache_hit, wire.cache_read]);
    let written = first(&[
        prompt_details.written,
        prompt_details.cached_creation,
        prompt_details.cache_creation,
        wire.cache_creation,
    ]);
    let written_1h = wire.split.0.map_or(0, |split| split.one_hour.get());
    let prompt = match wire.prompt.0 {
        Some(prompt) => prompt,
        None => wire.cache_hit.get().saturating_add(wire.cache_miss.get()),
    };
    let reasoning = details.reasoning.0.or(wire.reasoning.0);
    let output = output(wire.completion, wire.total, prompt, reasoning.unwrap_or(0));
    let (fresh, read, written) = prompt_classes(prompt, (read, written), output, wire.total.0);
    let searches = |tools: Lenient<ServerTools<'_>>| tools.0?.web_searches.0;
    Usage {
        fresh_input: fresh,
        cache_read: read,
        cache_write_5m: written.saturating_sub(written_1h),
        cache_write_1h: written_1h.min(written),
        output,
        reasoning,
        audio_input: prompt_details.audio.0,
        audio_output: details.audio.0,
        accepted_prediction: details.accepted.0,
        rejected_prediction: details.rejected.0,
        web_searches: searches(wire.server_tools)
            .or_else(|| searches(wire.server_tool_use))
            .filter(|searches| *searches > 0),
        provider_cost_usd,
        byok_fee: byok_fee(wire.is_byok, wire.cost),
    }
}

fn of_timings(json: &str) -> Option<Usage> {
    let timings: Timings<'_> = serde_json::from_str(json).ok()?;
    Some(Usage {
        fresh_input: timings.prompt.0?,
        cache_read: timings.cached.get(),
        output: timings.predicted.0?,
        ..Usage::default()
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

/// Paid in DIEM or in USD; one DIEM is one USD of credit.
fn venice_cost(json: &str) -> Option<String> {
    let cost: VeniceCost<'_> = serde_json::from_str(json).ok()?;
    let usd = cost.usd.and_then(decimal);
    let is_zero = |text: &String| !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    match (usd, cost.diem.and_then(decimal)) {
        (Some(usd), Some(diem)) if is_zero(&usd) => Some(diem),
        (Some(usd), _) => Some(usd),
        (None, diem) => diem,
    }
}

#[cfg(test)]
mod tests;
