use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use bardo_types::ids::AccountId;
use bardo_types::secret::Secret;

use super::*;
use crate::key::{KeyKind, STAND_IN, hash_secret, matches_digest, verify_secret};
use crate::port;
use crate::record::Scopes;

/// The address that presents keys.
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A store whose failures are the test's.
#[derive(Default)]
struct Shelf {
    keys: Mutex<HashMap<KeyId, KeyRecord>>,
    revision: AtomicU64,
    is_down: AtomicBool,
    is_silent: AtomicBool,
    asked: AtomicU64,
}

impl Shelf {
    fn change(&self, change: impl FnOnce(&mut HashMap<KeyId, KeyRecord>)) {
        change(&mut self.keys.lock().unwrap());
        self.revision.fetch_add(1, Ordering::SeqCst);
    }

    fn answer<T>(&self, value: T) -> Result<T, KeyError> {
        if self.is_down.load(Ordering::SeqCst) {
            Err(KeyError::Unavailable("down".into()))
        } else {
            Ok(value)
        }
    }
}

impl KeyStore for Shelf {
    fn find<'a>(
        &'a self,
        id: &'a KeyId,
    ) -> port::BoxFuture<'a, Result<Option<KeyRecord>, KeyError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.is_silent.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            self.answer(self.keys.lock().unwrap().get(id).cloned())
        })
    }

    fn insert(&self, record: KeyRecord) -> port::BoxFuture<'_, Result<(), KeyError>> {
        self.change(|keys| {
            keys.insert(record.id.clone(), record);
        });
        Box::pin(async { Ok(()) })
    }

    fn update(
        &self,
        record: KeyRecord,
        _: port::Amendment,
    ) -> port::BoxFuture<'_, Result<(), KeyError>> {
        self.insert(record)
    }

    fn list<'a>(
        &'a self,
        _: Option<&'a AccountId>,
    ) -> port::BoxFuture<'a, Result<Vec<KeyRecord>, KeyError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::SeqCst)
    }

    fn is_empty(&self) -> port::BoxFuture<'_, Result<bool, KeyError>> {
        Box::pin(async { self.answer(self.keys.lock().unwrap().is_empty()) })
    }
}

struct World {
    shelf: Arc<Shelf>,
    verifier: Arc<Verifier>,
    start: Instant,
}

impl World {
    fn new() -> Self {
        Self::with(VerifierSettings::default())
    }

    fn with(settings: VerifierSettings) -> Self {
        let (shelf, start) = (Arc::new(Shelf::default()), Instant::now());
        let store: Arc<dyn KeyStore> = Arc::<Shelf>::clone(&shelf);
        Self {
            shelf,
            verifier: Arc::new(Verifier::new(store, settings, start)),
            start,
        }
    }

    /// A world in which the test itself does the computations.
    fn by_hand(capacity: usize) -> (Self, Receiver<Job>) {
        let world = Self::new();
        let memory = Arc::new(HashQueue::new(100));
        let (express, jobs) = Hashing::by_hand(&memory, capacity);
        let hashing = Hashing::start(&memory, 1, capacity);
        let store: Arc<dyn KeyStore> = Arc::<Shelf>::clone(&world.shelf);
        let verifier = Arc::new(Verifier {
            store,
            memory,
            hashing,
            express,
            settings: VerifierSettings::default(),
            tagger: Tagger::new([7; 32].into()),
            start: world.start,
            answered_ms: AtomicU64::new(0),
            failed_ms: AtomicU64::new(0),
        });
        (Self { verifier, ..world }, jobs)
    }

    fn make(&self) -> (PresentedKey, KeyRecord) {
        let key = PresentedKey::generate(KeyKind::Spend).unwrap();
        let record = KeyRecord {
            id: key.id.clone(),
            account: AccountId::parse("a").unwrap(),
            kind: key.kind,
            name: String::new(),
            hash: hash_secret(&key.secret).unwrap(),
            scopes: Scopes::default(),
            tier: None,
            spread: None,
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
            replaces: None,
        };
        self.put(&record);
        (key, record)
    }

