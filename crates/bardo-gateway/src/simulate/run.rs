//! Plays a workload by every arm and seed.

use bardo_access::KeyTier;
use bardo_types::model::Dialect;
use bardo_types::receipt::Receipt;
use bardo_types::usage::Usage;
use futures_util::future::try_join_all;
use serde_json::json;

use super::arm::Arm;
use super::body::{self, ClientMarks};
use super::direct;
use super::layer::{CacheLayer, MarksBy};
use super::rig::SimulationRig;
use super::tally::Tally;
use super::workload::{DAY_MS, NaiveBaseline, SimulatedCall, Workload, WorkloadSource};
use crate::serve::{self, ThreadRuntime};

/// What to play.
#[derive(Debug, Clone)]
pub(crate) struct StudyPlan {
    pub(crate) source: WorkloadSource,
    /// The first seed.
    pub(crate) seed: u64,
    /// How many seeds, at least one.
    pub(crate) seeds: u64,
    /// Calls of each seed that are played; `None`: all.
    pub(crate) most_calls: Option<usize>,
    /// The model of all calls; `None`: the workload's own.
    pub(crate) model: Option<String>,
    /// Names of the rows to play; empty: all.
    pub(crate) rows: Vec<String>,
}

/// One arm with its figures on every seed.
pub(crate) struct ArmResult {
    pub(super) arm: Arm,
    pub(super) tallies: Vec<Tally>,
}

/// The results of all arms.
pub(crate) struct Study {
    pub(super) workload: Workload,
    pub(super) plan: StudyPlan,
    pub(super) arms: Vec<ArmResult>,
    /// Days that the calls are of; `None` where it is less than one.
    pub(super) days: Option<f64>,
    /// Cost of the naive baseline in USD, where the workload has one and is played whole.
    pub(super) naive_usd: Option<f64>,
}

impl ArmResult {
    pub(super) fn costs(&self) -> Vec<f64> {
        self.tallies.iter().map(Tally::cost_usd).collect()
    }

    /// All seeds together.
    pub(super) fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        self.tallies.iter().for_each(|tally| sum.plus(tally));
        sum
    }
}

impl Study {
    /// Days over which an agent earns what its calls cost; `None` where nobody has to, or the calls
    /// are of less than a day.
    pub(super) fn earning_days(&self) -> Option<f64> {
        let is_of_agent = self.workload.tier == Some(KeyTier::Golem);
        self.days.filter(|_| is_of_agent)
    }

    /// The results of an arm.
    pub(super) fn of(&self, id: &str) -> Option<&ArmResult> {
        self.arms.iter().find(|result| result.arm.id() == id)
    }
}

/// Refuses a row that no arm has.
///
/// # Errors
/// The fault in words, with the rows that there are.
pub(crate) fn check_rows(rows: &[String]) -> Result<(), String> {
    let all = Arm::all();
    let unknown = |row: &&String| !all.iter().any(|arm| arm.id() == row.as_str());
    let Some(row) = rows.iter().find(unknown) else {
        return Ok(());
    };
    let known: Vec<&str> = all.iter().map(|arm| arm.id()).collect();
    let known = known.join(", ");
    Err(format!("`{row}` is not a row; the rows are {known}"))
}

/// Plays everything on a runtime of this thread alone, which makes the order of events certain.
/// `progress` is told before each arm.
///
/// # Errors
/// When a call was refused, or a socket cannot be had.
pub(crate) fn study(plan: &StudyPlan, progress: impl Fn(&str)) -> Result<Study, String> {
    let all = Arm::all();
    let is_wanted = |arm: &Arm| plan.rows.is_empty() || plan.rows.iter().any(|row| row == arm.id());
    let mut arms: Vec<ArmResult> = all
        .into_iter()
        .filter(is_wanted)
        .map(|arm| ArmResult {
            arm,
            tallies: Vec::new(),
        })
        .collect();
    let seeds = if plan.source.is_fixed() {
        1
    } else {
        plan.seeds.max(1)
    };
    let workload = plan.source.workload();
    let mut spans = Vec::new();
    for seed in (plan.seed..).take(usize::try_from(seeds).unwrap_or(1)) {
        let mut calls = plan.source.calls(seed);
        calls.truncate(plan.most_calls.unwrap_or(usize::MAX));
        spans.push(calls.last().map_or(0, |call| call.at_ms));
        if let Some(model) = &plan.model {
            calls
                .iter_mut()
                .for_each(|call| call.model = model.as_str().into());
        }
        runtime()?.block_on(fit(&mut calls))?;
        for result in &mut arms {
            progress(&format!("seed {seed}: {}", result.arm.label()));
            let played = runtime()?.block_on(play(result.arm, seed, &workload, &calls));
            result.tallies.push(played?);
        }
    }
    let is_whole = plan.most_calls.is_none() && plan.model.is_none();
    let naive = workload.naive.filter(|_| is_whole);
    let naive_usd = naive.map(|naive| naive_cost(&naive)).transpose()?;
    let days = workload.days.filter(|_| plan.most_calls.is_none());
    Ok(Study {
        days: days.or_else(|| days_of(&spans)),
        workload,
        plan: plan.clone(),
        arms,
        naive_usd,
    })
}

