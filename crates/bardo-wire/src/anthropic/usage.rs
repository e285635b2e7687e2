use bardo_types::usage::Usage;
use serde_json::value::RawValue;

use super::write::Object;
use crate::json::{Str, wire_object};

wire_object! {
    /// `usage`, in answers and in streams.
    pub(super) struct UsageWire<'a> {
        "input_tokens" => input: Option<u64>,
        "cache_creation_input_tokens" => cache_write: Option<u64>,
        "cache_read_input_tokens" => cache_read: Option<u64>,
        "cache_creation" => split: Option<SplitWire<'a>>,
        "output_tokens" => output: Option<u64>,
        "output_tokens_details" => details: Option<DetailsWire<'a>>,
        "server_tool_use" => server_tools: Option<ServerToolsWire<'a>>,
        "service_tier" => service_tier: Option<Str<'a>>,
        "iterations" => iterations: Option<Vec<IterationWire<'a>>>,
        "cost" => cost: Option<&'a RawValue>,
    }
}

wire_object! {
    pub(super) struct SplitWire<'a> {
        "ephemeral_5m_input_tokens" => five_minutes: Option<u64>,
        "ephemeral_1h_input_tokens" => one_hour: Option<u64>,
    }
}

wire_object! {
    pub(super) struct DetailsWire<'a> {
        "thinking_tokens" => thinking: Option<u64>,
    }
}

wire_object! {
    pub(super) struct ServerToolsWire<'a> {
        "web_search_requests" => web_searches: Option<u64>,
    }
}

wire_object! {
    /// One of several model runs behind an answer (beta `usage.iterations`).
    pub(super) struct IterationWire<'a> {
        "type" => kind: Option<Str<'a>>,
        "input_tokens" => input: Option<u64>,
        "cache_creation_input_tokens" => cache_write: Option<u64>,
        "cache_read_input_tokens" => cache_read: Option<u64>,
        "cache_creation" => split: Option<SplitWire<'a>>,
        "output_tokens" => output: Option<u64>,
    }
}

impl UsageWire<'_> {
    /// The counts in disjoint classes. Tokens of a server-side compaction are not in the top-level
    /// counts but are billed, so they are added here.
    pub(super) fn counts(&self) -> Usage {
        let (cache_write_5m, cache_write_1h) = writes(self.cache_write, self.split.as_ref());
        let mut usage = Usage {
            fresh_input: self.input.unwrap_or(0),
            cache_read: self.cache_read.unwrap_or(0),
            cache_write_5m,
            cache_write_1h,
            output: self.output.unwrap_or(0),
            reasoning: self.details.as_ref().and_then(|details| details.thinking),
            web_searches: self
                .server_tools
                .as_ref()
                .and_then(|tools| tools.web_searches)
                .filter(|searches| *searches > 0),
            provider_cost_usd: self.cost.map(RawValue::get).and_then(decimal),
            ..Usage::default()
        };
        for run in self.iterations.iter().flatten() {
            if run.kind.as_deref() == Some("compaction") {
                let (short, long) = writes(run.cache_write, run.split.as_ref());
                let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
                add(&mut usage.fresh_input, run.input.unwrap_or(0));
                add(&mut usage.cache_read, run.cache_read.unwrap_or(0));
                add(&mut usage.cache_write_5m, short);
                add(&mut usage.cache_write_1h, long);
                add(&mut usage.output, run.output.unwrap_or(0));
            }
        }
        usage
    }
}

/// Cache writes for 5 minutes and for an hour; what the split leaves out counts as the shorter.
fn writes(total: Option<u64>, split: Option<&SplitWire<'_>>) -> (u64, u64) {
    let short = split.and_then(|split| split.five_minutes).unwrap_or(0);
    let long = split.and_then(|split| split.one_hour).unwrap_or(0);
    let rest = total
        .unwrap_or(0)
        .saturating_sub(short.saturating_add(long));
    (short.saturating_add(rest), long)
}

fn decimal(text: &str) -> Option<String> {
    let text = text.trim_matches('"');
    text.starts_with(|first: char| first.is_ascii_digit())
        .then(|| text.to_owned())
}

/// Writes the members of `usage` that both whole answers and streams have.
pub(super) fn write_counts(object: &mut Object<'_>, usage: &Usage) {
    object.field("input_tokens", &usage.fresh_input);
    object.field("cache_creation_input_tokens", &usage.cache_write());
    object.field("cache_read_input_tokens", &usage.cache_read);
    object.object("cache_creation", |split| {
        split.field("ephemeral_5m_input_tokens", &usage.cache_write_5m);
        split.field("ephemeral_1h_input_tokens", &usage.cache_write_1h);
    });
    object.field("output_tokens", &usage.output);
    if let Some(thinking) = usage.reasoning {
        object.object("output_tokens_details", |details| {
            details.field("thinking_tokens", &thinking);
        });
    }
    match usage.web_searches {
        Some(searches) => object.object("server_tool_use", |tools| {
            tools.field("web_search_requests", &searches);
            tools.field("web_fetch_requests", &0);
        }),
        None => object.raw("server_tool_use", "null"),
    }
}

/// Anthropic's name for the tier that served an answer.
pub(super) fn tier_name(tier: Option<&str>) -> &'static str {
    match tier {
        Some("priority") => "priority",
        Some("batch") => "batch",
        _ => "standard",
    }
}
