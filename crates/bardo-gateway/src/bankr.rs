//! What pays Bankr: the credit of the account, looked up in the background, and the daily seed of
//! agents that have not earned yet, in a file of the data folder.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_engine::{Engine, SeedSpent};
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use serde_json::{Value, json};

use crate::refresh;

/// The credit is looked up this often.
const EVERY: Duration = Duration::from_secs(60);
/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so many failures in a row the credit is not known any more.
const FAILURES: u32 = 5;
/// The file of the seeds, in the data folder.
const FILE: &str = "bankr.seed";
const DAY_MS: u64 = 86_400_000;

/// Looks the credit up as long as the process lives, while revenue pays and no balance is configured.
pub(crate) async fn watch(engine: Arc<Engine>, transport: Transport) {
    let mut failures = 0;
    loop {
        let snapshot = engine.snapshot();
        let policy = &snapshot.router.policy().bankr;
        let is_wanted = policy.self_funding && policy.revenue_balance.is_none();
        let bankr = snapshot
            .endpoints
            .iter()
            .find(|endpoint| is_wanted && endpoint.provider().credit_path().is_some());
        match bankr {
            None => engine.set_bankr_credit(None),
            Some(endpoint) => match credit(&transport, endpoint).await {
                Ok(credit) => {
                    failures = 0;
                    engine.set_bankr_credit(Some(credit));
                }
                Err(reason) => {
                    failures += 1;
                    tracing::debug!(
                        provider = endpoint.name,
                        reason,
                        "cannot look up the credit"
                    );
                    if failures >= FAILURES {
                        engine.set_bankr_credit(None);
                    }
                }
            },
        }
        drop(snapshot);
        tokio::time::sleep(EVERY).await;
    }
}

async fn credit(transport: &Transport, endpoint: &Endpoint) -> Result<MicroUsd, String> {
    let path = endpoint.provider().credit_path().unwrap_or_default();
    let fetched = refresh::get(transport, endpoint, path);
    let body = tokio::time::timeout(PATIENCE, fetched)
        .await
        .map_err(|_| "no answer within 10 seconds".to_owned())?
        .map_err(|reason| reason.to_string())?;
    let credit = endpoint.provider().read_credit(&body);
    credit.ok_or_else(|| "the answer names no credit".to_owned())
}

/// Takes over what agents spent of their seed today, and stores what they spend from now on. If the
/// folder stores nothing, seeds are counted in memory, and a restart begins the day again.
pub(crate) fn store_seeds(engine: &Engine, folder: &Path) {
    let path = folder.join(FILE);
    let today = SystemClock.now_ms() / DAY_MS;
    let known: Vec<SeedSpent> = fs::read_to_string(&path)
        .unwrap_or_default()
        .lines()
        .filter_map(read)
        .filter(|spent| spent.day >= today)
        .collect();
    let begin = || -> std::io::Result<fs::File> {
        fs::create_dir_all(folder)?;
        let fresh = path.with_extension("seed.new");
        let mut file = fs::File::create(&fresh)?;
        for spent in &known {
            writeln!(file, "{}", line(spent))?;
        }
        fs::rename(&fresh, &path)?;
        OpenOptions::new().append(true).open(&path)
    };
    let file = begin();
    engine.seeds().load(known.iter().cloned());
    match file {
        Ok(file) => {
            let file = Mutex::new(file);
            engine.seeds().store_by(move |spent| {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = writeln!(file, "{}", line(spent)) {
                    tracing::warn!(%error, "cannot store what an agent spent of its seed");
                }
            });
        }
        Err(error) => {
            tracing::warn!(file = %path.display(), %error, "the daily seed of agents is counted in memory; a restart begins it again");
        }
    }
}

fn line(spent: &SeedSpent) -> Value {
    json!({ "agent": spent.agent, "day": spent.day, "spent_micro_usd": spent.spent.get() })
}

fn read(line: &str) -> Option<SeedSpent> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some(SeedSpent {
        agent: line["agent"].as_str()?.to_owned(),
        day: line["day"].as_u64()?,
        spent: MicroUsd::new(line["spent_micro_usd"].as_u64()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_file_is_read_as_it_was_written_and_others_are_left_out() {
        let spent = SeedSpent {
            agent: "acct_1/golem \"7\"\n".to_owned(),
            day: 20_779,
            spent: MicroUsd::new(42),
        };
        let written = line(&spent).to_string();
        assert!(!written.contains('\n'));
        assert_eq!(read(&written), Some(spent));
        for torn in ["", "{}", &written[..written.len() / 2]] {
            assert_eq!(read(torn), None, "{torn}");
        }
    }
}