    fn put(&self, record: &KeyRecord) {
        self.shelf.change(|keys| {
            keys.insert(record.id.clone(), record.clone());
        });
    }

    fn at(&self, seconds: u64) -> Moment {
        Moment {
            unix_ms: 1_000_000 + seconds * 1_000,
            at: self.start + Duration::from_secs(seconds),
        }
    }

    async fn check(&self, text: &str, seconds: u64) -> Checked {
        self.check_from(HERE, text, seconds).await
    }

    async fn check_from(&self, from: IpAddr, text: &str, seconds: u64) -> Checked {
        match self.verifier.check(text, from, self.at(seconds)) {
            KeyVerdict::Verified(record) => Ok(record),
            KeyVerdict::Refused(refusal) => Err(refusal),
            KeyVerdict::Slow(later) => later.await,
        }
    }

    /// What is answered without asking anybody; `None` where somebody would have to be.
    fn at_once(&self, text: &str, seconds: u64) -> Option<Checked> {
        match self.verifier.check(text, HERE, self.at(seconds)) {
            KeyVerdict::Verified(record) => Some(Ok(record)),
            KeyVerdict::Refused(refusal) => Some(Err(refusal)),
            KeyVerdict::Slow(_) => None,
        }
    }
}

fn text(key: &PresentedKey) -> String {
    key.text().expose().to_owned()
}

fn with_other_secret(key: &PresentedKey) -> PresentedKey {
    let other = PresentedKey::generate(key.kind).unwrap();
    PresentedKey {
        secret: other.secret,
        ..key.clone()
    }
}

#[tokio::test]
async fn a_key_is_computed_once_and_known_after() {
    let world = World::new();
    let (key, record) = world.make();
    assert_eq!(*world.check(&text(&key), 0).await.unwrap(), record);
    assert_eq!(world.verifier.computed(), 1);
    for seconds in [0, 1, 599] {
        let known = world.at_once(&text(&key), seconds).unwrap();
        assert_eq!(*known.unwrap(), record);
    }
    let asked = world.shelf.asked.load(Ordering::SeqCst);
    assert_eq!((world.verifier.computed(), asked), (1, 1));
}

#[tokio::test]
async fn an_unknown_id_and_a_wrong_secret_take_the_same_work_and_the_same_answer() {
    let world = World::new();
    let (key, record) = world.make();
    // Version and cost of the hash that stands in are those of the hashes that are kept.
    assert_eq!(record.hash[..7], STAND_IN[..7]);
    let stand_in = Secret::new("-".into());
    assert!(verify_secret(&stand_in, STAND_IN));
    assert_eq!(matches_digest(&stand_in, STAND_IN), Some(true));
    let wrong = with_other_secret(&key);
    let unknown = PresentedKey::generate(KeyKind::Spend).unwrap();
    let other_kind = PresentedKey {
        kind: KeyKind::ReadOnly,
        ..key.clone()
    };
    for (index, bad) in (1..).zip([&wrong, &unknown, &other_kind]) {
        assert!(world.at_once(&text(bad), 0).is_none());
        assert_eq!(world.check(&text(bad), 0).await, Err(KeyRefusal::Wrong));
        assert_eq!(world.verifier.computed(), index);
        assert_eq!(world.shelf.asked.load(Ordering::SeqCst), index);
        // And both are remembered in the same way.
        assert_eq!(world.at_once(&text(bad), 1), Some(Err(KeyRefusal::Wrong)));
        assert!(world.at_once(&text(bad), 6).is_none());
    }
}

#[tokio::test]
async fn what_is_no_key_is_refused_without_work() {
    let world = World::new();
    for bad in ["", "sk-1", "bardo_sk_", "bardo_sk_a_b_c"] {
        assert_eq!(world.at_once(bad, 0), Some(Err(KeyRefusal::Malformed)));
    }
    assert_eq!(world.verifier.computed(), 0);
}

