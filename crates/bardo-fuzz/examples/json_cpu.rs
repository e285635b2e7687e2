//! What it costs to change a body in place, beside `serde_json`, in CPU time: `cargo run --release
//! -p bardo-fuzz --example json_cpu -- BODY.json…`. A line per body, rival and round has the
//! nanoseconds of the rival and then ours.

#[path = "json/ways.rs"]
mod ways;

use std::fs;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use ways::Way;

const ROUNDS: usize = 41;
/// Bytes that are read in one half of a round.
const ROUND_BYTES: usize = 8 << 20;
/// Most bodies in one half of a round.
const BATCH_MAX: usize = 4_000;

/// What this thread has spent, in nanoseconds; where the system does not tell, the time that passed.
fn spent(start: Instant) -> u64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = told.and_then(|told| told.split(' ').next()?.parse().ok());
    on_cpu.unwrap_or_else(|| u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn time(way: Way, body: &[u8], batch: usize, start: Instant) -> f64 {
    let before = spent(start);
    for _ in 0..batch {
        drop(black_box(way(black_box(body))));
    }
    (spent(start) - before) as f64 / batch as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut out = std::io::stdout().lock();
    for ways::Body { name, json: body } in ways::bodies()? {
        let batch = (ROUND_BYTES / body.len()).clamp(4, BATCH_MAX);
        for (rival, way) in ways::RIVALS {
            for round in 0..ROUNDS {
                // The two take turns in going first.
                let (theirs, ours) = if round % 2 == 0 {
                    let theirs = time(way, &body, batch, start);
                    (theirs, time(ways::ours, &body, batch, start))
                } else {
                    let ours = time(ways::ours, &body, batch, start);
                    (time(way, &body, batch, start), ours)
                };
                writeln!(out, "{name}; {rival}: {theirs:.0} {ours:.0}")?;
            }
        }
    }
    Ok(())
}