/// Names the model of each call as its provider does, and leaves out a temperature that it refuses.
///
/// # Errors
/// When a model is unknown.
async fn fit(calls: &mut [SimulatedCall]) -> Result<(), String> {
    let rig = SimulationRig::start(0, json!({}), None)?;
    for call in calls {
        let backend = rig.backend(&call.model);
        let backend = backend.map_err(|error| call.failed(&error))?;
        call.model = backend.model;
        if !backend.takes_sampling {
            call.temperature = None;
        }
    }
    Ok(())
}

/// Days of the calls that were played, on average over seeds; `None` where it is less than one.
#[expect(clippy::cast_precision_loss, reason = "figures of a report")]
fn days_of(spans_ms: &[u64]) -> Option<f64> {
    let sum = spans_ms.iter().sum::<u64>() as f64;
    let days = sum / (spans_ms.len().max(1) as f64) / DAY_MS as f64;
    (days >= 1.0).then_some(days)
}

fn runtime() -> Result<ThreadRuntime, String> {
    serve::runtime().map_err(|failure| failure.message().to_owned())
}

/// The bill of a baseline in USD, by the list price of its model.
fn naive_cost(naive: &NaiveBaseline) -> Result<f64, String> {
    let backend = async { SimulationRig::start(0, json!({}), None)?.backend(naive.model) };
    let price = runtime()?.block_on(backend)?.price;
    let usage = Usage {
        fresh_input: naive.input_tokens,
        output: naive.output_tokens,
        ..Usage::default()
    };
    let cost = usage.cost(&price).and_then(|cost| cost.charge());
    let mut tally = Tally::default();
    tally.answered(&usage, &price, cost.ok_or("a cost is too large")?);
    #[expect(clippy::cast_precision_loss, reason = "figures of a report")]
    let calls = naive.calls as f64;
    Ok(tally.cost_usd() * calls)
}

async fn play(
    arm: Arm,
    seed: u64,
    workload: &Workload,
    calls: &[SimulatedCall],
) -> Result<Tally, String> {
    let settings = match arm {
        Arm::Direct(_) => json!({}),
        Arm::Gateway(layer) => layer.settings(),
    };
    let rig = SimulationRig::start(seed, settings, workload.tier)?;
    let mut tally = Tally::default();
    for together in calls.chunk_by(|one, next| one.at_ms == next.at_ms) {
        rig.set_time(together[0].at_ms);
        for call in together {
            if let Some(last) = call.turns.last() {
                rig.teach(&last.text, &call.answer, call.output_tokens);
            }
        }
        tally.calls += together.len() as u64;
        match arm {
            Arm::Direct(marks) => direct(&rig, together, marks, &mut tally).await?,
            Arm::Gateway(layer) => {
                gateway(&rig, together, layer).await?;
                for receipt in rig.receipts() {
                    note(&rig, &receipt, &mut tally)?;
                }
            }
        }
    }
    Ok(tally)
}

async fn direct(
    rig: &SimulationRig,
    calls: &[SimulatedCall],
    marks: ClientMarks,
    tally: &mut Tally,
) -> Result<(), String> {
    let sent = calls.iter().map(async |call| {
        let answer = direct::send(rig, call, marks).await;
        answer.map_err(|error| call.failed(&error))
    });
    for (usage, price) in try_join_all(sent).await? {
        let cost = usage.cost(&price).and_then(|cost| cost.charge());
        tally.answered(&usage, &price, cost.ok_or("a cost is too large")?);
    }
    Ok(())
}

async fn gateway(
    rig: &SimulationRig,
    calls: &[SimulatedCall],
    layer: &CacheLayer,
) -> Result<(), String> {
    let sent = calls.iter().map(async |call| {
        // OpenAI's own dialect is Chat Completions anyway.
        let is_chat = layer.marks == MarksBy::Gateway || !call.model.starts_with("claude");
        let own = match layer.marks {
            MarksBy::Client => ClientMarks::Advised,
            MarksBy::Absent | MarksBy::Gateway => ClientMarks::Absent,
        };
        let (dialect, body) = match is_chat {
            true => (Dialect::Chat, body::chat(call)),
            false => (Dialect::Anthropic, body::messages(call, own)),
        };
        let sent = rig.send(dialect, body::hinted(body, call, layer.is_semantic));
        sent.await.map_err(|error| call.failed(&error))
    });
    try_join_all(sent).await.map(|_| ())
}

fn note(rig: &SimulationRig, receipt: &Receipt, tally: &mut Tally) -> Result<(), String> {
    if receipt.is_found() {
        let is_shared = receipt
            .optimizations
            .iter()
            .any(|name| name == "single_flight");
        match &*receipt.cache {
            "semantic" => tally.semantic_hits += 1,
            _ if is_shared => tally.shared += 1,
            _ => tally.hash_hits += 1,
        }
        return Ok(());
    }
    let price = rig.backend(&receipt.model)?.price;
    match (&receipt.usage, receipt.amounts.provider_cost) {
        (Some(usage), Some(cost)) => tally.answered(usage, &price, cost),
        _ => {
            return Err(format!(
                "a request ended as {} without figures",
                receipt.outcome.as_str()
            ));
        }
    }
    Ok(())
}
