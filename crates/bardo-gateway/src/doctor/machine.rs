//! The machine: ports, disk, proxies, and the sinks of telemetry.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bardo_providers::BaseUrl;
use tokio::net::TcpStream;

use super::{DoctorFinding, FindingList, FindingState};
use crate::cli::AdminClient;
use crate::config::Config;

/// Free space below which the journal of charges is in danger, in KiB: 1 GiB.
const DISK_LOW_KIB: u64 = 1 << 20;
/// Free space below which nothing should be started, in KiB: 100 MiB.
const DISK_MIN_KIB: u64 = 100 << 10;
/// The time limit for a sink.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether both addresses are free, or a gateway uses them.
pub(super) async fn ports(config: &Config) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("port");
    let server = &config.server;
    let runs = running(server.admin_listen).await;
    for (address, option, what) in [
        (server.listen, "--listen", "for clients"),
        (server.admin_listen, "--admin-listen", "for operators"),
    ] {
        let subject = format!("{address} ({what})");
        match (TcpListener::bind(address), &runs) {
            (Ok(_), _) if address.port() == 0 => {
                findings.add(FindingState::Ok, subject, "any free port")
            }
            (Ok(_), _) => findings.add(FindingState::Ok, subject, "free"),
            (Err(_), Some(health)) => findings.add(
                FindingState::Ok,
                subject,
                format!("a gateway runs here: {health}"),
            ),
            (Err(error), None) => {
                findings.add(
                    FindingState::Problem,
                    subject,
                    format!("cannot listen: {error}"),
                );
                let free = SocketAddr::new(address.ip(), address.port().saturating_add(100));
                findings.mend(format!("bardo-gateway serve {option} {free}"));
            }
        }
    }
    findings.list
}

/// A gateway that runs on this machine, as its `/status` shows it.
pub(super) enum RunningGateway {
    /// A sandbox, which has simulated providers.
    Sandbox,
    /// A gateway with this configuration file.
    Configured(String),
}

/// The gateway at an address for operators; `None` if none answers, or none with a file.
pub(super) async fn gateway(admin: SocketAddr) -> Option<RunningGateway> {
    let client = AdminClient::new(&format!("http://{admin}"), None).ok()?;
    let status = client.json("/status").await.ok()?;
    if status["sandbox"] == true {
        return Some(RunningGateway::Sandbox);
    }
    let file = status["config"]["file"].as_str()?;
    Some(RunningGateway::Configured(file.to_owned()))
}

/// The health of a gateway at an address; `None` if none answers.
async fn running(admin: SocketAddr) -> Option<String> {
    let client = AdminClient::new(&format!("http://{admin}"), None).ok()?;
    let health = client.json("/health/ready").await.ok()?;
    let word = |name: &str| health[name].as_str().unwrap_or("unknown").to_owned();
    Some(format!(
        "status {}, store {}",
        word("status"),
        word("store")
    ))
}

/// The free space of the data folder, or of the nearest folder that exists.
pub(super) fn disk(folder: &Path) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("disk");
    let exists = folder.ancestors().find(|folder| folder.exists());
    let place = exists.unwrap_or_else(|| Path::new("/"));
    let name = folder.display().to_string();
    // POSIX has the format of `-P`; the standard library does not tell free space.
    let told = Command::new("df").arg("-Pk").arg(place).output();
    let free = told
        .ok()
        .and_then(|told| free_kib(&String::from_utf8_lossy(&told.stdout)));
    match free {
        None => findings.add(
            FindingState::Unknown,
            name,
            "`df` does not tell the free space",
        ),
        Some(free) if free < DISK_MIN_KIB => {
            findings.add(
                FindingState::Problem,
                name,
                format!("{} MiB are free", free >> 10),
            );
            findings.mend("free space, or name another folder: --data-dir FOLDER");
        }
        Some(free) if free < DISK_LOW_KIB => {
            findings.add(
                FindingState::Warning,
                name,
                format!("{} MiB are free", free >> 10),
            );
            findings
                .mend("free space, or store receipts for a shorter time: `store.keep_receipts`");
        }
        Some(free) => findings.add(
            FindingState::Ok,
            name,
            format!("{} GiB are free", free >> 20),
        ),
    }
    if exists == Some(folder) {
        let is_writable =
            std::fs::metadata(folder).is_ok_and(|data| !data.permissions().readonly());
        if !is_writable {
            findings.add(
                FindingState::Problem,
                folder.display().to_string(),
                "the folder cannot be written",
            );
            findings.mend(format!("chown $USER {}", folder.display()));
        }
    }
    findings.list
}

