//! What the cache of answers costs requests that it has no part in, requests that it misses, and
//! requests that it answers.

use anyhow::{Context, Result};

use super::{
    Effort, Subject,
    cpu::Prepared,
    median, memory, progress,
    report::{Report, Row, Spread},
    subject::{Lab, SMALL_CACHE, Setup},
    turns,
    workload::{CacheUse, Case},
};

const SECTION: &str = "Stored answers, small chat";
/// Requests that fill a cache of [`SMALL_CACHE`] several times.
const FILLING: u64 = 60_000;
/// Connections during the measurement of hits.
const CONNECTIONS: usize = 64;

/// Measures all three, beside the floor in the same rounds.
pub(super) async fn measure(lab: &Lab, effort: Effort, report: &mut Report) -> Result<()> {
    let floor = lab.floor().context("start the floor")?;
    let candidate = lab.candidate().context("start the gateway")?;
    progress("an eligible request that misses");
    let goal = report.goals().cache_miss();
    let sides = [(&floor, CacheUse::Silent), (&candidate, CacheUse::Misses)];
    add(
        report,
        "CPU, eligible and not found",
        goal,
        compare(sides, effort).await,
    );
    progress("a request without a part of the cache");
    let off = lab.candidate_as(Setup::CacheOff);
    let off = off.context("start the gateway without its cache")?;
    let sides = [(&off, CacheUse::Silent), (&candidate, CacheUse::Silent)];
    let goal = report.goals().cache_bystander();
    add(
        report,
        "CPU, cache off and on",
        goal,
        compare(sides, effort).await,
    );
    drop(off);
    progress("hits");
    hits(&floor, &candidate, effort, report).await;
    drop((floor, candidate));
    progress("memory of a full cache");
    let name = format!("memory that a full cache of {SMALL_CACHE} MiB adds");
    let goal = report.goals().cache_memory();
    let budget = f64::from(SMALL_CACHE);
    report.add(match full_cache(lab).await {
        Ok(added) => {
            let ratio = Spread::of(vec![added / budget]);
            Row::ratio(SECTION, name, "MiB", budget, added, ratio, goal)
        }
        Err(error) => Row::failed(SECTION, name, goal, &error),
    });
    Ok(())
}

/// Private memory of a gateway with a full cache, in MiB, less that of a gateway without a cache
/// after as many requests.
async fn full_cache(lab: &Lab) -> Result<f64> {
    let mut resident = [0.0; 2];
    let sides = [
        (Setup::CacheOff, CacheUse::Silent),
        (Setup::SmallCache, CacheUse::Misses),
    ];
    for (figure, (setup, cache)) in resident.iter_mut().zip(sides) {
        let subject = lab.candidate_as(setup).context("start the gateway")?;
        let mut prepared = Prepared::using(&subject, Case::CHAT, cache, CONNECTIONS).await?;
        prepared.send(FILLING).await?;
        *figure = memory::resident(&subject).await?.private;
    }
    Ok((resident[1] - resident[0]).max(0.0))
}

fn add(report: &mut Report, name: &str, goal: Option<f64>, spent: Result<[Vec<f64>; 2]>) {
    report.add(match spent {
        Ok([base, gateway]) => {
            let ratios = gateway.iter().zip(&base).map(|(one, other)| one / other);
            let ratio = Spread::of(ratios.collect());
            let (base, gateway) = (median(base), median(gateway));
            Row::ratio(SECTION, name.into(), "µs", base, gateway, ratio, goal)
        }
        Err(error) => Row::failed(SECTION, name.into(), goal, &error),
    });
}

/// CPU microseconds per request of both sides, round by round.
pub(super) async fn compare(
    sides: [(&Subject, CacheUse); 2],
    effort: Effort,
) -> Result<[Vec<f64>; 2]> {
    let requests = effort.scaled(Case::CHAT.shape.requests());
    let [one, other] = sides;
    let mut both = [
        Prepared::using(one.0, Case::CHAT, one.1, effort.connections).await?,
        Prepared::using(other.0, Case::CHAT, other.1, effort.connections).await?,
    ];
    let mut spent = [Vec::new(), Vec::new()];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            spent[turn].push(both[turn].round(requests).await?);
        }
    }
    Ok(spent)
}

/// CPU and time of hits at 64 connections.
async fn hits(floor: &Subject, candidate: &Subject, effort: Effort, report: &mut Report) {
    let (cpu, sooner) = (report.goals().hit_micros(), report.goals().hit_latency());
    match hit_rounds(floor, candidate, effort).await {
        Ok([floor_cpu, cpu_of_hits, floor_p50, p50]) => {
            let name = "CPU of a hit, 64 connections";
            let row = Row::value(SECTION, name.into(), "µs", median(cpu_of_hits), cpu);
            report.add(row.beside(median(floor_cpu)));
            let ratios = p50.iter().zip(&floor_p50).map(|(hit, floor)| hit / floor);
            let ratio = Spread::of(ratios.collect());
            let name = "p50 of a hit, 64 connections";
            let (floor, hit) = (median(floor_p50), median(p50));
            report.add(Row::ratio(
                SECTION,
                name.into(),
                "µs",
                floor,
                hit,
                ratio,
                sooner,
            ));
        }
        Err(error) => report.add(Row::failed(SECTION, "hits".into(), cpu, &error)),
    }
}

/// Of floor and hits: CPU microseconds, then the median microseconds to the answer.
async fn hit_rounds(floor: &Subject, candidate: &Subject, effort: Effort) -> Result<[Vec<f64>; 4]> {
    let requests = effort.scaled(Case::CHAT.shape.requests());
    let mut both = [
        Prepared::using(floor, Case::CHAT, CacheUse::Silent, CONNECTIONS).await?,
        Prepared::using(candidate, Case::CHAT, CacheUse::Hits, CONNECTIONS).await?,
    ];
    let mut figures = [const { Vec::new() }; 4];
    for round in 0..effort.rounds {
        for turn in turns(round) {
            let (cpu, p50) = both[turn].timed_round(requests).await?;
            figures[turn].push(cpu);
            figures[turn + 2].push(p50);
        }
    }
    Ok(figures)
}
