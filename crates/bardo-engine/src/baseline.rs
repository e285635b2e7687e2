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
use crate::live::LiveAnswer;
use crate::meaning::LiveTwin;
use crate::plan::Planned;
use crate::recording::Recording;

/// The account of the second live answers.
const AUDITS: &str = "cache-audits";
/// Behind the id of the audited request, this makes the id of the second one.
const AGAIN: &str = "_audit";

impl Engine {
    /// Asks a provider the prompt of an audited request once more, behind that request. Where this
    /// fails there is no pair to compare.
    pub(crate) fn ask_again(self: &Arc<Self>, planned: &Planned, twin: oneshot::Sender<LiveTwin>) {
        let call = planned.call();
        let id = RequestId::parse(&format!("{}{AGAIN}", call.request_id()));
        let (Ok(id), Ok(account), Ok(runtime), Some(recording)) = (
            id,
            AccountId::parse(AUDITS),
            Handle::try_current(),
            planned.limited().recording(),
        ) else {
            return;
        };
        let slot = CacheSlot {
            wish: Wish::NoStore,
            ..recording.slot().clone()
        };
        let call = call.again_as(id).paid_by_owner(account);
        let engine = Arc::clone(self);
        runtime.spawn(async move {
            if let Ok(Some(live)) = Box::pin(engine.live_again(call, slot)).await {
                let _ = twin.send(live);
            }
        });
    }

    /// A new answer to a request, with neither look-up; `None` where it broke off.
    async fn live_again(
        self: Arc<Self>,
        call: Call,
        slot: CacheSlot,
    ) -> Result<Option<LiveTwin>, EngineError> {
        let live = Arc::new(LiveAnswer::new());
        let account = call.principal().account.clone();
        let mut limited = self.limit(call).await?;
        let cache = Arc::clone(&self.cache);
        let recording = Recording::new(Arc::clone(&live), slot, account, cache, Vec::new());
        limited.record_with(recording);
        let screened = self.screen(limited).await?;
        let planned = self.plan(self.prepare(screened).await)?;
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
