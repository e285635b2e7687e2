//! Verified hits: the cache measures how often it is wrong, and stops where it is wrong too often.
//!
//! A would-be hit has passed context, similarity and guard. An **audit** asks the provider anyway:
//! the caller gets and pays for the live answer, as on a miss, and both answers are compared
//! ([`super::answers::agree`]). An audit that disagrees counts as a false hit of its domain.
//!
//! # Which hits are audited
//!
//! All of the first 50 of each tenant in each domain; after that a share (2 % by default). For the
//! 50 audits after a disagreement the share is 25 %. While a domain is stopped, each would-be hit
//! is answered live, so all of them are audits and cost nothing beyond the comparison. Audits of a
//! tenant end for the day at a cap; above it, hits of a serving domain are served.
//!
//! # The estimator
//!
//! For each domain the last 2,000 audits are kept (the **window**). With `x` disagreements in `n`
//! audits the upper bound of their rate is that of Clopper and Pearson: the rate at which `x` or
//! fewer would occur with a probability of 4 %. 1 % of error is left for the baseline.
//!
//! **Pooled prior.** A domain with fewer audits than a clean record needs (321 at a limit of 1 %)
//! borrows the missing ones in mode `guarded`. Borrowed audits disagree as often as those of all
//! other domains and the pairs of the shipped evaluation together, and there are no more of them than
//! those have. Audits of an account that has all disagreements of its domain are not borrowed: it
//! could stop all domains. Each audit of its own replaces a borrowed one. A domain that only borrowed
//! disagreements keep from serving keeps its evidence. In mode `verified` nothing is borrowed: a domain starts stopped.
//!
//! **Baseline.** Models disagree with themselves. Where an audit of the window came with a
//! second live answer to the identical prompt, the rate at which *live* answers disagree has a
//! lower bound `b` (at 1 %); with the upper bound `u` of the audits, the false-hit rate is at most
//! `(u − b) / (1 − b)`. Without such pairs `b` is 0, which errs on the safe side. Pairs must be
//! drawn without regard to the audit's result: the share `baseline` of all audits is asked twice.
//! A pair leaves the window with its audit, and `b` is multiplied by the share of audits that are of
//! accounts with a pair: the noise of some answers excuses no others.
//!
//! **Stop.** A domain serves only while its bound is at or below the limit (`max_error`, 1 %). The
//! bound is recomputed after each audit; looking often can only stop a domain too early. It also
//! stops when the last 50 audits alone prove a rate above the limit (3 disagreements at 1 %), so
//! that a long clean record does not protect a domain that turned bad.
//!
//! **Restart, and repeated looks.** A stopped domain forgets its window and collects new audits.
//! Each look at them is one chance to be wrong, so look `k` is allowed an error of `4 % / (k (k +
//! 1))`, which sums to 4 % over all looks of the life of a domain. Look `k` comes when a clean
//! record of that size would suffice: 299 clean audits bound 1 % at 95 % without any correction;
//! with the correction and the share for the baseline, the first look comes at 390. A look that
//! fails is followed by one at twice its audits; above the window the collection starts again. Where
//! a look needs more audits than the window has, at limits below about 0.2 %, the window grows to that.
//!
//! **Comparisons without a result** count neither for nor against a domain. Where more than half of
//! the last 200 (of at least 50) have none, the domain has no proof: it stops, and no look passes.
//!
//! **Accounts.** The answers of one account must not stop a domain for all. Where the last 50 audits
//! of an account alone prove a rate above the limit, with an error of 0.1 %, or more than half of its
//! last 50 comparisons have no result, and the window has at least 50 audits of others, the account is
//! set apart: nothing is served to it, its audits leave
//! the window, and it returns after a clean record of its own (390 audits, more each time). The
//! error is that small so that leaving such accounts out does not flatter the others.
//!
//! # What this promises
//!
//! Each false hit has the same chance of being audited, so the number of false hits that are
//! served before a stop does not depend on how bad a domain is: about `1 / 2 %` until the first
//! disagreement and `2 / 25 %` for the two that complete the proof, 58 together on average. A rate
//! so small that disagreements lie more than 50 audits apart is held by the window's bound.

mod bounds;
mod domain_state;
mod tenants;
mod window;

use std::collections::BTreeMap;

use domain_state::{AuditPool, DomainState};
use tenants::Tenants;

use super::Domain;

/// Near-misses of the shipped evaluation; the guard joined none of them.
const SHIPPED_AUDITS: u32 = 379;

/// The least audits of other accounts in the window beside which an account is set apart: with fewer,
/// nothing says that it is the account and not the domain.
const OTHERS_MIN: u32 = 50;

/// What has to be known before a domain serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditMode {
    /// Starts from the shipped evaluation and the other domains.
    #[default]
    Guarded,
    /// Starts stopped and waits for its own evidence.
    Verified,
}

