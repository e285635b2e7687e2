//! Meaning of model names: the backend or the maker before the slash, and the model behind it. A name
//! with anything else before the slash has no meaning. Scopes of keys are matched here too.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_types::backend::BackendName;
use bardo_types::model::{ModelEntry, Service};

use super::{BackendSpec, Candidate, NoRoute, Roster, edit_distance};
use crate::name::normalize;
use crate::vendors;

/// Backends that have one name each, and the group of the owner's keys.
const SERVICES: [&str; 6] = [
    "blockrun",
    "openrouter",
    "venice",
    "bankr",
    "direct",
    "local",
];

/// The makers whose keys a `direct/<maker>` backend is made of.
const DIRECT: [&str; 5] = ["openai", "anthropic", "google", "deepseek", "local"];

/// Prefixes that other gateways write for servers of the operator's own.
const OWN_SERVERS: [&str; 7] = [
    "ollama",
    "ollama_chat",
    "lm_studio",
    "lmstudio",
    "vllm",
    "hosted_vllm",
    "llamafile",
];

/// The maker of a name, where it names one.
pub(super) fn prefix(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
}

impl BackendSpec {
    /// Whether `prefix` before a model's slash means this backend.
    fn is_pinned_by(&self, prefix: &str) -> bool {
        let name = BackendName::parse(&self.name);
        self.name == prefix
            || name.key_of().is_some() && prefix == name.group()
            || self.short_name() == Some(prefix)
    }

    /// A vendor's key is pinned by the vendor's name alone, too.
    fn short_name(&self) -> Option<&str> {
        self.name
            .strip_prefix("direct/")
            .filter(|_| self.service == Service::Compatible)
    }
}

impl Roster {
    /// Whether `name` may stand before a model's slash as a maker: makers that the catalog knows,
    /// and those that a backend lists or the owner named in `models`.
    fn is_maker_known(&self, name: &str) -> bool {
        vendors::maker(name).is_some()
            || self.makers.contains(name)
            || self.makers.contains(&name.to_ascii_lowercase())
    }

    /// Whether `name` means a backend or a maker where it stands before a slash.
    pub(super) fn is_prefix(&self, name: &str) -> bool {
        self.is_maker_known(name) || self.specs.iter().any(|spec| spec.is_pinned_by(name))
    }

    /// Whether `entry` is a model of the maker.
    fn is_made_by(&self, entry: &ModelEntry, maker: &str) -> bool {
        let one = |name: &str| {
            vendors::maker(name).map_or_else(|| name.to_ascii_lowercase(), str::to_owned)
        };
        let wanted = one(maker);
        let names = [entry.upstream_id.as_str(), entry.id.as_str()];
        let mut told = names.iter().filter_map(|name| prefix(name));
        if told.any(|(said, _)| one(said) == wanted) {
            return true;
        }
        // A backend that says no maker leaves that to the catalog, and where that does not know
        // the model either, to the caller.
        match self.catalog.find(&entry.id).map(|known| &known.vendor) {
            Some(vendor) => one(vendor) == wanted,
            None if vendors::maker(&entry.vendor).is_some() => one(&entry.vendor) == wanted,
            None => names.iter().all(|name| prefix(name).is_none()),
        }
    }

    /// Resolves an alias of a whole name or of its part before the slash.
    pub(super) fn target<'a>(&'a self, requested: &'a str) -> Cow<'a, str> {
        let name = self.unaliased(requested);
        // An alias of a backend or a maker stands before a slash as its name does.
        let renamed = prefix(name).and_then(|(prefix, model)| {
            let meant = self.aliases.get(prefix)?;
            let is_prefix = self.is_prefix(meant) && !self.by_name.contains_key(name);
            is_prefix.then(|| format!("{meant}/{model}"))
        });
        renamed.map_or(Cow::Borrowed(name), Cow::Owned)
    }

    /// Normalizes a name: two names give the same text if they are spellings or aliases of the same
    /// model, with or without its maker. A backend that the name pins stays in the text. The model
    /// need not be served.
    #[must_use]
    pub fn meaning(&self, requested: &str) -> String {
        let name = self.target(requested);
        let name = &*name;
        if name.starts_with("bardo/") {
            return name.to_owned();
        }
        let pins = |prefix: &&str| self.specs.iter().any(|spec| spec.is_pinned_by(prefix));
        let pin = name
            .rmatch_indices('/')
            .map(|(at, _)| &name[..at])
            .find(pins)
            .filter(|_| !self.by_name.contains_key(name));
        let model = pin.map_or(name, |pin| &name[pin.len() + 1..]);
        let served = self.find(model).and_then(|found| found.first());
        let id = served.map_or(model, |candidate| candidate.entry.id.as_str());
        let known = self.catalog.find(id).map(|known| known.id.as_str());
        let id = normalize(known.unwrap_or(id));
        pin.map_or_else(|| id.clone(), |pin| format!("{pin}/{id}"))
    }