#[tokio::test]
async fn a_revoked_key_is_refused_from_the_next_request_on() {
    let world = World::new();
    let (key, record) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    world.put(&KeyRecord {
        revoked_at_ms: Some(1_001_000),
        ..record
    });
    assert!(world.at_once(&text(&key), 1).is_none());
    assert_eq!(world.check(&text(&key), 1).await, Err(KeyRefusal::Revoked));
    assert_eq!(
        world.at_once(&text(&key), 1),
        Some(Err(KeyRefusal::Revoked))
    );
    assert_eq!(world.verifier.computed(), 1);
}

#[tokio::test]
async fn a_key_ends_in_the_middle_of_being_known() {
    let world = World::new();
    let (key, record) = world.make();
    world.put(&KeyRecord {
        expires_at_ms: Some(1_005_000),
        ..record
    });
    assert!(world.check(&text(&key), 4).await.is_ok());
    assert_eq!(
        world.at_once(&text(&key), 5),
        Some(Err(KeyRefusal::Expired))
    );
}

#[tokio::test]
async fn a_change_of_the_store_is_seen_at_the_next_use() {
    let world = World::new();
    let (key, record) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    let renamed = KeyRecord {
        name: "renamed".into(),
        ..record.clone()
    };
    world.put(&renamed);
    assert_eq!(*world.check(&text(&key), 1).await.unwrap(), renamed);
    assert!(world.at_once(&text(&key), 1).is_some());
    // Another secret under the same id: the old one is worth nothing from then on.
    let other = with_other_secret(&key);
    world.put(&KeyRecord {
        hash: hash_secret(&other.secret).unwrap(),
        ..record
    });
    assert_eq!(world.check(&text(&key), 2).await, Err(KeyRefusal::Wrong));
    assert!(world.check(&text(&other), 2).await.is_ok());
    // A key that is gone.
    world.shelf.change(HashMap::clear);
    assert_eq!(world.check(&text(&other), 3).await, Err(KeyRefusal::Wrong));
}

#[tokio::test]
async fn a_refusal_does_not_outlive_a_change_of_the_store() {
    let world = World::new();
    let (key, record) = world.make();
    world.shelf.change(HashMap::clear);
    assert_eq!(world.check(&text(&key), 0).await, Err(KeyRefusal::Wrong));
    world.put(&record);
    assert!(world.check(&text(&key), 0).await.is_ok());
}

#[tokio::test]
async fn after_its_time_a_key_is_looked_up_again_but_not_computed() {
    let world = World::new();
    let (key, _) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    assert!(world.at_once(&text(&key), 600).is_none());
    assert!(world.check(&text(&key), 600).await.is_ok());
    assert!(world.at_once(&text(&key), 1_199).is_some());
    let asked = world.shelf.asked.load(Ordering::SeqCst);
    assert_eq!((world.verifier.computed(), asked), (1, 2));
}

#[tokio::test]
async fn without_the_store_known_keys_work_for_an_hour_and_others_are_told_to_come_again() {
    let world = World::new();
    let (key, _) = world.make();
    let (stranger, _) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    world.shelf.is_down.store(true, Ordering::SeqCst);
    for seconds in [10, 700, 3_600] {
        assert!(world.check(&text(&key), seconds).await.is_ok(), "{seconds}");
        assert_eq!(
            world.check(&text(&stranger), seconds).await,
            Err(UNAVAILABLE)
        );
    }
    assert_eq!(world.check(&text(&key), 3_601).await, Err(UNAVAILABLE));
    // Nobody was taken for an impostor meanwhile.
    world.shelf.is_down.store(false, Ordering::SeqCst);
    assert!(world.check(&text(&key), 3_602).await.is_ok());
    assert!(world.check(&text(&stranger), 3_602).await.is_ok());
}

