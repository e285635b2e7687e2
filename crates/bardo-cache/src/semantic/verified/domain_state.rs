//! The evidence of one domain, and whether it serves.

use std::collections::VecDeque;

use super::bounds::{clean_audits, lower, upper};
use super::window::{AuditWindow, RESTORED, WindowedAudit};
use super::{AuditMode, AuditOutcome, AuditReport, AuditRules, DomainChange, SHIPPED_AUDITS};

/// The error that audits may have; the rest up to 5 % is the baseline's.
const AUDIT_ERROR: f64 = 0.04;
const BASELINE_ERROR: f64 = 0.01;

#[derive(Debug)]
pub(super) struct DomainState {
    pub(super) serves: bool,
    /// The bound after the latest audit of any domain.
    pub(super) current_bound: f64,
    window: AuditWindow,
    /// Audits since the last disagreement.
    since_alarm: Option<usize>,
    looks: u32,
    next_look: u32,
    /// Whether each of the latest comparisons came to no result, and the digest of its account.
    undecided: VecDeque<(bool, u64)>,
}

/// The audits that a domain borrows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuditPool {
    pub(super) audits: u32,
    pub(super) wrong: u32,
}

impl AuditPool {
    /// The share that disagreed.
    fn rate(self) -> f64 {
        f64::from(self.wrong) / f64::from(self.audits.max(1))
    }

    /// The audits of two pools together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            audits: self.audits.saturating_add(other.audits),
            wrong: self.wrong.saturating_add(other.wrong),
        }
    }
}

/// Comparisons that are remembered for those without a result.
const COMPARISONS: usize = 200;
/// The least comparisons that can say that too many have no result.
const COMPARISONS_MIN: usize = 50;

impl DomainState {
    pub(super) fn new(rules: &AuditRules) -> Self {
        let mut state = Self {
            // What the shipped evaluation cannot prove waits for evidence.
            serves: rules.mode == AuditMode::Guarded
                && clean_audits(rules.max_error, AUDIT_ERROR) <= SHIPPED_AUDITS,
            current_bound: 1.0,
            window: AuditWindow::default(),
            since_alarm: None,
            looks: 0,
            next_look: 0,
            undecided: VecDeque::new(),
        };
        state.next_look = state.clean_size(rules);
        state
    }

    pub(super) fn is_alarmed(&self, rules: &AuditRules) -> bool {
        self.since_alarm.is_some_and(|audits| audits < rules.recent)
    }

    /// Audits and disagreements of the window.
    fn counts(&self) -> (u32, u32) {
        let counts = self.window.counts();
        (counts.audits, counts.disagreements)
    }

    /// The audits that other domains may borrow. An account that alone disagrees says nothing of the
    /// others.
    pub(super) fn lent(&self) -> AuditPool {
        let (audits, wrong) = self.window.counts_of_several();
        AuditPool { audits, wrong }
    }

    /// Takes a comparison without a result.
    pub(super) fn undecided(&mut self, tenant: u64, rules: &AuditRules) -> Option<DomainChange> {
        self.compared(true, tenant);
        (self.serves && self.is_unproven()).then(|| self.stop(rules))
    }

    fn compared(&mut self, undecided: bool, tenant: u64) {
        self.undecided.push_back((undecided, tenant));
        if self.undecided.len() > COMPARISONS {
            self.undecided.pop_front();
        }
    }

    fn undecided_count(&self) -> usize {
        self.undecided
            .iter()
            .filter(|(undecided, _)| *undecided)
            .count()
    }

    /// More than half of the latest comparisons came to no result.
    fn is_unproven(&self) -> bool {
        let all = self.undecided.len();
        all >= COMPARISONS_MIN && self.undecided_count() * 2 > all
    }

    /// Audits of the window that are known to be of other accounts.
    pub(super) fn audits_beside(&self, tenant: u64) -> u32 {
        count(self.window.audits_beside(tenant))
    }

    /// Forgets the audits of an account, their pairs and its comparisons, so that the noise of its
    /// answers excuses those of no other.
    pub(super) fn leave_out(&mut self, tenant: u64) {
        self.window.leave_out(tenant);
        self.undecided.retain(|(_, of)| *of != tenant);
    }

