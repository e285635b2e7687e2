//! `init`: writes a first configuration from what this machine has. It refers to variables and copies
//! no secret.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use clap::Args;
use serde_json::{Value, json};

use super::{CliFailure, counted, environment, import, say};
use crate::{assemble, config, refresh, serve};

/// The time limit for a local server.
const PATIENCE: Duration = Duration::from_millis(700);
/// The addresses where local servers listen, and their programs.
const LOCAL: [(&str, &str); 4] = [
    ("http://127.0.0.1:11434/v1", "Ollama"),
    ("http://127.0.0.1:8000/v1", "vLLM"),
    ("http://127.0.0.1:1234/v1", "LM Studio"),
    ("http://127.0.0.1:8080/v1", "llama.cpp"),
];

/// Options of `init`.
#[derive(Args)]
pub(super) struct InitArgs {
    /// File to write.
    #[arg(short, long, value_name = "FILE", default_value = "bardo.yaml")]
    out: PathBuf,
    /// Answer every question with yes.
    #[arg(short, long)]
    yes: bool,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Charge callers for your own API keys. Callers then need a key with a deposit.
    #[arg(long)]
    bill: bool,
    /// Address of a local server to look for [default: the usual ones of Ollama, vLLM, LM Studio and
    /// llama.cpp]. Repeat for several.
    #[arg(long = "local", value_name = "URL")]
    locals: Vec<String>,
    /// Look for no local server.
    #[arg(long, conflicts_with = "locals")]
    no_local: bool,
    /// Print JSON. Needs --yes.
    #[arg(long, requires = "yes")]
    json: bool,
}

/// A key that the environment has.
struct FoundKey {
    /// Value of `provider`, or the name of the section.
    name: String,
    /// The section is below `providers`, and not a key of `direct`.
    is_section: bool,
    /// Reference to the variable.
    reference: String,
}

/// A server that answered with its list of models.
struct FoundServer {
    url: String,
    title: String,
    models: usize,
}

pub(super) fn run(args: &InitArgs) -> Result<(), CliFailure> {
    if args.out.exists() && !args.force {
        return Err(CliFailure::new(
            "exists",
            format!(
                "{} exists; name another file with --out, or replace it with --force",
                args.out.display()
            ),
        ));
    }
    if !args.yes && !std::io::stdin().is_terminal() {
        return Err(CliFailure::new(
            "usage",
            "`init` asks questions, and standard input is no terminal; add --yes",
        ));
    }
    let environment = environment();
    let mut keys = keys(&environment);
    let mut servers = servers(args)?;
    if !args.yes {
        keys.retain(|key| ask(&format!("Use {} for {}?", &key.reference[4..], key.name)));
        servers.retain(|server| {
            ask(&format!(
                "Use {} at {} ({} models)?",
                server.title, server.url, server.models
            ))
        });
    }
    let bills = args.bill || (!args.yes && ask_no("Charge callers for your own keys?"));
    if keys.is_empty() && servers.is_empty() {
        return Err(CliFailure::new(
            "no_provider",
            "there is nothing to configure: no API key is in the environment and no local server answered. Set a \
             variable such as OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY and run `init` again, or try \
             `bardo-gateway serve --sandbox`, which needs no key",
        ));
    }
    let text = yaml(&keys, &servers, bills);
    let loaded = config::of_text(&text, &environment)?;
    assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    import::write(&args.out, &text, args.force)?;
    let out = args.out.display();
    let (check, serve) = match args.out.to_str() {
        Some("bardo.yaml") => (
            "bardo-gateway doctor".to_owned(),
            "bardo-gateway serve".to_owned(),
        ),
        _ => (
            format!("bardo-gateway doctor --config {out}"),
            format!("bardo-gateway serve --config {out}"),
        ),
    };
    if args.json {
        say(json!({
            "ok": true,
            "file": args.out,
            "keys": keys.iter().map(|key| json!({ "provider": key.name, "variable": key.reference[4..] })).collect::<Vec<_>>(),
            "servers": servers.iter().map(|one| json!({ "url": one.url, "program": one.title, "models": one.models })).collect::<Vec<_>>(),
            "next": [check, serve],
        })
        .to_string());
        return Ok(());
    }
    say(format!(
        "wrote {out}: {} of the environment, {}",
        counted(keys.len(), "key"),
        counted(servers.len(), "local server")
    ));
    say(format!("next: {check}\nthen: {serve}"));
    Ok(())
}