    /// Finds the backends that list the model of a name, in any spelling; with a maker before the
    /// slash, only models of that maker.
    pub(super) fn lookup(&self, name: &str) -> Option<Vec<Candidate>> {
        let found = self.find(name)?;
        let Some((maker, _)) = prefix(name) else {
            return Some(found.to_vec());
        };
        // Listed under this very name: nothing is left to guess.
        let is_raw = |candidate: &&Candidate| candidate.entry.upstream_id == name;
        let is_known = self.is_maker_known(maker);
        let candidates: Vec<Candidate> = found
            .iter()
            .filter(|candidate| {
                is_raw(candidate) || is_known && self.is_made_by(&candidate.entry, maker)
            })
            .cloned()
            .collect();
        (!candidates.is_empty()).then_some(candidates)
    }

    /// Refuses a name whose prefix is neither a backend nor a maker, or not the maker of the model.
    pub(super) fn check_prefix(&self, name: &str, requested: &str) -> Result<(), NoRoute> {
        let Some((maker, rest)) = prefix(name) else {
            return Ok(());
        };
        let is_known = self.is_maker_known(maker);
        if is_known && self.find(rest).is_none() {
            return Ok(());
        }
        Err(NoRoute::UnknownPrefix {
            model: requested.to_owned(),
            prefix: maker.to_owned(),
            is_maker: is_known,
            nearest: self.nearest_with_prefix(maker, rest),
        })
    }

    /// A name with another prefix, or with none, that is served.
    fn nearest_with_prefix(&self, written: &str, rest: &str) -> Option<String> {
        let mut names: Vec<&str> = vendors::makers().collect();
        names.extend(self.makers.iter().map(String::as_str));
        names.extend(self.specs.iter().map(|spec| {
            let name = spec.short_name().unwrap_or(&spec.name);
            BackendName::parse(name).plain()
        }));
        let plain = written.to_ascii_lowercase();
        let mut known: Vec<(usize, &str)> = names
            .into_iter()
            .map(|known| (edit_distance(&plain, known), known))
            .filter(|(distance, _)| *distance <= (written.len() / 3).max(1))
            .collect();
        known.sort_unstable();
        let local = OWN_SERVERS.contains(&&*plain).then_some("local");
        let alike = known.iter().map(|(_, known)| *known);
        let alike = local.into_iter().chain(alike);
        let alike = alike.map(|known| format!("{known}/{rest}"));
        let served = |name: &String| {
            self.pinned(name)
                .map_or_else(|| self.lookup(name).is_some(), |pinned| pinned.is_ok())
        };
        alike
            .into_iter()
            .find(served)
            .or_else(|| {
                let found = self.find(rest)?.first()?;
                Some(found.entry.id.clone())
            })
            .or_else(|| self.nearest(rest))
    }

    /// The backends that a name binds a request to, `<backend>/<model>` or `<backend>/*`, as indices
    /// of [`Self::backends`]; `None` where the name leaves the backend open.
    pub(crate) fn pins(&self, requested: &str) -> Option<Vec<usize>> {
        let name = self.target(requested);
        if let Some(family) = name.strip_suffix("/*") {
            let specs = self.specs.iter().enumerate();
            let meant =
                specs.filter(|(_, spec)| BackendName::parse(&spec.name).is_meant_by(family));
            let meant: Vec<usize> = meant.map(|(index, _)| index).collect();
            return (!meant.is_empty() && !self.makers.contains(family)).then_some(meant);
        }
        if self.by_name.contains_key(&*name) {
            return None;
        }
        let candidates = self.pinned(&name)?.ok()?;
        let backends = candidates.iter().map(|candidate| candidate.backend);
        Some(backends.collect())
    }

    /// The backends that a `<backend>/<model>` name pins; `None` where it pins none.
    pub(super) fn pinned(&self, name: &str) -> Option<Result<Vec<Candidate>, NoRoute>> {
        // The longest prefix that names a backend: `direct/openai/gpt-5.5` before `direct/…`.
        for (at, _) in name.rmatch_indices('/') {
            let (prefix, model) = (&name[..at], &name[at + 1..]);
            if prefix == "direct"
                && let Some(wrong) = self.missing_key(model)
            {
                return Some(Err(self.no_backend(wrong)));
            }
            let specs = self.specs.iter().enumerate();
            let mut candidates: Vec<Candidate> = specs
                .filter(|(_, spec)| spec.is_pinned_by(prefix))
                .map(|(index, _)| self.at(index, model))
                .collect();
            if candidates.is_empty() {
                continue;
            }
            // Where one of several pinned backends lists the model, the others do not have it.
            let listed = self.lookup(model).unwrap_or_default();
            let lists = |candidate: &Candidate| {
                listed
                    .iter()
                    .any(|listed| listed.backend == candidate.backend)
            };
            if candidates.iter().any(lists) {
                candidates.retain(lists);
            }
            return Some(Ok(candidates));
        }
        let (head, _) = prefix(name)?;
        let head = BackendName::parse(head).plain();
        let is_backend = SERVICES.contains(&head)
            || vendors::vendor(head).is_some() && vendors::maker(head).is_none();
        is_backend.then(|| Err(self.no_listed(head, name)))
    }

