//! Hints of a call to the gateway: the body object `bardo`, every member typed. A member that is
//! `None` is not sent, and the gateway's tables decide.

use bardo_types::feature::Feature;
use bardo_types::intent::Quality;
use bardo_types::money::MicroUsd;
use bardo_types::phase::Phase;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::profile::InferenceProfile;
use bardo_types::unit::UnitInterval;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The hints of one call. They move the caller's own routing, cache scope and money alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Hints {
    /// The part of the agent that asks, e.g. `risk` or `dream_rem`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subsystem: Option<String>,
    /// Task class of the call; each class has a floor of protection.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "task")]
    pub task_class: Option<TaskClass>,
    /// The least protection that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_class: Option<SecurityClass>,
    /// Differences from the intent of the subsystem.
    #[serde(skip_serializing_if = "IntentHints::is_silent")]
    pub intent: IntentHints,
    /// Parameters for the model, as the subsystem wants them; the gateway applies them once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<InferenceProfile>>,
    /// Vitality of the agent, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vitality: Option<UnitInterval>,
    /// Phase of the agent's life.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "phase")]
    pub phase: Option<Phase>,
    /// Its revenue over its cost, trailing; not negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustainability: Option<f64>,
    /// The market's regime, e.g. `bear_high_vol`; caches live shorter in loud ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<String>,
    /// The number of the tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<u64>,
    /// Kind of the tick, e.g. `gamma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_type: Option<String>,
    /// A name for the session; caps per session count by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Id of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub golem_id: Option<String>,
    /// Id of the agent's family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clade_id: Option<String>,
    /// Which call of its session or cycle this is, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_index: Option<u32>,
    /// Number of calls in the cycle, for temperature schedules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_count: Option<u32>,
    /// Which cycle this is, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u32>,
    /// Domain of the request: `defi`, `code`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether cached answers will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheUse>,
    /// `Some(false)`: the gateway leaves the conversation as it is.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "transforms")]
    pub transforms: Option<bool>,
    /// A cheaper model than the named one will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_downgrade: Option<bool>,
    /// An answer without what is required will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_degraded: Option<bool>,
    /// The most that the call may cost.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "usd")]
    pub max_cost_usd: Option<MicroUsd>,
    /// Amount at stake.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "usd")]
    pub stakes_usd: Option<MicroUsd>,
    /// Texts that differ per call and mean nothing, for cache keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ephemeral: Vec<String>,
    /// An answer within a day at half the price will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<bool>,
}

/// The part of an intent that a caller gives. A list replaces that of the subsystem.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct IntentHints {
    /// A model by name, where the thought insists on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Features that the answer must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require: Option<Vec<Feature>>,
    /// Preferred features; missing ones come back as degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer: Option<Vec<Feature>>,
    /// Quality of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<Quality>,
    /// Highest latency, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_latency_ms: Option<u64>,
    /// From 0, cost does not matter, to 1, nothing else does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_sensitivity: Option<UnitInterval>,
    /// Little thinking is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_effort: Option<bool>,
}

/// Use of the gateway's cache of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheUse {
    /// As the owner configured.
    Default,
    /// Its answer is not kept.
    NoStore,
    /// A stored answer must not be used.
    NoCache,
    /// Only a stored answer may be used.
    OnlyIfCached,
}

impl IntentHints {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }

    /// Takes from `other` what is not said here.
    pub fn fill_from(&mut self, other: &Self) {
        let Self {
            model,
            require,
            prefer,
            quality,
            max_latency_ms,
            cost_sensitivity,
            low_effort,
        } = other;
        fill(&mut self.model, model);
        fill(&mut self.require, require);
        fill(&mut self.prefer, prefer);
        fill(&mut self.quality, quality);
        fill(&mut self.max_latency_ms, max_latency_ms);
        fill(&mut self.cost_sensitivity, cost_sensitivity);
        fill(&mut self.low_effort, low_effort);
    }
}

fn fill<T: Clone>(held: &mut Option<T>, other: &Option<T>) {
    if held.is_none() {
        held.clone_from(other);
    }
}

impl Hints {
    /// The hints of a part of the agent, and nothing else.
    #[must_use]
    pub fn of(subsystem: &str) -> Self {
        Self {
            subsystem: Some(subsystem.into()),
            ..Self::default()
        }
    }

