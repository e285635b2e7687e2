//! Layers of configuration, merged; the environment as a layer; secrets by reference.

use std::path::Path;

use bardo_wire::json::type_words;
use serde_json::{Map, Value, json};

/// One source of settings.
#[derive(Debug)]
pub struct Layer {
    name: String,
    value: Value,
}

impl Layer {
    /// A source whose settings are the members of `value`; `name` says where they come from.
    pub fn new(name: impl Into<String>, value: Value) -> Self {
        Self {
            name: name.into(),
            value,
        }
    }
}

/// Sources of settings, the weakest first.
#[derive(Debug, Default)]
pub struct Layers(Vec<Layer>);

impl Layers {
    /// Adds a source that is stronger than all others.
    pub fn push(&mut self, layer: Layer) {
        self.0.push(layer);
    }

    /// All layers as one tree: objects merge, everything else is replaced.
    pub fn merged(&self) -> Value {
        let mut all = Value::Object(Map::new());
        for layer in &self.0 {
            merge(&mut all, &layer.value);
        }
        all
    }

    /// Digest of the settings that can change an answer, as they are written. Secrets that are
    /// named by a variable or a file do not enter it.
    pub fn revision(&self) -> Vec<u8> {
        use sha2::{Digest as _, Sha256};
        let merged = self.merged();
        let mut digest = Sha256::new();
        for section in [
            "providers",
            "inference",
            "routing",
            "privacy",
            "screening",
            "catalog",
        ] {
            let json = merged[section].to_string();
            digest.update((json.len() as u64).to_le_bytes());
            digest.update(json);
        }
        digest.finalize().to_vec()
    }

    /// Whether any layer above the defaults has a value for this.
    pub fn is_set(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
        self.0
            .iter()
            .skip(1)
            .any(|layer| at(&layer.value, &path).is_some())
    }

    /// Each setting with its effective value and where it comes from; secrets are not shown.
    pub fn effective(&self) -> Vec<(String, Value, String)> {
        let mut rows = Vec::new();
        leaves(&self.merged(), &mut Vec::new(), &mut |path, value| {
            let source = self
                .0
                .iter()
                .rev()
                .find(|layer| at(&layer.value, path).is_some());
            let shown = if is_secret(path, value) {
                json!("[redacted]")
            } else {
                value.clone()
            };
            rows.push((
                path.join("."),
                shown,
                source.map_or_else(String::new, |layer| layer.name.clone()),
            ));
        });
        rows
    }
}

pub(super) fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn leaves<'a>(
    value: &'a Value,
    path: &mut Vec<String>,
    take: &mut impl FnMut(&[String], &'a Value),
) {
    let mut descend = |key: String, value| {
        path.push(key);
        leaves(value, path, take);
        path.pop();
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                descend(key.clone(), value);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, value) in items.iter().enumerate() {
                descend(index.to_string(), value);
            }
        }
        leaf => take(path, leaf),
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Object(members) => members.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Whether a value must not be shown. One that is empty hides nothing, and neither does the name of
/// the embedded store.
fn is_secret(path: &[String], value: &Value) -> bool {
    let is_set = value.as_str() != Some("") && !value.is_null();
    let is_header = path
        .iter()
        .rev()
        .nth(1)
        .is_some_and(|above| above == "headers");
    match path.last().map(String::as_str) {
        Some(_) if is_header => is_set,
        Some(
            "secret_key"
            | "password"
            | "wallet_key"
            | "wallet_passphrase"
            | "settlement_key"
            | "settlement_passphrase"
            | "facilitator_key"
            | "quote_secret",
        ) => is_set,
        // Addresses of nodes have keys in them.
        Some("rpc_urls") => value != &json!([]),
        Some(
            "api_key" | "key" | "secret" | "redis_url" | "redis_key" | "admin_token"
            | "admin_read_token",
        ) => is_set,
        Some("url") if path.first().is_some_and(|section| section == "telemetry") => false,
        Some("url") => is_set && value.as_str() != Some("sqlite"),
        _ => false,
    }
}

/// Older names of settings in the environment.
const FLAT: &[(&str, &str)] = &[
    ("BARDO_INFERENCE_SPREAD_PCT", "INFERENCE__SPREAD_PCT"),
    ("BARDO_INFERENCE_MAX_RETRIES", "UPSTREAM__MAX_ATTEMPTS"),
    (
        "BARDO_INFERENCE_CACHE_KEEPALIVE",
        "INFERENCE__CACHING__KEEPALIVE__ENABLED",
    ),
    ("BARDO_T1_MODEL", "INFERENCE__TIERS__T1__PROVIDER"),
    ("BARDO_T2_MODEL", "INFERENCE__TIERS__T2__PROVIDER"),
    ("BARDO_BLOCKRUN_ENDPOINT", "PROVIDERS__BLOCKRUN__BASE_URL"),
];

