use bardo_providers::{BaseUrl, EndpointConfig};
use bardo_types::model::Service;
use bardo_types::secret::Secret;

use super::*;
use crate::failure::{Failure, RetryDecision};
use bardo_types::fault::Fault;

mod hints;
pub(crate) mod observations;

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const BREAKER: Breaker = Breaker {
    enabled: true,
    failures: 10,
    connect_failures: 3,
    error_permille: 500,
    min_samples: 20,
    open_for: Duration::from_secs(30),
    open_for_max: Duration::from_secs(300),
};

/// One backend, and a clock that the test moves.
struct CircuitRig {
    health: Arc<HealthRecords>,
    who: CircuitKey,
    now: Instant,
}

impl CircuitRig {
    fn new() -> Self {
        let health = Arc::new(HealthRecords::default());
        let who = backend("openrouter", "key-1", "gpt-5.5");
        Self {
            health,
            who,
            now: Instant::now(),
        }
    }

    fn gate(&self) -> CircuitCheck {
        self.health.check(&self.who, &BREAKER, self.now)
    }

    #[track_caller]
    fn pass(&self) -> CallPermit {
        match self.gate() {
            CircuitCheck::Pass(permit) => permit,
            CircuitCheck::Paused(wait, _) => panic!("paused for {wait:?}"),
            CircuitCheck::Open { wait, .. } => panic!("open for {wait:?}"),
        }
    }

    #[track_caller]
    fn shut(&self) -> Duration {
        match self.gate() {
            CircuitCheck::Open { wait, .. } => wait,
            CircuitCheck::Pass(_) | CircuitCheck::Paused(..) => panic!("it is not open"),
        }
    }

    #[track_caller]
    fn fails(&self, class: FaultClass) {
        self.pass().failed(&failure(class), self.now);
    }

    #[track_caller]
    fn answers(&self) {
        self.pass().succeeded(self.now);
    }

    /// As for a request that has nobody else to ask.
    fn last(&self) -> Result<CallPermit, Duration> {
        self.health.last_resort(&self.who, &BREAKER, self.now)
    }

    /// How long even such a request is refused.
    #[track_caller]
    fn refused(&self) -> Duration {
        self.last().err().expect("it may not be asked")
    }

    fn shown(&self) -> CircuitHealth {
        let key = &self.who;
        let shown = self.health.circuits(self.now);
        let mut of = shown.into_iter().filter(|one| {
            (&*one.backend, &*one.model) == (&*key.0.endpoint.name, &*key.0.entry.upstream_id)
        });
        of.next().expect("the circuit is kept")
    }

    fn opened() -> Self {
        let scene = Self::new();
        for _ in 0..10 {
            scene.fails(FaultClass::Server);
        }
        scene
    }

    /// Open because nothing is heard of it any more.
    fn dead(failure: fn() -> Failure) -> Self {
        let scene = Self::new();
        while let CircuitCheck::Pass(permit) = scene.gate() {
            permit.failed(&failure(), scene.now);
        }
        scene
    }
}

pub(super) fn backend(name: &str, key: &str, model: &str) -> CircuitKey {
    let endpoint = Endpoint::new(EndpointConfig {
        name: name.into(),
        service: Service::OpenRouter,
        base: BaseUrl::parse("https://openrouter.ai/api/v1").unwrap(),
        key: Secret::new(key.into()),
        allow_private: false,
        dialects: None,
        direct: false,
    });
    let entry = ModelEntry {
        id: model.into(),
        upstream_id: model.into(),
        display_name: model.into(),
        vendor: "openai".into(),
        tier: None,
        capabilities: Arc::default(),
        price: None,
        created: 0,
        embeddings: false,
        rating: 0,
        security: bardo_types::privacy::SecurityClass::Standard,
    };
    CircuitKey::new(&Arc::new(endpoint), &Arc::new(entry))
}

pub(super) fn failure(class: FaultClass) -> Failure {
    Failure::reported(Fault::new(class, "it failed"))
}

