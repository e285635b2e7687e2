use bardo_types::usage::Usage;

use crate::json::{Object, Str, decimal, lenient_object};

lenient_object! {
    /// `usage`, in answers and in streams.
    pub(super) struct UsageWire<'a> {
        "input_tokens" => input: u64,
        "cache_creation_input_tokens" => cache_write: u64,
        "cache_read_input_tokens" => cache_read: u64,
        "cache_creation" => split: SplitWire,
        "output_tokens" => output: u64,
        "output_tokens_details" => details: DetailsWire,
        "server_tool_use" => server_tools: ServerToolsWire,
        "service_tier" => service_tier: Str<'a>,
        "iterations" => iterations: Vec<IterationWire<'a>>,
        "cost" => cost: &'a str,
    }

    pub(super) struct SplitWire {
        "ephemeral_5m_input_tokens" => five_minutes: u64,
        "ephemeral_1h_input_tokens" => one_hour: u64,
    }

    pub(super) struct DetailsWire {
        "thinking_tokens" => thinking: u64,
    }

    pub(super) struct ServerToolsWire {
        "web_search_requests" => web_searches: u64,
    }

    /// One of several model runs behind an answer (beta `usage.iterations`).
    pub(super) struct IterationWire<'a> {
        "type" => kind: Str<'a>,
        "input_tokens" => input: u64,
        "cache_creation_input_tokens" => cache_write: u64,
        "cache_read_input_tokens" => cache_read: u64,
        "cache_creation" => split: SplitWire,
        "output_tokens" => output: u64,
    }
}

/// The last value of each count that the events of one answer told. They are snapshots, and later
/// ones repeat only some of the members.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    prompt: Prompt,
    output: Option<u64>,
    thinking: Option<u64>,
    web_searches: Option<u64>,
    cost: Option<String>,
    /// What server-side compactions used, which the other counts leave out and which is billed.
    compaction: Option<Usage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Prompt {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    split: Option<(u64, u64)>,
}

impl Prompt {
    fn is_nothing(&self) -> bool {
        let (short, long) = self.split.unwrap_or_default();
        [self.input, self.cache_read, self.cache_write]
            .iter()
            .all(|count| count.unwrap_or(0) == 0)
            && short == 0
            && long == 0
    }

    /// Cache writes for 5 minutes and for an hour; what the split leaves out counts as the
    /// shorter.
    fn writes(&self) -> (u64, u64) {
        let (short, long) = self.split.unwrap_or_default();
        let told = short.saturating_add(long);
        let rest = self.cache_write.unwrap_or(0).saturating_sub(told);
        (short.saturating_add(rest), long)
    }
}

impl Tally {
    /// Takes the counts at the start of a stream. Those of the prompt hold; the one of the output
    /// is a placeholder, so that it does not pass for a count when the stream breaks.
    pub(super) fn begin(&mut self, wire: &UsageWire<'_>) {
        let known = self.output;
        self.take(wire);
        self.output = known;
    }

    /// Takes later counts, or those of a whole answer.
    pub(super) fn take(&mut self, wire: &UsageWire<'_>) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        let told = Prompt {
            input: wire.input,
            cache_read: wire.cache_read,
            cache_write: wire.cache_write,
            split: wire.split.as_ref().map(SplitWire::counts),
        };
        // Servers that do not count the prompt again at the end write zeros there.
        if !told.is_nothing() {
            self.prompt = Prompt {
                input: told.input.or(self.prompt.input),
                cache_read: told.cache_read.or(self.prompt.cache_read),
                cache_write: told.cache_write.or(self.prompt.cache_write),
                split: told.split.or(self.prompt.split),
            };
        }
        newer(&mut self.output, wire.output);
        if let Some(details) = &wire.details {
            newer(&mut self.thinking, details.thinking);
        }
        if let Some(tools) = &wire.server_tools {
            newer(&mut self.web_searches, tools.web_searches);
        }
        if let Some(runs) = &wire.iterations {
            self.compaction = compaction(runs).or(self.compaction.take());
        }
        self.cost = wire.cost.and_then(decimal).or(self.cost.take());
    }

    /// The counts in disjoint classes.
    pub(super) fn usage(&self) -> Usage {
        let (cache_write_5m, cache_write_1h) = self.prompt.writes();
        let more = self.compaction.clone().unwrap_or_default();
        Usage {
            fresh_input: more
                .fresh_input
                .saturating_add(self.prompt.input.unwrap_or(0)),
            cache_read: more
                .cache_read
                .saturating_add(self.prompt.cache_read.unwrap_or(0)),
            cache_write_5m: more.cache_write_5m.saturating_add(cache_write_5m),
            cache_write_1h: more.cache_write_1h.saturating_add(cache_write_1h),
            output: more.output.saturating_add(self.output.unwrap_or(0)),
            reasoning: self.thinking,
            web_searches: self.web_searches.filter(|searches| *searches > 0),
            provider_cost_usd: self.cost.clone(),
            ..Usage::default()
        }
    }
}

impl UsageWire<'_> {
    /// The counts of a whole answer.
    pub(super) fn counts(&self) -> Usage {
        let mut tally = Tally::default();
        tally.take(self);
        tally.usage()
    }
}

impl SplitWire {
    /// Writes for 5 minutes and for an hour.
    fn counts(&self) -> (u64, u64) {
        (self.five_minutes.unwrap_or(0), self.one_hour.unwrap_or(0))
    }
}

/// The sum over the runs that compacted; `None` where none did.
fn compaction(runs: &[IterationWire<'_>]) -> Option<Usage> {
    let mut sum: Option<Usage> = None;
    let compactions = runs
        .iter()
        .filter(|run| run.kind.as_deref() == Some("compaction"));
    for run in compactions {
        let (short, long) = Prompt {
            cache_write: run.cache_write,
            split: run.split.as_ref().map(SplitWire::counts),
            ..Prompt::default()
        }
        .writes();
        let sum = sum.get_or_insert_default();
        let add = |to: &mut u64, more: Option<u64>| *to = to.saturating_add(more.unwrap_or(0));
        add(&mut sum.fresh_input, run.input);
        add(&mut sum.cache_read, run.cache_read);
        add(&mut sum.cache_write_5m, Some(short));
        add(&mut sum.cache_write_1h, Some(long));
        add(&mut sum.output, run.output);
    }
    sum
}

/// Writes the members of `usage` that both whole answers and streams have.
pub(super) fn write_counts(object: &mut Object<'_>, usage: &Usage) {
    object.set("input_tokens", usage.fresh_input);
    object.set("cache_creation_input_tokens", usage.cache_write());
    object.set("cache_read_input_tokens", usage.cache_read);
    object.nest("cache_creation", |split| {
        split.set("ephemeral_5m_input_tokens", usage.cache_write_5m);
        split.set("ephemeral_1h_input_tokens", usage.cache_write_1h);
    });
    object.set("output_tokens", usage.output);
    if let Some(thinking) = usage.reasoning {
        object.nest("output_tokens_details", |details| {
            details.set("thinking_tokens", thinking);
        });
    }
    match usage.web_searches {
        Some(searches) => object.nest("server_tool_use", |tools| {
            tools.set("web_search_requests", searches);
            tools.raw("web_fetch_requests", "0");
        }),
        None => object.set("server_tool_use", ()),
    };
}

/// Anthropic's name for the tier that served an answer.
pub(super) fn tier_name(tier: Option<&str>) -> &'static str {
    match tier {
        Some("priority") => "priority",
        Some("batch") => "batch",
        _ => "standard",
    }
}
