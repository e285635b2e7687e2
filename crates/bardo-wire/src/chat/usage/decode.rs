//! What was counted, in every spelling that services of this dialect use.

use bardo_types::usage::{Usage, prompt_classes};

use crate::json::{Walked, byok_fee, decimal, lenient_object};
use crate::kit::openai::{InputDetails, OutputDetails};

lenient_object! {
    struct ChatUsage<'a> {
        "prompt_tokens" => prompt: u64,
        "completion_tokens" => completion: u64,
        "total_tokens" => total: u64,
        "prompt_tokens_details" => prompt_details: InputDetails,
        "completion_tokens_details" => completion_details: OutputDetails,
        "prompt_cache_hit_tokens" => cache_hit: u64,
        "prompt_cache_miss_tokens" => cache_miss: u64,
        "cache_read_input_tokens" => cache_read: u64,
        "cache_creation_input_tokens" => cache_creation: u64,
        "cache_creation" => split: CacheSplit,
        "reasoning_tokens" => reasoning: u64,
        "cost" => cost: &'a str,
        "is_byok" => is_byok: &'a str,
        "server_tool_use_details" => server_tools: ServerTools,
        "server_tool_use" => server_tool_use: ServerTools,
    }

    /// Cache writes by duration, where a service tells them as Anthropic does.
    struct CacheSplit {
        "ephemeral_1h_input_tokens" => one_hour: u64,
    }

    struct ServerTools {
        "web_search_requests" => web_searches: u64,
    }

    /// llama.cpp's `timings`, which stand beside the answer also where no usage was asked for.
    struct Timings {
        "cache_n" => cached: u64,
        "prompt_n" => prompt: u64,
        "predicted_n" => predicted: u64,
    }

    /// Venice's top-level `cost`.
    struct VeniceCost<'a> {
        "usd" => usd: &'a str,
        "diem" => diem: &'a str,
    }
}

/// Reads what a chunk or a whole answer counts, wherever it stands; `None` when there is nothing
/// to read.
pub(in crate::chat) fn read(counts: &Counts<'_>) -> Option<Usage> {
    let wire = counts.usage.and_then(ChatUsage::read);
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
    let prompt_details = wire.prompt_details.unwrap_or_default();
    let details = wire.completion_details.unwrap_or_default();
    let read = first(&[prompt_details.cached, wire.cache_hit, wire.cache_read]);
    let written = first(&[
        prompt_details.written,
        prompt_details.cached_creation,
        prompt_details.cache_creation,
        wire.cache_creation,
    ]);
    let written_1h = wire.split.and_then(|split| split.one_hour).unwrap_or(0);
    let prompt = wire.prompt.unwrap_or_else(|| {
        let (hit, missed) = (wire.cache_hit.unwrap_or(0), wire.cache_miss.unwrap_or(0));
        hit.saturating_add(missed)
    });
    let reasoning = details.reasoning.or(wire.reasoning);
    let output = output(wire.completion, wire.total, prompt, reasoning.unwrap_or(0));
    let (fresh, read, written) = prompt_classes(prompt, (read, written), output, wire.total);
    let searches = |tools: Option<ServerTools>| tools?.web_searches;
    Usage {
        fresh_input: fresh,
        cache_read: read,
        cache_write_5m: written.saturating_sub(written_1h),
        cache_write_1h: written_1h.min(written),
        output,
        reasoning,
        audio_input: prompt_details.audio,
        audio_output: details.audio,
        accepted_prediction: details.accepted,
        rejected_prediction: details.rejected,
        web_searches: searches(wire.server_tools)
            .or_else(|| searches(wire.server_tool_use))
            .filter(|searches| *searches > 0),
        provider_cost_usd,
        byok_fee: byok_fee(wire.is_byok, wire.cost),
    }
}

fn of_timings(json: &str) -> Option<Usage> {
    let timings = Timings::read(json)?;
    Some(Usage {
        fresh_input: timings.prompt?,
        cache_read: timings.cached.unwrap_or(0),
        output: timings.predicted?,
        ..Usage::default()
    })
}

/// The first of several spellings that says more than nothing.
fn first(spellings: &[Option<u64>]) -> u64 {
    let mut told = spellings.iter().flatten().copied();
    told.find(|count| *count > 0).unwrap_or(0)
}

/// Completion tokens with reasoning. Some services leave reasoning out of the completion and
/// count it in the total alone.
fn output(completion: Option<u64>, total: Option<u64>, prompt: u64, reasoning: u64) -> u64 {
    let Some(completion) = completion else {
        return total.unwrap_or(0).saturating_sub(prompt);
    };
    let with_reasoning = completion.saturating_add(reasoning);
    if reasoning > 0 && total == Some(prompt.saturating_add(with_reasoning)) {
        with_reasoning
    } else {
        completion
    }
}

/// Paid in DIEM or in USD; one DIEM is one USD of credit.
fn venice_cost(json: &str) -> Option<String> {
    let cost = VeniceCost::read(json)?;
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
