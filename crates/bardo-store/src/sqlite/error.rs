//! What SQLite says, in the words of the ports.

use std::path::PathBuf;

use bardo_access::KeyError;
use bardo_ledger::StoreError;
use rusqlite::ErrorCode;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process serves from it.
    #[error(
        "another server is using {0}: SQLite money belongs to one server at a time, several need Postgres"
    )]
    InUse(PathBuf),
    /// The file is a database of something else.
    #[error("{path} is no ledger: its application id is {found:#x}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: i64,
    },
    /// The file was made by a later version.
    #[error("{path} has schema {found} and this version knows up to {known}: use a newer version")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The file or its lock cannot be opened.
    #[error("{path} cannot be opened")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// SQLite refuses.
    #[error("{path} cannot be used")]
    Store {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: StoreError,
    },
}

/// An error of SQLite as the ports name it: what may pass by itself, and what means damage.
pub(super) fn store_error(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch,
        ) => StoreError::Damaged(error.to_string()),
        Some(_) => StoreError::Unavailable(error.to_string()),
        None => StoreError::Damaged(error.to_string()),
    }
}

/// The worker that should have answered is gone.
pub(super) fn gone() -> StoreError {
    StoreError::Unavailable("it is shutting down".to_owned())
}

pub(super) fn key_error(error: StoreError) -> KeyError {
    KeyError::Unavailable(error.to_string())
}
