use bardo_types::ids::{AccountId, RequestId};
use bardo_types::model::Dialect;
use bardo_types::money::{BasisPoints, MicroUsd};
use bardo_types::receipt::{Amounts, Attempt, AttemptFailure, PaymentMode, Timings};

use super::{BREAKER, SECOND, backend, failure};
use crate::health::*;
use bardo_types::fault::Fault;

/// The backend `b` with the model `m`, and a clock that the test moves.
struct ObservationRig {
    health: Arc<HealthRecords>,
    now: Instant,
}

pub(crate) fn receipt(attempts: Vec<Attempt>, outcome: Outcome) -> Receipt {
    Receipt {
        request_id: RequestId::parse("req_1").unwrap(),
        client_request_id: None,
        trace_id: None,
        caller_span: None,
        received_at_ms: 0,
        account: AccountId::parse("a").unwrap(),
        key: None,
        session: None,
        subsystem: None,
        dialect: Dialect::Chat,
        upstream_dialect: Dialect::Chat,
        model_requested: "m".into(),
        model: "m".into(),
        model_answered: None,
        backend: "b".into(),
        upstream_request_id: None,
        attempts,
        passed_over: Vec::new(),
        streamed: false,
        usage: None,
        saved_usage: None,
        cache_age: None,
        cache_similarity: None,
        cache_reason: None,
        estimated: false,
        mode: PaymentMode::Owner,
        provider_payment: None,
        amounts: Amounts {
            provider_cost: None,
            spread_rate: BasisPoints::ZERO,
            spread: MicroUsd::ZERO,
            charge: MicroUsd::ZERO,
            shortfall: MicroUsd::ZERO,
            baseline: None,
            cache_savings: None,
            balance: None,
        },
        cache: "bypass".into(),
        verification: None,
        degraded: Vec::new(),
        optimizations: Vec::new(),
        routing: None,
        outcome,
        timings: Timings::default(),
    }
}

fn attempt(backend: &str, failure: Option<FaultClass>) -> Attempt {
    Attempt {
        backend: backend.into(),
        model: "m".into(),
        failure: failure.map(|class| AttemptFailure {
            class,
            status: None,
            unknown_outcome: false,
        }),
        duration: Duration::ZERO,
        payment: None,
    }
}

impl ObservationRig {
    fn new() -> Self {
        Self {
            health: Arc::default(),
            now: Instant::now(),
        }
    }

    fn key(name: &str) -> CircuitKey {
        backend(name, "k", "m")
    }

    /// Permission to call a backend, whatever its circuit says.
    fn permit(&self, name: &str) -> CallPermit {
        self.health
            .permit(&Self::key(name), &BREAKER, Admittance::Closed)
    }

    /// An answer that took so long since it was asked for.
    fn answers(&self, ms: u64, streamed: bool) {
        self.permit("b").succeeded(self.now);
        let mut receipt = receipt(vec![attempt("b", None)], Outcome::Finished);
        receipt.streamed = streamed;
        receipt.timings.sent = Some(SECOND);
        receipt.timings.first_content = Some(SECOND + Duration::from_millis(ms));
        self.health.settled(&receipt, None, self.now);
    }

    fn fails(&self, class: FaultClass) {
        self.fails_at("b", class);
    }

    fn fails_at(&self, name: &str, class: FaultClass) {
        self.permit(name).failed(&failure(class), self.now);
        let receipt = receipt(vec![attempt(name, Some(class))], Outcome::Failed);
        self.health.settled(&receipt, None, self.now);
    }

    fn at(&self, name: &str) -> Observation {
        self.health.observe(&Self::key(name), self.now)
    }

    fn seen(&self) -> Observation {
        self.at("b")
    }
}

