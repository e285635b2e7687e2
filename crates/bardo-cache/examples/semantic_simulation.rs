//! Prints what audits promise and cost, in some minutes:
//! `cargo run --release -p bardo-cache --example semantic_simulation`.

#[path = "../tests/audits/simulation.rs"]
mod simulation;

use std::io::Write;

use bardo_cache::semantic::{AuditRules, HitAuditor};
use simulation::{Draws, Phase, Run, play, poisoned};

const RUNS: u64 = 200;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "A domain that was right turns bad ({RUNS} runs each):")?;
    writeln!(
        out,
        "{:>12}{:>12}{:>16}{:>12}{:>16}{:>12}",
        "clean hits", "false rate", "stopped", "false mean", "false p95", "hits mean"
    )?;
    for before in [0, 5_000, 40_000] {
        for false_rate in [0.01, 0.02, 0.05, 0.2, 0.5, 1.0] {
            let runs: Vec<Run> = (0..RUNS)
                .map(|seed| poisoned(seed, before, false_rate))
                .collect();
            let stopped = runs.iter().filter(|run| run.stopped).count();
            let mut wrong: Vec<u32> = runs.iter().map(|run| run.false_served).collect();
            wrong.sort_unstable();
            let mean = |of: &dyn Fn(&Run) -> u32| {
                runs.iter().map(|run| f64::from(of(run))).sum::<f64>() / RUNS as f64
            };
            writeln!(
                out,
                "{before:>12}{false_rate:>12}{:>15.0}%{:>12.1}{:>16}{:>12.0}",
                100.0 * stopped as f64 / RUNS as f64,
                mean(&|run| run.false_served),
                wrong[wrong.len() * 95 / 100],
                mean(&|run| run.hits),
            )?;
        }
    }
    writeln!(
        out,
        "\n20,000 would-be hits of a domain with a constant rate ({} runs each):",
        RUNS / 10
    )?;
    writeln!(
        out,
        "{:>12}{:>8}{:>10}{:>10}{:>14}{:>14}{:>12}",
        "false rate", "noise", "served", "audits", "second asks", "false served", "ever stopped"
    )?;
    for (false_rate, noise) in [
        (0.0, 0.0),
        (0.0005, 0.0),
        (0.001, 0.0),
        (0.005, 0.0),
        (0.02, 0.0),
        (0.0, 0.05),
    ] {
        let runs: Vec<Run> = (0..RUNS / 10)
            .map(|seed| {
                let mut auditor = HitAuditor::new(AuditRules::default());
                let phase = Phase {
                    false_rate,
                    noise,
                    hits: 20_000,
                    until_stop: false,
                };
                play(&mut auditor, &mut Draws(seed), phase)
            })
            .collect();
        let share = |of: &dyn Fn(&Run) -> u32| {
            let sum: f64 = runs
                .iter()
                .map(|run| f64::from(of(run)) / f64::from(run.hits))
                .sum();
            100.0 * sum / runs.len() as f64
        };
        writeln!(
            out,
            "{false_rate:>12}{noise:>8}{:>9.1}%{:>9.2}%{:>13.3}%{:>13.4}%{:>11.0}%",
            share(&|run| run.served),
            share(&|run| run.audits),
            share(&|run| run.second_answers),
            share(&|run| run.false_served),
            100.0 * runs.iter().filter(|run| run.stopped).count() as f64 / runs.len() as f64,
        )?;
    }
    Ok(())
}