fn unreachable() -> Failure {
    Failure {
        fault: Fault::new(FaultClass::Connection, "nobody there"),
        retry: RetryDecision::Same { after: None },
    }
}

fn silent() -> Failure {
    Failure::unknown(FaultClass::Timeout, "no answer in time")
}

#[test]
fn ten_failures_in_a_row_open_it_and_nine_do_not() {
    let scene = CircuitRig::new();
    for _ in 0..9 {
        scene.fails(FaultClass::Server);
    }
    scene.answers();
    for _ in 0..9 {
        scene.fails(FaultClass::Timeout);
    }
    assert_eq!(scene.shown().state, CircuitState::Closed);
    scene.fails(FaultClass::Overloaded);
    assert_eq!(scene.shut(), BREAKER.open_for);
}

#[test]
fn three_connections_in_a_row_that_do_not_come_about_open_it() {
    let scene = CircuitRig::new();
    for _ in 0..2 {
        scene.pass().failed(&unreachable(), scene.now);
    }
    scene.fails(FaultClass::Server);
    for _ in 0..3 {
        scene.pass().failed(&unreachable(), scene.now);
    }
    scene.shut();
}

#[test]
fn a_high_share_of_failures_opens_it_once_there_are_enough_answers() {
    let mut scene = CircuitRig::new();
    for round in 0..10 {
        scene.fails(FaultClass::Server);
        scene.now += SECOND;
        if round < 9 {
            scene.answers();
        }
    }
    // 9 of 19: not enough answers. The next failure makes it 11 of 20.
    assert_eq!(scene.shown().state, CircuitState::Closed);
    scene.fails(FaultClass::Server);
    scene.shut();

    // The same over more than five minutes is a share of fewer answers.
    let mut scene = CircuitRig::new();
    for _ in 0..40 {
        scene.fails(FaultClass::Server);
        scene.now += SECOND * 30;
        scene.answers();
        scene.now += SECOND * 30;
    }
    assert_eq!(scene.shown().state, CircuitState::Closed);
}

#[test]
fn one_failure_in_fifteen_is_shown_as_degraded_and_opens_nothing() {
    let scene = CircuitRig::new();
    for _ in 0..4 {
        scene.fails(FaultClass::Server);
        assert!(!scene.shown().degraded);
        for _ in 0..4 {
            scene.answers();
        }
    }
    scene.fails(FaultClass::Server);
    assert!(scene.shown().degraded, "5 of 21");
    for _ in 0..84 {
        scene.answers();
    }
    assert!(!scene.shown().degraded, "5 of 105");
    assert_eq!(scene.shown().state, CircuitState::Closed);
}

#[test]
fn what_callers_keys_and_limits_bring_about_never_opens_it() {
    let scene = CircuitRig::new();
    for class in [
        FaultClass::BadRequest,
        FaultClass::RateLimit,
        FaultClass::Authentication,
        FaultClass::Payment,
        FaultClass::Permission,
        FaultClass::NotFound,
        FaultClass::Unprocessable,
    ] {
        for _ in 0..50 {
            let permit = scene.last().ok().unwrap();
            permit.failed(&failure(class), scene.now);
        }
    }
    assert_eq!(scene.shown().state, CircuitState::Closed);
}

#[test]
fn one_request_finds_out_and_its_success_lets_all_through() {
    let mut scene = CircuitRig::opened();
    scene.now += SECOND * 29;
    assert_eq!(scene.shut(), SECOND);
    scene.now += SECOND;
    assert_eq!(scene.shown().state, CircuitState::HalfOpen);
    let probe = scene.pass();
    for _ in 0..100 {
        scene.shut();
    }
    probe.succeeded(scene.now);
    assert_eq!(scene.shown().state, CircuitState::Closed);
    // Ten more are needed again.
    for _ in 0..9 {
        scene.fails(FaultClass::Server);
    }
    scene.answers();
}

