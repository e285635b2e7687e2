//! Prints how long a lookup takes: `cargo run --release -p bardo-cache --example semantic_scan`.

#[path = "../tests/audits/simulation.rs"]
#[expect(dead_code, reason = "the generator of random numbers alone is used")]
mod simulation;

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use bardo_cache::guard::Signature;
use bardo_cache::semantic::{DIMENSIONS, VectorBlock};
use simulation::Draws;

const ROUNDS: usize = 400;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut draws = Draws(1);
    let mut random =
        || std::array::from_fn::<i8, DIMENSIONS, _>(|_| (draws.next() * 24.0 - 12.0) as i8);
    for entries in [1_000, 5_000, 10_000] {
        let mut block = VectorBlock::default();
        for _ in 0..entries {
            block.push(&random());
        }
        let query = random();
        let times = measured(|| {
            black_box(block.nearest(black_box(&query), 0.9, 8));
        });
        writeln!(out, "scan of {entries} vectors: {times}")?;
    }
    let texts = [
        "How do I cancel a pending transaction in MetaMask?",
        "What is the way to cancel my pending MetaMask transaction?",
    ];
    let times = measured(|| {
        black_box(Signature::of(black_box(texts[0])));
    });
    writeln!(out, "signature of {} bytes: {times}", texts[0].len())?;
    let [one, other] = texts.map(Signature::of);
    let times = measured(|| {
        black_box(one.difference(black_box(&other)));
    });
    writeln!(out, "comparison of two signatures: {times}")
}

/// Median and 99th percentile.
fn measured(mut work: impl FnMut()) -> String {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!(
        "p50 {:.1} µs, p99 {:.1} µs",
        times[ROUNDS / 2],
        times[ROUNDS * 99 / 100]
    )
}
