//! What is remembered of invalidations: their causes, the last flushes, and what requests said last.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bardo_cache::second::LastFlush;
use bardo_cache::store::{Flush, FlushSubject};
use bardo_cache::ttl::MarketRegime;
use bardo_cache::watch::Watch;
use bardo_types::ids::AccountId;
use tokio::time::Instant;

use crate::untold::Untold;

/// Agents whose regime and playbook are remembered.
const AGENTS: usize = 8_192;
/// Flushes that are remembered for answers under way: of all tenants, and of each one.
const RECENT: usize = 256;
/// Tenants whose flushes are remembered.
const TENANTS: usize = 4_096;
/// Longest time without news of other processes in which stored answers about a market are served.
const CURRENT: Duration = Duration::from_secs(5);

/// Why stored answers are removed before their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushCause {
    /// An operator ordered it.
    Operator,
    /// The account that paid for the answers ordered it.
    Account,
    /// The regime of the market changed, by a hint, by the configuration or by an operator.
    Regime,
    /// Something happened on a chain.
    Chain,
    /// An agent has another playbook.
    Playbook,
    /// Another process of the gateway removed them.
    Elsewhere,
}

impl FlushCause {
    /// Every cause, in the order of the counters.
    pub const ALL: [Self; 6] = [
        Self::Operator,
        Self::Account,
        Self::Regime,
        Self::Chain,
        Self::Playbook,
        Self::Elsewhere,
    ];

    /// The name in events and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Account => "account",
            Self::Regime => "regime",
            Self::Chain => "chain",
            Self::Playbook => "playbook",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// Memory of invalidations in one process.
pub(crate) struct Invalidations {
    counts: [AtomicU64; FlushCause::ALL.len()],
    recent: Mutex<RecentFlushes>,
    /// Flushes so far, which each request looks at.
    count: AtomicU64,
    pub(crate) watch: Watch,
    /// Regime that an operator set: its place among all, from 1; 0: none.
    regime: AtomicU8,
    /// The last flush of all processes that was carried out here.
    applied: Mutex<Option<LastFlush>>,
    /// The news of other processes are read at all.
    is_following: AtomicBool,
    heard: Mutex<Option<Instant>>,
    pub(crate) untold: Untold,
}

/// The last flushes of all tenants, and those of each one.
#[derive(Default)]
struct RecentFlushes {
    /// Flushes so far.
    count: u64,
    of_all: LastFlushes,
    of_tenant: HashMap<AccountId, LastFlushes>,
    /// Number of the last flush of a tenant that is forgotten as a whole.
    forgotten: u64,
}

/// The last flushes, each with its number among all.
#[derive(Default)]
struct LastFlushes {
    last: VecDeque<(u64, Flush)>,
    /// Number of the last one that is forgotten.
    forgotten: u64,
}

impl LastFlushes {
    fn note(&mut self, number: u64, flush: Flush) {
        self.last.push_back((number, flush));
        if self.last.len() > RECENT
            && let Some((number, _)) = self.last.pop_front()
        {
            self.forgotten = number;
        }
    }

    /// Whether one of them after the one of this number would have removed an answer. Of those that
    /// are forgotten, each may have.
    fn reached_since(&self, count: u64, answer: &FlushSubject<'_>) -> bool {
        let since = self
            .last
            .iter()
            .rev()
            .take_while(|(number, _)| *number > count);
        self.forgotten > count
            || since
                .map(|(_, flush)| flush)
                .any(|flush| flush.reaches(answer))
    }

    fn newest(&self) -> u64 {
        self.last.back().map_or(0, |(number, _)| *number)
    }
}

impl RecentFlushes {
    fn note(&mut self, flush: &Flush) {
        self.count += 1;
        let Some(tenant) = flush.tenant() else {
            return self.of_all.note(self.count, flush.clone());
        };
        if self.of_tenant.len() >= TENANTS && !self.of_tenant.contains_key(tenant) {
            self.forget_oldest();
        }
        let forgotten = self.forgotten;
        let own = self.of_tenant.entry(tenant.clone());
        let own = own.or_insert_with(|| LastFlushes {
            forgotten,
            ..LastFlushes::default()
        });
        own.note(self.count, flush.clone());
    }

    /// Forgets the older half of the tenants, by their newest flushes.
    fn forget_oldest(&mut self) {
        let mut newest: Vec<u64> = self.of_tenant.values().map(LastFlushes::newest).collect();
        newest.sort_unstable();
        let middle = newest[newest.len() / 2];
        self.of_tenant.retain(|_, own| own.newest() > middle);
        self.forgotten = self.forgotten.max(middle);
    }
}

impl Default for Invalidations {
    fn default() -> Self {
        Self {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            recent: Mutex::default(),
            count: AtomicU64::new(0),
            watch: Watch::new(AGENTS),
            regime: AtomicU8::new(0),
            applied: Mutex::default(),
            is_following: AtomicBool::new(false),
            heard: Mutex::default(),
            untold: Untold::default(),
        }
    }
}

impl Invalidations {
    /// Notes a flush before its entries are removed.
    pub(crate) fn note(&self, flush: &Flush, cause: FlushCause) {
        self.counts[cause as usize].fetch_add(1, Ordering::Relaxed);
        self.remember(flush);
    }

    /// Notes a flush for answers under way, and counts it not.
    pub(crate) fn remember(&self, flush: &Flush) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.note(flush);
        self.count.store(recent.count, Ordering::Release);
    }

