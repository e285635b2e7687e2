//! Answers that several processes share through Redis: the second level of the hash cache.
//!
//! Redis holds names that are keyed digests and values that are encrypted with the operator's key;
//! see [`bardo_cache::vault`]. Whatever goes wrong is a miss and a count, within a budget of time:
//! where one answer breaks off or is late the connection is given up, and look-ups fail at once
//! until it is there again. Start from [`RedisCache::new`].
//!
//! Each entry is one string with an expiry. Sorted sets, one per tenant, namespace and tag, hold the
//! names of entries by the time of their expiry, so that a flush finds them and old names go. All
//! names carry one hash tag, for a script touches several of them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::key::Key;
use bardo_cache::second::{
    FlushNews, LastFlush, LevelFuture, LevelLosses, Loss, SecondFetch, SecondLevel,
};
use bardo_cache::store::Flush;
use bardo_cache::vault::{SALT_BYTES, Vault};
use bardo_types::secret::Secret;

use super::InvalidRedis;
use super::level::RedisLevel;
use super::link::LinkOptions;

/// Every script, in the order that the constants below count them.
const SCRIPTS: [&str; 4] = [
    include_str!("cache/put.lua"),
    include_str!("cache/flush.lua"),
    include_str!("cache/tell.lua"),
    include_str!("cache/news.lua"),
];
const PUT: usize = 0;
const FLUSH: usize = 1;
const TELL: usize = 2;
const NEWS: usize = 3;
/// Flushes that are kept for other processes.
const NEWS_KEPT: u64 = 1_000;
/// Orders of this process that are remembered.
const OWN_KEPT: usize = 1_000;
/// Entries that one call of the script removes: Redis serves nobody else meanwhile.
const FLUSHED_AT_ONCE: u64 = 500;
/// Calls that one flush makes at most.
const FLUSH_CALLS: u32 = 20_000;
/// Calls that one search through all names of Redis makes at most: enough for 100 million names.
const SWEEP_CALLS: u32 = 200_000;
/// How long each call of a flush may take. No request waits for it.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// How a [`RedisCache`] connects, and what it keeps within bounds.
#[derive(Debug, Clone)]
pub struct RedisCacheOptions {
    /// `redis://user:password@host:port/database` or `redis+unix:///path`.
    pub url: Secret,
    /// Secret of 32 bytes or more that all processes share; entries are encrypted with it.
    pub key: Secret,
    /// How long a look-up or a store may take.
    pub timeout: Duration,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Calls at most that are under way; beyond it a look-up is a miss.
    pub queue: usize,
    /// Bytes of a value at most; longer ones are neither stored nor read to their end.
    pub value_bytes: usize,
}

impl RedisCacheOptions {
    /// The usual ones: 20 ms for a look-up.
    #[must_use]
    pub fn new(url: Secret, key: Secret) -> Self {
        Self {
            url,
            key,
            timeout: Duration::from_millis(20),
            connect_timeout: Duration::from_secs(1),
            queue: 1_024,
            value_bytes: 2 << 20,
        }
    }
}

/// Entries shared through Redis.
pub struct RedisCache {
    level: RedisLevel,
    vault: Vault,
    losses: LevelLosses,
    value_bytes: usize,
    /// Orders of flushes that this process told: it has carried them out.
    own: Mutex<VecDeque<Vec<u8>>>,
    /// The last flush that this process told. A Redis that does not know it is older.
    told: Mutex<LastFlush>,
    /// Number of the connection whose Redis is known to have all flushes; 0: there was none.
    checked: AtomicU64,
}

impl std::fmt::Debug for RedisCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisCache")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

impl RedisCache {
    /// A second level over a Redis that is connected to in the background.
    ///
    /// # Errors
    /// When the options are wrong or no thread can be had; never because Redis is away.
    pub fn new(options: &RedisCacheOptions) -> Result<Self, InvalidRedis> {
        let vault = Vault::new(options.key.expose().as_bytes()).ok_or(InvalidRedis::Key)?;
        let level = RedisLevel::open(
            "bardo-cache",
            &LinkOptions {
                url: &options.url,
                timeout: options.timeout,
                connect_timeout: options.connect_timeout,
                queue: options.queue,
                scripts: &SCRIPTS,
                said: [
                    "cached answers are shared through Redis",
                    "Redis is unavailable; answers are cached by this process alone",
                ],
            },
        )?;
        Ok(Self {
            level,
            vault,
            losses: LevelLosses::default(),
            value_bytes: options.value_bytes,
            own: Mutex::default(),
            told: Mutex::default(),
            checked: AtomicU64::new(0),
        })
    }

    async fn fetch(&self, key: &Key) -> Result<Option<CachedAnswer>, Loss> {
        let name = entry_name(&self.vault.name(key));
        let last = self.value_bytes;
        let (connection, value): (u64, Vec<u8>) = self
            .level
            .ask(None, move |mut open| async move {
                let mut command = redis::cmd("GETRANGE");
                command.arg(name).arg(0).arg(last);
                let value = command.query_async(&mut open.connection).await?;
                Ok((open.number, value))
            })
            .await
            // A value of another type is none of ours.
            .map_err(|loss| match loss {
                Loss::Refused => Loss::Foreign,
                loss => loss,
            })?;
        if !self.is_checked(connection) {
            return Err(Loss::Down);
        }
        if value.is_empty() {
            return Ok(None);
        }
        self.vault.open(key, &value).map(Some)
    }

