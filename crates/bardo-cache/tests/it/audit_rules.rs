//! What the rules of audits allow: how much is borrowed, and what another limit changes.

use bardo_cache::semantic::{AuditRules, Domain, HitAuditor};

use crate::audit_accounts::{AGREES, DISAGREES};

#[test]
fn one_account_holds_back_no_other_domain() {
    let mut auditor = HitAuditor::new(AuditRules::default());
    for domain in [Domain::Reference, Domain::Unknown] {
        for _ in 0..200 {
            auditor.record(domain, 1, DISAGREES);
        }
    }
    assert!(!auditor.serves(Domain::Unknown));
    assert!(auditor.serves(Domain::Market));
}

#[test]
fn no_more_evidence_is_borrowed_than_there_is() {
    let strict = AuditRules {
        max_error: 0.001,
        ..AuditRules::default()
    };
    let auditor = HitAuditor::new(strict);
    for domain in Domain::ALL {
        assert!(!auditor.serves(domain));
        assert!(auditor.report(domain).missing > 3_000 || domain.threshold().is_none());
    }
}

#[test]
fn a_domain_that_a_stricter_limit_stopped_serves_again_under_the_old_one() {
    let strict = AuditRules {
        max_error: 0.001,
        ..AuditRules::default()
    };
    let mut auditor = HitAuditor::new(strict);
    for rules in [strict, AuditRules::default()] {
        auditor.set_rules(rules);
        for _ in 0..500 {
            auditor.record(Domain::Market, 1, AGREES);
        }
    }
    assert!(auditor.serves(Domain::Market));
    // Also where the evidence was saved in between.
    let mut strict = HitAuditor::new(strict);
    strict.record(Domain::Market, 1, DISAGREES);
    let mut relaxed = HitAuditor::new(AuditRules::default());
    relaxed.restore(&strict.saved());
    for _ in 0..2_000 {
        relaxed.record(Domain::Market, 1, AGREES);
    }
    assert!(relaxed.serves(Domain::Market));
}
