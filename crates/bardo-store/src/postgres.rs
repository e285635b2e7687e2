//! Money, keys and receipts in Postgres, for several processes.
//!
//! The database is the authority: each command is one function, one round trip and one
//! transaction, so a crash of any process leaves nothing half-done and no two processes spend the
//! same money. Everything lives in the schema `bardo`, which is made and kept up to date when the
//! store is first used. Start from [`PostgresStore::connect`].
//!
//! A connection pooler in front of it has to give each connection a session of its own: settings
//! and `LISTEN` belong to sessions.

mod arguments;
mod claims;
mod failure;
mod keys;
mod ledger;
mod migrate;
mod options;
mod pool;
mod receipts;
mod records;
mod revision;
mod rows;
mod scope;
mod series;
mod tls;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bardo_ledger::StoreError;
use tokio_postgres::Row;

use self::arguments::{Argument, Statement};
pub use self::failure::Unprepared;
pub use self::options::{InvalidOptions, PostgresOptions};
use self::pool::PostgresPool;
use self::records::Records;
use self::revision::Revision;
use crate::thread::StoreThread;

/// Receipts that are deleted at once.
const PRUNE_BATCH: u64 = 2_000;
const PRUNE: &str = "WITH doomed AS (
        DELETE FROM bardo.receipts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM bardo.receipts WHERE at_ms < $1 LIMIT 2000 FOR UPDATE SKIP LOCKED
        )) RETURNING 1
    ) SELECT count(*) AS pruned FROM doomed";

/// Money, keys and receipts in a Postgres database. It connects in the background, and again
/// whenever a connection was lost.
#[derive(Debug)]
pub struct PostgresStore {
    thread: StoreThread,
    pool: Arc<PostgresPool>,
    records: Records,
    revision: Revision,
    /// Tells a command that is sent again from another one; see `attempt` in the tables.
    next_attempt: AtomicI64,
}

impl PostgresStore {
    /// A store that need not have connected yet, for starting while the database is away.
    ///
    /// # Errors
    /// When the options are wrong or no thread can be had.
    pub fn new(options: &PostgresOptions) -> Result<Self, InvalidOptions> {
        let thread = StoreThread::start("bardo-postgres").map_err(InvalidOptions::Thread)?;
        let pool = Arc::new(PostgresPool::new(options)?);
        let records = Records::start(&thread, Arc::clone(&pool), options.records);
        let revision = Revision::watch(&thread, &pool, options.revision_poll);
        // Two processes may not number alike, or one would take the other's hold for its own.
        let seed = RandomState::new()
            .hash_one(std::process::id())
            .cast_signed();
        Ok(Self {
            thread,
            pool,
            records,
            revision,
            next_attempt: AtomicI64::new(seed),
        })
    }

    /// A store that has connected and brought the schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the database does not answer,
    /// [`StoreError::Damaged`] when its schema is not one that this version knows.
    pub async fn connect(options: &PostgresOptions) -> Result<Self, StoreError> {
        let store =
            Self::new(options).map_err(|error| StoreError::Unavailable(error.to_string()))?;
        store.prepare().await?;
        Ok(store)
    }

    /// Connects and brings the schema up to date. A server calls it at its start, so that a store
    /// that can never work ends the start.
    ///
    /// # Errors
    /// [`Unprepared::Refused`] when another try is of no use, [`Unprepared::Unreachable`] when the
    /// database does not answer.
    pub async fn prepare(&self) -> Result<(), Unprepared> {
        let pool = Arc::clone(&self.pool);
        let prepared = self.thread.spawn(async move { pool.prepare().await }).await;
        prepared.unwrap_or_else(|_| {
            let text = "it is shutting down".to_owned();
            Err(Unprepared::Unreachable(StoreError::Unavailable(text)))
        })
    }

    /// Waits until all receipts that were handed over are kept, and all releases are done.
    pub async fn drain(&self) {
        self.records.drain().await;
    }

    /// Deletes receipts from before `before_ms`, some at a time; answers how many. Several
    /// processes may do this at once. Postings are never deleted.
    ///
    /// # Errors
    /// When the database does not answer. What was deleted until then stays deleted.
    pub async fn prune(&self, before_ms: u64) -> Result<u64, StoreError> {
        let mut sum = 0;
        loop {
            let rows = self.run(PRUNE, vec![arguments::number(before_ms)]).await?;
            let count = rows::number(rows::one(&rows)?, "pruned")?;
            sum += count;
            if count < PRUNE_BATCH {
                return Ok(sum);
            }
        }
    }

    async fn run(
        &self,
        sql: &'static str,
        arguments: Vec<Argument>,
    ) -> Result<Vec<Row>, StoreError> {
        let pool = Arc::clone(&self.pool);
        let command = Statement::new(sql, arguments);
        on(&self.thread, async move { pool.run(&command).await }).await
    }

    async fn all<T>(
        &self,
        sql: &'static str,
        arguments: Vec<Argument>,
        read: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.run(sql, arguments).await?.iter().map(read).collect()
    }

    fn attempt(&self) -> i64 {
        self.next_attempt.fetch_add(1, Ordering::Relaxed)
    }
}

/// Runs a future on the store's thread and waits for it.
async fn on<T: Send + 'static>(
    thread: &StoreThread,
    future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    match thread.spawn(future).await {
        Ok(answer) => answer,
        Err(_) => Err(StoreError::Unavailable("it is shutting down".to_owned())),
    }
}
