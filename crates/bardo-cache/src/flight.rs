//! Identical requests at the same time: one leads, the others follow.
//!
//! Pure bookkeeping. `T` is what the leader shares with its followers, mostly an
//! `Arc<`[`crate::tape::Tape`]`>`. The table forgets a flight when its [`Lead`] is dropped, so a
//! leader that fails, panics or leaves never blocks those that come later.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::key::Key;

/// The flights of one process.
#[derive(Debug)]
pub struct Flights<T>(Arc<Table<T>>);

#[derive(Debug)]
struct Table<T> {
    flights: Mutex<HashMap<Key, Flight<T>>>,
    most_followers: usize,
}

#[derive(Debug)]
struct Flight<T> {
    shared: T,
    followers: Arc<AtomicUsize>,
}

/// The part of a request in a flight.
#[derive(Debug)]
pub enum Joined<T> {
    /// The request asks a provider, and others may follow it.
    Lead(Lead<T>),
    /// An identical request is under way; its answer is this one's too.
    Follow(Follow<T>),
    /// The flight has as many followers as it may have: the request goes alone.
    Alone,
}

impl<T: Clone> Flights<T> {
    /// An empty table. No flight gets more than `most_followers` followers.
    #[must_use]
    pub fn new(most_followers: usize) -> Self {
        Self(Arc::new(Table {
            flights: Mutex::default(),
            most_followers,
        }))
    }

    /// Joins the flight of `key`, or starts one that shares what `make` returns.
    pub fn join(&self, key: Key, make: impl FnOnce() -> T) -> Joined<T> {
        let mut flights = self.0.lock();
        match flights.entry(key) {
            Entry::Occupied(flight) => {
                let flight = flight.get();
                if flight.followers.load(Ordering::Acquire) >= self.0.most_followers {
                    return Joined::Alone;
                }
                flight.followers.fetch_add(1, Ordering::AcqRel);
                Joined::Follow(Follow {
                    shared: flight.shared.clone(),
                    followers: Arc::clone(&flight.followers),
                })
            }
            Entry::Vacant(vacant) => {
                let shared = make();
                let followers = Arc::new(AtomicUsize::new(0));
                vacant.insert(Flight {
                    shared: shared.clone(),
                    followers: Arc::clone(&followers),
                });
                Joined::Lead(Lead {
                    table: Arc::clone(&self.0),
                    key,
                    shared,
                    followers,
                })
            }
        }
    }

    /// Flights that are under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether no flight is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for Flights<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Table<T> {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Flight<T>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The leader's place in the table. Dropping it closes the flight to newcomers; followers keep what
/// is shared.
#[derive(Debug)]
#[must_use]
pub struct Lead<T> {
    table: Arc<Table<T>>,
    key: Key,
    shared: T,
    followers: Arc<AtomicUsize>,
}

impl<T> Lead<T> {
    /// What the leader shares.
    pub const fn shared(&self) -> &T {
        &self.shared
    }

    /// Followers that are still there.
    #[must_use]
    pub fn followers(&self) -> usize {
        self.followers.load(Ordering::Acquire)
    }

    /// Ends the flight unless somebody follows. For a leader whose caller left: with followers the
    /// flight goes on, and nobody can join between the question and its answer.
    ///
    /// # Errors
    /// The place itself, where somebody follows.
    pub fn leave(self) -> Result<(), Self> {
        let mut flights = self.table.lock();
        if self.followers() > 0 {
            drop(flights);
            return Err(self);
        }
        self.remove(&mut flights);
        drop(flights);
        Ok(())
    }

    /// Takes the flight out of the table, if it is still this one's.
    fn remove(&self, flights: &mut HashMap<Key, Flight<T>>) {
        if let Entry::Occupied(flight) = flights.entry(self.key)
            && Arc::ptr_eq(&flight.get().followers, &self.followers)
        {
            flight.remove();
        }
    }
}

impl<T> Drop for Lead<T> {
    fn drop(&mut self) {
        let mut flights = self.table.lock();
        self.remove(&mut flights);
    }
}

/// A follower's place. Dropping it tells the leader that one follower less is there.
#[derive(Debug)]
#[must_use]
pub struct Follow<T> {
    shared: T,
    followers: Arc<AtomicUsize>,
}

impl<T> Follow<T> {
    /// What the leader shares.
    pub const fn shared(&self) -> &T {
        &self.shared
    }
}

impl<T> Drop for Follow<T> {
    fn drop(&mut self) {
        self.followers.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; 32])
    }

    fn lead(flights: &Flights<u32>, shared: u32) -> Lead<u32> {
        match flights.join(key(1), || shared) {
            Joined::Lead(lead) => lead,
            other => panic!("{other:?}"),
        }
    }

    fn follow(flights: &Flights<u32>) -> Follow<u32> {
        match flights.join(key(1), || panic!("a flight is under way")) {
            Joined::Follow(follow) => follow,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_thousand_identical_requests_have_one_leader() {
        let flights = Flights::new(1_000);
        let leads = AtomicUsize::new(0);
        let gate = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    gate.wait();
                    let mine: Vec<_> = (0..125).map(|_| flights.join(key(1), || 7)).collect();
                    let led = mine
                        .iter()
                        .filter(|joined| matches!(joined, Joined::Lead(_)));
                    leads.fetch_add(led.count(), Ordering::Relaxed);
                    gate.wait();
                });
            }
        });
        assert_eq!(leads.load(Ordering::Relaxed), 1);
        assert!(flights.is_empty(), "all have landed");
    }

    #[test]
    fn other_keys_fly_alone() {
        let flights = Flights::new(9);
        let _one = lead(&flights, 1);
        assert!(matches!(flights.join(key(2), || 2), Joined::Lead(_)));
    }

    #[test]
    fn a_failed_leader_frees_the_key_and_followers_keep_what_is_shared() {
        let flights = Flights::new(9);
        let leader = lead(&flights, 1);
        let follower = follow(&flights);
        drop(leader);
        assert_eq!(*follower.shared(), 1);
        let next = lead(&flights, 2);
        assert_eq!(
            next.followers(),
            0,
            "a follower of an old flight follows no new one"
        );
        drop(follower);
        assert_eq!(next.followers(), 0);
    }

    #[test]
    fn an_old_leader_never_ends_a_new_flight() {
        let flights = Flights::new(9);
        let old = lead(&flights, 1);
        assert!(old.leave().is_ok());
        let new = lead(&flights, 2);
        let _follower = follow(&flights);
        assert_eq!(new.followers(), 1);
        assert_eq!(flights.len(), 1);
    }

    #[test]
    fn a_leader_whose_caller_left_stays_for_its_followers_alone() {
        let flights = Flights::new(9);
        let leader = lead(&flights, 1);
        let follower = follow(&flights);
        let leader = leader.leave().unwrap_err();
        drop(follower);
        assert!(leader.leave().is_ok());
        assert!(flights.is_empty());
    }

    #[test]
    fn a_full_flight_sends_the_next_alone() {
        let flights = Flights::new(1);
        let _leader = lead(&flights, 1);
        let _follower = follow(&flights);
        assert!(matches!(flights.join(key(1), || 3), Joined::Alone));
    }

    #[test]
    fn a_panicking_leader_frees_the_key() {
        let flights = Flights::new(9);
        let shared = flights.clone();
        let outcome = std::thread::spawn(move || {
            let _leader = lead(&shared, 1);
            panic!("the leader's task");
        });
        assert!(outcome.join().is_err());
        let _next = lead(&flights, 2);
    }
}