/// `BARDO_SECTION__KEY=value` for any setting.
pub fn overrides(environment: &[(String, String)]) -> Value {
    let mut tree = Value::Object(Map::new());
    for (name, text) in environment {
        let flat = FLAT.iter().find(|(flat, _)| flat == name);
        let nested = name
            .strip_prefix("BARDO_")
            .filter(|path| path.contains("__"));
        let Some(path) = flat.map(|(_, path)| *path).or(nested) else {
            continue;
        };
        let value = match text.parse::<serde_json::Number>() {
            Ok(number) => json!(number),
            Err(_) => match text.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                list if list.starts_with('[') => {
                    serde_json::from_str(list).unwrap_or_else(|_| json!(text))
                }
                _ => json!(text),
            },
        };
        let keys = path.to_ascii_lowercase();
        let nested = keys
            .rsplit("__")
            .fold(value, |inner, key| json!({ key: inner }));
        merge(&mut tree, &nested);
    }
    tree
}

/// The API keys that other tools use too, as backends. Read only if there is no configuration file.
pub fn credentials(environment: &[(String, String)]) -> Value {
    let variable = |names: &[&str]| {
        let found = environment
            .iter()
            .find(|(key, value)| names.contains(&key.as_str()) && !value.is_empty());
        found.map(|(key, _)| format!("env:{key}"))
    };
    let mut providers = Map::new();
    let mut direct = Vec::new();
    for (provider, names) in [
        ("anthropic", &["ANTHROPIC_API_KEY"][..]),
        ("openai", &["OPENAI_API_KEY"][..]),
        ("google", &["GOOGLE_API_KEY", "GEMINI_API_KEY"][..]),
        ("deepseek", &["DEEPSEEK_API_KEY"][..]),
    ] {
        if let Some(key) = variable(names) {
            direct.push(json!({ "provider": provider, "api_key": key }));
        }
    }
    for vendor in bardo_router::vendors() {
        let names: Vec<&str> = vendor.env.iter().map(String::as_str).collect();
        if let Some(key) = variable(&names) {
            direct.push(json!({ "provider": vendor.name, "api_key": key }));
        }
    }
    if !direct.is_empty() {
        providers.insert("direct".into(), json!({ "keys": direct }));
    }
    for (service, names) in [
        (
            "openrouter",
            &["BARDO_OPENROUTER_KEY", "OPENROUTER_API_KEY"][..],
        ),
        ("blockrun", &["BLOCKRUN_API_KEY"][..]),
        ("venice", &["VENICE_API_KEY"][..]),
        ("bankr", &["BANKR_LLM_KEY", "BANKR_API_KEY"][..]),
    ] {
        if let Some(key) = variable(names) {
            providers.insert(service.into(), json!({ "api_key": key }));
        }
    }
    json!({ "providers": providers })
}

/// Replaces `env:NAME`, `file:PATH` and `${NAME}` by their values. Answers the references that cannot
/// be resolved, each with the path of its setting below `place`.
pub(crate) fn resolve_secrets(
    value: &mut Value,
    place: &str,
    environment: &[(String, String)],
) -> Vec<String> {
    let mut problems = Vec::new();
    resolve_below(value, place, environment, &mut problems);
    problems
}

/// Refuses settings with all their problems at once.
pub(crate) fn refuse_all(problems: &[String]) -> Result<(), String> {
    match problems {
        [] => Ok(()),
        [problem] => Err(problem.clone()),
        several => Err(format!(
            "{} mistakes:\n  {}",
            several.len(),
            several.join("\n  ")
        )),
    }
}

fn resolve_below(
    value: &mut Value,
    place: &str,
    environment: &[(String, String)],
    problems: &mut Vec<String>,
) {
    match value {
        Value::String(text) => match resolve(text, environment) {
            Ok(Some(resolved)) => *text = resolved,
            Ok(None) => {}
            Err(reason) => problems.push(format!("`{place}`: {reason}")),
        },
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let place = format!("{place}[{index}]");
                resolve_below(item, &place, environment, problems);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let place = match place {
                    "" => key.clone(),
                    place => format!("{place}.{key}"),
                };
                resolve_below(member, &place, environment, problems);
            }
        }
        _ => {}
    }
}

