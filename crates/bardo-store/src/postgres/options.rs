//! How the database is reached.

use std::path::PathBuf;
use std::time::Duration;

use bardo_types::secret::Secret;

use super::tls::ConnectTarget;

/// How a [`super::PostgresStore`] connects, and what it keeps within bounds.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=…`. `sslmode` is `disable`, `prefer`
    /// (the default) or `require`; `verify-ca` and `verify-full` are taken as `require`, which
    /// always verifies the server. `sslrootcert` may name a file, as
    /// [`Self::root_certificates`] does.
    pub url: Secret,
    /// A PEM file with the authorities that vouch for the server; `None`: the public ones.
    pub root_certificates: Option<PathBuf>,
    /// Connections at most.
    pub connections: usize,
    /// Commands at most that wait or run; what comes on top is refused at once.
    pub queue: usize,
    /// How long a command may take in all, waiting for a connection included.
    pub timeout: Duration,
    /// How long the server may work on one command before it gives up.
    pub statement_timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Receipts at most that wait to be kept when they move no money; what comes on top is dropped
    /// and counted.
    pub records: usize,
    /// How often the revision of keys is asked for, beside the notices of changes.
    pub revision_poll: Duration,
}

impl PostgresOptions {
    /// Reads the URL and the certificates, and connects to nothing.
    ///
    /// # Errors
    /// What [`super::PostgresStore::new`] would refuse.
    pub fn check(&self) -> Result<(), InvalidOptions> {
        ConnectTarget::read(self).map(drop)
    }

    /// The usual ones.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        Self {
            url,
            root_certificates: None,
            connections: 8,
            queue: 1_024,
            timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(2),
            records: 8_192,
            revision_poll: Duration::from_secs(5),
        }
    }
}

/// Why options cannot be used. Nothing of the URL is shown: it holds a password.
#[derive(Debug, thiserror::Error)]
pub enum InvalidOptions {
    /// The URL cannot be read.
    #[error("the URL of the database is invalid: {0}")]
    Url(String),
    /// The authorities cannot be read.
    #[error("the certificates in `{path}` cannot be used: {problem}")]
    Certificates {
        /// Path of the file.
        path: PathBuf,
        /// The fault of the address.
        problem: String,
    },
    /// No thread can be had.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
}
