//! The facts of one receipt that series and searches use: its columns, and a few members of its text.

use bardo_types::money::MicroUsd;

use super::figures::{Figure, SeriesFigures};
use super::members::{TextElements, TextMembers, amount, number, text};
use crate::command::ReceiptRecord;

/// Longest name that series keep, in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 200;

/// What one receipt adds to series.
#[derive(Debug, Clone)]
pub struct ReceiptFacts {
    /// When the request was received, in Unix milliseconds.
    pub at_ms: u64,
    /// Account of the request.
    pub account: String,
    /// Key of the request.
    pub key: Option<String>,
    /// Model that was chosen; `None` where none was.
    pub model: Option<String>,
    /// Backend that answered; `None` where none did.
    pub backend: Option<String>,
    /// Subsystem that the caller named.
    pub subsystem: Option<String>,
    /// Session that the caller named.
    pub session: Option<String>,
    /// Id of the agent.
    pub golem: Option<String>,
    /// Outcome: `finished`, `aborted`, `failed` or `unknown`.
    pub outcome: &'static str,
    /// Part of the answer cache: `hash`, `semantic`, `miss` or `bypass`.
    pub layer: Option<String>,
    /// Class of the failure, of requests that failed or whose outcome is unknown.
    pub error: Option<String>,
    /// Phase that the agent said it was in.
    pub phase: Option<String>,
    /// How alive the agent said that it was, as a decimal.
    pub vitality: Option<String>,
    /// How long the agent said that its money lasts, as a decimal.
    pub sustainability: Option<String>,
    /// Figures of this receipt alone.
    pub figures: SeriesFigures,
}

impl ReceiptFacts {
    /// The facts of a receipt. Members that its text lacks are unknown, and add nothing.
    #[must_use]
    pub fn of(record: &ReceiptRecord) -> Self {
        let mut facts = Self::of_columns(record);
        let mut cost = CostFacts::default();
        for (member, value) in TextMembers::of(&record.json) {
            match member {
                "cache" => facts.layer = name(text(value).as_deref()),
                "usage" => facts.take_usage(value),
                "cost" => cost = CostFacts::of(value),
                "attempts" => facts.take_attempts(value),
                "routing" => facts.take_routing(value),
                "timings_ms" => {
                    facts.take_timings(value);
                    // No later member counts.
                    break;
                }
                _ => {}
            }
        }
        facts.take_cost(record, &cost);
        facts.take_layer(record.savings);
        facts
    }

