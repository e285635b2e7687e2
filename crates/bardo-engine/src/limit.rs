//! The stage after reading: the caller's requests and tokens per minute, and room to settle.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_access::{Admission, KeyLimits, LimitRequest, Throttled};

use crate::cache_slot::CacheSlot;
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::error::EngineError;
use crate::leg::Leg;
use crate::lifecycle::{Admitted, Lifecycle};
use crate::receipt_builder::Passed;
use crate::received::{Payer, Principal, Task};
use crate::record::RequestRecord;
use crate::recording::Recording;
use crate::searches::SearchFee;
use crate::seeds::SeedTaken;
use crate::snapshot::Snapshot;

/// A request within its caller's limits. Nothing is held for it yet.
pub(crate) struct Limited {
    call: Call,
    life: Lifecycle<Admitted>,
    /// Its place in the cache, where the cache has a part in it and no answer.
    slot: Option<Box<CacheSlot>>,
}

impl Limited {
    /// The request of this stage.
    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    /// Notes when a later stage was passed.
    pub(crate) fn passed(&mut self, stage: Passed) {
        self.life.record_mut().passed(stage);
    }

    /// Notes that a stage had nothing to do.
    pub(crate) fn skipped(&mut self, stage: Passed) {
        self.life.record_mut().skipped(stage);
    }

    /// Notes why the request got no stored answer.
    pub(crate) fn cache_reason(&mut self, reason: impl Into<Cow<'static, str>>) {
        self.life.record_mut().cache_reason(reason.into());
    }

    /// What notes the answer for the cache.
    pub(crate) fn recording(&self) -> Option<&Arc<Recording>> {
        self.life.record().recording()
    }

    /// Notes nothing for the cache any more: a stored answer is served.
    pub(crate) fn stop_recording(&mut self) {
        self.life.record_mut().stop_recording();
    }

    /// Notes that the cache has a part in the request and no answer to it.
    pub(crate) fn missed(&mut self, slot: CacheSlot) {
        self.life.record_mut().cache_missed();
        self.slot = Some(Box::new(slot));
    }

    /// The place of the request in the cache, for the stage that stores its answer.
    pub(crate) fn take_slot(&mut self) -> Option<Box<CacheSlot>> {
        self.slot.take()
    }

    /// Notes the answer for the cache from now on.
    pub(crate) fn record_with(&mut self, recording: Recording) {
        self.life.record_mut().record_with(Arc::new(recording));
    }

    /// The request with another source, for stages that change what is asked.
    pub(crate) fn with_call(self, change: impl FnOnce(Call) -> Call) -> Self {
        Self {
            call: change(self.call),
            ..self
        }
    }

    /// The request and its state, for the stage that holds its money.
    pub(crate) fn into_parts(self) -> (Call, Lifecycle<Admitted>) {
        (self.call, self.life)
    }

    /// Notes what the request took of its agent's seed, and of the budget of searches.
    pub(crate) fn draw_on(&mut self, seed: Option<Arc<SeedTaken>>, search: Option<SearchFee>) {
        self.life.record_mut().draw_on(seed, search);
    }

    /// Notes the tokens that the request can come to at all, whatever its limit says.
    pub(crate) fn planned(&mut self, legs: &[Arc<Leg>]) {
        let size = self.call.size();
        let unknown = self.call.snapshot().billing.unknown_output;
        let longest =
            legs.iter().map(
                |leg| match leg.candidate.entry.capabilities.max_output_tokens {
                    0 => unknown,
                    known => known,
                },
            );
        let longest = longest.max().unwrap_or(0);
        let most = longest
            .max(size.output.unwrap_or(0))
            .saturating_mul(size.choices)
            .saturating_add(size.prompt);
        self.life.record_mut().bound_tokens(most);
    }
}

