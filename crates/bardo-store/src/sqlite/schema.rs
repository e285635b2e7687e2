//! Opening a connection, and bringing a file's schema up to date.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::{OpenError, store_error};

/// `BRDO`, in the file's header: tells a ledger from any other database.
pub(super) const APPLICATION_ID: i64 = 0x4252_444f;

/// The steps from an empty file to the present schema; the file's `user_version` counts those that
/// were taken. A step that has been released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
];

/// Pages that the writer keeps in memory: those at the growing end of each table and index.
const CACHE_KIB: u32 = 8_192;
/// SQLite moves its own log into its file when it gets this long, if the writer did not have it do
/// so before.
const CHECKPOINT_PAGES: u32 = 8_000;
/// Page size of a new database: larger than SQLite's own, so that writes are fewer.
const PAGE_BYTES: u32 = 8_192;

/// How hard an acknowledged write is pressed onto the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A write survives the death of the process, at any moment. A loss of power may lose the last
    /// writes, but never changes their order.
    #[default]
    Process,
    /// A write survives a loss of power too: each batch waits for the disk.
    Power,
}

/// How connections are opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    pub(super) durability: Durability,
    pub(super) busy_timeout: Duration,
    pub(super) max_pages: Option<u32>,
}

/// A connection that writes, over a file with the present schema.
pub(super) fn open_writer(path: &Path, tuning: Tuning) -> Result<Connection, OpenError> {
    let refused = |error: rusqlite::Error| OpenError::Store {
        path: path.to_owned(),
        source: store_error(&error),
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    make_private(path).map_err(|source| OpenError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut connection = Connection::open_with_flags(path, flags).map_err(refused)?;
    connection
        .busy_timeout(tuning.busy_timeout)
        .map_err(refused)?;
    check_ours(&connection, path)?;
    let synchronous = match tuning.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
             PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA temp_store = MEMORY; \
             PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864; \
             PRAGMA cache_size = -{CACHE_KIB}; PRAGMA cache_spill = OFF; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};"
        ))
        .map_err(refused)?;
    migrate(&mut connection, path)?;
    if let Some(pages) = tuning.max_pages {
        pragma(&connection, &format!("max_page_count = {pages}")).map_err(refused)?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection that reads. It sees each batch whole or not at all, and never holds the writer up.
pub(super) fn open_reader(path: &Path, tuning: Tuning) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(tuning.busy_timeout)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Makes the file for its owner's eyes alone, before SQLite would for everybody's. The files that
/// SQLite puts beside it get the same permissions.
fn make_private(path: &Path) -> std::io::Result<()> {
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn check_ours(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |error: rusqlite::Error| OpenError::Store {
        path: path.to_owned(),
        source: store_error(&error),
    };
    let found = pragma(connection, "application_id").map_err(refused)?;
    if found == APPLICATION_ID {
        return Ok(());
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(refused)?;
    if found == 0 && tables == 0 {
        return Ok(());
    }
    Err(OpenError::Foreign {
        path: path.to_owned(),
        found,
    })
}

/// Takes the steps that are missing, each whole or not at all. Two processes may do this at once:
/// the second waits, then finds nothing left to do.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |error: rusqlite::Error| OpenError::Store {
        path: path.to_owned(),
        source: store_error(&error),
    };
    let known = i64::try_from(MIGRATIONS.len()).expect("a handful of steps");
    let at = pragma(connection, "user_version").map_err(refused)?;
    if at == known {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(refused)?;
    let at = pragma(&transaction, "user_version").map_err(refused)?;
    let done = usize::try_from(at).unwrap_or(usize::MAX);
    let Some(steps) = MIGRATIONS.get(done..) else {
        return Err(OpenError::TooNew {
            path: path.to_owned(),
            found: at,
            known,
        });
    };
    for step in steps {
        transaction.execute_batch(step).map_err(refused)?;
    }
    transaction
        .execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {known};"
        ))
        .map_err(refused)?;
    transaction.commit().map_err(refused)
}

/// The number that a pragma answers.
pub(super) fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}
