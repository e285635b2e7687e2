//! What the semantic layer counts.

use std::collections::BTreeMap;

use bardo_cache::semantic::{AuditReport, Domain};

/// What the semantic layer did since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeaningCounts {
    /// Questions that are indexed.
    pub entries: u64,
    /// Requests that no stored question was near enough to.
    pub misses: u64,
    /// Requests that were not compared, by reason.
    pub skipped: Vec<(&'static str, u64)>,
    /// Requests that the guard refused an answer to, by the kind of the difference.
    pub guarded: Vec<(&'static str, u64)>,
    /// The domains that can serve.
    pub domains: Vec<DomainCounts>,
}

/// What one domain did since the start, and its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DomainCounts {
    /// The name of the domain.
    pub domain: &'static str,
    /// Hits that were served.
    pub hits: u64,
    /// Would-be hits that a provider answered because the domain does not serve, not compared.
    pub stopped: u64,
    /// Audits whose answers agree.
    pub agreed: u64,
    /// Audits whose answers disagree: false hits, had they been served.
    pub disagreed: u64,
    /// Audits without a result.
    pub unjudged: u64,
    /// The evidence in the window, earlier processes included.
    pub report: AuditReport,
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub(super) struct MeaningTally {
    pub(super) misses: u64,
    skipped: BTreeMap<&'static str, u64>,
    guarded: BTreeMap<&'static str, u64>,
    domains: BTreeMap<Domain, DomainTally>,
}

#[derive(Debug, Default, Clone, Copy)]
struct DomainTally {
    hits: u64,
    stopped: u64,
    agreed: u64,
    disagreed: u64,
    unjudged: u64,
}

impl MeaningTally {
    pub(super) fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    pub(super) fn guard(&mut self, class: &'static str) {
        *self.guarded.entry(class).or_default() += 1;
    }

    pub(super) fn hit(&mut self, domain: Domain) {
        self.domains.entry(domain).or_default().hits += 1;
    }

    pub(super) fn stopped(&mut self, domain: Domain) {
        self.domains.entry(domain).or_default().stopped += 1;
    }

    pub(super) fn judged(&mut self, domain: Domain, agrees: Option<bool>) {
        let own = self.domains.entry(domain).or_default();
        *match agrees {
            Some(true) => &mut own.agreed,
            Some(false) => &mut own.disagreed,
            None => &mut own.unjudged,
        } += 1;
    }

    pub(super) fn counts(
        &self,
        entries: u64,
        reports: [(Domain, AuditReport); 6],
    ) -> MeaningCounts {
        let rows = |counted: &BTreeMap<&'static str, u64>| {
            counted
                .iter()
                .map(|(name, count)| (*name, *count))
                .collect()
        };
        let can_serve = |(domain, _): &(Domain, AuditReport)| domain.threshold().is_some();
        let domains = reports.into_iter().filter(can_serve);
        MeaningCounts {
            entries,
            misses: self.misses,
            skipped: rows(&self.skipped),
            guarded: rows(&self.guarded),
            domains: domains
                .map(|(domain, report)| {
                    let own = self.domains.get(&domain).copied().unwrap_or_default();
                    DomainCounts {
                        domain: domain.as_str(),
                        hits: own.hits,
                        stopped: own.stopped,
                        agreed: own.agreed,
                        disagreed: own.disagreed,
                        unjudged: own.unjudged,
                        report,
                    }
                })
                .collect(),
        }
    }
}
