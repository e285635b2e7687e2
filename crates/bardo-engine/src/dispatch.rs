//! From backend to backend until one answers, before the caller has seen a byte.
//!
//! Each candidate is asked once, in order; one of them may be asked once more at the end, where that
//! surely costs nobody twice (`docs/retries.md`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::privacy::SecurityClass;
use bardo_types::receipt::PassedOver;
use tokio::time::Instant;

use crate::answer::{Delivering, Unanswered};
use crate::call::Call;
use crate::embed;
use crate::engine::Engine;
use crate::engine_future::boxed_future;
use crate::error::{EngineError, UpstreamFailure};
use crate::failure::{Failure, RetryDecision};
use crate::health::{CallPermit, CircuitCheck, CircuitKey};
use crate::leg::Grant;
use crate::lifecycle::{Lifecycle, Reserved, Sent};
use crate::pass_together::others_first;
use crate::plan::{Plan, UnfitBackend};
use crate::received::Task;
use crate::reserve::Funded;
use crate::retry;
use crate::shape::{Shaped, shape};
use crate::two_plans::unavailable;

/// When to ask again where only backends of one class may answer and none of them says it.
const FLOOR_RETRY_MS: u64 = 5_000;

impl Engine {
    /// The stage: tries the legs of the plan in order. Another backend is asked only where the one
    /// before surely did not carry the request out. What comes of it will be delivered: the first
    /// content of a stream, or a whole answer.
    ///
    /// # Errors
    /// When no backend answers.
    pub(crate) async fn dispatch(
        self: &Arc<Self>,
        funded: Funded,
    ) -> Result<Delivering, EngineError> {
        let (call, mut plan, grant, life) = funded.into_parts();
        let rejected = plan.take_rejected();
        let mut failover = Failover::begin(self, &call, &plan, grant, life);
        failover.rejected = rejected;
        for index in 0..plan.legs().len() {
            if let Some(answer) = failover.candidate(index).await {
                return Ok(answer);
            }
        }
        if let Some(answer) = failover.last_resort().await {
            return Ok(answer);
        }
        let answer = failover.once_more().await;
        self.health.note_retries(failover.now, failover.freely);
        if let Some(answer) = answer {
            return Ok(answer);
        }
        match failover.stored().await {
            Some(answer) => Ok(answer),
            None => Err(failover.into_error()),
        }
    }
}

/// One request's way along its candidates.
struct Failover<'a> {
    engine: &'a Arc<Engine>,
    call: &'a Call,
    plan: &'a Plan,
    grant: Grant,
    /// There as long as another backend may be asked.
    life: Option<Lifecycle<Reserved>>,
    started: Instant,
    /// When the last attempt failed, or the first one began.
    now: Instant,
    attempts: u32,
    /// Tries of other backends that were well, which the budget was not asked for. Where none of
    /// them answered, they count as what they were.
    freely: u32,
    /// Nobody may be asked any more.
    over: bool,
    /// A backend before could read the request.
    was_readable: bool,
    /// A backend was left to the other request of a verification.
    was_claimed: bool,
    /// The backends that cannot take the request at all.
    rejected: Vec<UnfitBackend>,
    last: Option<UpstreamFailure>,
    /// The error of this request in place of an answer: a provider answered, and its answer must
    /// not be handed over, or the request cannot be read.
    withheld: Option<EngineError>,
    /// The backend to call once more, and the moment for it.
    again: Option<Again>,
    /// The backend that was passed over because it wants to be left alone, for the shortest time.
    paused: Option<(usize, Duration, FaultClass)>,
    /// The backend whose circuit is open: one that answers before one that is dead, then for the
    /// shortest time.
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Again {
    index: usize,
    at: Instant,
    /// Whether this was the backend's first failure for a while.
    first: bool,
}

#[derive(Clone, Copy)]
struct Open {
    index: usize,
    wait: Duration,
    dead: bool,
}

impl<'a> Failover<'a> {
    fn begin(
        engine: &'a Arc<Engine>,
        call: &'a Call,
        plan: &'a Plan,
        grant: Grant,
        reserved: Lifecycle<Reserved>,
    ) -> Self {
        let started = reserved.record().last_passed();
        engine.health.count_request(started);
        Self {
            engine,
            call,
            plan,
            grant,
            life: Some(reserved),
            started,
            now: started,
            attempts: 0,
            freely: 0,
            over: false,
            was_readable: false,
            was_claimed: false,
            rejected: Vec::new(),
            last: None,
            withheld: None,
            again: None,
            paused: None,
            open: None,
        }
    }

