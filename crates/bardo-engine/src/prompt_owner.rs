//! Whose prompt the gateway keeps at a provider, and which removals of stored answers end that.

use std::sync::Arc;

use bardo_cache::scope::{Namespace, Scope};
use bardo_cache::store::Flush;
use bardo_cache::tags::CacheTag;
use bardo_types::ids::AccountId;

/// The account and the agent of a prompt.
#[derive(Clone)]
pub(crate) struct PromptOwner {
    /// Account whose prompt it is.
    pub(crate) account: AccountId,
    /// The agent whose prompt it is; `None` where it has no name.
    pub(crate) agent: Option<Arc<str>>,
    /// Partition of the stored answers to it; `None` where its caller shares none.
    pub(crate) namespace: Option<Namespace>,
}

impl PromptOwner {
    /// Whether a flush means the prompt. What agents are told changes with their playbook and with
    /// the regime, not with a token or a pool.
    pub(crate) fn is_dropped_by(&self, flush: &Flush) -> bool {
        let is_own = flush.tenant().is_none_or(|name| self.account == *name);
        is_own
            && match flush {
                Flush::All | Flush::Tenant(_) | Flush::Market(_) => true,
                Flush::Tag(_, tag) => matches!(tag, CacheTag::Playbook(_)),
                Flush::Namespace(_, space)
                | Flush::MarketIn(_, space)
                | Flush::PlaybookIn(_, space, _) => self.is_in(space),
            }
    }

    /// Whether the prompt belongs to a partition: that of its answers, or its agent's. A delegation
    /// has one of its own, whatever it calls its agent.
    fn is_in(&self, space: &Namespace) -> bool {
        let agent = self.agent.as_deref().unwrap_or_default();
        let delegated = self
            .namespace
            .is_some_and(|own| own.scope() == Scope::Clade);
        self.namespace.as_ref() == Some(space)
            || !delegated && Namespace::agent(&self.account, agent) == *space
    }
}
