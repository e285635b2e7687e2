//! Notices that what answers depend on has changed, by what requests say.
//!
//! A request names the regime of the market, and carries a playbook. Where it differs from that of
//! the request before, answers that were made before are old.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_types::ids::AccountId;

use crate::generations::Generations;
use crate::scope::Namespace;
use crate::store::Flush;
use crate::ttl::MarketRegime;

/// What one request says.
#[derive(Debug, Clone, Copy)]
pub struct WatchedRequest<'a> {
    /// Account of the request.
    pub tenant: &'a AccountId,
    /// Partition of the request.
    pub namespace: Namespace,
    /// Agent that asks; `None`: it has no name. Agents may share a partition and see different
    /// markets.
    pub agent: Option<&'a str>,
    /// Regime that the request names.
    pub regime: Option<MarketRegime>,
    /// Subsystem of the request, and the digest of the playbook that it carries. Subsystems of one
    /// agent have prompts of their own, so a playbook is compared within one of them.
    pub playbook: Option<(&'a str, &'a Arc<str>)>,
}

/// Changes that a request told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Removes the answers of another regime.
    pub regime: Option<Flush>,
    /// Removes the answers of the playbook before.
    pub playbook: Option<Flush>,
}

/// An agent in its partition; without a name, all of its requests that have none.
type AgentPlace = (Namespace, Arc<str>);

/// Remembers what the last requests said, in bounded memory.
#[derive(Debug)]
pub struct Watch(Mutex<LastSaid>);

#[derive(Debug)]
struct LastSaid {
    regimes: Generations<AgentPlace, MarketRegime>,
    playbooks: Generations<(AgentPlace, Arc<str>), Arc<str>>,
}

impl Watch {
    /// Remembers `capacity` agents, and as many subsystems of agents.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Mutex::new(LastSaid {
            regimes: Generations::new(capacity),
            playbooks: Generations::new(capacity),
        }))
    }

    /// What has changed since the request before.
    pub fn look(&self, request: &WatchedRequest<'_>) -> Changes {
        let mut changes = Changes::default();
        if request.regime.is_none() && request.playbook.is_none() {
            return changes;
        }
        let WatchedRequest {
            tenant, namespace, ..
        } = *request;
        let agent: AgentPlace = (namespace, Arc::from(request.agent.unwrap_or_default()));
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(regime) = request.regime {
            let before = last.regimes.get(&agent).copied();
            if before.is_some_and(|before| before != regime) {
                changes.regime = Some(Flush::MarketIn(tenant.clone(), namespace));
            }
            last.regimes.put(agent.clone(), regime);
        }
        if let Some((subsystem, playbook)) = request.playbook {
            let place = (agent, Arc::from(subsystem));
            let before = last.playbooks.get(&place).cloned();
            if let Some(before) = before.filter(|before| before != playbook) {
                changes.playbook = Some(Flush::PlaybookIn(tenant.clone(), namespace, before));
            }
            last.playbooks.put(place, Arc::clone(playbook));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_and_within_its_agent_and_subsystem() {
        let tenant = AccountId::parse("a").unwrap();
        let agent = |name| Namespace::agent(&tenant, name);
        let watch = Watch::new(64);
        let regime = |namespace, regime| {
            let request = WatchedRequest {
                tenant: &tenant,
                namespace,
                agent: None,
                regime: Some(regime),
                playbook: None,
            };
            watch.look(&request).regime
        };
        let (one, two) = (agent("one"), agent("two"));
        let gone = |space| Some(Flush::MarketIn(tenant.clone(), space));
        assert_eq!(regime(one, MarketRegime::Calm), None);
        assert_eq!(regime(two, MarketRegime::Crisis), None);
        assert_eq!(regime(one, MarketRegime::Calm), None);
        assert_eq!(regime(one, MarketRegime::Volatile), gone(one));
        assert_eq!(regime(one, MarketRegime::Volatile), None);
        let playbook = |subsystem, digest: &str| {
            let digest = Arc::from(digest);
            let request = WatchedRequest {
                tenant: &tenant,
                namespace: one,
                agent: None,
                regime: None,
                playbook: Some((subsystem, &digest)),
            };
            watch.look(&request).playbook
        };
        let removal = |digest: &str| {
            let digest = Arc::from(digest);
            Some(Flush::PlaybookIn(tenant.clone(), one, digest))
        };
        assert_eq!(playbook("risk", "1"), None);
        assert_eq!(playbook("dream_rem", "2"), None);
        assert_eq!(playbook("risk", "1"), None);
        assert_eq!(playbook("risk", "3"), removal("1"));
        assert_eq!(playbook("dream_rem", "2"), None);
        let silent = WatchedRequest {
            tenant: &tenant,
            namespace: one,
            agent: None,
            regime: None,
            playbook: None,
        };
        assert_eq!(watch.look(&silent), Changes::default());
    }

    #[test]
    fn agents_of_one_partition_that_see_different_markets_leave_each_others_answers() {
        let tenant = AccountId::parse("a").unwrap();
        let namespace = Namespace::tenant(&tenant);
        let watch = Watch::new(64);
        let playbooks = [Arc::from("1"), Arc::from("2")];
        let look = |agent, regime, playbook: usize| {
            watch.look(&WatchedRequest {
                tenant: &tenant,
                namespace,
                agent: Some(agent),
                regime: Some(regime),
                playbook: Some(("risk", &playbooks[playbook])),
            })
        };
        for _ in 0..3 {
            let calm = look("one", MarketRegime::Calm, 0);
            assert_eq!(calm, Changes::default());
            let crisis = look("two", MarketRegime::Crisis, 1);
            assert_eq!(crisis, Changes::default());
        }
        let changed = look("one", MarketRegime::Crisis, 1);
        let gone = Flush::MarketIn(tenant.clone(), namespace);
        assert_eq!(changed.regime, Some(gone));
        assert!(changed.playbook.is_some());
    }
}
