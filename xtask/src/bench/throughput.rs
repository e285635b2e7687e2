//! Requests per second with all cores busy. The load and the provider share
//! the machine, so only the comparison with the floor means something.

use anyhow::{Context, Result};

use super::{
    Effort, Subject,
    cpu::Prepared,
    median, progress,
    report::{Report, Row, Spread},
    turns,
    workload::Case,
};

const CONNECTIONS: usize = 64;
const SECTION: &str = "Requests per second, 64 connections";

pub(super) async fn measure(
    floor: &Subject,
    candidate: &Subject,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    progress("requests per second");
    let case = Case::CHAT;
    let row = match compare(floor, candidate, case, effort).await {
        Ok([floor, candidate]) => {
            let ratio = Spread::of(candidate.iter().zip(&floor).map(|(c, f)| c / f).collect());
            Row::ratio(
                SECTION,
                case.name(),
                "/s",
                median(floor),
                median(candidate),
                ratio,
                None,
            )
        }
        Err(error) => Row::failed(SECTION, case.name(), None, &error),
    };
    report.add(row);
    Ok(())
}

async fn compare(
    floor: &Subject,
    candidate: &Subject,
    case: Case,
    effort: Effort,
) -> Result<[Vec<f64>; 2]> {
    let requests = effort.scaled(2 * case.shape.requests());
    let mut both = [
        Prepared::new(floor, case, CONNECTIONS)
            .await
            .context("the floor")?,
        Prepared::new(candidate, case, CONNECTIONS).await?,
    ];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            rates[turn].push(both[turn].send(requests).await?);
        }
    }
    Ok(rates)
}
