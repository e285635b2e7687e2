//! A stream of would-be hits against the auditor, with a known rate of false hits.

use bardo_cache::semantic::{
    AuditDecision, AuditOutcome, AuditRules, Domain, DomainChange, HitAuditor,
};

/// A generator of random numbers with a seed (SplitMix64).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// A number from 0 to below 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What a run of would-be hits led to.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Run {
    /// Would-be hits until the end of the run.
    pub(crate) hits: u32,
    /// Hits that were served.
    pub(crate) served: u32,
    /// Served hits that were false.
    pub(crate) false_served: u32,
    /// Live answers for audits, those of a stopped domain left out.
    pub(crate) audits: u32,
    /// Second live answers for the baseline.
    pub(crate) second_answers: u32,
    /// The domain was stopped.
    pub(crate) stopped: bool,
}

/// Rates of one phase of a simulation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phase {
    /// The share of would-be hits that are false.
    pub(crate) false_rate: f64,
    /// The share of pairs of live answers that disagree although the hit is right.
    pub(crate) noise: f64,
    /// Would-be hits at most.
    pub(crate) hits: u32,
    /// The phase ends when the domain stops.
    pub(crate) until_stop: bool,
}

/// Plays a phase for one tenant of the domain of references.
pub(crate) fn play(auditor: &mut HitAuditor, draws: &mut Draws, phase: Phase) -> Run {
    let mut run = Run::default();
    for hit in 0..phase.hits {
        run.hits += 1;
        let is_false = draws.next() < phase.false_rate;
        let serving = auditor.serves(Domain::Reference);
        let day = u64::from(hit / 1_000);
        match auditor.decide(Domain::Reference, 1, day, draws.next(), draws.next()) {
            AuditDecision::Serve => {
                run.served += 1;
                run.false_served += u32::from(is_false);
            }
            AuditDecision::Miss => {}
            AuditDecision::Audit { twice } => {
                run.audits += u32::from(serving);
                run.second_answers += u32::from(twice);
                let outcome = AuditOutcome {
                    agrees: !is_false && draws.next() >= phase.noise,
                    live_agree: twice.then(|| draws.next() >= phase.noise),
                };
                if auditor.record(Domain::Reference, 1, outcome) == Some(DomainChange::Stopped) {
                    run.stopped = true;
                    if phase.until_stop {
                        return run;
                    }
                }
            }
        }
    }
    run
}

/// A domain that was right for `before` hits and turns bad: what is served until it stops.
pub(crate) fn poisoned(seed: u64, before: u32, false_rate: f64) -> Run {
    let mut auditor = HitAuditor::new(AuditRules::default());
    let mut draws = Draws(seed);
    let healthy = Phase {
        false_rate: 0.0,
        noise: 0.0,
        hits: before,
        until_stop: false,
    };
    play(&mut auditor, &mut draws, healthy);
    let bad = Phase {
        false_rate,
        hits: 200_000,
        until_stop: true,
        ..healthy
    };
    play(&mut auditor, &mut draws, bad)
}
