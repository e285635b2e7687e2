//! The semantic index and the auditor of its hits.

mod audits {
    pub(crate) mod simulation;
}

use audits::simulation::{Draws, Phase, play, poisoned};
use bardo_cache::guard::Signature;
use bardo_cache::key::Key;
use bardo_cache::semantic::{
    AuditDecision, AuditMode, AuditOutcome, AuditRules, DIMENSIONS, Domain, DomainChange,
    EmbeddedTurn, HitAuditor, Index, Nearest, SearchSpace, VectorBlock,
};

const AGREES: AuditOutcome = AuditOutcome {
    agrees: true,
    live_agree: None,
};
const DISAGREES: AuditOutcome = AuditOutcome {
    agrees: false,
    live_agree: None,
};

/// A unit vector at an angle to the first axis.
fn vector(cosine: f64) -> [i8; DIMENSIONS] {
    let mut vector = [0; DIMENSIONS];
    vector[0] = (cosine * 127.0).round() as i8;
    vector[1] = ((1.0 - cosine * cosine).sqrt() * 127.0).round() as i8;
    vector
}

fn space(context: u8, domain: Domain) -> SearchSpace {
    SearchSpace {
        context: Key::from_bytes([context; 32]),
        domain,
        embedder: [7; 32],
    }
}

fn key(number: u8) -> Key {
    Key::from_bytes([number; 32])
}

fn add(index: &mut Index, space: SearchSpace, number: u8, text: &str, cosine: f64) {
    let turn = EmbeddedTurn {
        vector: &vector(cosine),
        signature: &Signature::of(text),
    };
    index.insert(space, 1, key(number), &turn);
}

fn ask(index: &Index, space: SearchSpace, text: &str) -> Nearest {
    let turn = EmbeddedTurn {
        vector: &vector(1.0),
        signature: &Signature::of(text),
    };
    index.lookup(&space, &turn, 0.0, &[])
}

#[test]
fn the_scan_finds_what_a_plain_search_finds() {
    let mut draws = Draws(11);
    let mut random = || std::array::from_fn(|_| (draws.next() * 255.0 - 127.0).round() as i8);
    let all: Vec<[i8; DIMENSIONS]> = (0..300).map(|_| random()).collect();
    let query = random();
    let mut block = VectorBlock::default();
    all.iter().for_each(|one| block.push(one));
    let dot = |one: &[i8; DIMENSIONS]| -> i32 {
        one.iter()
            .zip(&query)
            .map(|(a, b)| i32::from(*a) * i32::from(*b))
            .sum()
    };
    let mut plain: Vec<usize> = (0..all.len()).collect();
    plain.sort_by_key(|at| std::cmp::Reverse(dot(&all[*at])));
    let found: Vec<usize> = block
        .nearest(&query, -400.0, 8)
        .iter()
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(found, plain[..8]);
    block.swap_remove(plain[0]);
    assert_eq!(block.len(), 299);
    assert!(block.nearest(&query, -400.0, 8).len() == 8);
}

#[test]
fn a_question_in_other_words_hits_and_a_near_miss_is_explained() {
    let mut index = Index::new(10);
    let space = space(1, Domain::Reference);
    add(&mut index, space, 1, "How do I sell 1 ETH?", 0.99);
    assert!(
        matches!(ask(&index, space, "How can I sell one ETH?"), Nearest::Hit { key: k, .. } if k == key(1))
    );
    let Nearest::Guarded { mismatch, .. } = ask(&index, space, "How do I sell 10 ETH?") else {
        panic!("the guard refuses another number");
    };
    assert_eq!(mismatch.to_string(), "number \"10 eth\" against \"1 eth\"");
}

#[test]
fn the_guard_sees_further_candidates_after_a_refusal() {
    let mut index = Index::new(10);
    let space = space(1, Domain::Reference);
    add(&mut index, space, 1, "How do I buy 2 ETH?", 0.99);
    add(&mut index, space, 2, "How do I buy 1 ETH?", 0.95);
    assert!(
        matches!(ask(&index, space, "How can I buy one ETH?"), Nearest::Hit { key: k, .. } if k == key(2))
    );
}

