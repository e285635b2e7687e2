//! Flushes that the level behind the memory of this process has not carried out yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_cache::store::Flush;
use bardo_types::ids::AccountId;
use tokio::time::Instant;

/// Flushes that wait to be told. Of more, those of the busiest tenant become one flush of all that
/// it has; where each tenant has one, all become one flush of everything.
const UNTOLD: usize = 256;
/// Flushes that one tenant may give by requests in a second so that each is told at once.
const AT_ONCE: u32 = 4;
const SECOND: Duration = Duration::from_secs(1);

/// Flushes that the level behind has still to carry out, in their order.
#[derive(Clone, Default)]
pub(crate) struct Untold(Arc<Mutex<UntoldFlushes>>);

#[derive(Default)]
struct UntoldFlushes {
    /// Flushes so far.
    count: u64,
    by_number: BTreeMap<u64, UntoldFlush>,
    /// Flushes that tenants gave by requests in this second.
    given: BTreeMap<AccountId, u32>,
    second: Option<Instant>,
}

struct UntoldFlush {
    flush: Arc<Flush>,
    /// The level is being told of it now.
    is_under_way: bool,
}

/// A flush that the level is being told of. Dropped before [`Telling::done`], it waits to be told
/// again.
#[must_use]
pub(crate) struct Telling {
    untold: Untold,
    number: u64,
    flush: Arc<Flush>,
}

impl Telling {
    pub(crate) fn flush(&self) -> &Flush {
        &self.flush
    }

    /// The level has carried it out.
    pub(crate) fn done(self) {
        self.untold.lock().by_number.remove(&self.number);
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.untold.lock().wait(self.number);
    }
}

impl Untold {
    fn lock(&self) -> MutexGuard<'_, UntoldFlushes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a flush that the level is about to be told of. To be called before its entries are
    /// removed from memory.
    pub(crate) fn begin(&self, flush: Flush) -> Telling {
        let mut untold = self.lock();
        let number = untold.add(flush, true);
        self.telling(&untold, number)
    }

    /// Counts a flush that a tenant gives by a request, which costs it nothing. Whether it is told
    /// at once: many of them would push those of other tenants out of what all processes remember.
    pub(crate) fn may_begin(&self, tenant: &AccountId) -> bool {
        let mut untold = self.lock();
        if untold
            .second
            .is_none_or(|second| second.elapsed() >= SECOND)
        {
            untold.given.clear();
            untold.second = Some(Instant::now());
        }
        let given = untold.given.entry(tenant.clone()).or_default();
        *given = given.saturating_add(1);
        *given <= AT_ONCE
    }

    /// Notes a flush that waits to be told.
    pub(crate) fn later(&self, flush: Flush) {
        let mut untold = self.lock();
        let number = untold.add(flush, true);
        untold.wait(number);
    }

    /// The first flush that waits to be told.
    pub(crate) fn next(&self) -> Option<Telling> {
        let mut untold = self.lock();
        let (&number, first) = untold
            .by_number
            .iter_mut()
            .find(|(_, one)| !one.is_under_way)?;
        first.is_under_way = true;
        Some(self.telling(&untold, number))
    }

    fn telling(&self, untold: &UntoldFlushes, number: u64) -> Telling {
        Telling {
            untold: self.clone(),
            number,
            flush: Arc::clone(&untold.by_number[&number].flush),
        }
    }

    /// All of them: the level may still have what they name.
    pub(crate) fn all(&self) -> Vec<Arc<Flush>> {
        let untold = self.lock();
        let flushes = untold.by_number.values();
        flushes.map(|one| Arc::clone(&one.flush)).collect()
    }
}

impl UntoldFlushes {
    fn add(&mut self, flush: Flush, is_under_way: bool) -> u64 {
        self.count += 1;
        let flush = UntoldFlush {
            flush: Arc::new(flush),
            is_under_way,
        };
        self.by_number.insert(self.count, flush);
        self.count
    }

    /// Lets a flush wait to be told, if it is not carried out.
    fn wait(&mut self, number: u64) {
        let Some(UntoldFlush { flush, .. }) = self.by_number.remove(&number) else {
            return;
        };
        let mut waiting = self.by_number.values().filter(|one| !one.is_under_way);
        if waiting.any(|one| covers(&one.flush, &flush)) {
            return;
        }
        self.by_number
            .retain(|_, one| one.is_under_way || !covers(&flush, &one.flush));
        let is_under_way = false;
        let one = UntoldFlush {
            flush,
            is_under_way,
        };
        self.by_number.insert(number, one);
        if self.waiting() > UNTOLD {
            let more = self.busiest().map_or(Flush::All, Flush::Tenant);
            let number = self.add(more, true);
            self.wait(number);
        }
    }

