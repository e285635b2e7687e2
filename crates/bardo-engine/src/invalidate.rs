//! Removing stored answers before their time: in this process, in the level behind it, and in the
//! memory of other processes.

use std::sync::Arc;

use bardo_cache::scope::Namespace;
use bardo_cache::second::{Loss, SecondLevel};
use bardo_cache::store::Flush;
use bardo_cache::ttl::MarketRegime;
use bardo_cache::watch::{Changes, WatchedRequest};
use bardo_types::ids::AccountId;
use bardo_types::privacy::SecurityClass;
use tokio::runtime::Handle;

use crate::answer_cache::AnswerCache;
use crate::cache_slot::CacheSlot;
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::invalidations::FlushCause;
use crate::partition::namespace_of;
use crate::untold::Untold;

/// What an invalidation removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Invalidated {
    /// Entries that were removed from the memory of this process.
    pub removed: u64,
    /// Entries that were removed from the level behind it; `None` where there is none.
    pub second: Option<Result<u64, Loss>>,
}

impl Engine {
    /// Removes what the flushes name, here and in the level behind, through which other processes
    /// learn of it. A caller that stops waiting stops nothing of it.
    pub fn invalidate<'a>(
        &'a self,
        flushes: &'a [Flush],
        cause: FlushCause,
    ) -> EngineFuture<'a, Invalidated> {
        Box::pin(async move {
            let behind = remove_behind(Arc::clone(&self.cache), flushes.to_vec());
            let removed = flushes.iter().map(|flush| self.forget(flush, cause)).sum();
            let second = match Handle::try_current() {
                // A runtime that ends takes its work along; the other processes end with it.
                Ok(runtime) => runtime.spawn(behind).await.unwrap_or(None),
                Err(_) => behind.await,
            };
            Invalidated { removed, second }
        })
    }

    /// Removes what a flush names from the memory of this process, and tells the accounts.
    fn forget(&self, flush: &Flush, cause: FlushCause) -> u64 {
        self.cache.invalidations().note(flush, cause);
        let removed = self.cache.store().flush_by_tenant(flush);
        self.drop_stored_prefixes(flush);
        self.warm_prompts.drop_flushed(flush);
        // An account that ordered it is told in any case.
        let named = flush
            .tenant()
            .filter(|tenant| !removed.contains_key(*tenant));
        let at_ms = self.services.clock.now_ms();
        let tell = |account: &AccountId, count| {
            self.services.sink.flushed(account, cause, count, at_ms);
        };
        named.into_iter().for_each(|account| tell(account, 0));
        removed
            .iter()
            .for_each(|(account, count)| tell(account, *count));
        removed.values().sum()
    }

    /// Carries a flush out without a caller that waits for the level behind. Where a tenant gives
    /// many, the level is told later to remove the like of all agents of the tenant.
    fn invalidate_behind(&self, flush: Flush, cause: FlushCause) {
        let untold = &self.cache.invalidations().untold;
        if let Some(tenant) = flush.tenant()
            && self.cache.second().is_some()
            && !untold.may_begin(tenant)
        {
            untold.later(match &flush {
                Flush::MarketIn(..) => Flush::Market(Some(tenant.clone())),
                _ => Flush::Tenant(tenant.clone()),
            });
            self.forget(&flush, cause);
            return;
        }
        let behind = remove_behind(Arc::clone(&self.cache), vec![flush.clone()]);
        self.forget(&flush, cause);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(behind);
        }
    }

    /// Removes what a request shows to be old: answers of another regime or of another playbook.
    pub(crate) fn watch(&self, call: &Call, slot: &CacheSlot) {
        self.watch_at(call, slot.namespace, slot.tags.playbook.as_ref());
    }

    /// As [`Self::watch`], for a request that the cache has no part in: its prompt is not read.
    pub(crate) fn watch_regime(&self, call: &Call) {
        if call.hints().regime.is_none() {
            return;
        }
        if let Ok(namespace) = namespace_of(call, SecurityClass::Standard) {
            self.watch_at(call, namespace, None);
        }
    }

    fn watch_at(&self, call: &Call, namespace: Namespace, playbook: Option<&Arc<str>>) {
        let route = call.hints().route.as_deref();
        let subsystem = route.and_then(|hints| hints.subsystem.as_deref());
        let Changes { regime, playbook } = self.cache.invalidations().watch.look(&WatchedRequest {
            tenant: &call.principal().account,
            namespace,
            agent: route.and_then(|hints| hints.golem_id.as_deref()),
            regime: call.hints().regime,
            playbook: subsystem.zip(playbook),
        });
        if let Some(flush) = regime {
            self.invalidate_behind(flush, FlushCause::Regime);
        }
        if let Some(flush) = playbook {
            self.invalidate_behind(flush, FlushCause::Playbook);
        }
    }

    /// Sets the regime of requests that name none, in place of the configured one; `None` takes it
    /// back. Where it changes, answers about a market are removed.
    pub fn set_regime(&self, regime: Option<MarketRegime>) -> EngineFuture<'_, Invalidated> {
        Box::pin(async move {
            let configured = self.snapshot().cache.regime;
            let before = self.cache.invalidations().set_regime(regime);
            if before.or(configured) == regime.or(configured) {
                return Invalidated::default();
            }
            let market = [Flush::Market(None)];
            self.invalidate(&market, FlushCause::Regime).await
        })
    }

    /// Regime of requests that name none.
    #[must_use]
    pub fn regime(&self) -> Option<MarketRegime> {
        let set = self.cache.invalidations().regime();
        set.or_else(|| self.snapshot().cache.regime)
    }

    /// The configured regime is another one now.
    pub(crate) fn regime_configured(
        &self,
        before: Option<MarketRegime>,
        now: Option<MarketRegime>,
    ) {
        let is_set = self.cache.invalidations().regime().is_some();
        if before != now && !is_set {
            self.invalidate_behind(Flush::Market(None), FlushCause::Regime);
        }
    }

    /// Tells the level behind the flushes that it could not be told at once, and carries out those
    /// that other processes gave since this was called last. To be called each second. While it cannot be told
    /// what they were, stored answers about a market are not served.
    ///
    /// # Errors
    /// When the level behind does not answer.
    pub fn follow_flushes(&self) -> EngineFuture<'_, Result<(), Loss>> {
        Box::pin(async move {
            let Some(level) = self.cache.second() else {
                return Ok(());
            };
            let known = self.cache.invalidations();
            // A level that takes no news may still give those of others.
            let told = tell_all(&**level, &known.untold).await;
            let after = known.applied();
            let news = level.flushes(after).await?;
            let telling = news.is_back.then(|| known.untold.begin(Flush::All));
            if after.is_none() {
                // Flushes before the first contact are not known, for answers under way either.
                known.remember(&Flush::All);
                if self.cache.store().stats().entries > 0 {
                    self.forget(&Flush::All, FlushCause::Elsewhere);
                }
            } else if after != Some(news.last) {
                let flushes = news.flushes.unwrap_or_else(|| vec![Flush::All]);
                for flush in &flushes {
                    self.forget(flush, FlushCause::Elsewhere);
                }
            }
            known.apply(news.last);
            if let Some(telling) = telling {
                level.flush(telling.flush()).await?;
                telling.done();
            }
            told
        })
    }
}

