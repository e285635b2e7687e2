//! Where it is kept: SQLite and Postgres for money, keys and receipts; Redis for shared limits and
//! cached answers.
//!
//! SQL lives here and nowhere else. Each store implements the ports of `bardo-ledger`,
//! `bardo-access` and `bardo-cache`, and one contract suite runs against each. Start from
//! [`sqlite::SqliteStore`].

mod claim_columns;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "servers")]
pub mod servers;
pub mod sqlite;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod thread;