#[test]
fn another_context_domain_or_embedder_never_hits() {
    let mut index = Index::new(10);
    let home = space(1, Domain::Reference);
    add(&mut index, home, 1, "What is a florp?", 1.0);
    let embedder = SearchSpace {
        embedder: [8; 32],
        ..home
    };
    for other in [
        space(2, Domain::Reference),
        space(1, Domain::Market),
        embedder,
    ] {
        assert_eq!(ask(&index, other, "What is a florp?"), Nearest::Miss);
    }
}

#[test]
fn each_domain_has_its_threshold_and_trades_have_no_hits() {
    for (domain, cosine, hits) in [
        (Domain::Reference, 0.91, true),
        (Domain::Market, 0.91, false),
        (Domain::General, 0.91, false),
        (Domain::General, 0.93, true),
        (Domain::Market, 0.93, true),
        (Domain::Unknown, 0.93, false),
        (Domain::Strategy, 0.96, true),
        (Domain::Trade, 1.0, false),
    ] {
        let mut index = Index::new(10);
        let space = space(1, domain);
        add(&mut index, space, 1, "What is a florp?", cosine);
        let hit = matches!(ask(&index, space, "What is a florp?"), Nearest::Hit { .. });
        assert_eq!(hit, hits, "{domain:?} at {cosine}");
    }
    assert_eq!(Domain::of(None), Domain::Unknown);
    assert_eq!(Domain::of(Some("general")), Domain::General);
    assert_eq!(Domain::of(Some("ops")), Domain::Reference);
    assert_eq!(Domain::of(Some("operator")), Domain::Trade);
    assert_eq!(Domain::of(Some("Market_Analysis")), Domain::Market);
    assert_eq!(Domain::of(Some("RISK")), Domain::Trade);
}

#[test]
fn an_entry_leaves_with_its_key_and_the_oldest_leave_above_the_limit() {
    let mut index = Index::new(2);
    let space = space(1, Domain::Reference);
    for number in 1..=3 {
        add(
            &mut index,
            space,
            number,
            &format!("What is florp{number}?"),
            1.0,
        );
    }
    assert_eq!(index.len(), 2);
    assert!(!matches!(
        ask(&index, space, "What is florp1?"),
        Nearest::Hit { .. }
    ));
    index.remove(&key(3));
    assert!(!matches!(
        ask(&index, space, "What is florp3?"),
        Nearest::Hit { .. }
    ));
    assert!(matches!(
        ask(&index, space, "What is florp2?"),
        Nearest::Hit { .. }
    ));
    index.retain(|_| false);
    assert!(index.is_empty());
}

#[test]
fn a_tenant_with_many_questions_never_pushes_out_those_of_another() {
    let mut index = Index::new(20);
    let space = space(1, Domain::Reference);
    let put = |index: &mut Index, tenant, number| {
        let turn = EmbeddedTurn {
            vector: &vector(1.0),
            signature: &Signature::of("What is a florp?"),
        };
        index.insert(space, tenant, key(number), &turn);
    };
    (0..5).for_each(|number| put(&mut index, 1, number));
    (5..200).for_each(|number| put(&mut index, 2, number));
    assert_eq!(index.len(), 20);
    let mut kept = Vec::new();
    index.retain(|key| {
        kept.push(key.as_bytes()[0]);
        true
    });
    kept.sort_unstable();
    let expected: Vec<u8> = (0..5).chain(185..200).collect();
    assert_eq!(kept, expected);
    index.limit(3);
    assert_eq!(index.len(), 3);
    index.clear();
    assert!(index.is_empty());
}

