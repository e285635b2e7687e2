//! Parts of the caches alone: keys, look-ups, the search by meaning, the embedding, memory.

use anyhow::{Context, Result};

use super::{example, micros};
use crate::{
    bench::{
        progress,
        report::{Report, Row},
    },
    workspace::Workspace,
};

const SECTION: &str = "Caches, their parts alone";

/// Times the parts.
pub(in crate::bench) fn caches(workspace: &Workspace, report: &mut Report) {
    progress("the parts of the caches");
    let look_up = report.goals().look_up_micros();
    let cost = example(workspace, "bardo-cache", "cache_cost");
    let cost = cost.and_then(|said| costs(&said));
    let scan = example(workspace, "bardo-cache", "semantic_scan");
    let scan = scan.and_then(|said| searches(&said));
    let embedding = example(workspace, "bardo-embed", "measure");
    let embedding = embedding.and_then(|said| embeddings(&said));
    for figures in [cost, scan, embedding] {
        match figures {
            Ok(figures) => {
                for (name, unit, value) in figures {
                    let goal = look_up.filter(|_| name.starts_with("look-up"));
                    report.add(Row::value(SECTION, name, unit, value, goal));
                }
            }
            Err(error) => report.add(Row::failed(SECTION, "all".into(), None, &error)),
        }
    }
}

type Figures = Vec<(String, &'static str, f64)>;

fn some(figures: Figures, said: &str) -> Result<Figures> {
    let found = (!figures.is_empty()).then_some(figures);
    found.with_context(|| format!("no figures in `{said}`"))
}

/// From `key of a small chat: 900 ns` and `look-up among 5000: p50 90 ns, p99 300 ns; …`.
fn costs(said: &str) -> Result<Figures> {
    let read = |line: &str| {
        if let Some(key) = line.strip_prefix("key of a") {
            let (what, time) = key.trim_start_matches('n').trim().split_once(": ")?;
            return Some((format!("key of: {what}"), "µs", time_of(time)?));
        }
        let (what, rest) = line.strip_prefix("look-up ")?.split_once(": ")?;
        let (_, p99) = rest.split_once("p99 ")?;
        let p99 = time_of(p99.split(';').next()?)?;
        Some((format!("look-up {what}, p99"), "µs", p99))
    };
    some(said.lines().filter_map(read).collect(), said)
}

/// From `scan of 10000 vectors: p50 219.0 µs, p99 300.0 µs`.
fn searches(said: &str) -> Result<Figures> {
    let read = |line: &str| {
        let (what, rest) = line.strip_prefix("scan of ")?.split_once(": p50 ")?;
        let p50 = time_of(rest.split(',').next()?)?;
        Some((format!("search by meaning, {what}, p50"), "µs", p50))
    };
    some(said.lines().filter_map(read).collect(), said)
}

/// From `16 tokens: p50 1.2ms, least 1.1ms; …`.
fn embeddings(said: &str) -> Result<Figures> {
    let read = |line: &str| {
        let (what, rest) = line.split_once(" tokens: p50 ")?;
        let p50 = micros(rest.split(',').next()?)?;
        Some((format!("embedding of {what} tokens, p50"), "µs", p50))
    };
    some(said.lines().filter_map(read).collect(), said)
}

/// A time such as `219.0 µs`, in microseconds.
fn time_of(text: &str) -> Option<f64> {
    micros(&text.trim().replace(' ', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_the_parts_are_read() {
        let said = "key of a small chat: 900 ns\nkey of a chat of 1 kB: 1200 ns\n\
                    look-up among 5000: p50 90 ns, p99 300 ns; a miss 20 ns; 50 chunks read 5 ns\n";
        let figure = |name: &str, value: f64| (name.to_owned(), "µs", value);
        let expected = [
            figure("key of: small chat", 0.9),
            figure("key of: chat of 1 kB", 1.2),
            figure("look-up among 5000, p99", 0.3),
        ];
        assert_eq!(costs(said).unwrap(), expected);
        let said = "scan of 10000 vectors: p50 219.0 µs, p99 300.0 µs\nsignature: p50 1 µs\n";
        let expected = [figure("search by meaning, 10000 vectors, p50", 219.0)];
        assert_eq!(searches(said).unwrap(), expected);
        let said = "load and first text: 3ms\n16 tokens: p50 1.5ms, least 1ms; CPU p50 1ms\n";
        let expected = [figure("embedding of 16 tokens, p50", 1_500.0)];
        assert_eq!(embeddings(said).unwrap(), expected);
        assert!(costs("").is_err());
    }
}
