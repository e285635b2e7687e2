//! Audits of several accounts: one whose answers disagree is set apart, and the others go on.

use bardo_cache::semantic::{
    AuditDecision, AuditMode, AuditOutcome, AuditRules, Domain, DomainChange, HitAuditor,
};

const AGREES: AuditOutcome = AuditOutcome {
    agrees: true,
    live_agree: None,
};
const DISAGREES: AuditOutcome = AuditOutcome {
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
    assert_eq!(auditor.report(Domain::Reference).live_disagreements, 160);
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
    let rules = AuditRules {
        mode: AuditMode::Verified,
        ..AuditRules::default()
    };
    let mut auditor = HitAuditor::new(rules);
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
