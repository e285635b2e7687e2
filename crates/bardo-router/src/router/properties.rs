//! Ten thousand configurations and requests that nobody would write, and what holds of each.

use std::sync::LazyLock;

use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::hints::{IntentHints, RouteHints};
use bardo_types::intent::Quality;
use bardo_types::model::{ModelEntry, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::phase::Phase;
use bardo_types::privacy::TaskClass;
use bardo_types::unit::UnitInterval;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::tests::{facts, model, part};
use super::*;
use crate::catalog::Catalog;
use crate::pareto::Point;
use crate::policy::{BankrPolicy, Mode, Weights};
use crate::request::{HealthState, HealthView, NoHealth, ObservedHealth};
use crate::roster::{BackendModels, BackendSpec, ModelFilter, RosterBuilder};

const NAMES: [&str; 6] = [
    "claude-a", "claude-b", "gpt-a", "gemini-a", "llama-a", "qwen-a",
];
const SERVICES: [(&str, Service); 8] = [
    ("blockrun", Service::BlockRun),
    ("openrouter", Service::OpenRouter),
    ("venice", Service::Venice),
    ("bankr", Service::Bankr),
    ("direct/openai", Service::OpenAi),
    ("direct/anthropic", Service::Anthropic),
    ("direct/google", Service::Google),
    ("direct/local", Service::Local),
];
const PARTS: [&str; 4] = ["plain", "kept", "sealed", "guard"];
const CLASSES: [SecurityClass; 4] = [
    SecurityClass::Standard,
    SecurityClass::Private,
    SecurityClass::Tee,
    SecurityClass::E2ee,
];

/// Reading it takes longer than a thousand decisions.
fn catalog() -> Arc<Catalog> {
    static CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| Arc::new(Catalog::embedded()));
    Arc::clone(&CATALOG)
}

/// A random configuration.
#[derive(Debug, Clone)]
struct World {
    backends: Vec<(usize, Vec<ModelEntry>)>,
    policy: Policy,
}

/// A request and how the backends do while it comes.
#[derive(Debug, Clone)]
struct AnyCall {
    model: &'static str,
    hints: RouteHints,
    uses: FeatureSet,
    down: usize,
}

impl HealthView for AnyCall {
    fn observe(&self, candidate: &Candidate) -> ObservedHealth {
        ObservedHealth {
            state: if candidate.backend == self.down {
                HealthState::Down
            } else {
                HealthState::Unknown
            },
            ..ObservedHealth::default()
        }
    }
}

fn any_features() -> impl Strategy<Value = Vec<Feature>> {
    subsequence(Feature::all().collect::<Vec<_>>(), 0..4).prop_shuffle()
}

fn any_price() -> impl Strategy<Value = Option<Price>> {
    let micro = prop_oneof![
        4 => 0..40_000_000_u64,
        1 => Just(0),
        1 => Just(u64::MAX),
    ];
    proptest::option::weighted(
        0.9,
        (micro.clone(), micro).prop_map(|(input, output)| Price {
            input: PricePerMillion::from_micro(input),
            output: PricePerMillion::from_micro(output),
            ..Price::default()
        }),
    )
}

fn any_entry(name: &'static str) -> impl Strategy<Value = ModelEntry> {
    let tier = proptest::option::of(select(vec![Tier::Small, Tier::Strong, Tier::Frontier]));
    let security = select(CLASSES.to_vec());
    (
        tier,
        0..=100_u8,
        any_price(),
        security,
        any_features(),
        any::<bool>(),
    )
        .prop_map(move |(tier, rating, price, security, features, sees)| {
            let mut entry = model(name, tier, rating, 0);
            entry.price = price;
            entry.security = security;
            Arc::make_mut(&mut entry.capabilities).images = sees;
            Arc::make_mut(&mut entry.capabilities).features = features.into_iter().collect();
            entry
        })
}

