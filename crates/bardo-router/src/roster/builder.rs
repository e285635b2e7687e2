//! The builder of a [`Roster`].

use std::sync::Arc;

use bardo_types::model::{ModelEntry, Price, Service};
use hashbrown::{HashMap, HashSet};

use super::naming::spelled;
use super::{BackendModels, BackendSpec, Candidate, Pricing, Roster, is_maker};
use crate::catalog::Catalog;
use crate::name::normalize;
use crate::rated::{CandidatePool, RatedCandidate, Terms};
use crate::services;

/// Collects what a [`Roster`] is made of.
#[derive(Debug)]
pub struct RosterBuilder {
    catalog: Arc<Catalog>,
    backends: Vec<(BackendSpec, BackendModels, Option<Price>)>,
    terms: Vec<Terms>,
    aliases: HashMap<String, String>,
}

impl RosterBuilder {
    /// Starts from a catalog.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            backends: Vec::new(),
            terms: Vec::new(),
            aliases: HashMap::new(),
        }
    }

    /// Adds a backend behind those already there in the owner's order.
    /// `price` is the owner's own and wins over any list.
    pub fn backend(
        &mut self,
        spec: BackendSpec,
        models: BackendModels,
        price: Option<Price>,
    ) -> &mut Self {
        self.backends.push((spec, models, price));
        self.terms.push(Terms::default());
        self
    }

    /// Says more of the backend that was added last.
    pub fn terms(&mut self, terms: Terms) -> &mut Self {
        if let Some(last) = self.terms.last_mut() {
            *last = terms;
        }
        self
    }

    /// Adds a name of the owner's own for a model.
    pub fn alias(&mut self, name: String, model: String) -> &mut Self {
        self.aliases.insert(name, model);
        self
    }

    /// Makes the roster.
    #[must_use]
    pub fn build(self) -> Roster {
        let mut roster = Roster {
            specs: Vec::new(),
            pricing: Vec::new(),
            by_name: HashMap::new(),
            open: Vec::new(),
            aliases: self.aliases,
            makers: HashSet::new(),
            listed: Vec::new(),
            offered: Vec::new(),
            written: Vec::new(),
            catalog: self.catalog,
            terms: self.terms,
            pool: CandidatePool::default(),
        };
        for (index, (spec, models, price)) in self.backends.into_iter().enumerate() {
            // OpenRouter has hundreds of models: until it has listed them, any name may be one.
            let unlisted = matches!(models, BackendModels::Snapshot)
                && spec.service == Service::OpenRouter
                && spec.filter.is_open();
            let pricing = Pricing {
                own: price,
                tells: matches!(models, BackendModels::Live(_)) && !is_maker(spec.service),
            };
            // The price of a server of the owner's, or of a vendor before its list is there, is the
            // catalog's guess at best.
            let tells_prices = pricing.tells && spec.service != Service::Local;
            let mut entries: Vec<Arc<ModelEntry>> = roster
                .entries(&spec, models, pricing)
                .into_iter()
                .map(|mut entry| {
                    if !tells_prices && !super::sells_as_maker(&spec, &entry.vendor) {
                        entry.price = None;
                    }
                    entry.price = price.or(entry.price);
                    roster.catalog.overrule(&spec.name, &mut entry);
                    Arc::new(entry)
                })
                .collect();
            for entry in &entries {
                if !roster.listed.iter().any(|listed| listed.id == entry.id) {
                    roster.listed.push(Arc::clone(entry));
                }
            }
            // Which of two rows of one name is meant must not depend on the order of the list.
            entries.sort_by(|a, b| {
                let key = |entry: &ModelEntry| (entry.upstream_id.len(), entry.created);
                (key(a), &a.upstream_id, &a.id).cmp(&(key(b), &b.upstream_id, &b.id))
            });
            for entry in entries {
                let candidate = Candidate {
                    backend: index,
                    entry: Arc::clone(&entry),
                };
                let row = services::row(spec.service);
                roster.offered.push(candidate.clone());
                roster
                    .pool
                    .add(RatedCandidate::new(candidate, row, roster.terms[index]));
                // Ollama means `name:latest` by a name without a tag.
                let plain = entry.upstream_id.strip_suffix(":latest");
                let plain = plain.filter(|_| spec.service == Service::Local);
                let plain = plain.map(str::to_owned);
                roster.add(index, entry, plain);
            }
            if spec.filter.has_wildcard() || unlisted {
                roster.open.push(index);
            }
            roster.note_makers(&spec);
            roster.note_dated(index, &spec);
            roster.specs.push(spec);
            roster.pricing.push(pricing);
        }
        roster.pool.finish();
        roster.name_successors();
        roster
    }
}

