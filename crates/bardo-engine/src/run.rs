//! The life of a request: one stage a line, each consuming the value of the one before.

use std::pin::pin;
use std::sync::Arc;

use bardo_cache::policy::Never;
use bardo_types::fault::Fault;

use crate::answer::Answer;
use crate::answer_cache::CacheSkip;
use crate::baseline::AuditTwin;
use crate::call::Call;
use crate::decision;
use crate::engine::Engine;
use crate::engine_future::{EngineFuture, boxed_future};
use crate::error::EngineError;
use crate::limit::Limited;
use crate::lookup::Lookup;
use crate::pass_together::others_first;
use crate::received::{Received, Task};
use crate::scrub::for_logs;

impl Engine {
    /// Carries out a request that [`Engine::read`] has read.
    ///
    /// Its caller is authenticated already. Whatever stage it ends in, dropping that stage's value
    /// gives back what was taken for it; once a provider may have it, it is settled.
    ///
    /// # Errors
    /// See [`EngineError`]. Nothing has been sent to the caller then.
    pub fn answer(
        self: Arc<Self>,
        call: Call,
    ) -> EngineFuture<'static, Result<Answer, EngineError>> {
        boxed_future(|| self.work(call))
    }

    /// [`Engine::answer`] within the future of who called.
    pub(crate) async fn work(self: Arc<Self>, call: Call) -> Result<Answer, EngineError> {
        others_first().await;
        let mut limited = self.limit(call).await?;
        others_first().await;
        // A stored answer was not verified for this request.
        if decision::is_verified(limited.call()) {
            self.pass_cache(&mut limited, CacheSkip::Never(Never::Critical))?;
            return boxed_future(|| self.carry_out(limited)).await;
        }
        let looked = self.hash_lookup(limited).await?;
        others_first().await;
        match looked {
            Lookup::Hit(hit) => pin!(self.serve(*hit)).await,
            Lookup::Miss(limited) => pin!(self.share(limited)).await,
        }
    }

    /// The stages of a request that no stored answer is found for.
    pub(crate) async fn carry_out(
        self: Arc<Self>,
        limited: Limited,
    ) -> Result<Answer, EngineError> {
        let verified = decision::is_verified(limited.call());
        let verified = verified.then(|| Box::new(limited.call().clone()));
        let screened = self.screen(limited).await?;
        let prepared = self.prepare(screened).await;
        let planned = self.plan(prepared).map_err(|error| match &verified {
            Some(call) => self.refused_for_two(call, error),
            None => error,
        })?;
        if planned.call().task() == Task::CountTokens {
            return Box::pin(self.count(planned)).await;
        }
        if verified.is_some() {
            return Box::pin(self.answer_verified(planned)).await;
        }
        let (found, twin) = pin!(self.semantic_lookup(planned)).await;
        let planned = match found {
            // Boxed as all that few requests need: the future of every request has room for it.
            Lookup::Hit(hit) => return Box::pin(self.serve(*hit)).await,
            Lookup::Miss(planned) => planned,
        };
        let twin = twin.and_then(|twin| AuditTwin::of(&planned, twin));
        others_first().await;
        let funded = pin!(self.reserve(planned)).await?;
        others_first().await;
        if let Some(twin) = twin {
            self.ask_again(twin);
        }
        let delivering = pin!(self.dispatch(funded)).await?;
        others_first().await;
        Ok(pin!(self.relay(delivering)).await?)
    }

    /// Checks that an answer which was given before may be given again: that the request is well
    /// formed, that its caller may use a backend for it, and that the caller's requests per minute
    /// allow it. It counts as one request.
    ///
    /// # Errors
    /// As [`Engine::answer`] would refuse it before anything is held.
    pub fn check_replay(&self, received: Received) -> EngineFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let call = self.read(received)?;
            self.plan_for(&call, &mut bardo_router::Router::route)?;
            self.limit_replay(&call).await
        })
    }

    pub(crate) fn note_failure(&self, call: &Call, backend: &str, fault: &Fault) {
        let told = for_logs(fault, call.body());
        self.services
            .sink
            .attempt_failed(call.request_id().as_str(), backend, &told);
    }
}
