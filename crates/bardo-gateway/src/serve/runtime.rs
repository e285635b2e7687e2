//! The runtime of one thread, for the main thread of a server and for verbs.

use std::ops::Deref;
use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::cli::CliFailure;

/// A runtime of one thread. All its futures are run by the same machine code, which would else be
/// compiled once for each of the forty places that wait for one.
pub(crate) struct ThreadRuntime(Runtime);

impl ThreadRuntime {
    /// Runs a future to its end.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut output = None;
        {
            let work: Pin<&mut dyn Future<Output = ()>> =
                pin!(async { output = Some(future.await) });
            self.0.block_on(work);
        }
        output.expect("the future has ended")
    }

    /// Ends the runtime; what blocks a thread has until then to end.
    pub(crate) fn shut_down(self, patience: Duration) {
        self.0.shutdown_timeout(patience);
    }
}

impl Deref for ThreadRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        &self.0
    }
}

/// A runtime of this thread alone.
pub(crate) fn runtime() -> Result<ThreadRuntime, CliFailure> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built
        .map(ThreadRuntime)
        .map_err(|error| error.to_string().into())
}
