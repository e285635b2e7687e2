//! Whether a data folder ever had a key. A server without keys is open to its machine; a database
//! that was emptied or deleted must not make it one.

use std::path::Path;

use super::{FILE, ProcessStores, runtime};
use crate::cli::CliFailure;

/// Lies beside the database once it has a key.
const MARKER: &str = "keys.exist";

/// Marks the folder if the store has a key.
pub(super) fn mark(stores: &ProcessStores, folder: &Path) -> Result<bool, CliFailure> {
    // A store that does not answer says nothing.
    let is_empty = runtime()?.block_on(stores.keys.is_empty()).unwrap_or(true);
    let marker = folder.join(MARKER);
    if !is_empty
        && !marker.exists()
        && let Err(error) = std::fs::write(&marker, "")
    {
        tracing::warn!(file = %marker.display(), %error, "the data folder could not be marked");
    }
    Ok(!is_empty)
}

/// Refuses a folder that had keys and has none any more.
pub(super) fn check(stores: &ProcessStores, folder: &Path) -> Result<(), CliFailure> {
    let marker = folder.join(MARKER);
    if mark(stores, folder)? || !marker.exists() {
        return Ok(());
    }
    Err(CliFailure::new(
        "keys_lost",
        format!(
            "{} has no key, but this folder had keys before: without keys the gateway would accept every \
            program on this machine. Restore the database from a backup, or delete {} to start without keys",
            folder.join(FILE).display(),
            marker.display()
        ),
    ))
}
