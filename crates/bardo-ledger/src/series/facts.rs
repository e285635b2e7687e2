//! The facts of one receipt that series and searches use: its columns, and a few members of its text.

use std::borrow::Cow;

use bardo_types::money::MicroUsd;

use super::details::ReceiptDetails;
use super::figures::{Figure, SeriesFigures};
use super::text::TextFacts;
use crate::command::ReceiptRecord;
use crate::prompt_cache::PromptCacheFigures;

/// Longest name that series keep, in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 200;

/// A receipt as a store has it, borrowed: a step of rolling up copies names once for many receipts.
#[derive(Debug, Clone, Copy)]
pub struct ReceiptColumns<'a> {
    /// Account of the request.
    pub account: &'a str,
    /// Key of the request.
    pub key: Option<&'a str>,
    /// When the request was received, in Unix milliseconds.
    pub at_ms: u64,
    /// Model that was chosen; empty where none was.
    pub model: &'a str,
    /// Backend that answered; empty where none did.
    pub backend: &'a str,
    /// Outcome: `finished`, `aborted`, `failed` or `unknown`.
    pub outcome: &'static str,
    /// Prompt tokens of all classes.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Amount that the backend bills; `None` where nobody knows it.
    pub provider_cost: Option<MicroUsd>,
    /// The amount that the account was charged.
    pub charge: MicroUsd,
    /// The difference to the list price, where that is higher.
    pub savings: MicroUsd,
    /// Subsystem that the caller named.
    pub subsystem: Option<&'a str>,
    /// Session that the caller named.
    pub session: Option<&'a str>,
    /// Part of the provider's prompt cache in the request.
    pub prompt_cache: PromptCacheFigures,
    /// The whole receipt, as it was kept.
    pub text: &'a str,
    /// Members of the receipt, where they came with it.
    pub details: Option<&'a ReceiptDetails>,
}

impl<'a> ReceiptColumns<'a> {
    /// The columns of a record.
    #[must_use]
    pub fn of(record: &'a ReceiptRecord) -> Self {
        Self {
            account: record.account.as_str(),
            key: record.key.as_ref().map(bardo_types::ids::KeyId::as_str),
            at_ms: record.at_ms,
            model: &record.model,
            backend: &record.provider,
            outcome: record.outcome,
            input_tokens: record.input_tokens,
            output_tokens: record.output_tokens,
            provider_cost: record.provider_cost,
            charge: record.charge,
            savings: record.savings,
            subsystem: record.subsystem.as_deref(),
            session: record.session.as_deref(),
            prompt_cache: record.prompt_cache,
            text: record.json.as_kept(),
            details: record.details.as_deref(),
        }
    }

    /// The JSON of the receipt, where facts are to be read from it; empty where all came with it.
    pub(super) fn unread_json(&self) -> Cow<'a, str> {
        // Tests compare what came with the receipt with its text.
        match self.details {
            Some(_) if !cfg!(debug_assertions) => Cow::Borrowed(""),
            _ => bardo_types::receipt::text::json(self.text),
        }
    }

    /// Figures of this receipt alone.
    pub(super) fn figures(&self, text: &TextFacts<'_>) -> SeriesFigures {
        let mut figures = SeriesFigures::default();
        let outcome = match self.outcome {
            "finished" => Figure::Finished,
            "failed" => Figure::Failed,
            "aborted" => Figure::Aborted,
            _ => Figure::Unknown,
        };
        let cached = &self.prompt_cache;
        let fresh = self.input_tokens.saturating_sub(cached.read_tokens);
        let own = self.provider_cost.unwrap_or_default();
        let is_prepaid = text.is_prepaid.unwrap_or(self.charge > MicroUsd::ZERO);
        let paid = if is_prepaid { self.charge } else { own };
        for (figure, count) in [
            (Figure::Requests, 1),
            (outcome, 1),
            (Figure::Unpriced, u64::from(self.provider_cost.is_none())),
            (Figure::Attempts, text.attempts),
            (Figure::FailedAttempts, text.failed_attempts),
            (
                Figure::InputTokens,
                fresh.saturating_sub(cached.written_tokens),
            ),
            (Figure::CachedTokens, cached.read_tokens),
            (Figure::CacheWriteTokens, cached.written_tokens),
            (Figure::OutputTokens, self.output_tokens),
            (Figure::ReasoningTokens, text.reasoning_tokens),
            (Figure::ProviderCost, own.get()),
            (Figure::Cost, paid.get()),
            (Figure::Charge, self.charge.get()),
            (Figure::Spread, text.spread.get()),
            (Figure::Shortfall, text.shortfall.get()),
            (Figure::Savings, self.savings.get()),
            (Figure::DurationMs, text.total_ms.unwrap_or(0)),
        ] {
            figures.set(figure, count);
        }
        figures.set_signed(Figure::PrefixSavings, cached.saved.get());
        match name(text.layer.as_deref()) {
            Some("hash") => {
                figures.set(Figure::HashHits, 1);
                figures.set(Figure::HashSavings, self.savings.get());
            }
            Some("semantic") => {
                figures.set(Figure::SemanticHits, 1);
                figures.set(Figure::SemanticSavings, self.savings.get());
            }
            Some("miss") => figures.set(Figure::CacheMisses, 1),
            _ => {}
        }
        if let Some(ms) = text.total_ms {
            figures.note_latency(ms);
        }
        if let Some(ms) = text.first_content_ms {
            figures.note_first_content(ms);
        }
        figures
    }

    /// Class of the failure, of requests that failed or whose outcome is unknown.
    pub(super) fn error<'b>(&self, text: &'b TextFacts<'_>) -> Option<&'b str> {
        match (self.outcome, &text.class) {
            ("failed", Some(class)) => name(Some(class)),
            ("failed", None) => Some("unanswered"),
            ("unknown", _) => Some("unknown_outcome"),
            _ => None,
        }
    }
}

/// What one receipt adds to series.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let columns = ReceiptColumns::of(record);
        let json = columns.unread_json();
        let text = TextFacts::of(&columns, &json);
        let kept = |text: Option<&str>| name(text).map(str::to_owned);
        Self {
            at_ms: columns.at_ms,
            account: columns.account.to_owned(),
            key: columns.key.map(str::to_owned),
            model: kept(Some(columns.model)),
            backend: kept(Some(columns.backend)),
            subsystem: kept(columns.subsystem),
            session: kept(columns.session),
            golem: kept(text.golem.as_deref()),
            outcome: columns.outcome,
            layer: kept(text.layer.as_deref()),
            error: columns.error(&text).map(str::to_owned),
            phase: kept(text.phase.as_deref()),
            vitality: text.vitality.as_deref().map(str::to_owned),
            sustainability: text.sustainability.as_deref().map(str::to_owned),
            figures: columns.figures(&text),
        }
    }

    /// Cost to the payer in 10⁻⁶ USD.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.figures.count(Figure::Cost)
    }
}

/// A name as series keep it; none where it is empty.
pub(super) fn name(name: Option<&str>) -> Option<&str> {
    let name = name.filter(|name| !name.is_empty())?;
    Some(&name[..name.floor_char_boundary(NAME_BYTES_MAX)])
}