#[test]
fn nothing_is_said_before_anything_is_known() {
    let scene = ObservationRig::new();
    assert_eq!(scene.seen(), Observation::NOTHING);
    for _ in 0..19 {
        scene.answers(100, false);
    }
    let seen = scene.seen();
    assert_eq!((seen.state, seen.samples), (BackendState::Healthy, 19));
    assert_eq!(seen.whole.p50_ms, None);
    scene.answers(100, false);
    let seen = scene.seen();
    assert!(seen.whole.p50_ms.is_some_and(|ms| (90..=112).contains(&ms)));
    assert_eq!(seen.first_content.samples, 0);
    assert_eq!(seen.latency(false), &seen.whole);
    // What was asked for counts by the backend's name for it.
    let other = scene.health.observe(&backend("b", "k", "other"), scene.now);
    assert_eq!(other.state, BackendState::Unknown);
}

#[test]
fn streams_and_whole_answers_are_told_apart() {
    let scene = ObservationRig::new();
    for _ in 0..100 {
        scene.answers(50, true);
        scene.answers(4_000, false);
    }
    let seen = scene.seen();
    assert!(seen.latency(true).p95_ms < Some(60));
    assert!(seen.latency(false).p50_ms > Some(3_000));
    assert_eq!(seen.samples, 200);
}

#[test]
fn one_in_twenty_is_well_and_more_are_not() {
    for (failures, degraded) in [(4, false), (5, false), (6, true)] {
        let scene = ObservationRig::new();
        for _ in 0..failures {
            scene.fails(FaultClass::Server);
            scene.answers(10, false);
        }
        for _ in 0..100 - 2 * failures {
            scene.answers(10, false);
        }
        let expected = if degraded {
            BackendState::Degraded {
                error_permille: failures * 10,
            }
        } else {
            BackendState::Healthy
        };
        let seen = scene.seen();
        assert_eq!((seen.state, seen.samples), (expected, 100));
        assert_eq!(seen.error_permille, failures * 10);
    }
}

#[test]
fn a_few_failures_among_a_few_tries_say_nothing_yet() {
    let scene = ObservationRig::new();
    for _ in 0..9 {
        scene.fails(FaultClass::Server);
        scene.answers(10, false);
    }
    assert_eq!(scene.seen().state, BackendState::Healthy);
    scene.fails(FaultClass::Server);
    scene.answers(10, false);
    assert!(matches!(
        scene.seen().state,
        BackendState::Degraded {
            error_permille: 500
        }
    ));
}

#[test]
fn three_failures_in_a_row_are_down_and_half_a_minute_later_it_may_be_tried() {
    let mut scene = ObservationRig::new();
    let since = scene.now;
    for _ in 0..3 {
        assert!(!scene.seen().state.is_down());
        scene.fails(FaultClass::Timeout);
        scene.now += SECOND;
    }
    assert_eq!(scene.seen().state, BackendState::Down { since });
    scene.now += SECOND * 29;
    assert!(!scene.seen().state.is_down());
    scene.fails(FaultClass::Timeout);
    assert_eq!(scene.seen().state, BackendState::Down { since });
    scene.answers(10, false);
    assert_eq!(scene.seen().state, BackendState::Healthy);
}

#[test]
fn what_callers_bring_about_is_no_failure_and_ends_a_row_of_them() {
    let scene = ObservationRig::new();
    for class in [
        FaultClass::BadRequest,
        FaultClass::ContextTooLong,
        FaultClass::Authentication,
        FaultClass::Payment,
        FaultClass::NotFound,
        FaultClass::TooLarge,
        FaultClass::RateLimit,
    ] {
        scene.fails(FaultClass::Connection);
        scene.fails(FaultClass::Connection);
        scene.fails(class);
        assert!(!scene.seen().state.is_down(), "{class:?}");
    }
    assert_eq!(scene.seen().samples, 14);
}

#[test]
fn each_try_of_a_request_counts_where_it_was_made() {
    let scene = ObservationRig::new();
    let attempts = vec![
        attempt("a", Some(FaultClass::Overloaded)),
        attempt("b", None),
    ];
    let mut both = receipt(attempts, Outcome::Finished);
    both.timings.sent = Some(SECOND);
    both.timings.first_content = Some(SECOND * 2);
    scene
        .permit("a")
        .failed(&failure(FaultClass::Overloaded), scene.now);
    scene.permit("b").succeeded(scene.now);
    scene.health.settled(&both, None, scene.now);
    let first = scene.at("a");
    assert_eq!((first.samples, first.error_permille), (1, 1000));
    assert_eq!((scene.seen().samples, scene.seen().error_permille), (1, 0));
    assert_eq!(scene.seen().whole.samples, 1);
}