#[tokio::test]
async fn a_revoked_key_stays_revoked_when_the_store_is_gone() {
    let world = World::new();
    let (key, record) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    world.put(&KeyRecord {
        revoked_at_ms: Some(1),
        ..record
    });
    assert_eq!(world.check(&text(&key), 1).await, Err(KeyRefusal::Revoked));
    world.shelf.is_down.store(true, Ordering::SeqCst);
    assert_eq!(
        world.check(&text(&key), 700).await,
        Err(KeyRefusal::Revoked)
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_is_one_that_is_gone() {
    let world = World::new();
    let (key, _) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    world.shelf.is_silent.store(true, Ordering::SeqCst);
    let began = tokio::time::Instant::now();
    assert!(world.check(&text(&key), 700).await.is_ok());
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    // The next ones do not wait for it.
    assert!(world.check(&text(&key), 700).await.is_ok());
    assert_eq!(began.elapsed(), Duration::from_secs(2));
}

#[tokio::test]
async fn simultaneous_requests_wait_for_one_computation() {
    let world = World::new();
    let (key, _) = world.make();
    let text = text(&key);
    let checks: Vec<_> = (0..200)
        .map(|_| match world.verifier.check(&text, HERE, world.at(0)) {
            KeyVerdict::Slow(later) => tokio::spawn(later),
            _ => panic!("nothing is known yet"),
        })
        .collect();
    for check in checks {
        assert!(check.await.unwrap().is_ok());
    }
    assert_eq!(world.verifier.computed(), 1);
}

#[tokio::test]
async fn a_full_queue_says_busy_and_a_caller_that_leaves_costs_the_others_nothing() {
    let (world, jobs) = World::by_hand(1);
    let (first, _) = world.make();
    let (second, _) = world.make();
    let start = |key: &PresentedKey| match world.verifier.check(&text(key), HERE, world.at(0)) {
        KeyVerdict::Slow(later) => later,
        _ => panic!("nothing is known yet"),
    };
    let (mut leaves, mut stays) = (start(&first), start(&first));
    for waits in [&mut leaves, &mut stays] {
        let is_done = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waits.as_mut().poll(context).is_ready())
        });
        assert!(!is_done.await);
    }
    let busy = KeyRefusal::Busy {
        retry_after_ms: RETRY_MS,
    };
    assert_eq!(start(&second).await, Err(busy));
    drop(leaves);
    let job = jobs.try_recv().unwrap();
    let late = Job {
        id: job.id.clone(),
        secret: Secret::new(job.secret.expose().to_owned()),
        record: job.record.clone(),
        ..job
    };
    world.verifier.memory.compute(job);
    assert!(stays.await.is_ok());
    // One that was handed over a moment too late is answered by what was found.
    world.verifier.memory.compute(late);
    assert_eq!(world.verifier.computed(), 1);
    assert!(jobs.try_recv().is_err());
    assert!(world.at_once(&text(&first), 0).is_some());
}

#[tokio::test]
async fn many_wrong_secrets_for_one_id_are_slowed_down_whether_it_exists_or_not() {
    let world = World::new();
    let (key, _) = world.make();
    world.check(&text(&key), 0).await.unwrap();
    let unknown = PresentedKey::generate(KeyKind::Spend).unwrap();
    for target in [&key, &unknown] {
        for _ in 0..10 {
            let wrong = with_other_secret(target);
            assert_eq!(world.check(&text(&wrong), 0).await, Err(KeyRefusal::Wrong));
        }
        let before = world.verifier.computed();
        let refused = world.check(&text(&with_other_secret(target)), 0).await;
        let busy = KeyRefusal::Busy {
            retry_after_ms: 1_000,
        };
        assert_eq!(refused, Err(busy));
        assert_eq!(world.verifier.computed(), before);
        let refused = world.check(&text(&with_other_secret(target)), 1).await;
        assert_eq!(refused, Err(KeyRefusal::Wrong));
    }
    // Who is known already does not notice.
    assert!(world.at_once(&text(&key), 0).unwrap().is_ok());
}

#[tokio::test]
async fn a_flood_of_wrong_secrets_never_brakes_the_right_key() {
    let world = World::new();
    let (key, _) = world.make();
    for _ in 0..200 {
        let _ = world.check(&text(&with_other_secret(&key)), 0).await;
    }
    let asked = world.shelf.asked.load(Ordering::SeqCst);
    assert!(asked <= 11, "the flood reaches the store: {asked}");
    assert!(world.check(&text(&key), 0).await.is_ok());
}

