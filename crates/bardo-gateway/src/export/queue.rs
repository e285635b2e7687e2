//! Receipts that wait for a sink.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bardo_telemetry::ExportCounts;
use bardo_types::receipt::Receipt;
use tokio::sync::Notify;

/// A bounded queue between the threads of requests and the task of a sink.
pub(crate) struct ReceiptQueue {
    waiting: Mutex<VecDeque<Arc<Receipt>>>,
    room: usize,
    batch: usize,
    /// Told when a whole batch waits, so that a single receipt wakes no thread.
    full: Notify,
    pub(crate) counts: ExportCounts,
}

impl ReceiptQueue {
    pub(crate) fn new(room: usize, batch: usize, counts: ExportCounts) -> Self {
        Self {
            waiting: Mutex::default(),
            room,
            batch,
            full: Notify::new(),
            counts,
        }
    }

    /// Adds a receipt, or drops and counts it if there is no room.
    pub(crate) fn push(&self, receipt: &Arc<Receipt>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= self.room {
            drop(waiting);
            self.counts.dropped(1);
            return;
        }
        waiting.push_back(Arc::clone(receipt));
        let is_batch = waiting.len() == self.batch;
        drop(waiting);
        if is_batch {
            self.full.notify_one();
        }
    }

    /// Takes the oldest receipts, at most one batch.
    pub(crate) fn take(&self) -> Vec<Arc<Receipt>> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(self.batch);
        waiting.drain(..count).collect()
    }

    /// Whether so many receipts are a whole batch.
    pub(crate) fn is_batch(&self, count: usize) -> bool {
        count == self.batch
    }

    /// Comes when a whole batch waits. Loses nothing when dropped.
    pub(crate) async fn batch(&self) {
        self.full.notified().await;
    }
}
