//! Audits of several accounts: one whose answers disagree is set apart, and the others go on.

use bardo_cache::semantic::{
    AuditDecision, AuditMode, AuditOutcome, AuditRules, Domain, DomainChange, HitAuditor,
};

pub(crate) const AGREES: AuditOutcome = AuditOutcome {
    agrees: true,
    live_agree: None,
};
pub(crate) const DISAGREES: AuditOutcome = AuditOutcome {
    agrees: false,
    live_agree: None,
};

/// Would-be hits of two accounts, one of which always disagrees, until both were asked `rounds` times.
fn noisy_and_quiet(auditor: &mut HitAuditor, rounds: u32) {
    for round in 0..rounds {
        for (tenant, outcome) in [(1, AGREES), (2, DISAGREES)] {
            let day = u64::from(round / 100);
            let audited = auditor.decide(Domain::Reference, tenant, day, 0.5, 0.5);
            if let AuditDecision::Audit { .. } = audited {
                auditor.record(Domain::Reference, tenant, outcome);
            }
        }
    }
}

#[test]
fn an_account_with_noisy_answers_does_not_stop_the_domain_for_others_for_ever() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    noisy_and_quiet(&mut auditor, 3);
    assert!(!auditor.serves(Domain::Reference));
    noisy_and_quiet(&mut auditor, 1_000);
    assert!(auditor.serves_to(Domain::Reference, 1));
    assert!(!auditor.serves_to(Domain::Reference, 2));
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.apart, report.disagreements), (1, 0));
    let served = auditor.decide(Domain::Reference, 1, 99, 0.5, 0.5);
    assert_eq!(served, AuditDecision::Serve);
    let audited = auditor.decide(Domain::Reference, 2, 99, 0.5, 0.5);
    assert!(matches!(audited, AuditDecision::Audit { .. }));
}

#[test]
fn an_account_that_was_set_apart_returns_on_a_clean_record_of_its_own() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    noisy_and_quiet(&mut auditor, 1_000);
    for _ in 0..389 {
        auditor.record(Domain::Reference, 2, AGREES);
    }
    assert!(!auditor.serves_to(Domain::Reference, 2));
    auditor.record(Domain::Reference, 2, AGREES);
    assert!(auditor.serves_to(Domain::Reference, 2));
}

#[test]
fn the_noise_of_an_account_that_was_set_apart_excuses_no_other() {
    let pair = |agrees, live_agree| AuditOutcome {
        agrees,
        live_agree: Some(live_agree),
    };
    let mut auditor = HitAuditor::new(AuditRules::default());
    for at in 0..400 {
        let agrees = at % 5 > 1;
        auditor.record(Domain::Reference, 2, pair(agrees, agrees));
    }
    // The first one stopped the domain and left with that.
    assert_eq!(auditor.report(Domain::Reference).live_disagreements, 159);
    for _ in 0..60 {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    for _ in 0..50 {
        auditor.record(Domain::Reference, 2, DISAGREES);
    }
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.apart, report.live_pairs), (1, 0));
}

#[test]
fn a_domain_keeps_the_evidence_of_others_when_an_account_is_set_apart() {
    let mut auditor = HitAuditor::new(verified());
    for at in 0..1_200 {
        auditor.record(Domain::Reference, 1 + u64::from(at % 12 > 0), AGREES);
    }
    assert!(auditor.serves(Domain::Reference));
    // A wrong answer now and then proves the error of an account before that of the domain.
    let mut changes = Vec::new();
    while auditor.report(Domain::Reference).apart == 0 {
        changes.extend(auditor.record(Domain::Reference, 2, DISAGREES));
        for _ in 0..30 {
            changes.extend(auditor.record(Domain::Reference, 1, AGREES));
        }
        for _ in 0..9 {
            changes.extend(auditor.record(Domain::Reference, 2, AGREES));
        }
    }
    let report = auditor.report(Domain::Reference);
    assert_eq!(changes, [DomainChange::Stopped]);
    assert!(report.audits > 200, "the evidence of the other account");
    for _ in 0..report.missing {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    assert!(auditor.serves_to(Domain::Reference, 1));
}

#[test]
fn a_lone_account_is_its_domain() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for _ in 0..300 {
        auditor.record(Domain::Reference, 1, DISAGREES);
    }
    assert!(!auditor.serves(Domain::Reference));
    assert_eq!(auditor.report(Domain::Reference).apart, 0);
}

#[test]
fn an_account_whose_answers_cannot_be_compared_does_not_stop_the_domain() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for _ in 0..60 {
        auditor.record(Domain::Reference, 1, AGREES);
    }
    for _ in 0..200 {
        assert_eq!(auditor.undecided(Domain::Reference, 2), None);
    }
    assert!(auditor.serves_to(Domain::Reference, 1));
    assert!(!auditor.serves_to(Domain::Reference, 2));
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.apart, report.undecided), (1, 0));
    // It returns on clean audits, while most of its comparisons have a result.
    for _ in 0..390 {
        auditor.record(Domain::Reference, 2, AGREES);
        auditor.undecided(Domain::Reference, 2);
        auditor.undecided(Domain::Reference, 2);
    }
    assert!(!auditor.serves_to(Domain::Reference, 2));
    for _ in 0..50 {
        auditor.record(Domain::Reference, 2, AGREES);
    }
    assert!(auditor.serves_to(Domain::Reference, 2));
}

