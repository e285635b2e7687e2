//! A Redis server.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use super::process::{Folder, ServerProcess, free_port};
use super::{ServerError, find};

/// How often another port is tried when one is taken at the last moment.
const STARTS_MAX: u32 = 5;

/// A Redis server that keeps nothing, gone with this value.
pub struct RedisServer {
    // Dropped before the folder it works in.
    running: Option<ServerProcess>,
    folder: Folder,
    program: PathBuf,
    port: u16,
}

impl RedisServer {
    /// Starts one.
    ///
    /// # Errors
    /// When Redis is not installed or does not start.
    pub fn start() -> Result<Self, ServerError> {
        let folder = Folder::new("redis")?;
        let program = folder.within_reach(&find::redis()?)?;
        let mut server = Self {
            running: None,
            folder,
            program,
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

    /// Starts a stopped server, empty, at the port that it had.
    ///
    /// # Errors
    /// When it does not start.
    pub fn resume(&mut self) -> Result<(), ServerError> {
        let mut command = self.folder.command(&self.program);
        command
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        let ready = "Ready to accept connections";
        self.running = Some(ServerProcess::start(&command, "KILL", ready, &self.folder)?);
        Ok(())
    }

    /// Stops it at once.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop("KILL");
        }
    }

    /// Stops answering without closing anything, as a network that loses packets does.
    pub fn freeze(&self) {
        if let Some(running) = &self.running {
            running.pause();
        }
    }

    /// Lets the server answer again.
    pub fn thaw(&self) {
        if let Some(running) = &self.running {
            running.signal("CONT");
        }
    }

    /// Carries out one command beside whoever else uses it, and answers what it prints.
    ///
    /// # Errors
    /// When the server does not run.
    pub fn command(&self, words: &[&str]) -> Result<String, ServerError> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))
            .map_err(ServerError::io("connect to Redis"))?;
        let talk = |stream: &mut TcpStream| {
            writeln!(stream, "{}\r", words.join(" "))?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line)?;
            Ok(line.trim_start_matches([':', '+', '$']).to_owned())
        };
        talk(&mut stream).map_err(ServerError::io("talk to Redis"))
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }
}