/// How much is audited, and which error is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditRules {
    /// What a domain needs before it serves.
    pub mode: AuditMode,
    /// The largest upper bound of the false-hit rate, between 0.0001 and 0.5.
    pub max_error: f64,
    /// The share of hits that are audited.
    pub share: f64,
    /// The share after a disagreement, for as many audits as [`AuditRules::recent`].
    pub alarm_share: f64,
    /// The share of audits whose live answer is asked for twice.
    pub baseline: f64,
    /// Hits of a tenant in a domain that are all audited.
    pub first: u32,
    /// Audits that are kept for a domain; more where a clean record of that size proves too little.
    pub window: u32,
    /// The latest audits that can stop a domain by themselves.
    pub recent: usize,
    /// The most audits of a tenant in a day.
    pub audits_per_day: u32,
}

impl Default for AuditRules {
    fn default() -> Self {
        Self {
            mode: AuditMode::Guarded,
            max_error: 0.01,
            share: 0.02,
            alarm_share: 0.25,
            baseline: 0.05,
            first: 50,
            window: 2_000,
            recent: 50,
            audits_per_day: 500,
        }
    }
}

/// What happens to a would-be hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditDecision {
    /// The stored answer is served.
    Serve,
    /// The provider answers, and the result is reported by [`HitAuditor::record`].
    Audit {
        /// The provider is asked a second time, for the baseline.
        twice: bool,
    },
    /// The provider answers and nothing is compared.
    Miss,
}

/// The result of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditOutcome {
    /// The stored answer agrees with the live one.
    pub agrees: bool,
    /// Two live answers agree; `None` where one was asked for.
    pub live_agree: Option<bool>,
}

/// A domain that began or ceased to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainChange {
    /// Hits are no longer served.
    Stopped,
    /// Hits are served again, or for the first time.
    Started,
}

/// The evidence of a domain, for metrics and statistics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AuditReport {
    /// Whether hits are served.
    pub serves: bool,
    /// Audits in the window.
    pub audits: u32,
    /// Disagreements in the window.
    pub disagreements: u32,
    /// Pairs of live answers.
    pub live_pairs: u32,
    /// Pairs of live answers that disagree.
    pub live_disagreements: u32,
    /// The upper bound of the false-hit rate at 95 %, borrowed audits included.
    pub bound: f64,
    /// Of the last 200 comparisons, those that came to no result.
    pub undecided: u32,
    /// Accounts that are set apart: their hits are not served.
    pub apart: u32,
    /// Clean audits that are missing before the next look of a stopped domain.
    pub missing: u32,
}

/// Decides which hits are served, from the results of audits alone.
#[derive(Debug)]
pub struct HitAuditor {
    rules: AuditRules,
    domains: BTreeMap<Domain, DomainState>,
    tenants: Tenants,
}

impl HitAuditor {
    /// An auditor without evidence.
    #[must_use]
    pub fn new(rules: AuditRules) -> Self {
        let domains = Domain::ALL.map(|domain| (domain, DomainState::new(&rules)));
        let mut auditor = Self {
            rules,
            domains: domains.into(),
            tenants: Tenants::default(),
        };
        auditor.rebound();
        auditor
    }

    /// Decides on a would-be hit. `tenant` is a digest of the account, `day` the number of the day,
    /// `draw` and `second_draw` are random numbers from 0 to below 1.
    pub fn decide(
        &mut self,
        domain: Domain,
        tenant: u64,
        day: u64,
        draw: f64,
        second_draw: f64,
    ) -> AuditDecision {
        if domain.threshold().is_none() {
            return AuditDecision::Miss;
        }
        let serves = self.serves_to(domain, tenant);
        let share = match self.domains.get(&domain) {
            Some(state) if state.is_alarmed(&self.rules) => self.rules.alarm_share,
            _ => self.rules.share,
        };
        let known = self.tenants.entry(tenant, domain);
        if known.day != day {
            known.day = day;
            known.today = 0;
        }
        let capped = known.today >= self.rules.audits_per_day;
        let wanted = !serves || known.total < self.rules.first || draw < share;
        match (wanted && !capped, serves) {
            (true, _) => {
                known.total = known.total.saturating_add(1);
                known.today += 1;
                AuditDecision::Audit {
                    twice: second_draw < self.rules.baseline,
                }
            }
            (false, true) => AuditDecision::Serve,
            (false, false) => AuditDecision::Miss,
        }
    }

    /// Takes other rules. The evidence stays; a domain whose evidence is not enough under them
    /// ceases to serve.
    pub fn set_rules(&mut self, rules: AuditRules) {
        if self.rules == rules {
            return;
        }
        self.rules = rules;
        self.rebound();
        for state in self.domains.values_mut() {
            if state.serves && state.current_bound > rules.max_error {
                state.wait(&rules);
            }
            state.set_rules(&rules);
        }
    }

    /// Takes back an audit of [`HitAuditor::decide`] whose live answer failed. The cap of the day still counts it.
    pub fn unjudged(&mut self, domain: Domain, tenant: u64) {
        if let Some(known) = self.tenants.get_mut(tenant, domain) {
            known.total = known.total.saturating_sub(1);
        }
    }

    /// Takes back an audit of [`HitAuditor::decide`] that no provider was asked for.
    pub fn withdrawn(&mut self, domain: Domain, tenant: u64) {
        self.unjudged(domain, tenant);
        if let Some(known) = self.tenants.get_mut(tenant, domain) {
            known.today = known.today.saturating_sub(1);
        }
    }

