//! What was spent, against the caps: per session in memory, per day (UTC) in a file that all
//! proxies of a user share.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bardo_types::money::MicroUsd;
use serde::{Deserialize, Serialize};

const DAY_S: u64 = 86_400;
/// Longest wait for another proxy that counts a payment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The most that may be spent. A payment counts with the most that it can cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayerCaps {
    pub(crate) request: MicroUsd,
    /// From the start of this proxy to its end.
    pub(crate) session: MicroUsd,
    /// By all proxies of the user, from midnight to midnight UTC.
    pub(crate) day: MicroUsd,
}

/// Why a payment is not counted, so that it must not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CapRefusal {
    #[error(
        "the {period} cap of {cap} USD has {spent} USD spent, and this request can cost {amount} USD; `{flag}` raises it"
    )]
    Reached {
        period: &'static str,
        flag: &'static str,
        cap: MicroUsd,
        spent: MicroUsd,
        amount: MicroUsd,
    },
    #[error("the spending of the day cannot be counted in {file}: {source}")]
    Uncounted {
        file: String,
        #[source]
        source: io::Error,
    },
}

/// How a payment ended. One without a known end has none of these, and stays counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PaymentEnd {
    /// Charged with this amount, in USD.
    Charged(MicroUsd),
    /// Charged with this amount, as the seller alone says. The most that it can cost counts until
    /// the chain says what was taken.
    Reported(MicroUsd),
    /// The seller says that it refused it. It may be settled all the same, and stays counted.
    Refused,
    /// Sent once more after a refusal, so that its end is unknown again.
    Reopened,
}

/// A signed payment whose charge is not known yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenPayment {
    /// The nonce, as hexadecimal digits.
    nonce: String,
    /// The most that it can cost, in 10⁻⁶ USD.
    amount: u64,
    /// Last second, in Unix time, at which it can settle.
    ends_s: u64,
}

/// Amounts of a session or a day.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpendTally {
    /// Days since 1970; 0 for a session.
    day: u64,
    /// What was charged, in 10⁻⁶ USD.
    charged: u64,
    open: Vec<OpenPayment>,
}

impl SpendTally {
    fn counted(&self) -> MicroUsd {
        let open = self.open.iter().map(|payment| payment.amount);
        MicroUsd::new(open.fold(self.charged, u64::saturating_add))
    }

    /// Begins a new day. A clock that goes back begins none.
    fn roll(&mut self, now_s: u64) {
        let day = now_s / DAY_S;
        if day > self.day {
            self.day = day;
            self.charged = 0;
            self.open.retain(|payment| payment.ends_s >= now_s);
        }
    }

    fn add(
        &mut self,
        payment: OpenPayment,
        period: &'static str,
        flag: &'static str,
        cap: MicroUsd,
    ) -> Result<(), CapRefusal> {
        let spent = self.counted();
        let amount = MicroUsd::new(payment.amount);
        match spent.checked_add(amount) {
            Some(sum) if sum <= cap => {
                self.open.push(payment);
                Ok(())
            }
            _ => Err(CapRefusal::Reached {
                period,
                flag,
                cap,
                spent,
                amount,
            }),
        }
    }

    /// Only a charge ends the count: what a seller says of a payment does not change what it can
    /// cost.
    fn end(&mut self, nonce: &str, end: PaymentEnd) {
        let at = self.open.iter().position(|open| open.nonce == nonce);
        if let (Some(at), PaymentEnd::Charged(amount)) = (at, end) {
            let open = self.open.swap_remove(at);
            self.charged = self.charged.saturating_add(amount.get().min(open.amount));
        }
    }
}

/// What a status line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpendFigures {
    /// Counted in this session: charged, and signed without a known end.
    pub(crate) session: MicroUsd,
    /// The part of it whose end is not known.
    pub(crate) open: MicroUsd,
    /// Payments that were signed in this session.
    pub(crate) payments: u64,
    /// Receipts that claim more than was signed, or less than was charged.
    pub(crate) false_claims: u64,
    pub(crate) caps: PayerCaps,
}

impl SpendSession {
    fn end(&mut self, nonce: &str, end: PaymentEnd) {
        let signed = self.tally.open.iter().find(|open| open.nonce == nonce);
        match (signed, end) {
            (Some(_), PaymentEnd::Reported(amount)) => {
                self.reported.insert(nonce.to_owned(), amount);
            }
            // The chain was faster than the answer.
            (None, PaymentEnd::Reported(amount)) => {
                let charged = self.charged.remove(nonce);
                self.false_claims += u64::from(charged.is_some_and(|charged| amount < charged));
            }
            (Some(open), PaymentEnd::Charged(amount)) => {
                let reported = self.reported.remove(nonce);
                if reported.is_none() {
                    self.charged.insert(nonce.to_owned(), amount);
                }
                let is_less = reported.is_some_and(|reported| reported < amount);
                self.false_claims += u64::from(is_less || amount.get() > open.amount);
            }
            _ => {}
        }
        self.tally.end(nonce, end);
    }
}

