//! Short-lived values that several processes share through Redis.
//!
//! Redis holds names that are keyed digests and values that are encrypted with the operator's key;
//! see [`bardo_cache::vault`]. Each value is one string: the token of its claim, 16 bytes that say
//! nothing, then the encrypted content. A lease is a string of its own, which expires by itself where
//! its process dies. Whatever goes wrong is an error within a budget of time: where one answer is late
//! the connection is given up, and calls fail at once until it is there again. Start from
//! [`RedisShared::new`].

use std::time::Duration;

use bardo_cache::second::{LevelFuture, LevelLosses, Loss};
use bardo_cache::shared::{SharedClaim, SharedLease, SharedName, SharedPosts, SharedValues};
use bardo_cache::vault::{SALT_BYTES, Vault};
use bardo_types::secret::Secret;

use super::InvalidRedis;
use super::level::RedisLevel;
use super::link::LinkOptions;

/// Every script, in the order that the constants below count them.
const SCRIPTS: [&str; 4] = [
    include_str!("shared/claim.lua"),
    include_str!("shared/change.lua"),
    include_str!("shared/post.lua"),
    include_str!("shared/posts.lua"),
];
const CLAIM: usize = 0;
const CHANGE: usize = 1;
const POST: usize = 2;
const POSTS: usize = 3;
/// Messages of a channel that are kept, and for how many milliseconds after the last one.
const POSTS_KEPT: u64 = 500;
const POSTS_KEPT_MS: u64 = 60_000;
/// Bytes of the token of a claim. Values that nobody claimed have zeros.
const TOKEN_BYTES: usize = 16;

/// How a [`RedisShared`] connects, and what it keeps within bounds.
#[derive(Debug, Clone)]
pub struct RedisSharedOptions {
    /// `redis://user:password@host:port/database` or `redis+unix:///path`.
    pub url: Secret,
    /// Secret of 32 bytes or more that all processes share; values are encrypted with it.
    pub key: Secret,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Calls at most that are under way; beyond it a call fails.
    pub queue: usize,
    /// Bytes of a value at most; longer ones are neither stored nor read to their end.
    pub value_bytes: usize,
}

impl RedisSharedOptions {
    /// The usual ones: 50 ms for a call.
    #[must_use]
    pub fn new(url: Secret, key: Secret) -> Self {
        Self {
            url,
            key,
            timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_secs(1),
            queue: 1_024,
            value_bytes: 4 << 20,
        }
    }
}

/// Values shared through Redis.
pub struct RedisShared {
    level: RedisLevel,
    vault: Vault,
    losses: LevelLosses,
    value_bytes: usize,
}

impl std::fmt::Debug for RedisShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisShared")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

impl RedisShared {
    /// Values in a Redis that is connected to in the background.
    ///
    /// # Errors
    /// When the options are wrong or no thread can be had; never because Redis is away.
    pub fn new(options: &RedisSharedOptions) -> Result<Self, InvalidRedis> {
        let vault = Vault::new(options.key.expose().as_bytes()).ok_or(InvalidRedis::Key)?;
        let level = RedisLevel::open(
            "bardo-shared",
            &LinkOptions {
                url: &options.url,
                timeout: options.timeout,
                connect_timeout: options.connect_timeout,
                queue: options.queue,
                scripts: &SCRIPTS,
                said: [
                    "the state of requests is shared through Redis",
                    "Redis is unavailable; this process goes by its own memory",
                ],
            },
        )?;
        Ok(Self {
            level,
            vault,
            losses: LevelLosses::default(),
            value_bytes: options.value_bytes,
        })
    }

