//! Keys that two processes share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use bardo_cache::second::{LevelFuture, LevelLosses, Loss};
use bardo_cache::shared::{SharedClaim, SharedLease, SharedName, SharedPosts, SharedValues};

use super::*;

type Stored = ([u8; 16], Vec<u8>);

/// What two processes share, in memory: values, and the names whose claims are alive.
#[derive(Default)]
struct Common {
    values: Mutex<HashMap<SharedName, Stored>>,
    leases: Mutex<Vec<SharedName>>,
    is_down: AtomicBool,
    claims: AtomicU8,
    losses: LevelLosses,
}

impl Common {
    fn fail(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Relaxed);
    }

    fn up(&self) -> Result<(), Loss> {
        let is_down = self.is_down.load(Ordering::Relaxed);
        (!is_down).then_some(()).ok_or(Loss::Down)
    }

    /// Changes what a claimant holds; `None`: nothing, `Some(None)`: it goes.
    fn held(&self, held: &SharedLease, value: Option<Option<&[u8]>>) -> Result<(), Loss> {
        self.up()?;
        let mut values = self.values.lock().unwrap();
        let known = values.get(&held.name).map(|(token, _)| *token);
        if known != Some(held.token) {
            return Err(Loss::Foreign);
        }
        match value {
            None => {}
            Some(None) => drop(values.remove(&held.name)),
            Some(Some(value)) => {
                values.insert(held.name.clone(), (held.token, value.to_vec()));
            }
        }
        Ok(())
    }

    fn taken(&self, name: &SharedName, value: &[u8]) -> Result<SharedClaim, Loss> {
        self.up()?;
        let mut values = self.values.lock().unwrap();
        if let Some((_, value)) = values.get(name) {
            let is_alive = self.leases.lock().unwrap().contains(name);
            let value = value.clone();
            return Ok(SharedClaim::Taken { value, is_alive });
        }
        let token = [self.claims.fetch_add(1, Ordering::Relaxed) + 1; 16];
        values.insert(name.clone(), (token, value.to_vec()));
        self.leases.lock().unwrap().push(name.clone());
        let name = name.clone();
        Ok(SharedClaim::Held(SharedLease { name, token }))
    }
}

type Done<'a, T> = LevelFuture<'a, Result<T, Loss>>;

fn now<'a, T: Send + 'a>(value: T) -> LevelFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl SharedValues for Common {
    fn read<'a>(&'a self, name: &'a SharedName) -> Done<'a, Option<Vec<u8>>> {
        let values = self.values.lock().unwrap();
        now(self
            .up()
            .map(|()| values.get(name).map(|stored| stored.1.clone())))
    }

    fn write<'a>(&'a self, name: &'a SharedName, value: &'a [u8], _: Duration) -> Done<'a, ()> {
        let mut values = self.values.lock().unwrap();
        values.insert(name.clone(), ([0; 16], value.to_vec()));
        now(self.up())
    }

    fn claim<'a>(
        &'a self,
        name: &'a SharedName,
        value: &'a [u8],
        _: Duration,
        _: Duration,
    ) -> Done<'a, SharedClaim> {
        now(self.taken(name, value))
    }

    fn renew<'a>(&'a self, held: &'a SharedLease, _: Duration) -> Done<'a, ()> {
        now(self.held(held, None))
    }

    fn change<'a>(
        &'a self,
        held: &'a SharedLease,
        value: &'a [u8],
        _: Duration,
        _: Duration,
    ) -> Done<'a, ()> {
        now(self.held(held, Some(Some(value))))
    }

    fn end<'a>(
        &'a self,
        held: &'a SharedLease,
        value: Option<(&'a [u8], Duration)>,
    ) -> Done<'a, ()> {
        let ended = self.held(held, Some(value.map(|(value, _)| value)));
        if ended.is_ok() {
            let mut leases = self.leases.lock().unwrap();
            leases.retain(|name| *name != held.name);
        }
        now(ended)
    }

    fn post<'a>(&'a self, _: &'static str, _: &'a [u8]) -> Done<'a, ()> {
        now(self.up())
    }

    fn posts<'a>(&'a self, _: &'static str, _: Option<u64>) -> Done<'a, SharedPosts> {
        now(self.up().map(|()| SharedPosts::default()))
    }

    fn losses(&self) -> &LevelLosses {
        &self.losses
    }

    fn mode(&self) -> &'static str {
        "up"
    }
}

