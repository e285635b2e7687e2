//! Receipts by their names: those of the same minute and the same names are added up first.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::figures::SeriesFigures;

/// The names that the receipts of a group share, as their columns and texts have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupNames<T> {
    /// Unix millisecond at which the minute of the requests begins.
    pub minute_ms: u64,
    /// Account of the requests.
    pub account: T,
    /// Key of the requests.
    pub key: Option<T>,
    /// Model that was chosen; empty where none was.
    pub model: T,
    /// Backend that answered; empty where none did.
    pub backend: T,
    /// Subsystem that the caller named.
    pub subsystem: Option<T>,
    /// Session that the caller named.
    pub session: Option<T>,
    /// Outcome: `finished`, `aborted`, `failed` or `unknown`.
    pub outcome: &'static str,
    /// Id of the agent.
    pub golem: Option<T>,
    /// Part of the answer cache: `hash`, `semantic`, `miss` or `bypass`.
    pub layer: Option<T>,
    /// Class of the failure, of requests that failed or whose outcome is unknown.
    pub error: Option<T>,
}

impl GroupNames<&str> {
    fn to_owned(self) -> GroupNames<Box<str>> {
        let kept = |name: Option<&str>| name.map(Box::from);
        GroupNames {
            minute_ms: self.minute_ms,
            account: self.account.into(),
            key: kept(self.key),
            model: self.model.into(),
            backend: self.backend.into(),
            subsystem: kept(self.subsystem),
            session: kept(self.session),
            outcome: self.outcome,
            golem: kept(self.golem),
            layer: kept(self.layer),
            error: kept(self.error),
        }
    }
}

impl GroupNames<Box<str>> {
    /// The names, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> GroupNames<&str> {
        GroupNames {
            minute_ms: self.minute_ms,
            account: &self.account,
            key: self.key.as_deref(),
            model: &self.model,
            backend: &self.backend,
            subsystem: self.subsystem.as_deref(),
            session: self.session.as_deref(),
            outcome: self.outcome,
            golem: self.golem.as_deref(),
            layer: self.layer.as_deref(),
            error: self.error.as_deref(),
        }
    }
}

/// Receipts of the same names and their figures.
#[derive(Debug)]
pub(super) struct ReceiptGroup {
    hash: u64,
    names: GroupNames<Box<str>>,
    pub(super) figures: SeriesFigures,
}

impl ReceiptGroup {
    pub(super) fn names(&self) -> GroupNames<&str> {
        self.names.borrowed()
    }
}

/// Groups, in the order in which they were first seen.
#[derive(Debug, Default)]
pub(super) struct ReceiptGroups {
    all: Vec<ReceiptGroup>,
    places: HashTable<usize>,
    hasher: DefaultHashBuilder,
    /// Group of the last receipt: the next one is often of the same.
    last: usize,
}

impl ReceiptGroups {
    pub(super) fn all(&self) -> &[ReceiptGroup] {
        &self.all
    }

    /// The figures and the number of the group of these names.
    pub(super) fn figures(&mut self, names: GroupNames<&str>) -> (usize, &mut SeriesFigures) {
        let number = self.number(names);
        self.last = number;
        (number, &mut self.all[number].figures)
    }

    fn number(&mut self, names: GroupNames<&str>) -> usize {
        let all = &mut self.all;
        if all.get(self.last).is_some_and(|last| last.names() == names) {
            return self.last;
        }
        let hash = self.hasher.hash_one(names);
        let is_same = |number: &usize| all[*number].hash == hash && all[*number].names() == names;
        if let Some(number) = self.places.find(hash, is_same) {
            return *number;
        }
        let number = all.len();
        all.push(ReceiptGroup {
            hash,
            names: names.to_owned(),
            figures: SeriesFigures::default(),
        });
        self.places
            .insert_unique(hash, number, |number| all[*number].hash);
        number
    }
}