#[tokio::test]
async fn a_flood_that_fills_the_queue_does_not_hold_up_the_right_key() {
    let mut world = World::new();
    let memory = Arc::new(HashQueue::new(100));
    // No thread works on the queue of wrong keys.
    let (hashing, _jobs) = Hashing::by_hand(&memory, 1);
    let store: Arc<dyn KeyStore> = Arc::<Shelf>::clone(&world.shelf);
    world.verifier = Arc::new(Verifier {
        store,
        express: Hashing::start(&memory, 1, 1),
        memory,
        hashing,
        settings: VerifierSettings::default(),
        tagger: Tagger::new([7; 32].into()),
        start: world.start,
        answered_ms: AtomicU64::new(0),
        failed_ms: AtomicU64::new(0),
    });
    let (key, _) = world.make();
    let wrong = text(&with_other_secret(&key));
    let KeyVerdict::Slow(mut waits) = world.verifier.check(&wrong, HERE, world.at(0)) else {
        panic!("nothing is known yet");
    };
    let is_done = std::future::poll_fn(|context| {
        std::task::Poll::Ready(waits.as_mut().poll(context).is_ready())
    });
    assert!(!is_done.await);
    let other = world.check(&text(&with_other_secret(&key)), 0).await;
    assert!(matches!(other, Err(KeyRefusal::Busy { .. })), "{other:?}");
    assert!(world.check(&text(&key), 0).await.is_ok());
}

#[tokio::test]
async fn wrong_secrets_are_braked_per_network_and_a_key_without_a_digest_only_there() {
    let world = World::new();
    let (key, record) = world.make();
    let (bare, _) = record.hash.split_once(';').unwrap();
    world.put(&KeyRecord {
        hash: bare.to_owned(),
        ..record
    });
    let [one, neighbour, far]: [IpAddr; 3] =
        ["2001:db8::1", "2001:db8::2", "2001:db8:1::1"].map(|text| text.parse().unwrap());
    for _ in 0..10 {
        let wrong = text(&with_other_secret(&key));
        assert_eq!(
            world.check_from(one, &wrong, 0).await,
            Err(KeyRefusal::Wrong)
        );
    }
    for from in [one, neighbour] {
        let refused = world.check_from(from, &text(&key), 0).await;
        assert!(
            matches!(refused, Err(KeyRefusal::Busy { .. })),
            "{refused:?}"
        );
    }
    assert!(world.check_from(far, &text(&key), 0).await.is_ok());
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
    let world = World::with(VerifierSettings {
        entries: 64,
        ..VerifierSettings::default()
    });
    let mut last = None;
    for seconds in 0..300 {
        let (key, record) = world.make();
        world.verifier.remember(&key, record, world.at(seconds));
        assert!(world.verifier.memory.warm.len() <= 64);
        last = Some((key, seconds));
    }
    let (key, seconds) = last.unwrap();
    assert!(world.at_once(&text(&key), seconds).unwrap().is_ok());
    assert_eq!(world.verifier.computed(), 0);
}

#[tokio::test]
async fn whether_there_are_keys_is_asked_once_per_change() {
    let world = World::new();
    let store: Arc<dyn KeyStore> = Arc::<Shelf>::clone(&world.shelf);
    let presence = Arc::new(Presence::new(store));
    let ask = async || match presence.keys() {
        KeyPresence::Ask(later) => later.await,
        _ => panic!("it should have to ask"),
    };
    assert_eq!(ask().await, Ok(false));
    assert!(matches!(presence.keys(), KeyPresence::None));
    world.shelf.is_down.store(true, Ordering::SeqCst);
    let _ = world.make();
    assert!(ask().await.is_err());
    world.shelf.is_down.store(false, Ordering::SeqCst);
    assert_eq!(ask().await, Ok(true));
    let _ = world.make();
    assert!(matches!(presence.keys(), KeyPresence::Some));
}

#[test]
fn nothing_that_was_presented_can_be_read_from_the_memory() {
    let tagger = Tagger::new([7; 32].into());
    let other = Tagger::new([8; 32].into());
    assert_eq!(tagger.tag("a"), tagger.tag("a"));
    assert_ne!(tagger.tag("a"), tagger.tag("b"));
    assert_ne!(tagger.tag("a"), other.tag("a"));
}
