//! The command line. Exit codes: 0 done, 1 failed, 2 wrong usage.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bardo_types::money::MicroUsd;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use serde_json::{Value, json};

pub(crate) use self::client::AdminClient;
pub(crate) use self::failure::CliFailure;
use crate::config::units::Span;
use crate::config::{self, Loaded};
use crate::stores::DataFolderKind;
use crate::{serve, simulation};

mod balance;
mod cache;
mod check;
mod client;
mod demo;
mod doctor;
mod failure;
mod health;
mod import;
mod init;
mod keys;
mod man;
mod models;
mod route;
mod simulate;
mod top;
mod usage;

#[derive(Parser)]
#[command(
    name = "bardo-gateway",
    version,
    about = "Serve one LLM API in front of many providers"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Start the gateway.
    Serve(ServeArgs),
    /// Start the simulated providers without a gateway.
    Sandbox(SandboxArgs),
    /// Play an agent's day against simulated providers and print its bill.
    Demo(demo::DemoArgs),
    /// Play a workload against simulated providers and print what each layer of caches saves.
    Simulate(simulate::SimulateArgs),
    /// Write a configuration file with the API keys of the environment and the servers of this
    /// machine.
    Init(init::InitArgs),
    /// Convert the configuration of another gateway.
    Import {
        #[command(subcommand)]
        verb: import::ImportVerb,
    },
    /// Validate the configuration and list its backends.
    Check(check::CheckArgs),
    /// Check that a gateway is ready. Exit status 0 if it is, else 1.
    Health(health::HealthArgs),
    /// Find faults of the configuration, the providers, the machine and the clients, with the line
    /// that mends each.
    Doctor(doctor::DoctorArgs),
    /// Watch a running server in the terminal: requests, spend, health, cache and accounts.
    Top(top::TopArgs),
    /// Show the configuration or its JSON schema.
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// List the models of the backends, and fetch their lists.
    Models {
        #[command(subcommand)]
        verb: models::ModelsVerb,
    },
    /// Explain how a request is routed.
    Route {
        #[command(subcommand)]
        verb: route::RouteVerb,
    },
    /// Create, list, show, change, rotate and revoke API keys.
    Keys {
        #[command(subcommand)]
        verb: Box<keys::KeysVerb>,
    },
    /// Show, fund and verify accounts.
    Balance {
        #[command(subcommand)]
        verb: balance::BalanceVerb,
    },
    /// Sum requests, tokens and costs over all accounts, by key, day, model and more.
    Usage(Box<usage::UsageArgs>),
    /// Show and remove the stored answers of the running server.
    Cache {
        #[command(subcommand)]
        verb: cache::CacheVerb,
    },
    /// List requests with an unknown outcome, and charge or release them.
    Reconcile(balance::ReconcileArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Shell to complete for.
        shell: Shell,
        /// Print errors as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print manual pages, or write them into a folder.
    Man(man::ManArgs),
}

#[derive(Subcommand)]
enum ConfigVerb {
    /// Print each setting with its value and its source. Secrets are redacted.
    Show(Common),
    /// Print the JSON schema of the configuration file.
    Schema {
        /// Print the schema of hints instead: the object `bardo` in a request.
        #[arg(long)]
        hints: bool,
        /// Print errors as JSON; the schema is JSON anyway.
        #[arg(long)]
        json: bool,
    },
}

/// Options of all verbs.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Configuration file (TOML or YAML).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON, one object per line. Errors are JSON too, on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Data folder [default: ~/.bardo; with `serve --sandbox` a temporary folder].
    #[arg(long, value_name = "FOLDER", env = "BARDO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// Options of `serve` and of verbs that read the configuration.