#[test]
fn each_failed_probe_doubles_the_wait_up_to_five_minutes() {
    let mut scene = CircuitRig::opened();
    for wait in [30, 60, 120, 240, 300, 300] {
        assert_eq!(scene.shut(), SECOND * wait);
        scene.now += SECOND * wait;
        scene.fails(FaultClass::Server);
    }
    // Closed again, it begins anew.
    scene.now += SECOND * 300;
    scene.answers();
    for _ in 0..10 {
        scene.fails(FaultClass::Server);
    }
    assert_eq!(scene.shut(), SECOND * 30);
}

#[test]
fn a_refusal_is_an_answer_to_a_probe() {
    for class in [FaultClass::RateLimit, FaultClass::BadRequest] {
        let mut scene = CircuitRig::opened();
        scene.now += SECOND * 30;
        scene.fails(class);
        assert_eq!(scene.shown().state, CircuitState::Closed, "{class:?}");
    }
}

#[test]
fn a_probe_that_never_ends_or_whose_caller_left_makes_room() {
    let mut scene = CircuitRig::opened();
    scene.now += SECOND * 30;
    drop(scene.pass());
    let endless = scene.pass();
    scene.now += SECOND * 9;
    scene.shut();
    scene.now += SECOND;
    let second = scene.pass();
    drop(endless);
    second.succeeded(scene.now);
    scene.answers();
}

#[test]
fn successes_of_before_do_not_close_it() {
    let scene = CircuitRig::new();
    let earlier = scene.pass();
    for _ in 0..10 {
        scene.fails(FaultClass::Server);
    }
    earlier.succeeded(scene.now);
    scene.shut();
}

#[test]
fn the_last_backend_that_answers_is_asked_by_everybody() {
    let mut scene = CircuitRig::opened();
    let error = failure(FaultClass::Server);
    let many: Vec<CallPermit> = (0..100).map(|_| scene.last().ok().unwrap()).collect();
    for permit in many {
        assert!(permit.is_for_once());
        permit.failed(&error, scene.now);
    }
    let shown = scene.shown();
    assert_eq!(shown.state, CircuitState::Open, "others go elsewhere");
    assert_eq!((shown.asked_anyway, shown.failures_in_a_row), (100, 110));
    // Their failures put nothing off.
    assert_eq!(scene.shut(), SECOND * 30);
    scene.now += SECOND;
    scene.last().ok().unwrap().succeeded(scene.now);
    assert_eq!(scene.shown().state, CircuitState::Closed);
    assert_eq!(scene.shown().asked_anyway, 0);
    assert!(!scene.pass().is_for_once());
}

#[test]
fn the_last_backend_is_asked_while_another_finds_out() {
    let mut scene = CircuitRig::opened();
    scene.now += SECOND * 30;
    let probe = scene.pass();
    scene.shut();
    drop(scene.last().ok().unwrap());
    scene.shut();
    probe.failed(&failure(FaultClass::Server), scene.now);
    assert_eq!(scene.shut(), SECOND * 60);
    drop(scene.last().ok().unwrap());
}

#[test]
fn a_dead_last_backend_is_looked_at_by_one_request_at_a_time_and_ever_less_often() {
    for cause in [unreachable, silent] {
        let mut scene = CircuitRig::dead(cause);
        for wait in [3, 6, 12] {
            assert_eq!(scene.refused(), SECOND * wait);
            scene.now += SECOND * wait;
            let probe = scene.last().ok().unwrap();
            scene.refused();
            probe.failed(&cause(), scene.now);
        }
        // That changes nothing of when all may come back, which is sooner than the next look.
        assert_eq!(scene.shut(), SECOND * 9);
        assert_eq!(scene.refused(), SECOND * 9);
        for wait in [9, 48, 12, 120, 240, 300, 300] {
            assert_eq!(scene.refused(), SECOND * wait);
            scene.now += SECOND * wait;
            scene.last().ok().unwrap().failed(&cause(), scene.now);
        }
        scene.now += SECOND * 300;
        scene.last().ok().unwrap().succeeded(scene.now);
        scene.answers();
    }
}

