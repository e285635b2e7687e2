//! The runtime of work beside requests.

use crate::cli::CliFailure;

/// A runtime of this thread alone.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliFailure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string().into())
}
