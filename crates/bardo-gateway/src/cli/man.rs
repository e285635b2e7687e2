//! `man`: manual pages from the command line's own help.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use serde_json::json;

use super::{CliFailure, say};

/// Options of `man`.
#[derive(Args)]
pub(super) struct ManArgs {
    /// Verb to print the page of, such as `keys create` [default: the page of the program].
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
    /// Write the pages of all verbs into this folder instead.
    #[arg(long, value_name = "FOLDER", conflicts_with = "verb")]
    out: Option<PathBuf>,
    /// Print the written files, or errors, as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ManArgs, mut program: Command) -> Result<(), CliFailure> {
    program.build();
    if let Some(folder) = &args.out {
        let files = write_all(&program, folder)?;
        if args.json {
            say(json!({ "folder": folder, "files": files }).to_string());
        } else {
            say(format!("{} pages in {}", files.len(), folder.display()));
        }
        return Ok(());
    }
    let mut page = &program;
    for name in &args.verb {
        page = page.find_subcommand(name).ok_or_else(|| {
            CliFailure::new(
                "usage",
                format!("there is no verb `{}`", args.verb.join(" ")),
            )
        })?;
    }
    say(String::from_utf8_lossy(&render(page)?).trim_end());
    Ok(())
}

/// The name of a page: the verbs with hyphens between them.
fn name(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

fn render(command: &Command) -> Result<Vec<u8>, CliFailure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .source(concat!("bardo-gateway ", env!("CARGO_PKG_VERSION")))
        .manual("Bardo Inference")
        .render(&mut page)
        .map_err(|error| error.to_string())?;
    Ok(page)
}

fn write_all(command: &Command, folder: &Path) -> Result<Vec<String>, CliFailure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create the folder {}: {error}", folder.display()))?;
    let file = format!("{}.1", name(command));
    let path = folder.join(&file);
    std::fs::write(&path, render(command)?)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let mut files = vec![file];
    for verb in command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
    {
        files.extend(write_all(verb, folder)?);
    }
    Ok(files)
}
