//! What is remembered of each account in each domain: its audits, and whether it is set apart.

use std::collections::BTreeMap;

use super::bounds::{clean_audits, lower};
use super::{AuditRules, Domain};

/// Accounts that are remembered, each in each domain.
const TENANTS_MAX: usize = 10_000;
/// The error at which the audits of an account prove that it is wrong too often. So small that
/// leaving such accounts out hardly flatters the evidence of the others.
const APART_ERROR: f64 = 0.001;
/// The error of the proof that ends it, halved and more each time.
const RETURN_ERROR: f64 = 0.04;
/// The latest audits and comparisons of an account that count.
const LATEST: u32 = 50;

/// The audits of one account in one domain.
#[derive(Debug, Default)]
pub(super) struct TenantAudits {
    pub(super) total: u32,
    pub(super) day: u64,
    pub(super) today: u32,
    /// The latest audits, the newest in the lowest bit; a set bit disagreed.
    latest: u64,
    seen: u32,
    /// The latest comparisons, the newest in the lowest bit; a set bit came to no result.
    undecided: u64,
    compared: u32,
    /// Its hits are not served, and its audits do not count for the domain.
    pub(super) apart: bool,
    /// Audits that agreed since the last disagreement, while set apart.
    clean: u32,
    times: u32,
    /// Number of its last use among all.
    used: u64,
}

impl TenantAudits {
    /// Takes an audit; whether the latest ones prove a rate above the limit.
    pub(super) fn proves_error(&mut self, agrees: bool, rules: &AuditRules) -> bool {
        self.latest = pushed(self.latest, !agrees);
        self.seen = (self.seen + 1).min(LATEST);
        let wrong = self.latest.count_ones();
        !agrees && lower(wrong, self.seen, APART_ERROR) > rules.max_error
    }

    /// Takes a comparison, with a result or without.
    pub(super) fn compared(&mut self, undecided: bool) {
        self.undecided = pushed(self.undecided, undecided);
        self.compared = (self.compared + 1).min(LATEST);
    }

    /// More than half of the latest comparisons came to no result.
    pub(super) fn is_unproven(&self) -> bool {
        self.compared >= LATEST && self.undecided.count_ones() * 2 > LATEST
    }

    pub(super) fn set_apart(&mut self) {
        self.apart = true;
        self.clean = 0;
        self.times = self.times.saturating_add(1);
    }

    /// Takes an audit of an account that is set apart, and ends that on a clean record of its own.
    pub(super) fn prove(&mut self, agrees: bool, rules: &AuditRules) {
        self.clean = if agrees { self.clean + 1 } else { 0 };
        let time = f64::from(self.times.max(1));
        let needed = clean_audits(rules.max_error, RETURN_ERROR / (time * (time + 1.0)));
        if self.clean >= needed && !self.is_unproven() {
            self.apart = false;
            self.latest = 0;
            self.seen = 0;
        }
    }
}

/// The latest bits with one more.
fn pushed(latest: u64, newest: bool) -> u64 {
    (latest << 1 | u64::from(newest)) & ((1 << LATEST) - 1)
}

/// All accounts in all domains, a limited number of them.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    known: BTreeMap<(u64, Domain), TenantAudits>,
    uses: u64,
}

impl Tenants {
    /// What is known of an account. Above the limit the half that was used the longest ago is
    /// forgotten, those that are set apart last.
    pub(super) fn entry(&mut self, tenant: u64, domain: Domain) -> &mut TenantAudits {
        let key = (tenant, domain);
        if self.known.len() >= TENANTS_MAX && !self.known.contains_key(&key) {
            self.forget_half();
        }
        self.uses += 1;
        let known = self.known.entry(key).or_default();
        known.used = self.uses;
        known
    }

    fn forget_half(&mut self) {
        let order = |known: &TenantAudits| (known.apart, known.used);
        let mut all: Vec<_> = self.known.values().map(order).collect();
        let middle = all.len() / 2;
        let (_, middle, _) = all.select_nth_unstable(middle);
        let middle = *middle;
        self.known.retain(|_, known| order(known) >= middle);
    }

    pub(super) fn get_mut(&mut self, tenant: u64, domain: Domain) -> Option<&mut TenantAudits> {
        self.known.get_mut(&(tenant, domain))
    }

    pub(super) fn is_apart(&self, tenant: u64, domain: Domain) -> bool {
        let known = self.known.get(&(tenant, domain));
        known.is_some_and(|known| known.apart)
    }

    /// Accounts that are set apart in a domain.
    pub(super) fn apart(&self, domain: Domain) -> u32 {
        let apart = self
            .known
            .iter()
            .filter(|((_, of), known)| *of == domain && known.apart);
        u32::try_from(apart.count()).unwrap_or(u32::MAX)
    }
}
