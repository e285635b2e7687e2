//! The file of what was acknowledged and may not be in the database yet.
//!
//! Each group of entries is one frame, written by one call: its checksum, its length, how many
//! entries it has and the number of the first. Numbers go on from frame to frame and are never used
//! again, and the database says up to which it has them, so each is carried over exactly once. A
//! frame that was not written to its end does not count: nobody was told that it was.
//!
//! When the database has all of it, the file is written again from its beginning: what is there
//! already has room on the disk, and is known by its lower numbers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bardo_ledger::StoreError;
use xxhash_rust::xxh3::xxh3_64;

use super::entry::JournalEntry;
use super::schema::Durability;

/// The first bytes of a journal; the name of its database follows.
const MAGIC: &[u8; 16] = b"bardo journal 1\n";
/// How long the name of a database is.
pub(super) const NAME: usize = 16;
const HEADER: usize = MAGIC.len() + NAME;
const CHECKSUM: usize = 8;
const HEAD: usize = CHECKSUM + 4 + 4 + 8;
/// Why a journal is set aside that has whole frames behind a damaged part.
const DAMAGED: &str = "a part of it is damaged; the readable entries were applied";
/// No more is written before the database has taken what there is.
const FULL: u64 = 64 << 20;

pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// Up to here it is written.
    length: u64,
    /// The number of the next entry.
    next: u64,
    durability: Durability,
    /// Behind its length there may be something.
    is_torn: bool,
    frame: Vec<u8>,
}

/// The content of a journal when it was opened.
pub(super) struct OpenedJournal {
    pub(super) journal: Journal,
    /// The entries that the database does not have yet, in order.
    pub(super) entries: Vec<JournalEntry>,
}

/// Where the journal of a database is.
pub(super) fn beside(database: &Path) -> PathBuf {
    database.with_extension("journal")
}

impl Journal {
    /// Opens the journal beside a database, which has this name and all entries up to `applied`.
    /// Waits for another process that reads it, or with `wait` off answers `None` there.
    pub(super) fn open(
        database: &Path,
        name: [u8; NAME],
        applied: impl FnOnce() -> io::Result<u64>,
        durability: Durability,
        wait: bool,
    ) -> io::Result<Option<OpenedJournal>> {
        let path = beside(database);
        let Some(mut file) = take(&path, wait)? else {
            return Ok(None);
        };
        // Who had the lock before may have carried something over.
        let applied = applied()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut read = read(&bytes, name, applied);
        if let JournalFile::Foreign(why) = read {
            // Whoever waits for the old one finds that it is not there any more.
            file = set_aside(&path, why)?;
            read = JournalFile::New;
        }
        let mut journal = Self {
            file,
            path,
            length: HEADER as u64,
            next: applied + 1,
            durability,
            is_torn: true,
            frame: Vec::new(),
        };
        let mut entries = Vec::new();
        match read {
            JournalFile::Entries(found) if found.is_damaged => {
                let fresh = set_aside(&journal.path, DAMAGED)?;
                // Whoever waits for the old one finds that it is not there any more.
                journal.file = fresh;
                journal.begin(name)?;
                // What can be read is kept anew before anything else happens.
                journal
                    .append(found.entries.iter())
                    .map_err(io::Error::other)?;
                entries = found.entries;
            }
            JournalFile::Entries(found) => {
                if found.is_torn {
                    tracing::warn!("the last entry of the journal is incomplete and was dropped");
                }
                // What the database has need not be kept.
                if !found.entries.is_empty() {
                    journal.length = found.length;
                }
                journal.next = found.next;
                entries = found.entries;
            }
            JournalFile::New | JournalFile::Foreign(_) => {
                journal.begin(name)?;
            }
        }
        journal.mend()?;
        Ok(Some(OpenedJournal { journal, entries }))
    }

