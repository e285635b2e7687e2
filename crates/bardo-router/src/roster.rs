//! The models that the configured backends serve, with their names and prices.

mod builder;
mod naming;

use std::cmp::Reverse;
use std::sync::Arc;

use bardo_types::backend::BackendName;
use bardo_types::model::{ModelEntry, Price, Service, Tier};
use hashbrown::{HashMap, HashSet};

use crate::catalog::Catalog;
use crate::name::{normal_form, normalize};
use crate::rated::{CandidatePool, RatedCandidate, Terms};
use crate::services;

pub use self::builder::RosterBuilder;

/// Which models a backend is configured for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelFilter(Vec<String>);

impl ModelFilter {
    /// A filter over names; a trailing `*` matches any ending, an empty list is no filter.
    #[must_use]
    pub fn new(patterns: Vec<String>) -> Self {
        Self(patterns)
    }

    fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    fn has_wildcard(&self) -> bool {
        self.0.iter().any(|pattern| pattern.ends_with('*'))
    }

    fn exact(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .map(String::as_str)
            .filter(|pattern| !pattern.ends_with('*'))
    }

    fn admits(&self, name: &str) -> bool {
        let normal = normalize(name);
        self.is_open()
            || self
                .0
                .iter()
                .any(|pattern| match pattern.strip_suffix('*') {
                    // All of a vendor's (`qwen/*`) are told by the name as it is alone: without the
                    // vendor nothing of the pattern is left.
                    Some(prefix) => {
                        name.starts_with(prefix)
                            || !prefix.ends_with('/') && normal.starts_with(&normalize(prefix))
                    }
                    None => normalize(pattern) == normal,
                })
    }
}

/// One configured backend, as far as choosing goes.
#[derive(Debug, Clone)]
pub struct BackendSpec {
    /// Its name, e.g. `openrouter` or `direct/openai`; `<name>/<model>` pins it.
    pub name: String,
    /// Service behind the backend.
    pub service: Service,
    /// Use of the backend by configuration.
    pub filter: ModelFilter,
}

/// Where the list of a backend's models comes from.
#[derive(Debug, Clone)]
pub enum BackendModels {
    /// No live list yet: the snapshot and the filter decide.
    Snapshot,
    /// The backend's own list, as last fetched.
    Live(Vec<ModelEntry>),
}

/// One backend that can answer, and the model it would answer with.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Index of the backend in the owner's order.
    pub backend: usize,
    /// The model as that backend serves it.
    pub entry: Arc<ModelEntry>,
}

/// Why nobody can answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRoute {
    /// No configured backend has the model.
    #[error("{}", unknown_words(.model, .target.as_deref()))]
    UnknownModel {
        /// As the caller named it.
        model: String,
        /// The name that it is an alias of; `None`: it is no alias.
        target: Option<String>,
        /// The nearest name that is served.
        nearest: Option<String>,
    },
    /// The request pins a backend that is not configured.
    #[error("the backend `{backend}` is not configured")]
    UnknownBackend {
        /// The name in the pin.
        backend: String,
        /// The nearest name of a backend that is configured.
        nearest: Option<String>,
    },
    /// The part before the slash is neither a backend nor the maker of the model.
    #[error("{}", prefix_words(.model, .prefix, *.is_maker))]
    UnknownPrefix {
        /// As the caller named it.
        model: String,
        /// The part before the slash.
        prefix: String,
        /// Whether the prefix is a maker, but of other models.
        is_maker: bool,
        /// The nearest name that is served.
        nearest: Option<String>,
    },
}

fn unknown_words(model: &str, target: Option<&str>) -> String {
    match target {
        Some(target) => format!(
            "no configured backend serves the model `{target}`; `{model}` is an alias of it"
        ),
        None => format!("no configured backend serves the model `{model}`"),
    }
}

fn prefix_words(model: &str, prefix: &str, is_maker: bool) -> String {
    if is_maker {
        format!("`{prefix}` is not the maker of the model in `{model}`")
    } else {
        format!(
            "`{prefix}` in `{model}` is neither a configured backend nor a known maker of models"
        )
    }
}

