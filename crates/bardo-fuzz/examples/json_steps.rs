//! What it costs to change a body in place, beside `serde_json`, in allocations: `cargo run
//! -p bardo-fuzz --example json_steps -- BODY.json…`. A line per body and rival has the allocations
//! of the rival and then ours.

#[path = "json/ways.rs"]
mod ways;

use std::hint::black_box;
use std::io::Write as _;

use bardo_steps::count;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for ways::Body { name, json: body } in ways::bodies()? {
        let (_, ours) = count(|| black_box(ways::ours(black_box(&body))));
        for (rival, way) in ways::RIVALS {
            let (_, theirs) = count(|| black_box(way(black_box(&body))));
            writeln!(
                out,
                "{name}; {rival}: {} {}",
                theirs.allocations, ours.allocations
            )?;
        }
    }
    Ok(())
}
