//! A day of an agent, priced. The sources say about $2.50 with BlockRun alone and about $1.50 with
//! everything; what the test holds is their order and their order of magnitude.

use bardo_router::{RouteRequest, Router};
use bardo_types::hints::RouteHints;
use bardo_types::model::Service;
use bardo_types::money::{ExactCost, MicroUsd};
use bardo_types::unit::UnitInterval;

use crate::setup::{Measured, Setup, facts, hints};

/// What a day asks for: subsystem, calls, tokens of the prompt, of them in the provider's cache,
/// tokens of the answer. Of some 400 ticks four fifths ask nobody.
const DAY: [(&str, u64, u64, u64, u64); 12] = [
    ("heartbeat_t1", 60, 3_000, 2_000, 200),
    ("heartbeat_t2", 20, 6_000, 4_000, 900),
    ("risk", 5, 6_000, 4_000, 2_000),
    ("operator", 12, 4_000, 2_500, 700),
    ("curator", 8, 6_000, 3_000, 900),
    ("playbook", 4, 5_000, 2_000, 1_800),
    ("context", 30, 5_000, 0, 400),
    ("daimon", 60, 1_200, 0, 150),
    ("daimon_complex", 4, 2_500, 0, 1_500),
    ("dream_nrem", 6, 8_000, 0, 2_500),
    ("dream_rem", 6, 6_000, 0, 3_500),
    ("session_compact", 1, 40_000, 20_000, 2_500),
];

/// What the day costs in 10⁻⁶ USD, and who earned how much of it. Staked compute and the agent's
/// own machine cost nothing.
fn cost(router: &Router) -> (MicroUsd, Vec<String>) {
    let mut sum = 0;
    let mut lines = Vec::new();
    for (subsystem, calls, prompt, cached, answer) in DAY {
        let facts = bardo_router::Facts {
            prompt_tokens: prompt,
            max_output_tokens: Some(answer),
            ..facts()
        };
        let route = router
            .route(&RouteRequest {
                model: "bardo/auto",
                hints: &hints(subsystem),
                facts,
                allow_downgrade: true,
                may_use: &|_| true,
                added: &|_| 0,
                own_keys: &|_| false,
                health: &Measured::all_well(router),
                bankr: bardo_router::BankrFunds::default(),
                tier: None,
            })
            .unwrap_or_else(|refusal| panic!("{subsystem}: {refusal:?}"));
        let candidate = &route.choices[0].candidate;
        let backend = &router.roster().backends()[candidate.backend];
        let price = candidate.entry.price.unwrap();
        let each = ExactCost::ZERO
            .plus(price.input, prompt - cached)
            .and_then(|cost| cost.plus(price.cache_read_or_more(), cached))
            .and_then(|cost| cost.plus(price.output, answer))
            .and_then(ExactCost::charge)
            .unwrap()
            .get();
        let staked = backend.service == Service::Venice && router.policy().diem_staked;
        let paid = if staked { 0 } else { each * calls };
        sum += paid;
        lines.push(format!(
            "{subsystem:<16} {calls:>3} × {:<34} ${}",
            format!("{}/{}", backend.name, candidate.entry.id),
            MicroUsd::new(paid)
        ));
    }
    (MicroUsd::new(sum), lines)
}

#[test]
fn a_day_costs_what_the_sources_say_in_order_and_magnitude() {
    let (alone, lines) = cost(&Setup::BlockrunOnly.of_march_2026());
    let (full, full_lines) = cost(&Setup::FullStack.of_march_2026());
    println!("BlockRun only: ${alone} (sources: about $2.50)");
    println!("  {}", lines.join("\n  "));
    println!("Full stack: ${full} (sources: about $1.50)");
    println!("  {}", full_lines.join("\n  "));
    let dollars = |range: std::ops::RangeInclusive<u64>| {
        MicroUsd::new(range.start() * 10_000)..=MicroUsd::new(range.end() * 10_000)
    };
    assert!(full < alone);
    assert!(dollars(125..=500).contains(&alone), "{alone}");
    assert!(dollars(75..=300).contains(&full), "{full}");
}

/// The model of one call of the day and its cost, for an agent that is so much alive.
fn call(router: &Router, subsystem: &str, vitality: f64) -> (String, MicroUsd) {
    let line = DAY.iter().find(|(name, ..)| *name == subsystem);
    let &(_, _, prompt, cached, answer) = line.unwrap();
    let facts = bardo_router::Facts {
        prompt_tokens: prompt,
        max_output_tokens: Some(answer),
        ..facts()
    };
    let hints = RouteHints {
        vitality: UnitInterval::new(vitality),
        ..hints(subsystem)
    };
    let route = router.route(&RouteRequest {
        model: "bardo/auto",
        hints: &hints,
        facts,
        allow_downgrade: true,
        may_use: &|_| true,
        added: &|_| 0,
        own_keys: &|_| false,
        health: &Measured::all_well(router),
        bankr: bardo_router::BankrFunds::default(),
        tier: None,
    });
    let entry = &route.unwrap().choices[0].candidate.entry;
    let price = entry.price.unwrap();
    let cost = ExactCost::ZERO
        .plus(price.input, prompt - cached)
        .and_then(|cost| cost.plus(price.cache_read_or_more(), cached))
        .and_then(|cost| cost.plus(price.output, answer))
        .and_then(ExactCost::charge);
    (entry.id.clone(), cost.unwrap())
}

#[test]
fn a_call_of_each_tier_costs_what_its_band_says() {
    let router = Setup::BlockrunOnly.of_march_2026();
    // T1: 0.001 to 0.003 USD; T2: 0.01 to 0.25 USD.
    for (subsystem, band) in [
        ("heartbeat_t1", 1_000..=3_000),
        ("heartbeat_t2", 10_000..=250_000),
    ] {
        for vitality in [1.0, 0.7, 0.4] {
            let (model, cost) = call(&router, subsystem, vitality);
            let place = format!("{subsystem} at {vitality}: {model} for ${cost}");
            assert!(band.contains(&cost.get()), "{place}");
        }
    }
}

#[test]
fn of_the_strong_ticks_of_a_life_four_in_five_are_sonnets_and_one_is_an_opus() {
    let router = Setup::BlockrunOnly.of_march_2026();
    // A life in five equal parts, from full vitality to the beginning of its end.
    let models =
        [1.0, 0.85, 0.7, 0.55, 0.4].map(|vitality| call(&router, "heartbeat_t2", vitality).0);
    let count = |maker: &str| models.iter().filter(|model| model.contains(maker)).count();
    assert_eq!((count("sonnet"), count("opus")), (4, 1), "{models:?}");
    assert!(
        models[0].contains("opus"),
        "the healthy agent has the better one"
    );
}
