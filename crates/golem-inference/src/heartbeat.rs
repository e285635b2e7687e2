//! When a model is asked: probes look at the world on each tick, a small state machine remembers
//! what they said, and only what matters gets past it.
//!
//! System 1 is T0 (rules alone, no model) and T1 (a small, fast model); System 2 is T2 (a strong
//! one). Tiers say *when*; which model and backend answer is the gateway's matter, and nothing in
//! here knows one.

mod machine;
mod market;
mod probe;

use std::fmt;

use bardo_types::money::MicroUsd;
use serde::Serialize;

pub use self::machine::{Machine, Mood};
pub use self::market::{Market, Regime};
pub use self::probe::{Lean, ProbeReading, Severity};

/// Tier of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum TickTier {
    /// Rules alone: no model is asked, whatever happens.
    T0,
    /// A small model, fast.
    T1,
    /// A strong model, slow.
    T2,
}

impl TickTier {
    /// The name in hints and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::T0 => "T0",
            Self::T1 => "T1",
            Self::T2 => "T2",
        }
    }

    /// Fast and cheap thinking.
    #[must_use]
    pub const fn is_system_one(self) -> bool {
        !matches!(self, Self::T2)
    }
}

/// Why a tick got more than the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationReason {
    /// A probe noticed something.
    Anomaly,
    /// Something happens that was never seen.
    Novelty,
    /// Much is at stake.
    Stakes,
    /// Probes that matter say opposite things.
    Conflict,
    /// A probe reports the highest severity.
    Critical,
    /// The alarm comes back while the last one has not healed.
    Relapse,
    /// The small model was not sure.
    Uncertainty,
}

/// The decision of a tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Beat {
    /// Tier of the tick.
    pub tier: TickTier,
    /// Where the state machine stands after it.
    pub mood: Mood,
    /// The worst that a probe said.
    pub severity: Severity,
    /// Why it is not T0, worst last; empty at T0.
    pub reasons: Vec<EscalationReason>,
}

/// When System 1 hands over to System 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Stakes from which a moderate anomaly is a matter for T2.
    pub high_stakes: MicroUsd,
    /// Quiet ticks after which the machine is calm again.
    pub quiet_ticks: u32,
}

impl Default for Rules {
    /// 1,000 USD; three ticks.
    fn default() -> Self {
        Self {
            high_stakes: MicroUsd::new(1_000_000_000),
            quiet_ticks: 3,
        }
    }
}

/// Ticks of each tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TierCounts {
    /// Ticks without a model.
    pub t0: u64,
    /// Ticks for a small model.
    pub t1: u64,
    /// Ticks for a strong model, those that T1 handed over included.
    pub t2: u64,
}

impl TierCounts {
    /// Number of all ticks.
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.t0 + self.t1 + self.t2
    }

    /// Ticks that System 1 settled.
    #[must_use]
    pub const fn system_one(self) -> u64 {
        self.t0 + self.t1
    }

    /// Ticks that needed System 2.
    #[must_use]
    pub const fn system_two(self) -> u64 {
        self.t2
    }

    /// The part of all ticks that cost nothing, 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate to look at")]
    pub fn t0_rate(self) -> f64 {
        if self.ticks() == 0 {
            return 0.0;
        }
        self.t0 as f64 / self.ticks() as f64
    }

    const fn slot(&mut self, tier: TickTier) -> &mut u64 {
        match tier {
            TickTier::T0 => &mut self.t0,
            TickTier::T1 => &mut self.t1,
            TickTier::T2 => &mut self.t2,
        }
    }
}

/// The gate between the world and the models.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat {
    rules: Rules,
    machine: Machine,
    counts: TierCounts,
    last: Option<TickTier>,
}

impl Heartbeat {
    /// A gate with rules of its owner's.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            machine: Machine::new(rules.quiet_ticks),
            counts: TierCounts::default(),
            last: None,
        }
    }

    /// Takes one tick. Where all probes are quiet the tick is T0, whatever came before; else it is
    /// T1, and T2 where something of it calls for deliberation.
    pub fn observe(&mut self, probes: &[ProbeReading]) -> Beat {
        let severity = probes.iter().map(|probe| probe.severity).max();
        let severity = severity.unwrap_or(Severity::None);
        let before = self.machine.mood();
        let mood = self.machine.step(severity);
        let mut reasons = Vec::new();
        let mut tier = TickTier::T0;
        if severity > Severity::None {
            reasons.push(EscalationReason::Anomaly);
            let deliberate = self.deliberate(probes, severity, before, mood);
            tier = if deliberate.is_empty() {
                TickTier::T1
            } else {
                TickTier::T2
            };
            reasons.extend(deliberate);
        }
        *self.counts.slot(tier) += 1;
        self.last = Some(tier);
        Beat {
            tier,
            mood,
            severity,
            reasons,
        }
    }

    /// Hands the tick over to System 2, because the small model was not sure of it. Gives whether
    /// there was something to hand over: a tick of T0 was never thought about, one of T2 is there.
    pub fn escalate(&mut self) -> bool {
        if self.last != Some(TickTier::T1) {
            return false;
        }
        self.counts.t1 -= 1;
        self.counts.t2 += 1;
        self.last = Some(TickTier::T2);
        true
    }

    /// Ticks of each tier until now.
    #[must_use]
    pub const fn counts(&self) -> TierCounts {
        self.counts
    }

    fn deliberate(
        &self,
        probes: &[ProbeReading],
        severity: Severity,
        before: Mood,
        mood: Mood,
    ) -> Vec<EscalationReason> {
        let weighty = || probes.iter().filter(|p| p.severity >= Severity::Moderate);
        let leans = |lean| weighty().any(|probe| probe.lean == Some(lean));
        let mut reasons = Vec::new();
        if weighty().any(|probe| probe.is_novel) {
            reasons.push(EscalationReason::Novelty);
        }
        if weighty().any(|probe| probe.stakes >= self.rules.high_stakes) {
            reasons.push(EscalationReason::Stakes);
        }
        if leans(Lean::Up) && leans(Lean::Down) {
            reasons.push(EscalationReason::Conflict);
        }
        if before == Mood::Recovering && mood == Mood::Alarmed {
            reasons.push(EscalationReason::Relapse);
        }
        if severity == Severity::Critical {
            reasons.push(EscalationReason::Critical);
        }
        reasons
    }
}

impl fmt::Display for TickTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