#[test]
fn an_account_is_set_apart_only_beside_fifty_audits_of_others() {
    let mut auditor = HitAuditor::new(AuditRules {
        first: 0,
        ..AuditRules::default()
    });
    for outcomes in [49, 1] {
        assert_eq!(auditor.report(Domain::Reference).apart, 0);
        for _ in 0..3 {
            auditor.record(Domain::Reference, 2, DISAGREES);
        }
        assert_eq!(auditor.report(Domain::Reference).apart, 0);
        for _ in 0..outcomes {
            auditor.record(Domain::Reference, 1, AGREES);
        }
    }
    auditor.record(Domain::Reference, 2, DISAGREES);
    assert_eq!(auditor.report(Domain::Reference).apart, 1);
}

fn verified() -> AuditRules {
    AuditRules {
        mode: AuditMode::Verified,
        ..AuditRules::default()
    }
}

const NOISY: AuditOutcome = AuditOutcome {
    agrees: false,
    live_agree: Some(false),
};

/// Each tenth audit disagrees; each is of the account that `tenant` says.
fn wrong_now_and_then(auditor: &mut HitAuditor, tenant: fn(u64) -> u64) -> Vec<DomainChange> {
    let outcome = |at| if at % 10 == 9 { DISAGREES } else { AGREES };
    let record = |at| auditor.record(Domain::Reference, tenant(at), outcome(at));
    (0..390).filter_map(record).collect()
}

#[test]
fn the_noise_of_an_account_excuses_no_accounts_without_pairs() {
    for tenant in [|_| 2, |at| 2 + at] {
        let mut auditor = HitAuditor::new(verified());
        for _ in 0..60 {
            auditor.record(Domain::Reference, 1, NOISY);
        }
        let changes = wrong_now_and_then(&mut auditor, tenant);
        assert_eq!(changes, []);
        assert!(!auditor.serves(Domain::Reference));
    }
}

#[test]
fn the_noise_of_an_account_excuses_no_other_after_a_restart() {
    let mut before = HitAuditor::new(verified());
    for _ in 0..60 {
        before.record(Domain::Reference, 1, NOISY);
    }
    for at in 0..329 {
        let outcome = if at % 10 == 9 { DISAGREES } else { AGREES };
        before.record(Domain::Reference, 2, outcome);
    }
    let mut auditor = HitAuditor::new(verified());
    auditor.restore(&before.saved());
    assert_eq!(auditor.record(Domain::Reference, 2, AGREES), None);
    assert!(!auditor.serves(Domain::Reference));
}

#[test]
fn audits_from_before_a_restart_are_of_no_other_account() {
    let mut before = HitAuditor::new(AuditRules::default());
    for _ in 0..200 {
        before.record(Domain::Reference, 1, AGREES);
    }
    let mut auditor = HitAuditor::new(AuditRules::default());
    auditor.restore(&before.saved());
    let mut changes = Vec::new();
    for _ in 0..10 {
        changes.extend(auditor.record(Domain::Reference, 1, DISAGREES));
    }
    assert_eq!(changes, [DomainChange::Stopped]);
    assert_eq!(auditor.report(Domain::Reference).apart, 0);
}

#[test]
fn the_accounts_that_are_used_are_remembered_beside_many_others() {
    let mut auditor = HitAuditor::new(AuditRules {
        first: 1,
        share: 0.0,
        ..AuditRules::default()
    });
    let mut decide = |tenant| auditor.decide(Domain::Reference, tenant, 1, 0.5, 0.5);
    // The smallest of all digests, which is used again and again.
    assert!(matches!(decide(1), AuditDecision::Audit { .. }));
    for other in 2..30_000 {
        decide(other);
        if other % 1_000 == 0 {
            assert_eq!(decide(1), AuditDecision::Serve, "{other}");
        }
    }
}

#[test]
fn the_noise_of_an_account_that_left_excuses_no_other() {
    let mut auditor = HitAuditor::new(AuditRules {
        window: 400,
        ..verified()
    });
    for _ in 0..60 {
        auditor.record(Domain::Reference, 1, NOISY);
    }
    for _ in 0..400 {
        auditor.record(Domain::Reference, 2, AGREES);
    }
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.live_pairs, report.live_disagreements), (0, 0));
}

#[test]
fn a_domain_that_stops_forgets_its_pairs_with_its_audits() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    let stopped = auditor.record(Domain::Reference, 1, NOISY);
    assert_eq!(stopped, Some(DomainChange::Stopped));
    let report = auditor.report(Domain::Reference);
    assert_eq!((report.live_pairs, report.live_disagreements), (0, 0));
}
