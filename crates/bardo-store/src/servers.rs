//! Real servers for tests: a Postgres, a Redis and a node of a chain of their own, on loopback, gone
//! with the process that started them.
//!
//! Nothing of the machine's own servers is touched: each has a fresh data directory and a free
//! port. The programs are looked for in the folders that `BARDO_TEST_POSTGRES`, `BARDO_TEST_REDIS`
//! and `BARDO_TEST_ANVIL` name, in `target/tools`, where `cargo xtask servers` puts them, and in the
//! usual places. Start at [`PostgresServer::start`], [`RedisServer::start`] and
//! [`ChainNode::start`].

mod chain;
mod find;
mod postgres;
mod process;
mod redis;

pub use chain::ChainNode;
pub use postgres::{PostgresServer, ShutdownMode};
pub use redis::RedisServer;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program is nowhere.
    #[error("`{0}` is not installed; `cargo xtask servers` fetches it")]
    Missing(&'static str),
    /// The server did not start, or one of its tools failed.
    #[error("{program} failed: {output}")]
    Failed {
        /// Name of the program.
        program: String,
        /// What it printed last.
        output: String,
    },
    /// A file, a port or a process could not be had.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl ServerError {
    fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