    /// The rest of the time limit for the whole request.
    fn left(&self) -> Duration {
        let total = self.call.snapshot().deadlines.total;
        total.saturating_sub(self.now - self.started)
    }

    fn may_ask(&self) -> bool {
        let attempts = usize::try_from(self.attempts).unwrap_or(usize::MAX);
        !self.over && attempts < self.call.snapshot().max_attempts && !self.left().is_zero()
    }

    fn who(&self, index: usize) -> CircuitKey {
        self.plan.legs()[index].circuit().clone()
    }

    async fn candidate(&mut self, index: usize) -> Option<Delivering> {
        if !self.may_ask() {
            return None;
        }
        let who = self.who(index);
        let Some(permit) = self.permit(index, &who) else {
            // It might have read the request.
            self.was_readable = true;
            return None;
        };
        let resilience = &self.call.snapshot().resilience;
        // Backends that fail too are not all to be asked for every request that one has failed.
        if self.attempts > 0 {
            let (health, now) = (&self.engine.health, self.now);
            if !health.is_unwell(&who, now) {
                self.freely += 1;
            } else if !health.may_retry(now, resilience.retry_budget_permille, false) {
                return None;
            }
        }
        self.ask(index, permit).await
    }

    /// Leave to ask this backend now; notes why not.
    fn permit(&mut self, index: usize, who: &CircuitKey) -> Option<CallPermit> {
        let breaker = &self.call.snapshot().resilience.breaker;
        match self.engine.health.check(who, breaker, self.now) {
            CircuitCheck::Pass(permit) => Some(permit),
            CircuitCheck::Paused(wait, class) => {
                if self.paused.is_none_or(|(_, known, _)| wait < known) {
                    self.paused = Some((index, wait, class));
                }
                None
            }
            CircuitCheck::Open { wait, dead } => {
                let later = |known: Open| (dead, wait) < (known.dead, known.wait);
                if self.open.is_none_or(later) {
                    self.open = Some(Open { index, wait, dead });
                }
                None
            }
        }
    }

    async fn ask(&mut self, index: usize, permit: CallPermit) -> Option<Delivering> {
        let mut shaped = match self.shaped(index) {
            Ok(shaped) => shaped,
            // What the first backend cannot read goes to no other one, which may bill for it.
            Err(error) if error.is_unreadable() && !self.was_readable => {
                self.withheld = Some(error);
                self.over = true;
                return None;
            }
            // Another backend may take what this one cannot.
            Err(error) => {
                let leg = &self.plan.legs()[index];
                self.rejected.push(UnfitBackend::leg(index, leg, error));
                return None;
            }
        };
        self.was_readable = true;
        others_first().await;
        if !self.claim(index) {
            return None;
        }
        let passed_over = self.passed_over(index);
        let mut reserved = self.life.take()?;
        reserved.record_mut().passed_over(passed_over);
        self.attempts += 1;
        let (engine, call) = (self.engine, self.call);
        let sent = reserved.sent(call, &shaped);
        let answered = if call.task() == Task::Embeddings {
            let left = self.left();
            boxed_future(|| engine.embed_at(call, &mut shaped, sent, left)).await
        } else {
            boxed_future(|| engine.generate_at(call, &mut shaped, sent, self.started)).await
        };
        match answered {
            Ok(mut answer) => {
                let watch = permit.succeeded(Instant::now());
                if let Delivering::Stream(stream) = &mut answer {
                    stream.watched_by(watch);
                }
                Some(answer)
            }
            Err(Unanswered::Failed(failure, sent)) => {
                self.give_back();
                self.life = sent.failed(&failure).await;
                self.now = Instant::now();
                let backend = shaped.leg.endpoint.name.clone();
                self.failed(index, backend, permit, failure);
                None
            }
            Err(Unanswered::Withheld(error)) => {
                self.give_back();
                drop(permit.succeeded(Instant::now()));
                self.withheld = Some(error);
                self.over = true;
                None
            }
        }
    }

    /// Whether the request may use this backend: no other request beside it does.
    fn claim(&mut self, index: usize) -> bool {
        let Some(claim) = self.plan.claim() else {
            return true;
        };
        let is_taken = claim.take(&self.plan.legs()[index], self.call.snapshot().roster());
        self.was_claimed |= !is_taken;
        is_taken
    }

