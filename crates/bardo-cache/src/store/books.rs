//! Which entries there are, by tenant, age and tag.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use bardo_types::ids::AccountId;
use hashbrown::{DefaultHashBuilder, HashMap};

use super::stats::CacheCounters;
use crate::entry::CachedAnswer;
use crate::key::Key;
use crate::scope::Namespace;
use crate::tags::{CacheTag, Tags};
use crate::ttl::AnswerKind;

/// What to remove. Without a tenant an operator's flush reaches all tenants; a tenant's own flush
/// always names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flush {
    /// Removes the entries of all tenants.
    All,
    /// All entries that a tenant paid for.
    Tenant(AccountId),
    /// The entries of one namespace that a tenant paid for: one agent, one clade.
    Namespace(AccountId, Namespace),
    /// The entries that depend on something.
    Tag(Option<AccountId>, CacheTag),
    /// The entries whose lifetime depends on the regime.
    Market(Option<AccountId>),
    /// Those of them in one namespace that a tenant paid for.
    MarketIn(AccountId, Namespace),
    /// The entries of one namespace that a tenant paid for and whose prompt has the playbook of this
    /// digest.
    PlaybookIn(AccountId, Namespace, Arc<str>),
}

/// What decides whether a flush reaches an answer.
#[derive(Debug, Clone, Copy)]
pub struct FlushSubject<'a> {
    /// Account that paid for the answer.
    pub tenant: &'a AccountId,
    /// Partition of the answer.
    pub namespace: &'a Namespace,
    /// What its lifetime depends on.
    pub kind: AnswerKind,
    /// What it depends on.
    pub tags: &'a Tags,
}

impl<'a> FlushSubject<'a> {
    /// What decides whether a flush reaches an entry.
    #[must_use]
    pub fn of(entry: &'a CachedAnswer) -> Self {
        Self {
            tenant: &entry.tenant,
            namespace: &entry.namespace,
            kind: entry.kind,
            tags: &entry.tags,
        }
    }
}

impl Flush {
    /// The tenant whose entries are meant; `None`: those of all.
    #[must_use]
    pub const fn tenant(&self) -> Option<&AccountId> {
        match self {
            Self::All => None,
            Self::Tenant(tenant)
            | Self::Namespace(tenant, _)
            | Self::MarketIn(tenant, _)
            | Self::PlaybookIn(tenant, ..) => Some(tenant),
            Self::Tag(tenant, _) | Self::Market(tenant) => tenant.as_ref(),
        }
    }

    /// Whether an answer would be removed if it were stored.
    #[must_use]
    pub fn reaches(&self, answer: &FlushSubject<'_>) -> bool {
        if self.tenant().is_some_and(|tenant| tenant != answer.tenant) {
            return false;
        }
        let is_market = answer.kind == AnswerKind::Market;
        match self {
            Self::All | Self::Tenant(_) => true,
            Self::Namespace(_, space) => space == answer.namespace,
            Self::Tag(_, tag) => {
                let found_by = tag.found_by();
                answer
                    .tags
                    .each()
                    .any(|tag| found_by.contains(&tag.normal()))
            }
            Self::Market(_) => is_market,
            Self::MarketIn(_, space) => is_market && space == answer.namespace,
            Self::PlaybookIn(_, space, digest) => {
                space == answer.namespace && answer.tags.playbook.as_ref() == Some(digest)
            }
        }
    }
}

/// Tenants without entries whose counts are still remembered.
const IDLE_TENANTS: usize = 4_096;
/// How many entries may be spared for having been hit, each time that room is made.
const SPARED: usize = 16;

#[derive(Default)]
pub(super) struct EntryIndex {
    tenants: HashMap<AccountId, Tenant>,
    /// Tenants by the size class of their bytes, for the largest. Few entries change the class.
    by_size: BTreeSet<(u64, AccountId)>,
    bytes: u64,
    next: u64,
    hasher: DefaultHashBuilder,
}

#[derive(Default)]
struct Tenant {
    bytes: u64,
    /// Keys by age, the oldest first.
    by_age: BTreeMap<u64, Key>,
    /// Ages of the entries of each group. Ages grow, so an entry is added beside the last one.
    groups: HashMap<u64, BTreeSet<u64>>,
    counters: Arc<CacheCounters>,
}

