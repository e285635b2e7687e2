//! A Postgres server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::process::{Folder, ServerProcess, free_port, run};
use super::{ServerError, find};

/// How often another port is tried when one is taken at the last moment.
const STARTS_MAX: u32 = 5;

/// A Postgres server with data of its own, gone with this value. Anybody on this machine may
/// connect: it is for tests.
pub struct PostgresServer {
    // Dropped before the folder it works in.
    running: Option<ServerProcess>,
    folder: Folder,
    bin: PathBuf,
    port: u16,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// In order: what runs is rolled back, connections are told.
    Fast,
    /// At once, as if it had crashed; it recovers at the next start.
    Crash,
}

impl PostgresServer {
    /// Makes new data and starts a server on it.
    ///
    /// # Errors
    /// When Postgres is not installed or does not start.
    pub fn start() -> Result<Self, ServerError> {
        let folder = Folder::new("postgres")?;
        let bin = reachable(&folder, find::postgres()?)?;
        let mut initdb = folder.command(&bin.join("initdb"));
        initdb
            .args(["--username", "bardo", "--auth", "trust", "--no-sync"])
            .args(["--encoding", "UTF8", "--no-locale", "--pgdata"])
            .arg(folder.path().join("data"));
        run(initdb)?;
        let mut server = Self {
            running: None,
            folder,
            bin,
            port: 0,
        };
        for attempt in 1..=STARTS_MAX {
            server.port = free_port()?;
            match server.resume() {
                Err(ServerError::Failed { output, .. })
                    if attempt < STARTS_MAX && output.contains("in use") => {}
                outcome => return outcome.map(|()| server),
            }
        }
        Err(ServerError::Missing("a free port"))
    }

    /// Starts a stopped server on the data and port that it had.
    ///
    /// # Errors
    /// When it does not start.
    pub fn resume(&mut self) -> Result<(), ServerError> {
        let mut command = self.folder.command(&self.bin.join("postgres"));
        command.arg("-D").arg(self.folder.path().join("data"));
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={}", self.port),
            &format!("unix_socket_directories={}", self.folder.path().display()),
            "max_connections=200",
            "shared_buffers=32MB",
            // What a crash of the machine would lose is of no use to a test.
            "fsync=off",
            "full_page_writes=off",
            "autovacuum=off",
            "log_checkpoints=off",
        ] {
            command.args(["-c", setting]);
        }
        let ready = "ready to accept connections";
        self.running = Some(ServerProcess::start(&command, "QUIT", ready, &self.folder)?);
        Ok(())
    }

    /// Stops it; its data stay.
    pub fn stop(&mut self, how: ShutdownMode) {
        if let Some(running) = self.running.take() {
            running.stop(match how {
                ShutdownMode::Fast => "INT",
                ShutdownMode::Crash => "QUIT",
            });
        }
    }

    /// Makes a database and answers the URL to connect to it.
    ///
    /// # Errors
    /// When the server does not run.
    pub fn database(&self) -> Result<String, ServerError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut createdb = self.folder.command(&self.bin.join("createdb"));
        createdb
            .args(["--host", "127.0.0.1", "--username", "bardo", "--port"])
            .args([&self.port.to_string(), &name]);
        run(createdb)?;
        Ok(format!(
            "postgres://bardo@127.0.0.1:{}/{name}?sslmode=disable",
            self.port
        ))
    }

    /// Carries out SQL beside whoever else uses a database, as its superuser.
    ///
    /// # Errors
    /// With what the server says about it.
    pub fn execute(&self, url: &str, sql: &str) -> Result<(), ServerError> {
        let mut psql = self.folder.command(&self.bin.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"])
            .args(["--command", sql, url]);
        run(psql)
    }

    /// The port it listens at, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// The programs with what they need beside them.
fn reachable(folder: &Folder, bin: PathBuf) -> Result<PathBuf, ServerError> {
    // The programs of the Python wheel find their libraries two folders above their own.
    let wheel = bin
        .ancestors()
        .nth(3)
        .filter(|top| top.join("pgserver.libs").is_dir());
    match (wheel, bin.parent()) {
        (Some(top), _) => Ok(folder.within_reach(top)?.join("pgserver/pginstall/bin")),
        (None, Some(root)) => Ok(folder.within_reach(root)?.join("bin")),
        (None, None) => Ok(bin),
    }
}
