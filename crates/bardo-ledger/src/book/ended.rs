//! The requests that ended lately, so that none ends twice.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use bardo_types::ids::{AccountId, RequestId};
use hashbrown::{DefaultHashBuilder, Equivalent, HashTable};

use super::counters::HeldCap;
use super::pair::{RequestKey, RequestKeyRef};
use super::settle::SettledCost;

/// How many are remembered, and for how long, unless somebody says otherwise. Sending an end
/// again is a matter of seconds; what comes later meets the unique index of the store.
const ENTRIES: usize = 32_768;
const FOR_MS: u64 = 10 * 60 * 1000;

/// How a hold ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The hold was captured or released; this was paid.
    Settled(SettledCost),
    /// Its time was over. It may still be charged, under the same caps.
    Expired(Box<[HeldCap]>),
}

/// The holds stand in the order in which they ended, and a small table finds them: a request meets
/// this twice, and memory that was used last is fast.
#[derive(Debug)]
pub(super) struct EndedHolds {
    order: VecDeque<EndedHold>,
    /// The number of the first of `order`. Each has the next one.
    first: u64,
    /// Numbers of holds, by the hash of their key.
    places: HashTable<u64>,
    hasher: DefaultHashBuilder,
    max_entries: usize,
    for_ms: u64,
}

#[derive(Debug)]
struct EndedHold {
    hash: u64,
    at_ms: u64,
    key: RequestKey,
    /// `None` for one that lives again.
    ended: Option<Ended>,
}

impl Default for EndedHolds {
    fn default() -> Self {
        Self::new(ENTRIES, FOR_MS)
    }
}

impl EndedHolds {
    pub(super) fn new(max_entries: usize, for_ms: u64) -> Self {
        Self {
            order: VecDeque::new(),
            first: 0,
            places: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            max_entries,
            for_ms,
        }
    }

    pub(super) fn get(&self, account: &AccountId, request: &RequestId) -> Option<&Ended> {
        let key = RequestKeyRef(account, request);
        let place = self.find(self.hasher.hash_one(&key), &key)?;
        self.order[place].ended.as_ref()
    }

    /// Remembers how a hold ended. The id of the account is kept as it is given.
    pub(super) fn insert(
        &mut self,
        account: AccountId,
        request: RequestId,
        ended: Ended,
        now_ms: u64,
    ) {
        let key = (account, request);
        let hash = self.hasher.hash_one(&key);
        match self.find(hash, &RequestKeyRef(&key.0, &key.1)) {
            Some(place) => self.order[place].ended = Some(ended),
            None => self.push(EndedHold {
                hash,
                at_ms: now_ms,
                key,
                ended: Some(ended),
            }),
        }
        while let Some(oldest) = self.order.front()
            && (self.order.len() > self.max_entries
                || oldest.at_ms.saturating_add(self.for_ms) < now_ms)
        {
            let first = self.first;
            let place = self
                .places
                .find_entry(oldest.hash, |number| *number == first);
            if let Ok(place) = place {
                place.remove();
            }
            self.order.pop_front();
            self.first += 1;
        }
    }

    fn push(&mut self, hold: EndedHold) {
        let (order, first) = (&mut self.order, self.first);
        let number = first + order.len() as u64;
        let hash = hold.hash;
        order.push_back(hold);
        let hash_of = |number: &u64| order[place_of(*number, first)].hash;
        self.places.insert_unique(hash, number, hash_of);
    }

    /// The place in `order` of a hold that ended.
    fn find(&self, hash: u64, key: &RequestKeyRef<'_>) -> Option<usize> {
        let is_it = |number: &u64| {
            let hold = &self.order[place_of(*number, self.first)];
            hold.hash == hash && key.equivalent(&hold.key)
        };
        let number = self.places.find(hash, is_it)?;
        Some(place_of(*number, self.first))
    }

    /// Forgets one, because its hold lives again.
    pub(super) fn remove(&mut self, account: &AccountId, request: &RequestId) {
        let key = RequestKeyRef(account, request);
        let hash = self.hasher.hash_one(&key);
        if let Some(place) = self.find(hash, &key) {
            let number = self.first + place as u64;
            let entry = self.places.find_entry(hash, |found| *found == number);
            if let Ok(entry) = entry {
                entry.remove();
            }
            self.order[place].ended = None;
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &RequestKey> {
        let known = self.order.iter().filter(|hold| hold.ended.is_some());
        known.map(|hold| &hold.key)
    }
}

/// The place of a number in a list whose first one is `first`.
fn place_of(number: u64, first: u64) -> usize {
    usize::try_from(number - first).expect("the list is in memory")
}

#[cfg(test)]
mod tests {
    use bardo_types::money::MicroUsd;

    use super::*;

    /// Which of ten requests are remembered, and at which price, as a list would remember them.
    #[derive(Default)]
    struct List(Vec<(u64, usize, u64)>);

    impl List {
        fn insert(&mut self, request: usize, price: u64, now_ms: u64) {
            match self.0.iter_mut().find(|(_, known, _)| *known == request) {
                Some(known) => known.2 = price,
                None => self.0.push((now_ms, request, price)),
            }
            self.0.retain(|(at_ms, ..)| at_ms + 50 >= now_ms);
            let surplus = self.0.len().saturating_sub(6);
            self.0.drain(..surplus);
        }

        fn get(&self, request: usize) -> Option<u64> {
            let known = self.0.iter().find(|(_, known, _)| *known == request);
            known.map(|(.., price)| *price)
        }
    }

    #[test]
    fn it_remembers_what_a_list_would_that_is_cut_at_its_old_end() {
        let account = AccountId::parse("a").unwrap();
        let request = |number: usize| RequestId::parse(&format!("r{number}")).unwrap();
        let (mut ended, mut list) = (EndedHolds::new(6, 50), List::default());
        let mut random = 1_u64;
        for now_ms in 0..5_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let number = usize::try_from((random >> 33) % 10).unwrap();
            let settled = Ended::Settled(SettledCost {
                spread: MicroUsd::new(now_ms),
                ..SettledCost::default()
            });
            ended.insert(account.clone(), request(number), settled, now_ms * 5);
            list.insert(number, now_ms, now_ms * 5);
            for number in 0..10 {
                let found = ended
                    .get(&account, &request(number))
                    .map(|ended| match ended {
                        Ended::Settled(paid) => paid.spread.get(),
                        Ended::Expired(_) => panic!("none expired"),
                    });
                assert_eq!(found, list.get(number), "request {number} at {now_ms}");
            }
            assert_eq!(ended.keys().count(), list.0.len());
            assert_eq!(ended.places.len(), list.0.len());
        }
    }

    #[test]
    fn one_that_lives_again_is_forgotten_and_ends_anew() {
        let account = AccountId::parse("a").unwrap();
        let request = RequestId::parse("r").unwrap();
        let mut ended = EndedHolds::new(2, 1_000);
        for now_ms in 0..5 {
            let expired = Ended::Expired(Box::default());
            ended.insert(account.clone(), request.clone(), expired, now_ms);
            assert!(ended.get(&account, &request).is_some());
            ended.remove(&account, &request);
            assert!(ended.get(&account, &request).is_none());
            assert_eq!((ended.keys().count(), ended.places.len()), (0, 0));
        }
        assert!(ended.order.len() <= 2);
    }
}
