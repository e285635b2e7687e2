//! Money, keys and receipts in one SQLite file: the embedded store, for one server.
//!
//! While a server runs, the books in its memory ([`bardo_ledger::Book`]) decide. What they decided
//! is appended to a journal beside the database, in one write by whoever asked, and answered then;
//! a thread carries it over into the database, some hundred at a time, and the database says how far
//! it has come. So nothing is lost between the two and nothing is done twice, whenever the process
//! ends. Holding money touches no disk; a hold is written down when it lives longer than some 50 ms
//! or when [`Holds::persist`](bardo_ledger::Holds::persist) is awaited. What an end frees is free only once the end is in the
//! journal, so a write that fails is taken back exactly.
//!
//! Commands such as `keys create` open the same database beside a server ([`OpenMode::Tool`]). They put
//! money in, change keys and end holds of unknown outcome, each in a transaction of its own, and
//! leave a row in `changes`, which the server reads within 50 ms, or at once on
//! [`SqliteStore::refresh`], which carries over what waits as well. Where no server runs they carry
//! over themselves what one left behind.
//!
//! Start from [`SqliteStore::open`].

mod apply;
mod caps;
mod changes;
mod claims;
mod drill;
mod entry;
mod error;
mod group;
mod inserts;
mod journal;
mod keys;
mod loading;
mod lock;
mod port;
mod queries;
mod reader;
mod receipts;
mod replay;
mod rows;
mod schema;
mod series;
mod server;
mod shared;
mod tool;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::StoreError;
use bardo_types::clock::{Clock, SystemClock};

use self::reader::Readers;
use self::schema::Tuning;
use self::server::SqliteServer;
use self::shared::WriterAction;
use self::tool::SqliteTool;

pub use self::error::OpenError;
pub use self::schema::Durability;

/// The use that a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// To serve: only one process at a time.
    Serve,
    /// To look and to change a little, also while a server runs.
    Tool,
}

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// How hard writes are pressed onto the disk.
    pub durability: Durability,
    /// How long another process's transaction is waited for, before a write fails.
    pub busy_timeout: Duration,
    /// The name of the process that changes keys and deposits, for the audit log.
    pub actor: String,
    /// For the times in the audit log.
    pub clock: Arc<dyn Clock>,
    /// The file grows no further than this many pages, as on a full disk; `None`: no limit.
    pub max_pages: Option<u32>,
    /// Writes that fail, for drills.
    pub faults: Option<Faults>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(2),
            actor: "operator".to_owned(),
            clock: Arc::new(SystemClock),
            max_pages: None,
            faults: None,
        }
    }
}

impl Options {
    fn tuning(&self) -> Tuning {
        Tuning {
            durability: self.durability,
            busy_timeout: self.busy_timeout,
            max_pages: self.max_pages,
        }
    }
}

/// Decides which writes of a server fail, as they would on a full disk: of groups to the journal and
/// of transactions in the database.
#[derive(Clone)]
pub struct Faults(Arc<dyn Fn(u64) -> bool + Send + Sync>);

impl Faults {
    /// `fails` is asked at each write, with its number from 1 on.
    #[must_use]
    pub fn new(fails: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(fails))
    }

    fn fails(&self, number: u64) -> bool {
        (self.0)(number)
    }
}

/// The embedded store. Dropping it writes what waits, and waits for that. The journal is beside the
/// database, of the same name and ending in `.journal`.
pub struct SqliteStore {
    side: Side,
    readers: Readers,
    path: PathBuf,
}

enum Side {
    Server(SqliteServer),
    Tool(SqliteTool),
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store in the file at `path`, making it where there is none.
    ///
    /// # Errors
    /// See [`Self::open_with`].
    pub fn open(path: impl AsRef<Path>, mode: OpenMode) -> Result<Self, OpenError> {
        Self::open_with(path, mode, &Options::default())
    }

    /// Opens the store in the file at `path`, making it where there is none; its folder must
    /// exist. A server's lock is the file `ledger.lock` beside it.
    ///
    /// # Errors
    /// When another server uses it, when it is no ledger or of a later version, or when it cannot
    /// be read and written.
    pub fn open_with(
        path: impl AsRef<Path>,
        mode: OpenMode,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let side = match mode {
            OpenMode::Serve => Side::Server(SqliteServer::open(path, options)?),
            OpenMode::Tool => Side::Tool(SqliteTool::open(path, options)?),
        };
        let readers =
            Readers::start(path.to_owned(), options.tuning()).map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            side,
            readers,
            path: path.to_owned(),
        })
    }

    /// Brings the database up to date at once, and reads what other processes did, instead of
    /// within moments.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        match &self.side {
            Side::Server(server) => server.ask(WriterAction::Refresh).await,
            Side::Tool(tool) => tool.catch_up().map(|_| ()),
        }
    }

    /// Carries over the entries that a server left in the journal when it ended; for tools. The
    /// result tells whether the database has all of them now; where it does not, a server runs and
    /// has to be called.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn catch_up(&self) -> Result<bool, StoreError> {
        match &self.side {
            Side::Server(_) => Ok(true),
            Side::Tool(tool) => tool.catch_up(),
        }
    }

    /// Deletes receipts from before this Unix millisecond, a few hundred per transaction, so that
    /// nobody waits for it; answers how many. Postings are never deleted.
    ///
    /// # Errors
    /// When the file cannot be written. What was deleted until then stays deleted.
    pub async fn prune(&self, before_ms: u64) -> Result<u64, StoreError> {
        let mut sum = 0;
        loop {
            let count = match &self.side {
                Side::Server(server) => {
                    server
                        .ask(|reply| WriterAction::Prune(before_ms, reply))
                        .await?
                }
                Side::Tool(tool) => tool.prune(before_ms, writer::PRUNE)?,
            };
            if count == 0 {
                return Ok(sum);
            }
            sum += count;
        }
    }
}
