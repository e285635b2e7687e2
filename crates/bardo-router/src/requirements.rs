//! Requirements of a request: the row of its subsystem, the caller's hints over it, the state of the
//! agent, floors and caps.

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::intent::{Intent, Quality};
use bardo_types::model::Tier;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::SecurityClass;
use bardo_types::subsystem::Subsystem;

use crate::classes;
use crate::mortality::{self, Band, SEED_OF_A_DAY};
use crate::policy::Policy;
use crate::request::{BankrFunds, RouteRequest};

/// The features that a class of protection carries; the class is compared, not they.
pub(crate) const PROTECTION: FeatureSet = FeatureSet::EMPTY
    .with(Feature::Privacy)
    .with(Feature::Tee)
    .with(Feature::E2ee);
/// Features that sealed requests exclude: tools, files, search.
pub(crate) const NOT_SEALED: FeatureSet = FeatureSet::EMPTY
    .with(Feature::Tools)
    .with(Feature::Vision)
    .with(Feature::Documents)
    .with(Feature::Audio)
    .with(Feature::WebSearch);
/// Features that only a maker's own API has; they open the role of direct keys.
pub(crate) const NATIVE: FeatureSet = FeatureSet::EMPTY
    .with(Feature::PredictedOutputs)
    .with(Feature::BatchApi)
    .with(Feature::ExplicitCaching)
    .with(Feature::ResponsesApi)
    .with(Feature::DirectPassthrough);

/// The sensitivity to cost up to which `High` asks for a frontier model.
const FRONTIER_UP_TO: f64 = 0.3;

/// A bound to what the request may cost, and who set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CostCap {
    pub(crate) most: MicroUsd,
    pub(crate) key: &'static str,
}

/// Which models may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelTarget<'a> {
    /// Any model of the catalog.
    Automatic,
    /// One, by name, alias or pin.
    Named(&'a str),
    /// All of a family or maker, or of one backend, as `family/*`.
    Family(&'a str),
}

/// The protection that the owner, or else the table, demands for a part of an agent.
pub(crate) fn floor(
    policy: &Policy,
    part: Option<&str>,
    subsystem: Option<&Subsystem>,
) -> SecurityClass {
    of_part(&policy.floors, part, subsystem)
        .copied()
        .unwrap_or_else(|| subsystem.map_or_else(Default::default, |row| row.floor))
}

/// Requirements of a request.
#[derive(Debug, Clone)]
pub(crate) struct Requirements {
    pub(crate) intent: Intent,
    pub(crate) subsystem: Option<Arc<Subsystem>>,
    /// The part of the agent, for the owner's rules about it, known or not.
    pub(crate) part: Option<String>,
    /// Features that every candidate must have.
    pub(crate) must: FeatureSet,
    /// Required features that the request allows to give up.
    pub(crate) should: FeatureSet,
    /// The caller accepts answers that lack `should` features.
    pub(crate) gives_up: bool,
    /// The least protection.
    pub(crate) class: SecurityClass,
    /// Preferred protection class; above `class` where a floor yields.
    pub(crate) wish: SecurityClass,
    /// The class of what the gateway remembers and the request goes on with.
    pub(crate) remembered: SecurityClass,
    /// Hardware has to prove itself.
    pub(crate) attested: bool,
    /// The caller takes an answer with less.
    pub(crate) accepts_degraded: bool,
    /// The least tier.
    pub(crate) tier: Tier,
    /// The best tier that the agent still buys.
    pub(crate) ceiling: Option<Tier>,
    /// Only the cheapest will do.
    pub(crate) cheapest: bool,
    /// The least of the bounds to its cost.
    pub(crate) cap: Option<CostCap>,
    /// Highest price of a call to Bankr.
    pub(crate) bankr: Option<CostCap>,
    pub(crate) warnings: Vec<String>,
}

/// Looks a subsystem up in an owner's table, by its name or its group.
pub(crate) fn of_part<'a, T>(
    table: &'a BTreeMap<String, T>,
    part: Option<&str>,
    subsystem: Option<&Subsystem>,
) -> Option<&'a T> {
    table.get(part?).or_else(|| table.get(&subsystem?.group))
}

