//! How one process tells another that it changed the store: a socket in the data folder.
//!
//! A server would notice by itself within a moment. A key that was revoked shall be dead when
//! `keys revoke` returns, so the verbs wait until the server has looked.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bardo_store::sqlite::SqliteStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

const FILE: &str = "control.sock";
const REQUEST: &[u8] = b"refresh\n";
/// A server that is too busy to look is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells a server that uses this folder, if there is one, and waits until it has looked.
pub(crate) fn poke(folder: &Path) {
    let Ok(mut stream) = StdStream::connect(folder.join(FILE)) else {
        return;
    };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    if stream.write_all(REQUEST).is_ok() {
        let mut answer = [0; 3];
        let _ = stream.read_exact(&mut answer);
    }
}

/// The server's side; the socket goes with it.
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens in `folder`, in place of a server that ended without tidying up: the lock on the
    /// store tells that there is no other.
    pub(crate) fn bind(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join(FILE);
        let _ = std::fs::remove_file(&path);
        Ok(Self {
            listener: UnixListener::bind(&path)?,
            path,
        })
    }

    /// Answers for as long as the process runs.
    pub(crate) async fn serve(self, store: Arc<SqliteStore>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(answer(stream, Arc::clone(&store)));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(mut stream: UnixStream, store: Arc<SqliteStore>) {
    let mut line = [0; REQUEST.len()];
    let asked = tokio::time::timeout(PATIENCE, stream.read_exact(&mut line)).await;
    if matches!(asked, Ok(Ok(_))) && line == REQUEST && store.refresh().await.is_ok() {
        let _ = stream.write_all(b"ok\n").await;
    }
}
