use std::collections::HashSet;

use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::money::MicroUsd;
use bardo_types::usage::Usage;

use super::*;
use crate::scope::Namespace;
use crate::tags::{CacheTag, Tags};
use crate::ttl::AnswerKind;

const NOW: u64 = 1_000_000;

fn account(name: &str) -> AccountId {
    AccountId::parse(name).unwrap()
}

fn answer(bytes: usize) -> Vec<StreamEvent> {
    vec![
        StreamEvent::Text {
            choice: 0,
            text: "x".repeat(bytes),
        },
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]
}

/// An offer to the store, and the look-up that finds it.
#[derive(Clone)]
struct Offer {
    key: Key,
    tenant: AccountId,
    namespace: Namespace,
    class: SecurityClass,
    kind: AnswerKind,
    regime: Option<MarketRegime>,
    tags: Tags,
    bytes: usize,
    now_ms: u64,
}

impl Offer {
    fn of(tenant: &str, number: u64) -> Self {
        let tenant = account(tenant);
        Self {
            key: Key::from_bytes(*blake3::hash(format!("{tenant}/{number}").as_bytes()).as_bytes()),
            namespace: Namespace::tenant(&tenant),
            tenant,
            class: SecurityClass::Standard,
            kind: AnswerKind::Static,
            regime: None,
            tags: Tags::default(),
            bytes: 1_000,
            now_ms: NOW,
        }
    }

    fn put(&self, store: &Store) -> Result<Arc<CachedAnswer>, Never> {
        store.insert(Fresh {
            key: self.key,
            namespace: self.namespace,
            tenant: self.tenant.clone(),
            events: &answer(self.bytes),
            model: "m".into(),
            provider: "p".into(),
            usage: Usage::default(),
            cost: MicroUsd::new(7),
            class: self.class,
            kind: self.kind,
            regime: self.regime,
            tags: self.tags.clone(),
            degraded: Vec::new(),
            now_ms: self.now_ms,
        })
    }

    fn reading(&self, now_ms: u64) -> CacheReader<'_> {
        CacheReader {
            tenant: &self.tenant,
            namespace: &self.namespace,
            class: self.class,
            regime: self.regime,
            now_ms,
        }
    }

    fn get(&self, store: &Store, now_ms: u64) -> Option<CacheHit> {
        store.get(&self.key, &self.reading(now_ms))
    }
}

fn small(bytes: u64) -> Store {
    let limits = Limits {
        bytes,
        ..Limits::default()
    };
    Store::new(limits, Some(Sealer::new([3; 32].into())))
}

fn in_the_books(store: &Store) -> (u64, u64) {
    let stats = store.stats();
    let of_tenants: Vec<Stats> = store
        .tenants()
        .iter()
        .map(|tenant| store.stats_of(tenant))
        .collect();
    let sum = |read: fn(&Stats) -> u64| of_tenants.iter().map(read).sum::<u64>();
    assert_eq!(sum(|stats| stats.entries), stats.entries);
    assert_eq!(sum(|stats| stats.bytes), stats.bytes);
    assert_eq!(store.cache.weight(), stats.bytes);
    (stats.entries, stats.bytes)
}

#[test]
fn an_answer_comes_back_with_its_age_and_is_counted_for_its_reader() {
    let store = small(1 << 20);
    let offer = Offer::of("a", 1);
    assert!(offer.get(&store, NOW).is_none());
    store.count_miss(&account("a"));
    offer.put(&store).unwrap();
    let hit = offer.get(&store, NOW + 5).unwrap();
    assert_eq!((hit.age_ms, hit.left_ms), (5, 3_600_000 - 5));
    assert_eq!(hit.entry.events().unwrap(), answer(1_000));
    store.count_hit(&account("a"), MicroUsd::new(7));
    let stats = store.stats();
    assert_eq!((stats.hits, stats.misses, stats.stored), (1, 1, 1));
    assert_eq!(stats.saved, MicroUsd::new(7));
    let own = store.stats_of(&account("a"));
    assert_eq!((own.hits, own.misses, own.saved), (1, 1, MicroUsd::new(7)));
    assert_eq!(store.stats_of(&account("b")), Stats::default());
}

