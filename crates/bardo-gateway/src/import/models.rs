//! `model_list`: each entry as a backend, an alias and a price.

use bardo_router::Catalog;
use serde_json::{Map, Value};

use super::backends::{Pin, backend_of, split};
use super::decimal::per_million;
use super::{ImportFindings, text_of};

/// A key or a server that several entries may share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportedBackend {
    /// Value of `provider`; `openrouter` is a section of its own.
    pub(super) provider: String,
    /// Value of `name`, for `openai_compatible`.
    pub(super) name: Option<String>,
    /// Reference to the key.
    pub(super) key: Option<String>,
    /// Address, unless it is the usual one.
    pub(super) base: Option<String>,
    /// Models of the file at this backend.
    pub(super) models: Vec<String>,
    /// The file takes all of its models.
    pub(super) takes_all: bool,
}

impl ImportedBackend {
    fn is_same(&self, other: &Self) -> bool {
        (&self.provider, &self.key, &self.base) == (&other.provider, &other.key, &other.base)
    }

    /// The name of the backend, without the number of a second key.
    fn stem(&self) -> String {
        match (&self.name, self.provider.as_str()) {
            (Some(name), _) => format!("direct/{name}"),
            (None, "openrouter") => "openrouter".to_owned(),
            (None, provider) => format!("direct/{provider}"),
        }
    }
}

/// A correction of one model: its price, or the model that it is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Correction {
    pub(super) id: String,
    pub(super) backend: String,
    pub(super) like: Option<String>,
    /// Members of `price`, in USD per million tokens.
    pub(super) price: Vec<(&'static str, String)>,
}

/// A name that clients send, and the models that answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedModel {
    pub(super) name: String,
    /// The first answers; the others are its fallbacks.
    pub(super) targets: Vec<String>,
    /// The name is a model's own, so that it needs no alias.
    pub(super) is_own: bool,
    /// An entry says `mode: embedding`, or its model is for embeddings by the catalog.
    pub(super) is_embedding: bool,
}

/// What `model_list` says.
#[derive(Debug, Default)]
pub(super) struct Deployments {
    pub(super) backends: Vec<ImportedBackend>,
    pub(super) names: Vec<NamedModel>,
    pub(super) corrections: Vec<Correction>,
    /// Number of entries that have no counterpart.
    pub(super) skipped: usize,
}

/// Prices of LiteLLM for one token, and ours for a million.
const PRICES: [(&str, &str); 6] = [
    ("input_cost_per_token", "input_per_million"),
    ("output_cost_per_token", "output_per_million"),
    ("cache_read_input_token_cost", "cache_read_per_million"),
    ("cache_creation_input_token_cost", "cache_write_per_million"),
    ("input_cost_per_audio_token", "audio_input_per_million"),
    ("output_cost_per_audio_token", "audio_output_per_million"),
];

/// Members of an entry without counterpart, and the reason.
const IGNORED: &[(&str, &str)] = &[
    (
        "rpm",
        "limits belong to the keys of callers: `keys create --rpm N`",
    ),
    (
        "tpm",
        "limits belong to the keys of callers: `keys create --tpm N`",
    ),
    (
        "weight",
        "keys of one model are tried in the order of the file",
    ),
    (
        "order",
        "keys of one model are tried in the order of the file",
    ),
    (
        "max_parallel_requests",
        "the number of parallel requests is not limited",
    ),
    ("timeout", "`upstream.total_timeout` applies to all models"),
    (
        "stream_timeout",
        "`upstream.first_token_timeout` applies to all models",
    ),
    (
        "max_retries",
        "`upstream.max_attempts` applies to all models",
    ),
    (
        "temperature",
        "send it with the request, or set it in `inference.profiles`",
    ),
    (
        "top_p",
        "send it with the request, or set it in `inference.profiles`",
    ),
    (
        "max_tokens",
        "send it with the request, or set it in `inference.profiles`",
    ),
    (
        "thinking",
        "send it with the request, or set it in `inference.profiles`",
    ),
    (
        "reasoning_effort",
        "send it with the request, or set it in `inference.profiles`",
    ),
    ("organization", "use a key of the project"),
    (
        "extra_headers",
        "the gateway sends no headers of its owner to providers",
    ),
    (
        "headers",
        "the gateway sends no headers of its owner to providers",
    ),
    ("extra_body", "send these members with the request"),
    (
        "api_version",
        "Azure's address `/openai/v1` needs no `api-version`",
    ),
    (
        "tags",
        "requests choose no backend by tags; use `backend=NAME` scopes of keys",
    ),
    (
        "budget_duration",
        "a budget belongs to a key: `keys create --spend-day USD`",
    ),
    (
        "max_budget",
        "a budget belongs to a key: `keys create --spend-day USD`",
    ),
    ("mock_response", "`serve --sandbox` has simulated providers"),
    ("use_in_pass_through", "there are no pass-through endpoints"),
    (
        "litellm_credential_name",
        "credentials in LiteLLM's database are not read; set `api_key` to `env:NAME`",
    ),
];