    /// The evidence as text, a line for each domain, for [`HitAuditor::restore`].
    #[must_use]
    pub fn saved(&self) -> String {
        let lines = self.domains.iter();
        let lines = lines.map(|(domain, state)| format!("{} {}\n", domain.as_str(), state.line()));
        lines.collect()
    }

    /// Takes back the evidence that [`HitAuditor::saved`] wrote. Without one line that can be read a
    /// domain is stopped: lost evidence is no clean record. An empty text changes nothing.
    pub fn restore(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        for (domain, state) in &mut self.domains {
            let name = domain.as_str();
            let own = text.lines().filter_map(|line| line.strip_prefix(name));
            let mut own = own.filter(|rest| rest.is_empty() || rest.starts_with(' '));
            match (own.next(), own.next()) {
                (Some(line), None) => state.read(line.trim_start(), &self.rules),
                _ => state.distrust(&self.rules),
            }
        }
        self.rebound();
    }

    /// Stops all domains: evidence that cannot be read is no clean record.
    pub fn distrust(&mut self) {
        for state in self.domains.values_mut() {
            state.distrust(&self.rules);
        }
        self.rebound();
    }

    /// Takes an audit whose answers the comparison could not tell apart. It counts neither for nor
    /// against the domain, but a domain with too many of them has no proof and stops. An account
    /// with too many of them is set apart as in [`HitAuditor::record`].
    pub fn undecided(&mut self, domain: Domain, tenant: u64) -> Option<DomainChange> {
        self.unjudged(domain, tenant);
        let state = self.domains.get_mut(&domain)?;
        let known = self.tenants.entry(tenant, domain);
        known.compared(true);
        if known.apart {
            return None;
        }
        if known.is_unproven() && state.audits_beside(tenant) >= OTHERS_MIN {
            return self.set_apart(domain, tenant);
        }
        state.undecided(tenant, &self.rules)
    }

    /// Takes the result of an audit; returns what it changed for its domain.
    ///
    /// An account whose own audits prove an error is set apart where other accounts have evidence
    /// too: none of its hits is served, its audits leave the evidence of the domain, and it returns
    /// on a clean record of its own.
    pub fn record(
        &mut self,
        domain: Domain,
        tenant: u64,
        outcome: AuditOutcome,
    ) -> Option<DomainChange> {
        let pooled = self.pooled(domain);
        let state = self.domains.get_mut(&domain)?;
        let known = self.tenants.entry(tenant, domain);
        known.compared(false);
        if known.apart {
            known.prove(outcome.agrees, &self.rules);
            return None;
        }
        let proves = known.proves_error(outcome.agrees, &self.rules);
        if proves && state.audits_beside(tenant) >= OTHERS_MIN {
            return self.set_apart(domain, tenant);
        }
        let change = state.record(tenant, outcome, &self.rules, pooled);
        self.rebound();
        change
    }

    /// Sets an account apart. The domain ceases to serve where the evidence of the others is not
    /// enough; it stays.
    fn set_apart(&mut self, domain: Domain, tenant: u64) -> Option<DomainChange> {
        self.tenants.entry(tenant, domain).set_apart();
        self.domains.get_mut(&domain)?.leave_out(tenant);
        self.rebound();
        let state = self.domains.get_mut(&domain)?;
        let stops = state.serves && state.current_bound > self.rules.max_error;
        stops.then(|| {
            state.wait(&self.rules);
            DomainChange::Stopped
        })
    }

    /// Whether a domain serves hits to an account.
    #[must_use]
    pub fn serves_to(&self, domain: Domain, tenant: u64) -> bool {
        self.serves(domain) && !self.tenants.is_apart(tenant, domain)
    }

    /// Whether a domain serves hits.
    #[must_use]
    pub fn serves(&self, domain: Domain) -> bool {
        self.domains
            .get(&domain)
            .is_some_and(|state| state.serves && state.current_bound <= self.rules.max_error)
    }

    /// The evidence of a domain.
    #[must_use]
    pub fn report(&self, domain: Domain) -> AuditReport {
        let fresh = DomainState::new(&self.rules);
        let state = self.domains.get(&domain).unwrap_or(&fresh);
        AuditReport {
            serves: self.serves(domain),
            apart: self.tenants.apart(domain),
            ..state.report(&self.rules)
        }
    }

    /// Computes all bounds anew: an audit of one domain also moves what the others borrow.
    fn rebound(&mut self) {
        for domain in Domain::ALL {
            let pooled = self.pooled(domain);
            if let Some(state) = self.domains.get_mut(&domain) {
                state.current_bound = state.bound(&self.rules, pooled);
            }
        }
    }

    /// The audits of all other domains and of the shipped evaluation.
    fn pooled(&self, domain: Domain) -> AuditPool {
        let shipped = AuditPool {
            audits: SHIPPED_AUDITS,
            wrong: 0,
        };
        let others = self.domains.iter().filter(|(other, _)| **other != domain);
        others.fold(shipped, |pool, (_, state)| pool.and(state.lent()))
    }
}