fn any_list() -> impl Strategy<Value = Vec<ModelEntry>> {
    subsequence(NAMES.to_vec(), 1..=NAMES.len())
        .prop_shuffle()
        .prop_flat_map(|names| names.into_iter().map(any_entry).collect::<Vec<_>>())
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let odd = select(vec![0.0, 0.3, 1.0, -1.0, f64::NAN, f64::INFINITY]);
    let flags = any::<[bool; 5]>();
    let route = subsequence(vec!["venice", "direct", "bankr", "openrouter"], 0..3);
    let ratio = proptest::option::of(select(vec![0.0, 0.4, 1.5, f64::NAN, -2.0]));
    let balance = proptest::option::of(0..2_000_000_u64);
    (odd.clone(), odd, flags, route, ratio, balance).prop_map(
        |(from, to, flags, route, ratio, balance)| {
            let mut policy = Policy {
                mode: if flags[0] {
                    Mode::Ordered
                } else {
                    Mode::Scored
                },
                weights: Weights {
                    cost: (from, to),
                    ..Weights::default()
                },
                privacy_strict: flags[1],
                free_models: flags[2],
                trusted_local: flags[3],
                diem_staked: flags[4],
                bankr: BankrPolicy {
                    self_funding: flags[1],
                    subsystems: vec!["plain".into()],
                    revenue_balance: balance.map(MicroUsd::new),
                    ratio,
                    ..BankrPolicy::default()
                },
                ..Policy::default()
            };
            if !route.is_empty() {
                let route = route.into_iter().map(str::to_owned).collect();
                policy.routes.insert("plain".into(), route);
            }
            policy
        },
    )
}

fn any_world() -> impl Strategy<Value = World> {
    let backends = subsequence((0..SERVICES.len()).collect::<Vec<_>>(), 1..=5)
        .prop_shuffle()
        .prop_flat_map(|indices| {
            indices
                .into_iter()
                .map(|index| (Just(index), any_list()))
                .collect::<Vec<_>>()
        });
    (backends, any_policy()).prop_map(|(backends, policy)| World { backends, policy })
}

fn any_hints() -> impl Strategy<Value = RouteHints> {
    let unit = || {
        let numbers = vec![0.0, 0.2, 0.5, 1.0].into_iter().map(UnitInterval::new);
        select(numbers.chain([None]).collect::<Vec<_>>())
    };
    let number = || {
        let odd = vec![0.0, 0.2, 0.5, 1.0, 1.5, -0.1, f64::NAN, f64::INFINITY];
        proptest::option::of(select(odd))
    };
    let of = |names: &'static [&'static str]| proptest::option::of(select(names));
    let tasks: Vec<TaskClass> = TaskClass::all().collect();
    let qualities = ["minimum", "low", "medium", "high", "maximum"];
    let quality = select(qualities.to_vec()).prop_map(|name| Quality::parse(name).unwrap());
    let intent = (
        proptest::option::weighted(0.3, any_features()),
        proptest::option::of(any_features()),
        proptest::option::of(quality),
        unit(),
        proptest::option::of(1..20_000_u64),
    );
    let rest = (
        of(&["plain", "kept", "sealed", "guard", "nobody-knows"]),
        proptest::option::weighted(0.2, select(tasks)),
        proptest::option::weighted(0.3, select(CLASSES.to_vec())),
        unit(),
        number(),
        proptest::option::of(select(Phase::ALL.to_vec())),
        proptest::option::of(any::<bool>()),
        proptest::option::weighted(0.2, 0..200_000_u64),
    );
    (intent, rest).prop_map(|(intent, rest)| {
        let (require, prefer, quality, cost_sensitivity, max_latency_ms) = intent;
        let (subsystem, task_class, security_class, vitality, sustainability, phase, accepts, most) =
            rest;
        RouteHints {
            subsystem: subsystem.map(Into::into),
            task_class,
            security_class,
            vitality,
            sustainability,
            phase,
            accept_degraded: accepts,
            max_cost_micro_usd: most,
            intent: IntentHints {
                require,
                prefer,
                quality,
                cost_sensitivity,
                max_latency_ms,
                ..IntentHints::default()
            },
            ..RouteHints::default()
        }
    })
}