/// The models that the configured backends serve, ready for look-up. Immutable: a refresh builds
/// a new one, so a request sees one world.
#[derive(Debug)]
pub struct Roster {
    specs: Vec<BackendSpec>,
    pricing: Vec<Pricing>,
    /// By raw and by spelling-free name; candidates in the owner's order.
    by_name: HashMap<String, Vec<Candidate>>,
    /// Backends that take any name.
    open: Vec<usize>,
    /// The owner's names of models.
    aliases: HashMap<String, String>,
    /// Parts before the slash in names of models, from lists and the owner.
    makers: HashSet<String>,
    /// Listed models in order, without repeats.
    listed: Vec<Arc<ModelEntry>>,
    /// Every model of every backend.
    offered: Vec<Candidate>,
    /// Models under the very names that the configuration has for them, where these say more than
    /// the models' own (`claude-opus-5-5-20260901`).
    written: Vec<Arc<ModelEntry>>,
    catalog: Arc<Catalog>,
    terms: Vec<Terms>,
    pub(crate) pool: CandidatePool,
}

/// Where the prices of one backend come from.
#[derive(Debug, Clone, Copy)]
struct Pricing {
    /// The owner's, which wins over any list.
    own: Option<Price>,
    /// The backend lists models with prices of its own.
    tells: bool,
}

impl Pricing {
    /// The price of a model that the backend does not list. One that tells its prices and leaves
    /// out this model has none for it, whatever the maker asks elsewhere.
    fn unlisted(self, makers: Option<Price>) -> Option<Price> {
        self.own.or(makers.filter(|_| !self.tells))
    }
}

/// Whether a service sells its own models, at the prices of the catalog.
fn is_maker(service: Service) -> bool {
    matches!(
        service,
        Service::OpenAi | Service::Anthropic | Service::Google | Service::DeepSeek
    )
}

/// Whether a backend sells the models of a vendor as their maker, for [`Roster::sells_as_maker`].
fn sells_as_maker(spec: &BackendSpec, vendor: &str) -> bool {
    let name = BackendName::parse(&spec.name);
    let name = name.key_of().unwrap_or(name.plain());
    match spec.service {
        // What runs on the owner's machines has no list price.
        Service::Local => false,
        Service::Compatible => crate::vendors::vendor(name).is_some_and(|row| {
            row.maker.is_some() && row.maker.as_deref() == crate::vendors::maker(vendor)
        }),
        _ => true,
    }
}

/// A normal name up to its first digit.
fn without_version(name: &str) -> &str {
    let end = name.find(|c: char| c.is_ascii_digit());
    name[..end.unwrap_or(name.len())].trim_end_matches('-')
}

impl Roster {
    /// The backends that can serve the model named in a request, in the owner's order.
    ///
    /// A `<backend>/<model>` pin binds; a name, in any spelling, goes to each backend that has the
    /// model; backends that take any name come last.
    ///
    /// # Errors
    /// When nobody serves it; see [`NoRoute`].
    pub fn resolve(&self, requested: &str) -> Result<Vec<Candidate>, NoRoute> {
        let name = self.target(requested);
        let name = &*name;
        if let Some(tier) = name.strip_prefix("bardo/") {
            return self.of_tier(tier, requested);
        }
        // `openrouter/auto` is a model of that name where it is listed, a pin elsewhere.
        if !self.by_name.contains_key(name)
            && let Some(pinned) = self.pinned(name)
        {
            return pinned;
        }
        if let Some(found) = self.lookup(name).or_else(|| self.variants(name)) {
            return Ok(found);
        }
        self.check_prefix(name, requested)?;
        let open: Vec<Candidate> = self
            .open
            .iter()
            .filter(|&&index| self.specs[index].filter.admits(name))
            .map(|&index| Candidate {
                backend: index,
                entry: Arc::new(self.unlisted(index, name)),
            })
            .collect();
        if open.is_empty() {
            return Err(NoRoute::UnknownModel {
                model: requested.to_owned(),
                target: (name != requested).then(|| name.to_owned()),
                nearest: self.nearest(name),
            });
        }
        Ok(open)
    }

    fn find(&self, name: &str) -> Option<&[Candidate]> {
        if let Some(found) = self.by_name.get(&*normal_form(name)) {
            return Some(found);
        }
        let known = self.catalog.find(name)?;
        self.by_name
            .get(&*normal_form(&known.id))
            .map(Vec::as_slice)
    }

