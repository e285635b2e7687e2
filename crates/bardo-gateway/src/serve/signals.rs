//! The signals that end or reload a running gateway.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::CliFailure;

/// Comes when the rest of the process wants to end, or never. Loses nothing when dropped.
pub(super) async fn quit(quit: &mut Option<oneshot::Receiver<()>>) {
    match quit {
        Some(receiver) => {
            let _ = receiver.await;
        }
        None => std::future::pending().await,
    }
}

/// The signals that an operator sends.
pub(super) struct Signals {
    pub(super) terminate: Signal,
    pub(super) interrupt: Signal,
    pub(super) hangup: Signal,
    /// The rest of the process wants to end.
    pub(super) quit: Option<oneshot::Receiver<()>>,
}

impl Signals {
    pub(super) fn watch(quit: Option<oneshot::Receiver<()>>) -> Result<Self, CliFailure> {
        let watch_for = |kind| signal(kind).map_err(|error| error.to_string());
        Ok(Self {
            terminate: watch_for(SignalKind::terminate())?,
            interrupt: watch_for(SignalKind::interrupt())?,
            hangup: watch_for(SignalKind::hangup())?,
            quit,
        })
    }

    /// Waits until it is time to go. Loses nothing when dropped.
    pub(super) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