/// Tells the level behind the flushes that it could not be told at once.
async fn tell_all(level: &dyn SecondLevel, untold: &Untold) -> Result<(), Loss> {
    while let Some(telling) = untold.next() {
        level.flush(telling.flush()).await?;
        telling.done();
    }
    Ok(())
}

/// Removes what the flushes name from the levels behind the memory of this process. From this call
/// on, before anything is awaited, no look-up takes it from there. What the first of the levels
/// cannot be told is told later.
fn remove_behind(
    cache: Arc<AnswerCache>,
    flushes: Vec<Flush>,
) -> impl Future<Output = Option<Result<u64, Loss>>> + Send + 'static {
    let begin = |flush: &Flush| cache.invalidations().untold.begin(flush.clone());
    let second = cache.second().map(Arc::clone);
    let order = second.map(|level| (level, flushes.iter().map(begin).collect::<Vec<_>>()));
    async move {
        let mut second = None;
        if let Some((level, tellings)) = order {
            let mut all = Ok(0);
            for telling in tellings {
                let done = level.flush(telling.flush()).await;
                if done.is_ok() {
                    telling.done();
                }
                all = all.and_then(|sum: u64| Ok(sum.saturating_add(done?)));
            }
            second = Some(all);
        }
        for flush in &flushes {
            cache.meaning().unshare_flushed(flush).await;
        }
        second
    }
}
