//! Usage: the prompt includes cache reads and writes, the output includes reasoning.

use bardo_types::usage::Usage;
use serde_json::value::RawValue;

use super::writer::ObjectWriter;
use crate::json::{Str, wire_object};

wire_object! {
    /// `usage` of a response object.
    pub(super) struct WireUsage<'a> {
        "input_tokens" => input_tokens: Option<u64>,
        "input_tokens_details" => input_details: Option<InputDetails<'a>>,
        "output_tokens" => output_tokens: Option<u64>,
        "output_tokens_details" => output_details: Option<OutputDetails<'a>>,
        "cost" => cost: Option<&'a RawValue>,
    }
}

wire_object! {
    /// `input_tokens_details`.
    pub(super) struct InputDetails<'a> {
        "cached_tokens" => cached: Option<u64>,
        "cache_write_tokens" => written: Option<u64>,
        "cache_creation_input_tokens" => created: Option<u64>,
        "audio_tokens" => audio: Option<u64>,
    }
}

wire_object! {
    /// `output_tokens_details`.
    pub(super) struct OutputDetails<'a> {
        "reasoning_tokens" => reasoning: Option<u64>,
        "audio_tokens" => audio: Option<u64>,
    }
}

impl WireUsage<'_> {
    /// The counts in disjoint classes.
    pub(super) fn neutral(&self) -> Usage {
        let input = self.input_details.as_ref();
        let output = self.output_details.as_ref();
        let read = input.and_then(|details| details.cached).unwrap_or(0);
        let written = input
            .and_then(|details| details.written.or(details.created))
            .unwrap_or(0);
        let prompt = self.input_tokens.unwrap_or(0);
        Usage {
            fresh_input: prompt.saturating_sub(read).saturating_sub(written),
            cache_read: read,
            cache_write_5m: written,
            output: self.output_tokens.unwrap_or(0),
            reasoning: output.and_then(|details| details.reasoning),
            audio_input: input.and_then(|details| details.audio),
            audio_output: output.and_then(|details| details.audio),
            provider_cost_usd: self.cost.and_then(decimal),
            ..Usage::default()
        }
    }
}

wire_object! {
    /// `tool_usage` of a response object.
    pub(super) struct ToolUsage<'a> {
        "web_search" => web_search: Option<WebSearch<'a>>,
    }
}

wire_object! {
    /// `tool_usage.web_search`.
    pub(super) struct WebSearch<'a> {
        "num_requests" => requests: Option<u64>,
    }
}

/// Searches that the provider ran: as it says itself, else as its items show.
pub(super) fn searches(told: Option<&ToolUsage<'_>>, items: &[&RawValue]) -> Option<u64> {
    wire_object! {
        struct Kind<'a> {
            "type" => kind: Option<Str<'a>>,
        }
    }
    let told = told.and_then(|told| told.web_search.as_ref()?.requests);
    let is_search = |raw: &&&RawValue| {
        serde_json::from_str::<Kind<'_>>(raw.get())
            .is_ok_and(|item| item.kind.as_deref() == Some("web_search_call"))
    };
    let shown = || items.iter().filter(is_search).count() as u64;
    Some(told.unwrap_or_else(shown)).filter(|&count| count > 0)
}

/// A price as its own decimal text, whether it came as a number or as a string.
fn decimal(raw: &RawValue) -> Option<String> {
    let text = raw.get().trim_matches('"');
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    is_number.then(|| text.to_owned())
}

/// Writes `usage` with every member that SDKs demand.
pub(super) fn write(usage: &Usage, out: &mut Vec<u8>) {
    let mut object = ObjectWriter::new(out);
    object.number("input_tokens", usage.prompt());
    let mut input = ObjectWriter::new(object.value("input_tokens_details"));
    input.number("cached_tokens", usage.cache_read);
    input.number("cache_write_tokens", usage.cache_write());
    input.end();
    object.number("output_tokens", usage.output);
    let mut output = ObjectWriter::new(object.value("output_tokens_details"));
    output.number("reasoning_tokens", usage.reasoning.unwrap_or(0));
    output.end();
    object.number("total_tokens", usage.total());
    object.end();
}