/// Two processes, and what they share.
fn two() -> (Arc<Common>, [Idempotency; 2]) {
    let common = Arc::new(Common::default());
    let process = || {
        let values = Arc::clone(&common);
        Idempotency::default().shared_by(values)
    };
    let processes = [process(), process()];
    (common, processes)
}

async fn at(keys: &Idempotency, body: &[u8]) -> Claim {
    keys.claim_shared(&account("alice"), "k", PATH, body).await
}

#[tokio::test(start_paused = true)]
async fn what_one_process_answers_the_other_replays() {
    let (_, [one, two]) = two();
    let mut first = run(at(&one, b"{}").await);
    send(&mut first, false);
    let Claim::Wait(running) = at(&two, b"{}").await else {
        panic!("it is not waited for");
    };
    assert_eq!(name(&at(&two, b"{ }").await), "mismatch");
    first.keep(answer(5));
    running.ended().await;
    one.drain().await;
    let Claim::Replay(kept) = at(&two, b"{}").await else {
        panic!("it is not replayed");
    };
    assert_eq!(kept.body.len(), 5);
    // The second process knows it from now on.
    assert_eq!(name(&claim(&two, "k")), "replay");
}

#[tokio::test(start_paused = true)]
async fn a_stream_elsewhere_is_in_progress_and_a_refusal_frees_the_key() {
    let (_, [one, two]) = two();
    let mut first = run(at(&one, b"{}").await);
    send(&mut first, true);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(name(&at(&two, b"{}").await), "in progress");
    first.free();
    one.drain().await;
    assert_eq!(name(&at(&two, b"{}").await), "run");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_died_leaves_an_unknown_outcome() {
    let (common, [one, two]) = two();
    let mut first = run(at(&one, b"{}").await);
    send(&mut first, false);
    common.leases.lock().unwrap().clear();
    assert_eq!(name(&at(&two, b"{}").await), "unknown");
    // It was not dead after all: its answer counts.
    first.keep(answer(1));
    one.drain().await;
    assert_eq!(name(&at(&two, b"{}").await), "replay");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_withheld_is_replayed_by_its_own_process_alone() {
    let (_, [one, two]) = two();
    let mut first = run(at(&one, b"{}").await);
    first.withhold();
    send(&mut first, false);
    first.keep(answer(1));
    one.drain().await;
    assert_eq!(name(&at(&two, b"{}").await), "unknown");
    assert_eq!(name(&at(&one, b"{}").await), "replay");
}

#[tokio::test(start_paused = true)]
async fn without_the_shared_store_each_process_goes_by_its_own_memory() {
    let (common, [one, two]) = two();
    common.fail(true);
    let first = run(at(&one, b"{}").await);
    assert_eq!(name(&at(&one, b"{}").await), "wait");
    first.keep(answer(1));
    assert_eq!(name(&at(&one, b"{}").await), "replay");
    assert_eq!(name(&at(&two, b"{}").await), "run");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_stored_although_the_store_fails_for_a_moment() {
    let (common, [one, two]) = two();
    let mut first = run(at(&one, b"{}").await);
    send(&mut first, false);
    common.fail(true);
    first.keep(answer(1));
    tokio::time::sleep(Duration::from_millis(300)).await;
    common.fail(false);
    one.drain().await;
    assert_eq!(name(&at(&two, b"{}").await), "replay");
}
