//! Workloads: calls with times, made from a seed or read from a file. Every assumption of a made one
//! is a constant with its unit, and a line of `assumptions`, which the reports print.

mod coding;
mod faq;
mod golem;
mod recorded;

use std::path::Path;
use std::sync::Arc;

use bardo_access::KeyTier;
use serde_json::Value;

pub(super) const SECOND_MS: u64 = 1_000;
pub(super) const MINUTE_MS: u64 = 60 * SECOND_MS;
pub(super) const HOUR_MS: u64 = 60 * MINUTE_MS;
pub(super) const DAY_MS: u64 = 24 * HOUR_MS;

/// A small model for short work.
pub(super) const SMALL: &str = "claude-haiku-4-5";
/// A strong model for programming.
pub(super) const STRONG: &str = "claude-sonnet-5-5";
/// The strongest model.
pub(super) const FRONTIER: &str = "claude-opus-5-5";

/// The workload that is played.
#[derive(Debug, Clone)]
pub(crate) enum WorkloadSource {
    /// A month of one agent that watches a market.
    GolemMonth,
    /// A week of one programmer with a coding agent.
    CodingWeek,
    /// A day of a bot that answers questions of customers.
    FaqDay,
    /// Calls from a file, whose text this is.
    Recorded(Arc<str>),
}

/// One turn of a conversation.
#[derive(Debug, Clone)]
pub(super) struct SimulatedTurn {
    pub(super) assistant: bool,
    pub(super) text: Arc<str>,
}

impl SimulatedTurn {
    pub(super) fn user(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self {
            assistant: false,
            text,
        }
    }

    pub(super) fn assistant(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self {
            assistant: true,
            text,
        }
    }
}

/// A tool as the model sees it.
#[derive(Debug, Clone)]
pub(super) struct ToolText {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Value,
}

/// One call of a model.
#[derive(Debug, Clone)]
pub(super) struct SimulatedCall {
    /// Since the beginning, in milliseconds.
    pub(super) at_ms: u64,
    pub(super) model: Arc<str>,
    pub(super) tools: Arc<[ToolText]>,
    pub(super) system: Arc<str>,
    pub(super) turns: Vec<SimulatedTurn>,
    pub(super) temperature: Option<f64>,
    /// Hints for the gateway, the member `bardo`; null where there are none.
    pub(super) hints: Value,
    /// The answer's text, and its output tokens.
    pub(super) answer: Arc<str>,
    pub(super) output_tokens: u64,
    /// Its line in a file.
    pub(super) line: Option<usize>,
}

impl SimulatedCall {
    /// An error of this call, with its place.
    pub(super) fn failed(&self, error: &str) -> String {
        match self.line {
            Some(line) => format!("line {line}: {error}"),
            None => error.to_owned(),
        }
    }
}

/// A baseline that needs no simulation: calls of one model without any cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct NaiveBaseline {
    pub(super) label: &'static str,
    pub(super) model: &'static str,
    pub(super) calls: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// What a workload is, apart from its calls.
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The tier of the key that sends it.
    pub(super) tier: Option<KeyTier>,
    /// The usual addition to the provider's price for such a key, in percent.
    pub(super) spread_percent: f64,
    pub(super) assumptions: &'static [&'static str],
    pub(super) naive: Option<NaiveBaseline>,
    /// Days that it lasts; `None` where a file says.
    pub(super) days: Option<f64>,
}

impl WorkloadSource {
    /// Reads calls from a file.
    ///
    /// # Errors
    /// When it cannot be read, or a line of it cannot.
    pub(crate) fn recorded(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let read = || {
            let text = recorded::text(&bytes)?;
            recorded::calls(text)?;
            Ok(text)
        };
        let read = read().map_err(|error: String| format!("{}: {error}", path.display()))?;
        Ok(Self::Recorded(read.into()))
    }

    /// Whether its calls are the same for every seed.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self, Self::Recorded(_))
    }

    pub(super) fn workload(&self) -> Workload {
        match self {
            Self::GolemMonth => golem::workload(),
            Self::CodingWeek => coding::workload(),
            Self::FaqDay => faq::workload(),
            Self::Recorded(_) => recorded::workload(),
        }
    }

    /// The calls of a seed, in the order of their times. Calls of one time are sent together.
    pub(super) fn calls(&self, seed: u64) -> Vec<SimulatedCall> {
        let mut calls = match self {
            Self::GolemMonth => golem::calls(seed),
            Self::CodingWeek => coding::calls(seed),
            Self::FaqDay => faq::calls(seed),
            // It was read before.
            Self::Recorded(text) => recorded::calls(text).unwrap_or_default(),
        };
        calls.sort_by_key(|call| call.at_ms);
        // A file may count from any moment.
        if let (Self::Recorded(_), Some(first)) = (self, calls.first().map(|call| call.at_ms)) {
            calls.iter_mut().for_each(|call| call.at_ms -= first);
        }
        calls
    }
}
