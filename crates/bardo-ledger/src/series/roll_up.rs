//! Receipts added up into the rows of one step.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::facts::{ReceiptColumns, name};
use super::figures::{Figure, SeriesFigures};
use super::groups::{GroupNames, ReceiptGroups};
use super::text::TextFacts;
use super::{Resolution, SeriesDimension, SeriesName, pair};

/// Largest number of names in a bucket of one dimension; the rest is [`SeriesName::Other`].
#[must_use]
pub const fn names_max(resolution: Resolution) -> usize {
    match resolution {
        Resolution::Minute => 100,
        Resolution::Hour | Resolution::Day => 500,
    }
}

/// First moments that series keep, in Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeriesKeep {
    /// Of rows per minute.
    pub minutes_from_ms: u64,
    /// Of rows per hour and per day.
    pub hours_from_ms: u64,
}

impl SeriesKeep {
    /// Keeps rows from the last `minutes_ms` and `hours_ms` milliseconds.
    #[must_use]
    pub const fn last(now_ms: u64, minutes_ms: u64, hours_ms: u64) -> Self {
        Self {
            minutes_from_ms: now_ms.saturating_sub(minutes_ms),
            hours_from_ms: now_ms.saturating_sub(hours_ms),
        }
    }

    /// The first moment of a resolution; a bucket that begins before it is not kept.
    #[must_use]
    pub const fn from_ms(&self, resolution: Resolution) -> u64 {
        match resolution {
            Resolution::Minute => self.minutes_from_ms,
            Resolution::Hour => self.hours_from_ms.saturating_sub(Resolution::Hour.ms()),
            Resolution::Day => self.hours_from_ms.saturating_sub(Resolution::Day.ms()),
        }
    }
}

/// Place of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesPlace {
    /// Length of the bucket.
    pub resolution: Resolution,
    /// Unix millisecond at which the bucket begins.
    pub starts_at_ms: u64,
    /// The names of the rows.
    pub dimension: SeriesDimension,
    /// One account; empty for all.
    pub account: String,
    /// Name of the receipts.
    pub name: SeriesName,
}

/// An agent as its last receipt shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GolemSeen {
    /// Account of the agent.
    pub account: String,
    /// Id of the agent.
    pub golem: String,
    /// First request, in Unix milliseconds.
    pub first_seen_ms: u64,
    /// Last request, in Unix milliseconds.
    pub last_seen_ms: u64,
    /// Phase that it said it was in.
    pub phase: Option<String>,
    /// How alive it said that it was, as a decimal.
    pub vitality: Option<String>,
    /// How long it said that its money lasts, as a decimal.
    pub sustainability: Option<String>,
}

impl GolemSeen {
    /// Takes in another sighting of the same agent. What the later one does not say stays.
    pub fn merge(&mut self, other: Self) {
        self.first_seen_ms = self.first_seen_ms.min(other.first_seen_ms);
        let is_later = other.last_seen_ms >= self.last_seen_ms;
        self.last_seen_ms = self.last_seen_ms.max(other.last_seen_ms);
        for (own, theirs) in [
            (&mut self.phase, other.phase),
            (&mut self.vitality, other.vitality),
            (&mut self.sustainability, other.sustainability),
        ] {
            if own.is_none() || (is_later && theirs.is_some()) {
                *own = theirs;
            }
        }
    }
}

/// What a receipt was added to.
#[derive(Debug, Clone, Copy)]
pub struct RolledReceipt {
    /// Number of its group in [`RollUp::groups`].
    pub group: usize,
    /// Its cost to the payer in 10⁻⁶ USD.
    pub cost: u64,
}

/// What the receipts of a step add to the rows of a store.
#[derive(Debug, Default)]
pub struct RollUp {
    groups: ReceiptGroups,
    golems: BTreeMap<(String, String), GolemSeen>,
}

impl RollUp {
    /// Adds a receipt.
    pub fn add(&mut self, receipt: &ReceiptColumns<'_>) -> RolledReceipt {
        let json = receipt.unread_json();
        let text = TextFacts::of(receipt, &json);
        if let Some(golem) = name(text.golem.as_deref()) {
            self.see(receipt, &text, golem);
        }
        let figures = receipt.figures(&text);
        let (group, sum) = self.groups.figures(names(receipt, &text));
        sum.add(&figures);
        let cost = figures.count(Figure::Cost);
        RolledReceipt { group, cost }
    }

    /// Takes a receipt out that was added before, in this step or in an earlier one.
    pub fn take_out(&mut self, receipt: &ReceiptColumns<'_>) -> RolledReceipt {
        let json = receipt.unread_json();
        let text = TextFacts::of(receipt, &json);
        let figures = receipt.figures(&text);
        let (group, sum) = self.groups.figures(names(receipt, &text));
        sum.subtract(&figures);
        let cost = figures.count(Figure::Cost);
        RolledReceipt { group, cost }
    }