impl Engine {
    /// Sets room aside to settle the request, and checks the limits of a caller who pays.
    ///
    /// # Errors
    /// When a limit is reached, or too many requests wait to be settled.
    pub(crate) async fn limit(&self, call: Call) -> Result<Limited, EngineError> {
        let permit = self.settler.room().ok_or(EngineError::Busy)?;
        let record = || RequestRecord::new(self.record_context(), &call);
        let mut life = Lifecycle::new(record, permit);
        let Some(request) = self.limit_request(&call) else {
            life.record_mut().passed(Passed::Limits);
            return Ok(Limited {
                call,
                life,
                slot: None,
            });
        };
        let admission = self.admit(&request).await?;
        let record = life.record_mut();
        record.admitted(request, admission);
        record.passed(Passed::Limits);
        Ok(Limited {
            call,
            life,
            slot: None,
        })
    }

    /// Counts a request that is answered without a call as one request of no tokens.
    ///
    /// # Errors
    /// When the caller's limit of requests is reached.
    pub(crate) async fn limit_replay(&self, call: &Call) -> Result<(), EngineError> {
        if let Some(request) = self.limit_request(call) {
            let request = LimitRequest {
                tokens: 0,
                allowance: None,
                ..request
            };
            self.admit(&request).await?;
        }
        Ok(())
    }

    /// Counts one request of no tokens of a caller whose body is not read by the engine yet: one that
    /// has to be proven at some cost.
    ///
    /// # Errors
    /// When the caller's limit of requests is reached.
    pub fn count_request<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> EngineFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let now_ms = self.services.clock.now_ms();
            let Some(request) = self.limits_of(principal, &self.present(), now_ms, |_| 0) else {
                return Ok(());
            };
            let request = LimitRequest {
                allowance: None,
                ..request
            };
            self.admit(&request).await.map(drop)
        })
    }

    async fn admit(&self, request: &LimitRequest) -> Result<Admission, EngineError> {
        let admitted = self.services.limits.admit(request).await;
        admitted.map_err(|throttled| refusal(throttled, request))
    }

    /// Refuses a caller whose rate or allowance is used up, before its body is read. Counts nothing:
    /// a request that passes is counted once, when its limits are checked.
    ///
    /// # Errors
    /// When any request of the caller is certain to be refused.
    pub fn refuse_throttled(&self, principal: &Principal) -> Result<(), EngineError> {
        let now_ms = self.services.clock.now_ms();
        let Some(request) = self.limits_of(principal, &self.present(), now_ms, |_| 0) else {
            return Ok(());
        };
        match self.services.limits.refuses(&request) {
            Some(throttled) => Err(refusal(throttled, &request)),
            None => Ok(()),
        }
    }

    /// The request to the limits of the caller; `None` where no limits apply.
    fn limit_request(&self, call: &Call) -> Option<LimitRequest> {
        // Not the time at which the request arrived: others may have been counted since.
        let now_ms = self.services.clock.now_ms();
        self.limits_of(call.principal(), call.snapshot(), now_ms, |limits| {
            let size = call.size();
            let tokens = match call.task() {
                Task::Generate => size
                    .output_of_all()
                    .unwrap_or(0)
                    .saturating_add(size.prompt),
                Task::Embeddings => size.prompt,
                Task::CountTokens => 0,
            };
            // One request alone is never more than there can be.
            limits
                .tokens_per_minute
                .map_or(tokens, |limit| tokens.min(limit))
        })
    }

    /// A request of so many tokens to the limits of a caller.
    fn limits_of(
        &self,
        principal: &Principal,
        snapshot: &Snapshot,
        now_ms: u64,
        tokens: impl FnOnce(&KeyLimits) -> u64,
    ) -> Option<LimitRequest> {
        let Payer::Prepaid(terms) = &principal.payer else {
            return None;
        };
        let limits = KeyLimits::of(terms, &principal.account, &snapshot.limits);
        if limits.is_none() {
            return None;
        }
        Some(LimitRequest {
            account: principal.account.clone(),
            // A rotation is no second allowance.
            key: Some(terms.counted_as.clone()),
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            allowance: limits.allowance,
            own_allowance: limits.own_allowance,
            tokens: tokens(&limits),
            now_ms,
        })
    }
}

fn refusal(throttled: Throttled, request: &LimitRequest) -> EngineError {
    EngineError::Throttled {
        throttled: Box::new(throttled),
        allowance: request.allowance.map(|allowance| allowance.tokens),
        at_ms: request.now_ms,
    }
}
