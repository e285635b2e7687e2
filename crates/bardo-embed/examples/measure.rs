//! Prints what the model in the program costs: load time, memory, and CPU time per text.
//!
//! `cargo run --release -p bardo-embed --example measure [TOKENS...]`. CPU time is that of the
//! whole process, so the figures hold on a busy machine too.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use bardo_embed::{Embedder, ModelSpec};

const ROUNDS: usize = 200;
const LONG: Duration = Duration::from_secs(120);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    memory("at the start");
    let embedder = Embedder::new(ModelSpec::minilm(), 4);
    let (clock, cpu) = (Instant::now(), cpu_time());
    embed(&embedder, "first").await;
    println!(
        "load and first text: {:?}, {:?} of CPU",
        clock.elapsed(),
        cpu_time() - cpu
    );
    memory("with the model");
    let wanted: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|count| count.parse().ok())
        .collect();
    let wanted = match wanted[..] {
        [] => vec![8, 16, 32, 64, 128, 256],
        _ => wanted,
    };
    for tokens in wanted {
        let mut clocks = Vec::new();
        let mut cpus = Vec::new();
        for round in 0..ROUNDS {
            let words = vec![["word", "time"][round % 2]; tokens - 2];
            let text = words.join(" ");
            let (clock, cpu) = (Instant::now(), cpu_time());
            let read = embed(&embedder, &text).await;
            assert_eq!(read, tokens);
            clocks.push(clock.elapsed());
            cpus.push(cpu_time() - cpu);
        }
        clocks.sort();
        cpus.sort();
        println!(
            "{tokens} tokens: p50 {:?}, least {:?}; CPU p50 {:?}, least {:?}",
            clocks[ROUNDS / 2],
            clocks[0],
            cpus[ROUNDS / 2],
            cpus[0]
        );
    }
    memory("at the end");
}

async fn embed(embedder: &Embedder, text: &str) -> usize {
    let embedded = embedder.embed(text.into(), 256, LONG).await;
    embedded.expect("the model answers").tokens
}

/// CPU time of all threads so far.
fn cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux lists the threads");
    let nanos = tasks.flatten().map(|task| {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        stat.split(' ')
            .next()
            .and_then(|ns| ns.parse().ok())
            .unwrap_or(0)
    });
    Duration::from_nanos(nanos.sum())
}

fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux reports the memory");
    let lines = status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("RssAnon"));
    let figures: Vec<String> = lines.map(|line| line.replace('\t', " ")).collect();
    println!("{when}: {}", figures.join(", "));
}
