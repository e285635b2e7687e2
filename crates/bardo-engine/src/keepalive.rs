//! Keepalive calls: small calls that keep the prompt of an agent in its provider's cache between
//! the calls of the agent. Whether they pay is decided in `bardo_cache::prefix`.
//!
//! The owner of the gateway pays for them. They have receipts of their own, under the account
//! [`KEEPALIVE_ACCOUNT`].

use std::sync::Arc;
use std::time::Duration;

use bardo_cache::prefix::DueCall;
use bardo_types::chat::MarkPlan;
use bardo_types::ids::AccountId;
use bardo_types::model::Price;
use bardo_types::receipt::KEEPALIVE_ACCOUNT;
use bardo_types::usage::Usage;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::answer::Delivering;
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::leg::Leg;
use crate::plan::{Plan, Planned};
use crate::prompt_cache::LegCache;
use crate::services::KeepaliveCall;
use crate::warm_prompts::WarmPrompt;

/// Longest time for a keepalive call. Others are due meanwhile.
const CALL_MAX: Duration = Duration::from_secs(20);

impl Engine {
    /// Makes the keepalive calls that are due, and tries to delete again what providers did not delete.
    /// To be called every ten seconds or so; without it no keepalive calls are decided on. Answers how
    /// many were made.
    pub fn keep_warm(self: &Arc<Self>) -> EngineFuture<'_, usize> {
        Box::pin(self.make_due_calls())
    }

    async fn make_due_calls(self: &Arc<Self>) -> usize {
        self.retry_deletions();
        let snapshot = self.snapshot();
        let now = self.prompt_caches.millis(Instant::now());
        let policy = snapshot.setup.keepalive.as_ref();
        let due = self.warm_prompts.due(policy, now);
        let mut calls = JoinSet::new();
        let count = due.len();
        for call in due {
            let engine = Arc::clone(self);
            calls.spawn(async move { engine.keep_one(&call).await });
        }
        while calls.join_next().await.is_some() {}
        count
    }

    /// Makes no more keepalive calls, and stores no more prefixes at providers: the process ends.
    /// Prefixes that are stored are used on.
    pub fn stop_keepalive(&self) {
        self.warm_prompts.stop();
        self.prompt_caches.stored.stop();
    }

    /// Prompts that are kept in providers' caches now.
    #[must_use]
    pub fn prompts_kept(&self) -> usize {
        self.warm_prompts.len()
    }

    async fn keep_one(self: &Arc<Self>, due: &DueCall<Arc<WarmPrompt>>) {
        let asked = self.prompt_caches.millis(Instant::now());
        let call = Box::pin(self.keepalive_call(&due.what));
        let made = tokio::time::timeout(CALL_MAX, call).await.ok().flatten();
        let is_warm = made.as_ref().is_some_and(|(usage, _)| {
            usage.cache_read > 0 && usage.cache_read >= usage.cache_write()
        });
        let cost = made.as_ref().and_then(|(usage, price)| {
            let price = price.for_prompt(usage.prompt());
            usage.cost(&price)?.charge()
        });
        self.warm_prompts.ended(due, is_warm, cost, asked);
        self.services.sink.kept_warm(&KeepaliveCall {
            account: &due.what.owner.account,
            agent: due.what.owner.agent.as_deref(),
            backend: &due.what.endpoint,
            model: &due.what.model,
            result: match (&made, is_warm) {
                (None, _) => "failed",
                (Some(_), true) => "warm",
                (Some(_), false) => "cold",
            },
            tokens_read: made.as_ref().map_or(0, |(usage, _)| usage.cache_read),
            cost,
            expected_saving: due.warming.saving_per_gap(),
            at_ms: self.services.clock.now_ms(),
        });
    }

    /// What a keepalive call used, and the price; `None` where it failed or is not possible any
    /// more.
    async fn keepalive_call(self: &Arc<Self>, prompt: &WarmPrompt) -> Option<(Usage, Price)> {
        let id = self.warm_prompts.next_id(prompt)?;
        let account = AccountId::parse(KEEPALIVE_ACCOUNT).ok()?;
        let call = prompt.call.again_as(id).paid_by_owner(account);
        // The configuration of now: a backend that is gone gets no call.
        let call = call.in_world(self.snapshot());
        let leg = self.keepalive_leg(&call, prompt)?;
        let price = leg.price?;
        let legs = [Arc::new(leg)];
        let mut limited = self.limit(call).await.ok()?;
        limited.planned(&legs);
        let [leg] = legs;
        let planned = Planned::new(limited, Plan::of_leg(leg));
        let funded = self.reserve(planned).await.ok()?;
        let delivering = self.dispatch(funded).await.ok()?;
        let usage = match &delivering {
            Delivering::Whole(whole) => whole.ended.record().receipt().usage.clone(),
            Delivering::Stream(_) => None,
        };
        self.relay(delivering).await.ok()?;
        usage.map(|usage| (usage, price))
    }

    /// The backend that has the prompt, with the marks that it was written with.
    fn keepalive_leg(&self, call: &Call, prompt: &WarmPrompt) -> Option<Leg> {
        let candidate = call
            .snapshot()
            .candidate_at(&prompt.model, &prompt.endpoint)?;
        let leg = self.leg(call, None, candidate).ok()?;
        let prompt_cache = LegCache {
            caches: Arc::clone(&self.prompt_caches),
            marks: None,
            fixed: Some(MarkPlan {
                turns: None,
                ..prompt.marks
            }),
            affinity: prompt.affinity.clone(),
            is_keepalive: true,
            begun: 0,
            stored: std::sync::OnceLock::new(),
        };
        Some(Leg {
            prompt_cache: Some(Arc::new(prompt_cache)),
            ..leg
        })
    }
}