#[test]
fn an_index_finds_exactly_what_is_in_it_whatever_came_and_went() {
    let mut draws = Draws(5);
    let mut index = Index::new(1_000);
    let mut plain: std::collections::BTreeMap<u8, u8> = std::collections::BTreeMap::new();
    let mut below = |most: f64| (draws.next() * most) as u8;
    for _ in 0..3_000 {
        let (number, context) = (below(60.0), below(3.0));
        if below(3.0) == 0 {
            index.remove(&key(number));
            plain.remove(&number);
        } else {
            let text = format!("What is florp{number}?");
            add(
                &mut index,
                space(context, Domain::Reference),
                number,
                &text,
                1.0,
            );
            plain.insert(number, context);
        }
        assert_eq!(index.len(), plain.len());
        let asked = below(60.0);
        for context in 0..3 {
            let text = format!("What is florp{asked}?");
            // More neighbors than candidates make a miss possible; a wrong hit never is.
            if let Nearest::Hit { key: found, .. } =
                ask(&index, space(context, Domain::Reference), &text)
            {
                assert_eq!(found, key(asked));
                assert_eq!(plain.get(&asked), Some(&context));
            }
        }
    }
}

#[test]
fn evidence_outlives_a_restart_and_lost_evidence_is_no_clean_record() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for _ in 0..70 {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    let live = AuditOutcome {
        agrees: true,
        live_agree: Some(false),
    };
    auditor.record(Domain::Strategy, 1, live);
    while auditor.serves(Domain::Market) {
        auditor.record(Domain::Market, 1, DISAGREES);
    }
    auditor.record(Domain::Market, 1, AGREES);
    let mut again = HitAuditor::new(AuditRules::default());
    again.restore(&auditor.saved());
    for domain in Domain::ALL {
        assert_eq!(again.report(domain), auditor.report(domain), "{domain:?}");
    }
    assert_eq!(again.saved(), auditor.saved());
    let fresh = HitAuditor::new(AuditRules::default());
    let saved = fresh.saved();
    let own = saved.lines().find(|line| line.starts_with("reference "));
    let own = format!("{}\n", own.expect("each domain has a line"));
    for lost in [
        "",
        "\n",
        "reference\n",
        "reference 1 0 x\n",
        "reference 1 0 390 - w1 w2\n",
        "referense 0 1 390 - w w w\n",
    ] {
        let mut again = HitAuditor::new(AuditRules::default());
        assert!(again.serves(Domain::Reference));
        again.restore(&saved.replace(&own, lost));
        assert!(!again.serves(Domain::Reference), "{lost}");
        assert!(again.serves(Domain::Strategy), "{lost}");
    }
}

#[test]
fn a_stricter_rule_stops_what_only_borrowed_evidence_let_serve() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    assert!(auditor.serves(Domain::Reference));
    auditor.set_rules(AuditRules {
        mode: AuditMode::Verified,
        ..AuditRules::default()
    });
    assert!(!auditor.serves(Domain::Reference));
}

#[test]
fn an_audit_without_a_result_is_made_up_for() {
    let rules = AuditRules {
        first: 1,
        share: 0.0,
        ..AuditRules::default()
    };
    let mut auditor = HitAuditor::new(rules);
    let audit = AuditDecision::Audit { twice: false };
    let decide = |auditor: &mut HitAuditor| auditor.decide(Domain::Market, 1, 0, 0.5, 0.5);
    assert_eq!(decide(&mut auditor), audit);
    auditor.unjudged(Domain::Market, 1);
    assert_eq!(decide(&mut auditor), audit);
    assert_eq!(decide(&mut auditor), AuditDecision::Serve);
}

#[test]
fn the_first_fifty_hits_of_a_tenant_are_audited_and_then_a_share() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for tenant in [1, 2] {
        for _ in 0..50 {
            let decision = auditor.decide(Domain::Market, tenant, 0, 0.99, 0.99);
            assert_eq!(decision, AuditDecision::Audit { twice: false });
        }
        let decision = auditor.decide(Domain::Market, tenant, 0, 0.99, 0.99);
        assert_eq!(decision, AuditDecision::Serve);
        let decision = auditor.decide(Domain::Market, tenant, 0, 0.019, 0.01);
        assert_eq!(decision, AuditDecision::Audit { twice: true });
    }
    assert_eq!(
        auditor.decide(Domain::Trade, 1, 0, 0.0, 0.0),
        AuditDecision::Miss
    );
}

