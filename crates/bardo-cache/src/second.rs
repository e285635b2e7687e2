//! The port of levels behind the memory of one process.
//!
//! A second level is a help and never a condition: whatever goes wrong there is a miss and a count.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::CachedAnswer;
use crate::key::Key;
use crate::store::Flush;

/// The answer of a second level, as it comes.
pub type LevelFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A level that several processes share.
pub trait SecondLevel: Send + Sync {
    /// The entry of a key. Ends within the level's deadline whatever happens.
    fn get<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, SecondFetch>;

    /// Keeps an entry for `left_ms` milliseconds at most, and only while the last flush of all
    /// processes is `last`: a later one may have been meant for the entry. An entry
    /// above [`bardo_types::privacy::SecurityClass::Standard`] never leaves the process.
    fn put<'a>(
        &'a self,
        entry: &'a CachedAnswer,
        left_ms: u64,
        last: LastFlush,
    ) -> LevelFuture<'a, Result<(), Loss>>;

    /// Removes what `flush` names, and says how many entries that were.
    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<u64, Loss>>;

    /// The flushes of all processes since `after`; without it, the last one alone. A level that no
    /// other process shares has none.
    fn flushes<'a>(&'a self, after: Option<LastFlush>) -> LevelFuture<'a, Result<FlushNews, Loss>> {
        let news = FlushNews {
            last: after.unwrap_or_default(),
            flushes: Some(Vec::new()),
            is_back: false,
        };
        Box::pin(std::future::ready(Ok(news)))
    }

    /// What was lost so far.
    fn losses(&self) -> &LevelLosses;

    /// Whether the level answers: `up` or `down`.
    fn mode(&self) -> &'static str;
}

/// The last flush that a level was told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastFlush {
    /// Its number; 0: there was none.
    pub number: u64,
    /// Tells it from all others, also from one of the same number that a level without its memory
    /// is told of.
    pub mark: u64,
}

/// Flushes that processes gave since one looked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlushNews {
    /// The last flush.
    pub last: LastFlush,
    /// The flushes in their order; `None` where some are not known any more, so that everything has
    /// to go.
    pub flushes: Option<Vec<Flush>>,
    /// The level went back to what it had before: it does not know the flush that was asked for,
    /// and may have entries again that this and others removed.
    pub is_back: bool,
}

/// What a second level had for a key.
#[derive(Debug, Clone, PartialEq)]
pub enum SecondFetch {
    /// An entry. The caller checks namespace, class and age as for its own entries:
    /// [`crate::store::Store::adopt`] does.
    Entry(Box<CachedAnswer>),
    /// There is no entry of that key.
    Absent,
    /// Nothing that can be used.
    Lost(Loss),
}

/// What went wrong at a second level. All of it is a miss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Loss {
    /// The level could not be reached.
    #[error("the second level of the cache is unavailable")]
    Down,
    /// The deadline passed.
    #[error("the second level of the cache did not answer in time")]
    Slow,
    /// The bytes are not ours: another key encrypted them, or nothing did.
    #[error("the second level of the cache holds a value of another key")]
    Foreign,
    /// The bytes are ours, and no entry of this version.
    #[error("the second level of the cache holds an unreadable value")]
    Corrupt,
    /// The level answered that it cannot, for example for want of memory.
    #[error("the second level of the cache refused")]
    Refused,
    /// The entry may not leave the process.
    #[error("the entry may not leave the process")]
    Withheld,
}

impl Loss {
    /// All losses, in the order that counts are stored.
    pub const ALL: [Self; 6] = [
        Self::Down,
        Self::Slow,
        Self::Foreign,
        Self::Corrupt,
        Self::Refused,
        Self::Withheld,
    ];

    /// The name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Slow => "slow",
            Self::Foreign => "foreign",
            Self::Corrupt => "corrupt",
            Self::Refused => "refused",
            Self::Withheld => "withheld",
        }
    }
}

/// How often each loss came.
#[derive(Debug, Default)]
pub struct LevelLosses([AtomicU64; Loss::ALL.len()]);

impl LevelLosses {
    /// Counts a loss, and hands it on.
    pub fn count(&self, loss: Loss) -> Loss {
        self.0[loss as usize].fetch_add(1, Ordering::Relaxed);
        loss
    }

    /// How often it came.
    #[must_use]
    pub fn of(&self, loss: Loss) -> u64 {
        self.0[loss as usize].load(Ordering::Relaxed)
    }
}