    /// The backend that `direct/<model>` means by `<model>`, where there is no such key.
    fn missing_key(&self, model: &str) -> Option<String> {
        let (head, _) = prefix(model)?;
        let service = BackendName::parse(head).plain();
        let is_key =
            head.contains('#') || DIRECT.contains(&service) || vendors::vendor(service).is_some();
        let name = format!("direct/{head}");
        let has = self.specs.iter().any(|spec| spec.name == name);
        // What a key of the owner's lists under this very name is a model after all.
        let lists = || {
            self.lookup(model).into_iter().flatten().any(|found| {
                let name = &self.specs[found.backend].name;
                BackendName::parse(name).key_of().is_some()
            })
        };
        (is_key && !has && !lists()).then_some(name)
    }

    /// Refuses a name that pins a backend which is not configured. It may be a wrong spelling of a
    /// model whose own name begins like that, such as `local/all-MiniLM-L6-v2`.
    fn no_listed(&self, backend: &str, name: &str) -> NoRoute {
        let plain = name.to_ascii_lowercase();
        let far = |entry: &ModelEntry| edit_distance(&plain, &entry.id.to_ascii_lowercase());
        let begins_alike =
            |entry: &ModelEntry| prefix(&entry.id).is_some_and(|(head, _)| head == backend);
        let listed = self.listed.iter().filter(|entry| begins_alike(entry));
        let nearest = listed
            .map(|entry| (far(entry), entry))
            .filter(|(distance, _)| *distance <= plain.len() / 4)
            .min_by_key(|(distance, _)| *distance);
        match nearest {
            Some((_, entry)) => NoRoute::UnknownBackend {
                backend: backend.to_owned(),
                nearest: Some(entry.id.clone()),
            },
            None => self.no_backend(backend.to_owned()),
        }
    }

    fn no_backend(&self, backend: String) -> NoRoute {
        let alike = |spec: &BackendSpec| edit_distance(&backend, &spec.name);
        let nearest = self
            .specs
            .iter()
            .filter(|spec| alike(spec) <= (backend.len() / 4).max(1))
            .min_by_key(|spec| alike(spec))
            .map(|spec| spec.name.clone());
        NoRoute::UnknownBackend { backend, nearest }
    }

    /// One backend for a model: as it lists it, else as it is named.
    fn at(&self, backend: usize, model: &str) -> Candidate {
        let of = |found: Option<Vec<Candidate>>| {
            found
                .into_iter()
                .flatten()
                .find(|candidate| candidate.backend == backend)
        };
        of(self.lookup(model))
            .or_else(|| of(self.variants(model)))
            .unwrap_or_else(|| Candidate {
                backend,
                entry: Arc::new(self.unlisted(backend, model)),
            })
    }

    /// Whether a scope of a key (`model=…`) lets a candidate be used, by what was resolved and not
    /// by what the caller wrote. `requested` counts only where the scope itself leaves the choice
    /// to the gateway (`bardo/auto`).
    #[must_use]
    pub fn is_in_scope(&self, scope: &str, requested: &str, candidate: &Candidate) -> bool {
        let scope = self.unaliased(scope);
        if scope.starts_with("bardo/") {
            let requested = self.unaliased(requested);
            return match scope.strip_suffix('*') {
                Some(start) => requested.starts_with(start),
                None => requested == scope,
            };
        }
        let spec = &self.specs[candidate.backend];
        let entry = &candidate.entry;
        // `openrouter/gpt-5.5` is the model at that backend alone.
        for (at, _) in scope.rmatch_indices('/') {
            let pinned = &scope[..at];
            if self.specs.iter().any(|spec| spec.is_pinned_by(pinned)) {
                return spec.is_pinned_by(pinned) && self.names(&scope[at + 1..], entry);
            }
        }
        self.names(scope, entry)
    }

    /// Whether a pattern names a model.
    fn names(&self, pattern: &str, entry: &ModelEntry) -> bool {
        if pattern == "*" {
            return true;
        }
        let (maker, name) = match pattern.rsplit_once('/') {
            Some((maker, name)) => (Some(maker), name),
            None => (None, pattern),
        };
        if maker.is_some_and(|maker| !self.is_made_by(entry, maker)) {
            return false;
        }
        let known = self.catalog.find(&entry.id);
        let id = normalize(known.map_or(&entry.id, |known| &known.id));
        match name.strip_suffix('*') {
            Some(start) => {
                let start = spelled(start);
                let upstream = entry.upstream_id.rsplit('/').next().unwrap_or_default();
                id.starts_with(&start) || spelled(upstream).starts_with(&start)
            }
            None => {
                let wanted = self.catalog.find(name).map(|known| normalize(&known.id));
                id == wanted.unwrap_or_else(|| normalize(name))
            }
        }
    }
}

/// The start of a name, spelled as [`normalize`] spells names.
pub(super) fn spelled(start: &str) -> String {
    let plain = |c: char| match c {
        '.' | '_' => '-',
        c => c.to_ascii_lowercase(),
    };
    start.chars().map(plain).collect()
}
