//! The latest calls of Venice, by account, and their events as they happen.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_engine::{Engine, HEARTBEAT};
use bardo_types::ids::AccountId;
use bardo_types::receipt::Receipt;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::record::VeniceRecord;
use super::summary;
use crate::events::Feed;

/// Records of an account that are remembered.
pub(crate) const RECORDS_MAX: usize = 500;
/// Accounts whose records are remembered; the one that called Venice longest ago is forgotten.
const ACCOUNTS_MAX: usize = 256;
/// Records of all accounts that can wait for the slowest reader of a stream.
const BACKLOG: usize = 1_024;
/// A stream ends after this time, so that a key that was revoked reads no longer than this.
const STREAM_MAX: Duration = Duration::from_secs(15 * 60);
/// Time between two events `cache-stats`.
const STATS_EVERY: Duration = Duration::from_secs(30);

/// The latest calls of Venice in this process.
pub(crate) struct VeniceFeed {
    /// Tells the numbers of this process from those of an earlier one.
    process: u64,
    accounts: Mutex<RecordsByAccount>,
    told: broadcast::Sender<Arc<VeniceRecord>>,
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct RecordsByAccount {
    /// Records that were remembered so far.
    count: u64,
    /// Whether Venice refused the gateway's own key; `None` before it answered for the first time.
    is_key_refused: Option<bool>,
    accounts: HashMap<AccountId, AccountRecords>,
}

/// The latest records of an account. Their numbers count its calls alone, so they tell nothing of
/// other accounts.
#[derive(Default)]
struct AccountRecords {
    /// Number of its latest record.
    last: u64,
    /// The count of all records when its latest one came.
    at: u64,
    records: VecDeque<Arc<VeniceRecord>>,
}

impl VeniceFeed {
    /// A feed without records. `started_ms` is when the process started, in Unix milliseconds.
    pub(crate) fn new(started_ms: u64) -> Self {
        Self {
            process: started_ms,
            accounts: Mutex::default(),
            told: broadcast::channel(BACKLOG).0,
            closed: watch::channel(false).0,
        }
    }

    /// Takes what a request came to, if it called Venice.
    pub(crate) fn take(&self, receipt: &Receipt) {
        for record in VeniceRecord::of(receipt) {
            let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            let record = accounts.remember(record);
            // Told under the lock, so that a reader gets them in the order of their numbers. Nobody
            // may be there.
            let _ = self.told.send(record);
        }
    }

    /// The records of an account, newest first.
    pub(crate) fn latest(&self, account: &AccountId) -> Vec<Arc<VeniceRecord>> {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = accounts.accounts.get(account);
        let newest_first = known
            .into_iter()
            .flat_map(|known| known.records.iter().rev());
        newest_first.cloned().collect()
    }

    /// Whether Venice refused the gateway's own key when it answered last; `None` where it never
    /// did.
    pub(crate) fn is_key_refused(&self) -> Option<bool> {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.is_key_refused
    }

    /// Ends every reader's stream.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// The events of an account from now on, after those behind `last_id` that are remembered.
    pub(crate) fn follow(
        self: &Arc<Self>,
        engine: Arc<Engine>,
        account: AccountId,
        last_id: Option<&str>,
        heartbeat: Duration,
    ) -> Feed {
        let seen = self.seen(&account, last_id);
        let receiver = self.told.subscribe();
        let missed = self.behind(&account, seen);
        let now = Instant::now();
        let reader = StreamReader {
            feed: Arc::clone(self),
            closed: self.closed.subscribe(),
            engine,
            account,
            receiver,
            missed,
            seen,
            is_greeted: false,
            next_stats: now + STATS_EVERY,
            ends_at: now + STREAM_MAX,
            heartbeat,
        };
        Feed::of(futures_util::stream::unfold(
            reader,
            |mut reader| async move { reader.next().await.map(|bytes| (bytes, reader)) },
        ))
    }

    /// Number of the last record that a reader has seen: the newest one without an id, none where
    /// another process gave the id.
    fn seen(&self, account: &AccountId, last_id: Option<&str>) -> u64 {
        let latest = self.latest(account);
        let newest = latest.first().map_or(0, |record| record.number);
        let Some(id) = last_id else {
            return newest;
        };
        let number = id.split_once('-').and_then(|(process, number)| {
            let is_ours = process.parse() == Ok(self.process);
            is_ours.then(|| number.parse().ok()).flatten()
        });
        // The numbers of an account that was forgotten begin anew.
        number.filter(|seen| *seen <= newest).unwrap_or(0)
    }

    /// The remembered records behind a number, oldest first.
    fn behind(&self, account: &AccountId, seen: u64) -> VecDeque<Arc<VeniceRecord>> {
        let all = self.latest(account).into_iter().rev();
        all.filter(|record| record.number > seen).collect()
    }

