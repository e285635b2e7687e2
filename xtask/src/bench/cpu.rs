//! CPU time per request, gateway beside floor.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    Effort, Subject, median, progress,
    report::{Report, Row, Spread},
    turns,
    workload::{CacheUse, Case},
};
use crate::load::{
    connection::Client,
    drive::{Amount, Fleet, Tally},
    request::{Expect, Template},
};

/// One subject made ready for one case.
pub(super) struct Prepared<'a> {
    subject: &'a Subject,
    template: Template,
    expect: Expect,
    fleet: Fleet,
}

impl<'a> Prepared<'a> {
    /// Checks one answer in full and warms the connections.
    pub(super) async fn new(subject: &'a Subject, case: Case, connections: usize) -> Result<Self> {
        Self::using(subject, case, CacheUse::Silent, connections).await
    }

    /// Prepares requests that use the cache of answers like this.
    pub(super) async fn using(
        subject: &'a Subject,
        case: Case,
        cache: CacheUse,
        connections: usize,
    ) -> Result<Self> {
        let mut prepared = Self {
            subject,
            template: case.template_using(subject, cache),
            expect: case.preflight(subject).await?,
            fleet: Fleet::new(subject.address, connections),
        };
        prepared.send(case.shape.requests() / 10).await?;
        Ok(prepared)
    }

    /// Sends requests and returns how many per second were answered.
    pub(super) async fn send(&mut self, requests: u64) -> Result<f64> {
        let tally = self.answered(requests).await?;
        Ok(requests as f64 / tally.elapsed.as_secs_f64())
    }

    async fn answered(&mut self, requests: u64) -> Result<Tally> {
        let amount = Amount::Requests(requests);
        self.fleet
            .closed_loop(&self.template, &self.expect, amount)
            .await
            .clean()
    }

    /// CPU microseconds per request over one round, and the median time to an answer, in
    /// microseconds.
    pub(super) async fn timed_round(&mut self, requests: u64) -> Result<(f64, f64)> {
        let process = self.subject.process()?;
        let before = process.cpu_time()?;
        let tally = self.answered(requests).await?;
        let spent = process.cpu_time()? - before;
        let p50 = tally.latencies.quantile(0.5);
        let each = spent.as_secs_f64() * 1e6 / requests as f64;
        Ok((each, p50.as_secs_f64() * 1e6))
    }

    /// CPU microseconds per request over one round.
    pub(super) async fn round(&mut self, requests: u64) -> Result<f64> {
        let process = self.subject.process()?;
        let before = process.cpu_time()?;
        self.send(requests).await?;
        let spent = process.cpu_time()? - before;
        Ok(spent.as_secs_f64() * 1e6 / requests as f64)
    }
}

pub(super) async fn measure(
    floor: &Subject,
    candidate: &Subject,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    for case in Case::all() {
        if case.route.translates() && !candidate.translates {
            continue;
        }
        progress(&format!("CPU: {}", case.name()));
        let goal = report.goals().cpu(case);
        let row = match compare(floor, candidate, case, effort).await {
            Ok([floor, candidate]) => {
                let ratios = candidate.iter().zip(&floor).map(|(c, f)| c / f);
                let ratio = Spread::of(ratios.collect());
                Row::ratio(
                    "CPU per request",
                    case.name(),
                    "µs",
                    median(floor),
                    median(candidate),
                    ratio,
                    goal,
                )
            }
            Err(error) => Row::failed("CPU per request", case.name(), goal, &error),
        };
        report.add(row);
    }
    Ok(())
}

/// Microseconds per request of floor and candidate, round by round.
async fn compare(
    floor: &Subject,
    candidate: &Subject,
    case: Case,
    effort: Effort,
) -> Result<[Vec<f64>; 2]> {
    let requests = effort.scaled(case.shape.requests());
    let mut both = [
        Prepared::new(floor, case, effort.connections)
            .await
            .context("the floor")?,
        Prepared::new(candidate, case, effort.connections).await?,
    ];
    let mut spent = [Vec::new(), Vec::new()];
    let charged = charged(candidate).await?;
    for round in 0..effort.rounds {
        for turn in turns(round) {
            spent[turn].push(both[turn].round(requests).await?);
        }
    }
    let sent = requests * effort.rounds as u64;
    if candidate.bills && self::charged(candidate).await? < charged + sent {
        bail!("not every request was charged");
    }
    Ok(spent)
}

/// The total charge of the caller so far, in 10⁻⁶ USD; every request comes to at least one.
async fn charged(subject: &Subject) -> Result<u64> {
    if !subject.bills {
        return Ok(0);
    }
    let bearer = format!("Bearer {}", subject.key);
    let headers = [("authorization".to_owned(), bearer)];
    let authority = subject.address.to_string();
    let mut request = Template::new(&authority, "/v1/balance", &headers, None);
    let mut client = Client::new(subject.address);
    let (status, body) = client.exchange(request.stamped(0)).await?;
    Expect::success().check(status, body)?;
    let balance: Value = serde_json::from_slice(body).context("read the balance")?;
    balance["micro"]["spent"]
        .as_u64()
        .with_context(|| format!("no sum in {balance}"))
}
