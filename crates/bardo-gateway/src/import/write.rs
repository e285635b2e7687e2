//! Writes the new configuration as YAML with comments.

use std::fmt::Write as _;

use super::models::{Deployments, ImportedBackend};
use super::settings::ImportedSettings;
use super::{Fate, ImportDifference};

/// The whole file.
pub(super) fn yaml(
    deployments: &Deployments,
    settings: &ImportedSettings,
    bills: bool,
    differences: &[ImportDifference],
) -> String {
    let mut out = String::from(
        "# Made by `bardo-gateway import litellm`. Settings that are absent have their defaults, which\n\
         # `bardo-gateway config show` prints. The differences to LiteLLM are at the end.\n\n",
    );
    server(&mut out, settings);
    providers(&mut out, deployments, bills);
    inference(&mut out, deployments, settings, bills);
    catalog(&mut out, deployments);
    if !settings.upstream.is_empty() {
        out.push_str("# Limits towards providers.\nupstream:\n");
        for (name, value) in &settings.upstream {
            let _ = writeln!(out, "  {name}: {value}");
        }
        if !settings.breaker.is_empty() {
            let members: Vec<String> = pairs(&settings.breaker);
            let _ = writeln!(out, "  breaker: {{ {} }}", members.join(", "));
        }
        out.push('\n');
    }
    if let Some(ttl) = &settings.cache_ttl {
        let _ = write!(
            out,
            "# Lifetime of stored answers.\ncache:\n  hash: {{ ttl: {ttl} }}\n\n"
        );
    }
    for line in &settings.suggestions {
        let _ = writeln!(out, "# {line}");
    }
    if !settings.suggestions.is_empty() {
        out.push('\n');
    }
    comments(&mut out, differences);
    out
}

fn pairs(members: &[(&'static str, String)]) -> Vec<String> {
    members
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

fn server(out: &mut String, settings: &ImportedSettings) {
    out.push_str(
        "# LiteLLM listens on 0.0.0.0:4000. An address that other machines reach needs a key.\n\
         # server: { listen: \"0.0.0.0:4000\" }\n",
    );
    let mut members = settings.server.clone();
    if let Some(token) = &settings.admin_token {
        members.push(("admin_token", quoted(token)));
    }
    if !members.is_empty() {
        out.push_str("server:\n");
        for (name, value) in &members {
            let _ = writeln!(out, "  {name}: {value}");
        }
    }
    out.push('\n');
    if let Some(key) = &settings.owner_key {
        let _ = write!(
            out,
            "# The master key sends requests too, which are never charged.\nauth:\n  keys:\n    - {{ id: master, key: {} }}\n\n",
            quoted(key)
        );
    }
}

fn providers(out: &mut String, deployments: &Deployments, bills: bool) {
    out.push_str("# Keys and servers, in the order in which they are tried.\nproviders:\n");
    let is_router = |one: &&ImportedBackend| one.provider == "openrouter";
    let direct: Vec<&ImportedBackend> = deployments
        .backends
        .iter()
        .filter(|one| !is_router(one))
        .collect();
    if !direct.is_empty() {
        out.push_str("  direct:\n    keys:\n");
        for backend in direct {
            let _ = writeln!(out, "      - provider: {}", backend.provider);
            members(out, backend, "        ", bills);
        }
    }
    if let Some(backend) = deployments.backends.iter().find(is_router) {
        out.push_str("  openrouter:\n");
        members(out, backend, "    ", bills);
    }
    out.push('\n');
}

fn members(out: &mut String, backend: &ImportedBackend, indent: &str, bills: bool) {
    let is_local = backend.provider == "local";
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{indent}{name}: {value}");
    };
    if let Some(name) = &backend.name {
        line("name", &quoted(name));
    }
    if let Some(base) = &backend.base {
        line("base_url", &quoted(base));
    }
    if let Some(key) = &backend.key {
        line("api_key", &quoted(key));
    }
    if !backend.takes_all {
        let models: Vec<String> = backend.models.iter().map(|model| quoted(model)).collect();
        line("models", &format!("[{}]", models.join(", ")));
    }
    match (bills, is_local) {
        (true, true) => {
            line("bill", "true");
            line("price", "{ input_per_million: 0, output_per_million: 0 }");
        }
        (true, false) => line("bill", "true"),
        (false, _) if backend.provider == "openrouter" => line("bill", "false"),
        (false, _) => {}
    }
}

fn inference(
    out: &mut String,
    deployments: &Deployments,
    settings: &ImportedSettings,
    bills: bool,
) {
    let aliases: Vec<(&str, &str)> = deployments
        .names
        .iter()
        .filter(|named| !named.is_own)
        .map(|named| (named.name.as_str(), named.targets[0].as_str()))
        .chain(
            settings
                .aliases
                .iter()
                .map(|(name, model)| (name.as_str(), model.as_str())),
        )
        .collect();
    out.push_str("inference:\n");
    if bills {
        out.push_str("  spread_pct: 0                 # charge what the provider charges\n");
    } else if aliases.is_empty() && settings.fallbacks.is_empty() {
        out.push_str("  mode: scored\n");
    }
    if !aliases.is_empty() {
        out.push_str("  # Names that clients send, and the models that they mean.\n  aliases:\n");
        for (name, model) in aliases {
            let _ = writeln!(out, "    {}: {}", quoted(name), quoted(model));
        }
    }
    if !settings.fallbacks.is_empty() {
        out.push_str("  # Other models, if no backend of the first one answers.\n  fallbacks:\n");
        for (name, others) in &settings.fallbacks {
            let others: Vec<String> = others.iter().map(|other| quoted(other)).collect();
            let _ = writeln!(out, "    {}: [{}]", quoted(name), others.join(", "));
        }
    }
    out.push('\n');
}

fn catalog(out: &mut String, deployments: &Deployments) {
    if deployments.corrections.is_empty() {
        return;
    }
    out.push_str("# Prices of the file, in USD per million tokens.\ncatalog:\n  models:\n");
    for row in &deployments.corrections {
        let _ = writeln!(out, "    - id: {}", quoted(&row.id));
        let _ = writeln!(out, "      backend: {}", quoted(&row.backend));
        if let Some(like) = &row.like {
            let _ = writeln!(out, "      like: {}", quoted(like));
        }
        if !row.price.is_empty() {
            let _ = writeln!(out, "      price: {{ {} }}", pairs(&row.price).join(", "));
        }
    }
    out.push('\n');
}

fn comments(out: &mut String, differences: &[ImportDifference]) {
    for (fate, title) in [
        (Fate::Omitted, "# Omitted:"),
        (Fate::Changed, "# Different here:"),
    ] {
        let mut of_fate = differences.iter().filter(|one| one.fate == fate).peekable();
        if of_fate.peek().is_none() {
            continue;
        }
        let _ = writeln!(out, "{title}");
        for one in of_fate {
            // A name of the file must not end the comment.
            let line = format!("{}: {}", one.place, one.reason);
            let line: String = line.chars().filter(|letter| !letter.is_control()).collect();
            let _ = writeln!(out, "#  - {line}");
        }
    }
}

/// A text as YAML: plain where that is safe, else in quotes.
fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    match is_plain {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}
