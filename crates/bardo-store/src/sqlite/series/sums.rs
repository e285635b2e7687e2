//! Receipts added up before they become rows and places.

use std::collections::BTreeMap;

use bardo_ledger::series::{
    Facet, GolemSeen, ReceiptColumns, RollUp, RolledReceipt, SeriesFigures, SeriesKeep,
    SeriesPlace, cost_class,
};
use hashbrown::HashMap;

use super::places::Places;

/// Groups of names in a step: each makes up to 50 rows, if it shares no name with another.
const GROUPS_MAX: usize = 500;

/// Places of a block that are added and removed.
#[derive(Default)]
pub(super) struct PlaceChanges {
    pub(super) added: Places,
    pub(super) removed: Places,
}

impl PlaceChanges {
    fn add_all(&mut self, other: &Self) {
        self.added.add_all(&other.added);
        self.removed.add_all(&other.removed);
    }
}

/// Sums, places and times of receipts.
#[derive(Default)]
pub(super) struct StepSums {
    sums: RollUp,
    /// By the number of their group and their block.
    groups: HashMap<(usize, i64), PlaceChanges>,
    /// By block and class of cost.
    costs: HashMap<(i64, u32), PlaceChanges>,
    spans: HashMap<i64, (u64, u64)>,
    count: u64,
}

impl StepSums {
    pub(super) fn add(&mut self, no: i64, receipt: &ReceiptColumns<'_>) {
        let rolled = self.sums.add(receipt);
        let block = self.note(no, rolled, |change| &mut change.added);
        let span = self.spans.entry(block).or_insert((u64::MAX, 0));
        *span = (span.0.min(receipt.at_ms), span.1.max(receipt.at_ms));
        self.count += 1;
    }

    pub(super) fn take_out(&mut self, no: i64, receipt: &ReceiptColumns<'_>) {
        let rolled = self.sums.take_out(receipt);
        self.note(no, rolled, |change| &mut change.removed);
    }

    /// Changes the places of a receipt under all its names. Answers its block.
    fn note(
        &mut self,
        no: i64,
        rolled: RolledReceipt,
        side: impl Fn(&mut PlaceChanges) -> &mut Places,
    ) -> i64 {
        let (block, place) = Places::of(no);
        let change = self.groups.entry((rolled.group, block)).or_default();
        side(change).insert(place);
        let class = cost_class(rolled.cost);
        let change = self.costs.entry((block, class)).or_default();
        side(change).insert(place);
        block
    }

    /// Number of receipts that were added.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are so many receipts, or as many groups as the writer should write at once.
    pub(super) fn is_full(&self, room: u64) -> bool {
        self.count >= room || self.sums.groups_len() >= GROUPS_MAX
    }

    pub(super) fn rows(&self, keep: SeriesKeep) -> Vec<(SeriesPlace, SeriesFigures)> {
        self.sums.rows(keep)
    }

    pub(super) fn golems(&self) -> Vec<GolemSeen> {
        self.sums.golems().cloned().collect()
    }

    /// Changes of places by block, facet and name.
    pub(super) fn places(&self) -> BTreeMap<(i64, i64, String), PlaceChanges> {
        let mut places = BTreeMap::<_, PlaceChanges>::new();
        let facets: Vec<_> = self.sums.groups().map(|names| Facet::of(&names)).collect();
        for ((group, block), change) in &self.groups {
            for (facet, name) in &facets[*group] {
                let place = (*block, facet.code(), (*name).to_owned());
                places.entry(place).or_default().add_all(change);
            }
        }
        for ((block, class), change) in &self.costs {
            let place = (*block, Facet::Cost.code(), class.to_string());
            places.entry(place).or_default().add_all(change);
        }
        places
    }

    /// First and last time of the receipts of each block.
    pub(super) fn into_spans(self) -> HashMap<i64, (u64, u64)> {
        self.spans
    }
}