fn resolve(text: &str, environment: &[(String, String)]) -> Result<Option<String>, String> {
    let variable = |name: &str| {
        let found = environment
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.clone());
        found.ok_or_else(|| {
            let names = environment.iter().map(|(name, _)| name.as_str());
            let hint = nearest(name, names, 0.95)
                .map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            format!("the environment variable `{name}` is not set{hint}")
        })
    };
    if let Some(name) = text.strip_prefix("env:") {
        return variable(name).map(Some);
    }
    if let Some(name) = text.strip_prefix("os.environ/") {
        return Err(format!("this is the form of LiteLLM; write `env:{name}`"));
    }
    if let Some(path) = text.strip_prefix("file:") {
        let path = expand(path, variable)?;
        let read = std::fs::read_to_string(Path::new(&path))
            .map_err(|error| format!("cannot read the file {path}: {error}"))?;
        return Ok(Some(read.trim_end().to_owned()));
    }
    match text.contains("${") {
        true => expand(text, variable).map(Some),
        false => Ok(None),
    }
}

/// The text with each `${NAME}` replaced by the value of that variable.
fn expand(text: &str, variable: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after
            .split_once('}')
            .ok_or_else(|| "`${` without `}`".to_owned())?;
        out.push_str(before);
        out.push_str(&variable(name)?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// The nearest known name, if its similarity is above `alike`.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
    alike: f64,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(score, _)| *score > alike)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// Sections of LiteLLM's configuration.
const LITELLM: &[&str] = &[
    "model_list",
    "litellm_settings",
    "general_settings",
    "router_settings",
    "environment_variables",
];

/// Rewrites a message of serde, with a suggestion for a similar name.
pub(crate) fn explain(path: &str, message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let place = if path.is_empty() || path == "." {
        String::new()
    } else {
        format!("`{path}`: ")
    };
    if (message.starts_with("unknown field") || message.starts_with("unknown variant"))
        && !quoted.is_empty()
    {
        let (wrong, known) = (quoted[0], &quoted[1..]);
        let what = if message.starts_with("unknown field") {
            "key"
        } else {
            "value"
        };
        let section = path.strip_suffix(wrong).unwrap_or(path);
        let hint = match nearest(wrong, known.iter().copied(), 0.75) {
            _ if LITELLM.contains(&wrong) => "; this is a setting of LiteLLM, and \
                docs/migrating-from-litellm.md says what to write instead"
                .to_owned(),
            None if section.trim_end_matches('.') == "providers" => format!(
                "; API keys of makers belong to `providers.direct.keys`; known are {}",
                known.join(", ")
            ),
            Some(name) => format!("; did you mean `{name}`?"),
            None => format!("; known are {}", known.join(", ")),
        };
        // The path of an unknown key already ends in it.
        let place = path.strip_suffix(wrong).map_or(place, |before| {
            let before = before.trim_end_matches('.');
            if before.is_empty() {
                String::new()
            } else {
                format!("`{before}`: ")
            }
        });
        return format!("{place}unknown {what} `{wrong}`{hint}");
    }
    format!("{place}{}", plain(message))
}

/// A message of serde about a wrong type, in the words of the file.
fn plain(message: &str) -> String {
    if message == "invalid socket address syntax" || message.ends_with("expected socket address") {
        return "write address and port, such as `127.0.0.1:8402`".to_owned();
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the setting {name} is missing");
    }
    if message.starts_with("non-finite float") || message == "number out of range" {
        return "the number is too large; write a smaller one".to_owned();
    }
    let begins = ["invalid type: ", "invalid value: ", "invalid length "];
    let rest = begins.iter().find_map(|begin| message.strip_prefix(begin));
    let Some((given, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "a boolean" => "`true` or `false`",
        "a string" => "a text",
        "a map" => "a table",
        "a tuple of size 2" => "a list of two numbers, such as `[0.2, 0.8]`",
        other if other.starts_with("struct ") => "a table",
        other => type_words(other),
    };
    let given = match given.split_once(' ') {
        Some(("integer" | "boolean" | "string", value)) => value.to_owned(),
        Some(("floating", value)) => value.trim_start_matches("point ").to_owned(),
        _ if given == "sequence" => "a list".to_owned(),
        _ if given == "map" => "a table".to_owned(),
        _ if matches!(given, "unit value" | "null") => "empty".to_owned(),
        _ if message.starts_with("invalid length") => format!("a list of {given}"),
        _ => given.to_owned(),
    };
    format!("must be {expected}, not {given}")
}
