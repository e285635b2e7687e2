//! Usage: the prompt includes cache reads and writes, the output includes reasoning.

use bardo_types::usage::{Usage, prompt_classes};
use serde_json::value::RawValue;

use crate::json::{Count, Lenient, Object, TypeOnly, byok_fee, decimal, wire_object};
use crate::kit::openai::{InputDetails, OutputDetails};

wire_object! {
    /// `usage` of a response object.
    pub(super) struct ResponsesUsage<'a> {
        "input_tokens" => input_tokens: Count,
        "input_tokens_details" => input_details: Lenient<InputDetails<'a>>,
        "output_tokens" => output_tokens: Count,
        "output_tokens_details" => output_details: Lenient<OutputDetails<'a>>,
        "total_tokens" => total_tokens: Count,
        "cost" => cost: Option<&'a RawValue>,
        "is_byok" => is_byok: Option<&'a RawValue>,
    }
}

impl ResponsesUsage<'_> {
    /// The counts in disjoint classes.
    pub(super) fn neutral(&self) -> Usage {
        let input = self.input_details.0.as_ref();
        let output = self.output_details.0.as_ref();
        let read = input.map_or(0, |details| details.cached.get());
        let written = input.map_or(0, |details| {
            details
                .written
                .0
                .unwrap_or_else(|| details.cache_creation.get())
        });
        let (fresh, read, written) = prompt_classes(
            self.input_tokens.get(),
            (read, written),
            self.output_tokens.get(),
            self.total_tokens.0,
        );
        Usage {
            fresh_input: fresh,
            cache_read: read,
            cache_write_5m: written,
            output: self.output_tokens.get(),
            reasoning: output.and_then(|details| details.reasoning.0),
            audio_input: input.and_then(|details| details.audio.0),
            audio_output: output.and_then(|details| details.audio.0),
            provider_cost_usd: self.cost.and_then(decimal),
            byok_fee: byok_fee(self.is_byok, self.cost),
            ..Usage::default()
        }
    }
}

wire_object! {
    /// `tool_usage` of a response object.
    pub(super) struct ToolUsage<'a> {
        "web_search" => web_search: Lenient<WebSearch<'a>>,
    }

    /// The member `tool_usage.web_search`.
    pub(super) struct WebSearch<'a> {
        "num_requests" => requests: Count,
    }
}

/// Searches that the provider ran: as it says itself, else as its items show.
pub(super) fn searches(told: Option<&ToolUsage<'_>>, items: &[&RawValue]) -> Option<u64> {
    let told = told.and_then(|told| told.web_search.0.as_ref()?.requests.0);
    let is_search = |raw: &&&RawValue| {
        serde_json::from_str::<TypeOnly<'_>>(raw.get())
            .is_ok_and(|item| item.kind.as_deref() == Some("web_search_call"))
    };
    let shown = || items.iter().filter(is_search).count() as u64;
    Some(told.unwrap_or_else(shown)).filter(|&count| count > 0)
}

/// Writes `usage` with every member that SDKs demand.
pub(super) fn write(usage: &Usage, out: &mut Vec<u8>) {
    let mut object = Object::new(out);
    object.set("input_tokens", usage.prompt());
    let mut input = object.object("input_tokens_details");
    input.set("cached_tokens", usage.cache_read);
    input.set("cache_write_tokens", usage.cache_write());
    input.end();
    object.set("output_tokens", usage.output);
    let mut output = object.object("output_tokens_details");
    output.set("reasoning_tokens", usage.reasoning.unwrap_or(0));
    output.end();
    object.set("total_tokens", usage.total());
    object.end();
}
