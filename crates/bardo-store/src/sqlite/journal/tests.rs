use std::path::PathBuf;

use tempfile::TempDir;

use super::super::tests::rig::{account, request};
use super::*;

const OURS: [u8; NAME] = [7; NAME];

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::with_prefix("journal").unwrap())
    }

    fn database(&self) -> PathBuf {
        self.0.path().join("ledger.db")
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("ledger.journal")
    }

    fn open(&self, applied: u64) -> (Journal, Vec<u64>) {
        self.open_as(OURS, applied)
    }

    /// The journal, and the numbers of the requests of its entries.
    fn open_as(&self, name: [u8; NAME], applied: u64) -> (Journal, Vec<u64>) {
        let opened = Journal::open(
            &self.database(),
            name,
            || Ok(applied),
            Durability::Power,
            // A process that another test starts has the lock too until it runs its program.
            true,
        );
        let OpenedJournal { journal, entries } = opened.unwrap().expect("nobody else has it");
        (journal, entries.iter().map(number).collect())
    }
}

fn entry(number: u64) -> JournalEntry {
    JournalEntry::Gone((account("a"), request(number)))
}

fn number(entry: &JournalEntry) -> u64 {
    let JournalEntry::Gone((_, request)) = entry else {
        unreachable!("{entry:?}")
    };
    request
        .as_str()
        .strip_prefix("req_")
        .unwrap()
        .parse()
        .unwrap()
}

fn append(journal: &mut Journal, numbers: &[u64]) {
    let entries: Vec<JournalEntry> = numbers.iter().map(|number| entry(*number)).collect();
    journal.append(entries.iter()).unwrap();
}

#[test]
fn what_was_written_is_read_once() {
    let folder = Folder::new();
    let (mut journal, found) = folder.open(0);
    assert_eq!(found, [0; 0]);
    append(&mut journal, &[1, 2]);
    append(&mut journal, &[]);
    append(&mut journal, &[3]);
    drop(journal);
    for (applied, expected) in [(0, &[1, 2, 3][..]), (1, &[2, 3]), (2, &[3])] {
        let (journal, found) = folder.open(applied);
        assert_eq!((found, journal.last()), (expected.to_vec(), 3));
    }
    let (mut journal, found) = folder.open(3);
    assert_eq!((found, journal.last()), (vec![], 3));
    // What was there is not mistaken for what follows.
    append(&mut journal, &[4]);
    drop(journal);
    assert_eq!(folder.open(3).1, [4]);
    let (mut journal, _) = folder.open(3);
    journal.clear().unwrap();
    append(&mut journal, &[5]);
    drop(journal);
    assert_eq!(folder.open(4).1, [5]);
}

#[test]
fn what_is_written_over_is_not_read_again() {
    for (first, then) in [(6, 0), (6, 1), (6, 2), (6, 6), (1, 4)] {
        let folder = Folder::new();
        let (mut journal, _) = folder.open(0);
        for number in 1..=first {
            append(&mut journal, &[number]);
        }
        journal.rewind();
        let after: Vec<u64> = (first + 1..=first + then).collect();
        for number in &after {
            append(&mut journal, &[*number]);
        }
        drop(journal);
        assert_eq!(folder.open(first).1, after, "{first} and {then}");
    }
}

#[test]
fn a_group_that_was_not_written_to_its_end_does_not_count() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(0);
    append(&mut journal, &[1]);
    let before = journal.length();
    append(&mut journal, &[2, 3]);
    drop(journal);
    let whole = std::fs::read(folder.file()).unwrap();
    let before = usize::try_from(before).unwrap();
    for end in before..whole.len() {
        std::fs::write(folder.file(), &whole[..end]).unwrap();
        let (mut journal, found) = folder.open(0);
        assert_eq!(found, [1], "{end}");
        assert_eq!(
            std::fs::metadata(folder.file()).unwrap().len(),
            before as u64
        );
        append(&mut journal, &[9]);
        drop(journal);
        assert_eq!(folder.open(0).1, [1, 9], "{end}");
    }
    for at in before..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(folder.file(), &damaged).unwrap();
        assert_eq!(folder.open(0).1, [1], "{at}");
    }
}

#[test]
fn a_flipped_bit_costs_its_group_alone_and_the_file_is_kept() {
    for flipped in [1, 2, 4] {
        let folder = Folder::new();
        let (mut journal, _) = folder.open(0);
        let mut starts = Vec::new();
        for number in 1..=5 {
            starts.push(usize::try_from(journal.length()).unwrap());
            append(&mut journal, &[number]);
        }
        drop(journal);
        let mut bytes = std::fs::read(folder.file()).unwrap();
        bytes[starts[flipped - 1] + HEAD + 3] ^= 0x10;
        std::fs::write(folder.file(), &bytes).unwrap();
        let expected: Vec<u64> = (1..=5).filter(|one| *one != flipped as u64).collect();
        let (journal, found) = folder.open(0);
        assert_eq!((&found, journal.last()), (&expected, 4), "{flipped}");
        drop(journal);
        let aside = kept_aside(&folder.database());
        assert_eq!(aside.len(), 1);
        assert_eq!(std::fs::read(&aside[0]).unwrap(), bytes);
        // What was read is kept anew until the database has it.
        assert_eq!(folder.open(0).1, expected);
        assert_eq!(kept_aside(&folder.database()), aside);
    }
    // The last group cannot be told from one that was not written to its end.
    let folder = Folder::new();
    let (mut journal, _) = folder.open(0);
    append(&mut journal, &[1]);
    append(&mut journal, &[2]);
    drop(journal);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(folder.file(), &bytes).unwrap();
    assert_eq!(folder.open(0).1, [1]);
    assert!(kept_aside(&folder.database()).is_empty());
}

#[test]
fn a_journal_of_another_database_is_kept_aside() {
    let folder = Folder::new();
    let (mut journal, _) = folder.open(0);
    append(&mut journal, &[1]);
    drop(journal);
    // Of another, then with entries missing in between, then of something else altogether.
    let (mut journal, found) = folder.open_as([8; NAME], 0);
    assert_eq!(found, [0; 0]);
    append(&mut journal, &[2]);
    drop(journal);
    let (mut journal, _) = folder.open_as([8; NAME], 1);
    append(&mut journal, &[3]);
    drop(journal);
    assert_eq!(folder.open_as([8; NAME], 0).1, [0; 0], "1 is missing");
    std::fs::write(folder.file(), "no journal at all, but long enough for one").unwrap();
    assert_eq!(folder.open(5).1, [0; 0]);
    for number in 1..=3 {
        let aside = folder.0.path().join(format!("ledger.journal.{number}"));
        assert!(aside.is_file(), "{number}");
    }
    std::fs::rename(folder.0.path().join("ledger.journal.1"), folder.file()).unwrap();
    assert_eq!(folder.open(0).1, [1]);
}

#[test]
fn one_process_at_a_time_has_it() {
    let folder = Folder::new();
    let (journal, _) = folder.open(0);
    let second = Journal::open(
        &folder.database(),
        OURS,
        || unreachable!("nothing is read"),
        Durability::Process,
        false,
    );
    assert!(second.unwrap().is_none());
    drop(journal);
    folder.open(0);
}
