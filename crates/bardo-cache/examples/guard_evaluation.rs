//! Prints how often the guard joins paraphrases and near-misses:
//! `cargo run -p bardo-cache --example guard_evaluation [pairs.jsonl] [--misses]`.
//!
//! Each line of the file has the two texts, whether they ask the same, their domain, their split
//! and the cosine of their vectors, so that no model is needed here.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;

use bardo_cache::guard;
use serde_json::Value;

const PAIRS: &str = include_str!("../data/guard/pairs.jsonl");
const THRESHOLDS: [f64; 9] = [0.98, 0.95, 0.92, 0.90, 0.88, 0.85, 0.80, 0.75, 0.0];

struct Pair {
    domain: String,
    split: String,
    same: bool,
    cosine: f64,
    texts: [String; 2],
    difference: Option<guard::Mismatch>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments
        .iter()
        .find(|argument| !argument.starts_with("--"));
    let text = match file {
        Some(path) => std::fs::read_to_string(path)?,
        None => PAIRS.to_owned(),
    };
    let pairs = text.lines().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut out = std::io::stdout().lock();
    for split in values(&pairs, |pair| &pair.split) {
        let of = |pair: &&Pair| pair.split == split;
        writeln!(out, "\n{split}: curve over thresholds")?;
        heading(&mut out, "cosine from")?;
        for threshold in THRESHOLDS {
            let chosen: Vec<&Pair> = pairs.iter().filter(of).collect();
            row(&mut out, &threshold.to_string(), &chosen, threshold)?;
        }
        writeln!(out, "\n{split}: domains at 0.85")?;
        heading(&mut out, "domain")?;
        for domain in values(&pairs, |pair| &pair.domain) {
            let chosen: Vec<&Pair> = pairs
                .iter()
                .filter(of)
                .filter(|p| p.domain == domain)
                .collect();
            row(&mut out, &domain, &chosen, 0.85)?;
        }
    }
    for pair in pairs
        .iter()
        .filter(|pair| !pair.same && pair.difference.is_none())
    {
        writeln!(out, "false hit: {} | {}", pair.texts[0], pair.texts[1])?;
    }
    if arguments.iter().any(|argument| argument == "--misses") {
        for pair in pairs.iter().filter(|pair| pair.same) {
            if let Some(difference) = &pair.difference {
                writeln!(out, "{difference}: {} | {}", pair.texts[0], pair.texts[1])?;
            }
        }
    }
    Ok(())
}

fn read(line: &str) -> Result<Pair, Box<dyn Error>> {
    let value: Value = serde_json::from_str(line)?;
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let texts = [text("a"), text("b")];
    Ok(Pair {
        domain: text("domain"),
        split: text("split"),
        same: value["same"].as_bool().unwrap_or_default(),
        cosine: value["cosine"].as_f64().unwrap_or_default(),
        difference: guard::difference(&texts[0], &texts[1]),
        texts,
    })
}

fn values(pairs: &[Pair], of: impl Fn(&Pair) -> &String) -> BTreeSet<String> {
    pairs.iter().map(|pair| of(pair).clone()).collect()
}

fn heading(out: &mut impl Write, first: &str) -> std::io::Result<()> {
    writeln!(
        out,
        "{first:<16}{:>12}{:>8}{:>10}{:>16}{:>12}{:>11}{:>11}",
        "paraphrases", "above", "hits", "of those above", "of all", "near-miss", "false hits"
    )
}

fn row(out: &mut impl Write, name: &str, pairs: &[&Pair], from: f64) -> std::io::Result<()> {
    let count = |same: bool, above: bool, hit: bool| {
        let fits = |pair: &&&Pair| {
            pair.same == same
                && (!above || pair.cosine >= from)
                && (!hit || pair.difference.is_none())
        };
        pairs.iter().filter(fits).count()
    };
    let share = |part: usize, whole: usize| {
        let percent = 100.0 * part as f64 / whole.max(1) as f64;
        format!("{percent:.0} %")
    };
    let (all, above, hits) = (
        count(true, false, false),
        count(true, true, false),
        count(true, true, true),
    );
    writeln!(
        out,
        "{name:<16}{all:>12}{above:>8}{hits:>10}{:>16}{:>12}{:>11}{:>11}",
        share(hits, above),
        share(hits, all),
        count(false, true, false),
        count(false, true, true),
    )
}