/// Kinds of models that the gateway has no endpoint for.
const OTHER_MODES: [&str; 8] = [
    "image_generation",
    "image_edit",
    "audio_transcription",
    "audio_speech",
    "rerank",
    "moderation",
    "video_generation",
    "realtime",
];

impl Deployments {
    /// Reads the list. Entries without a counterpart are named and omitted.
    pub(super) fn read(list: &[Value], found: &mut ImportFindings) -> Self {
        let mut all = Self::default();
        let catalog = Catalog::embedded();
        for (index, entry) in list.iter().enumerate() {
            let place = format!("model_list[{index}]");
            if let Err(reason) = all.take(entry, &place, &catalog, found) {
                let name = entry["model_name"].as_str().unwrap_or("without a name");
                let model = entry["litellm_params"]["model"].as_str();
                let model = model.map_or_else(String::new, |model| format!(": {model}"));
                found.omitted(format!("{place} ({name}{model})"), reason);
                all.skipped += 1;
            }
        }
        all.finish(found);
        all
    }

    fn take(
        &mut self,
        entry: &Value,
        place: &str,
        catalog: &Catalog,
        found: &mut ImportFindings,
    ) -> Result<(), String> {
        let empty = Map::new();
        let name = entry["model_name"]
            .as_str()
            .ok_or("`model_name` is missing")?;
        let params = entry["litellm_params"]
            .as_object()
            .ok_or("`litellm_params` is missing")?;
        let info = entry["model_info"].as_object().unwrap_or(&empty);
        let written = params.get("model").and_then(Value::as_str);
        let written = written.ok_or("`litellm_params.model` is missing")?;
        if let Some(mode) = info.get("mode").and_then(Value::as_str)
            && OTHER_MODES.contains(&mode)
        {
            return Err(format!(
                "the gateway has no endpoint for `mode: {mode}`; keep LiteLLM for it"
            ));
        }
        let (prefix, model) = split(written, params);
        let (backend, pin) = backend_of(prefix, model, place, params, found)?;
        let index = self.share(backend, place, found);
        let backend = &mut self.backends[index];
        let model = model.to_owned();
        if model == "*" {
            backend.takes_all = true;
        } else if !backend.models.contains(&model) {
            backend.models.push(model.clone());
        }
        let target = match (pin, &backend.name) {
            (Pin::Backend, Some(name)) => format!("{name}/{model}"),
            (Pin::Backend, None) => format!("{}/{model}", backend.provider),
            (Pin::None, _) => model.clone(),
        };
        self.correct(index, &model, place, [params, info], catalog, found);
        for (member, reason) in IGNORED {
            if params.contains_key(*member) {
                found.omitted(format!("litellm_params.{member}"), *reason);
            }
        }
        let is_embedding = info.get("mode").and_then(Value::as_str) == Some("embedding")
            || catalog.find(&model).is_some_and(|known| known.embeddings);
        self.name(name, target, written, is_embedding);
        Ok(())
    }

    /// Finds the place of a backend, or makes one.
    fn share(
        &mut self,
        backend: ImportedBackend,
        place: &str,
        found: &mut ImportFindings,
    ) -> usize {
        if let Some(index) = self.backends.iter().position(|one| one.is_same(&backend)) {
            return index;
        }
        let mut known = self.backends.iter();
        if backend.provider == "openrouter"
            && let Some(index) = known.position(|one| one.provider == "openrouter")
        {
            found.omitted(
                format!("{place}.api_key"),
                "OpenRouter takes one key and one address here; the first ones are used",
            );
            return index;
        }
        let mut backend = backend;
        if let Some(name) = &backend.name {
            // Two addresses of one vendor need two names.
            let is_taken = |name: &String| {
                let same = self
                    .backends
                    .iter()
                    .find(|one| one.name.as_ref() == Some(name));
                same.is_some_and(|same| same.base != backend.base)
            };
            let mut free = name.clone();
            let mut number = 2;
            while is_taken(&free) {
                free = format!("{name}-{number}");
                number += 1;
            }
            backend.name = Some(free);
        }
        self.backends.push(backend);
        self.backends.len() - 1
    }