    fn see(&mut self, receipt: &ReceiptColumns<'_>, text: &TextFacts<'_>, golem: &str) {
        let seen = GolemSeen {
            account: receipt.account.to_owned(),
            golem: golem.to_owned(),
            first_seen_ms: receipt.at_ms,
            last_seen_ms: receipt.at_ms,
            phase: name(text.phase.as_deref()).map(str::to_owned),
            vitality: text.vitality.as_deref().map(str::to_owned),
            sustainability: text.sustainability.as_deref().map(str::to_owned),
        };
        let place = (seen.account.clone(), seen.golem.clone());
        match self.golems.entry(place) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(seen);
            }
            std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().merge(seen),
        }
    }

    /// Number of groups of receipts with the same names in the same minute.
    #[must_use]
    pub fn groups_len(&self) -> usize {
        self.groups.all().len()
    }

    /// The names of the groups, by their numbers.
    pub fn groups(&self) -> impl Iterator<Item = GroupNames<&str>> {
        self.groups.all().iter().map(|group| group.names())
    }

    /// Rows to be added to those of the store, in their order; none from before `keep`.
    #[must_use]
    pub fn rows(&self, keep: SeriesKeep) -> Vec<(SeriesPlace, SeriesFigures)> {
        let mut all = BTreeMap::<u64, BucketSplits<'_>>::new();
        // By hour, since rows of single accounts are not kept per minute.
        let mut accounts = BTreeMap::<(u64, &str), BucketSplits<'_>>::new();
        for group in self.groups.all() {
            let (names, places) = (group.names(), group.figures.places());
            let minute = all.entry(names.minute_ms).or_default();
            minute.add_all(&names, &places);
            let hour = Resolution::Hour.start(names.minute_ms);
            let own = accounts.entry((hour, names.account)).or_default();
            own.add_own(&names, &places);
        }
        let mut rows = BTreeMap::new();
        for (at_ms, minute) in &all {
            for resolution in Resolution::ALL {
                put(&mut rows, keep, (resolution, *at_ms, ""), minute);
            }
        }
        for ((at_ms, account), hour) in &accounts {
            for resolution in [Resolution::Hour, Resolution::Day] {
                put(&mut rows, keep, (resolution, *at_ms, account), hour);
            }
        }
        rows.retain(|_, figures| !figures.is_empty());
        rows.into_iter().collect()
    }

    /// Agents that were seen.
    pub fn golems(&self) -> impl Iterator<Item = &GolemSeen> {
        self.golems.values()
    }
}

/// Adds the figures of a bucket to its rows.
fn put(
    rows: &mut BTreeMap<SeriesPlace, SeriesFigures>,
    keep: SeriesKeep,
    (resolution, at_ms, account): (Resolution, u64, &str),
    splits: &BucketSplits<'_>,
) {
    let starts_at_ms = resolution.start(at_ms);
    if starts_at_ms < keep.from_ms(resolution) {
        return;
    }
    for (dimension, name, figures) in splits.each() {
        let place = SeriesPlace {
            resolution,
            starts_at_ms,
            dimension,
            account: account.to_owned(),
            name: name.map_or(SeriesName::Unnamed, |name| {
                SeriesName::Named(name.to_owned())
            }),
        };
        rows.entry(place).or_default().add(figures);
    }
}

/// The group of a receipt.
fn names<'a>(receipt: &ReceiptColumns<'a>, text: &'a TextFacts<'_>) -> GroupNames<&'a str> {
    GroupNames {
        minute_ms: Resolution::Minute.start(receipt.at_ms),
        account: receipt.account,
        key: receipt.key,
        model: receipt.model,
        backend: receipt.backend,
        subsystem: receipt.subsystem,
        session: receipt.session,
        outcome: receipt.outcome,
        golem: name(text.golem.as_deref()),
        layer: name(text.layer.as_deref()),
        error: receipt.error(text),
    }
}

/// Figures of one minute, or of one account in an hour, by dimension and name.
#[derive(Default)]
struct BucketSplits<'a>([HashMap<Option<Cow<'a, str>>, SeriesFigures>; SeriesDimension::ALL.len()]);

impl<'a> BucketSplits<'a> {
    fn add_all(&mut self, names: &GroupNames<&'a str>, places: &[(usize, i64)]) {
        self.add_named(names, places);
        self.add(SeriesDimension::Account, Some(names.account), places);
        self.add(SeriesDimension::Layer, names.layer, places);
        if names.error.is_some() {
            self.add(SeriesDimension::Error, names.error, places);
        }
    }

    fn add_own(&mut self, names: &GroupNames<&'a str>, places: &[(usize, i64)]) {
        self.add_named(names, places);
        if let Some(golem) = names.golem {
            let pair = pair(golem, name(names.subsystem));
            let split = &mut self.0[SeriesDimension::GolemSubsystem as usize];
            let sum = split.entry(Some(Cow::Owned(pair))).or_default();
            sum.add_places(places);
        }
    }

    fn add_named(&mut self, names: &GroupNames<&'a str>, places: &[(usize, i64)]) {
        for (dimension, name) in [
            (SeriesDimension::Total, None),
            (SeriesDimension::Backend, name(Some(names.backend))),
            (SeriesDimension::Model, name(Some(names.model))),
            (SeriesDimension::Key, names.key),
            (SeriesDimension::Subsystem, name(names.subsystem)),
            (SeriesDimension::Golem, names.golem),
            (SeriesDimension::Session, name(names.session)),
        ] {
            self.add(dimension, name, places);
        }
    }

    fn add(&mut self, dimension: SeriesDimension, name: Option<&'a str>, places: &[(usize, i64)]) {
        let split = &mut self.0[dimension as usize];
        let sum = split.entry(name.map(Cow::Borrowed)).or_default();
        sum.add_places(places);
    }

    fn each(&self) -> impl Iterator<Item = (SeriesDimension, Option<&str>, &SeriesFigures)> {
        let splits = SeriesDimension::ALL.into_iter().zip(&self.0);
        splits.flat_map(|(dimension, split)| {
            let names = split.iter();
            names.map(move |(name, figures)| (dimension, name.as_deref(), figures))
        })
    }
}
