//! A market to practice on: what five probes would say on each tick, the same for the same seed.

use bardo_types::money::MicroUsd;
use serde::Serialize;

use super::{Lean, ProbeReading, Severity};

/// The regime of the market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Rising prices with low volatility: about nine ticks in ten need no model.
    BullLowVol,
    /// As usual: about eight in ten.
    Normal,
    /// Falling prices with high volatility: about six ticks in ten need no model.
    BearHighVol,
}

/// Frequencies of a regime's events, in 1/1,000 of all ticks.
struct RegimeRow {
    /// Ticks on which some probe speaks.
    events: u32,
    /// Ticks among these that call for deliberation.
    grave: u32,
}

impl Regime {
    /// All of them, from the quietest.
    pub const ALL: [Self; 3] = [Self::BullLowVol, Self::Normal, Self::BearHighVol];

    /// The name in hints and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BullLowVol => "bull_low_vol",
            Self::Normal => "normal",
            Self::BearHighVol => "bear_high_vol",
        }
    }

    const fn row(self) -> RegimeRow {
        match self {
            Self::BullLowVol => RegimeRow {
                events: 100,
                grave: 200,
            },
            Self::Normal => RegimeRow {
                events: 200,
                grave: 250,
            },
            Self::BearHighVol => RegimeRow {
                events: 400,
                grave: 375,
            },
        }
    }
}

/// The probes, in the order in which they look.
const PROBES: [&str; 5] = ["price", "liquidity", "gas", "position", "oracle"];

/// A made-up market. It is a die and no forecast: its rates are those that markets of each regime
/// were found to have, so that a day on it costs about what a day costs.
#[derive(Debug, Clone)]
pub struct Market {
    state: u64,
}

impl Market {
    /// A market that gives the same days for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Draws the findings of the next tick.
    pub fn tick(&mut self, regime: Regime) -> Vec<ProbeReading> {
        let row = regime.row();
        let mut probes: Vec<ProbeReading> = PROBES.into_iter().map(ProbeReading::quiet).collect();
        if self.below(1_000) >= row.events {
            return probes;
        }
        let first = self.pick();
        if self.below(1_000) < row.grave {
            self.grave(&mut probes, first);
        } else {
            self.mild(&mut probes, first);
        }
        probes
    }

    /// Something that a small model settles.
    fn mild(&mut self, probes: &mut [ProbeReading], first: usize) {
        probes[first].severity = match self.below(10) {
            0..5 => Severity::Low,
            _ => Severity::Moderate,
        };
        probes[first].stakes = MicroUsd::new(u64::from(self.below(200)) * 1_000_000);
    }

    /// Something of which one of the reasons to deliberate holds.
    fn grave(&mut self, probes: &mut [ProbeReading], first: usize) {
        let other = (first + 1) % probes.len();
        match self.below(4) {
            0 => {
                probes[first].severity = Severity::High;
                probes[first].is_novel = true;
            }
            1 => {
                probes[first].severity = Severity::High;
                probes[first].stakes = MicroUsd::new(2_500_000_000);
            }
            2 => {
                probes[first].severity = Severity::Moderate;
                probes[first].lean = Some(Lean::Up);
                probes[other].severity = Severity::Moderate;
                probes[other].lean = Some(Lean::Down);
            }
            _ => {
                probes[first].severity = Severity::Critical;
                probes[first].stakes = MicroUsd::new(9_000_000_000);
            }
        }
    }

    fn pick(&mut self) -> usize {
        self.below(5) as usize
    }

    /// A number below `bound`, each as likely as the others.
    fn below(&mut self, bound: u32) -> u32 {
        // SplitMix64 (Steele, Lea and Flood 2014): a counter, well mixed.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        u32::try_from(((mixed >> 32) * u64::from(bound)) >> 32).unwrap_or(0)
    }
}
