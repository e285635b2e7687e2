//! Limits that several processes share through Redis.
//!
//! A request is one script and one round trip. The counters are those of
//! [`bardo_access::LocalLimits`] to the unit, kept under `bardo:{account}:…` and gone by
//! themselves once they are full. Where Redis does not answer within its budget of time, each
//! process grants its share, the limit divided by the number of processes, from counters of its
//! own, until Redis is back: a request is never refused because counters are away. Start from
//! [`RedisLimits::connect`].
//!
//! The slack: what the processes grant between them while Redis is away begins with full buckets
//! of a share each, so at each change a minute may see up to one more burst of the limit; and a
//! limit below the number of processes is one per process.

pub mod cache;
pub mod shared;

mod calls;
mod level;
mod link;
mod refused;
mod share;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bardo_access::{Admission, BoxFuture, LimitRequest, LimitStore, Throttled};
use bardo_types::secret::Secret;
use redis::{ErrorKind, RedisError};

use self::calls::{Admit, Correct, SCRIPTS, ScriptCall};
use self::link::{Link, LinkOptions};
use self::refused::RefusedIdentities;
use self::share::{Granted, share_of};
use crate::thread::StoreThread;

/// How a [`RedisLimits`] connects, and what it keeps within bounds.
#[derive(Debug, Clone)]
pub struct RedisOptions {
    /// `redis://user:password@host:port/database` or `redis+unix:///path`. Encryption is not
    /// offered: `rediss://` is refused.
    pub url: Secret,
    /// How long an answer may take before this process decides alone.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Processes that share the limits; each grants this fraction while Redis is away.
    pub instances: NonZeroU32,
    /// Calls at most that are under way; beyond it this process decides alone.
    pub queue: usize,
    /// The clock that fills the buckets.
    pub clock: LimitClock,
}

/// The clock that fills the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitClock {
    /// That of the Redis server: the processes' own may differ.
    Server,
    /// The time that each request says it is.
    Request,
}

impl RedisOptions {
    /// The usual ones, for one process.
    #[must_use]
    pub fn new(url: Secret) -> Self {
        Self {
            url,
            timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_secs(1),
            instances: NonZeroU32::MIN,
            queue: 1_024,
            clock: LimitClock::Server,
        }
    }
}

/// Why options cannot be used. Nothing of the URL is shown: it holds a password.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRedis {
    /// The URL cannot be read.
    #[error("this is not a URL of Redis ({0}); write `redis://host:6379/0`")]
    Url(String),
    /// The key that entries are encrypted with is too short.
    #[error("the key of the shared cache must have 32 bytes or more")]
    Key,
    /// No thread can be had.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
}

/// Limits shared through Redis, with counters of this process's own for when it is away.
pub struct RedisLimits {
    thread: StoreThread,
    link: Arc<Link>,
    local: Arc<dyn LimitStore>,
    /// The grants from local counters that are still to be corrected in Redis.
    granted: Arc<Granted>,
    instances: NonZeroU32,
    clock: LimitClock,
    /// The refusals by Redis that still hold.
    refused: RefusedIdentities,
}

impl std::fmt::Debug for RedisLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisLimits")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

impl RedisLimits {
    /// Limits over a Redis that is connected to in the background. Until it answers, and whenever
    /// it does not, `local` grants this process's share.
    ///
    /// # Errors
    /// When the options are wrong or no thread can be had; never because Redis is away.
    pub fn new(options: &RedisOptions, local: Arc<dyn LimitStore>) -> Result<Self, InvalidRedis> {
        let thread = StoreThread::start("bardo-redis").map_err(InvalidRedis::Thread)?;
        let link = Arc::new(Link::new(&LinkOptions {
            url: &options.url,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            queue: options.queue,
            scripts: &SCRIPTS,
            said: [
                "rate limits are shared through Redis",
                "Redis is unavailable; this process enforces its share of the rate limits",
            ],
        })?);
        thread.spawn(Arc::clone(&link).hold());
        Ok(Self {
            thread,
            link,
            local,
            granted: Arc::default(),
            instances: options.instances,
            clock: options.clock,
            refused: RefusedIdentities::default(),
        })
    }

    /// As [`Self::new`], waiting until the first attempt to connect has worked or failed; see
    /// [`LimitStore::mode`] for which.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub async fn connect(
        options: &RedisOptions,
        local: Arc<dyn LimitStore>,
    ) -> Result<Self, InvalidRedis> {
        let limits = Self::new(options, local)?;
        limits.link.tried().await;
        Ok(limits)
    }

    async fn admit_alone(&self, request: &LimitRequest) -> Result<Admission, Throttled> {
        let share = share_of(request, self.instances);
        let answer = self.local.admit(&share).await;
        if let Ok(admission) = &answer {
            self.granted.note(request, admission.reserved_tokens);
        }
        answer
    }
}

/// Runs a script; `None` where Redis does not answer in time, answers nonsense, or too many calls
/// are under way. After an answer that is no count, another connection is tried.
async fn run<C: ScriptCall>(link: &Link, call: C) -> Option<C::Answer> {
    let nonsense = || RedisError::from((ErrorKind::Parse, "not what the script answers"));
    let asked = link.ask(|mut open| async move {
        let answer = open.run(C::SCRIPT, call.keys(), call.arguments()).await;
        call.read(answer.map_err(|_| nonsense())?)
            .ok_or_else(nonsense)
    });
    asked.await.ok()
}

impl LimitStore for RedisLimits {
    fn admit<'a>(
        &'a self,
        request: &'a LimitRequest,
    ) -> BoxFuture<'a, Result<Admission, Throttled>> {
        Box::pin(async move {
            let Some(call) = Admit::of(request, self.clock) else {
                return Ok(Admission {
                    reserved_tokens: request.tokens,
                    ..Admission::default()
                });
            };
            if self.link.is_up() {
                let link = Arc::clone(&self.link);
                let answer = self.thread.spawn(async move { run(&link, call).await });
                // It fails only where the thread ends, with the process.
                if let Ok(Some(answer)) = answer.await {
                    if let Err(throttled) = &answer {
                        self.refused.note(request, throttled);
                    }
                    return answer;
                }
            }
            self.admit_alone(request).await
        })
    }

    fn refuses(&self, request: &LimitRequest) -> Option<Throttled> {
        match self.link.is_up() {
            true => self.refused.of(request),
            false => self.local.refuses(&share_of(request, self.instances)),
        }
    }

    fn correct(&self, request: &LimitRequest, reserved: u64, used: u64, now_ms: u64) {
        if self.granted.take(request, reserved) {
            let share = share_of(request, self.instances);
            self.local.correct(&share, reserved, used, now_ms);
        } else if reserved != used
            && let Some(call) = Correct::of(request, reserved, used, now_ms, self.clock)
        {
            let link = Arc::clone(&self.link);
            // Where this is lost the counters are wrong by the difference until they are full.
            self.thread.spawn(async move { run(&link, call).await });
        }
    }

    fn mode(&self) -> &'static str {
        if self.link.is_up() {
            "shared"
        } else {
            "degraded"
        }
    }
}