    /// Flushes so far. An answer that is under way compares it with the number at its end.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Whether a flush after the one of this number would have removed an answer.
    pub(crate) fn reached_since(&self, count: u64, answer: &FlushSubject<'_>) -> bool {
        if self.count() <= count {
            return false;
        }
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let own = recent.of_tenant.get(answer.tenant);
        recent.count > count
            && (recent.forgotten > count && own.is_none()
                || recent.of_all.reached_since(count, answer)
                || own.is_some_and(|own| own.reached_since(count, answer)))
    }

    /// Regime that an operator set.
    pub(crate) fn regime(&self) -> Option<MarketRegime> {
        let place = usize::from(self.regime.load(Ordering::Relaxed));
        MarketRegime::ALL.get(place.checked_sub(1)?).copied()
    }

    /// Takes the regime that an operator sets. Answers the one before.
    pub(crate) fn set_regime(&self, regime: Option<MarketRegime>) -> Option<MarketRegime> {
        let before = self.regime();
        let place = MarketRegime::ALL
            .iter()
            .position(|one| Some(*one) == regime);
        let place = place.map_or(0, |place| u8::try_from(place + 1).unwrap_or(0));
        self.regime.store(place, Ordering::Relaxed);
        before
    }

    /// The last flush of all processes that was carried out here.
    pub(crate) fn applied(&self) -> Option<LastFlush> {
        self.is_following.store(true, Ordering::Relaxed);
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Self::applied`], for a request.
    pub(crate) fn heard(&self) -> Option<LastFlush> {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that all flushes up to this one were carried out here.
    pub(crate) fn apply(&self, last: LastFlush) {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether the flushes of other processes are known up to a few seconds ago.
    pub(crate) fn is_current(&self) -> bool {
        if !self.is_following.load(Ordering::Relaxed) {
            return true;
        }
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.is_some_and(|heard| heard.elapsed() <= CURRENT)
    }

    /// Number of invalidations so far, by cause.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self
            .counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        let all = FlushCause::ALL
            .map(FlushCause::as_str)
            .into_iter()
            .zip(counts);
        all.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bardo_cache::scope::Namespace;
    use bardo_cache::tags::{CacheTag, Tags};
    use bardo_cache::ttl::AnswerKind;

    #[test]
    fn an_answer_under_way_learns_of_a_flush_that_reaches_it_and_of_too_many() {
        let account = |name| AccountId::parse(name).unwrap();
        let (own, other) = (account("own"), account("other"));
        let namespace = Namespace::tenant(&own);
        let tags = Tags::default();
        let answer = FlushSubject {
            tenant: &own,
            namespace: &namespace,
            kind: AnswerKind::Market,
            tags: &tags,
        };
        let known = Invalidations::default();
        let start = known.count();
        known.note(&Flush::Tenant(other), FlushCause::Account);
        assert!(!known.reached_since(start, &answer));
        known.note(&Flush::Market(None), FlushCause::Regime);
        assert!(known.reached_since(start, &answer));
        let later = known.count();
        assert!(!known.reached_since(later, &answer));
        for _ in 0..=RECENT {
            known.note(&Flush::Tenant(account("third")), FlushCause::Account);
        }
        assert!(
            !known.reached_since(later, &answer),
            "another account removes only its own"
        );
        let weather = Flush::Tag(Some(own.clone()), CacheTag::Domain("weather".into()));
        for _ in 0..=RECENT {
            known.note(&weather, FlushCause::Account);
        }
        assert!(
            known.reached_since(later, &answer),
            "one of them is forgotten"
        );
        let counts = [("account", 2 * RECENT as u64 + 3), ("regime", 1)];
        assert_eq!(known.counts(), counts);
    }

    #[test]
    fn of_too_many_accounts_the_older_half_is_forgotten_and_may_have_reached_what_is_older() {
        let account = |name: &str| AccountId::parse(name).unwrap();
        let (own, tags) = (account("own"), Tags::default());
        let namespace = Namespace::tenant(&own);
        let answer = FlushSubject {
            tenant: &own,
            namespace: &namespace,
            kind: AnswerKind::Static,
            tags: &tags,
        };
        let known = Invalidations::default();
        let start = known.count();
        for number in 0..=TENANTS {
            let flush = Flush::Tenant(account(&format!("a{number}")));
            known.note(&flush, FlushCause::Account);
        }
        assert!(known.reached_since(start, &answer));
        assert!(!known.reached_since(TENANTS as u64 / 2 + 1, &answer));
    }

    #[tokio::test(start_paused = true)]
    async fn news_of_other_processes_are_current_for_five_seconds_once_they_are_followed() {
        let known = Invalidations::default();
        assert!(known.is_current(), "there is no other process");
        assert_eq!(known.applied(), None);
        assert!(!known.is_current(), "nothing was heard yet");
        let last = LastFlush { number: 7, mark: 1 };
        known.apply(last);
        assert_eq!(known.applied(), Some(last));
        tokio::time::advance(CURRENT).await;
        assert!(known.is_current());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!known.is_current());
    }

    #[test]
    fn the_regime_of_an_operator_is_set_and_taken_back() {
        let known = Invalidations::default();
        for regime in MarketRegime::ALL {
            known.set_regime(Some(regime));
            assert_eq!(known.regime(), Some(regime));
        }
        assert_eq!(known.set_regime(None), Some(MarketRegime::Crisis));
        assert_eq!(known.regime(), None);
    }
}
