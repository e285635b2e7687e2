//! The second live answer of an audit: models disagree with themselves, and the error of the
//! semantic cache is measured against that.
//!
//! The owner of the gateway pays for it, not the caller. It has a receipt of its own, under the
//! account [`AUDITS`].

use std::sync::Arc;

use bardo_cache::policy::Wish;
use bardo_types::ids::{AccountId, RequestId};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::answer::AnswerBody;
use crate::cache_slot::CacheSlot;
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::leg::Leg;
use crate::live::LiveAnswer;
use crate::meaning::LiveTwin;
use crate::plan::Planned;
use crate::recording::Recording;

/// The account of the second live answers.
const AUDITS: &str = "cache-audits";
/// Behind the id of the audited request, this makes the id of the second one.
const AGAIN: &str = "_audit";

/// The second request of an audit, before it is sent.
pub(crate) struct AuditTwin {
    call: Call,
    slot: CacheSlot,
    /// The backend that the audited request asks first. The caller may use it, and an answer of
    /// another one would compare backends.
    first: Arc<Leg>,
    answer: oneshot::Sender<LiveTwin>,
}

impl AuditTwin {
    /// The request of an audited one; `None` where there is nothing to ask.
    pub(crate) fn of(planned: &Planned, answer: oneshot::Sender<LiveTwin>) -> Option<Self> {
        let call = planned.call();
        let id = RequestId::parse(&format!("{}{AGAIN}", call.request_id())).ok()?;
        let account = AccountId::parse(AUDITS).ok()?;
        let slot = CacheSlot {
            wish: Wish::NoStore,
            ..planned.limited().recording()?.slot().clone()
        };
        let call = call.again_as(id).paid_by_owner(account);
        let first = Arc::clone(planned.legs().first()?);
        Some(Self {
            call,
            slot,
            first,
            answer,
        })
    }
}

impl Engine {
    /// Asks a provider the prompt of an audited request once more, beside that request. Where this
    /// fails there is no pair to compare.
    pub(crate) fn ask_again(self: &Arc<Self>, twin: AuditTwin) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let engine = Arc::clone(self);
        runtime.spawn(async move {
            let AuditTwin {
                call,
                slot,
                first,
                answer,
            } = twin;
            if let Ok(Some(live)) = Box::pin(engine.live_again(call, slot, &first)).await {
                let _ = answer.send(live);
            }
        });
    }

    /// A new answer to a request, with neither look-up; `None` where it broke off, and where the
    /// backend is not to be had.
    async fn live_again(
        self: Arc<Self>,
        call: Call,
        slot: CacheSlot,
        first: &Leg,
    ) -> Result<Option<LiveTwin>, EngineError> {
        let live = Arc::new(LiveAnswer::new());
        let account = call.principal().account.clone();
        let mut limited = self.limit(call).await?;
        let cache = Arc::clone(&self.cache);
        let recording = Recording::new(Arc::clone(&live), slot, account, cache, None);
        limited.record_with(recording);
        let screened = self.screen(limited).await?;
        let planned = self.plan(self.prepare(screened).await)?;
        let Some(planned) = planned.kept(|leg| leg.is_at_same_backend(first)) else {
            return Ok(None);
        };
        let funded = self.reserve(planned).await?;
        let delivering = self.dispatch(funded).await?;
        let answer = self.relay(delivering).await?;
        if let AnswerBody::Stream(mut stream) = answer.body {
            while std::future::poll_fn(|cx| stream.poll_next(cx))
                .await
                .is_some()
            {}
        }
        let whole = live.complete();
        Ok(whole.map(|(origin, events)| LiveTwin { origin, events }))
    }
}
