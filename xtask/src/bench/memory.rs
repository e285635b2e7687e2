//! Resident memory: idle, after load, and with many streams open.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use super::{
    Effort, Lab, Subject,
    cpu::Prepared,
    progress,
    report::{Report, Row},
    workload::{self, Case, Shape},
};
use crate::load::{connection::Client, drive::next_number};

const SECTION: &str = "Resident memory";
const STREAMS: usize = 2000;
/// Streams opened at a time; a listener's backlog is shorter than 2,000.
const OPENING: usize = 100;
/// The time for a server to settle before it is measured.
const SETTLE: Duration = Duration::from_secs(1);

pub(super) async fn measure(lab: &Lab, effort: Effort, report: &mut Report) -> Result<()> {
    progress("memory");
    let goals = report.goals().memory_mebibytes();
    let floor = figures(&lab.floor()?, effort).await.context("the floor")?;
    let candidate = lab.candidate()?;
    let names = ["idle", "after load", "2,000 open streams"];
    match figures(&candidate, effort).await {
        Ok(figures) => {
            for index in 0..names.len() {
                let (name, memory) = (names[index].to_owned(), figures[index]);
                let row = Row::value(SECTION, name, "MiB", memory.resident, goals[index]);
                let note = format!("{:.1} without pages of files", memory.private);
                report.add(row.beside(floor[index].resident).noted(note));
            }
        }
        Err(error) => report.add(Row::failed(SECTION, names.join(", "), goals[0], &error)),
    }
    Ok(())
}

/// Memory of a process, in MiB.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    resident: f64,
    /// Without pages of files.
    pub(super) private: f64,
}

async fn figures(subject: &Subject, effort: Effort) -> Result<[Memory; 3]> {
    let idle = resident(subject).await?;
    for case in Case::all()
        .into_iter()
        .filter(|case| !case.route.translates())
    {
        let mut prepared = Prepared::new(subject, case, 64).await?;
        prepared.send(effort.scaled(case.shape.requests())).await?;
    }
    let loaded = resident(subject).await?;
    let streams = open_streams(subject).await?;
    let streaming = resident(subject).await?;
    drop(streams);
    Ok([idle, loaded, streaming])
}

pub(super) async fn resident(subject: &Subject) -> Result<Memory> {
    tokio::time::sleep(SETTLE).await;
    let process = subject.process()?;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(Memory {
        resident: mebibytes(process.resident()?),
        private: mebibytes(process.private()?),
    })
}

async fn open_streams(subject: &Subject) -> Result<Vec<Client>> {
    let mut streams = Vec::with_capacity(STREAMS);
    while streams.len() < STREAMS {
        let mut opening = JoinSet::new();
        for _ in 0..OPENING {
            let mut template = workload::slow_stream(subject);
            let mut client = Client::new(subject.address);
            opening.spawn_local(async move {
                let status = client.open_stream(template.stamped(next_number())).await?;
                if status != 200 {
                    bail!("a stream was refused with {status}");
                }
                Ok(client)
            });
        }
        for opened in opening.join_all().await {
            streams.push(
                opened.with_context(|| format!("{:?} {} open", Shape::Stream, streams.len()))?,
            );
        }
    }
    Ok(streams)
}
