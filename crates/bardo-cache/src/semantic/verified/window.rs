//! The latest audits of a domain, with the pairs of live answers that came with them.

use std::collections::{BTreeSet, VecDeque};

/// The result of one audit.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowedAudit {
    /// The stored answer agreed with the live one.
    pub(super) agrees: bool,
    /// Two live answers agreed; `None` where one was asked for.
    pub(super) live_agree: Option<bool>,
    /// Digest of the account, or [`RESTORED`].
    pub(super) tenant: u64,
}

/// The account of audits from before a restart, which is not known.
pub(super) const RESTORED: u64 = 0;

fn share(part: usize, whole: usize) -> f64 {
    let [part, whole] = [part, whole.max(1)].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    f64::from(part) / f64::from(whole)
}

/// What a window adds up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WindowCounts {
    pub(super) audits: u32,
    pub(super) disagreements: u32,
    /// Pairs of live answers.
    pub(super) pairs: u32,
    pub(super) live_disagreements: u32,
}

/// The latest audits, oldest first. A pair of live answers stays as long as its audit, so that the
/// noise that a domain is excused for is that of the audits it is judged by.
#[derive(Debug, Default)]
pub(super) struct AuditWindow {
    audits: VecDeque<WindowedAudit>,
    counts: WindowCounts,
}

impl AuditWindow {
    pub(super) fn counts(&self) -> WindowCounts {
        self.counts
    }

    /// The audits, oldest first.
    pub(super) fn audits(&self) -> impl DoubleEndedIterator<Item = &WindowedAudit> {
        self.audits.iter()
    }

    /// The share of audits that are of accounts with a pair of live answers. Of audits from before a
    /// restart no account is known, so they count where they have a pair themselves.
    pub(super) fn paired_share(&self) -> f64 {
        let pairs = self.audits.iter().filter(|one| one.live_agree.is_some());
        let tenants: BTreeSet<u64> = pairs.map(|audit| audit.tenant).collect();
        let is_paired = |audit: &&WindowedAudit| {
            audit.live_agree.is_some()
                || audit.tenant != RESTORED && tenants.contains(&audit.tenant)
        };
        let paired = self.audits.iter().filter(is_paired).count();
        share(paired, self.audits.len())
    }

    /// Audits that are known to be of other accounts.
    pub(super) fn audits_beside(&self, tenant: u64) -> usize {
        let is_other = |audit: &&WindowedAudit| ![tenant, RESTORED].contains(&audit.tenant);
        self.audits.iter().filter(is_other).count()
    }

    /// Audits and disagreements without those of an account that has all the disagreements.
    pub(super) fn counts_of_several(&self) -> (u32, u32) {
        let mut wrong = self.audits.iter().filter(|audit| !audit.agrees);
        let first = wrong.next().map(|audit| audit.tenant);
        if first.is_none() || wrong.any(|audit| Some(audit.tenant) != first) {
            return (self.counts.audits, self.counts.disagreements);
        }
        let others = self.audits.iter().filter(|one| Some(one.tenant) != first);
        (u32::try_from(others.count()).unwrap_or(u32::MAX), 0)
    }

    /// Adds an audit; above `most` the oldest ones leave.
    pub(super) fn push(&mut self, audit: WindowedAudit, most: u32) {
        self.audits.push_back(audit);
        self.counts.add(audit);
        while self.counts.audits > most
            && let Some(oldest) = self.audits.pop_front()
        {
            self.counts.remove(oldest);
        }
    }

    /// Forgets the audits of an account. Pairs from before a restart may be its own, so they go too.
    pub(super) fn leave_out(&mut self, tenant: u64) {
        self.audits.retain(|audit| audit.tenant != tenant);
        for audit in &mut self.audits {
            if audit.tenant == RESTORED {
                audit.live_agree = None;
            }
        }
        self.recount();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn recount(&mut self) {
        self.counts = WindowCounts::default();
        for audit in &self.audits {
            self.counts.add(*audit);
        }
    }
}

impl WindowCounts {
    fn add(&mut self, audit: WindowedAudit) {
        self.audits += 1;
        self.disagreements += u32::from(!audit.agrees);
        self.pairs += u32::from(audit.live_agree.is_some());
        self.live_disagreements += u32::from(audit.live_agree == Some(false));
    }

    fn remove(&mut self, audit: WindowedAudit) {
        self.audits -= 1;
        self.disagreements -= u32::from(!audit.agrees);
        self.pairs -= u32::from(audit.live_agree.is_some());
        self.live_disagreements -= u32::from(audit.live_agree == Some(false));
    }
}