    /// Cost to the payer in 10⁻⁶ USD.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.figures.count(Figure::Cost)
    }

    fn of_columns(record: &ReceiptRecord) -> Self {
        let mut figures = SeriesFigures::default();
        figures.set(Figure::Requests, 1);
        let outcome = match record.outcome {
            "finished" => Figure::Finished,
            "failed" => Figure::Failed,
            "aborted" => Figure::Aborted,
            _ => Figure::Unknown,
        };
        figures.set(outcome, 1);
        let cached = &record.prompt_cache;
        let fresh = record.input_tokens.saturating_sub(cached.read_tokens);
        for (figure, count) in [
            (Figure::Unpriced, u64::from(record.provider_cost.is_none())),
            (
                Figure::InputTokens,
                fresh.saturating_sub(cached.written_tokens),
            ),
            (Figure::CachedTokens, cached.read_tokens),
            (Figure::CacheWriteTokens, cached.written_tokens),
            (Figure::OutputTokens, record.output_tokens),
            (Figure::Charge, record.charge.get()),
            (
                Figure::ProviderCost,
                record.provider_cost.unwrap_or_default().get(),
            ),
            (Figure::Savings, record.savings.get()),
        ] {
            figures.set(figure, count);
        }
        figures.set_signed(Figure::PrefixSavings, cached.saved.get());
        Self {
            at_ms: record.at_ms,
            account: record.account.to_string(),
            key: record.key.as_ref().map(ToString::to_string),
            model: name(Some(&record.model)),
            backend: name(Some(&record.provider)),
            subsystem: name(record.subsystem.as_deref()),
            session: name(record.session.as_deref()),
            golem: None,
            outcome: record.outcome,
            layer: None,
            error: match record.outcome {
                "failed" => Some("unanswered".to_owned()),
                "unknown" => Some("unknown_outcome".to_owned()),
                _ => None,
            },
            phase: None,
            vitality: None,
            sustainability: None,
            figures,
        }
    }

    fn take_usage(&mut self, usage: &str) {
        for (member, value) in TextMembers::of(usage) {
            if member == "reasoning_tokens" {
                self.figures
                    .set(Figure::ReasoningTokens, number(value).unwrap_or(0));
            }
        }
    }

    fn take_timings(&mut self, timings: &str) {
        for (member, value) in TextMembers::of(timings) {
            match (member, number(value)) {
                ("total", Some(ms)) => {
                    self.figures.set(Figure::DurationMs, ms);
                    self.figures.note_latency(ms);
                }
                ("first_content", Some(ms)) => self.figures.note_first_content(ms),
                _ => {}
            }
        }
    }

    /// Counts attempts. The class of the last failure is that of the request, if it failed.
    fn take_attempts(&mut self, attempts: &str) {
        let (mut count, mut failed) = (0, 0);
        for attempt in TextElements::of(attempts) {
            count += 1;
            for (member, value) in TextMembers::of(attempt) {
                if member == "class"
                    && let Some(class) = text(value)
                {
                    failed += 1;
                    if self.outcome == "failed" {
                        self.error = name(Some(&class));
                    }
                }
            }
        }
        self.figures.set(Figure::Attempts, count);
        self.figures.set(Figure::FailedAttempts, failed);
    }

    fn take_routing(&mut self, routing: &str) {
        for (member, value) in TextMembers::of(routing) {
            let figure = || {
                Some(value)
                    .filter(|value| *value != "null")
                    .map(str::to_owned)
            };
            match member {
                "golem_id" => self.golem = name(text(value).as_deref()),
                "phase" => self.phase = name(text(value).as_deref()),
                "vitality" => self.vitality = figure(),
                "sustainability" => self.sustainability = figure(),
                _ => {}
            }
        }
    }

    fn take_cost(&mut self, record: &ReceiptRecord, cost: &CostFacts) {
        let own = record.provider_cost.unwrap_or_default();
        let is_prepaid = cost.is_prepaid.unwrap_or(record.charge > MicroUsd::ZERO);
        let paid = if is_prepaid { record.charge } else { own };
        self.figures.set(Figure::Cost, paid.get());
        self.figures.set(Figure::Spread, cost.spread.get());
        self.figures.set(Figure::Shortfall, cost.shortfall.get());
    }

    fn take_layer(&mut self, savings: MicroUsd) {
        let (count, saved) = match self.layer.as_deref() {
            Some("hash") => (Figure::HashHits, Some(Figure::HashSavings)),
            Some("semantic") => (Figure::SemanticHits, Some(Figure::SemanticSavings)),
            Some("miss") => (Figure::CacheMisses, None),
            _ => return,
        };
        self.figures.set(count, 1);
        if let Some(saved) = saved {
            self.figures.set(saved, savings.get());
        }
    }
}

/// TextMembers of `cost` that no column has.
#[derive(Default)]
struct CostFacts {
    is_prepaid: Option<bool>,
    spread: MicroUsd,
    shortfall: MicroUsd,
}

impl CostFacts {
    fn of(cost: &str) -> Self {
        let mut facts = Self::default();
        for (member, value) in TextMembers::of(cost) {
            match member {
                "mode" => facts.is_prepaid = text(value).map(|mode| mode == "prepaid"),
                "spread" => facts.spread = amount(value).unwrap_or_default(),
                "shortfall" => facts.shortfall = amount(value).unwrap_or_default(),
                _ => {}
            }
        }
        facts
    }
}

/// A name as series keep it; none where it is empty.
fn name(name: Option<&str>) -> Option<String> {
    let name = name.filter(|name| !name.is_empty())?;
    Some(name[..name.floor_char_boundary(NAME_BYTES_MAX)].to_owned())
}