#[test]
fn audits_of_a_day_are_capped_for_each_tenant() {
    let rules = AuditRules {
        audits_per_day: 3,
        ..AuditRules::default()
    };
    let mut auditor = HitAuditor::new(rules);
    let mut audits = |tenant, day| {
        let decisions = (0..9).map(|_| auditor.decide(Domain::Market, tenant, day, 0.5, 0.5));
        decisions
            .filter(|decision| *decision != AuditDecision::Serve)
            .count()
    };
    assert_eq!([audits(1, 0), audits(1, 1), audits(2, 1)], [3, 3, 3]);
}

#[test]
fn a_verified_domain_waits_for_its_evidence_and_a_guarded_one_does_not() {
    let rules = AuditRules {
        mode: AuditMode::Verified,
        ..AuditRules::default()
    };
    let mut verified = HitAuditor::new(rules);
    assert!(!verified.serves(Domain::Market));
    assert!(HitAuditor::new(AuditRules::default()).serves(Domain::Market));
    let missing = verified.report(Domain::Market).missing;
    assert_eq!(missing, 390);
    for _ in 1..missing {
        assert_eq!(verified.record(Domain::Market, 1, AGREES), None);
    }
    assert_eq!(
        verified.record(Domain::Market, 1, AGREES),
        Some(DomainChange::Started)
    );
    assert!(verified.report(Domain::Market).bound <= 0.01);
}

#[test]
fn a_domain_with_a_small_limit_serves_again_after_each_stop() {
    for max_error in [0.000_5, 0.001_9, 0.002] {
        let mut auditor = HitAuditor::new(AuditRules {
            mode: AuditMode::Verified,
            max_error,
            ..AuditRules::default()
        });
        for _ in 0..3 {
            let size = auditor.report(Domain::Market).missing;
            let changes: Vec<_> = (0..size)
                .filter_map(|_| auditor.record(Domain::Market, 1, AGREES))
                .collect();
            assert_eq!(changes, [DomainChange::Started], "{max_error}: {size}");
            let mut again = HitAuditor::new(AuditRules {
                max_error,
                ..AuditRules::default()
            });
            again.restore(&auditor.saved());
            assert!(again.serves(Domain::Market), "{max_error}");
            let stopped = (0..3).any(|_| auditor.record(Domain::Market, 1, DISAGREES).is_some());
            assert!(stopped, "{max_error}");
        }
    }
}

#[test]
fn a_disagreement_stops_a_domain_without_a_record_and_each_restart_needs_more() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    assert_eq!(
        auditor.record(Domain::Market, 1, DISAGREES),
        Some(DomainChange::Stopped)
    );
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let size = auditor.report(Domain::Market).missing;
        sizes.push(size);
        let changes: Vec<_> = (0..size)
            .filter_map(|_| auditor.record(Domain::Market, 1, AGREES))
            .collect();
        assert_eq!(changes, [DomainChange::Started]);
        let stopped = (0..3).any(|_| auditor.record(Domain::Market, 1, DISAGREES).is_some());
        assert!(stopped);
    }
    assert!(
        sizes.is_sorted() && sizes[0] == 390 && sizes[2] > sizes[0],
        "{sizes:?}"
    );
}

#[test]
fn a_long_clean_record_does_not_protect_a_domain_that_turned_bad() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for _ in 0..2_000 {
        assert_eq!(auditor.record(Domain::Market, 1, AGREES), None);
    }
    assert_eq!(auditor.record(Domain::Market, 1, DISAGREES), None);
    assert_eq!(auditor.record(Domain::Market, 1, DISAGREES), None);
    assert_eq!(
        auditor.record(Domain::Market, 1, DISAGREES),
        Some(DomainChange::Stopped)
    );
}

#[test]
fn errors_elsewhere_hold_back_a_domain_without_evidence_of_its_own() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for domain in [Domain::Reference, Domain::Unknown] {
        for at in 0..21 {
            auditor.record(domain, 1 + at % 2, DISAGREES);
        }
    }
    assert!(!auditor.serves(Domain::Market));
    let missing = auditor.report(Domain::Market).missing;
    assert!(missing > 300, "{missing}");
    // Its own evidence takes the place of what it borrows.
    for _ in 0..missing {
        assert_eq!(auditor.record(Domain::Market, 1, AGREES), None);
    }
    assert!(auditor.serves(Domain::Market));
}

