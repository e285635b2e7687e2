//! Questions that other processes learn: they leave the shared store with their answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::key::Key;
use bardo_cache::second::{LevelFuture, Loss};
use bardo_cache::semantic::{SearchSpace, SharedQuestion, SharedQuestions};
use bardo_cache::store::Flush;
use tokio::sync::Semaphore;

use super::{ask, purse, serving};

/// A store that a question reaches only after the test lets it.
struct SlowStore {
    began: Semaphore,
    let_in: Semaphore,
    kept: Mutex<Vec<Key>>,
    /// Gets a permit with each removal.
    removed: Semaphore,
}

impl Default for SlowStore {
    fn default() -> Self {
        let closed = || Semaphore::new(0);
        Self {
            began: closed(),
            let_in: closed(),
            kept: Mutex::default(),
            removed: closed(),
        }
    }
}

impl SharedQuestions for SlowStore {
    fn nearest<'a>(
        &'a self,
        _space: &'a SearchSpace,
        _vector: &'a [i8],
    ) -> LevelFuture<'a, Result<Vec<SharedQuestion>, Loss>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn put<'a>(
        &'a self,
        _space: &'a SearchSpace,
        question: &'a SharedQuestion,
        _entry: &'a CachedAnswer,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            self.began.add_permits(1);
            self.let_in.acquire().await.expect("open").forget();
            self.kept.lock().expect("no panic").push(question.key);
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            self.kept.lock().expect("no panic").retain(|one| one != key);
            self.removed.add_permits(1);
            Ok(())
        })
    }

    fn flush<'a>(&'a self, _flush: &'a Flush) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            self.kept.lock().expect("no panic").clear();
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_question_that_arrives_after_the_flush_of_its_answer_does_not_stay() {
    let (purse, _) = purse(serving()).await;
    let shared = Arc::new(SlowStore::default());
    let meaning = purse.bench.engine.cache().meaning();
    meaning.share_with(Arc::<SlowStore>::clone(&shared));
    let soon = |permit| tokio::time::timeout(Duration::from_secs(20), permit);
    ask(&purse, "How do I sell 1 ETH?").await;
    soon(shared.began.acquire())
        .await
        .expect("it is sent")
        .expect("open")
        .forget();
    let flush = Flush::Tenant(purse.account.clone());
    assert_eq!(purse.bench.engine.cache().store().flush(&flush), 1);
    shared.flush(&flush).await.expect("it is there");
    shared.let_in.add_permits(1);
    let removed = soon(shared.removed.acquire()).await;
    assert!(removed.is_ok(), "it stays: {:?}", shared.kept.lock());
    assert!(shared.kept.lock().expect("no panic").is_empty());
    // One whose answer is there stays.
    ask(&purse, "How do I stake 2 ETH?").await;
    soon(shared.began.acquire())
        .await
        .expect("it is sent")
        .expect("open")
        .forget();
    shared.let_in.add_permits(1);
    tokio::task::yield_now().await;
    let kept = async {
        while shared.kept.lock().expect("no panic").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), kept)
        .await
        .expect("it is kept");
}