    /// Whether the Redis behind a connection has all flushes, as far as is known. One that started
    /// again may have answers that were removed, until its flushes were looked at.
    fn is_checked(&self, connection: u64) -> bool {
        let first =
            self.checked
                .compare_exchange(0, connection, Ordering::AcqRel, Ordering::Acquire);
        first.is_ok() || first == Err(connection)
    }

    async fn keep(&self, entry: &CachedAnswer, left_ms: u64, last: LastFlush) -> Result<(), Loss> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| Loss::Withheld)?;
        let value = self.vault.close(entry, salt)?;
        if value.len() > self.value_bytes || left_ms == 0 {
            return Err(Loss::Withheld);
        }
        let mut keys = NEWS_NAMES.map(str::to_owned).to_vec();
        keys.push(entry_name(&self.vault.name(&entry.key)));
        keys.extend(self.vault.sets(entry).iter().map(|set| set_name(set)));
        let LastFlush { number, mark } = last;
        let [left, number, mark] = [left_ms.to_string(), number.to_string(), mark_text(mark)];
        let arguments = [
            left.into_bytes(),
            value,
            number.into_bytes(),
            mark.into_bytes(),
        ];
        self.level
            // Nobody waits for it, and a connection that is given up for a large answer is missed by
            // all look-ups.
            .ask(Some(FLUSH_TIMEOUT), move |mut open| async move {
                open.run(PUT, &keys, &arguments).await
            })
            .await
    }

    /// Removes entries in small batches, so that Redis serves others in between.
    async fn remove(&self, flush: &Flush) -> Result<u64, Loss> {
        let sets = self.vault.flushed_sets(flush);
        let mut removed = 0;
        for set in sets.iter().map(|set| set_name(set)) {
            let mut has_swept = false;
            for _ in 0..FLUSH_CALLS {
                let batch = self.remove_batch(set.clone(), has_swept).await?;
                removed += batch.deleted;
                if batch.is_foreign == 1 && !has_swept {
                    tracing::warn!(
                        "a set of the shared cache has another type in Redis; all shared answers are removed"
                    );
                    removed += self.sweep().await?;
                    has_swept = true;
                } else if batch.found < FLUSHED_AT_ONCE {
                    break;
                }
            }
        }
        Ok(removed)
    }

    /// Removes the first entries of a set. After a sweep, something else with its name goes too.
    async fn remove_batch(&self, set: String, has_swept: bool) -> Result<FlushedBatch, Loss> {
        let arguments = [FLUSHED_AT_ONCE, u64::from(has_swept)];
        let (found, deleted, is_foreign) = self
            .level
            .ask(Some(FLUSH_TIMEOUT), move |mut open| async move {
                open.run(FLUSH, &[set], &arguments).await
            })
            .await?;
        Ok(FlushedBatch {
            found,
            deleted,
            is_foreign,
        })
    }

    /// Removes the entries of all tenants, by their names instead of by sets, in small batches.
    async fn sweep(&self) -> Result<u64, Loss> {
        let mut removed = 0;
        let mut cursor = 0_u64;
        for _ in 0..SWEEP_CALLS {
            let (next, deleted): (u64, u64) = self
                .level
                .ask(Some(FLUSH_TIMEOUT), move |mut open| async move {
                    let mut scan = redis::cmd("SCAN");
                    scan.arg(cursor).arg("MATCH").arg(entry_name("*"));
                    scan.arg("COUNT").arg(FLUSHED_AT_ONCE);
                    let (next, names): (u64, Vec<Vec<u8>>) =
                        scan.query_async(&mut open.connection).await?;
                    if names.is_empty() {
                        return Ok((next, 0));
                    }
                    let mut delete = redis::cmd("DEL");
                    let deleted = delete.arg(names).query_async(&mut open.connection).await?;
                    Ok((next, deleted))
                })
                .await?;
            removed += deleted;
            if next == 0 {
                return Ok(removed);
            }
            cursor = next;
        }
        Err(Loss::Slow)
    }

    /// Tells the other processes of a flush, whose own memory has the entries too.
    async fn tell(&self, flush: &Flush) -> Result<(), Loss> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| Loss::Withheld)?;
        let value = self.vault.close_flush(flush, salt)?;
        self.note_own(value.clone());
        let arguments = [NEWS_KEPT.to_string().into_bytes(), value];
        let (number, mark): (u64, String) = self
            .level
            .ask(Some(FLUSH_TIMEOUT), move |mut open| async move {
                open.run(TELL, &NEWS_NAMES, &arguments).await
            })
            .await?;
        let mark = read_mark(&mark)?;
        *self.told() = LastFlush { number, mark };
        Ok(())
    }

    fn told(&self) -> MutexGuard<'_, LastFlush> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an order that this process tells.
    fn note_own(&self, order: Vec<u8>) {
        let mut own = self.own();
        own.push_back(order);
        if own.len() > OWN_KEPT {
            own.pop_front();
        }
    }

    async fn news(&self, after: Option<LastFlush>) -> Result<FlushNews, Loss> {
        let since = after.map_or_else(|| "-".to_owned(), |after| after.number.to_string());
        let told = *self.told();
        let arguments = [since, told.number.to_string()];
        let (connection, answer): (u64, NewsAnswer) = self
            .level
            .ask(Some(FLUSH_TIMEOUT), move |mut open| async move {
                let answer = open.run(NEWS, &NEWS_NAMES, &arguments).await?;
                Ok((open.number, answer))
            })
            .await?;
        let (number, mark, mark_then, mark_told, values) = answer;
        let last = LastFlush {
            number,
            mark: read_mark(&mark)?,
        };
        // A flush may have been forgotten for want of room. Else Redis never had it, or lost it.
        let has_lost = |known: LastFlush, mark: &str| {
            let since = number.checked_sub(known.number);
            mark != mark_text(known.mark) && since.is_none_or(|since| since < NEWS_KEPT)
        };
        let is_back =
            has_lost(told, &mark_told) || after.is_some_and(|after| has_lost(after, &mark_then));
        if !is_back {
            self.checked.store(connection, Ordering::Release);
        }
        let Some(after) = after else {
            return Ok(FlushNews {
                last,
                flushes: Some(Vec::new()),
                is_back,
            });
        };
        let is_whole = mark_then == mark_text(after.mark)
            && number.checked_sub(after.number) == Some(values.len() as u64);
        let flushes = self.orders_of_others(&values).filter(|_| is_whole);
        Ok(FlushNews {
            last,
            flushes,
            is_back,
        })
    }

    /// The flushes among `values` that other processes told; `None` where one cannot be read.
    fn orders_of_others(&self, values: &[Vec<u8>]) -> Option<Vec<Flush>> {
        let own = self.own();
        let others = values.iter().filter_map(|value| {
            // Each begins with its number, so that equal ones are two.
            let at = value.iter().position(|byte| *byte == b':');
            let order = at.map_or(&value[..0], |at| &value[at + 1..]);
            let is_own = own.iter().any(|own| own == order);
            (!is_own).then(|| self.vault.open_flush(order).ok())
        });
        others.collect()
    }
}