#[test]
fn the_first_word_of_a_dead_backend_opens_it_to_everybody_and_silence_closes_it_again() {
    let mut scene = CircuitRig::dead(silent);
    scene.now += SECOND * 3;
    let probe = scene.last().ok().unwrap();
    scene.refused();
    probe.failed(&failure(FaultClass::Server), scene.now);
    for cause in [silent, unreachable] {
        scene.last().ok().unwrap().failed(&cause(), scene.now);
    }
    scene.last().ok().unwrap().failed(&silent(), scene.now);
    assert_eq!(scene.refused(), SECOND * 3, "the first look again");
}

#[test]
fn single_silences_among_errors_are_no_death() {
    let scene = CircuitRig::new();
    for _ in 0..5 {
        scene.fails(FaultClass::Server);
        scene.pass().failed(&silent(), scene.now);
    }
    scene.shut();
    drop(scene.last().ok().unwrap());
    // What is told in the provider's own words is an answer.
    let scene = CircuitRig::new();
    for _ in 0..10 {
        scene.fails(FaultClass::Timeout);
    }
    scene.shut();
    drop(scene.last().ok().unwrap());
}

#[test]
fn nobody_is_asked_before_the_time_that_was_named() {
    let mut scene = CircuitRig::new();
    let mut fault = Fault::new(FaultClass::RateLimit, "later").with_status(429);
    fault.retry_after_ms = Some(5_000);
    let retry = RetryDecision::Same {
        after: Some(SECOND * 5),
    };
    let first = scene.pass().failed(&Failure { fault, retry }, scene.now);
    assert!(first, "of a backend that was well");
    for passed in 0..5 {
        let CircuitCheck::Paused(wait, class) = scene.gate() else {
            panic!("asked after {passed} seconds");
        };
        assert_eq!(
            (wait, class),
            (SECOND * (5 - passed), FaultClass::RateLimit)
        );
        scene.now += SECOND;
    }
    scene.answers();
    // A shorter time told later does not shorten it.
    for ms in [9_000, 1_000] {
        let mut fault = Fault::new(FaultClass::Overloaded, "later");
        fault.retry_after_ms = Some(ms);
        let permit = scene
            .health
            .permit(&scene.who, &BREAKER, Admittance::Closed);
        assert!(!permit.failed(&Failure::reported(fault), scene.now));
    }
    assert!(matches!(scene.gate(), CircuitCheck::Paused(wait, _) if wait == SECOND * 9));
}

#[test]
fn a_backend_that_refuses_the_gateways_own_account_twice_is_left_alone_until_it_answers() {
    for class in [FaultClass::Payment, FaultClass::Authentication] {
        let mut scene = CircuitRig::new();
        for _ in 0..2 {
            scene.fails(class);
        }
        let CircuitCheck::Paused(wait, known) = scene.gate() else {
            panic!("called a third time");
        };
        assert_eq!((wait, known), (SECOND * 60, class));
        // Where there is no other backend it is called all the same, and an answer ends the pause.
        let only = scene.health.last_resort(&scene.who, &BREAKER, scene.now);
        drop(only.ok().unwrap().succeeded(scene.now));
        drop(scene.pass());
        scene.fails(class);
        drop(scene.pass());
        scene.fails(class);
        scene.now += SECOND * 60;
        drop(scene.pass());
    }
    let scene = CircuitRig::new();
    for _ in 0..9 {
        scene.fails(FaultClass::Permission);
    }
    drop(scene.pass());
}