#[test]
fn an_entry_ends_with_its_life_at_store_or_at_read_whichever_is_first() {
    let store = small(1 << 20);
    let calm = Offer {
        kind: AnswerKind::Market,
        regime: Some(MarketRegime::Calm),
        ..Offer::of("a", 1)
    };
    calm.put(&store).unwrap();
    assert!(calm.get(&store, NOW + 299_999).is_some());
    assert!(calm.get(&store, NOW + 300_000).is_none());
    let crisis = Offer {
        regime: Some(MarketRegime::Crisis),
        ..calm.clone()
    };
    assert!(crisis.get(&store, NOW + 29_999).is_some());
    assert!(crisis.get(&store, NOW + 30_000).is_none());
    assert!(
        calm.get(&store, NOW + 30_000).is_some(),
        "another reader's regime removes nothing"
    );
    crisis.put(&store).unwrap();
    assert!(
        calm.get(&store, NOW + 30_000).is_none(),
        "a crisis' answer stays short-lived"
    );
    assert!(
        calm.get(&store, NOW - 1).is_none(),
        "an answer of the future is none"
    );
}

#[test]
fn a_reader_of_another_namespace_or_class_gets_nothing_even_with_the_key() {
    let store = small(1 << 20);
    let offer = Offer::of("a", 1);
    offer.put(&store).unwrap();
    let elsewhere = Offer {
        namespace: Namespace::agent(&account("a"), "g"),
        ..offer.clone()
    };
    assert!(elsewhere.get(&store, NOW).is_none());
    let weaker = Offer {
        class: SecurityClass::Private,
        ..offer.clone()
    };
    assert!(weaker.get(&store, NOW).is_none());
    assert!(offer.get(&store, NOW).is_some());
}

#[test]
fn private_answers_are_kept_encrypted_and_only_where_that_is_switched_on() {
    let private = Offer {
        class: SecurityClass::Private,
        ..Offer::of("a", 1)
    };
    let plain = Store::new(Limits::default(), None);
    assert_eq!(private.put(&plain).err(), Some(Never::Private));
    let store = small(1 << 20);
    private.put(&store).unwrap();
    let slot = store.cache.peek(&private.key).unwrap();
    assert!(slot.is_sealed);
    assert!(
        !slot
            .entry
            .answer
            .windows(9)
            .any(|part| part == b"xxxxxxxxx")
    );
    assert!(slot.entry.events().is_err());
    let hit = private.get(&store, NOW + 1).unwrap();
    assert_eq!(hit.entry.events().unwrap(), answer(1_000));
    assert!(private.get(&store, NOW + 60_000).is_none());
    for class in [SecurityClass::Tee, SecurityClass::E2ee] {
        let sealed = Offer {
            class,
            ..private.clone()
        };
        assert_eq!(sealed.put(&store).err(), Some(Never::Private));
    }
}

#[test]
fn the_budget_holds_whatever_is_stored() {
    let store = small(200_000);
    for number in 0..2_000 {
        let offer = Offer {
            bytes: 100 + (number as usize * 37) % 5_000,
            tags: Tags {
                domain: Some("defi".into()),
                ..Tags::default()
            },
            ..Offer::of(["a", "b", "c"][number as usize % 3], number % 700)
        };
        offer.put(&store).unwrap();
        let (_, bytes) = in_the_books(&store);
        assert!(bytes <= 200_000, "{bytes}");
    }
    assert!(store.stats().evicted > 1_000);
    assert!(in_the_books(&store).1 > 100_000, "the budget is used");
}

#[test]
fn an_entry_that_is_too_large_is_refused() {
    let store = small(80_000);
    let large = Offer {
        bytes: 10_000,
        ..Offer::of("a", 1)
    };
    assert_eq!(large.put(&store).err(), Some(Never::TooLarge));
    assert_eq!(in_the_books(&store), (0, 0));
}

