//! The partition of the cache that a caller has a part in, and whose its prompts are.

use std::sync::Arc;

use bardo_cache::scope::{CacheCaller, Closed, Namespace, Scope};
use bardo_types::privacy::SecurityClass;

use crate::call::Call;
use crate::prompt_owner::PromptOwner;

/// The partition in which a caller shares answers to requests of a class.
///
/// # Errors
/// Where it may share none.
pub(crate) fn namespace_of(call: &Call, class: SecurityClass) -> Result<Namespace, Closed> {
    let hints = call.hints().route.as_deref();
    let agent = hints.and_then(|hints| hints.golem_id.as_deref());
    let agent = agent.unwrap_or_default();
    // Whoever spends by a delegation may learn nothing of what the account asks. An id has no slash.
    let delegation = call.principal().delegation();
    let delegate = delegation.map(|name| format!("{name}/{agent}"));
    let caller = CacheCaller {
        tenant: &call.principal().account,
        agent: Some(agent),
        clade: delegate.as_deref(),
        shares_publicly: false,
    };
    let scope = match (class, &delegate) {
        (_, Some(_)) => Scope::Clade,
        (SecurityClass::Standard, None) => call.snapshot().cache.scope,
        (_, None) => Scope::Agent,
    };
    caller.namespace(scope, class)
}

/// The owner of the prompt of a call.
pub(crate) fn prompt_owner(call: &Call) -> PromptOwner {
    let hints = call.hints().route.as_deref();
    let agent = hints.and_then(|hints| hints.golem_id.as_deref());
    PromptOwner {
        account: call.principal().account.clone(),
        agent: agent.map(Arc::from),
        namespace: namespace_of(call, SecurityClass::Standard).ok(),
    }
}