    /// Writes the header of a file that has nothing.
    fn begin(&mut self, name: [u8; NAME]) -> io::Result<()> {
        let header = [&MAGIC[..], &name].concat();
        self.file.set_len(0)?;
        self.file.write_all_at(&header, 0)?;
        if self.durability == Durability::Power {
            self.file.sync_all()?;
            if let Some(folder) = self.path.parent() {
                File::open(folder)?.sync_all()?;
            }
        }
        Ok(())
    }

    /// Writes one group, which is kept when this answers. On an error nothing of it is.
    pub(super) fn append<'a>(
        &mut self,
        entries: impl Iterator<Item = &'a JournalEntry>,
    ) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::Unavailable(format!("the journal: {error}"));
        if self.length > FULL {
            return Err(StoreError::Unavailable(
                "the journal is full and the database does not accept its entries".to_owned(),
            ));
        }
        self.mend().map_err(failed)?;
        self.frame.clear();
        self.frame.resize(HEAD, 0);
        let mut count = 0_u32;
        for entry in entries {
            entry.encode(&mut self.frame);
            count += 1;
        }
        let length = u32::try_from(self.frame.len() - HEAD)
            .map_err(|_| StoreError::Damaged("a group of four gigabytes".to_owned()))?;
        self.frame[8..12].copy_from_slice(&length.to_le_bytes());
        self.frame[12..16].copy_from_slice(&count.to_le_bytes());
        self.frame[16..24].copy_from_slice(&self.next.to_le_bytes());
        let checksum = xxh3_64(&self.frame[CHECKSUM..]);
        self.frame[..CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        let mut written = self.file.write_all_at(&self.frame, self.length);
        if written.is_ok() && self.durability == Durability::Power {
            written = self.file.sync_data();
        }
        if let Err(error) = written {
            self.is_torn = true;
            // Tried again before anything else is written.
            let _ = self.mend();
            return Err(failed(error));
        }
        self.length += self.frame.len() as u64;
        self.next += u64::from(count);
        Ok(())
    }

    /// The number of the last entry.
    pub(super) fn last(&self) -> u64 {
        self.next - 1
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Begins anew: the database has all of it.
    pub(super) fn rewind(&mut self) {
        self.length = HEADER as u64;
    }

    /// Removes all entries, also from the file.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.rewind();
        self.is_torn = true;
        self.mend()
    }

    /// Cuts off what is behind the end.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.length)?;
            self.is_torn = false;
        }
        Ok(())
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Opens the file when nobody else has it; `None` where one does and is not to be waited for.
fn take(path: &Path, wait: bool) -> io::Result<Option<File>> {
    loop {
        let file = open_file(path)?;
        if wait {
            file.lock()?;
        } else {
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        // Whoever had it may have set it aside.
        let is_there = std::fs::metadata(path).map(|at| at.ino());
        if is_there.ok() == Some(file.metadata()?.ino()) {
            return Ok(Some(file));
        }
    }
}

/// Keeps a journal that does not fit under another name, and begins another.
fn set_aside(path: &Path, why: &str) -> io::Result<File> {
    let number = (1..)
        .find(|number| !aside(path, *number).exists())
        .unwrap_or(u32::MAX);
    let to = aside(path, number);
    std::fs::rename(path, &to)?;
    tracing::error!(
        why,
        kept = %to.display(),
        "the journal was set aside; `balance verify` fails until it is moved away"
    );
    let fresh = open_file(path)?;
    fresh.lock()?;
    Ok(fresh)
}

/// The journals of a database that were set aside and have entries.
pub(super) fn kept_aside(database: &Path) -> Vec<PathBuf> {
    let path = beside(database);
    (1..)
        .map(|number| aside(&path, number))
        .take_while(|path| path.exists())
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            let rest = bytes.get(HEADER..).unwrap_or_default();
            Frame::first(rest).is_some() || Frame::behind(rest, 0).is_some()
        })
        .collect()
}

fn aside(path: &Path, number: u32) -> PathBuf {
    path.with_extension(format!("journal.{number}"))
}

