//! The backend of an entry of `model_list`: its service, its address and its key.

use serde_json::{Map, Value};

use super::homes::{self, Home};
use super::models::ImportedBackend;
use super::{ImportFindings, variable};

/// Whether an alias names the backend of a model too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pin {
    Backend,
    None,
}

/// The prefix and the rest of a model's name.
pub(super) fn split<'m>(written: &'m str, params: &'m Map<String, Value>) -> (&'m str, &'m str) {
    let named = params.get("custom_llm_provider").and_then(Value::as_str);
    let cut = written
        .split_once('/')
        .filter(|(prefix, _)| homes::is_prefix(prefix));
    match (named, cut) {
        (Some(named), Some((prefix, rest))) if prefix == named => (named, rest),
        (Some(named), _) => (named, written),
        (None, Some((prefix, rest))) => (prefix, rest),
        (None, None) if params.contains_key("api_base") => ("openai", written),
        (None, None) => (homes::implied(written), written),
    }
}

/// The backend of an entry.
pub(super) fn backend_of(
    prefix: &str,
    model: &str,
    place: &str,
    params: &Map<String, Value>,
    found: &mut ImportFindings,
) -> Result<(ImportedBackend, Pin), String> {
    let (home, usual_variable) = homes::home(prefix);
    let base = params.get("api_base").or_else(|| params.get("base_url"));
    let base = base
        .and_then(Value::as_str)
        .map(|base| base.trim_end_matches('/'));
    let base = base.filter(|base| !is_usual(prefix, base));
    let (provider, name, base, pin) = match home {
        Home::Nowhere(reason) => return Err(reason.to_owned()),
        Home::Maker("openai") if base.is_some() => server(prefix, base.unwrap_or_default(), found),
        Home::Maker(provider) => (
            provider,
            None,
            base.map(|base| address(base, "", found)),
            Pin::None,
        ),
        Home::Vendor(name) => (
            name,
            None,
            base.map(|base| address(base, "", found)),
            Pin::Backend,
        ),
        Home::OpenRouter => (
            "openrouter",
            None,
            base.map(|base| address(base, "", found)),
            Pin::Backend,
        ),
        Home::Local(usual) => {
            let ending = if prefix.starts_with("ollama") {
                "/v1"
            } else {
                ""
            };
            let base = address(base.unwrap_or(usual), ending, found);
            ("local", None, Some(base), Pin::None)
        }
        Home::Azure => {
            let base = base.unwrap_or("os.environ/AZURE_API_BASE");
            let base = base.split_once("/openai").map_or(base, |(host, _)| host);
            let base = address(base, "/openai/v1", found);
            found.changed(
                format!("{place} (azure/{model})"),
                "it becomes a key with `provider: openai_compatible` at Azure's address `/openai/v1`, \
                 which takes API keys; Entra ID is not supported",
            );
            (
                "openai_compatible",
                Some("azure".to_owned()),
                Some(base),
                Pin::Backend,
            )
        }
        Home::Compatible => {
            let base = base.ok_or_else(|| {
                format!("the address of `{prefix}` is not known here; add `api_base` with its OpenAI-compatible address")
            })?;
            server(prefix, base, found)
        }
    };
    let key = key(
        params,
        provider,
        name.as_deref(),
        usual_variable,
        place,
        found,
    );
    let backend = ImportedBackend {
        provider: provider.to_owned(),
        name,
        key,
        base,
        models: Vec::new(),
        takes_all: false,
    };
    Ok((backend, pin))
}

type Server = (&'static str, Option<String>, Option<String>, Pin);

/// A server in OpenAI's format: the owner's, or a vendor's.
fn server(prefix: &str, base: &str, found: &mut ImportFindings) -> Server {
    let is_own = variable(base).is_none() && homes::is_own_host(base);
    let reference = address(base, "", found);
    if is_own {
        return ("local", None, Some(reference), Pin::None);
    }
    let name = match prefix {
        "openai" | "openai_like" | "custom_openai" => vendor_name(base),
        prefix => prefix.to_owned(),
    };
    (
        "openai_compatible",
        Some(backend_name(&name)),
        Some(reference),
        Pin::Backend,
    )
}

/// A name for the server at an address.
fn vendor_name(base: &str) -> String {
    if let Some(name) = variable(base) {
        return name
            .trim_end_matches("_API_BASE")
            .trim_end_matches("_URL")
            .to_owned();
    }
    let host = homes::host_of(base);
    let labels: Vec<&str> = host
        .split('.')
        .filter(|label| !matches!(*label, "api" | "www"))
        .collect();
    labels.first().map_or("server", |label| *label).to_owned()
}

/// A text as the name of a backend.
fn backend_name(text: &str) -> String {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() || ".-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = text
        .to_ascii_lowercase()
        .chars()
        .map(fits)
        .take(36)
        .collect();
    let is_taken = matches!(
        name.as_str(),
        "bardo"
            | "direct"
            | "local"
            | "blockrun"
            | "openrouter"
            | "venice"
            | "bankr"
            | "openai"
            | "anthropic"
            | "google"
            | "gemini"
            | "deepseek"
            | ""
    );
    match is_taken {
        true => format!("my-{name}"),
        false => name,
    }
}

/// Whether an address is the usual one of its service, which needs not be written.
fn is_usual(prefix: &str, base: &str) -> bool {
    let host = homes::host_of(base);
    matches!(
        (prefix, host),
        ("openai", "api.openai.com")
            | ("anthropic", "api.anthropic.com")
            | ("gemini", "generativelanguage.googleapis.com")
            | ("deepseek", "api.deepseek.com")
            | ("openrouter", "openrouter.ai")
    )
}

/// An address with its ending, or the reference to the variable that has it.
fn address(base: &str, ending: &str, found: &mut ImportFindings) -> String {
    match variable(base) {
        Some(name) => {
            found.address(name);
            format!("${{{name}}}{ending}")
        }
        None if base.ends_with(ending) => base.to_owned(),
        None => format!("{base}{ending}"),
    }
}

/// The reference to the key of an entry. A key that the file contains is not copied.
fn key(
    params: &Map<String, Value>,
    provider: &str,
    name: Option<&str>,
    usual: &str,
    place: &str,
    found: &mut ImportFindings,
) -> Option<String> {
    let written = params
        .get("api_key")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_local = provider == "local";
    if let Some(name) = variable(written) {
        return Some(found.secret(name));
    }
    let is_dummy = matches!(
        written.to_ascii_lowercase().as_str(),
        "" | "none"
            | "null"
            | "empty"
            | "dummy"
            | "fake"
            | "fake-key"
            | "anything"
            | "sk-1234"
            | "ollama"
            | "na"
            | "not-needed"
    );
    if is_local && is_dummy {
        return None;
    }
    let made = name
        .unwrap_or(provider)
        .to_ascii_uppercase()
        .replace(['-', '.'], "_");
    let made = format!("{made}_API_KEY");
    // The key of a maker is not for a server at another address.
    let is_elsewhere = is_local || (provider == "openai_compatible" && name != Some("azure"));
    let name = if usual.is_empty() || is_elsewhere {
        made.as_str()
    } else {
        usual
    };
    if !written.is_empty() {
        found.changed(
            format!("{place}.api_key"),
            format!("the file contains the key itself, which is not copied; put it into the variable {name}"),
        );
    }
    Some(found.secret(name))
}