/// Counts payments before they are sent.
pub(crate) struct SpendBook {
    caps: PayerCaps,
    file: PathBuf,
    session: Mutex<SpendSession>,
}

/// What was spent since the start of this proxy.
#[derive(Default)]
struct SpendSession {
    tally: SpendTally,
    payments: u64,
    false_claims: u64,
    /// What sellers said of open payments, by their nonces.
    reported: HashMap<String, MicroUsd>,
    /// What was charged for payments of which no seller said an amount, by their nonces.
    charged: HashMap<String, MicroUsd>,
}

impl SpendBook {
    /// A book with an empty session, whose day is in `file`.
    pub(crate) fn new(caps: PayerCaps, file: PathBuf) -> Self {
        Self {
            caps,
            file,
            session: Mutex::default(),
        }
    }

    pub(crate) fn caps(&self) -> PayerCaps {
        self.caps
    }

    pub(crate) fn figures(&self) -> SpendFigures {
        let session = self.session();
        let tally = &session.tally;
        SpendFigures {
            session: tally.counted(),
            open: MicroUsd::new(tally.counted().get().saturating_sub(tally.charged)),
            payments: session.payments,
            false_claims: session.false_claims,
            caps: self.caps,
        }
    }

    /// What all proxies of the user spent today.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn today(&self, now_s: u64) -> Result<MicroUsd, CapRefusal> {
        self.locked(|tally| {
            tally.roll(now_s);
            Ok(tally.counted())
        })
    }

    /// Counts a payment, on the disk too, before it may be sent.
    ///
    /// # Errors
    /// When a cap has no room for it, or it cannot be counted; then it must not be sent.
    pub(crate) fn count(
        &self,
        nonce: &str,
        amount: MicroUsd,
        ends_s: u64,
        now_s: u64,
    ) -> Result<(), CapRefusal> {
        if amount > self.caps.request {
            return Err(CapRefusal::Reached {
                period: "request",
                flag: "--cap-request",
                cap: self.caps.request,
                spent: MicroUsd::ZERO,
                amount,
            });
        }
        let payment = OpenPayment {
            nonce: nonce.to_owned(),
            amount: amount.get(),
            ends_s,
        };
        let mut session = self.session();
        let mut tally = session.tally.clone();
        tally.add(
            payment.clone(),
            "session",
            "--cap-session",
            self.caps.session,
        )?;
        self.locked(|day| {
            day.roll(now_s);
            day.add(payment, "day", "--cap-day", self.caps.day)
        })?;
        session.tally = tally;
        session.payments += 1;
        Ok(())
    }

    /// Whether the end of a payment of this session is not known yet.
    pub(crate) fn is_open(&self, nonce: &str) -> bool {
        let session = self.session();
        session.tally.open.iter().any(|open| open.nonce == nonce)
    }

    /// Notes how a payment ended. Where the file cannot be written, the payment stays counted.
    pub(crate) fn end(&self, nonce: &str, end: PaymentEnd) {
        self.session().end(nonce, end);
        let _ = self.locked(|day| {
            day.end(nonce, end);
            Ok(())
        });
    }

    fn session(&self) -> MutexGuard<'_, SpendSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the tally of the day while no other process does.
    fn locked<T>(
        &self,
        change: impl FnOnce(&mut SpendTally) -> Result<T, CapRefusal>,
    ) -> Result<T, CapRefusal> {
        let uncounted = |source| CapRefusal::Uncounted {
            file: self.file.display().to_string(),
            source,
        };
        let lock = lock_file(&self.file).map_err(uncounted)?;
        let mut tally = read(&self.file).map_err(uncounted)?;
        let done = change(&mut tally)?;
        write(&self.file, &tally).map_err(uncounted)?;
        drop(lock);
        Ok(done)
    }
}

/// Waits for the lock of a file. The lock is a file beside it, because the file itself is replaced.
fn lock_file(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file.with_extension("lock"))?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            // A proxy that was stopped with the lock must not stop all others.
            Err(TryLockError::WouldBlock) if since.elapsed() < LOCK_TIMEOUT => {
                std::thread::park_timeout(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn read(file: &Path) -> io::Result<SpendTally> {
    match fs::read(file) {
        Ok(json) => serde_json::from_slice(&json).map_err(|_| {
            let reason = "it is damaged; remove it if you know what was spent today";
            io::Error::new(io::ErrorKind::InvalidData, reason)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SpendTally::default()),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, so that a crash leaves the old one or the new one.
fn write(file: &Path, tally: &SpendTally) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut new, tally)?;
    new.flush()?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests;
