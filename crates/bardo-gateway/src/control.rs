//! How one process has a server bring the store up to date: a socket in the data folder.
//!
//! A server would notice by itself within a moment what another process changed, and carry over what
//! it acknowledged. A revoked key is refused when `keys revoke` returns, and `balance show`
//! shows every charge, so the verbs ask before they look and after they changed
//! something, and wait for the answer.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_store::sqlite::SqliteStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

const FILE: &str = "control.sock";
const REQUEST: &[u8] = b"refresh\n";
/// A server that is too busy to look is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells a server that uses this folder, if there is one, and waits until it has looked; answers
/// whether it has.
pub(crate) fn poke(folder: &Path) -> bool {
    let Ok(mut stream) = StdStream::connect(folder.join(FILE)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut answer = [0; 3];
    stream.write_all(REQUEST).is_ok() && stream.read_exact(&mut answer).is_ok()
}

/// Has the store that was opened beside a server say all that was acknowledged. A server that is
/// just starting or ending is waited for; where none answers, the store is used as it is.
pub(crate) async fn catch_up(folder: &Path, store: &SqliteStore) {
    let since = Instant::now();
    while !poke(folder) && store.catch_up() == Ok(false) {
        if since.elapsed() > PATIENCE {
            tracing::warn!(
                "the running server does not answer; its last changes may be missing here"
            );
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The server's side. Dropping it deletes the socket.
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
