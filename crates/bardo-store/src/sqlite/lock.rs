//! The lock that keeps two servers off one file.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::error::OpenError;

/// Held as long as a server serves from a file; the system gives it back however the server ends.
#[derive(Debug)]
pub(super) struct ServeLock {
    #[expect(dead_code, reason = "the lock is the open file")]
    file: File,
}

impl ServeLock {
    /// Takes the lock beside `database`.
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let path = database.with_file_name("ledger.lock");
        let failed = |source| OpenError::Io {
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(database.to_owned())),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}