    /// `<model>:<variant>` at the backends that know variants (`:nitro`, `:free`, `:zdr`, Venice's
    /// feature suffixes): the model's entry, asked for with the suffix as written.
    fn variants(&self, name: &str) -> Option<Vec<Candidate>> {
        let (model, variant) = name.split_once(':')?;
        let knows = |candidate: &&Candidate| {
            let service = self.specs[candidate.backend].service;
            matches!(
                service,
                Service::OpenRouter | Service::Venice | Service::Bankr
            )
        };
        let candidates: Vec<Candidate> = self
            .lookup(model)?
            .iter()
            .filter(knows)
            .map(|candidate| {
                let mut entry = ModelEntry::clone(&candidate.entry);
                entry.upstream_id = format!("{}:{variant}", entry.upstream_id);
                Candidate {
                    backend: candidate.backend,
                    entry: Arc::new(entry),
                }
            })
            .collect();
        (!candidates.is_empty()).then_some(candidates)
    }

    /// A model that the backend is asked for without having listed it.
    fn unlisted(&self, backend: usize, name: &str) -> ModelEntry {
        let known = self.catalog.describe(name);
        let makers = known
            .price
            .filter(|_| self.sells_as_maker(backend, &known.vendor));
        ModelEntry {
            id: name.to_owned(),
            price: self.pricing[backend].unlisted(makers),
            ..known.entry(name)
        }
    }

    /// Whether a backend asks the maker's price for a model of `vendor`, as long as it says no other.
    /// A vendor in OpenAI format asks what it likes for the models of others.
    fn sells_as_maker(&self, backend: usize, vendor: &str) -> bool {
        sells_as_maker(&self.specs[backend], vendor)
    }

    /// The list price at its maker of the model named in a request, in any spelling, with or
    /// without a backend before it or a variant behind it; `None` where nobody published one, or
    /// where the name leaves the choice of the model to us.
    #[must_use]
    pub fn list_price(&self, requested: &str) -> Option<Price> {
        let name = self
            .aliases
            .get(requested)
            .map_or(requested, String::as_str);
        let plain = name.split_once(':').map_or(name, |(model, _)| model);
        let known = self
            .catalog
            .find(name)
            .or_else(|| self.catalog.find(plain))?;
        known.price
    }

    /// `bardo/auto` is a strong model, `bardo/t1` a small and `bardo/t2` a frontier one; where the
    /// tier is empty, the next better, else the best there is.
    fn of_tier(&self, tier: &str, requested: &str) -> Result<Vec<Candidate>, NoRoute> {
        let wanted = match tier {
            "t1" => Tier::Small,
            "auto" => Tier::Strong,
            "t2" => Tier::Frontier,
            _ => {
                let known = ["t2", "t1", "auto"].into_iter();
                let known = known.min_by_key(|known| edit_distance(tier, known));
                return Err(NoRoute::UnknownModel {
                    model: requested.to_owned(),
                    target: None,
                    nearest: known.map(|known| format!("bardo/{known}")),
                });
            }
        };
        let rated = || {
            self.listed
                .iter()
                .filter(|entry| !entry.embeddings)
                .filter_map(|entry| Some((entry.tier?, entry)))
        };
        let chosen = rated()
            .filter(|(tier, _)| *tier >= wanted)
            .min_by_key(|(tier, _)| *tier)
            .or_else(|| rated().max_by_key(|(tier, _)| *tier))
            .map(|(_, entry)| entry)
            .or_else(|| self.listed.iter().find(|entry| !entry.embeddings));
        chosen
            .and_then(|entry| self.find(&entry.id))
            .map(<[Candidate]>::to_vec)
            .ok_or_else(|| NoRoute::UnknownModel {
                model: requested.to_owned(),
                target: None,
                nearest: None,
            })
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let normal = normalize(name);
        // A name without a version is compared with names without theirs: it means the best one.
        let has_version = normal.contains(|c: char| c.is_ascii_digit());
        let told = |id: &str| match has_version {
            true => normalize(id),
            false => without_version(&normalize(id)).to_owned(),
        };
        self.listed
            .iter()
            .map(|entry| (edit_distance(&normal, &told(&entry.id)), entry))
            .filter(|(distance, _)| *distance <= normal.len().max(4) / 2)
            // Of names that are alike, the better model is rather meant.
            .min_by_key(|(distance, entry)| {
                (*distance, Reverse(entry.rating), Reverse(entry.created))
            })
            .map(|(_, entry)| entry)
            .or_else(|| self.with_other_tag(&normal))
            .map(|entry| entry.id.clone())
    }