/// An entry's place in the books.
#[derive(Clone)]
pub(super) struct IndexPlace {
    pub(super) age: u64,
    pub(super) bytes: u64,
    pub(super) counters: Arc<CacheCounters>,
}

impl EntryIndex {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn add(&mut self, entry: &CachedAnswer) -> IndexPlace {
        let bytes = entry.bytes() as u64;
        let age = self.next;
        self.next += 1;
        let tenant = self.tenants.entry(entry.tenant.clone()).or_default();
        tenant.by_age.insert(age, entry.key);
        for group in groups_of(&self.hasher, entry) {
            tenant.groups.entry(group).or_default().insert(age);
        }
        let counters = Arc::clone(&tenant.counters);
        let held = tenant.bytes + bytes;
        tenant.resize(&entry.tenant, held, &mut self.by_size);
        self.bytes += bytes;
        IndexPlace {
            age,
            bytes,
            counters,
        }
    }

    pub(super) fn remove(&mut self, entry: &CachedAnswer, place: &IndexPlace) {
        let Some(tenant) = self.tenants.get_mut(&entry.tenant) else {
            return;
        };
        if tenant.by_age.remove(&place.age).is_none() {
            return;
        }
        for group in groups_of(&self.hasher, entry) {
            if let Some(ages) = tenant.groups.get_mut(&group) {
                ages.remove(&place.age);
                if ages.is_empty() {
                    tenant.groups.remove(&group);
                }
            }
        }
        let held = tenant.bytes - place.bytes;
        tenant.resize(&entry.tenant, held, &mut self.by_size);
        self.bytes -= place.bytes;
        self.forget_idle();
    }

    fn forget_idle(&mut self) {
        if self.tenants.len() > self.by_size.len() + IDLE_TENANTS {
            self.tenants.retain(|_, tenant| tenant.bytes > 0);
        }
    }

    /// The oldest key of the tenant that has to give way before an entry of `wanting` gets room:
    /// the largest tenant above `share`, or `wanting` itself where the entry would lift it above.
    /// `None` where all keep to their shares, or only one tenant has entries.
    pub(super) fn gives_way(&self, wanting: &AccountId, bytes: u64, share: u64) -> Option<Key> {
        let others = self.by_size.iter().any(|(_, name)| name != wanting);
        if !others {
            return None;
        }
        let own = self.tenants.get(wanting);
        let is_above = |own: &&Tenant| own.bytes > 0 && own.bytes + bytes > share;
        let giver = own.filter(is_above).or_else(|| self.largest_above(share))?;
        let (_, key) = giver.by_age.first_key_value()?;
        Some(*key)
    }

    /// The largest tenant, if it has more than `share`.
    fn largest_above(&self, share: u64) -> Option<&Tenant> {
        let (top, _) = self.by_size.last()?;
        if *top < size_class(share) {
            return None;
        }
        // Few have about as much as a share.
        let largest = self
            .by_size
            .iter()
            .rev()
            .take_while(|(class, _)| class == top);
        largest
            .filter_map(|(_, name)| self.tenants.get(name))
            .max_by_key(|tenant| tenant.bytes)
            .filter(|tenant| tenant.bytes > share)
    }

    /// Moves an entry to the young end, as one that was hit since.
    pub(super) fn spare(&mut self, entry: &CachedAnswer, place: &mut IndexPlace) {
        let young = self.next;
        if let Some(tenant) = self.tenants.get_mut(&entry.tenant)
            && let Some(key) = tenant.by_age.remove(&place.age)
        {
            tenant.by_age.insert(young, key);
            for group in groups_of(&self.hasher, entry) {
                if let Some(ages) = tenant.groups.get_mut(&group) {
                    ages.remove(&place.age);
                    ages.insert(young);
                }
            }
            place.age = young;
            self.next += 1;
        }
    }

    pub(super) const fn spared_most() -> usize {
        SPARED
    }