    /// The name of a backend with the number of a second key.
    fn backend_name(&self, index: usize) -> String {
        let stem = self.backends[index].stem();
        let before = self.backends[..index].iter();
        match before.filter(|one| one.stem() == stem).count() {
            0 => stem,
            count => format!("{stem}#{}", count + 1),
        }
    }

    /// Takes the price of an entry, and the model that a deployment is.
    fn correct(
        &mut self,
        index: usize,
        model: &str,
        place: &str,
        sources: [&Map<String, Value>; 2],
        catalog: &Catalog,
        found: &mut ImportFindings,
    ) {
        let member = |name: &str| sources.iter().find_map(|source| source.get(name));
        let mut price = Vec::new();
        for (theirs, ours) in PRICES {
            let Some(value) = member(theirs).filter(|value| !value.is_null()) else {
                continue;
            };
            match text_of(value).as_deref().and_then(per_million) {
                Some(amount) => price.push((ours, amount)),
                None => found.omitted(format!("{place}.{theirs}"), "it is not an amount of USD"),
            }
        }
        let has = |ours: &str| price.iter().any(|(name, _)| *name == ours);
        let is_whole = has("input_per_million") && has("output_per_million");
        if !price.is_empty() && !is_whole {
            found.omitted(
                format!("{place} (price)"),
                "a price needs `input_cost_per_token` and `output_cost_per_token`; the known price stays",
            );
            price.clear();
        }
        for member in [
            "input_cost_per_second",
            "input_cost_per_image",
            "output_cost_per_second",
        ] {
            if sources.iter().any(|source| source.contains_key(member)) {
                found.omitted(
                    format!("{place}.{member}"),
                    "prices are for tokens and requests",
                );
            }
        }
        let base = member("base_model").and_then(Value::as_str);
        let base = base.map(|base| base.rsplit_once('/').map_or(base, |(_, model)| model));
        let like = base.filter(|base| *base != model && catalog.find(base).is_some());
        if let (Some(base), None) = (base, like)
            && base != model
        {
            found.omitted(
                format!("{place}.base_model"),
                format!(
                    "the model `{base}` is not in the catalog; set its price in `catalog.models`"
                ),
            );
        }
        if model == "*" || (price.is_empty() && like.is_none()) {
            return;
        }
        let row = Correction {
            id: model.to_owned(),
            backend: self.backend_name(index),
            like: like.map(str::to_owned),
            price,
        };
        let known = self.corrections.iter();
        let mut known = known.filter(|one| one.id == row.id && one.backend == row.backend);
        match known.next() {
            None => self.corrections.push(row),
            Some(first) if *first != row => found.changed(
                format!("{place} (price)"),
                format!("another entry of `{model}` has another price; the first one holds"),
            ),
            Some(_) => {}
        }
    }

    fn name(&mut self, name: &str, target: String, written: &str, is_embedding: bool) {
        // A model is known by several spellings of its own name.
        let plain = |name: &str| name.to_ascii_lowercase().replace('.', "-");
        let is_own = plain(name) == plain(&target) || name == written || target.ends_with('*');
        match self.names.iter_mut().find(|named| named.name == name) {
            None => self.names.push(NamedModel {
                name: name.to_owned(),
                targets: vec![target],
                is_own,
                is_embedding,
            }),
            Some(named) if !named.targets.contains(&target) => named.targets.push(target),
            Some(_) => {}
        }
    }

    /// Says what several entries of one name mean, and what cannot have a second key.
    fn finish(&self, found: &mut ImportFindings) {
        for named in &self.names {
            if named.targets.len() > 1 {
                found.changed(
                    format!("model_name `{}`", named.name),
                    "its entries name several models: the first one answers, and the others are its \
                     fallbacks. LiteLLM spreads requests over them",
                );
            }
        }
        let mut several: Vec<&str> = Vec::new();
        for backend in &self.backends {
            let is_other_key = |one: &&ImportedBackend| {
                (&one.provider, &one.base) == (&backend.provider, &backend.base)
            };
            let count = self.backends.iter().filter(is_other_key).count();
            if count > 1 && !several.contains(&backend.provider.as_str()) {
                several.push(&backend.provider);
            }
        }
        for provider in several {
            found.changed(
                format!("several keys of {provider}"),
                "the first key that has a model gets its requests, and the next one while the first one \
                 fails. LiteLLM spreads requests over them",
            );
        }
    }
}
