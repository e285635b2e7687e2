//! Receipts added up into the rows of one step.

use std::collections::{BTreeMap, HashMap};

use super::facts::ReceiptFacts;
use super::figures::SeriesFigures;
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

type Split = HashMap<Option<String>, SeriesFigures>;

/// Figures of receipts, per minute and account, before they become rows.
#[derive(Debug, Default)]
struct MinuteFigures {
    splits: HashMap<SeriesDimension, Split>,
}

impl MinuteFigures {
    fn note(&mut self, dimension: SeriesDimension, name: Option<&str>, change: FigureChange<'_>) {
        let split = self.splits.entry(dimension).or_default();
        // A name is copied when it is first seen, not for each receipt.
        let key = name.map(str::to_owned);
        change.apply(split.entry(key).or_default());
    }
}

/// Figures that are added or taken out.
#[derive(Clone, Copy)]
struct FigureChange<'a> {
    /// The places of the figures that change, and by how much.
    places: &'a [(usize, i64)],
    is_taken_out: bool,
}

impl FigureChange<'_> {
    fn apply(self, sum: &mut SeriesFigures) {
        match self.is_taken_out {
            false => sum.add_places(self.places),
            true => sum.subtract_places(self.places),
        }
    }
}

/// What the receipts of a step add to the rows of a store.
#[derive(Debug)]
pub struct RollUp {
    keep: SeriesKeep,
    all: HashMap<u64, MinuteFigures>,
    /// By the start of the hour, since rows of single accounts are not kept per minute.
    accounts: HashMap<(u64, String), MinuteFigures>,
    golems: BTreeMap<(String, String), GolemSeen>,
}

impl RollUp {
    /// A step that makes no rows from before `keep`.
    #[must_use]
    pub fn new(keep: SeriesKeep) -> Self {
        Self {
            keep,
            all: HashMap::new(),
            accounts: HashMap::new(),
            golems: BTreeMap::new(),
        }
    }

    /// Adds a receipt.
    pub fn add(&mut self, facts: &ReceiptFacts) {
        self.change(facts, false);
        let Some(golem) = &facts.golem else {
            return;
        };
        let seen = GolemSeen {
            account: facts.account.clone(),
            golem: golem.clone(),
            first_seen_ms: facts.at_ms,
            last_seen_ms: facts.at_ms,
            phase: facts.phase.clone(),
            vitality: facts.vitality.clone(),
            sustainability: facts.sustainability.clone(),
        };
        match self
            .golems
            .entry((seen.account.clone(), seen.golem.clone()))
        {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(seen);
            }
            std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().merge(seen),
        }
    }

    /// Takes a receipt out that was added before, in this step or in an earlier one.
    pub fn take_out(&mut self, facts: &ReceiptFacts) {
        self.change(facts, true);
    }

    fn change(&mut self, facts: &ReceiptFacts, is_taken_out: bool) {
        use SeriesDimension::{
            Account, Backend, Error, Golem, GolemSubsystem, Key, Layer, Model, Session, Subsystem,
            Total,
        };
        let change = FigureChange {
            places: &facts.figures.places(),
            is_taken_out,
        };
        let named = [
            (Total, None),
            (Backend, facts.backend.as_deref()),
            (Model, facts.model.as_deref()),
            (Key, facts.key.as_deref()),
            (Subsystem, facts.subsystem.as_deref()),
            (Golem, facts.golem.as_deref()),
            (Session, facts.session.as_deref()),
        ];
        let minute = self
            .all
            .entry(Resolution::Minute.start(facts.at_ms))
            .or_default();
        for (dimension, name) in named {
            minute.note(dimension, name, change);
        }
        minute.note(Account, Some(&facts.account), change);
        minute.note(Layer, facts.layer.as_deref(), change);
        if facts.error.is_some() {
            minute.note(Error, facts.error.as_deref(), change);
        }
        let hour = Resolution::Hour.start(facts.at_ms);
        let own = self.accounts.entry((hour, facts.account.clone()));
        let own = own.or_default();
        for (dimension, name) in named {
            own.note(dimension, name, change);
        }
        if let Some(golem) = &facts.golem {
            let name = pair(golem, facts.subsystem.as_deref());
            own.note(GolemSubsystem, Some(&name), change);
        }
    }

    /// Rows to be added to those of the store, in their order.
    #[must_use]
    pub fn rows(&self) -> Vec<(SeriesPlace, SeriesFigures)> {
        let mut rows = BTreeMap::<SeriesPlace, SeriesFigures>::new();
        let mut put = |resolution: Resolution, at_ms, account: &str, minute: &MinuteFigures| {
            let starts_at_ms = resolution.start(at_ms);
            if starts_at_ms < self.keep.from_ms(resolution) {
                return;
            }
            for (dimension, split) in &minute.splits {
                for (name, figures) in split {
                    let name = name.as_ref().map(|name| SeriesName::Named(name.clone()));
                    let key = SeriesPlace {
                        resolution,
                        starts_at_ms,
                        dimension: *dimension,
                        account: account.to_owned(),
                        name: name.unwrap_or(SeriesName::Unnamed),
                    };
                    rows.entry(key).or_default().add(figures);
                }
            }
        };
        for (at_ms, minute) in &self.all {
            for resolution in Resolution::ALL {
                put(resolution, *at_ms, "", minute);
            }
        }
        for ((at_ms, account), hour) in &self.accounts {
            for resolution in [Resolution::Hour, Resolution::Day] {
                put(resolution, *at_ms, account, hour);
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
