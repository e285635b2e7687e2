//! The scanner of bodies and the splice beside `serde_json`: time and allocations for the same
//! change of the same bodies.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::example_with;
use crate::{
    bench::{
        median, progress,
        report::{Report, Row, Spread},
        workload::Case,
    },
    workspace::Workspace,
};

/// Bytes of the document in the large body, as base64.
const DOCUMENT_BYTES: usize = 2 << 20;
/// Members of the body with many.
const MEMBERS: usize = 2_000;

/// Compares both ways within one run.
pub(in crate::bench) fn json(workspace: &Workspace, report: &mut Report) {
    progress("JSON");
    for (section, name, unit) in [
        ("JSON edits, time: serde_json and ours", "json_cpu", "µs"),
        (
            "JSON edits, allocations: serde_json and ours",
            "json_steps",
            "",
        ),
    ] {
        match compared(workspace, name) {
            Ok(pairs) => {
                for (what, pairs) in pairs {
                    report.add(row(section, what, unit, &pairs));
                }
            }
            Err(error) => report.add(Row::failed(section, "all bodies".into(), None, &error)),
        }
    }
}

fn row(section: &'static str, what: String, unit: &'static str, pairs: &[(f64, f64)]) -> Row {
    let scale = if unit.is_empty() { 1.0 } else { 1e-3 };
    let of = |pick: fn(&(f64, f64)) -> f64| median(pairs.iter().map(pick).collect()) * scale;
    let ratios = pairs.iter().map(|(theirs, ours)| ours / theirs).collect();
    let (theirs, ours) = (of(|pair| pair.0), of(|pair| pair.1));
    Row::ratio(section, what, unit, theirs, ours, Spread::of(ratios), None)
}

fn compared(workspace: &Workspace, name: &str) -> Result<BTreeMap<String, Vec<(f64, f64)>>> {
    let folder = workspace.target().join("bench-bodies");
    fs::create_dir_all(&folder).context("create the folder of bodies")?;
    let mut files: Vec<PathBuf> = Vec::new();
    for (name, body) in bodies() {
        let path = folder.join(format!("{name}.json"));
        fs::write(&path, body.to_string()).context("write a body")?;
        files.push(path);
    }
    pairs(&example_with(workspace, "bardo-fuzz", name, &files)?)
}

fn bodies() -> [(&'static str, Value); 5] {
    let document = "JVBERi0xLjQK".repeat(DOCUMENT_BYTES / 12);
    let mut many = Map::new();
    for number in 0..MEMBERS {
        many.insert(format!("member_{number}"), json!(number));
    }
    many.insert("model".into(), json!("m"));
    [
        ("chat", Case::CHAT.sample()),
        ("agent-openai", Case::AGENT.sample()),
        ("agent-anthropic", Case::AGENT_ANTHROPIC.sample()),
        (
            "document",
            json!({"model": "m", "messages": [{"role": "user", "content": [
                {"type": "text", "text": "What does it say?"},
                {"type": "file", "file": {
                    "filename": "report.pdf",
                    "file_data": format!("data:application/pdf;base64,{document}"),
                }},
            ]}]}),
        ),
        ("many-members", Value::Object(many)),
    ]
}

/// From lines `chat, 0.3 kB; list of raw values, spliced: 900 310`: the figures of the other way
/// and of ours, by what was compared.
fn pairs(said: &str) -> Result<BTreeMap<String, Vec<(f64, f64)>>> {
    let mut all: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in said.lines() {
        let read = || {
            let (what, figures) = line.rsplit_once(": ")?;
            let (theirs, ours) = figures.split_once(' ')?;
            Some((what.to_owned(), theirs.parse().ok()?, ours.parse().ok()?))
        };
        let (what, theirs, ours) = read().with_context(|| format!("read `{line}`"))?;
        all.entry(what).or_default().push((theirs, ours));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_gathered_by_what_was_compared() {
        let said = "chat, 0.3 kB; spliced: 900 300\nchat, 0.3 kB; spliced: 1000 310\n\
                    agent, 118.0 kB; spliced: 5 4\n";
        let read = pairs(said).unwrap();
        assert_eq!(
            read["chat, 0.3 kB; spliced"],
            [(900.0, 300.0), (1000.0, 310.0)]
        );
        assert_eq!(read.len(), 2);
        assert!(pairs("chat: fast\n").is_err());
    }

    #[test]
    fn every_body_names_a_model() {
        for (name, body) in bodies() {
            assert!(body["model"].is_string(), "{name}");
        }
    }
}
