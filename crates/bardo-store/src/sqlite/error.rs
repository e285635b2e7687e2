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
        "another server is using {0}; only one server at a time can use a SQLite ledger. Stop the other server, \
        or set `store.url` to a Postgres database"
    )]
    InUse(PathBuf),
    /// The file is a database of something else.
    #[error("{path} is not a ledger of bardo-gateway: its application id is {found:#x}")]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// The version that the file names.
        found: i64,
    },
    /// The file was made by a later version.
    #[error(
        "{path} has schema {found} and this program supports up to {known}; install a newer version of \
        bardo-gateway"
    )]
    TooNew {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file's schema.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// The file or its lock cannot be opened.
    #[error("cannot open {path}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The cause of the failure.
        #[source]
        source: std::io::Error,
    },
    /// SQLite refuses the file.
    #[error("cannot use {path}")]
    Store {
        /// Path of the file.
        path: PathBuf,
        /// The cause of the failure.
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
