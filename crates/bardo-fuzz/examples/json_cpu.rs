//! What it costs to change a body in place, beside `serde_json`, in time: `cargo run --release
//! -p bardo-fuzz --example json_cpu -- BODY.json…`. A line per body, rival and round has the
//! nanoseconds of the rival and then ours.

#[path = "json/ways.rs"]
mod ways;

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use ways::Way;

const ROUNDS: usize = 41;
/// Bytes that are read in one half of a round.
const ROUND_BYTES: usize = 8 << 20;
/// Most bodies in one half of a round.
const BATCH_MAX: usize = 4_000;

/// Nanoseconds for each body. The clock is the wall's: the kernel counts a thread's own time in
/// steps that are longer than a round, and the median of the rounds ignores interruptions.
fn time(way: Way, body: &[u8], batch: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..batch {
        drop(black_box(way(black_box(body))));
    }
    start.elapsed().as_nanos() as f64 / batch as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for ways::Body { name, json: body } in ways::bodies()? {
        let batch = (ROUND_BYTES / body.len()).clamp(4, BATCH_MAX);
        for (rival, way) in ways::RIVALS {
            for round in 0..ROUNDS {
                // The two take turns in going first.
                let (theirs, ours) = if round % 2 == 0 {
                    let theirs = time(way, &body, batch);
                    (theirs, time(ways::ours, &body, batch))
                } else {
                    let ours = time(ways::ours, &body, batch);
                    (time(way, &body, batch), ours)
                };
                writeln!(out, "{name}; {rival}: {theirs:.0} {ours:.0}")?;
            }
        }
    }
    Ok(())
}
