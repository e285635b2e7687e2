//! How soon the gateway answers after it is started, and how large it is.

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result};

use super::{
    Effort, Lab, median, progress,
    report::{Report, Row},
    workload::Case,
};
use crate::load::{connection::Client, drive::next_number, request::Expect};

const STARTS: u64 = 20;
const WEIGHTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/bardo-embed/model/all-MiniLM-L6-v2-int8.onnx.data"
);

/// From exec to the first 200 of a chat.
pub(super) async fn measure(lab: &Lab, effort: Effort, report: &mut Report) -> Result<()> {
    progress("start");
    let goal = report.goals().start_millis();
    let section = "Start to first 200";
    let starts = effort.scaled(STARTS).max(5);
    let mut took = Vec::new();
    for _ in 0..starts {
        match start(lab).await {
            Ok(millis) => took.push(millis),
            Err(error) => {
                report.add(Row::failed(section, "chat".into(), goal, &error));
                return Ok(());
            }
        }
    }
    let slowest = took.iter().copied().fold(0.0, f64::max);
    let name = format!("median of {starts}");
    let row = Row::value(section, name, "ms", median(took), goal);
    report.add(row.noted(format!("slowest {slowest:.1} ms")));
    Ok(())
}

async fn start(lab: &Lab) -> Result<f64> {
    let started = Instant::now();
    let subject = lab.candidate()?;
    let mut client = Client::new(subject.address);
    let mut template = Case::CHAT.template(&subject);
    let (status, body) = client.exchange(template.stamped(next_number())).await?;
    let took = started.elapsed();
    Expect::success().check(status, body)?;
    Ok(took.as_secs_f64() * 1e3)
}

/// The size of the binary, without the weights of the embedding model that it carries.
pub(super) fn size(lab: &Lab, report: &mut Report) -> Result<()> {
    let Some(gateway) = &lab.gateway else {
        return Ok(());
    };
    let whole = length(gateway)?;
    let weights = length(Path::new(WEIGHTS))?;
    let goal = report.goals().binary_mebibytes();
    let size = mebibytes(whole.saturating_sub(weights));
    let name = "without its model's weights";
    let row = Row::value("Binary", name.into(), "MiB", size, goal);
    report.add(row.noted(format!("{:.1} MiB with them", mebibytes(whole))));
    Ok(())
}

fn length(file: &Path) -> Result<u64> {
    let found = fs::metadata(file).with_context(|| format!("look at {}", file.display()));
    Ok(found?.len())
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
