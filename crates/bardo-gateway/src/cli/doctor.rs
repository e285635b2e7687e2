//! `doctor`: prints what was found, and the line that mends it.

use clap::Args;
use serde_json::json;

use super::{CliFailure, Common, counted, environment, say};
use crate::doctor::{self, DoctorFinding, FindingState};

/// Options of `doctor`.
#[derive(Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    common: Common,
    /// Call no provider.
    #[arg(long)]
    offline: bool,
    /// Show only what does not work.
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(args: &DoctorArgs) -> Result<(), CliFailure> {
    let found = doctor::examine(&args.common, &environment(), args.offline)?;
    let count = |state: FindingState| found.iter().filter(|one| one.state == state).count();
    let problems = count(FindingState::Problem);
    let is_shown = |one: &&DoctorFinding| !args.quiet || one.state >= FindingState::Warning;
    for finding in found.iter().filter(is_shown) {
        if args.common.json {
            say(finding.json().to_string());
            continue;
        }
        let state = finding.state.as_str();
        say(format!(
            "{state:<8} {}: {}: {}",
            finding.check, finding.subject, finding.text
        ));
        if let Some(line) = &finding.mend {
            say(format!("{:<8} -> {line}", ""));
        }
    }
    let counts = [
        FindingState::Ok,
        FindingState::Note,
        FindingState::Unknown,
        FindingState::Warning,
        FindingState::Problem,
    ];
    if args.common.json {
        say(json!({
            "ok": problems == 0,
            "passed": count(FindingState::Ok),
            "notes": count(FindingState::Note),
            "unknown": count(FindingState::Unknown),
            "warnings": count(FindingState::Warning),
            "problems": problems,
        })
        .to_string());
    } else {
        let words: Vec<String> = counts
            .iter()
            .map(|state| format!("{} {}", count(*state), state.as_str()))
            .collect();
        say(words.join(", "));
    }
    match problems {
        0 => Ok(()),
        problems => Err(CliFailure::new(
            "problems",
            format!(
                "{}; the lines after `->` say what mends them",
                counted(problems, "problem")
            ),
        )),
    }
}
