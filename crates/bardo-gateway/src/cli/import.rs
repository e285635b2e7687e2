//! `import litellm`: converts a configuration, and creates its keys.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliFailure, Common, environment, note, say, text};
use crate::import::{self, Fate, ImportDifference, Imported, VirtualKey};
use crate::operator::{KeySpec, Unseen};
use crate::stores::{self, DataFolderKind};

#[derive(Subcommand)]
pub(super) enum ImportVerb {
    /// Convert a configuration of LiteLLM's proxy, and name every difference.
    Litellm(LitellmArgs),
}

#[derive(Args)]
pub(super) struct LitellmArgs {
    /// LiteLLM's configuration file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the configuration into this file [default: print it].
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out if it exists.
    #[arg(long, requires = "out")]
    force: bool,
    /// Create the virtual keys of this file, the answer to GET /key/list?return_full_object=true.
    /// Their texts are new: LiteLLM stores only hashes.
    #[arg(long, value_name = "FILE", requires = "out")]
    keys: Option<PathBuf>,
    /// Data folder of the new keys [default: ~/.bardo].
    #[arg(long, value_name = "FOLDER", env = "BARDO_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON: the file, the differences, the variables to set and the new keys.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(verb: ImportVerb) -> Result<(), CliFailure> {
    let ImportVerb::Litellm(args) = verb;
    let environment = environment();
    let imported = import::litellm(&read(&args.file)?, args.keys.is_some(), &environment)
        .map_err(|reason| format!("{}: {reason}", args.file.display()))?;
    let mut differences = imported.differences.clone();
    let keys = match &args.keys {
        None => Vec::new(),
        Some(file) => {
            let read = import::virtual_keys(&read(file)?, &imported.models, SystemClock.now_ms());
            let (keys, told) = read.map_err(|reason| format!("{}: {reason}", file.display()))?;
            differences.extend(told);
            keys
        }
    };
    if let Some(out) = &args.out {
        write(out, &imported.text, args.force)?;
    }
    let made = create(&args, &keys, &mut differences)?;
    match (args.json, &args.out) {
        (true, _) => say(summary(&args, &imported, &differences, &made).to_string()),
        (false, None) => {
            say(imported.text.trim_end());
            tell(&imported, &differences, note);
        }
        (false, Some(out)) => {
            say(format!(
                "wrote {} with {} models",
                out.display(),
                imported.models.len()
            ));
            for key in &made {
                say(format!(
                    "key {}: {} (account {})",
                    text(key, "name"),
                    text(key, "key"),
                    text(key, "account")
                ));
            }
            if !made.is_empty() {
                say(
                    "These texts are shown once. Give them to the clients in place of LiteLLM's keys.",
                );
            }
            tell(&imported, &differences, |line| say(line));
            say(format!(
                "next: bardo-gateway check --config {}",
                out.display()
            ));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CliFailure> {
    let text = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    text.map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

/// Writes a file that its owner alone reads.
pub(super) fn write(path: &Path, text: &str, replaces: bool) -> Result<(), CliFailure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliFailure::new(
            "exists",
            format!(
                "{} exists; name another file, or replace it with --force",
                path.display()
            ),
        ),
        _ => format!("cannot write {}: {error}", path.display()).into(),
    })
}

/// Creates the keys that do not exist yet, each with an account of its own.
fn create(
    args: &LitellmArgs,
    keys: &[VirtualKey],
    differences: &mut Vec<ImportDifference>,
) -> Result<Vec<Value>, CliFailure> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let common = Common {
        config: args.out.clone(),
        json: args.json,
        data_dir: args.data_dir.clone(),
    };
    let mut omitted = Vec::new();
    let (made, _) = stores::with_operator(&common, async |operator| {
        let known = operator.list_keys(None).await?;
        let is_known = |name: &str| {
            let mut active = known.iter().filter(|key| key["state"] == "active");
            active.any(|key| key["name"] == name)
        };
        let mut made = Vec::new();
        for key in keys {
            if is_known(&key.name) {
                omitted.push(key.name.clone());
                continue;
            }
            let spec = KeySpec {
                name: key.name.clone(),
                account: None,
                unseen: Unseen::Refuse,
                scopes: key.scopes.clone(),
                tier: None,
                deposit: Some(key.deposit).filter(|&amount| amount > MicroUsd::ZERO),
                expires_in: key.expires_in,
            };
            made.push(operator.create_key(spec).await?);
        }
        Ok(made)
    })?;
    differences.extend(omitted.into_iter().map(|name| ImportDifference {
        place: format!("key `{name}`"),
        fate: Fate::Omitted,
        reason: "an active key of this name exists already".to_owned(),
    }));
    Ok(made)
}

fn summary(
    args: &LitellmArgs,
    imported: &Imported,
    differences: &[ImportDifference],
    keys: &[Value],
) -> Value {
    let mut told = json!({
        "ok": true,
        "file": args.out,
        "models": imported.models,
        "skipped": imported.skipped,
        "differences": differences.iter().map(ImportDifference::json).collect::<Vec<_>>(),
        "set": imported.unset,
        "keys": keys,
        "sandbox": args.keys.is_some().then(|| kind(args) == Some(DataFolderKind::Sandbox)),
    });
    if args.out.is_none() {
        told["config"] = json!(imported.text);
    }
    told
}

fn kind(args: &LitellmArgs) -> Option<DataFolderKind> {
    let folder = stores::data_folder(args.data_dir.as_deref()).ok()?;
    DataFolderKind::of(&folder).ok()?
}

/// Says for people what differs and what to set.
fn tell(imported: &Imported, differences: &[ImportDifference], line: impl Fn(&str)) {
    for (fate, title) in [
        (Fate::Omitted, "omitted:"),
        (Fate::Changed, "different here:"),
    ] {
        let of_fate: Vec<&ImportDifference> =
            differences.iter().filter(|one| one.fate == fate).collect();
        if !of_fate.is_empty() {
            line(title);
        }
        for one in of_fate {
            line(&format!("  {}: {}", one.place, one.reason));
        }
    }
    if !imported.unset.is_empty() {
        line(&format!(
            "set before the start: {}",
            imported.unset.join(", ")
        ));
    }
}
