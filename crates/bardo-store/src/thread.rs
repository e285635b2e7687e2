//! A thread with a runtime of its own, for connections that outlive requests.
//!
//! Each worker of the gateway has a single-threaded runtime, and a connection is bound to the
//! runtime that opened it. Here all connections of a store live on one thread, and any runtime can
//! wait for an answer. What was begun here goes on when nobody waits for it any more: a command on
//! money is never cut off half-way because a caller left.

use std::io;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The thread; it ends, with all that runs on it, when this is dropped.
#[derive(Debug)]
pub(crate) struct StoreThread {
    handle: Handle,
    _alive: oneshot::Sender<()>,
}

impl StoreThread {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // Nothing is ever sent: this waits for the other end to be dropped.
                let _ = runtime.block_on(ended);
                runtime.shutdown_background();
            })?;
        Ok(Self {
            handle,
            _alive: alive,
        })
    }

    /// For what is begun there by somebody who does not have the thread.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs a future on the thread. It runs to its end also when the answer is not waited for.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.handle.spawn(future)
    }
}
