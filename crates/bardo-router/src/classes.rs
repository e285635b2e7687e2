//! Intents of requests without hints (`data/classes.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::feature::Feature;
use bardo_types::intent::{Intent, Quality};
use bardo_types::model::Tier;
use bardo_types::phase::Phase;
use bardo_types::unit::UnitInterval;
use serde::Deserialize;

use crate::request::Kind;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassFile {
    tier: BTreeMap<String, Class>,
    kind: BTreeMap<String, Class>,
    customer: BTreeMap<String, Customer>,
    phase: BTreeMap<String, PhaseRow>,
    latency: Latency,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    quality: Quality,
    #[serde(default)]
    prefer: Vec<Feature>,
    max_latency_ms: Option<u64>,
    cost_sensitivity: UnitInterval,
    ceiling: Option<Tier>,
    #[serde(default)]
    rows: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Customer {
    cost_sensitivity: UnitInterval,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseRow {
    ceiling: Tier,
}

/// Latencies of models without measurements, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Latency {
    small: u64,
    strong: u64,
    frontier: u64,
    unknown: u64,
    reasoning: u64,
}

impl Latency {
    /// Latency of a model of a tier, with or without reasoning before the answer.
    pub(crate) const fn of(self, tier: Option<Tier>, reasons: bool) -> u64 {
        let plain = match tier {
            Some(Tier::Small) => self.small,
            Some(Tier::Strong) => self.strong,
            Some(Tier::Frontier) => self.frontier,
            None => self.unknown,
        };
        if reasons {
            plain.saturating_mul(self.reasoning)
        } else {
            plain
        }
    }
}

fn table() -> &'static ClassFile {
    static TABLE: LazyLock<ClassFile> = LazyLock::new(|| {
        crate::data::read(include_str!("../data/classes.toml")).expect("the table is tested")
    });
    &TABLE
}

impl Class {
    fn intent(&self) -> Intent {
        Intent {
            prefer: self.prefer.clone(),
            quality: self.quality,
            max_latency_ms: self.max_latency_ms,
            cost_sensitivity: self.cost_sensitivity,
            ..Intent::default()
        }
    }
}

/// The intent of a kind of request.
pub(crate) fn of_kind(kind: Kind) -> Intent {
    table()
        .kind
        .get(kind.as_str())
        .map_or_else(Intent::default, Class::intent)
}

/// Sensitivity to cost of a product tier, for requests without one; `None` leaves that of the
/// request's kind.
pub(crate) fn sensitivity_of(customer: &str) -> Option<UnitInterval> {
    let row = table().customer.get(customer)?;
    Some(row.cost_sensitivity)
}

/// The intent of `bardo/<tier>`; `None` if there is no such tier.
pub(crate) fn of_tier(tier: &str) -> Option<Intent> {
    table().tier.get(tier).map(Class::intent)
}

/// The best tier of models that `bardo/<tier>` may get.
pub(crate) fn ceiling_of_tier(tier: &str) -> Option<Tier> {
    table().tier.get(tier)?.ceiling
}

/// The tier whose model, where the owner names one, serves a subsystem.
pub(crate) fn tier_of_row(subsystem: &str) -> Option<&'static str> {
    table()
        .tier
        .iter()
        .find(|(_, class)| class.rows.iter().any(|row| row == subsystem))
        .map(|(tier, _)| tier.as_str())
}

/// The best tier that an agent in a phase buys for parts that are not protected.
pub(crate) fn ceiling(phase: Phase) -> Option<Tier> {
    table().phase.get(phase.as_str()).map(|row| row.ceiling)
}

/// The latencies assumed for models without measurements.
pub(crate) fn latency() -> Latency {
    table().latency
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_tier_has_its_class_and_only_the_last_phases_a_ceiling() {
        for kind in [
            Kind::Conversation,
            Kind::Code,
            Kind::Analysis,
            Kind::AgentLoop,
        ] {
            assert!(table().kind.contains_key(kind.as_str()), "{kind:?}");
        }
        assert_eq!(of_tier("t1").unwrap().quality, Quality::Low);
        assert_eq!(of_tier("t2").unwrap().quality, Quality::High);
        assert!(of_tier("t9").is_none());
        assert_eq!(tier_of_row("heartbeat_t2"), Some("t2"));
        assert_eq!(tier_of_row("risk"), None);
        for phase in table().phase.keys() {
            assert!(Phase::parse(phase).is_some(), "{phase}");
        }
        assert_eq!(ceiling(Phase::Stable), None);
        assert_eq!(ceiling(Phase::Terminal), Some(Tier::Small));
    }
}
