//! The connection to Redis: one, shared by all calls, and opened again whenever it is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisResult, ServerErrorKind};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::calls::{Answered, SCRIPTS, ScriptCall};
use super::{InvalidRedis, RedisOptions};

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

pub(super) struct Link {
    client: Client,
    timeout: Duration,
    connect_timeout: Duration,
    calls: Semaphore,
    up: AtomicBool,
    open: Mutex<Option<ScriptConnection>>,
    lost: Notify,
    tried: watch::Sender<bool>,
}

/// A connection, with the names of the scripts as this server knows them.
#[derive(Clone)]
struct ScriptConnection {
    connection: MultiplexedConnection,
    scripts: [Arc<str>; 2],
    /// Counts connections, so that an old one's end is not taken for a new one's.
    number: u64,
}

impl Link {
    pub(super) fn new(options: &RedisOptions) -> Result<Self, InvalidRedis> {
        if options.url.expose().starts_with("rediss:") {
            return Err(InvalidRedis::Url(
                "TLS (`rediss://`) is not supported; use `redis://` in a private network"
                    .to_owned(),
            ));
        }
        let client = Client::open(options.url.expose())
            // The error's detail may repeat the URL.
            .map_err(|error| InvalidRedis::Url(error.category().to_owned()))?;
        Ok(Self {
            client,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            calls: Semaphore::new(options.queue.max(1)),
            up: AtomicBool::new(false),
            open: Mutex::new(None),
            lost: Notify::new(),
            tried: watch::Sender::new(false),
        })
    }

    pub(super) fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Waits until connecting was tried once.
    pub(super) async fn tried(&self) {
        // Fails only where the sender is gone, and it is here.
        let _ = self.tried.subscribe().wait_for(|tried| *tried).await;
    }

    /// Keeps a connection open for ever.
    pub(super) async fn hold(self: Arc<Self>) {
        let mut pause = PAUSE_MIN;
        let mut number = 0;
        loop {
            number += 1;
            let opened = timeout(self.connect_timeout, self.connect(number)).await;
            if let Ok(Ok(open)) = opened {
                *self.open() = Some(open);
                tracing::info!("rate limits are shared through Redis");
                self.up.store(true, Ordering::Release);
                self.tried.send_replace(true);
                self.lost.notified().await;
                pause = PAUSE_MIN;
            } else {
                self.tried.send_replace(true);
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn connect(&self, number: u64) -> RedisResult<ScriptConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            // Calls have a budget of their own, which covers waiting to be sent too.
            .set_response_timeout(None);
        let mut connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut scripts = [Arc::from(""), Arc::from("")];
        for (name, script) in scripts.iter_mut().zip(SCRIPTS) {
            let mut load = redis::cmd("SCRIPT");
            let loaded: String = load
                .arg("LOAD")
                .arg(script)
                .query_async(&mut connection)
                .await?;
            *name = Arc::from(loaded);
        }
        Ok(ScriptConnection {
            connection,
            scripts,
            number,
        })
    }

    /// Runs a script; `None` where Redis does not answer in time, or too many calls are under way.
    pub(super) async fn call<C: ScriptCall>(&self, call: &C) -> Option<C::Answer> {
        let _place = self.calls.try_acquire().ok()?;
        let open = self.open().clone()?;
        let number = open.number;
        let answer = match timeout(self.timeout, run(open, call)).await {
            Ok(Ok(answer)) => call.read(answer),
            Ok(Err(_)) | Err(_) => None,
        };
        if answer.is_none() {
            self.lose(number);
        }
        answer
    }

    fn lose(&self, number: u64) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|open| open.number == number) {
            *open = None;
            self.up.store(false, Ordering::Release);
            self.lost.notify_one();
            tracing::warn!(
                "Redis is unavailable; this process enforces its share of the rate limits"
            );
        }
    }

    fn open(&self) -> MutexGuard<'_, Option<ScriptConnection>> {
        self.open.lock().expect("nothing panics while it is held")
    }
}

async fn run<C: ScriptCall>(mut open: ScriptConnection, call: &C) -> RedisResult<Answered> {
    let known = command("EVALSHA", &open.scripts[C::SCRIPT], call);
    match known.query_async(&mut open.connection).await {
        // Somebody has emptied the server's memory of scripts; this fills it again.
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            command("EVAL", SCRIPTS[C::SCRIPT], call)
                .query_async(&mut open.connection)
                .await
        }
        answer => answer,
    }
}

fn command<C: ScriptCall>(verb: &str, script: &str, call: &C) -> redis::Cmd {
    let mut command = redis::cmd(verb);
    command
        .arg(script)
        .arg(call.keys().len())
        .arg(call.keys())
        .arg(call.arguments());
    command
}