    /// The tenant that has most of the flushes that wait, and more than one.
    fn busiest(&self) -> Option<AccountId> {
        let mut counts: BTreeMap<&AccountId, usize> = BTreeMap::new();
        let waiting = self.by_number.values().filter(|one| !one.is_under_way);
        for tenant in waiting.filter_map(|one| one.flush.tenant()) {
            *counts.entry(tenant).or_default() += 1;
        }
        let (tenant, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (count > 1).then(|| tenant.clone())
    }

    fn waiting(&self) -> usize {
        let flushes = self.by_number.values();
        flushes.filter(|one| !one.is_under_way).count()
    }
}

/// Whether a flush removes all that another one names.
fn covers(flush: &Flush, other: &Flush) -> bool {
    match flush {
        Flush::All => true,
        Flush::Tenant(tenant) => other.tenant() == Some(tenant),
        Flush::Market(Some(tenant)) if matches!(other, Flush::MarketIn(..)) => {
            other.tenant() == Some(tenant)
        }
        _ => flush == other,
    }
}

#[cfg(test)]
mod tests {
    use bardo_cache::tags::CacheTag;

    use super::*;

    fn account(name: &str) -> Flush {
        Flush::Tenant(AccountId::parse(name).unwrap())
    }

    fn next(untold: &Untold) -> Option<Flush> {
        untold.next().map(|telling| telling.flush().clone())
    }

    #[test]
    fn flushes_wait_in_their_order_once_each_and_too_many_become_one_of_everything() {
        let untold = Untold::default();
        for name in ["a", "b", "a"] {
            drop(untold.begin(account(name)));
        }
        assert_eq!(next(&untold), Some(account("a")));
        assert_eq!(next(&untold), Some(account("a")), "it was not told");
        untold.next().expect("a").done();
        assert_eq!(next(&untold), Some(account("b")));
        for number in 0..UNTOLD {
            drop(untold.begin(account(&format!("c{number}"))));
        }
        assert_eq!(next(&untold), Some(Flush::All));
        untold.next().expect("all").done();
        assert_eq!(next(&untold), None);
    }

    #[test]
    fn of_too_many_flushes_those_of_the_busiest_account_become_one() {
        let parse = |name: &str| AccountId::parse(name).unwrap();
        let token = |account, number| {
            let token = CacheTag::Token(format!("T{number}").into());
            Flush::Tag(Some(parse(account)), token)
        };
        let untold = Untold::default();
        for flush in [token("quiet", 1), token("quiet", 2), Flush::Market(None)] {
            drop(untold.begin(flush));
        }
        for number in 0..UNTOLD {
            drop(untold.begin(token("busy", number)));
        }
        let all = || -> Vec<Flush> { untold.all().iter().map(|one| (**one).clone()).collect() };
        let quiet = [token("quiet", 1), token("quiet", 2), Flush::Market(None)];
        assert_eq!(all()[..3], quiet);
        assert_eq!(
            all()[3..],
            [account("busy")],
            "it names what came later, too"
        );
        drop(untold.begin(account("quiet")));
        assert_eq!(
            all(),
            [Flush::Market(None), account("busy"), account("quiet")]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_tells_a_few_flushes_at_once_in_each_second() {
        let untold = Untold::default();
        let [one, other] = ["one", "other"].map(|name| AccountId::parse(name).unwrap());
        for _ in 0..AT_ONCE {
            assert!(untold.may_begin(&one));
        }
        assert!(!untold.may_begin(&one));
        assert!(untold.may_begin(&other));
        tokio::time::advance(SECOND).await;
        assert!(untold.may_begin(&one));
    }

    #[test]
    fn a_flush_that_comes_while_an_equal_one_is_told_is_told_itself() {
        let untold = Untold::default();
        drop(untold.begin(account("a")));
        let telling = untold.next().expect("it waits");
        drop(untold.begin(account("a")));
        assert_eq!(untold.all().len(), 2);
        telling.done();
        assert_eq!(next(&untold), Some(account("a")));
    }
}