#[test]
fn one_tenant_may_take_all_the_room_while_it_is_alone() {
    let store = small(400_000);
    for number in 0..1_000 {
        Offer::of("flood", number).put(&store).unwrap();
    }
    assert!(store.stats_of(&account("flood")).bytes > 300_000);
}

#[test]
fn a_flood_never_pushes_out_tenants_that_keep_to_their_share() {
    let store = small(400_000);
    for number in 0..1_000 {
        Offer::of("flood", number).put(&store).unwrap();
    }
    let quiet: Vec<Offer> = (0..20).map(|number| Offer::of("quiet", number)).collect();
    for offer in &quiet {
        offer.put(&store).unwrap();
    }
    for number in 1_000..5_000 {
        Offer::of("flood", number).put(&store).unwrap();
    }
    let left = quiet
        .iter()
        .filter(|offer| offer.get(&store, NOW).is_some());
    assert_eq!(left.count(), 20);
    in_the_books(&store);
}

#[test]
fn many_floods_leave_a_quiet_tenant_its_share() {
    let store = small(400_000);
    let quiet: Vec<Offer> = (0..20).map(|number| Offer::of("quiet", number)).collect();
    for offer in &quiet {
        offer.put(&store).unwrap();
    }
    for number in 0..6_000 {
        let name = ["f1", "f2", "f3"][number as usize % 3];
        Offer::of(name, number).put(&store).unwrap();
        if number % 50 == 0 {
            // In use, as entries are that are worth to be kept.
            quiet.iter().for_each(|offer| drop(offer.get(&store, NOW)));
        }
    }
    let left = quiet
        .iter()
        .filter(|offer| offer.get(&store, NOW).is_some());
    assert!(left.count() >= 18);
}

#[test]
fn of_tenants_of_about_one_size_the_largest_gives_way() {
    let store = small(400_000);
    let mut index = EntryIndex::default();
    let mut first = Vec::new();
    for (tenant, bytes) in [("a", 5_000), ("b", 5_300), ("c", 5_100)] {
        let offer = Offer {
            bytes,
            ..Offer::of(tenant, 1)
        };
        let entry = offer.put(&store).unwrap();
        index.add(&entry);
        first.push((entry.key, entry.bytes() as u64));
    }
    let gives_way = |share| index.gives_way(&account("new"), 1, share);
    assert_eq!(gives_way(first[2].1), Some(first[1].0));
    assert_eq!(gives_way(first[1].1), None);
    assert_eq!(gives_way(1), Some(first[1].0));
}

#[test]
fn an_entry_that_is_hit_outlives_its_tenants_others() {
    let store = small(400_000);
    Offer::of("other", 0).put(&store).unwrap();
    let hot = Offer::of("flood", 0);
    hot.put(&store).unwrap();
    for number in 1..3_000 {
        Offer::of("flood", number).put(&store).unwrap();
        assert!(hot.get(&store, NOW).is_some(), "{number}");
    }
}

fn tagged(tenant: &str, number: u64, tags: Tags, kind: AnswerKind) -> Offer {
    Offer {
        tags,
        kind,
        regime: Some(MarketRegime::Calm),
        ..Offer::of(tenant, number)
    }
}

fn tokens(names: &[&str]) -> Tags {
    Tags {
        domain: Some("defi".into()),
        tokens: names.iter().map(|&name| name.into()).collect(),
        pools: [Arc::from("0xabc")].into(),
        playbook: Some("p1".into()),
    }
}