#[test]
fn the_baseline_of_live_answers_excuses_no_more_than_it_proves() {
    let noisy = |live_agree| AuditOutcome {
        agrees: false,
        live_agree,
    };
    let report = |outcome: AuditOutcome| {
        let rules = AuditRules {
            mode: AuditMode::Verified,
            ..AuditRules::default()
        };
        let mut auditor = HitAuditor::new(rules);
        for at in 0..300 {
            let right = AuditOutcome {
                agrees: true,
                live_agree: outcome.live_agree.map(|_| true),
            };
            auditor.record(
                Domain::Market,
                1,
                if at % 10 == 0 { outcome } else { right },
            );
        }
        auditor.report(Domain::Market).bound
    };
    let without = report(noisy(None));
    let excused = report(noisy(Some(false)));
    let not_excused = report(noisy(Some(true)));
    assert!(excused < without && excused > 0.0, "{excused} {without}");
    assert!((not_excused - without).abs() < 1e-9);
}

#[test]
fn a_poisoned_domain_stops_within_the_promised_number_of_false_hits() {
    const RUNS: u64 = 30;
    for false_rate in [0.05, 0.2, 1.0] {
        let runs: Vec<_> = (0..RUNS)
            .map(|seed| poisoned(seed, 5_000, false_rate))
            .collect();
        assert!(runs.iter().all(|run| run.stopped));
        let mut served: Vec<u32> = runs.iter().map(|run| run.false_served).collect();
        served.sort_unstable();
        let mean = served.iter().sum::<u32>() / served.len() as u32;
        assert!(mean <= 80, "{false_rate}: {mean}");
        assert!(
            served[served.len() * 9 / 10] <= 200,
            "{false_rate}: {served:?}"
        );
    }
}

#[test]
fn a_healthy_domain_keeps_serving_and_audits_cost_their_share() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    let healthy = Phase {
        false_rate: 0.0,
        noise: 0.0,
        hits: 50_000,
        until_stop: false,
    };
    let run = play(&mut auditor, &mut Draws(3), healthy);
    assert!(!run.stopped);
    assert_eq!(run.hits - run.served, run.audits);
    assert!((900..1_200).contains(&run.audits), "{}", run.audits);
}

#[test]
fn accounts_that_are_all_wrong_a_little_are_not_explained_away() {
    let mut draws = Draws(11);
    let mut auditor = HitAuditor::new(AuditRules::default());
    let mut starts = 0;
    for _ in 0..12_000 {
        let tenant = 1 + (draws.next() * 40.0) as u64;
        let outcome = AuditOutcome {
            agrees: draws.next() >= 0.03,
            live_agree: None,
        };
        let change = auditor.record(Domain::Reference, tenant, outcome);
        starts += u32::from(change == Some(DomainChange::Started));
    }
    assert_eq!(starts, 0);
}

#[test]
fn comparisons_without_a_result_stop_a_domain_when_they_are_most() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    let undecided = |auditor: &mut HitAuditor, times: u32| {
        (0..times).any(|_| auditor.undecided(Domain::Reference, 1) == Some(DomainChange::Stopped))
    };
    for _ in 0..100 {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    assert!(!undecided(&mut auditor, 100));
    assert!(undecided(&mut auditor, 1));
    assert_eq!(auditor.report(Domain::Reference).audits, 0);
    // Enough clean audits between as many without a result prove nothing.
    for _ in 0..600 {
        assert!(!undecided(&mut auditor, 2));
        assert_eq!(auditor.record(Domain::Reference, 1, AGREES), None);
    }
    assert!(!auditor.serves(Domain::Reference));
    for _ in 0..2_000 {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    assert!(auditor.serves(Domain::Reference));
}

#[test]
fn evidence_of_earlier_versions_is_read_and_its_pairs_excuse_nothing() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    auditor.restore("reference 1 0 390 - w1111 w1\nmarket 1 0 390 - w1 w1 w01 w1");
    assert!(auditor.serves(Domain::Reference));
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.audits, report.live_pairs), (4, 0));
    assert!(!auditor.serves(Domain::Market));
}