    fn close(&self, name: &SharedName, value: &[u8]) -> Result<Vec<u8>, Loss> {
        if value.len() > self.value_bytes {
            return Err(Loss::Withheld);
        }
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| Loss::Withheld)?;
        self.vault.close_shared(name, value, salt)
    }

    fn open(&self, name: &SharedName, stored: &[u8]) -> Result<Vec<u8>, Loss> {
        let sealed = stored.get(TOKEN_BYTES..).ok_or(Loss::Foreign)?;
        self.vault.open_shared(name, sealed)
    }

    /// The names of a value and of its lease.
    fn names(&self, name: &SharedName) -> [String; 2] {
        let digest = self.vault.shared_name(name);
        [
            // The braces keep both on one node of a cluster.
            format!("bardo:{{shared:{digest}}}:v"),
            format!("bardo:{{shared:{digest}}}:l"),
        ]
    }

    async fn get(&self, name: &SharedName) -> Result<Option<Vec<u8>>, Loss> {
        let [place, _] = self.names(name);
        // The salt, the tag and the token come on top of a value.
        let last = self.value_bytes + 256;
        let stored: Vec<u8> = self
            .level
            .ask(None, move |mut open| async move {
                let mut command = redis::cmd("GETRANGE");
                command.arg(place).arg(0).arg(last);
                command.query_async(&mut open.connection).await
            })
            .await?;
        match stored.is_empty() {
            true => Ok(None),
            false => self.open(name, &stored).map(Some),
        }
    }

    async fn put(&self, name: &SharedName, value: &[u8], keep: Duration) -> Result<(), Loss> {
        let [place, _] = self.names(name);
        let stored = [vec![0; TOKEN_BYTES], self.close(name, value)?].concat();
        let keep_ms = millis(keep);
        self.level
            .ask(None, move |mut open| async move {
                let mut command = redis::cmd("SET");
                command.arg(place).arg(stored).arg("PX").arg(keep_ms);
                command.query_async(&mut open.connection).await
            })
            .await
    }

    async fn hold(
        &self,
        name: &SharedName,
        value: &[u8],
        keep: Duration,
        lease: Duration,
    ) -> Result<SharedClaim, Loss> {
        let mut token = [0; TOKEN_BYTES];
        getrandom::fill(&mut token).map_err(|_| Loss::Withheld)?;
        let keys = self.names(name);
        let arguments = [
            token.to_vec(),
            millis(keep).to_string().into_bytes(),
            millis(lease).to_string().into_bytes(),
            self.close(name, value)?,
        ];
        let found: Vec<redis::Value> = self
            .level
            .ask(None, move |mut open| async move {
                open.run(CLAIM, &keys, &arguments).await
            })
            .await?;
        match found.as_slice() {
            [] => Ok(SharedClaim::Held(SharedLease {
                name: name.clone(),
                token,
            })),
            [
                redis::Value::BulkString(stored),
                redis::Value::Int(is_alive),
            ] => Ok(SharedClaim::Taken {
                value: self.open(name, stored)?,
                is_alive: *is_alive == 1,
            }),
            _ => Err(Loss::Corrupt),
        }
    }

    /// Changes what is held. `keep`: how long the value may be kept in milliseconds, 0 where it
    /// stays, -1 where it goes. `lease`: how long the lease lasts; `None` where it ends.
    async fn held(
        &self,
        held: &SharedLease,
        value: Option<&[u8]>,
        keep: i64,
        lease: Option<Duration>,
    ) -> Result<(), Loss> {
        let keys = self.names(&held.name);
        let value = value.map(|value| self.close(&held.name, value));
        let arguments = [
            held.token.to_vec(),
            keep.to_string().into_bytes(),
            lease.map_or(0, millis).to_string().into_bytes(),
            value.transpose()?.unwrap_or_default(),
        ];
        let was_held: bool = self
            .level
            .ask(None, move |mut open| async move {
                open.run(CHANGE, &keys, &arguments).await
            })
            .await?;
        was_held.then_some(()).ok_or(Loss::Foreign)
    }

    /// The names of a channel's last number and of its messages.
    fn channel(&self, channel: &'static str) -> (SharedName, [String; 2]) {
        let name = SharedName::new("channel", &[channel]);
        let digest = self.vault.shared_name(&name);
        let place = |end: &str| format!("bardo:{{shared:{digest}}}:{end}");
        (name, [place("n"), place("m")])
    }

    async fn add(&self, channel: &'static str, message: &[u8]) -> Result<(), Loss> {
        let (name, keys) = self.channel(channel);
        let arguments = [
            POSTS_KEPT.to_string().into_bytes(),
            POSTS_KEPT_MS.to_string().into_bytes(),
            self.close(&name, message)?,
        ];
        self.level
            .ask(None, move |mut open| async move {
                open.run(POST, &keys, &arguments).await
            })
            .await
    }

    async fn added(&self, channel: &'static str, after: Option<u64>) -> Result<SharedPosts, Loss> {
        let (name, keys) = self.channel(channel);
        let since = after.map_or_else(|| "-".to_owned(), |after| after.to_string());
        let (last, found): (u64, Vec<Vec<u8>>) = self
            .level
            .ask(None, move |mut open| async move {
                open.run(POSTS, &keys, &[since]).await
            })
            .await?;
        let opened = found.iter().filter_map(|stored| {
            // Each begins with its number, so that equal ones are two.
            let at = stored.iter().position(|byte| *byte == b':')?;
            let opened = self.vault.open_shared(&name, &stored[at + 1..]);
            opened.map_err(|loss| self.losses.count(loss)).ok()
        });
        Ok(SharedPosts {
            last,
            messages: opened.collect(),
        })
    }

    fn counted<T>(&self, done: Result<T, Loss>) -> Result<T, Loss> {
        done.map_err(|loss| self.losses.count(loss))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1)
}

impl SharedValues for RedisShared {
    fn read<'a>(&'a self, name: &'a SharedName) -> LevelFuture<'a, Result<Option<Vec<u8>>, Loss>> {
        Box::pin(async move { self.counted(self.get(name).await) })
    }

    fn write<'a>(
        &'a self,
        name: &'a SharedName,
        value: &'a [u8],
        keep: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move { self.counted(self.put(name, value, keep).await) })
    }

    fn claim<'a>(
        &'a self,
        name: &'a SharedName,
        value: &'a [u8],
        keep: Duration,
        lease: Duration,
    ) -> LevelFuture<'a, Result<SharedClaim, Loss>> {
        Box::pin(async move { self.counted(self.hold(name, value, keep, lease).await) })
    }

    fn renew<'a>(
        &'a self,
        held: &'a SharedLease,
        lease: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move { self.counted(self.held(held, None, 0, Some(lease)).await) })
    }

    fn change<'a>(
        &'a self,
        held: &'a SharedLease,
        value: &'a [u8],
        keep: Duration,
        lease: Duration,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        let keep = millis(keep);
        Box::pin(async move { self.counted(self.held(held, Some(value), keep, Some(lease)).await) })
    }

    fn end<'a>(
        &'a self,
        held: &'a SharedLease,
        value: Option<(&'a [u8], Duration)>,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        let (value, keep) = match value {
            Some((value, keep)) => (Some(value), millis(keep)),
            None => (None, -1),
        };
        Box::pin(async move { self.counted(self.held(held, value, keep, None).await) })
    }

    fn post<'a>(
        &'a self,
        channel: &'static str,
        message: &'a [u8],
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move { self.counted(self.add(channel, message).await) })
    }

    fn posts<'a>(
        &'a self,
        channel: &'static str,
        after: Option<u64>,
    ) -> LevelFuture<'a, Result<SharedPosts, Loss>> {
        Box::pin(async move { self.counted(self.added(channel, after).await) })
    }

    fn losses(&self) -> &LevelLosses {
        &self.losses
    }

    fn mode(&self) -> &'static str {
        self.level.mode()
    }
}
