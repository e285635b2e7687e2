//! The connection to Redis: one, shared by all calls, and opened again whenever it is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bardo_types::secret::Secret;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, RedisError, RedisResult,
    ServerErrorKind, ToRedisArgs,
};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::InvalidRedis;

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How a [`Link`] connects, and what it keeps within bounds.
pub(super) struct LinkOptions<'a> {
    pub(super) url: &'a Secret,
    /// How long an answer may take.
    pub(super) timeout: Duration,
    /// How long connecting may take.
    pub(super) connect_timeout: Duration,
    /// Calls at most that are under way.
    pub(super) queue: usize,
    /// The scripts that calls run.
    pub(super) scripts: &'static [&'static str],
    /// What the log says when Redis is there, and when it is lost.
    pub(super) said: [&'static str; 2],
}

/// Why a call has no answer.
#[derive(Debug)]
pub(super) enum LinkFailure {
    /// There is no connection, or it broke.
    Down,
    /// The time was over, or too many calls are under way.
    Slow,
    /// Redis answered with an error.
    Refused,
}

pub(super) struct Link {
    client: Client,
    timeout: Duration,
    connect_timeout: Duration,
    calls: Semaphore,
    up: AtomicBool,
    open: Mutex<Option<ScriptConnection>>,
    lost: Notify,
    tried: watch::Sender<bool>,
    scripts: &'static [&'static str],
    said: [&'static str; 2],
}

/// A connection, with the names of the scripts as this server knows them.
#[derive(Clone)]
pub(super) struct ScriptConnection {
    pub(super) connection: MultiplexedConnection,
    sources: &'static [&'static str],
    scripts: Arc<[String]>,
    /// Counts connections, so that an old one's end is not taken for a new one's.
    pub(super) number: u64,
}

impl Link {
    pub(super) fn new(options: &LinkOptions<'_>) -> Result<Self, InvalidRedis> {
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
            scripts: options.scripts,
            said: options.said,
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
        let mut is_told = false;
        loop {
            number += 1;
            let opened = timeout(self.connect_timeout, self.connect(number)).await;
            if let Ok(Ok(open)) = opened {
                *self.open() = Some(open);
                tracing::info!("{}", self.said[0]);
                self.up.store(true, Ordering::Release);
                self.tried.send_replace(true);
                self.lost.notified().await;
                (pause, is_told) = (PAUSE_MIN, false);
            } else {
                if !is_told {
                    // The error's detail may repeat the URL.
                    let error = opened.map_or("timeout".to_owned(), |opened| {
                        opened
                            .err()
                            .map_or(String::new(), |error| error.category().to_owned())
                    });
                    tracing::warn!(
                        error,
                        "no connection to Redis; tried again until there is one"
                    );
                    is_told = true;
                }
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
        let mut scripts: Vec<String> = Vec::new();
        for script in self.scripts {
            let mut load = redis::cmd("SCRIPT");
            let load = load.arg("LOAD").arg(script);
            scripts.push(load.query_async(&mut connection).await?);
        }
        Ok(ScriptConnection {
            connection,
            sources: self.scripts,
            scripts: scripts.into(),
            number,
        })
    }

    /// Asks Redis something. Where the answer breaks off or does not come in time, the connection
    /// is given up, and calls fail at once until there is another.
    pub(super) async fn ask<T, F>(
        &self,
        ask: impl FnOnce(ScriptConnection) -> F,
    ) -> Result<T, LinkFailure>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.ask_within(None, ask).await
    }

    /// As [`Self::ask`], with another budget of time than the usual one.
    pub(super) async fn ask_within<T, F>(
        &self,
        budget: Option<Duration>,
        ask: impl FnOnce(ScriptConnection) -> F,
    ) -> Result<T, LinkFailure>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let budget = budget.unwrap_or(self.timeout);
        let _place = self.calls.try_acquire().map_err(|_| LinkFailure::Slow)?;
        let open = self.open().clone().ok_or(LinkFailure::Down)?;
        let number = open.number;
        let unanswered = match timeout(budget, ask(open)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if is_an_answer(&error) => return Err(LinkFailure::Refused),
            Ok(Err(_)) => LinkFailure::Down,
            Err(_) => LinkFailure::Slow,
        };
        self.lose(number);
        Err(unanswered)
    }

    fn lose(&self, number: u64) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|open| open.number == number) {
            *open = None;
            self.up.store(false, Ordering::Release);
            self.lost.notify_one();
            tracing::warn!("{}", self.said[1]);
        }
    }

    fn open(&self) -> MutexGuard<'_, Option<ScriptConnection>> {
        self.open.lock().expect("nothing panics while it is held")
    }
}

/// Whether Redis itself said so: the connection is as good as before.
fn is_an_answer(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType
    )
}

impl ScriptConnection {
    /// Runs the script of that number.
    pub(super) async fn run<T: FromRedisValue>(
        &mut self,
        script: usize,
        keys: &[impl ToRedisArgs],
        arguments: &[impl ToRedisArgs],
    ) -> RedisResult<T> {
        let command = |verb: &str, script: &str| {
            let mut command = redis::cmd(verb);
            command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        let known = command("EVALSHA", &self.scripts[script]);
        match known.query_async(&mut self.connection).await {
            // Somebody has emptied the server's memory of scripts; this fills it again.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                command("EVAL", self.sources[script])
                    .query_async(&mut self.connection)
                    .await
            }
            answer => answer,
        }
    }
}