#[derive(Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Answer with simulated providers and play money. Needs no configuration and no API key.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Send simulated streams at full speed. By default they are slow enough to watch.
    #[arg(long, requires = "sandbox")]
    pub(crate) fast: bool,
    /// Sell requests to callers without a key, for play money on a simulated chain (x402).
    #[arg(long, requires = "sandbox")]
    pub(crate) payments: bool,
    /// Address for clients (`server.listen`).
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Address for operators: metrics and the admin API (`server.admin_listen`).
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) admin_listen: Option<SocketAddr>,
}

/// Options of `sandbox`.
#[derive(Args)]
pub(crate) struct SandboxArgs {
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8410", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Seed of the answers. The same seed gives the same answers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Send streams at full speed. By default they are slow enough to watch.
    #[arg(long)]
    pub(crate) fast: bool,
    /// Print JSON, one object per line. Errors are JSON too, on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An address with a port. A port or an address alone is refused with the line that works.
fn address(text: &str) -> Result<SocketAddr, String> {
    let error = match text.parse() {
        Ok(address) => return Ok(address),
        Err(_) => "an address is an IP address and a port, such as 127.0.0.1:8402",
    };
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.parse::<u16>().is_ok() {
        return Err(format!("the IP address is missing; write 127.0.0.1:{port}"));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        let whole = SocketAddr::new(ip, 8402);
        return Err(format!("the port is missing; write {whole}"));
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return Err(format!(
            "write 127.0.0.1:{port}; host names are not resolved"
        ));
    }
    Err(error.to_owned())
}

fn usd(text: &str) -> Result<MicroUsd, String> {
    MicroUsd::from_usd(text).map_err(|error| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0)
}

/// Writes one line to standard output. A closed pipe is no failure.
pub(crate) fn say(line: impl AsRef<str>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line.as_ref());
    let _ = out.flush();
}

