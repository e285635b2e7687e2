//! Work that keeps a core busy, on threads that serve nobody.

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tokio::sync::Semaphore;

thread_local! {
    /// Limits the number of counting threads. A count keeps a core busy, so more threads would only
    /// take memory. Each runtime has its own limit, like its threads.
    static ROOM: Arc<Semaphore> = Arc::new(Semaphore::new(
        thread::available_parallelism().map_or(1, NonZero::get),
    ));
}

/// Works on a thread that serves nobody, on few of them at a time.
pub(crate) async fn spawn_count<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let room = ROOM.with(Arc::clone);
    let _permit = room.acquire().await.expect("it is never closed");
    tokio::task::spawn_blocking(work)
        .await
        .expect("counting does not panic, and a runtime that ends polls nobody")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// A thread for each of those who left at once would never be given back as memory.
    #[tokio::test]
    async fn a_crowd_that_leaves_is_counted_on_few_threads() {
        let (busy, most) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let mut crowd = tokio::task::JoinSet::new();
        for _ in 0..200 {
            let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
            crowd.spawn(spawn_count(move || {
                let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                // Long enough for others to come in beside it.
                thread::park_timeout(Duration::from_millis(1));
                busy.fetch_sub(1, Ordering::SeqCst);
            }));
        }
        crowd.join_all().await;
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let most = most.load(Ordering::SeqCst);
        assert!((1..=cores).contains(&most), "{most} on {cores} cores");
    }
}