    pub(super) fn record(
        &mut self,
        tenant: u64,
        outcome: AuditOutcome,
        rules: &AuditRules,
        pool: AuditPool,
    ) -> Option<DomainChange> {
        self.compared(false, tenant);
        let audit = WindowedAudit {
            agrees: outcome.agrees,
            live_agree: outcome.live_agree,
            tenant,
        };
        self.window.push(audit, self.window_max(rules));
        self.since_alarm = match (outcome.agrees, self.since_alarm) {
            (false, _) => Some(0),
            (true, since) => since.map(|audits| audits + 1),
        };
        if self.serves {
            // What it borrows can keep it from serving, and does not cost it its evidence.
            let is_own = !outcome.agrees || self.borrows(rules, pool) == 0;
            let is_above = is_own && self.bound(rules, pool) > rules.max_error;
            let stops = is_above || self.proves_error(rules);
            return stops.then(|| self.stop(rules));
        }
        self.look(rules)
    }

    /// The state as words: whether it serves, looks, the next look, audits since the last
    /// disagreement. Then in digits, the oldest first: the audits, whether the pair of live answers of
    /// each of them agreed (`-` where there is none), the comparisons without a result.
    pub(super) fn line(&self) -> String {
        let digits = |window: &mut dyn Iterator<Item = Option<bool>>| -> String {
            let digits = window.map(|known| match known {
                Some(true) => '1',
                Some(false) => '0',
                None => '-',
            });
            std::iter::once('w').chain(digits).collect()
        };
        let since = self.since_alarm.map_or("-".to_owned(), |n| n.to_string());
        format!(
            "{} {} {} {since} {} {} {}",
            u8::from(self.serves),
            self.looks,
            self.next_look,
            digits(&mut self.window.audits().map(|audit| Some(audit.agrees))),
            digits(&mut self.window.audits().map(|audit| audit.live_agree)),
            digits(&mut self.undecided.iter().map(|(undecided, _)| Some(*undecided))),
        )
    }

    /// Stops without evidence.
    pub(super) fn distrust(&mut self, rules: &AuditRules) {
        self.looks = self.looks.max(1);
        self.stop(rules);
    }

    /// Takes the state from its words; stops where they cannot be read.
    pub(super) fn read(&mut self, line: &str, rules: &AuditRules) {
        match Self::parse(line, rules) {
            Some(state) => *self = state,
            None => self.distrust(rules),
        }
    }

