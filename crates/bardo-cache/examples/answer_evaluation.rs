//! Prints how often the comparison of two answers is right:
//! `cargo run -p bardo-cache --example answer_evaluation [--misses]`.
//!
//! Each line of `data/guard/answers.jsonl` has two answers to one question, whether the first would
//! have been right where the second is, and the cosine of their vectors.

use std::error::Error;
use std::io::Write;

use bardo_cache::semantic::answers::verdict;
use serde_json::Value;

const PAIRS: &str = include_str!("../data/guard/answers.jsonl");

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let misses = std::env::args().any(|argument| argument == "--misses");
    writeln!(
        out,
        "{:<10}{:<16}{:>7}{:>8}{:>10}{:>10}",
        "split", "answers", "pairs", "agree", "disagree", "unjudged"
    )?;
    let mut shown = Vec::new();
    for split in ["tune", "held-out"] {
        for same in [true, false] {
            let mut counts = [0; 3];
            for line in PAIRS.lines() {
                let pair: Value = serde_json::from_str(line)?;
                if pair["split"] != split || pair["same"] != same {
                    continue;
                }
                let text = |name: &str| pair[name].as_str().unwrap_or_default().to_owned();
                #[expect(clippy::cast_possible_truncation, reason = "a cosine")]
                let cosine = pair["cosine"].as_f64().map(|cosine| cosine as f32);
                let found = verdict(&text("a"), &text("b"), cosine);
                let place = match found {
                    Some(true) => 0,
                    Some(false) => 1,
                    None => 2,
                };
                counts[place] += 1;
                if found != Some(same) && split == "tune" {
                    shown.push(format!(
                        "{found:?} {cosine:?}: {} | {}",
                        text("a"),
                        text("b")
                    ));
                }
            }
            writeln!(
                out,
                "{split:<10}{:<16}{:>7}{:>8}{:>10}{:>10}",
                if same { "right" } else { "wrong" },
                counts.iter().sum::<usize>(),
                counts[0],
                counts[1],
                counts[2],
            )?;
        }
    }
    if misses {
        for line in shown {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
