//! The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bardo_types::ids::AccountId;
use bardo_types::money::MicroUsd;
use clap::{Args, Parser, Subcommand};
use serde_json::json;

use crate::config::units::Span;
use crate::config::{self, Config};
use crate::{assemble, serve, simulation};

mod balance;
mod keys;
mod route;

#[derive(Parser)]
#[command(
    name = "bardo-gateway",
    version,
    about = "An LLM inference gateway",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serve callers.
    Serve(ServeArgs),
    /// Serve simulated providers alone, without a gateway before them.
    Sandbox(SandboxArgs),
    /// Check the configuration and say what it amounts to.
    Check(Common),
    /// Show the configuration in force, or its schema.
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Show what models are served.
    Models {
        #[command(subcommand)]
        verb: ModelsVerb,
    },
    /// Say who would answer a request, and why.
    Route {
        #[command(subcommand)]
        verb: route::RouteVerb,
    },
    /// Make, list, revoke and rotate callers' keys.
    Keys {
        #[command(subcommand)]
        verb: keys::KeysVerb,
    },
    /// Show, fill and check accounts.
    Balance {
        #[command(subcommand)]
        verb: balance::BalanceVerb,
    },
    /// List requests whose outcome is unknown, and decide on them.
    Reconcile(balance::Reconcile),
}

#[derive(Subcommand)]
enum ConfigVerb {
    /// Each setting, its value and where it comes from; secrets are not shown.
    Show(Common),
    /// The JSON schema of a config file.
    Schema,
}

#[derive(Subcommand)]
enum ModelsVerb {
    /// The models of the configured backends, by the snapshot in this binary.
    List(Common),
}

/// What all verbs understand.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// The config file (TOML or YAML).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Answer as JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where data lives [default: ~/.bardo; of `serve --sandbox` a temporary folder].
    #[arg(long, value_name = "FOLDER", env = "BARDO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// `serve`.
#[derive(Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Let simulated providers answer; needs no configuration and no key.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Where callers connect (`server.listen`).
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where operators connect (`server.admin_listen`).
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) admin_listen: Option<SocketAddr>,
}

/// `sandbox`.
#[derive(Args)]
pub(crate) struct SandboxArgs {
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8410")]
    pub(crate) listen: SocketAddr,
    /// The same seed gives the same answers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Answer as JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

fn usd(text: &str) -> Result<MicroUsd, String> {
    MicroUsd::from_usd(text).map_err(|error| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0)
}

fn account(text: &str) -> Result<AccountId, String> {
    AccountId::parse(text).map_err(|error| error.to_string())
}

/// Writes one line to standard output; a closed pipe is nobody's failure.
pub(crate) fn say(line: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line.as_ref());
    let _ = out.flush();
}

fn complain(message: impl AsRef<str>) -> ExitCode {
    let _ = writeln!(std::io::stderr().lock(), "error: {}", message.as_ref());
    ExitCode::FAILURE
}

/// Parses the command line and does what it says.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match cli.verb {
        Verb::Serve(args) => serve::run(&args),
        Verb::Sandbox(args) => simulation::run_alone(&args),
        Verb::Check(common) => check(&common),
        Verb::Config {
            verb: ConfigVerb::Show(common),
        } => show(&common),
        Verb::Config {
            verb: ConfigVerb::Schema,
        } => {
            let schema = schemars::schema_for!(Config);
            say(serde_json::to_string_pretty(&schema).unwrap_or_default());
            Ok(())
        }
        Verb::Models {
            verb: ModelsVerb::List(common),
        } => list_models(&common),
        Verb::Route { verb } => route::run(verb),
        Verb::Keys { verb } => keys::run(verb),
        Verb::Balance { verb } => balance::run(verb),
        Verb::Reconcile(args) => balance::reconcile(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => complain(message),
    }
}

/// The process's environment, as far as it is text.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn check(common: &Common) -> Result<(), String> {
    let loaded = config::load(common.config.as_deref(), &environment())
        .map_err(|error| error.to_string())?;
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let file = loaded.file.as_ref().map_or_else(
        || "no file; defaults and environment".into(),
        |file| file.display().to_string(),
    );
    let names: Vec<&str> = backends
        .iter()
        .map(|backend| backend.endpoint.name.as_str())
        .collect();
    let notices = assemble::notices(&loaded.config);
    if common.json {
        let mut told = json!({ "ok": true, "file": file, "providers": names });
        if !notices.is_empty() {
            told["notices"] = json!(notices);
        }
        say(told.to_string());
    } else {
        let list = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        say(format!(
            "ok: {file}\nproviders, in the order in which they are asked: {list}"
        ));
        notices
            .iter()
            .for_each(|notice| say(format!("note: {notice}")));
    }
    Ok(())
}

fn show(common: &Common) -> Result<(), String> {
    let loaded = config::load(common.config.as_deref(), &environment())
        .map_err(|error| error.to_string())?;
    for (key, value, source) in loaded.layers.effective() {
        if common.json {
            say(json!({ "key": key, "value": value, "source": source }).to_string());
        } else {
            say(format!("{key} = {value}  # {source}"));
        }
    }
    Ok(())
}

fn list_models(common: &Common) -> Result<(), String> {
    let loaded = config::load(common.config.as_deref(), &environment())
        .map_err(|error| error.to_string())?;
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let catalog = std::sync::Arc::new(bardo_router::Catalog::embedded());
    let world = assemble::world(
        &loaded.config,
        &backends,
        &catalog,
        &assemble::LiveLists::new(),
        false,
    );
    for entry in world.roster().listed() {
        let served = world.roster().resolve(&entry.id).unwrap_or_default();
        let by: Vec<&str> = served
            .iter()
            .map(|candidate| world.endpoints[candidate.backend].name.as_str())
            .collect();
        if common.json {
            say(json!({ "id": entry.id, "vendor": entry.vendor, "providers": by }).to_string());
        } else {
            say(format!("{:<32} {}", entry.id, by.join(", ")));
        }
    }
    Ok(())
}