    fn parse(line: &str, rules: &AuditRules) -> Option<Self> {
        let mut words = line.split(' ');
        let mut state = Self::new(rules);
        state.serves = match words.next()? {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        state.looks = words.next()?.parse().ok()?;
        state.next_look = words.next()?.parse().ok()?;
        state.since_alarm = match words.next()? {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        let audits = bits(words.next()?)?;
        let most = state.window_max(rules);
        let mut pairs = digits(words.next()?)?;
        // Earlier versions wrote pairs without their audits; such pairs excuse nothing.
        if pairs.len() != audits.len() {
            pairs = vec![None; audits.len()];
        }
        for (agrees, live_agree) in audits.into_iter().zip(pairs) {
            let audit = WindowedAudit {
                agrees,
                live_agree,
                tenant: RESTORED,
            };
            state.window.push(audit, most);
        }
        // Earlier versions wrote no comparisons without a result.
        for undecided in words.next().map_or(Some(Vec::new()), bits)? {
            state.compared(undecided, RESTORED);
        }
        // It may have been written under other rules.
        let (least, most) = (state.clean_size(rules), state.window_max(rules));
        state.next_look = state.next_look.clamp(least, most);
        words.next().is_none().then_some(state)
    }

    /// Takes other rules, under which a clean record has another size.
    pub(super) fn set_rules(&mut self, rules: &AuditRules) {
        self.next_look = self.clean_size(rules);
    }

    /// Ceases to serve until the evidence, which stays, is enough.
    pub(super) fn wait(&mut self, rules: &AuditRules) {
        self.serves = false;
        self.next_look = self.clean_size(rules);
    }

    fn stop(&mut self, rules: &AuditRules) -> DomainChange {
        self.serves = false;
        self.forget(rules);
        DomainChange::Stopped
    }

    fn forget(&mut self, rules: &AuditRules) {
        self.window.clear();
        self.next_look = self.clean_size(rules);
    }

    /// The error of the next look: all looks together stay within the whole.
    fn look_error(&self) -> f64 {
        let look = f64::from(self.looks + 1);
        AUDIT_ERROR / (look * (look + 1.0))
    }

    fn clean_size(&self, rules: &AuditRules) -> u32 {
        clean_audits(rules.max_error, self.look_error())
    }

    /// The audits that are kept: at least as many as the next look needs.
    fn window_max(&self, rules: &AuditRules) -> u32 {
        rules.window.max(self.clean_size(rules))
    }

    /// Looks at the evidence of a stopped domain where a look is due.
    fn look(&mut self, rules: &AuditRules) -> Option<DomainChange> {
        let (audits, disagreements) = self.counts();
        if audits < self.next_look {
            return None;
        }
        let above = upper(disagreements, audits, self.look_error());
        let passes = self.beyond_baseline(above) <= rules.max_error && !self.is_unproven();
        self.looks += 1;
        if passes {
            self.serves = true;
            self.since_alarm = None;
            return Some(DomainChange::Started);
        }
        self.next_look = audits.saturating_mul(2).max(self.clean_size(rules));
        if self.next_look > self.window_max(rules) {
            self.forget(rules);
        }
        None
    }

    /// Whether the latest audits alone prove a rate above the limit.
    fn proves_error(&self, rules: &AuditRules) -> bool {
        let latest = self.window.audits().rev().take(rules.recent);
        let (audits, wrong) = latest.fold((0, 0), |(audits, wrong), audit| {
            (audits + 1, wrong + u32::from(!audit.agrees))
        });
        let below = lower(wrong, audits, 0.05);
        self.beyond_baseline(below) > rules.max_error
    }

    /// Audits that are borrowed from the pool, which may have fewer than are missing.
    fn borrows(&self, rules: &AuditRules, pool: AuditPool) -> u32 {
        let needed = clean_audits(rules.max_error, AUDIT_ERROR);
        match rules.mode {
            // A domain that was stopped stands on its own evidence.
            AuditMode::Guarded if self.looks == 0 && self.serves => needed
                .saturating_sub(self.window.counts().audits)
                .min(pool.audits),
            AuditMode::Guarded | AuditMode::Verified => 0,
        }
    }

    /// The upper bound of the false-hit rate, with borrowed audits in mode `guarded`.
    pub(super) fn bound(&self, rules: &AuditRules, pool: AuditPool) -> f64 {
        let (audits, disagreements) = self.counts();
        let borrowed = self.borrows(rules, pool);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of some hundred audits"
        )]
        let borrowed_wrong = (f64::from(borrowed) * pool.rate()).round() as u32;
        let above = upper(
            disagreements + borrowed_wrong,
            audits + borrowed,
            AUDIT_ERROR,
        );
        self.beyond_baseline(above)
    }

    /// The part of a rate that two live answers do not explain. Audits of accounts without such
    /// pairs have no known noise, so they are excused for none.
    fn beyond_baseline(&self, rate: f64) -> f64 {
        let counts = self.window.counts();
        let base = match counts.live_disagreements {
            0 => 0.0,
            wrong => lower(wrong, counts.pairs, BASELINE_ERROR) * self.window.paired_share(),
        };
        ((rate - base) / (1.0 - base).max(f64::EPSILON)).max(0.0)
    }

    pub(super) fn report(&self, rules: &AuditRules) -> AuditReport {
        let counts = self.window.counts();
        let needed = match self.serves {
            true if self.current_bound <= rules.max_error => 0,
            // It is held back by what it borrows, and borrows nothing at that size.
            true => clean_audits(rules.max_error, AUDIT_ERROR),
            false => self.next_look,
        };
        AuditReport {
            serves: self.serves,
            audits: counts.audits,
            disagreements: counts.disagreements,
            undecided: count(self.undecided_count()),
            apart: 0,
            live_pairs: counts.pairs,
            live_disagreements: counts.live_disagreements,
            bound: self.current_bound,
            missing: needed.saturating_sub(counts.audits),
        }
    }
}

/// The digits behind the `w` of a saved window; `-` is `None`.
fn digits(word: &str) -> Option<Vec<Option<bool>>> {
    let digits = word.strip_prefix('w')?.chars();
    let known = |digit| match digit {
        '0' => Some(Some(false)),
        '1' => Some(Some(true)),
        '-' => Some(None),
        _ => None,
    };
    digits.map(known).collect()
}

/// [`digits`] that are all known.
fn bits(word: &str) -> Option<Vec<bool>> {
    digits(word)?.into_iter().collect()
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
