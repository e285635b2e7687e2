//! Searches of receipts over all accounts.

use bardo_types::money::MicroUsd;

use super::facts::ReceiptFacts;
use super::groups::GroupNames;
use crate::command::ReceiptRecord;
use crate::receipts::{Cursor, ReceiptFilter};

/// Receipts that a search covers, and the page of them that is asked for. A member that is `None`
/// excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct ReceiptSearch {
    /// Time and the names that columns have.
    pub filter: ReceiptFilter,
    /// Id of the agent.
    pub golem: Option<String>,
    /// Part of the answer cache: `hash`, `semantic`, `miss` or `bypass`.
    pub layer: Option<String>,
    /// Smallest cost to the payer.
    pub min_cost: Option<MicroUsd>,
    /// Beginning of the id of the request.
    pub request_prefix: Option<String>,
    /// The last receipt of the page before.
    pub after: Option<Cursor>,
    /// Largest number of receipts in the answer.
    pub limit: u32,
}

/// A page of receipts, the latest first.
#[derive(Debug, Clone, Default)]
pub struct FoundReceipts {
    /// Receipts of the page in their order.
    pub records: Vec<ReceiptRecord>,
    /// Whether receipts from before the store had its indexes wait for them, and may be missing.
    pub is_partial: bool,
}

impl ReceiptSearch {
    /// Whether a receipt is covered, its place in the list apart.
    #[must_use]
    pub fn covers(&self, record: &ReceiptRecord) -> bool {
        let named = self.request_prefix.as_deref();
        if !self.filter.covers(record)
            || named.is_some_and(|prefix| !record.request.as_str().starts_with(prefix))
        {
            return false;
        }
        if self.golem.is_none() && self.layer.is_none() && self.min_cost.is_none() {
            return true;
        }
        let facts = ReceiptFacts::of(record);
        let is = |wanted: &Option<String>, found: &Option<String>| {
            wanted.is_none() || wanted.as_deref() == found.as_deref()
        };
        is(&self.golem, &facts.golem)
            && is(&self.layer, &facts.layer)
            && self
                .min_cost
                .is_none_or(|least| facts.cost() >= least.get())
    }

    /// Whether a receipt comes after the page before.
    #[must_use]
    pub fn is_after(&self, record: &ReceiptRecord) -> bool {
        let last = self.after.as_ref();
        last.is_none_or(|last| Cursor::of(record) < *last)
    }

    /// The facets and their names that every receipt in the answer has.
    #[must_use]
    pub fn facets(&self) -> Vec<(Facet, String)> {
        let filter = &self.filter;
        let key = filter.key.as_ref().map(ToString::to_string);
        let account = filter.account.as_ref().map(ToString::to_string);
        [
            (Facet::Account, account),
            (Facet::Key, key),
            (Facet::Model, filter.model.clone()),
            (Facet::Backend, filter.backend.clone()),
            (Facet::Subsystem, filter.subsystem.clone()),
            (Facet::Session, filter.session.clone()),
            (Facet::Outcome, filter.outcome.clone()),
            (Facet::Golem, self.golem.clone()),
            (Facet::Layer, self.layer.clone()),
        ]
        .into_iter()
        .filter_map(|(facet, name)| Some((facet, name?)))
        .collect()
    }
}

/// A thing by which receipts are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Facet {
    /// Account of the request.
    Account,
    /// Key of the request.
    Key,
    /// Model that was chosen.
    Model,
    /// Backend that answered.
    Backend,
    /// Subsystem that the caller named.
    Subsystem,
    /// Session that the caller named.
    Session,
    /// Outcome of the request.
    Outcome,
    /// Id of the agent.
    Golem,
    /// Part of the answer cache.
    Layer,
    /// Class of the cost to the payer, see [`cost_class`].
    Cost,
}

/// All facets, in the order of their codes.
const FACETS: [Facet; 10] = [
    Facet::Account,
    Facet::Key,
    Facet::Model,
    Facet::Backend,
    Facet::Subsystem,
    Facet::Session,
    Facet::Outcome,
    Facet::Golem,
    Facet::Layer,
    Facet::Cost,
];

impl Facet {
    /// Number that stores keep.
    #[must_use]
    pub fn code(self) -> i64 {
        let at = FACETS.iter().position(|one| *one == self);
        at.and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
    }

    /// The facets that all receipts of a group have, and their names.
    #[must_use]
    pub fn of<'a>(names: &GroupNames<&'a str>) -> Vec<(Self, &'a str)> {
        [
            (Self::Account, Some(names.account)),
            (Self::Key, names.key),
            (Self::Model, Some(names.model)),
            (Self::Backend, Some(names.backend)),
            (Self::Subsystem, names.subsystem),
            (Self::Session, names.session),
            (Self::Outcome, Some(names.outcome)),
            (Self::Golem, names.golem),
            (Self::Layer, names.layer),
        ]
        .into_iter()
        .filter_map(|(facet, name)| Some((facet, name?)))
        .collect()
    }
}

/// Class of a cost in 10⁻⁶ USD: 0 for nothing, else the number of its binary digits. A higher class
/// has higher costs alone.
#[must_use]
pub const fn cost_class(cost: u64) -> u32 {
    u64::BITS - cost.leading_zeros()
}
