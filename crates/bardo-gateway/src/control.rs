//! How one process has a server bring the store up to date, or asks for its stored answers or its
//! address: a socket in the data folder.
//!
//! A server would notice by itself within a moment what another process changed, and carry over what
//! it acknowledged. A revoked key is refused when `keys revoke` returns, and `balance show`
//! shows every charge, so the verbs ask before they look and after they changed
//! something, and wait for the answer.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bardo_engine::Engine;
use bardo_store::sqlite::SqliteStore;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::caches::{self, FlushOrder, InvalidateOrder};
use crate::json_words;
use crate::operator::{Operator, OperatorError};
use crate::refresh;

const FILE: &str = "control.sock";
const REQUEST: &[u8] = b"refresh\n";
const LISTS: &[u8] = b"lists\n";
const ADDRESS: &[u8] = b"address\n";
/// The begin of a question about stored answers; an order as JSON follows, on one line.
const CACHE: &str = "cache ";
/// The longest line, in bytes.
const LINE_MAX: u64 = 16 << 10;
/// A server that is too busy to look is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells a server that uses this folder, if there is one, and waits until it has looked; answers
/// whether it has.
pub(crate) fn poke(folder: &Path) -> bool {
    order(folder, REQUEST)
}

/// Has a server that uses this folder fetch its lists of models; `false` if no server does.
pub(crate) fn refresh_lists(folder: &Path) -> bool {
    order(folder, LISTS)
}

/// The address where a server that uses this folder takes requests; `None` where none answers.
pub(crate) fn address(folder: &Path) -> Option<SocketAddr> {
    ask(folder, ADDRESS)?.trim().parse().ok()
}

/// Sends a line to the server of a folder, and waits for its `ok`.
fn order(folder: &Path, line: &[u8]) -> bool {
    let Ok(mut stream) = StdStream::connect(folder.join(FILE)) else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut answer = [0; 3];
    stream.write_all(line).is_ok() && stream.read_exact(&mut answer).is_ok()
}

/// Asks a server that uses this folder about its stored answers; `None` where none answers.
pub(crate) fn ask_cache(folder: &Path, order: &Value) -> Option<Value> {
    let answer = ask(folder, format!("{CACHE}{order}\n").as_bytes())?;
    serde_json::from_str(&answer).ok()
}

/// Sends a line to the server of a folder, and reads its answer.
fn ask(folder: &Path, line: &[u8]) -> Option<String> {
    let mut stream = StdStream::connect(folder.join(FILE)).ok()?;
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    stream.write_all(line).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
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

    /// Answers for as long as the process runs. `listen` is where it takes requests.
    pub(crate) async fn serve(
        self,
        store: Option<Arc<SqliteStore>>,
        engine: Arc<Engine>,
        operator: Operator,
        listen: SocketAddr,
    ) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let (engine, operator) = (Arc::clone(&engine), operator.clone());
                    tokio::spawn(answer(stream, store.clone(), engine, operator, listen));
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

async fn answer(
    stream: UnixStream,
    store: Option<Arc<SqliteStore>>,
    engine: Arc<Engine>,
    operator: Operator,
    listen: SocketAddr,
) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    let mut bounded = (&mut stream).take(LINE_MAX);
    let asked = tokio::time::timeout(PATIENCE, bounded.read_until(b'\n', &mut line)).await;
    if !matches!(asked, Ok(Ok(_))) {
        return;
    }
    if let Some(order) = line.strip_prefix(CACHE.as_bytes()) {
        let answer = of_cache(&engine, &operator, order).await.to_string();
        let _ = stream.get_mut().write_all(answer.as_bytes()).await;
    } else if line == ADDRESS {
        let _ = stream
            .get_mut()
            .write_all(listen.to_string().as_bytes())
            .await;
    } else if line == LISTS {
        refresh::ask_for_lists();
        let _ = stream.get_mut().write_all(b"ok\n").await;
    } else if line == REQUEST
        && let Some(store) = store
        && store.refresh().await.is_ok()
    {
        let _ = stream.get_mut().write_all(b"ok\n").await;
    }
}

/// A question about stored answers, as [`ask_cache`] writes it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum CacheQuestion {
    Stats { account: Option<String> },
    Flush(FlushOrder),
    Invalidate(InvalidateOrder),
}

async fn of_cache(engine: &Engine, operator: &Operator, order: &[u8]) -> Value {
    let cache = engine.cache();
    let done = match json_words::read(order) {
        Ok(CacheQuestion::Stats { account: None }) => {
            Ok(caches::all_figures(operator, cache, None).await)
        }
        Ok(CacheQuestion::Stats {
            account: Some(name),
        }) => caches::of_account(operator, cache, &name).await,
        Ok(CacheQuestion::Flush(order)) => {
            caches::flush_for_operator(operator, engine, order).await
        }
        Ok(CacheQuestion::Invalidate(order)) => caches::invalidate(operator, engine, &order).await,
        Err(error) => Err(OperatorError::Invalid(error)),
    };
    done.unwrap_or_else(|error| json!({ "error": error.to_string() }))
}
