//! The cost of exported traces and metrics, beside the same gateway without them in the same rounds.
//!
//! All of a gateway's CPU time counts, that of its sending thread too. The canned provider takes the
//! messages.

use anyhow::{Context, Result};

use super::{
    Effort,
    caching::compare,
    median, progress,
    report::{Report, Row, Spread},
    subject::{Lab, Setup},
    workload::CacheUse,
};

const SECTION: &str = "Telemetry, small chat";

/// Measures 5 % and all requests traced. The second has no goal.
pub(super) async fn measure(lab: &Lab, effort: Effort, report: &mut Report) -> Result<()> {
    let off = lab.candidate().context("start the gateway")?;
    let some = report.goals().traced_some();
    for (name, setup, goal) in [
        ("CPU, off and 5 % sampled", Setup::TracedSome, some),
        ("CPU, off and all sampled", Setup::TracedAll, None),
    ] {
        progress(name);
        let on = lab.candidate_as(setup);
        let on = on.with_context(|| format!("start the gateway: {name}"))?;
        let sides = [(&off, CacheUse::Silent), (&on, CacheUse::Silent)];
        report.add(match compare(sides, effort).await {
            Ok([off, on]) => {
                let ratios = on.iter().zip(&off).map(|(on, off)| on / off);
                let ratio = Spread::of(ratios.collect());
                let (off, on) = (median(off), median(on));
                Row::ratio(SECTION, name.into(), "µs", off, on, ratio, goal)
            }
            Err(error) => Row::failed(SECTION, name.into(), goal, &error),
        });
    }
    Ok(())
}