impl Requirements {
    /// Reads a request. `row` is that of its subsystem, where it names one that is known; `base` what
    /// is needed where the hints say nothing; `best` the best protection that any configured backend
    /// offers; `tier` the one that its name asks for (`bardo/t1`).
    pub(crate) fn read(
        request: &RouteRequest<'_>,
        row: Option<Arc<Subsystem>>,
        base: Intent,
        policy: &Policy,
        best: SecurityClass,
        tier: Option<&str>,
    ) -> Self {
        let hints = request.hints;
        let mut warnings = hints.warnings.clone();
        let part = hints.subsystem.as_deref().map(|name| match &row {
            Some(row) => row.name.clone(),
            None => plain_name(name),
        });
        warn_of_part(&mut warnings, hints, row.as_deref());
        let given = hints.intent.require.iter().flatten().copied().collect();
        let table: FeatureSet = match hints.intent.require {
            Some(_) => FeatureSet::EMPTY,
            None => base.require.iter().copied().collect(),
        };
        let mut intent = overlaid(base, &hints.intent);
        intent.diem_available |= policy.diem_staked;
        let is_protected = row.as_ref().is_some_and(|row| row.protected);
        let mut requirements = Self {
            cheapest: false,
            // A part that says what it needs is not bound by the tier of the name.
            ceiling: tier
                .filter(|_| hints.subsystem.is_none())
                .and_then(classes::ceiling_of_tier),
            bankr: bankr_cap(policy, hints, request.bankr),
            cap: cap(request, row.as_deref(), policy),
            tier: Tier::Small,
            must: FeatureSet::EMPTY,
            should: FeatureSet::EMPTY,
            gives_up: false,
            class: SecurityClass::Standard,
            wish: SecurityClass::Standard,
            remembered: SecurityClass::Standard,
            attested: false,
            accepts_degraded: hints.accept_degraded == Some(true),
            subsystem: row,
            part,
            intent,
            warnings,
        };
        if !is_protected {
            requirements.bend(hints, policy);
        }
        requirements.cheapest |= requirements.intent.quality == Quality::Minimum;
        requirements.tier = least_tier(&requirements.intent);
        if let Some(ceiling) = requirements.ceiling {
            requirements.tier = requirements.tier.min(ceiling);
        }
        requirements.protect(hints, given, policy, best);
        requirements.require(table, given, request.facts.uses, hints.accept_degraded);
        requirements
    }

    /// Applies vitality, revenue and phase to subsystems that are not protected.
    fn bend(&mut self, hints: &RouteHints, policy: &Policy) {
        mortality::apply_vitality(&mut self.intent, hints.vitality);
        if let Some(ratio) = hints
            .sustainability
            .filter(|ratio| !ratio.is_finite() || *ratio < 0.0)
        {
            self.warnings.push(format!(
                "sustainability {ratio} is not a ratio of revenue to cost and was ignored"
            ));
        }
        if let Some(ratio) = known_ratio(hints.sustainability, self.part.is_some(), policy) {
            let band = Band::of(Some(ratio), policy.bankr.lifetime_revenue);
            self.cheapest |= mortality::apply_band(&mut self.intent, band);
        }
        let of_phase = hints.phase.and_then(classes::ceiling);
        self.ceiling = [self.ceiling, of_phase].into_iter().flatten().min();
    }

    /// Derives the protection class, and whether the table's floor yields.
    fn protect(
        &mut self,
        hints: &RouteHints,
        given: FeatureSet,
        policy: &Policy,
        best: SecurityClass,
    ) {
        let tee_mode = hints.profile.as_ref().and_then(|profile| profile.tee_mode) == Some(true);
        let asked = class_of(given)
            .max(hints.security_class.unwrap_or_default())
            .max(
                hints
                    .task_class
                    .map_or_else(Default::default, |task| task.floor()),
            )
            .max(if tee_mode {
                SecurityClass::Tee
            } else {
                SecurityClass::Standard
            })
            .max(hints.remembered_class.unwrap_or_default());
        // Where nothing is remembered, no class is like it.
        self.remembered = hints.remembered_class.unwrap_or_default();
        let floor = floor(policy, self.part.as_deref(), self.subsystem.as_deref());
        let is_out_of_reach = best < floor && !policy.privacy_strict;
        let yields = floor == SecurityClass::Private
            && (self.accepts_degraded || is_out_of_reach && hints.accept_degraded.is_none());
        self.wish = asked.max(floor);
        self.class = if yields { asked } else { self.wish };
        self.attested = tee_mode
            || asked == SecurityClass::Tee
            || floor == SecurityClass::Tee
            || given.has(Feature::Tee)
            || self.intent.prefer.contains(&Feature::Tee);
    }

    /// Sorts what is required by whether it may be given up: what the table asks for unless the
    /// caller says no, what the caller asks for only where it says yes.
    fn require(
        &mut self,
        table: FeatureSet,
        given: FeatureSet,
        uses: FeatureSet,
        accepts: Option<bool>,
    ) {
        let relaxable: FeatureSet = Feature::all().filter(|f| f.is_relaxable()).collect();
        // A predicted answer makes the real one quicker; it is not worth a refusal.
        let helps = uses.minus(uses.minus(FeatureSet::EMPTY.with(Feature::PredictedOutputs)));
        let given = given.union(uses.minus(helps));
        let hard = |set: FeatureSet| set.minus(relaxable);
        let soft = |set: FeatureSet| set.minus(set.minus(relaxable));
        let (must, should) = match accepts {
            Some(true) => (hard(table.union(given)), soft(table.union(given))),
            Some(false) => (table.union(given), FeatureSet::EMPTY),
            None => (hard(table).union(given), soft(table).minus(given)),
        };
        self.must = must.minus(PROTECTION);
        self.should = should.union(helps.minus(must)).minus(PROTECTION);
        self.gives_up = !self.should.is_empty();
    }