    fn give_back(&self) {
        if let Some(claim) = self.plan.claim() {
            claim.give_back();
        }
    }

    /// The backends that come before a leg and cannot take the request.
    fn passed_over(&self, index: usize) -> Vec<PassedOver> {
        let before = self.rejected.iter().filter(|one| one.is_before(index));
        before.map(|one| one.passed_over(self.call)).collect()
    }

    fn shaped(&self, index: usize) -> Result<Shaped, EngineError> {
        let (call, leg, said) = (self.call, &self.plan.legs()[index], self.plan.said());
        if call.task() == Task::Embeddings {
            self.engine.check_vectors(call, leg)?;
            embed::shape(call, leg, said)
        } else {
            shape(call, leg, self.grant, said, &self.engine.memory)
        }
    }

    fn failed(&mut self, index: usize, backend: String, permit: CallPermit, failure: Failure) {
        let now = self.now;
        let first = permit.failed(&failure, now);
        let Failure {
            fault,
            retry: allowed,
        } = failure;
        // What the gateway itself refuses is no failure of a provider.
        if fault.own_code.is_none() {
            self.engine.note_failure(self.call, &backend, &fault);
        }
        match allowed {
            RetryDecision::Never | RetryDecision::Unknown | RetryDecision::Stale => {
                self.over = true
            }
            RetryDecision::Other => {}
            RetryDecision::Same { after } => {
                let chance = retry::chance(self.call.request_id());
                let at = now + retry::pause(after, chance);
                if self.again.is_none_or(|known| at < known.at) {
                    self.again = Some(Again { index, at, first });
                }
            }
        }
        let mut earlier = Vec::new();
        if let Some(before) = self.last.take() {
            earlier = before.earlier;
            earlier.push(what_became(&before.backend, &before.fault));
        }
        self.last = Some(UpstreamFailure {
            backend,
            fault,
            attempts: self.attempts,
            earlier,
            unknown_outcome: allowed.is_unknown(),
            may_repeat: allowed == RetryDecision::Stale,
        });
    }

    /// Where nobody was asked, because every backend wants to be left alone or has failed too often,
    /// one is asked all the same: one caller's failures are no answer to another.
    async fn last_resort(&mut self) -> Option<Delivering> {
        let breaker = &self.call.snapshot().resilience.breaker;
        let paused = self.paused.map(|(index, ..)| index);
        let open = self.open.map(|open| open.index);
        for index in [paused, open].into_iter().flatten() {
            if self.attempts > 0 || !self.may_ask() {
                return None;
            }
            let health = &self.engine.health;
            match health.last_resort(&self.who(index), breaker, self.now) {
                Ok(permit) => {
                    let once = permit.is_for_once();
                    let answer = self.ask(index, permit).await;
                    if once {
                        self.again = None;
                    }
                    if answer.is_some() {
                        return answer;
                    }
                }
                Err(wait) => {
                    let dead = true;
                    self.open = Some(Open { index, wait, dead });
                }
            }
        }
        None
    }

    /// Waits, and asks the backend again that wants to be asked the soonest.
    async fn once_more(&mut self) -> Option<Delivering> {
        let again = self.again?;
        // An SDK that is repeating its request already is not to be multiplied.
        if !self.may_ask() || self.call.hints().is_repeated {
            return None;
        }
        let wait = again.at.saturating_duration_since(self.now);
        if wait > retry::LONGEST_WAIT || wait >= self.left() {
            return None;
        }
        // A heartbeat would send the head of a stream while it waits, and with it a 200: the
        // provider's status and its hint would be lost.
        let heartbeat = self.call.snapshot().deadlines.heartbeat;
        let elapsed = self.now - self.started;
        if self.call.stream() && elapsed < heartbeat && elapsed + wait >= heartbeat {
            return None;
        }
        let permille = self.call.snapshot().resilience.retry_budget_permille;
        if !self
            .engine
            .health
            .may_retry(self.now, permille, again.first)
        {
            return None;
        }
        // Whoever leaves meanwhile drops this, and nothing is sent.
        tokio::time::sleep_until(again.at).await;
        self.now = Instant::now();
        let who = self.who(again.index);
        let permit = self.permit(again.index, &who)?;
        self.ask(again.index, permit).await
    }