/// What one call of the script of flushes did.
struct FlushedBatch {
    /// Number of names that the set had, up to [`FLUSHED_AT_ONCE`].
    found: u64,
    /// Number of entries that were there and are removed.
    deleted: u64,
    /// 1 where something else has the name of the set.
    is_foreign: u64,
}

/// What the script of news answers: the number and the mark of the last flush, the marks of the one
/// to begin after and of the one that this process told, and the flushes.
type NewsAnswer = (u64, String, String, String, Vec<Vec<u8>>);

/// The number of the last flush, and the last flushes.
const NEWS_NAMES: [&str; 2] = ["bardo:{cache}:n", "bardo:{cache}:f"];

/// The mark of a flush as the scripts have it: hexadecimal digits, all 0 where there is none.
fn mark_text(mark: u64) -> String {
    format!("{mark:016x}")
}

fn read_mark(mark: &str) -> Result<u64, Loss> {
    u64::from_str_radix(mark, 16).map_err(|_| Loss::Corrupt)
}

/// The braces keep all names on one node of a cluster.
fn entry_name(digest: &str) -> String {
    format!("bardo:{{cache}}:e:{digest}")
}

fn set_name(digest: &str) -> String {
    format!("bardo:{{cache}}:s:{digest}")
}

impl SecondLevel for RedisCache {
    fn get<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, SecondFetch> {
        Box::pin(async move {
            match self.fetch(key).await {
                Ok(Some(entry)) => SecondFetch::Entry(Box::new(entry)),
                Ok(None) => SecondFetch::Absent,
                Err(loss) => SecondFetch::Lost(self.losses.count(loss)),
            }
        })
    }

    fn put<'a>(
        &'a self,
        entry: &'a CachedAnswer,
        left_ms: u64,
        last: LastFlush,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            let kept = self.keep(entry, left_ms, last).await;
            kept.map_err(|loss| self.losses.count(loss))
        })
    }

    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<u64, Loss>> {
        Box::pin(async move {
            // The entries go first: a process that learns of the flush must not find them here. What
            // was stored before all were told goes behind it, and nothing is stored afterwards by
            // those that do not know of the flush.
            let removed = self.remove(flush).await;
            let told = self.tell(flush).await;
            let rest = self.remove(flush).await;
            // Its result tells of a loss. A count would rise as often as the flush is repeated.
            removed.and_then(|removed| told.and(rest).map(|rest| removed + rest))
        })
    }

    fn flushes<'a>(&'a self, after: Option<LastFlush>) -> LevelFuture<'a, Result<FlushNews, Loss>> {
        // Nothing is counted: no request asked, and the question is repeated each second.
        Box::pin(self.news(after))
    }

    fn losses(&self) -> &LevelLosses {
        &self.losses
    }

    fn mode(&self) -> &'static str {
        self.level.mode()
    }
}
