//! The memory of T0 from tick to tick.

use serde::Serialize;

use super::Severity;

/// Where the machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mood {
    /// No event is open.
    #[default]
    Calm,
    /// Something small happened.
    Watching,
    /// Something grave happens.
    Alarmed,
    /// The last event ended a short time ago.
    Recovering,
}

/// The state machine of T0: calm → watching → alarmed → recovering → calm.
#[derive(Debug, Clone)]
pub struct Machine {
    mood: Mood,
    quiet: u32,
    /// Quiet ticks until it is calm.
    quiet_ticks: u32,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new(3)
    }
}

impl Machine {
    /// A calm machine that needs `quiet_ticks` quiet ticks to become calm again; at least one.
    #[must_use]
    pub fn new(quiet_ticks: u32) -> Self {
        Self {
            mood: Mood::Calm,
            quiet: 0,
            quiet_ticks: quiet_ticks.max(1),
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn mood(&self) -> Mood {
        self.mood
    }

    /// Takes the worst severity of a tick and gives where the machine stands then.
    pub fn step(&mut self, severity: Severity) -> Mood {
        self.quiet = match severity {
            Severity::None => self.quiet.saturating_add(1),
            _ => 0,
        };
        let healed = self.quiet >= self.quiet_ticks;
        self.mood = match (self.mood, severity) {
            (_, Severity::High | Severity::Critical) => Mood::Alarmed,
            (Mood::Calm, Severity::None) => Mood::Calm,
            (Mood::Calm | Mood::Watching, Severity::Low | Severity::Moderate) => Mood::Watching,
            (Mood::Watching | Mood::Recovering, Severity::None) if healed => Mood::Calm,
            (Mood::Watching, Severity::None) => Mood::Watching,
            (Mood::Alarmed, Severity::Moderate) => Mood::Alarmed,
            (Mood::Alarmed | Mood::Recovering, _) => Mood::Recovering,
        };
        self.mood
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mood::{Alarmed, Calm, Recovering, Watching};
    use Severity::{Critical, High, Low, Moderate, None};

    #[track_caller]
    fn check(story: &[(Severity, Mood)]) {
        let mut machine = Machine::new(2);
        for (at, (severity, mood)) in story.iter().enumerate() {
            assert_eq!(machine.step(*severity), *mood, "step {at}");
        }
    }

    #[test]
    fn small_things_are_watched_until_two_quiet_ticks() {
        check(&[
            (None, Calm),
            (Low, Watching),
            (None, Watching),
            (None, Calm),
        ]);
        check(&[
            (Moderate, Watching),
            (None, Watching),
            (Low, Watching),
            (None, Watching),
            (None, Calm),
        ]);
    }

    #[test]
    fn an_alarm_ends_in_recovery_and_never_in_calm() {
        check(&[
            (High, Alarmed),
            (Moderate, Alarmed),
            (None, Recovering),
            (None, Calm),
        ]);
        check(&[
            (Critical, Alarmed),
            (Low, Recovering),
            (Moderate, Recovering),
            (None, Recovering),
            (None, Calm),
        ]);
    }

    #[test]
    fn a_relapse_is_an_alarm_again() {
        check(&[(High, Alarmed), (None, Recovering), (High, Alarmed)]);
    }
}
