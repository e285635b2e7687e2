//! `router_settings`, `litellm_settings` and `general_settings`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::known::explain;
use super::models::Deployments;
use super::{ImportFindings, object, text_of, variable};

/// A key of `auth.keys` has this many characters at least.
const OWNER_KEY_MIN: usize = 16;
/// The variable of LiteLLM's master key.
const MASTER: &str = "LITELLM_MASTER_KEY";

/// Settings of the new file.
#[derive(Debug, Default)]
pub(super) struct ImportedSettings {
    /// Members of `server`.
    pub(super) server: Vec<(&'static str, String)>,
    pub(super) admin_token: Option<String>,
    /// The key of the owner, who is never charged.
    pub(super) owner_key: Option<String>,
    /// Members of `upstream`.
    pub(super) upstream: Vec<(&'static str, String)>,
    /// Members of `upstream.breaker`.
    pub(super) breaker: Vec<(&'static str, String)>,
    /// More names of models.
    pub(super) aliases: Vec<(String, String)>,
    pub(super) fallbacks: BTreeMap<String, Vec<String>>,
    pub(super) cache_ttl: Option<String>,
    /// Lines that are written as comments.
    pub(super) suggestions: Vec<String>,
}

impl ImportedSettings {
    /// Reads the three sections.
    pub(super) fn read(
        sections: &Map<String, Value>,
        deployments: &mut Deployments,
        environment: &[(String, String)],
        found: &mut ImportFindings,
    ) -> Self {
        let mut settings = Self::default();
        // The router's own settings win over those of the whole module.
        for section in ["router_settings", "litellm_settings", "general_settings"] {
            for (name, value) in object(sections, section).into_iter().flatten() {
                let place = format!("{section}.{name}");
                let is_taken = !value.is_null()
                    && (settings.limits(name, value)
                        || settings.models(name, value, &place, deployments, found)
                        || settings.stores(name, value, &place, found)
                        || settings.secrets(name, value, &place, environment, found));
                if !is_taken && !value.is_null() {
                    explain(section, name, value, found);
                }
            }
        }
        settings.default_fallbacks(sections, deployments, found);
        settings
    }

    /// Time limits, retries and sizes.
    fn limits(&mut self, name: &str, value: &Value) -> bool {
        let whole = text_of(value).and_then(|text| text.parse::<u64>().ok());
        let seconds = || text_of(value).filter(|text| super::decimal::shifted(text, 0).is_some());
        match name {
            "num_retries" => put(
                &mut self.upstream,
                "max_attempts",
                whole.map(|count| (count + 1).to_string()),
            ),
            "timeout" | "request_timeout" => {
                let ms = seconds().and_then(|text| super::decimal::shifted(&text, 3));
                put(
                    &mut self.upstream,
                    "total_timeout",
                    ms.and_then(milliseconds),
                )
            }
            "stream_timeout" => {
                let ms = seconds().and_then(|text| super::decimal::shifted(&text, 3));
                put(
                    &mut self.upstream,
                    "first_token_timeout",
                    ms.and_then(milliseconds),
                )
            }
            "allowed_fails" => {
                let failures = whole.map(|count| count.max(1).to_string());
                put(&mut self.breaker, "failures", failures)
            }
            "cooldown_time" => {
                let wait = whole
                    .filter(|&wait| wait > 0)
                    .map(|wait| format!("{wait}s"));
                put(&mut self.breaker, "open_for", wait)
            }
            "health_check_interval" => put(
                &mut self.upstream,
                "probe_every",
                whole.map(|wait| format!("{wait}s")),
            ),
            "max_request_size_mb" => {
                let size = whole.filter(|size| (1..=512).contains(size));
                put(
                    &mut self.server,
                    "max_body",
                    size.map(|size| format!("{size}MiB")),
                )
            }
            _ => false,
        }
    }

    /// Fallbacks and other names.
    fn models(
        &mut self,
        name: &str,
        value: &Value,
        place: &str,
        deployments: &Deployments,
        found: &mut ImportFindings,
    ) -> bool {
        match name {
            "fallbacks" => {
                for (model, others) in entries(value) {
                    self.fall_back(model, others, place, deployments, found);
                }
            }
            "model_group_alias" => {
                for (alias, model) in value.as_object().into_iter().flatten() {
                    let model = model["model"].as_str().or_else(|| model.as_str());
                    match model.filter(|model| is_named(deployments, model)) {
                        Some(model) => self.aliases.push((alias.clone(), model.to_owned())),
                        None => {
                            found.omitted(format!("{place}.{alias}"), "its model is not imported")
                        }
                    }
                }
            }
            // They are written when all names are known.
            "default_fallbacks" => {}
            "context_window_fallbacks" => found.omitted(
                place,
                "a prompt that is too long gets 400 `context_too_long`; no other model is called",
            ),
            "content_policy_fallbacks" => {
                found.omitted(
                    place,
                    "a refusal of a provider is passed on; no other model is called",
                );
            }
            _ => return false,
        }
        true
    }

    fn fall_back(
        &mut self,
        model: &str,
        others: &Value,
        place: &str,
        deployments: &Deployments,
        found: &mut ImportFindings,
    ) {
        let names = others.as_array().into_iter().flatten();
        let mut known = Vec::new();
        for other in names {
            match other.as_str() {
                Some(name) if name != model && is_named(deployments, name) => {
                    known.push(name.to_owned())
                }
                Some(name) if name == model => {}
                Some(name) => found.omitted(
                    format!("{place}.{model}"),
                    format!("`{name}` is not an imported model"),
                ),
                None => found.omitted(
                    format!("{place}.{model}"),
                    "a fallback is the name of a model; it cannot change the request",
                ),
            }
        }
        if model == "*" {
            for named in &deployments.names {
                let others: Vec<String> = known
                    .iter()
                    .filter(|other| **other != named.name)
                    .cloned()
                    .collect();
                self.add_fallbacks(&named.name, others);
            }
        } else if is_named(deployments, model) {
            self.add_fallbacks(model, known);
        } else {
            found.omitted(format!("{place}.{model}"), "the model is not imported");
        }
    }

    fn add_fallbacks(&mut self, model: &str, others: Vec<String>) {
        if others.is_empty() {
            return;
        }
        let list = self.fallbacks.entry(model.to_owned()).or_default();
        for other in others {
            if !list.contains(&other) {
                list.push(other);
            }
        }
    }

    /// Fallbacks of names without entries: other models of one name first, then the default ones.
    fn default_fallbacks(
        &mut self,
        sections: &Map<String, Value>,
        deployments: &Deployments,
        found: &mut ImportFindings,
    ) {
        for named in &deployments.names {
            let more: Vec<String> = named.targets.iter().skip(1).cloned().collect();
            let written = self.fallbacks.remove(&named.name).unwrap_or_default();
            self.add_fallbacks(&named.name, more);
            self.add_fallbacks(&named.name, written);
        }
        let lists = ["router_settings", "litellm_settings"]
            .iter()
            .filter_map(|section| {
                object(sections, section)?
                    .get("default_fallbacks")?
                    .as_array()
            });
        for name in lists.flatten().filter_map(Value::as_str) {
            if !is_named(deployments, name) {
                found.omitted(
                    "default_fallbacks",
                    format!("`{name}` is not an imported model"),
                );
                continue;
            }
            // A model for chats cannot answer in place of one for embeddings, nor the other way round.
            let is_embedding = |name: &str| {
                let mut names = deployments.names.iter();
                names.any(|named| named.name == name && named.is_embedding)
            };
            let others = deployments.names.iter().map(|named| named.name.clone());
            let others = others.filter(|model| {
                model != name && !model.ends_with('*') && is_embedding(model) == is_embedding(name)
            });
            for model in others {
                if self.fallbacks.get(&model).is_none_or(Vec::is_empty) {
                    self.add_fallbacks(&model, vec![name.to_owned()]);
                }
            }
        }
    }

    /// The cache, Redis, the database and what observes requests.
    fn stores(
        &mut self,
        name: &str,
        value: &Value,
        place: &str,
        found: &mut ImportFindings,
    ) -> bool {
        match name {
            "cache" if *value == Value::Bool(true) => found.changed(
                place,
                "answers to identical requests are stored in memory (`cache.hash`), for each account alone, if their \
                 temperature is 0 or they have the hint `cache: default`. A key with the scope `cache=default` \
                 stores the others too: `keys set ID --cache default`",
            ),
            "cache" => found.changed(
                place,
                "the cache of identical requests is on; `cache: { hash: { enabled: false } }` disables it",
            ),
            "cache_params" => {
                let ttl = text_of(&value["ttl"]).and_then(|text| text.parse::<u64>().ok());
                self.cache_ttl = ttl.map(|ttl| format!("{ttl}s"));
                let kind = value["type"].as_str().unwrap_or("local");
                found.changed(
                    place,
                    format!(
                        "`{kind}`: answers are stored in memory. To share them, set `cache.redis_url` and \
                         `cache.redis_key`; a semantic cache is asked for by keys and requests"
                    ),
                );
            }
            "redis_host" | "redis_port" | "redis_password" | "redis_url" => {
                let line = "limits: { redis_url: \"env:BARDO_REDIS\" }   # redis://user:password@host:port/0";
                self.suggest(line);
                found.omitted(
                    "redis_host, redis_port, redis_password",
                    "to share limits between gateways, set `limits.redis_url` to one address",
                );
            }
            "database_url" => {
                self.suggest("store: { url: \"env:BARDO_DATABASE\" }           # postgres://user:password@host/database");
                found.omitted(
                    place,
                    "keys and money are in SQLite. To share them between gateways, set `store.url` to a Postgres \
                     address without Prisma's parameters, before you create keys",
                );
            }
            "callbacks" | "success_callback" | "failure_callback" | "service_callback" => {
                for name in callbacks(value) {
                    match name {
                        "prometheus" => found.changed(
                            format!("{place}: prometheus"),
                            "metrics are always at `/metrics` of the admin listener, with other names",
                        ),
                        "langfuse" | "langfuse_otel" => found.changed(
                            format!("{place}: {name}"),
                            "traces go to Langfuse as soon as LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY are \
                             set: docs/telemetry.md. Prompts and answers are never exported",
                        ),
                        "otel" => found.changed(
                            format!("{place}: otel"),
                            "traces go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, by HTTP: \
                             docs/telemetry.md. Prompts and answers are never exported",
                        ),
                        name => found.omitted(
                            format!("{place}: {name}"),
                            "telemetry is configured by settings of the gateway, not by callbacks; a program of \
                             yours can also read `GET /v1/events`",
                        ),
                    }
                }
            }
            _ => return false,
        }
        true
    }

    fn suggest(&mut self, line: &str) {
        if !self.suggestions.iter().any(|known| known == line) {
            self.suggestions.push(line.to_owned());
        }
    }

    /// The master key: the token of operators, and a key that sends requests.
    fn secrets(
        &mut self,
        name: &str,
        value: &Value,
        place: &str,
        environment: &[(String, String)],
        found: &mut ImportFindings,
    ) -> bool {
        if name != "master_key" {
            return false;
        }
        let written = value.as_str().unwrap_or_default();
        let name = variable(written).unwrap_or(MASTER);
        if variable(written).is_none() {
            found.changed(
                place,
                format!("the file contains the key itself, which is not copied; put it into the variable {name}"),
            );
        }
        let reference = found.secret(name);
        let set = environment.iter().find(|(known, _)| known == name);
        let text = set.map(|(_, value)| value.as_str());
        let text = text.or_else(|| variable(written).is_none().then_some(written));
        self.admin_token = Some(reference.clone());
        if text.is_none_or(|text| text.len() >= OWNER_KEY_MIN) {
            self.owner_key = Some(reference);
            found.changed(
                place,
                "it is the token of the admin listener, and a key whose requests are never charged. Use two \
                 secrets when you can",
            );
        } else {
            found.changed(
                place,
                "it is the token of the admin listener alone: a key that sends requests needs 16 characters. \
                 Add one to `auth.keys`",
            );
        }
        true
    }
}

/// Adds a member that is not there yet; `false` without a value.
fn put(to: &mut Vec<(&'static str, String)>, name: &'static str, value: Option<String>) -> bool {
    let Some(value) = value else {
        return false;
    };
    if !to.iter().any(|(known, _)| *known == name) {
        to.push((name, value));
    }
    true
}

/// A duration in whole milliseconds; `None` for zero.
fn milliseconds(text: String) -> Option<String> {
    let ms: u64 = text.split('.').next()?.parse().ok()?;
    match (ms, ms % 1_000) {
        (0, _) => None,
        (_, 0) => Some(format!("{}s", ms / 1_000)),
        _ => Some(format!("{ms}ms")),
    }
}

/// Entries of a list of tables, or of one table.
fn entries(value: &Value) -> Vec<(&str, &Value)> {
    let tables: Vec<&Map<String, Value>> = match value {
        Value::Array(list) => list.iter().filter_map(Value::as_object).collect(),
        Value::Object(table) => vec![table],
        _ => Vec::new(),
    };
    let entries = tables.into_iter().flatten();
    entries
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

/// Names of callbacks, which may be one text or a list.
fn callbacks(value: &Value) -> Vec<&str> {
    match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether clients can send this name.
fn is_named(deployments: &Deployments, name: &str) -> bool {
    let matches = |known: &str| match known.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => known == name,
    };
    deployments.names.iter().any(|named| matches(&named.name))
}
