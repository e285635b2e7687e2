//! The store of money and keys, and Redis.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bardo_access::{LimitStore as _, LocalLimits};
use bardo_store::redis::{RedisLimits, RedisOptions};
use bardo_types::secret::Secret;

use super::{DoctorFinding, FindingList, FindingState};
use crate::cli::{Common, counted};
use crate::config::Config;
use crate::serve::runtime;
use crate::stores::{self, DataFolderKind};

/// Files of the data folder.
const JOURNAL: &str = "bardo.journal";
/// A journal is empty after a clean stop; a larger one waits for the next start.
const JOURNAL_LARGE: u64 = 64 << 20;
/// The time limit for Redis.
const PATIENCE: Duration = Duration::from_secs(3);

/// Checks the store, its journal, and Redis.
pub(super) fn check(common: &Common, config: &Config, folder: Option<&Path>) -> Vec<DoctorFinding> {
    let mut findings = FindingList::of("store");
    books(common, &mut findings);
    if let Some(folder) = folder {
        journal(folder, &mut findings);
    }
    let mut all = findings.list;
    for (setting, url) in [
        ("limits.redis_url", &config.limits.redis_url),
        ("cache.redis_url", &config.cache.redis_url),
    ] {
        if !url.is_empty() {
            all.push(redis(setting, url));
        }
    }
    all
}

/// Opens the store, which also brings its tables up to date, and adds its books up.
fn books(common: &Common, findings: &mut FindingList) {
    let folder = stores::data_folder(common.data_dir.as_deref());
    let is_sandbox = folder.as_ref().is_ok_and(|folder| {
        matches!(
            DataFolderKind::of(folder),
            Ok(Some(DataFolderKind::Sandbox))
        )
    });
    if is_sandbox && common.data_dir.is_none() {
        findings.add(
            FindingState::Problem,
            "data folder",
            "it is a sandbox folder, which a real server refuses",
        );
        findings.mend("--data-dir FOLDER");
        return;
    }
    match stores::exists(common) {
        Ok(false) => {
            findings.add(
                FindingState::Ok,
                "store",
                "there is none yet; the first start creates it",
            );
            return;
        }
        Ok(true) => {}
        Err(error) => {
            findings.add(FindingState::Problem, "store", error.message());
            findings.mend("correct `store.url` or the data folder");
            return;
        }
    }
    let quiet = Common {
        json: true,
        ..common.clone()
    };
    let read = stores::reading(&quiet, async |operator| {
        let (adds_up, _) = operator.verify().await?;
        Ok((adds_up, operator.list_keys(None).await?.len()))
    });
    match read {
        Ok(((true, keys), _)) => {
            findings.add(
                FindingState::Ok,
                "store",
                format!(
                    "it opens, its tables are current, its books add up; {}",
                    counted(keys, "key")
                ),
            );
        }
        Ok(((false, _), _)) => {
            findings.add(FindingState::Problem, "store", "the books do not add up");
            findings.mend("bardo-gateway balance verify");
        }
        Err(error) => {
            findings.add(FindingState::Problem, "store", error.message());
            findings.mend("start the database and check `store.url`, or restore the data folder: docs/operations.md");
        }
    }
}

fn journal(folder: &Path, findings: &mut FindingList) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut aside = 0;
    let mut bytes = None;
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == JOURNAL {
            bytes = entry.metadata().ok().map(|data| data.len());
        } else if let Some(number) = name.strip_prefix("bardo.journal.")
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            aside += 1;
        }
    }
    if aside > 0 {
        findings.add(
            FindingState::Problem,
            "journal",
            format!(
                "{aside} journals were set aside, because they are damaged or of another database"
            ),
        );
        findings.mend("bardo-gateway balance verify; docs/operations.md, \"A damaged journal\"");
    }
    match bytes {
        Some(bytes) if bytes > JOURNAL_LARGE => {
            findings.add(
                FindingState::Warning,
                "journal",
                format!("{} MiB wait to be applied", bytes >> 20),
            );
            findings.mend("start the server once, which applies them");
        }
        Some(_) => findings.add(FindingState::Ok, "journal", "present"),
        None => {}
    }
}

fn redis(setting: &str, url: &Secret) -> DoctorFinding {
    let mut findings = FindingList::of("redis");
    let options = RedisOptions::new(url.clone());
    let mode = runtime()
        .map_err(|error| error.message().to_owned())
        .and_then(|runtime| {
            runtime.block_on(async {
                let connected = RedisLimits::connect(&options, Arc::new(LocalLimits::default()));
                match tokio::time::timeout(PATIENCE, connected).await {
                    Err(_) => Err("no answer within 3 seconds".to_owned()),
                    Ok(Err(error)) => Err(error.to_string()),
                    Ok(Ok(limits)) => Ok(limits.mode()),
                }
            })
        });
    match mode {
        Ok("shared") => findings.add(FindingState::Ok, setting, "Redis answers"),
        Ok(_) => {
            findings.add(
                FindingState::Problem,
                setting,
                "Redis does not answer; each gateway counts its own share",
            );
            findings.mend(format!("start Redis and check `{setting}`"));
        }
        Err(reason) => {
            findings.add(FindingState::Problem, setting, reason);
            findings.mend(format!(
                "correct `{setting}`: redis://user:password@host:port/0"
            ));
        }
    }
    findings.list.remove(0)
}