impl Roster {
    fn entries(
        &self,
        spec: &BackendSpec,
        models: BackendModels,
        pricing: Pricing,
    ) -> Vec<ModelEntry> {
        let mut entries: Vec<ModelEntry> = match models {
            BackendModels::Live(live) => live,
            BackendModels::Snapshot => match spec.service {
                Service::OpenAi | Service::Anthropic | Service::Google | Service::DeepSeek => self
                    .catalog
                    .models()
                    .filter(|known| known.vendor == spec.service.as_str())
                    .map(|known| known.entry(&known.id))
                    .collect(),
                Service::OpenRouter | Service::Venice | Service::Bankr | Service::BlockRun => self
                    .catalog
                    .resold_by(spec.service)
                    .iter()
                    .map(|resold| self.catalog.resold_entry(resold))
                    .collect(),
                Service::Compatible => self
                    .catalog
                    .models()
                    .filter(|known| super::sells_as_maker(spec, &known.vendor))
                    .map(|known| known.entry(&known.id))
                    .collect(),
                Service::Local => Vec::new(),
            },
        };
        for declared in self.catalog.declared(&spec.name) {
            let same = |entry: &ModelEntry| {
                normalize(&entry.upstream_id) == normalize(&declared.upstream_id)
            };
            if !entries.iter().any(same) {
                entries.push(declared);
            }
        }
        entries.retain(|entry| {
            spec.filter.admits(&entry.id) || spec.filter.admits(&entry.upstream_id)
        });
        // A name the owner wrote is served whether or not anybody lists it.
        for name in spec.filter.exact() {
            let normal = normalize(name);
            match entries.iter_mut().find(|entry| {
                normalize(&entry.upstream_id) == normal || normalize(&entry.id) == normal
            }) {
                Some(entry) if !matches!(spec.service, Service::OpenRouter | Service::BlockRun) => {
                    entry.upstream_id = name.to_owned();
                }
                Some(_) => {}
                None => {
                    let known = self.catalog.describe(name);
                    entries.push(ModelEntry {
                        id: name.to_owned(),
                        price: pricing.unlisted(known.price),
                        ..known.entry(name)
                    });
                }
            }
        }
        entries
    }

    /// Lets names that nobody serves any more stand for what their makers recommend today.
    fn name_successors(&mut self) {
        for (id, now) in self.catalog.successors() {
            if self.find(id).is_none() && self.find(now).is_some() {
                self.aliases
                    .entry(id.clone())
                    .or_insert_with(|| now.clone());
            }
        }
    }

    /// Registers the part before a slash in the owner's names.
    fn note_makers(&mut self, spec: &BackendSpec) {
        let written = spec.filter.0.iter();
        let makers = written.filter_map(|pattern| pattern.split_once('/'));
        self.makers
            .extend(makers.map(|(maker, _)| maker.to_owned()));
    }

    /// A dated name that the owner wrote is listed as written, besides.
    fn note_dated(&mut self, backend: usize, spec: &BackendSpec) {
        let is_known = |roster: &Self, name: &str| roster.shown().any(|entry| entry.id == name);
        for name in spec.filter.exact() {
            let last = name.rsplit('/').next().unwrap_or(name);
            if is_known(self, name) || spelled(last) == normalize(name) {
                continue;
            }
            let mut found = self.find(name).into_iter().flatten();
            let entry = found
                .find(|candidate| candidate.backend == backend)
                .map(|candidate| ModelEntry {
                    id: name.to_owned(),
                    ..ModelEntry::clone(&candidate.entry)
                });
            self.written.extend(entry.map(Arc::new));
        }
    }

    fn add(&mut self, backend: usize, entry: Arc<ModelEntry>, other_name: Option<String>) {
        let mut names = vec![
            entry.id.clone(),
            entry.upstream_id.clone(),
            normalize(&entry.id),
            normalize(&entry.upstream_id),
        ];
        if let Some(known) = self.catalog.find(&entry.id) {
            names.push(normalize(&known.id));
        }
        if let Some(name) = other_name {
            names.push(normalize(&name));
            names.push(name);
        }
        for name in [&entry.id, &entry.upstream_id] {
            // `local/` is also how a request names the backend of the owner's server.
            if let Some((maker, _)) = name.split_once('/')
                && maker != Service::Local.as_str()
            {
                self.makers.insert(maker.to_owned());
            }
        }
        names.sort();
        names.dedup();
        for name in names {
            let candidates = self.by_name.entry(name).or_default();
            if !candidates
                .iter()
                .any(|candidate| candidate.backend == backend)
            {
                candidates.push(Candidate {
                    backend,
                    entry: Arc::clone(&entry),
                });
            }
        }
    }
}
