//! `doctor`: whether a gateway can work here, and the line that mends each fault. It reads; a provider
//! gets a request that is free.

mod clients;
mod http_date;
mod machine;
mod payments;
mod providers;
mod store;

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use self::machine::RunningGateway;
use crate::assemble;
use crate::cli::{CliFailure, Common, counted};
use crate::config::{self, Config};
use crate::serve::runtime;
use crate::stores;

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingState {
    /// The thing works.
    Ok,
    /// The reader decides, or nothing needs it.
    Note,
    /// The check got no answer, which proves nothing.
    Unknown,
    /// The thing works with a loss.
    Warning,
    /// The thing does not work.
    Problem,
}

impl FindingState {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// The result of a check, with the line that mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DoctorFinding {
    /// Part of the machine or of the configuration: `config`, `provider`, `clock`, `disk`, `port`,
    /// `store`, `redis`, `proxy`, `telemetry`, `client`.
    pub(crate) check: &'static str,
    /// The one that is checked, such as `direct/openai`.
    pub(crate) subject: String,
    pub(crate) state: FindingState,
    pub(crate) text: String,
    /// Command or setting that mends it.
    pub(crate) mend: Option<String>,
}

impl DoctorFinding {
    pub(crate) fn json(&self) -> Value {
        json!({
            "check": self.check, "subject": self.subject, "state": self.state.as_str(),
            "text": self.text, "mend": self.mend,
        })
    }
}

/// FindingList of one kind of check.
struct FindingList {
    check: &'static str,
    list: Vec<DoctorFinding>,
}

impl FindingList {
    const fn of(check: &'static str) -> Self {
        Self {
            check,
            list: Vec::new(),
        }
    }

    fn add(&mut self, state: FindingState, subject: impl Into<String>, text: impl Into<String>) {
        self.list.push(DoctorFinding {
            check: self.check,
            subject: subject.into(),
            state,
            text: text.into(),
            mend: None,
        });
    }

    /// Adds the line that mends the last finding.
    fn mend(&mut self, line: impl Into<String>) {
        if let Some(last) = self.list.last_mut() {
            last.mend = Some(line.into());
        }
    }
}

/// Makes all checks. `offline` calls no provider.
///
/// # Errors
/// If the program itself cannot work; a fault that is found is a finding.
pub(crate) fn examine(
    common: &Common,
    environment: &[(String, String)],
    offline: bool,
) -> Result<Vec<DoctorFinding>, CliFailure> {
    let mut all = Vec::new();
    let mut findings = FindingList::of("config");
    let config = configuration(common.config.as_deref(), environment, &mut findings);
    all.append(&mut findings.list);
    let folder = stores::data_folder(common.data_dir.as_deref());
    if let Some(config) = &config {
        all.extend(runtime()?.block_on(providers::check(config, offline)));
        all.extend(runtime()?.block_on(payments::check(config, offline)));
        all.extend(runtime()?.block_on(machine::ports(config)));
        all.extend(store::check(common, config, folder.as_deref().ok()));
    }
    match &folder {
        Ok(folder) => all.extend(machine::disk(folder)),
        Err(error) => {
            let mut findings = FindingList::of("disk");
            findings.add(FindingState::Problem, "data folder", error.message());
            findings.mend("--data-dir FOLDER");
            all.append(&mut findings.list);
        }
    }
    all.extend(machine::proxies(environment));
    all.extend(runtime()?.block_on(machine::sinks(environment)));
    let listen = config.as_ref().map(|config| config.server.listen);
    let home = environment.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, value)| Path::new(value));
    all.extend(clients::check(environment, listen, home));
    Ok(all)
}

/// Says that no provider is configured. A gateway that runs here shows whether that is a fault, or
/// which file it reads.
fn unconfigured(admin: SocketAddr, file: String, findings: &mut FindingList) {
    let running = runtime().ok().and_then(|runtime| {
        let gateway = machine::gateway(admin);
        runtime.block_on(gateway)
    });
    match running {
        Some(RunningGateway::Sandbox) => {
            let text = "no provider is configured; the sandbox that runs here needs none";
            findings.add(FindingState::Note, file, text);
            findings.mend("for providers of your own: bardo-gateway init");
        }
        Some(RunningGateway::Configured(other)) => {
            findings.add(
                FindingState::Problem,
                file,
                format!("no provider is configured; the gateway that runs here reads {other}"),
            );
            findings.mend(format!("bardo-gateway doctor --config {other}"));
        }
        None => {
            findings.add(FindingState::Problem, file, "no provider is configured");
            findings.mend("bardo-gateway init");
        }
    }
}

/// The configuration, if it is valid and has a backend.
fn configuration(
    flag: Option<&Path>,
    environment: &[(String, String)],
    findings: &mut FindingList,
) -> Option<Config> {
    let loaded = match config::load(flag, environment) {
        Ok(loaded) => loaded,
        Err(error) => {
            findings.add(FindingState::Problem, "configuration", error.to_string());
            findings.mend("correct the file, then: bardo-gateway check");
            return None;
        }
    };
    let file = loaded.file.as_ref().map_or_else(
        || "no file; defaults and environment".to_owned(),
        |file| file.display().to_string(),
    );
    if !loaded.config.has_providers() {
        unconfigured(loaded.config.server.admin_listen, file, findings);
        return Some(loaded.config);
    }
    match assemble::backends(&loaded.config) {
        Err(reason) => {
            findings.add(FindingState::Problem, file, reason);
            findings.mend("correct the setting, then: bardo-gateway check");
            None
        }
        Ok(backends) => {
            findings.add(
                FindingState::Ok,
                file,
                format!("valid, with {}", counted(backends.len(), "backend")),
            );
            for notice in assemble::notices(&loaded.config) {
                findings.add(FindingState::Note, "configuration", notice);
            }
            Some(loaded.config)
        }
    }
}
