//! Findings of probes.

use std::borrow::Cow;

use bardo_types::money::MicroUsd;
use serde::Serialize;

/// Severity of what a probe found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing changed that matters.
    #[default]
    None,
    /// Worth a note.
    Low,
    /// Worth a look.
    Moderate,
    /// Worth an answer.
    High,
    /// The highest severity: requires an answer at once.
    Critical,
}

/// The direction of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lean {
    /// In favor of more exposure.
    Up,
    /// In favor of less exposure.
    Down,
}

/// The finding of one probe on one tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReading {
    /// Its name, e.g. `price`.
    pub name: Cow<'static, str>,
    /// Severity of the finding.
    pub severity: Severity,
    /// Nothing like it was seen before.
    pub is_novel: bool,
    /// Amount that can be lost.
    pub stakes: MicroUsd,
    /// Direction of the signal, if it has one.
    pub lean: Option<Lean>,
}

impl ProbeReading {
    /// A probe that found something known, of no great value.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, severity: Severity) -> Self {
        Self {
            name: name.into(),
            severity,
            is_novel: false,
            stakes: MicroUsd::ZERO,
            lean: None,
        }
    }

    /// A probe that found nothing.
    #[must_use]
    pub fn quiet(name: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, Severity::None)
    }

    /// Marks the finding as new.
    #[must_use]
    pub fn novel(mut self) -> Self {
        self.is_novel = true;
        self
    }

    /// Sets the amount that can be lost.
    #[must_use]
    pub fn at_stake(mut self, stakes: MicroUsd) -> Self {
        self.stakes = stakes;
        self
    }

    /// Sets the direction: more or less exposure.
    #[must_use]
    pub fn leaning(mut self, lean: Lean) -> Self {
        self.lean = Some(lean);
        self
    }
}