#[test]
fn each_backend_model_and_key_has_a_circuit_of_its_own() {
    let scene = CircuitRig::opened();
    scene.shut();
    for (name, key, model) in [
        ("venice", "key-1", "gpt-5.5"),
        ("openrouter", "key-2", "gpt-5.5"),
        ("openrouter", "key-1", "gpt-6-sol"),
    ] {
        let other = backend(name, key, model);
        let gate = scene.health.check(&other, &BREAKER, scene.now);
        assert!(
            matches!(gate, CircuitCheck::Pass(_)),
            "{name} {key} {model}"
        );
    }
    let same = backend("openrouter", "key-1", "gpt-5.5");
    let gate = scene.health.check(&same, &BREAKER, scene.now);
    assert!(
        matches!(gate, CircuitCheck::Open { .. }),
        "also after a reload"
    );
}

#[test]
fn switched_off_it_never_opens_and_an_open_one_lets_through() {
    let off = Breaker {
        enabled: false,
        ..BREAKER
    };
    let scene = CircuitRig::opened();
    let gate = scene.health.check(&scene.who, &off, scene.now);
    assert!(matches!(gate, CircuitCheck::Pass(_)));
    let scene = CircuitRig::new();
    for _ in 0..100 {
        let CircuitCheck::Pass(permit) = scene.health.check(&scene.who, &off, scene.now) else {
            panic!("it opened");
        };
        permit.failed(&failure(FaultClass::Server), scene.now);
    }
}

#[test]
fn names_without_end_do_not_fill_the_memory() {
    let mut scene = CircuitRig::opened();
    for index in 0..RECORDS_MAX * 2 {
        scene.now += Duration::from_millis(1);
        // A circuit that requests ask about is in use.
        scene.shut();
        scene.now += Duration::from_millis(1);
        let who = backend("openrouter", "key-1", &index.to_string());
        let permit = scene.health.permit(&who, &BREAKER, Admittance::Closed);
        permit.failed(&failure(FaultClass::Server), scene.now);
    }
    assert_eq!(scene.health.circuits(scene.now).len(), RECORDS_MAX);
    scene.shut();
    let oldest = backend("openrouter", "key-1", "0");
    assert!(!scene.health.is_unwell(&oldest, scene.now));
}

#[test]
fn a_backend_that_failed_twice_of_late_is_unwell() {
    let mut scene = CircuitRig::new();
    scene.fails(FaultClass::RateLimit);
    assert!(!scene.health.is_unwell(&scene.who, scene.now));
    scene.fails(FaultClass::RateLimit);
    assert!(scene.health.is_unwell(&scene.who, scene.now));
    scene.now += SECOND * 30;
    assert!(!scene.health.is_unwell(&scene.who, scene.now));
    scene.fails(FaultClass::Server);
    scene.answers();
    assert!(!scene.health.is_unwell(&scene.who, scene.now));
}

#[test]
fn answers_that_break_off_are_failures_in_a_row_unless_another_answer_came() {
    let broke = || Fault::new(FaultClass::Connection, "cut");
    let scene = CircuitRig::new();
    for count in 1..10 {
        scene.pass().succeeded(scene.now).failed(&broke());
        assert_eq!(scene.shown().failures_in_a_row, count);
    }
    let shown = scene.shown();
    assert_eq!(
        (shown.successes, shown.failures),
        (0, 9),
        "each counts once"
    );
    let long = scene.pass().succeeded(scene.now);
    scene.answers();
    long.failed(&broke());
    assert_eq!(scene.shown().failures_in_a_row, 1);
    for _ in 0..9 {
        scene.pass().succeeded(scene.now).failed(&broke());
    }
    assert_eq!(scene.shown().state, CircuitState::Open);
}

#[test]
fn failures_before_a_circuit_closed_do_not_open_it_again_and_stay_visible() {
    let mut scene = CircuitRig::opened();
    scene.now += SECOND * 30;
    scene.answers();
    for _ in 0..9 {
        scene.answers();
        scene.fails(FaultClass::Server);
    }
    // 9 of 19 since it closed, and 19 of 29 in all.
    let shown = scene.shown();
    assert_eq!(shown.state, CircuitState::Closed);
    assert_eq!((shown.successes, shown.failures), (10, 19));
    assert!(shown.degraded);
    scene.fails(FaultClass::Server);
    scene.shut();
}