    fn id(&self, record: &VeniceRecord) -> String {
        format!("{}-{}", self.process, record.number)
    }
}

impl RecordsByAccount {
    fn remember(&mut self, mut record: VeniceRecord) -> Arc<VeniceRecord> {
        self.count += 1;
        if record.is_answered() || record.is_key_refused() {
            self.is_key_refused = Some(record.is_key_refused());
        }
        if !self.accounts.contains_key(&record.account) && self.accounts.len() >= ACCOUNTS_MAX {
            let oldest = self.accounts.iter().min_by_key(|(_, known)| known.at);
            let oldest = oldest.map(|(account, _)| account.clone());
            oldest.and_then(|account| self.accounts.remove(&account));
        }
        let known = self.accounts.entry(record.account.clone()).or_default();
        known.last += 1;
        known.at = self.count;
        record.number = known.last;
        let record = Arc::new(record);
        if known.records.len() >= RECORDS_MAX {
            known.records.pop_front();
        }
        known.records.push_back(Arc::clone(&record));
        record
    }
}

/// A reader of the stream of an account.
struct StreamReader {
    feed: Arc<VeniceFeed>,
    closed: watch::Receiver<bool>,
    engine: Arc<Engine>,
    account: AccountId,
    receiver: broadcast::Receiver<Arc<VeniceRecord>>,
    missed: VecDeque<Arc<VeniceRecord>>,
    /// Number of the last record that was shown.
    seen: u64,
    is_greeted: bool,
    next_stats: Instant,
    ends_at: Instant,
    heartbeat: Duration,
}

impl StreamReader {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.is_greeted {
            self.is_greeted = true;
            return Some(Bytes::from_static(b": connected\n\n"));
        }
        let silent_until = Instant::now() + self.heartbeat;
        loop {
            if let Some(record) = self.missed.pop_front() {
                return Some(self.show(&record));
            }
            let until = silent_until.min(self.next_stats).min(self.ends_at);
            let received = tokio::select! {
                biased;
                received = tokio::time::timeout_at(until, self.receiver.recv()) => received,
                _ = self.closed.wait_for(|closed| *closed) => return None,
            };
            return Some(match received {
                Err(_) if until == self.ends_at => return None,
                Err(_) if until == self.next_stats => {
                    self.next_stats += STATS_EVERY;
                    let stats = summary::cache_rates(&self.feed.latest(&self.account));
                    event("cache-stats", &stats)
                }
                Err(_) => HEARTBEAT,
                Ok(Ok(record)) if record.account != self.account || record.number <= self.seen => {
                    continue;
                }
                Ok(Ok(record)) => self.show(&record),
                // Most of them are other accounts'; its own are remembered, but for the oldest.
                Ok(Err(RecvError::Lagged(_))) => match self.catch_up() {
                    0 => continue,
                    lost => event("lost", &serde_json::json!({ "lost": lost })),
                },
                Ok(Err(RecvError::Closed)) => return None,
            });
        }
    }

    /// Takes the records that the reader was too slow for from memory. Answers how many of them are
    /// forgotten.
    fn catch_up(&mut self) -> u64 {
        self.missed = self.feed.behind(&self.account, self.seen);
        let next = self
            .missed
            .front()
            .map_or(self.seen + 1, |record| record.number);
        next - self.seen - 1
    }

    /// The events of a record. The last one carries its id, so that a reader that was cut off in
    /// between gets all of them again.
    fn show(&mut self, record: &VeniceRecord) -> Bytes {
        self.seen = record.number;
        let snapshot = self.engine.snapshot();
        let tier = super::tier_of(snapshot.roster(), &record.model);
        let mut text = Vec::new();
        if record.is_answered() && tier.is_some_and(super::is_attested) {
            text.extend_from_slice(&event("attestation", &record.attestation_event()));
        }
        if let Some(budget) = summary::dream_budget(&self.feed.latest(&self.account), record) {
            text.extend_from_slice(&event("budget", &budget));
        }
        text.extend_from_slice(format!("id: {}\n", self.feed.id(record)).as_bytes());
        text.extend_from_slice(&event("cognition", &record.cognition(tier)));
        text.into()
    }
}

fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample;

    /// A request of an account whose first attempt failed at Venice and whose last one is there.
    fn receipt(account: &str) -> Receipt {
        let mut receipt = sample();
        receipt.account = AccountId::parse(account).unwrap();
        for attempt in &mut receipt.attempts {
            attempt.backend = "venice".into();
        }
        receipt
    }

    #[test]
    fn each_attempt_at_venice_is_a_record_and_no_other_is() {
        let feed = VeniceFeed::new(1);
        feed.take(&sample());
        feed.take(&receipt("a"));
        let latest = feed.latest(&AccountId::parse("a").unwrap());
        let shown: Vec<Value> = latest.iter().map(|record| record.shown(None)).collect();
        assert_eq!(shown.len(), 2);
        assert_eq!(shown[0]["cached_tokens_ratio"], 0.9);
        assert_eq!(shown[1]["failure"]["status"], 429);
        assert!(feed.latest(&sample().account).is_empty());
    }

    #[test]
    fn numbers_count_the_calls_of_one_account() {
        let feed = VeniceFeed::new(1);
        for account in ["a", "b", "a"] {
            feed.take(&receipt(account));
        }
        let of = |name: &str| AccountId::parse(name).unwrap();
        let numbers = |name: &str, id: &str| -> Vec<u64> {
            let missed = feed.behind(&of(name), feed.seen(&of(name), Some(id)));
            missed.iter().map(|record| record.number).collect()
        };
        assert_eq!(numbers("a", "1-2"), [3, 4]);
        assert_eq!(numbers("b", "1-1"), [2]);
        // Ids of another process, and of an account that was forgotten meanwhile.
        assert_eq!(numbers("b", "9-1"), [1, 2]);
        assert_eq!(numbers("b", "1-77"), [1, 2]);
        assert_eq!(feed.seen(&of("a"), None), 4);
    }

    #[test]
    fn accounts_and_their_records_are_bounded() {
        let feed = VeniceFeed::new(1);
        let of = |name: &str| feed.latest(&AccountId::parse(name).unwrap());
        feed.take(&receipt("first"));
        for _ in 0..RECORDS_MAX {
            feed.take(&receipt("busy"));
        }
        assert_eq!(of("busy").len(), RECORDS_MAX);
        assert_eq!(of("first").len(), 2);
        for number in 1..ACCOUNTS_MAX {
            feed.take(&receipt(&format!("acct_{number}")));
        }
        assert!(of("first").is_empty());
        assert_eq!(of("busy").len(), RECORDS_MAX);
    }
}
