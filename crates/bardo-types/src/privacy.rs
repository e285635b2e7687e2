//! How well a request has to be kept secret, and which tasks ask for how much.

use serde::{Deserialize, Serialize};

/// The protection of a request from the operator of the model: the most that it can learn and keep.
/// Classes are in rising order of protection.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SecurityClass {
    /// The provider's usual terms.
    #[default]
    #[serde(alias = "public", alias = "default", alias = "none")]
    Standard,
    /// Nothing is kept.
    #[serde(alias = "privacy", alias = "no_log", alias = "confidential")]
    Private,
    /// The model runs in attested hardware.
    #[serde(alias = "attested")]
    Tee,
    /// Only the enclave can read it: no tools, no files, no search.
    #[serde(alias = "e2e", alias = "sealed")]
    E2ee,
}

impl SecurityClass {
    /// All classes, the weakest first.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Private, Self::Tee, Self::E2ee];

    /// The name in configuration, explanations and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Private => "private",
            Self::Tee => "tee",
            Self::E2ee => "e2ee",
        }
    }

    /// Reads a name in any of its spellings, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().replace('-', "_").as_str() {
            "standard" | "public" | "default" | "none" => Some(Self::Standard),
            "private" | "privacy" | "no_log" | "confidential" => Some(Self::Private),
            "tee" | "attested" => Some(Self::Tee),
            "e2ee" | "e2e" | "sealed" => Some(Self::E2ee),
            _ => None,
        }
    }
}

/// The evidence for the claim that a model runs in attested hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TeeEvidence {
    /// The provider's list of models says so.
    Listed,
    /// The provider handed over an attestation that was not checked here.
    Attested,
    /// An attestation was checked here.
    Verified,
}

impl TeeEvidence {
    /// The name in explanations, receipts and headers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Listed => "listed",
            Self::Attested => "attested",
            Self::Verified => "verified",
        }
    }
}

/// The subject of a call, where the caller names it; each has a floor of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskClass {
    /// Routine analysis of a tick.
    Heartbeat,
    /// Planning a strategy.
    Plan,
    /// A decision to trade.
    Trade,
    /// Negotiating with another agent.
    Negotiate,
    /// Replaying what happened.
    DreamNrem,
    /// Imagining what could.
    DreamRem,
    /// Deciding which insights stay.
    DreamIntegration,
    /// Answering an attack.
    Incident,
    /// A sealed bid.
    SealedAuction,
    /// Simulating extraction from the order of transactions.
    MevScenario,
    /// A last will.
    Testament,
    /// A confidential evaluation.
    Judge,
}

const TASKS: &[(TaskClass, &str, SecurityClass)] = &[
    (TaskClass::Heartbeat, "heartbeat", SecurityClass::Standard),
    (TaskClass::Plan, "plan", SecurityClass::Tee),
    (TaskClass::Trade, "trade", SecurityClass::Tee),
    (TaskClass::Negotiate, "negotiate", SecurityClass::Tee),
    (TaskClass::DreamNrem, "dream_nrem", SecurityClass::Private),
    (TaskClass::DreamRem, "dream_rem", SecurityClass::Private),
    (
        TaskClass::DreamIntegration,
        "dream_integration",
        SecurityClass::Tee,
    ),
    (TaskClass::Incident, "incident", SecurityClass::Private),
    (
        TaskClass::SealedAuction,
        "sealed_auction",
        SecurityClass::E2ee,
    ),
    (TaskClass::MevScenario, "mev_scenario", SecurityClass::E2ee),
    (TaskClass::Testament, "testament", SecurityClass::Private),
    (TaskClass::Judge, "judge", SecurityClass::Private),
];

impl TaskClass {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        TASKS.iter().map(|(task, ..)| *task)
    }

    /// The name in hints and explanations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        TASKS
            .iter()
            .find(|(task, ..)| *task == self)
            .map_or("", |(_, name, _)| name)
    }

    /// Reads a name, written with underscores, hyphens or as one word (`DreamNrem`).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect()
        };
        let wanted = plain(name);
        TASKS
            .iter()
            .find(|(_, known, _)| plain(known) == wanted)
            .map(|(task, ..)| *task)
    }

    /// The least protection that it needs.
    #[must_use]
    pub fn floor(self) -> SecurityClass {
        TASKS
            .iter()
            .find(|(task, ..)| *task == self)
            .map_or(SecurityClass::E2ee, |(.., floor)| *floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_known_by_their_names_and_keep_their_floors() {
        assert_eq!(TaskClass::all().count(), 12);
        for task in TaskClass::all() {
            assert_eq!(TaskClass::parse(task.as_str()), Some(task));
        }
        assert_eq!(
            TaskClass::parse("DreamIntegration"),
            Some(TaskClass::DreamIntegration)
        );
        assert_eq!(TaskClass::Trade.floor(), SecurityClass::Tee);
        assert_eq!(TaskClass::MevScenario.floor(), SecurityClass::E2ee);
        assert_eq!(TaskClass::parse("lunch"), None);
    }

    #[test]
    fn classes_rise_and_are_read_in_every_spelling() {
        assert!(SecurityClass::Standard < SecurityClass::Private);
        assert!(SecurityClass::Tee < SecurityClass::E2ee);
        assert_eq!(SecurityClass::parse("Sealed"), Some(SecurityClass::E2ee));
        assert_eq!(SecurityClass::parse("no-log"), Some(SecurityClass::Private));
        assert_eq!(SecurityClass::parse("x"), None);
    }
}
