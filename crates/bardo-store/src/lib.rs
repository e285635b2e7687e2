//! Where it is kept: SQLite and Postgres for money, keys and receipts; Redis for shared limits.
//!
//! SQL lives here and nowhere else. Each store implements the ports of `bardo-ledger` and
//! `bardo-access`, and one contract suite runs against each. Start from
//! [`sqlite::SqliteStore`].

pub mod sqlite;