    /// The floor of its tier, for words.
    pub(crate) fn is_private(&self) -> bool {
        self.class >= SecurityClass::Private
            || self.wish >= SecurityClass::Private
            || self
                .intent
                .prefer
                .iter()
                .any(|feature| PROTECTION.has(*feature))
    }

    /// Which native features it wants, required or not.
    pub(crate) fn native(&self) -> FeatureSet {
        let wanted: FeatureSet = self.intent.prefer.iter().copied().collect();
        let wanted = wanted.union(self.must).union(self.should);
        wanted.minus(wanted.minus(NATIVE))
    }

    /// Whether a free model will do by its quality.
    pub(crate) fn takes_free(&self) -> bool {
        self.intent.quality <= Quality::Low
    }
}

/// The name of a part that no table knows, as its owner's rules write it.
pub(crate) fn plain_name(name: &str) -> String {
    name.trim()
        .chars()
        .map(|c| match c {
            '-' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

fn warn_of_part(warnings: &mut Vec<String>, hints: &RouteHints, row: Option<&Subsystem>) {
    let Some(name) = hints.subsystem.as_deref() else {
        return;
    };
    match row {
        None => warnings.push(format!(
            "the subsystem `{name}` is unknown; heartbeat_t1 is used, without a profile"
        )),
        Some(row) if row.heartbeat && row.intent.quality == Quality::Minimum => {
            warnings.push(format!(
                "{} needs no model; the cheapest model serves this call",
                row.name
            ));
        }
        Some(_) => {}
    }
}

fn overlaid(mut intent: Intent, hints: &IntentHints) -> Intent {
    if let Some(require) = &hints.require {
        intent.require.clone_from(require);
    }
    if let Some(prefer) = &hints.prefer {
        intent.prefer.clone_from(prefer);
    }
    intent.quality = hints.quality.unwrap_or(intent.quality);
    intent.max_latency_ms = hints.max_latency_ms.or(intent.max_latency_ms);
    intent.low_effort = hints.low_effort.unwrap_or(intent.low_effort);
    if let Some(sensitivity) = hints.cost_sensitivity {
        intent.cost_sensitivity = sensitivity;
    }
    intent
}

/// Quality as a floor over tiers.
fn least_tier(intent: &Intent) -> Tier {
    match intent.quality {
        Quality::Minimum | Quality::Low => Tier::Small,
        Quality::Medium => Tier::Strong,
        Quality::High if intent.cost_sensitivity.get() > FRONTIER_UP_TO => Tier::Strong,
        Quality::High | Quality::Maximum => Tier::Frontier,
    }
}

fn class_of(features: FeatureSet) -> SecurityClass {
    [
        (Feature::E2ee, SecurityClass::E2ee),
        (Feature::Tee, SecurityClass::Tee),
        (Feature::Privacy, SecurityClass::Private),
    ]
    .into_iter()
    .find(|(feature, _)| features.has(*feature))
    .map_or(SecurityClass::Standard, |(_, class)| class)
}

/// The ratio of revenue to cost: as the agent says, else as its owner's accounts do where what it
/// earns pays for its thoughts. Who is no part of an agent has none.
pub(crate) fn known_ratio(said: Option<f64>, is_part: bool, policy: &Policy) -> Option<f64> {
    let accounts = is_part && policy.bankr.self_funding;
    said.or(policy.bankr.ratio.filter(|_| accounts))
}

fn cap(request: &RouteRequest<'_>, row: Option<&Subsystem>, policy: &Policy) -> Option<CostCap> {
    let hint = request.hints.max_cost_micro_usd.map(|most| CostCap {
        most: MicroUsd::new(most),
        key: "max_cost_usd",
    });
    let reserve = policy
        .death_reserve
        .filter(|_| row.is_some_and(|row| row.group == "death"))
        .map(|most| CostCap {
            most,
            key: "inference.death_reserve_usd",
        });
    hint.into_iter().chain(reserve).min_by_key(|cap| cap.most)
}

/// The band of revenue to cost, for calls to Bankr.
pub(crate) fn bankr_band(policy: &Policy, hints: &RouteHints) -> Band {
    let ratio = hints.sustainability.or(policy.bankr.ratio);
    Band::of(ratio, policy.bankr.lifetime_revenue)
}

fn bankr_cap(policy: &Policy, hints: &RouteHints, funds: BankrFunds) -> Option<CostCap> {
    let band = bankr_band(policy, hints);
    let own = policy.bankr.revenue_balance;
    let earned = match band {
        Band::Bootstrapping => Some(CostCap {
            most: funds.seed_left.unwrap_or(SEED_OF_A_DAY),
            key: "providers.bankr.lifetime_revenue_usd",
        }),
        band => band.most(own.or(funds.credit)).map(|most| CostCap {
            most,
            key: match own {
                Some(_) => "providers.bankr.revenue_balance_usd",
                None => "credit at Bankr",
            },
        }),
    };
    let owners = policy.bankr.max_call.map(|most| CostCap {
        most,
        key: "providers.bankr.max_call_usd",
    });
    earned.into_iter().chain(owners).min_by_key(|cap| cap.most)
}