enum JournalFile {
    New,
    /// The file must not be used, for this reason.
    Foreign(&'static str),
    Entries(JournalEntries),
}

struct JournalEntries {
    entries: Vec<JournalEntry>,
    length: u64,
    next: u64,
    /// Something follows that is no frame.
    is_torn: bool,
    /// Something is missing before a frame that is whole.
    is_damaged: bool,
}

/// Reads as far as frames are whole and follow each other.
fn read(bytes: &[u8], name: [u8; NAME], applied: u64) -> JournalFile {
    let Some((header, mut rest)) = bytes.split_at_checked(HEADER) else {
        // Nothing is written behind a header that is not whole.
        return JournalFile::New;
    };
    if header[..MAGIC.len()] != *MAGIC {
        return JournalFile::Foreign("it is not a journal, or its version is newer");
    }
    if header[MAGIC.len()..] != name {
        return JournalFile::Foreign("it belongs to another database");
    }
    let mut found = JournalEntries {
        entries: Vec::new(),
        length: HEADER as u64,
        next: applied + 1,
        is_torn: false,
        is_damaged: false,
    };
    let mut next = None;
    while !rest.is_empty() {
        let Some(frame) = Frame::first(rest) else {
            let after = next.unwrap_or(applied + 1);
            match Frame::behind(rest, after) {
                Some(behind) => {
                    tracing::error!(
                        at = bytes.len() - rest.len(),
                        bytes = behind,
                        "a part of the journal is damaged, but later entries are intact"
                    );
                    found.is_damaged = true;
                    rest = &rest[behind..];
                    // Numbers are missing here.
                    next = None;
                    continue;
                }
                None => {
                    found.is_torn = true;
                    break;
                }
            }
        };
        if let Some(expected) = next.filter(|next| *next != frame.first) {
            // From before the file was begun anew.
            if frame.first < expected {
                break;
            }
            tracing::error!(
                expected,
                found = frame.first,
                "entries of the journal are missing"
            );
            found.is_damaged = true;
        }
        if next.is_none() && frame.first > applied + 1 && !found.is_damaged {
            return JournalFile::Foreign(
                "entries between the journal and the database are missing",
            );
        }
        let mut payload = frame.payload;
        for number in (frame.first..).take(frame.count) {
            let Some(entry) = JournalEntry::decode(&mut payload) else {
                return JournalFile::Foreign("its entries have a newer version");
            };
            if number > applied {
                found.entries.push(entry);
            }
        }
        let after = frame.first + frame.count as u64;
        next = Some(after);
        found.next = found.next.max(after);
        let length = HEAD + frame.payload.len();
        found.length += length as u64;
        rest = &rest[length..];
    }
    JournalFile::Entries(found)
}

struct Frame<'a> {
    first: u64,
    count: usize,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Where the first whole frame begins whose number is at least `after`; not at the beginning.
    fn behind(bytes: &'a [u8], after: u64) -> Option<usize> {
        let most = after.saturating_add(bytes.len() as u64);
        (1..bytes.len().saturating_sub(HEAD)).find(|&at| {
            // Cheap to look at; a checksum over all of it is not.
            let number: Option<[u8; 8]> = bytes[at + 16..at + HEAD].try_into().ok();
            let is_likely =
                number.is_some_and(|number| (after..=most).contains(&u64::from_le_bytes(number)));
            is_likely && Self::first(&bytes[at..]).is_some()
        })
    }

    fn first(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..HEAD)?;
        let number = |at: usize| Some(u32::from_le_bytes(head[at..at + 4].try_into().ok()?));
        let length = usize::try_from(number(8)?).ok()?;
        let count = usize::try_from(number(12)?).ok()?;
        let first = u64::from_le_bytes(head[16..24].try_into().ok()?);
        let whole = bytes.get(..HEAD.checked_add(length)?)?;
        let checksum = u64::from_le_bytes(head[..CHECKSUM].try_into().ok()?);
        (xxh3_64(&whole[CHECKSUM..]) == checksum).then_some(Self {
            first,
            count,
            payload: &whole[HEAD..],
        })
    }
}

#[cfg(test)]
mod tests;