/// A number with its noun, such as `1 key` and `2 keys`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A count with its noun, as [`counted`].
pub(crate) fn number_of(count: u64, noun: &str) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// A time with a space before the words of long units, such as `1 day 2h`.
fn spoken(time: Duration) -> String {
    let text = humantime::format_duration(time).to_string();
    let parts = text.split(' ').map(|part| {
        let unit = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let number = &part[..part.len() - unit.len()];
        let is_word = unit.len() > 2;
        let space = if is_word { " " } else { "" };
        format!("{number}{space}{unit}")
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Writes a note for people to standard error.
pub(crate) fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints what a verb did: as JSON with the kind of its store, or in words.
fn show(
    common: &Common,
    kind: DataFolderKind,
    value: &Value,
    words: impl FnOnce(&Value) -> String,
) {
    if common.json {
        let mut value = value.clone();
        value["sandbox"] = json!(kind == DataFolderKind::Sandbox);
        say(value.to_string());
    } else {
        say(words(value));
    }
}

/// The text of a member, or `-`.
fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or("-")
}

/// Rows with their columns aligned; the first row is the heading.
pub(crate) fn table(rows: &[impl AsRef<[String]>]) -> Vec<String> {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let widths = rows.iter().map(|row| row.as_ref()[column].chars().count());
            widths.max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells = row.as_ref().iter().zip(&widths);
            let line: Vec<String> = cells
                .map(|(cell, &width)| format!("{cell:<width$}"))
                .collect();
            line.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// Parses the command line and runs the verb.
pub(crate) fn run() -> ExitCode {
    let as_json = std::env::args_os()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if as_json && error.use_stderr() => {
            let text = error.render().to_string();
            let text = text.trim().trim_start_matches("error: ");
            return CliFailure::new("usage", text).print(true);
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match cli.verb {
        Verb::Serve(args) => serve::run(&args),
        Verb::Sandbox(args) => simulation::run_alone(&args),
        Verb::Demo(args) => demo::run(&args),
        Verb::Simulate(args) => simulate::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Import { verb } => import::run(verb),
        Verb::Check(args) => check::check(&args),
        Verb::Health(args) => health::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Top(args) => top::run(&args),
        Verb::Config {
            verb: ConfigVerb::Show(common),
        } => show_settings(&common),
        Verb::Config {
            verb: ConfigVerb::Schema { hints, .. },
        } => {
            let schema = match hints {
                true => bardo_engine::hints_schema(),
                false => bardo_config::schema(),
            };
            say(format!("{schema:#}"));
            Ok(())
        }
        Verb::Models { verb } => models::run(verb),
        Verb::Route { verb } => route::run(verb),
        Verb::Keys { verb } => keys::run(*verb),
        Verb::Balance { verb } => balance::run(verb),
        Verb::Usage(args) => usage::run(*args),
        Verb::Cache { verb } => cache::run(verb),
        Verb::Reconcile(args) => balance::reconcile(args),
        Verb::Completions { shell, .. } => {
            complete(shell);
            Ok(())
        }
        Verb::Man(args) => man::run(&args, Cli::command()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(as_json),
    }
}

fn complete(shell: Shell) {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    say(String::from_utf8_lossy(&script).trim_end());
}

/// The environment of the process. Variables that are not text are ignored.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The configuration of a verb: with `--sandbox` that of the simulated providers, which need not run.
fn load(common: &Common, sandbox: bool) -> Result<Loaded, CliFailure> {
    let loaded = if sandbox {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        config::embedded("sandbox", simulation::configuration(nowhere))
    } else {
        config::load(common.config.as_deref(), &environment())
    };
    Ok(loaded?)
}

fn show_settings(common: &Common) -> Result<(), CliFailure> {
    let loaded = config::load(common.config.as_deref(), &environment())?;
    for (key, value, source) in loaded.layers.effective() {
        if common.json {
            say(json!({ "key": key, "value": value, "source": source }).to_string());
        } else {
            say(format!("{key} = {value}  # {source}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_told_as_several() {
        assert_eq!(number_of(1, "hit"), "1 hit");
        assert_eq!(number_of(0, "hit"), "0 hits");
        assert_eq!(spoken(Duration::from_hours(24)), "1 day");
        assert_eq!(spoken(Duration::from_hours(50)), "2 days 2h");
        assert_eq!(spoken(Duration::from_millis(90_010)), "1m 30s 10ms");
    }

    /// Every verb and option with its help, one per line.
    fn helps(command: &clap::Command, path: &str, lines: &mut Vec<String>) {
        let help = |text: Option<&clap::builder::StyledStr>| {
            text.map_or_else(|| "NO HELP".to_owned(), ToString::to_string)
        };
        lines.push(format!("{path}: {}", help(command.get_about())));
        for option in command.get_arguments() {
            let name = option.get_long().map_or_else(
                || format!("<{}>", option.get_id()),
                |long| format!("--{long}"),
            );
            let is_shown = !option.is_hide_set();
            if is_shown && !matches!(option.get_id().as_str(), "help" | "version") {
                lines.push(format!("{path} {name}: {}", help(option.get_help())));
            }
        }
        for verb in command.get_subcommands() {
            helps(verb, &format!("{path} {}", verb.get_name()), lines);
        }
    }

    #[test]
    fn every_verb_and_option_has_its_help() {
        let mut lines = Vec::new();
        helps(&Cli::command(), "bardo-gateway", &mut lines);
        let text = lines.join("\n");
        assert!(!text.contains("NO HELP"), "{text}");
        insta::assert_snapshot!("help", text);
    }

    #[test]
    fn addresses_are_whole_or_refused_with_the_line_that_works() {
        assert_eq!(address("127.0.0.1:1").unwrap().port(), 1);
        assert_eq!(address("[::1]:1").unwrap().port(), 1);
        assert!(address("::1").unwrap_err().contains("[::1]:8402"));
        assert!(
            address("70000")
                .unwrap_err()
                .contains("IP address and a port")
        );
    }

    #[test]
    fn columns_of_a_table_are_aligned() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        let rows = [row("ID", "NAME"), row("longer", "x"), row("s", "")];
        assert_eq!(table(&rows), ["ID      NAME", "longer  x", "s"]);
    }
}