/// The keys that other tools use too, as the start without a file finds them.
fn keys(environment: &[(String, String)]) -> Vec<FoundKey> {
    let found = config::credentials(environment);
    let providers = &found["providers"];
    let direct = providers["direct"]["keys"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let direct = direct.map(|key| FoundKey {
        name: text(&key["provider"]),
        is_section: false,
        reference: text(&key["api_key"]),
    });
    let sections = providers.as_object().into_iter().flatten();
    let sections = sections.filter(|(name, _)| *name != "direct");
    let sections = sections.map(|(name, section)| FoundKey {
        name: name.clone(),
        is_section: true,
        reference: text(&section["api_key"]),
    });
    direct.chain(sections).collect()
}

/// The local servers that answer with a list of models within the time limit.
fn servers(args: &InitArgs) -> Result<Vec<FoundServer>, CliFailure> {
    let places: Vec<(String, String)> = match (args.no_local, args.locals.as_slice()) {
        (true, _) => Vec::new(),
        (false, []) => LOCAL
            .map(|(url, title)| (url.to_owned(), title.to_owned()))
            .into(),
        (false, urls) => urls
            .iter()
            .map(|url| (url.clone(), "a local server".to_owned()))
            .collect(),
    };
    let catalog = Catalog::embedded();
    let transport = Transport::new(PATIENCE);
    let looked = serve::runtime()?.block_on(async {
        let looked = places.into_iter().map(|(url, title)| async {
            let settings = json!({ "providers": { "local": { "base_url": url } } });
            let loaded = config::embedded("local", settings).map_err(CliFailure::from)?;
            let backends = assemble::backends(&loaded.config).map_err(CliFailure::config)?;
            let endpoint = &backends.first().ok_or("there is no server")?.endpoint;
            let list = refresh::read(&transport, endpoint, &catalog);
            let answer = tokio::time::timeout(PATIENCE, list).await;
            Ok::<_, CliFailure>(
                answer
                    .ok()
                    .and_then(Result::ok)
                    .map(|(list, _)| FoundServer {
                        url,
                        title,
                        models: list.models.len(),
                    }),
            )
        });
        futures_util::future::try_join_all(looked).await
    })?;
    Ok(looked.into_iter().flatten().collect())
}

/// Asks a question whose usual answer is yes.
fn ask(question: &str) -> bool {
    !matches!(answer(question, "[Y/n]").as_str(), "n" | "no")
}

/// Asks a question whose usual answer is no.
fn ask_no(question: &str) -> bool {
    matches!(answer(question, "[y/N]").as_str(), "y" | "yes")
}

fn answer(question: &str, choice: &str) -> String {
    let mut out = std::io::stdout().lock();
    let _ = write!(out, "{question} {choice} ");
    let _ = out.flush();
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    line.trim().to_ascii_lowercase()
}

/// The file with its comments.
fn yaml(keys: &[FoundKey], servers: &[FoundServer], bills: bool) -> String {
    let mut out = String::from(
        "# Made by `bardo-gateway init`. Secrets stay in the environment: `env:NAME` refers to a variable.\n\
         # All settings with their defaults: bardo-gateway config show. Their meaning: docs/config.md.\n\n\
         server:\n\
         \x20 listen: 127.0.0.1:8402          # for clients; another address than loopback needs a key\n\
         \x20 admin_listen: 127.0.0.1:8403    # for operators: status, metrics and the admin API\n\n\
         # Backends, in the order in which they are tried.\n\
         providers:\n",
    );
    let bill = if bills { ", bill: true" } else { "" };
    let mut direct = Vec::new();
    for key in keys.iter().filter(|key| !key.is_section) {
        direct.push(format!(
            "{{ provider: {}, api_key: \"{}\"{bill} }}",
            key.name, key.reference
        ));
    }
    // `providers.local` is one server; others are keys.
    for server in servers.iter().skip(1) {
        direct.push(format!(
            "{{ provider: local, base_url: {} }}   # {}",
            Value::from(server.url.as_str()),
            server.title
        ));
    }
    if !direct.is_empty() {
        out.push_str("  direct:\n    keys:\n");
        for key in direct {
            let _ = writeln!(out, "      - {key}");
        }
    }
    if let Some(server) = servers.first() {
        let _ = writeln!(
            out,
            "  local:                          # {}\n    base_url: {}",
            server.title,
            Value::from(server.url.as_str())
        );
    }
    for key in keys.iter().filter(|key| key.is_section) {
        let _ = writeln!(out, "  {}:\n    api_key: \"{}\"", key.name, key.reference);
        if !bills {
            out.push_str("    bill: false                   # you pay; callers are not charged\n");
        }
    }
    out.push_str(match bills {
        true => {
            "\n# Callers pay. Create a key with money: bardo-gateway keys create --deposit-usd 10\n\
             inference:\n  spread_pct: 20                  # added to the provider's price\n"
        }
        false => "\n# Names of your own, and other models if no backend of the first one answers:\n\
             # inference:\n#   aliases:   { fast: gemini-3-flash }\n#   fallbacks: { claude-opus-5-5: [gpt-6-sol] }\n",
    });
    out
}