fn any_call() -> impl Strategy<Value = AnyCall> {
    let models = vec![
        "bardo/auto",
        "bardo/auto",
        "bardo/auto",
        "bardo/t1",
        "bardo/t2",
        "claude-a",
        "llama-a",
        "venice/claude-a",
        "claude/*",
    ];
    let uses = select(vec![
        FeatureSet::EMPTY,
        FeatureSet::EMPTY,
        FeatureSet::EMPTY.with(Feature::Tools),
        FeatureSet::EMPTY.with(Feature::Vision),
    ]);
    let hints = prop_oneof![9 => any_hints(), 1 => Just(RouteHints::default())];
    (select(models), hints, uses, 0..9_usize).prop_map(|(model, hints, uses, down)| AnyCall {
        model,
        hints,
        uses,
        down,
    })
}

impl World {
    fn router(&self) -> Router {
        let mut builder = RosterBuilder::new(catalog());
        for (index, models) in &self.backends {
            let (name, service) = SERVICES[*index];
            let spec = BackendSpec {
                name: name.into(),
                service,
                filter: ModelFilter::default(),
            };
            builder.backend(spec, BackendModels::Live(models.clone()), None);
        }
        let mut router = Router::new(builder.build(), self.policy.clone());
        for name in PARTS {
            let mut row = part(name, Intent::default());
            row.floor = floor(name);
            row.protected = name == "guard";
            router = router.with_subsystem(row);
        }
        router
    }

    /// This configuration with the rows of its lists in reverse order.
    fn reversed(&self) -> Self {
        let mut reversed = self.clone();
        for (_, models) in &mut reversed.backends {
            models.reverse();
        }
        reversed
    }
}

fn floor(part: &str) -> SecurityClass {
    match part {
        "kept" => SecurityClass::Private,
        "sealed" => SecurityClass::E2ee,
        _ => SecurityClass::Standard,
    }
}