    pub(super) fn keys(&self, flush: &Flush) -> Vec<Key> {
        let named = |name: &AccountId| self.tenants.get(name).into_iter();
        match flush {
            Flush::All => self.tenants.values().flat_map(Tenant::keys).collect(),
            Flush::Tenant(name) => named(name).flat_map(Tenant::keys).collect(),
            Flush::Namespace(name, space) => {
                let group = self.hasher.hash_one(space);
                named(name).flat_map(|tenant| tenant.group(group)).collect()
            }
            Flush::Tag(name, tag) => tag
                .found_by()
                .iter()
                .flat_map(|tag| self.grouped(name.as_ref(), self.hasher.hash_one(tag)))
                .collect(),
            Flush::Market(name) => {
                self.grouped(name.as_ref(), self.hasher.hash_one(AnswerKind::Market))
            }
            Flush::MarketIn(name, space) => {
                let market = self.hasher.hash_one(AnswerKind::Market);
                self.grouped_in(name, market, space)
            }
            Flush::PlaybookIn(name, space, digest) => {
                let tag = CacheTag::Playbook(Arc::clone(digest)).normal();
                self.grouped_in(name, self.hasher.hash_one(tag), space)
            }
        }
    }

    /// Keys of a tenant's entries in one namespace that are of a group too.
    fn grouped_in(&self, name: &AccountId, group: u64, space: &Namespace) -> Vec<Key> {
        let Some(tenant) = self.tenants.get(name) else {
            return Vec::new();
        };
        let space = tenant.groups.get(&self.hasher.hash_one(space));
        let both = tenant.groups.get(&group).zip(space).into_iter();
        both.flat_map(|(group, space)| group.intersection(space))
            .filter_map(|age| tenant.by_age.get(age).copied())
            .collect()
    }

    fn grouped(&self, name: Option<&AccountId>, group: u64) -> Vec<Key> {
        match name {
            Some(name) => {
                let tenant = self.tenants.get(name).into_iter();
                tenant.flat_map(|tenant| tenant.group(group)).collect()
            }
            None => {
                let tenants = self.tenants.values();
                tenants.flat_map(|tenant| tenant.group(group)).collect()
            }
        }
    }

    /// The counts of a tenant, which begin with the first thing that is counted.
    pub(super) fn counters(&mut self, name: &AccountId) -> Arc<CacheCounters> {
        if let Some(known) = self.counters_known(name) {
            return known;
        }
        self.forget_idle();
        let tenant = self.tenants.entry(name.clone()).or_default();
        Arc::clone(&tenant.counters)
    }

    /// The counts of a tenant of which something was counted.
    pub(super) fn counters_known(&self, name: &AccountId) -> Option<Arc<CacheCounters>> {
        Some(Arc::clone(&self.tenants.get(name)?.counters))
    }

    /// Entries and bytes of a tenant.
    pub(super) fn holds(&self, name: &AccountId) -> (u64, u64) {
        self.tenants
            .get(name)
            .map_or((0, 0), |own| (own.by_age.len() as u64, own.bytes))
    }

    /// Tenants that have entries, the largest first.
    pub(super) fn tenants(&self) -> Vec<AccountId> {
        let mut tenants: Vec<_> = self.tenants.iter().collect();
        tenants.retain(|(_, tenant)| tenant.bytes > 0);
        tenants.sort_by(|(a, one), (b, other)| (other.bytes, b).cmp(&(one.bytes, a)));
        tenants.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

/// The groups that a flush finds an entry by.
fn groups_of(hasher: &DefaultHashBuilder, entry: &CachedAnswer) -> impl Iterator<Item = u64> {
    let market = (entry.kind == AnswerKind::Market).then(|| hasher.hash_one(AnswerKind::Market));
    let tags = entry.tags.each().map(|tag| hasher.hash_one(tag.normal()));
    std::iter::once(hasher.hash_one(entry.namespace))
        .chain(market)
        .chain(tags)
}

/// The highest four bits of a number of bytes, so that those of a class differ by an eighth at most.
fn size_class(bytes: u64) -> u64 {
    let rest = bytes.checked_ilog2().unwrap_or(0).saturating_sub(3);
    bytes >> rest << rest
}

impl Tenant {
    /// Sets the bytes of the tenant `name`, and its place among all by size.
    fn resize(&mut self, name: &AccountId, bytes: u64, by_size: &mut BTreeSet<(u64, AccountId)>) {
        let (before, after) = (size_class(self.bytes), size_class(bytes));
        self.bytes = bytes;
        if before == after {
            return;
        }
        by_size.remove(&(before, name.clone()));
        if after > 0 {
            by_size.insert((after, name.clone()));
        }
    }

    fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.by_age.values().copied()
    }

    fn group(&self, group: u64) -> impl Iterator<Item = Key> + '_ {
        let ages = self.groups.get(&group).into_iter().flatten();
        ages.filter_map(|age| self.by_age.get(age).copied())
    }
}