#[test]
fn an_answer_that_breaks_off_counts_against_the_backend_only_where_it_broke_it() {
    let ended = |streamed: bool, outcome, broke: Option<FaultClass>| {
        let scene = ObservationRig::new();
        let answer = scene.permit("b").succeeded(scene.now);
        if let Some(class) = broke {
            answer.failed(&Fault::new(class, "cut"));
        }
        let mut receipt = receipt(vec![attempt("b", None)], outcome);
        receipt.streamed = streamed;
        receipt.timings.sent = Some(SECOND);
        receipt.timings.first_content = Some(SECOND * 2);
        scene.health.settled(&receipt, broke, scene.now);
        let seen = scene.seen();
        let timed = seen.latency(streamed).samples;
        (seen.samples, seen.error_permille, timed)
    };
    assert_eq!(
        ended(true, Outcome::Failed, Some(FaultClass::Connection)),
        (1, 1000, 0)
    );
    assert_eq!(
        ended(true, Outcome::Failed, Some(FaultClass::Payment)),
        (1, 0, 1)
    );
    assert_eq!(ended(true, Outcome::Aborted, None), (1, 0, 1));
    assert_eq!(ended(false, Outcome::Aborted, None), (1, 0, 0));
}

#[test]
fn far_slower_than_usual_is_degraded_and_slower_is_not() {
    let mut scene = ObservationRig::new();
    for _ in 0..60 {
        for _ in 0..20 {
            scene.answers(800, true);
        }
        scene.now += SECOND * 10;
    }
    assert_eq!(scene.seen().state, BackendState::Healthy);
    let mut after = |ms: u64| {
        scene.now += SECOND * 300;
        for _ in 0..20 {
            scene.answers(ms, true);
        }
        scene.seen().state
    };
    assert_eq!(after(1_500), BackendState::Healthy);
    assert_eq!(after(9_000), BackendState::Degraded { error_permille: 0 });
    assert_eq!(after(800), BackendState::Healthy);
}

#[test]
fn three_probes_without_an_answer_are_down_until_one_answers() {
    let scene = ObservationRig::new();
    let since = scene.now;
    let fail = || Err("no route".to_owned());
    for _ in 0..3 {
        assert_eq!(scene.seen().state, BackendState::Unknown);
        scene.health.probed("b", fail(), scene.now);
    }
    assert_eq!(scene.seen().state, BackendState::Down { since });
    let shown = scene.health.probe_health(scene.now);
    assert_eq!(
        (shown[0].failures_in_a_row, shown[0].error.as_deref()),
        (3, Some("no route"))
    );
    for _ in 0..3 {
        scene.fails(FaultClass::Connection);
    }
    scene.health.probed("b", Ok(()), scene.now);
    assert!(!scene.seen().state.is_down());
    // One that answered all the time is not back.
    for _ in 0..3 {
        scene.fails(FaultClass::Server);
    }
    scene.health.probed("b", Ok(()), scene.now);
    assert!(scene.seen().state.is_down());
    let other = scene.health.observe(&backend("b", "k", "n"), scene.now);
    assert_eq!(other.state, BackendState::Healthy);
    scene.health.keep_probes_of(|name| name != "b");
    assert_eq!(scene.health.probe_health(scene.now), []);
}

#[test]
fn made_up_names_push_out_the_oldest_and_never_the_busy() {
    let mut scene = ObservationRig::new();
    for index in 0..RECORDS_MAX * 2 {
        scene.answers(10, false);
        scene.now += Duration::from_millis(1);
        let backend = format!("made up {index}");
        scene.fails_at(&backend, FaultClass::Server);
    }
    assert_eq!(scene.health.backends(scene.now).len(), RECORDS_MAX);
    assert_eq!(
        scene.seen().samples,
        u32::try_from(RECORDS_MAX * 2).unwrap()
    );
    assert!(scene.health.last_traffic("made up 0").is_none());
    assert!(scene.health.last_traffic("b").is_some());
}
