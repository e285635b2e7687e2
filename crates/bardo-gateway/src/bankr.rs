//! What pays Bankr: the credit of the account, looked up in the background, and the daily seed of
//! agents that have not earned yet, in a file of the data folder.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bardo_engine::{Engine, SeedSpent};
use bardo_ledger::series::{Figure, SeriesDimension};
use bardo_providers::Endpoint;
use bardo_providers::transport::Transport;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::money::MicroUsd;
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::funds::{self, ComparedUsage, FundsKind};
use crate::operator::Operator;
use crate::refresh;
use crate::series::ReportPeriod;

/// The usage is read at each one of so many looks at the credit: every hour.
const USAGE_LOOKS: u32 = 60;
/// Days of usage that are compared.
const USAGE_DAYS: u32 = 30;
/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The file of the seeds, in the data folder.
const FILE: &str = "bankr.seed";
const DAY_MS: u64 = 86_400_000;

/// Looks the credit up as long as the process lives. It bounds the cost of calls while revenue pays
/// and no balance is configured; operators see it in any case.
pub(crate) async fn watch(engine: Arc<Engine>, transport: Transport, operator: Operator) {
    let board = Arc::clone(&operator.funds);
    let mut looks = 0_u32;
    loop {
        let snapshot = engine.snapshot();
        let policy = &snapshot.router.policy().bankr;
        let bounds_calls = policy.self_funding && policy.revenue_balance.is_none();
        let has_credit =
            |one: &&Arc<Endpoint>| one.provider().credit_path().is_some() && !one.key.is_empty();
        let bankr = snapshot.endpoints.iter().find(has_credit);
        board.keep(FundsKind::Credit, bankr.map(|endpoint| &*endpoint.name));
        let mut known = None;
        if let Some(endpoint) = bankr {
            let told = credit(&transport, endpoint).await;
            if let Err(reason) = &told {
                let provider = &endpoint.name;
                tracing::debug!(provider, reason, "cannot look up the credit");
            }
            let now_ms = SystemClock.now_ms();
            board.change(&endpoint.name, FundsKind::Credit, |row| {
                if let Ok((_, budget)) = &told {
                    row.daily_budget.clone_from(budget);
                }
                row.note(told.map(|(amount, _)| amount), now_ms);
                known = row.amount;
            });
            if looks.is_multiple_of(USAGE_LOOKS) {
                let usage = usage(&transport, endpoint, &operator).await;
                board.change(&endpoint.name, FundsKind::Credit, |row| row.usage = usage);
            }
        }
        engine.set_bankr_credit(known.filter(|_| bounds_calls));
        looks = looks.wrapping_add(1);
        drop(snapshot);
        tokio::time::sleep(funds::EVERY).await;
    }
}

/// The credit of the account, and its budget of a day.
async fn credit(
    transport: &Transport,
    endpoint: &Endpoint,
) -> Result<(MicroUsd, Option<Arc<RawValue>>), String> {
    let path = endpoint.provider().credit_path().unwrap_or_default();
    let body = get(transport, endpoint, path).await?;
    let credit = endpoint.provider().read_credit(&body);
    let credit = credit.ok_or_else(|| "the answer names no credit".to_owned())?;
    let budget = endpoint.provider().read_daily_budget(&body);
    Ok((credit, budget.map(Arc::from)))
}

/// What the provider counts for the key, beside the receipts of as many days. The provider names no
/// requests, so sums are all that can be compared.
async fn usage(
    transport: &Transport,
    endpoint: &Endpoint,
    operator: &Operator,
) -> Option<ComparedUsage> {
    let path = endpoint.provider().usage_path(USAGE_DAYS)?;
    let body = get(transport, endpoint, &path).await.ok()?;
    let provider = endpoint.provider().read_usage(&body)?;
    let span = Duration::from_millis(u64::from(provider.days) * DAY_MS);
    let period = ReportPeriod::last(operator.clock.now_ms(), span);
    let rows = operator.summed(period, SeriesDimension::Backend, None);
    let rows = tokio::time::timeout(PATIENCE, rows).await.ok()?.ok();
    let receipts = rows.map(|rows| {
        let of_it = rows
            .iter()
            .find(|row| row.name.label() == Some(&endpoint.name));
        let cost = of_it.map_or(0, |row| row.figures.get(Figure::ProviderCost));
        MicroUsd::new(u64::try_from(cost).unwrap_or(0))
    });
    Some(ComparedUsage { provider, receipts })
}

async fn get(transport: &Transport, endpoint: &Endpoint, path: &str) -> Result<Bytes, String> {
    tokio::time::timeout(PATIENCE, refresh::get(transport, endpoint, path))
        .await
        .map_err(|_| "no answer within 10 seconds".to_owned())?
        .map_err(|reason| reason.to_string())
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