    /// The body object `bardo`. Numbers that are not finite are left out: JSON has none, and a
    /// broken sensor must not starve a thought.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = serde_json::to_value(self).expect("hints are plain data");
        drop_nulls(&mut object);
        object
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|name, value| {
            // A schema is the caller's own text; `null` means something in there.
            if name != "response_schema" {
                drop_nulls(value);
            }
            !value.is_null()
        });
    }
}

fn task<S: Serializer>(task: &Option<TaskClass>, serializer: S) -> Result<S::Ok, S::Error> {
    task.map(TaskClass::as_str).serialize(serializer)
}

fn phase<S: Serializer>(phase: &Option<Phase>, serializer: S) -> Result<S::Ok, S::Error> {
    phase.map(Phase::as_str).serialize(serializer)
}

fn transforms<S: Serializer>(on: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
    on.map(|on| if on { "default" } else { "none" })
        .serialize(serializer)
}

/// As decimal text: a float would round.
fn usd<S: Serializer>(amount: &Option<MicroUsd>, serializer: S) -> Result<S::Ok, S::Error> {
    amount
        .map(|amount| amount.to_string())
        .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use bardo_types::json::RawJson;
    use bardo_types::model::Effort;
    use bardo_types::profile::ResponseSchema;

    use super::*;

    fn every_hint() -> Hints {
        Hints {
            subsystem: Some("dream_rem".into()),
            task_class: Some(TaskClass::DreamRem),
            security_class: Some(SecurityClass::Private),
            intent: IntentHints {
                model: Some("claude-opus-5-5".into()),
                require: Some(vec![Feature::VisibleThinking]),
                prefer: Some(vec![Feature::Privacy, Feature::Citations]),
                quality: Some(Quality::High),
                max_latency_ms: Some(120_000),
                cost_sensitivity: Some(UnitInterval::HALF),
                low_effort: Some(true),
            },
            profile: Some(Box::new(InferenceProfile {
                temperature: Some(0.9),
                min_p: Some(0.1),
                reasoning_effort: Some(Effort::High),
                visible_thinking: Some(true),
                response_schema: Some(ResponseSchema {
                    name: "dream".into(),
                    schema: RawJson::parse(r#"{"type":"object","default":null}"#).unwrap(),
                    strict: true,
                }),
                ..InferenceProfile::default()
            })),
            vitality: UnitInterval::new(0.31),
            phase: Some(Phase::Conservation),
            sustainability: Some(0.75),
            regime: Some("bear_high_vol".into()),
            tick: Some(271),
            tick_type: Some("gamma".into()),
            session_id: Some("night-1".into()),
            golem_id: Some("golem-7".into()),
            clade_id: Some("clade-2".into()),
            call_index: Some(2),
            call_count: Some(4),
            cycle: Some(0),
            domain: Some("defi".into()),
            cache: Some(CacheUse::NoStore),
            transforms: Some(false),
            allow_downgrade: Some(true),
            accept_degraded: Some(false),
            max_cost_usd: Some(MicroUsd::new(250_000)),
            stakes_usd: Some(MicroUsd::new(12_000_000_000)),
            ephemeral: vec!["tick 271".into()],
            batch: Some(false),
        }
    }

    #[test]
    fn every_hint_is_written_as_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../fixtures/hints.json")).unwrap();
        assert_eq!(every_hint().to_json(), recorded);
    }

    #[test]
    fn what_is_not_said_is_not_sent() {
        assert_eq!(Hints::default().to_json(), serde_json::json!({}));
        assert_eq!(
            Hints::of("risk").to_json(),
            serde_json::json!({ "subsystem": "risk" })
        );
    }

    #[test]
    fn a_number_that_is_none_is_left_out() {
        let hints = Hints {
            sustainability: Some(f64::INFINITY),
            ..Hints::of("risk")
        };
        assert_eq!(hints.to_json(), serde_json::json!({ "subsystem": "risk" }));
    }

    #[test]
    fn an_intent_is_filled_only_where_it_is_silent() {
        let mut own = IntentHints {
            quality: Some(Quality::Maximum),
            ..IntentHints::default()
        };
        own.fill_from(&IntentHints {
            quality: Some(Quality::Low),
            max_latency_ms: Some(10),
            ..IntentHints::default()
        });
        assert_eq!(own.quality, Some(Quality::Maximum));
        assert_eq!(own.max_latency_ms, Some(10));
    }
}