fn ask<T>(call: &AnyCall, then: impl FnOnce(&RouteRequest<'_>) -> T) -> T {
    let mut facts = facts();
    facts.uses = call.uses;
    then(&RouteRequest {
        model: call.model,
        hints: &call.hints,
        facts,
        allow_downgrade: false,
        may_use: &|candidate| candidate.backend != 7,
        added: &|_| 0,
        own_keys: &|_| false,
        health: call,
        bankr: crate::request::BankrFunds::default(),
        tier: None,
    })
}

/// What the caller itself asks for, worked out again from the rules.
fn asked(call: &AnyCall) -> SecurityClass {
    let required = call.hints.intent.require.iter().flatten();
    let by_feature = required.map(|feature| match feature {
        Feature::Privacy => SecurityClass::Private,
        Feature::Tee => SecurityClass::Tee,
        Feature::E2ee => SecurityClass::E2ee,
        _ => SecurityClass::Standard,
    });
    let by_task = call.hints.task_class.map(TaskClass::floor);
    by_feature
        .chain(by_task)
        .chain(call.hints.security_class)
        .max()
        .unwrap_or_default()
}

/// The least protection of whoever answers.
fn least(world: &World, call: &AnyCall) -> SecurityClass {
    let part = call.hints.subsystem.as_deref().unwrap_or_default();
    let floor = floor(part);
    let best = world.backends.iter().flat_map(|(index, models)| {
        let own = (SERVICES[*index].1 == Service::Local).then_some(SecurityClass::Private);
        let sane = |entry: &&ModelEntry| {
            let micro = |price: Price| price.input.micro().max(price.output.micro());
            entry.price.is_none_or(|price| micro(price) < u64::MAX)
        };
        models
            .iter()
            .filter(sane)
            .map(move |entry| entry.security.max(own.unwrap_or_default()))
    });
    let best = best.max().unwrap_or_default();
    let yields = floor == SecurityClass::Private
        && match call.hints.accept_degraded {
            Some(accepts) => accepts,
            None => best < SecurityClass::Private && !world.policy.privacy_strict,
        };
    asked(call).max(if yields {
        SecurityClass::Standard
    } else {
        floor
    })
}

fn keeps(world: &World, choice: &RoutedCandidate, class: SecurityClass, call: &AnyCall) -> bool {
    let (_, service) = SERVICES[world.backends[choice.candidate.backend].0];
    let entry = choice.candidate.entry.security;
    if service != Service::Local {
        return entry >= class;
    }
    let by_attestation = asked(call) == SecurityClass::Tee || class == SecurityClass::Tee;
    entry.max(SecurityClass::Private) >= class || world.policy.trusted_local && !by_attestation
}

fn names(route: &Route) -> Vec<(usize, String)> {
    let name = |choice: &RoutedCandidate| {
        let candidate = &choice.candidate;
        (candidate.backend, candidate.entry.id.clone())
    };
    route.choices.iter().map(name).collect()
}

fn check(world: &World, call: &AnyCall) -> Result<(), TestCaseError> {
    let router = world.router();
    let outcome = ask(call, |request| router.route(request));
    let explained = ask(call, |request| router.explain(request));
    let again = world.reversed().router();
    let reversed = ask(call, |request| again.route(request));
    let (route, reversed) = match (outcome, reversed) {
        (Ok(route), Ok(reversed)) => (route, reversed),
        (Err(refusal), Err(reversed)) => {
            prop_assert_eq!(refusal.kind, reversed.kind);
            prop_assert!(!refusal.missing.is_empty() && !refusal.advice.is_empty());
            prop_assert!(explained.outcome.is_err());
            return Ok(());
        }
        (one, other) => {
            return Err(TestCaseError::fail(format!(
                "{one:?} and reversed {other:?}"
            )));
        }
    };
    prop_assert_eq!(names(&route), names(&reversed), "row order decides");
    let explained = explained.outcome.unwrap();
    prop_assert_eq!(names(&route), names(&explained), "explained otherwise");
    prop_assert_eq!(&route.intent, &explained.intent);
    for (one, other) in route.choices.iter().zip(&explained.choices) {
        prop_assert_eq!(&one.degraded, &other.degraded);
    }
    let (class, wish) = (least(world, call), route.wished_class);
    // Where a floor yields, those that meet it come first.
    let kept: Vec<bool> = route.choices.iter().map(|c| c.security >= wish).collect();
    prop_assert!(kept.is_sorted_by(|one, next| one >= next), "{kept:?}");
    for choice in &route.choices {
        prop_assert!(
            keeps(world, choice, class, call),
            "{choice:?} below {class:?}"
        );
        prop_assert!(choice.candidate.backend != 7, "not allowed");
        let scores = choice.score.iter().all(|score| {
            let terms = [score.cost, score.quality, score.latency, score.privacy];
            let all = terms.iter().chain([&score.features, &score.total]);
            all.into_iter()
                .all(|term| (-1e-9..=1.0 + 1e-9).contains(term))
        });
        prop_assert!(scores, "{choice:?}");
    }
    if !call.model.starts_with("bardo/") {
        named(call, &route)?;
    } else {
        ordered(world, call, &route)?;
    }
    Ok(())
}

/// Nobody gets another model than the one that it names, and the owner's order holds.
fn named(call: &AnyCall, route: &Route) -> Result<(), TestCaseError> {
    let name = call.model.rsplit('/').next().unwrap();
    for choice in &route.choices {
        let id = &choice.candidate.entry.id;
        prop_assert!(name == "*" && id.starts_with("claude-") || id == name);
    }
    if name != "*" {
        // Those that meet a floor which yields come before those that do not.
        let place = |c: &RoutedCandidate| (c.security < route.wished_class, c.candidate.backend);
        let order: Vec<(bool, usize)> = route.choices.iter().map(place).collect();
        prop_assert!(order.is_sorted() && !route.automatic);
    }
    Ok(())
}

/// Where scores are off and the owner names no order for the part, nobody of an earlier backend
/// that would do as well is passed over.
fn ordered(world: &World, call: &AnyCall, route: &Route) -> Result<(), TestCaseError> {
    let part = call.hints.subsystem.as_deref().unwrap_or_default();
    let has_route = world.policy.routes.contains_key(part);
    if world.policy.mode != Mode::Ordered || has_route || call.down < 8 {
        return Ok(());
    }
    let spare = |choice: &RoutedCandidate| {
        let (_, service) = SERVICES[world.backends[choice.candidate.backend].0];
        matches!(service, Service::Local | Service::Venice)
    };
    let first = &route.choices[0];
    for choice in &route.choices {
        let alike = choice.degraded.len() <= first.degraded.len()
            && choice.security >= first.security
            && choice.features.has_all(first.features);
        if alike && !spare(choice) {
            prop_assert!(
                spare(first) || first.candidate.backend <= choice.candidate.backend,
                "{:?}",
                names(route)
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_configuration_and_no_request_breaks_the_rules(world in any_world(), call in any_call()) {
        check(&world, &call)?;
    }
}

/// What decides where wishes, protection and time do not.
fn plain_world() -> impl Strategy<Value = World> {
    let list = |names: [&'static str; 6]| {
        // Few ratings, and prices around the one where the term of cost ends, so that many tie.
        let price = (0..10_u64).prop_map(|step| 20_000_000 + step * 3_000_000);
        let entries = names.map(|name| {
            (70..=72_u8, price.clone()).prop_map(move |(rating, price)| {
                let mut entry = model(name, Some(Tier::Strong), rating, 0);
                let price = PricePerMillion::from_micro(price);
                entry.price = Some(Price {
                    input: price,
                    output: price,
                    ..Price::default()
                });
                entry
            })
        });
        entries.into_iter().collect::<Vec<_>>()
    };
    (list(NAMES), list(NAMES)).prop_map(|(one, other)| World {
        backends: vec![(0, one), (1, other)],
        policy: Policy {
            free_models: true,
            ..Policy::default()
        },
    })
}

fn chosen(router: &Router, sensitivity: f64) -> RatedCandidate {
    let hints = RouteHints {
        subsystem: Some("plain".into()),
        intent: IntentHints {
            cost_sensitivity: UnitInterval::new(sensitivity),
            ..IntentHints::default()
        },
        ..RouteHints::default()
    };
    let route = router.route(&RouteRequest {
        model: "bardo/auto",
        hints: &hints,
        facts: facts(),
        allow_downgrade: false,
        may_use: &|_| true,
        added: &|_| 0,
        own_keys: &|_| false,
        health: &NoHealth,
        bankr: crate::request::BankrFunds::default(),
        tier: None,
    });
    let route = route.unwrap();
    router.roster().rated(route.choices[0].candidate.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn more_sensitivity_to_cost_never_buys_dearer_and_the_beaten_never_win(
        world in plain_world(),
        low in 0.0..=1.0_f64,
        high in 0.0..=1.0_f64,
    ) {
        let router = world.router();
        let (low, high) = (low.min(high), low.max(high));
        let (free, sparing) = (chosen(&router, low), chosen(&router, high));
        prop_assert!(sparing.blended <= free.blended, "{} {}", sparing.blended, free.blended);
        let point = |rated: &RatedCandidate| Point {
            cost: rated.blended,
            quality: rated.quality,
            latency_ms: rated.latency_prior,
            privacy: 0,
        };
        for other in &router.roster().pool.rated_candidates {
            prop_assert!(!point(other).dominates(&point(&free)), "{other:?} beats {free:?}");
        }
    }
}