    /// Where no backend answers and surely none carried the request out: a stored answer that the
    /// caller did not want as long as there was another.
    async fn stored(&mut self) -> Option<Delivering> {
        let is_down = match (&self.withheld, &self.last) {
            (Some(_), _) => false,
            (None, Some(failure)) => is_outage(&failure.fault),
            (None, None) => self.paused.is_some() || self.open.is_some(),
        };
        let reserved = self.life.as_ref().filter(|_| is_down)?;
        let recording = Arc::clone(reserved.record().recording()?);
        let (engine, call) = (self.engine, self.call);
        let found = engine.last_resort(call, recording.slot()).await?;
        let ready = engine.ready(call, found.body, &found.served).ok()?;
        let flowing = self.life.take()?.served(call, &found.served);
        Some(ready.delivering(call, flowing))
    }

    fn into_error(mut self) -> EngineError {
        if let Some(reserved) = self.life.take() {
            reserved.failed();
        }
        if let Some(error) = self.withheld {
            return error;
        }
        if let Some(mut failure) = self.last {
            let routed = self.plan.routed();
            let has_floor = routed.is_some_and(|r| r.security_class > SecurityClass::Standard);
            let status = failure.fault.status.unwrap_or(503);
            if has_floor && !failure.unknown_outcome && (status == 429 || status >= 500) {
                failure.fault.retry_after_ms.get_or_insert(FLOOR_RETRY_MS);
            }
            return EngineError::Upstream(Box::new(failure));
        }
        let name = |index: usize| self.plan.legs()[index].endpoint.name.clone();
        let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        if let Some((index, wait, class)) = self.paused {
            let message =
                "the provider does not accept another request before this time has passed";
            let mut fault = Fault::new(class, message);
            fault.retry_after_ms = Some(ms(wait));
            return EngineError::Upstream(Box::new(UpstreamFailure {
                backend: name(index),
                fault,
                attempts: 0,
                earlier: Vec::new(),
                unknown_outcome: false,
                may_repeat: false,
            }));
        }
        if let Some(Open { index, wait, .. }) = self.open {
            return EngineError::CircuitOpen {
                model: self.call.model().to_string(),
                backend: name(index),
                retry_after_ms: ms(wait),
            };
        }
        if self.was_claimed {
            return unavailable("every backend that is left serves the other request");
        }
        let rejected = self.rejected.into_iter().next();
        rejected.map(|one| one.error).unwrap_or_else(|| {
            EngineError::Upstream(Box::new(UpstreamFailure {
                backend: String::new(),
                fault: Fault::new(FaultClass::Server, "no backend was tried"),
                attempts: 0,
                earlier: Vec::new(),
                unknown_outcome: false,
                may_repeat: false,
            }))
        })
    }
}

/// Whether a failure is the backend's own, and says nothing against the request.
fn is_outage(fault: &Fault) -> bool {
    matches!(
        fault.class,
        FaultClass::Connection
            | FaultClass::Timeout
            | FaultClass::Server
            | FaultClass::Overloaded
            | FaultClass::RateLimit
            // Of the gateway's own key, or of its credit.
            | FaultClass::Authentication
            | FaultClass::Payment
    )
}

/// A try in a few words of ours: `openrouter (overloaded, status 503)`.
fn what_became(backend: &str, fault: &Fault) -> String {
    let class = fault.class.as_str();
    match fault.status {
        Some(status) => format!("{backend} ({class}, status {status})"),
        None => format!("{backend} ({class})"),
    }
}

impl Engine {
    async fn generate_at(
        self: &Arc<Self>,
        call: &Call,
        shaped: &mut Shaped,
        sent: Lifecycle<Sent>,
        started: Instant,
    ) -> Result<Delivering, Unanswered> {
        let total = call.snapshot().deadlines.total;
        let asked = sent.record().asked();
        let left = total.saturating_sub(asked.saturating_duration_since(started));
        let answered = pin!(self.attempt_stored(call, shaped, left)).await;
        let response = match answered {
            Ok(response) => response,
            Err(failure) => return Err(Unanswered::Failed(failure, sent)),
        };
        // The limit is for the request, not for each of its tries.
        let delivering = pin!(self.respond(call, shaped, response, sent, started)).await?;
        self.answered_at(call, &shaped.leg, asked);
        Ok(delivering)
    }
}