    /// A model of a local server that differs from a name only in the tag behind the colon.
    fn with_other_tag(&self, normal: &str) -> Option<&Arc<ModelEntry>> {
        let plain = |name: &str| name.split_once(':').map(|(plain, _)| plain.to_owned());
        let wanted = plain(normal).unwrap_or_else(|| normal.to_owned());
        let is_alike =
            |entry: &&Arc<ModelEntry>| plain(&normalize(&entry.id)).as_ref() == Some(&wanted);
        self.listed.iter().find(is_alike)
    }

    /// Every model somebody serves, once, in the owner's order of backends.
    #[must_use]
    pub fn listed(&self) -> &[Arc<ModelEntry>] {
        &self.listed
    }

    /// The models as `GET /v1/models` names them: each once, and dated names of the configuration
    /// behind the models that they mean.
    pub fn shown(&self) -> impl Iterator<Item = &Arc<ModelEntry>> {
        self.listed.iter().chain(&self.written)
    }

    /// Listed models that are not chosen, because nobody could mean their price.
    #[must_use]
    pub fn quarantined(&self) -> usize {
        self.pool.quarantined
    }

    /// The models that a backend is known to serve without a known price, by its index.
    pub fn unpriced(&self, backend: usize) -> impl Iterator<Item = &Arc<ModelEntry>> {
        let offered = self.offered.iter();
        offered
            .filter(move |candidate| {
                candidate.backend == backend && candidate.entry.price.is_none()
            })
            .map(|candidate| &candidate.entry)
    }

    /// Whether callers are billed for a backend, by its index, and its owner not by its maker.
    #[must_use]
    pub fn is_billed(&self, backend: usize) -> bool {
        let sells = |spec: &BackendSpec| !is_maker(spec.service) && spec.service != Service::Local;
        self.terms[backend]
            .billed
            .unwrap_or_else(|| sells(&self.specs[backend]))
    }

    /// The rated form of a candidate.
    pub(crate) fn rated(&self, candidate: Candidate) -> RatedCandidate {
        let row = services::row(self.specs[candidate.backend].service);
        let terms = self.terms[candidate.backend];
        RatedCandidate::new(candidate, row, terms)
    }

    /// Whether two candidates are models of makers that are known and not the same.
    #[must_use]
    pub fn has_other_maker(&self, one: &Candidate, other: &Candidate) -> bool {
        let maker = |candidate: &Candidate| {
            let known = self.catalog.find(&candidate.entry.id);
            let vendor = known.map_or(&candidate.entry.vendor, |known| &known.vendor);
            crate::vendors::maker(vendor)
        };
        let makers = maker(one).zip(maker(other));
        makers.is_some_and(|(one, other)| one != other)
    }

    /// Whether a candidate may serve embeddings, or else answers. A model that the catalog does not
    /// know may, and so may every model of a local server for embeddings: such servers make them
    /// with models for chats, too.
    #[must_use]
    pub fn may_serve(&self, candidate: &Candidate, embeddings: bool) -> bool {
        let entry = &candidate.entry;
        if entry.embeddings == embeddings {
            return true;
        }
        let service = self.specs[candidate.backend].service;
        let is_known = || self.catalog.find(&entry.id).is_some();
        match service {
            Service::Local => embeddings || !is_known(),
            Service::Compatible => !is_known(),
            // A name at a known service that says what the model is for is believed.
            _ if entry.embeddings => false,
            _ => !is_known(),
        }
    }

    /// The model behind an alias of the owner, or the name itself.
    #[must_use]
    pub fn unaliased<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// The backends in the owner's order.
    #[must_use]
    pub fn backends(&self) -> &[BackendSpec] {
        &self.specs
    }
}

/// Levenshtein distance, bounded by the lengths of model names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(80).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(80).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