/// What is left of four entries of two tenants after a flush.
#[track_caller]
fn flushed(flush: &Flush, left: &[usize]) {
    let store = small(1 << 20);
    let offers = [
        tagged("a", 0, tokens(&["ETH", "USDC"]), AnswerKind::Market),
        tagged("a", 1, tokens(&["BTC"]), AnswerKind::Static),
        tagged("b", 2, tokens(&["ETH"]), AnswerKind::Market),
        Offer {
            namespace: Namespace::agent(&account("a"), "g"),
            ..tagged("a", 3, Tags::default(), AnswerKind::Static)
        },
    ];
    for offer in &offers {
        offer.put(&store).unwrap();
    }
    let removed = store.flush(flush);
    let kept: Vec<usize> = (0..4)
        .filter(|&place| offers[place].get(&store, NOW).is_some())
        .collect();
    assert_eq!(kept, left, "{flush:?}");
    assert_eq!(removed, 4 - left.len() as u64);
    assert_eq!(store.stats().flushed, removed);
    in_the_books(&store);
    assert_eq!(store.flush(flush), 0);
}

#[test]
fn a_flush_removes_what_it_names_and_nothing_else() {
    let a = || Some(account("a"));
    flushed(&Flush::All, &[]);
    flushed(&Flush::Tenant(account("a")), &[2]);
    flushed(&Flush::Tenant(account("c")), &[0, 1, 2, 3]);
    flushed(
        &Flush::Namespace(account("a"), Namespace::agent(&account("a"), "g")),
        &[0, 1, 2],
    );
    flushed(
        &Flush::Namespace(account("b"), Namespace::agent(&account("a"), "g")),
        &[0, 1, 2, 3],
    );
    flushed(&Flush::Tag(None, CacheTag::Token("eth".into())), &[1, 3]);
    flushed(&Flush::Tag(a(), CacheTag::Token("$ETH".into())), &[1, 2, 3]);
    flushed(&Flush::Tag(None, CacheTag::Domain("DeFi".into())), &[3]);
    flushed(&Flush::Tag(None, CacheTag::Pool("0xABC".into())), &[3]);
    flushed(&Flush::Tag(None, CacheTag::Playbook("p1".into())), &[3]);
    flushed(
        &Flush::Tag(None, CacheTag::Playbook("p2".into())),
        &[0, 1, 2, 3],
    );
    flushed(&Flush::Market(None), &[1, 3]);
    flushed(&Flush::Market(a()), &[1, 2, 3]);
    let [whole, agent] = [
        Namespace::tenant(&account("a")),
        Namespace::agent(&account("a"), "g"),
    ];
    flushed(&Flush::MarketIn(account("a"), whole), &[1, 2, 3]);
    flushed(&Flush::MarketIn(account("a"), agent), &[0, 1, 2, 3]);
    let playbook =
        |name, space, digest: &str| Flush::PlaybookIn(account(name), space, digest.into());
    flushed(&playbook("a", whole, "p1"), &[2, 3]);
    flushed(&playbook("a", agent, "p1"), &[0, 1, 2, 3]);
    flushed(&playbook("a", whole, "p2"), &[0, 1, 2, 3]);
    flushed(&playbook("c", whole, "p1"), &[0, 1, 2, 3]);
}

#[test]
fn an_entry_with_too_many_names_is_flushed_with_each_of_its_kind() {
    let store = small(1 << 20);
    let offer = tagged("a", 0, tokens(&[crate::tags::ANY]), AnswerKind::Market);
    offer.put(&store).unwrap();
    assert_eq!(
        store.flush(&Flush::Tag(None, CacheTag::Token("PEPE".into()))),
        1
    );
}

#[test]
fn a_second_answer_replaces_the_first() {
    let store = small(1 << 20);
    let offer = Offer::of("a", 1);
    for bytes in [1_000, 3_000, 10] {
        let offer = Offer {
            bytes,
            ..offer.clone()
        };
        offer.put(&store).unwrap();
        assert_eq!(
            offer.get(&store, NOW).unwrap().entry.events().unwrap(),
            answer(bytes)
        );
        assert_eq!(in_the_books(&store).0, 1);
    }
}