/// The column of free KiB in the second line of `df -Pk`.
fn free_kib(text: &str) -> Option<u64> {
    let columns: Vec<&str> = text.lines().nth(1)?.split_whitespace().collect();
    let at = columns.len().checked_sub(3)?;
    columns.get(at)?.parse().ok()
}

/// Proxies of the environment. The gateway connects directly.
pub(super) fn proxies(environment: &[(String, String)]) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("proxy");
    let value = |name: &str| {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let found = environment
            .iter()
            .find(|(known, value)| same(known) && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    let set: Vec<&str> = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"]
        .into_iter()
        .filter(|name| value(name).is_some())
        .collect();
    if set.is_empty() {
        findings.add(FindingState::Ok, "environment", "no proxy is set");
        return findings.list;
    }
    let names = set.join(", ");
    findings.add(
        FindingState::Warning,
        &names,
        "the gateway connects to providers directly and does not use a proxy",
    );
    findings
        .mend("allow direct connections to the providers, or set `base_url` to a reverse proxy");
    let spares = value("NO_PROXY").is_some_and(|list| {
        let mut names = list.split(',').map(str::trim);
        names.any(|name| matches!(name, "*" | "127.0.0.1" | "localhost" | "127.0.0.0/8"))
    });
    if !spares {
        findings.add(
            FindingState::Warning,
            "NO_PROXY",
            "clients on this machine would send requests for 127.0.0.1 to the proxy",
        );
        findings.mend("export NO_PROXY=127.0.0.1,localhost");
    }
    findings.list
}

/// The sinks of telemetry that the environment names.
pub(super) async fn sinks(environment: &[(String, String)]) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("telemetry");
    let value = |name: &str| {
        let found = environment
            .iter()
            .find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    let (public, secret) = (value("LANGFUSE_PUBLIC_KEY"), value("LANGFUSE_SECRET_KEY"));
    if public.is_some() != secret.is_some() {
        findings.add(
            FindingState::Problem,
            "Langfuse",
            "one of LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY is missing",
        );
        findings.mend("export LANGFUSE_PUBLIC_KEY=… LANGFUSE_SECRET_KEY=…");
    }
    let named = [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "LANGFUSE_HOST",
        "LANGFUSE_BASE_URL",
    ];
    for name in named {
        let Some(url) = value(name) else {
            continue;
        };
        match reach(url).await {
            Ok(()) => findings.add(FindingState::Ok, name, "its server takes connections"),
            Err(reason) => {
                findings.add(FindingState::Warning, name, reason);
                findings.mend(format!("start the server of {name}, or unset it"));
            }
        }
    }
    if findings.list.is_empty() {
        findings.add(
            FindingState::Note,
            "environment",
            "no sink of telemetry is set",
        );
    }
    findings.list
}

/// Whether anything takes connections at the host and port of a URL.
async fn reach(url: &str) -> Result<(), String> {
    let base = BaseUrl::parse(url).map_err(|error| error.to_string())?;
    let connected = TcpStream::connect((base.host.trim_matches(['[', ']']), base.port));
    match tokio::time::timeout(PATIENCE, connected).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(format!("cannot connect to {}: {error}", base.host)),
        Err(_) => Err(format!("{} does not answer within 2 seconds", base.host)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_read_also_for_disks_with_a_space_in_their_name() {
        let text = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a b 100 40 60 40% /x\n";
        assert_eq!(free_kib(text), Some(60));
        assert_eq!(free_kib(""), None);
    }

    #[test]
    fn a_proxy_that_catches_requests_for_this_machine_is_told() {
        let set = |rows: &[(&str, &str)]| {
            let rows: Vec<(String, String)> = rows
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect();
            proxies(&rows)
        };
        assert_eq!(set(&[])[0].state, FindingState::Ok);
        assert_eq!(set(&[("https_proxy", "http://p:1")]).len(), 2);
        assert_eq!(
            set(&[("HTTPS_PROXY", "http://p:1"), ("no_proxy", "a, localhost")]).len(),
            1
        );
    }
}
