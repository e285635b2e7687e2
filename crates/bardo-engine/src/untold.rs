//! Flushes that the level behind the memory of this process has not carried out yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bardo_cache::store::Flush;

/// Flushes that wait to be told again. More of them become one flush of everything.
const UNTOLD: usize = 256;

/// Flushes that the level behind has still to carry out, in their order.
#[derive(Clone, Default)]
pub(crate) struct Untold(Arc<Mutex<UntoldFlushes>>);

#[derive(Default)]
struct UntoldFlushes {
    /// Flushes so far.
    count: u64,
    by_number: BTreeMap<u64, UntoldFlush>,
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
        if waiting.any(|one| matches!(*one.flush, Flush::All) || one.flush == flush) {
            return;
        }
        let is_under_way = false;
        let one = UntoldFlush {
            flush,
            is_under_way,
        };
        self.by_number.insert(number, one);
        if self.waiting() > UNTOLD {
            self.by_number.retain(|_, one| one.is_under_way);
            self.add(Flush::All, false);
        }
    }

    fn waiting(&self) -> usize {
        let flushes = self.by_number.values();
        flushes.filter(|one| !one.is_under_way).count()
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::ids::AccountId;

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
