//! The tables of the documentation say what the tables of the program say.

use std::fmt::Write as _;

use bardo_profile::{Sources, wanted};
use bardo_router::Subsystems;
use bardo_types::feature::Feature;
use bardo_types::hints::RouteHints;
use bardo_types::subsystem::Subsystem;

use super::{DEFAULTS, parse};

fn page(name: &str) -> String {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// Holds the part of a page between its marks to what it has to be.
#[track_caller]
fn holds(name: &str, mark: &str, expected: &str) {
    let text = page(name);
    let begin = format!("<!-- {mark} -->\n");
    let end = format!("<!-- end of {mark} -->");
    let part = text
        .split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end))
        .map_or("", |(part, _)| part);
    assert!(
        part.trim() == expected.trim(),
        "docs/{name} has to have between {begin}and {end}:\n\n{expected}"
    );
}

fn names(features: &[Feature]) -> String {
    let names: Vec<String> = features.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn said_of(row: &Subsystem) -> String {
    let said = [
        (row.protected, "protected"),
        (row.locked, "locked"),
        (row.creative, "creative"),
        (row.interactive, "interactive"),
    ];
    let said = said.iter().filter(|(holds, _)| *holds);
    said.map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_subsystems_is_the_one_in_force() {
    let mut table = String::from(
        "| subsystem | quality | required | preferred | first byte within | cost weight | class | |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in Subsystems::embedded().rows() {
        let intent = &row.intent;
        let latency = intent
            .max_latency_ms
            .map_or_else(|| "any time".to_owned(), |ms| format!("{ms} ms"));
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {latency} | {} | {} | {} |",
            row.name,
            intent.quality.as_str(),
            names(&intent.require),
            names(&intent.prefer),
            intent.cost_sensitivity,
            row.floor.as_str(),
            said_of(row),
        );
    }
    holds("routing.md", "subsystems", &table);
}

#[test]
fn the_table_of_profiles_is_the_one_in_force() {
    let mut table = String::from(
        "| subsystem | temperature | top_p | effort | answer tokens | schema | else |\n|---|---|---|---|---|---|---|\n",
    );
    let silent = RouteHints::default();
    for row in Subsystems::embedded().rows() {
        let Some(set) = wanted(&Sources {
            subsystem: Some(row),
            hints: &silent,
            owner: None,
            quality: row.intent.quality,
        }) else {
            continue;
        };
        let profile = &set.profile;
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let mut rest = Vec::new();
        if let Some(top_k) = profile.top_k {
            rest.push(format!("top_k {top_k}"));
        }
        if let Some(min_p) = profile.min_p {
            rest.push(format!("min_p {min_p}"));
        }
        for (name, penalty) in [
            ("frequency_penalty", profile.frequency_penalty),
            ("presence_penalty", profile.presence_penalty),
        ] {
            if let Some(penalty) = penalty {
                rest.push(format!("{name} {penalty}"));
            }
        }
        for (wanted, word) in [
            (profile.visible_thinking == Some(true), "reasoning shown"),
            (profile.web_search == Some(true), "web search"),
            (profile.cache_control == Some(true), "cache marks"),
            (set.locked, "locked"),
        ] {
            if wanted {
                rest.push(word.to_owned());
            }
        }
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} | {} | {} |",
            row.name,
            number(profile.temperature),
            number(profile.top_p),
            profile
                .reasoning_effort
                .map_or("", |effort| effort.as_str()),
            profile
                .max_tokens
                .map_or_else(String::new, |most| most.to_string()),
            profile
                .response_schema
                .as_ref()
                .map_or_else(String::new, |schema| schema.name.clone()),
            rest.join(", "),
        );
    }
    holds("profiles.md", "profiles", &table);
}

#[test]
fn the_table_of_features_is_the_one_in_force() {
    let mut table = String::from("| feature | may be relaxed |\n|---|---|\n");
    for feature in Feature::all() {
        let word = if feature.is_relaxable() { "yes" } else { "no" };
        let _ = writeln!(table, "| `{feature}` | {word} |");
    }
    holds("hints.md", "features", &table);
}

#[test]
fn every_event_is_documented() {
    let text = page("operations.md");
    for name in crate::events::NAMES {
        assert!(
            text.contains(&format!("`{name}`")),
            "docs/operations.md lacks `{name}`"
        );
    }
}

#[test]
fn every_default_is_in_the_reference() {
    fn leaves(path: &str, value: &serde_json::Value, seen: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(members) => {
                for (key, value) in members {
                    leaves(&format!("{path}.{key}"), value, seen);
                }
            }
            _ => seen.push(path.trim_start_matches('.').to_owned()),
        }
    }
    let mut keys = Vec::new();
    leaves("", &parse(DEFAULTS, "toml").unwrap(), &mut keys);
    let text = page("config.md");
    for key in keys {
        let (_, below) = key.split_once('.').unwrap();
        assert!(
            text.contains(&format!("`{below}`")),
            "docs/config.md lacks `{below}` ({key})"
        );
    }
}

#[test]
fn the_rates_of_tiers_are_the_ones_in_force() {
    let usual = parse(DEFAULTS, "toml").unwrap();
    let usual = usual["limits"]["requests_per_minute"].as_u64().unwrap();
    let text = page("keys.md");
    let row = text
        .lines()
        .find_map(|line| line.strip_prefix("| requests per minute |"));
    let shown: Vec<u64> = row
        .expect("a row of rates")
        .split('|')
        .filter_map(|cell| cell.trim().replace(',', "").parse().ok())
        .collect();
    let rate = |row: &bardo_access::TierRow| row.requests_per_minute.map_or(usual, u64::from);
    let tiers: Vec<u64> = bardo_access::tiers().iter().map(rate).collect();
    assert_eq!(shown, tiers);
    assert_eq!(tiers, [1_000, 100, 1_000, 1_000]);
}