#[test]
fn expired_entries_are_swept() {
    let store = small(1 << 20);
    for number in 0..10 {
        let offer = Offer {
            now_ms: NOW + number * 1_000,
            ..Offer::of("a", number)
        };
        offer.put(&store).unwrap();
    }
    assert_eq!(store.sweep(NOW + 3_600_000 + 4_500), 5);
    assert_eq!(in_the_books(&store).0, 5);
    assert_eq!(store.stats().expired, 5);
}

#[test]
fn an_entry_of_a_second_level_is_checked_as_any_other() {
    let store = small(1 << 20);
    let offer = Offer::of("a", 1);
    let entry = CachedAnswer::clone(&offer.put(&small(1 << 20)).unwrap());
    let now = offer.reading(NOW + 9);
    let other = Offer::of("b", 1);
    assert!(
        store.adopt(&other.key, entry.clone(), &now).is_none(),
        "of another key"
    );
    assert!(
        store
            .adopt(&offer.key, entry.clone(), &other.reading(NOW))
            .is_none()
    );
    assert!(
        store
            .adopt(&offer.key, entry.clone(), &offer.reading(u64::MAX))
            .is_none()
    );
    assert_eq!(store.stats().entries, 0);
    assert_eq!(store.adopt(&offer.key, entry, &now).unwrap().age_ms, 9);
    assert!(
        offer.get(&store, NOW + 9).is_some(),
        "it is kept here from now on"
    );
}

#[test]
fn a_flush_beside_writers_leaves_nothing_that_was_stored_before() {
    let store = small(4 << 20);
    let gate = std::sync::Barrier::new(5);
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let (store, gate) = (&store, &gate);
            scope.spawn(move || {
                gate.wait();
                for number in 0..200 {
                    Offer::of("a", writer * 1_000 + number).put(store).unwrap();
                }
                gate.wait();
            });
        }
        gate.wait();
        for _ in 0..20 {
            store.flush(&Flush::Tenant(account("a")));
        }
        gate.wait();
    });
    in_the_books(&store);
    store.flush(&Flush::Tenant(account("a")));
    assert_eq!(in_the_books(&store), (0, 0));
}

#[test]
fn counts_of_tenants_that_left_are_forgotten_in_the_end() {
    let store = small(1 << 20);
    for number in 0..6_000 {
        let tenant = format!("t{number}");
        Offer::of(&tenant, 0).put(&store).unwrap();
        store.flush(&Flush::Tenant(account(&tenant)));
    }
    let seen: HashSet<bool> = (0..6_000)
        .map(|number| store.stats_of(&account(&format!("t{number}"))).stored > 0)
        .collect();
    assert_eq!(seen.len(), 2, "some are remembered, and not all");
}

#[test]
fn counts_of_tenants_without_entries_stay_within_bounds() {
    let store = small(1 << 20);
    for number in 0..20_000 {
        store.count_miss(&account(&format!("a{number}")));
    }
    assert_eq!(store.stats().misses, 20_000);
    assert_eq!(store.stats_of(&account("a19999")).misses, 1);
    assert_eq!(store.stats_of(&account("a0")), Stats::default());
    assert!(store.tenants().is_empty(), "none has entries");
}

#[test]
fn a_listener_learns_of_each_entry_that_leaves_and_of_no_other() {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    let gone: Arc<Mutex<BTreeSet<[u8; 32]>>> = Arc::default();
    let told = Arc::clone(&gone);
    let store = small(200_000).telling(move |key| {
        told.lock().expect("no panic").insert(*key.as_bytes());
    });
    let kept: Vec<_> = (0..400)
        .filter_map(|number| Offer::of("a", number).put(&store).ok())
        .collect();
    let holds = |entry: &Arc<CachedAnswer>| store.holds(&entry.key);
    let is_told = |entry: &Arc<CachedAnswer>| {
        let gone = gone.lock().expect("no panic");
        gone.contains(entry.key.as_bytes())
    };
    assert!(kept.iter().any(holds) && !kept.iter().all(holds));
    for entry in &kept {
        assert_eq!(is_told(entry), !holds(entry));
    }
    store.flush(&Flush::All);
    assert!(kept.iter().all(is_told));
}
