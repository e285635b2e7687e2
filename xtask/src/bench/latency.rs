//! What a proxy adds to the time of an answer at a modest, fixed rate.

use std::time::Duration;

use anyhow::Result;

use super::{
    Effort, Subject, progress,
    report::{Report, Row},
    workload::Case,
};
use crate::{latencies::Latencies, load::drive::Fleet};

const RATE: f64 = 500.0;
const CONNECTIONS: usize = 8;
const SECTION: &str = "Added latency, 500 requests/s";

pub(super) async fn measure(
    direct: &Subject,
    floor: &Subject,
    candidate: &Subject,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    progress("latency");
    let goal = report.goals().added_p50_micros();
    let latencies = match sample([direct, floor, candidate], effort).await {
        Ok(latencies) => latencies,
        Err(error) => {
            report.add(Row::failed(SECTION, "p50, chat".into(), goal, &error));
            return Ok(());
        }
    };
    for (name, share, goal) in [("p50, chat", 0.5, goal), ("p99, chat", 0.99, None)] {
        let [direct, floor, candidate] = latencies
            .each_ref()
            .map(|latencies| latencies.quantile(share).as_secs_f64() * 1e6);
        let note = format!("direct {direct:.0} µs");
        let row = Row::value(SECTION, name.into(), "µs", candidate - direct, goal);
        report.add(row.beside(floor - direct).noted(note));
    }
    Ok(())
}

/// Short turns for each, so that all three see the same machine.
async fn sample(subjects: [&Subject; 3], effort: Effort) -> Result<[Latencies; 3]> {
    let length = Duration::from_millis(effort.scaled(1500));
    let mut latencies = [const { None::<Latencies> }; 3].map(Option::unwrap_or_default);
    let mut fleets = subjects.map(|subject| Fleet::new(subject.address, CONNECTIONS));
    for round in 0..=effort.rounds {
        for (index, subject) in subjects.into_iter().enumerate() {
            let expect = Case::CHAT.preflight(subject).await?;
            let template = Case::CHAT.template(subject);
            let tally = fleets[index]
                .open_loop(&template, &expect, RATE, length)
                .await
                .clean()?;
            // The first round opens the connections.
            if round > 0 {
                latencies[index].merge(&tally.latencies);
            }
        }
    }
    Ok(latencies)
}
