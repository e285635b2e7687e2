//! Writes that fail because a test wants it.

use std::sync::atomic::{AtomicU64, Ordering};

use bardo_ledger::StoreError;

use super::Faults;

/// Counts writes, and lets those fail that are to.
#[derive(Default)]
pub(super) struct Drill {
    faults: Option<Faults>,
    /// How many writes were tried.
    tries: AtomicU64,
}

impl Drill {
    pub(super) fn new(faults: Option<Faults>) -> Self {
        Self {
            faults,
            tries: AtomicU64::new(0),
        }
    }

    /// Asked before each write is made good.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let Some(faults) = &self.faults else {
            return Ok(());
        };
        let number = self.tries.fetch_add(1, Ordering::Relaxed) + 1;
        if faults.fails(number) {
            return Err(StoreError::Unavailable(
                "this write fails on purpose".to_owned(),
            ));
        }
        Ok(())
    }
}
