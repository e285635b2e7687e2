//! Usage: the prompt includes cache reads and writes, the output includes reasoning.

use bardo_types::usage::{Usage, prompt_classes};
use serde_json::value::RawValue;

use crate::json::{Object, TypeOnly, byok_fee, decimal, lenient_object};
use crate::kit::openai::{InputDetails, OutputDetails};

lenient_object! {
    /// `usage` of a response object.
    pub(super) struct ResponsesUsage<'a> {
        "input_tokens" => input_tokens: u64,
        "input_tokens_details" => input_details: InputDetails,
        "output_tokens" => output_tokens: u64,
        "output_tokens_details" => output_details: OutputDetails,
        "total_tokens" => total_tokens: u64,
        "cost" => cost: &'a str,
        "is_byok" => is_byok: &'a str,
    }
}

impl ResponsesUsage<'_> {
    /// The counts in disjoint classes.
    pub(super) fn neutral(&self) -> Usage {
        let input = self.input_details.as_ref();
        let details = self.output_details.as_ref();
        let read = input.and_then(|input| input.cached).unwrap_or(0);
        let written = input.and_then(|input| input.written.or(input.cache_creation));
        let output = self.output_tokens.unwrap_or(0);
        let (fresh, read, written) = prompt_classes(
            self.input_tokens.unwrap_or(0),
            (read, written.unwrap_or(0)),
            output,
            self.total_tokens,
        );
        Usage {
            fresh_input: fresh,
            cache_read: read,
            cache_write_5m: written,
            output,
            reasoning: details.and_then(|details| details.reasoning),
            audio_input: input.and_then(|input| input.audio),
            audio_output: details.and_then(|details| details.audio),
            provider_cost_usd: self.cost.and_then(decimal),
            byok_fee: byok_fee(self.is_byok, self.cost),
            ..Usage::default()
        }
    }
}

lenient_object! {
    /// `tool_usage` of a response object.
    pub(super) struct ToolUsage {
        "web_search" => web_search: WebSearch,
    }

    /// The member `tool_usage.web_search`.
    pub(super) struct WebSearch {
        "num_requests" => requests: u64,
    }
}

/// Searches that the provider ran: as it says itself, else as its items show.
pub(super) fn searches(told: Option<&ToolUsage>, items: &[&RawValue]) -> Option<u64> {
    let told = told.and_then(|told| told.web_search.as_ref()?.requests);
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
