//! Dependencies point down and are few.
//!
//! Edges between our own crates are listed here; third-party crates that only
//! some of ours may touch are the `bans` of `deny.toml`, read from there so
//! that there is one list.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use toml::{Table, Value};

use super::{Violation, tree::Tree};

/// Which of our crates each crate may name, in its tests too. A new edge is a
/// design decision: it is written here and explained in `ARCHITECTURE.md`.
const EDGES: &[(&str, Allowed)] = &[
    ("bardo-types", Allowed::Only(&[])),
    ("bardo-wire", Allowed::Only(&["bardo-types"])),
    ("bardo-router", Allowed::Only(&["bardo-types"])),
    (
        "bardo-profile",
        // All but the first for its tests alone: the models of the catalog, the encoders that write
        // a profile, and the validators that judge what was written.
        Allowed::Only(&["bardo-types", "bardo-router", "bardo-wire", "bardo-sandbox"]),
    ),
    ("bardo-ledger", Allowed::Only(&["bardo-types"])),
    ("bardo-access", Allowed::Only(&["bardo-types"])),
    (
        "bardo-cache",
        // The last for its tests alone: the requests and answers of every dialect.
        Allowed::Only(&["bardo-types", "bardo-wire"]),
    ),
    ("bardo-x402", Allowed::Only(&["bardo-types"])),
    ("bardo-embed", Allowed::Only(&[])),
    ("bardo-telemetry", Allowed::Only(&["bardo-types"])),
    ("bardo-traces", Allowed::Only(&["bardo-types"])),
    ("bardo-console", Allowed::Only(&["bardo-types"])),
    ("bardo-top", Allowed::Only(&[])),
    (
        "bardo-store",
        Allowed::Only(&["bardo-types", "bardo-ledger", "bardo-access", "bardo-cache"]),
    ),
    ("bardo-testkit", Allowed::Any),
    (
        "bardo-providers",
        // The last signs payments to providers.
        Allowed::Only(&["bardo-types", "bardo-wire", "bardo-router", "bardo-x402"]),
    ),
    (
        "bardo-engine",
        Allowed::Only(&[
            "bardo-types",
            "bardo-wire",
            "bardo-router",
            "bardo-profile",
            "bardo-providers",
            "bardo-ledger",
            "bardo-access",
            "bardo-cache",
            // For its tests alone; `deny.toml` says so too.
            "bardo-sandbox",
        ]),
    ),
    (
        "bardo-chain",
        // The last for its tests alone: a real node.
        Allowed::Only(&["bardo-types", "bardo-x402", "bardo-ledger", "bardo-store"]),
    ),
    (
        "bardo-seller",
        Allowed::Only(&[
            "bardo-types",
            "bardo-access",
            "bardo-ledger",
            "bardo-engine",
            "bardo-x402",
        ]),
    ),
    // The vocabulary alone: what runs inside an agent speaks to the gateway over HTTP. The rest is
    // for its tests and examples.
    ("golem-inference", Allowed::Any),
    // Simulated sellers verify payments.
    ("bardo-sandbox", Allowed::Only(&["bardo-x402"])),
    (
        "bardo-fuzz",
        // The last for its tests alone.
        Allowed::Only(&["bardo-types", "bardo-wire", "bardo-cache", "bardo-steps"]),
    ),
    ("bardo-steps", Allowed::Only(&[])),
    // Keys on chains.
    ("bardo-keystore", Allowed::Only(&["bardo-x402"])),
    (
        "bardo-inference",
        // The payer's side: it translates, sends and signs, and knows nothing of the gateway. The
        // last for its tests alone.
        Allowed::Only(&[
            "bardo-types",
            "bardo-wire",
            "bardo-providers",
            "bardo-x402",
            "bardo-keystore",
            "bardo-sandbox",
        ]),
    ),
    (
        "bardo-config",
        Allowed::Only(&[
            "bardo-types",
            "bardo-wire",
            "bardo-router",
            "bardo-profile",
            "bardo-providers",
            "bardo-traces",
            "bardo-keystore",
        ]),
    ),
    ("bardo-gateway", Allowed::Any),
    ("xtask", Allowed::Only(&["bardo-sandbox"])),
];

/// The one crate whose code may be unsafe: it counts for tests, and nothing that ships names it
/// (`deny.toml`).
const UNSAFE: &str = "bardo-steps";

#[derive(Clone, Copy)]
enum Allowed {
    Any,
    Only(&'static [&'static str]),
}

#[derive(Deserialize)]
struct Deny {
    bans: Bans,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    #[serde(default)]
    wrappers: Vec<String>,
    reason: String,
}

pub(super) fn check(tree: &Tree) -> Result<Vec<Violation>> {
    let bans = bans(tree)?;
    let mut found = Vec::new();
    for (dir, path, text) in tree.manifests() {
        let manifest: Table = toml::from_str(text).with_context(|| format!("parse {path}"))?;
        let crate_name = dir.rsplit('/').next().unwrap_or(dir);
        found.extend(check_promises(path, &manifest));
        found.extend(check_edges(crate_name, path, &manifest));
        found.extend(check_bans(&bans, crate_name, path, &manifest));
    }
    Ok(found)
}

fn bans(tree: &Tree) -> Result<BTreeMap<String, Ban>> {
    let Some(text) = tree.text("deny.toml") else {
        return Ok(BTreeMap::new());
    };
    let deny: Deny = toml::from_str(text).context("parse deny.toml")?;
    Ok(deny
        .bans
        .deny
        .into_iter()
        .map(|ban| (ban.name.clone(), ban))
        .collect())
}

/// What every manifest says: the shared lints, and what the crate is for.
fn check_promises(path: &str, manifest: &Table) -> Vec<Violation> {
    let mut found = Vec::new();
    let lints = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    let is_free = path.ends_with(&format!("{UNSAFE}/Cargo.toml"));
    if lints.and_then(Value::as_bool) != Some(true) && !is_free {
        let fix = "add `[lints]` with `workspace = true`";
        found.push(Violation::of(path, "the workspace lints do not apply", fix));
    }
    let description = manifest.get("package").and_then(|p| p.get("description"));
    if matches!(
        description.and_then(Value::as_str),
        None | Some("" | "TODO")
    ) {
        let fix = "say in one line what the crate is for";
        found.push(Violation::of(path, "the crate has no description", fix));
    }
    found
}

fn check_edges(crate_name: &str, path: &str, manifest: &Table) -> Vec<Violation> {
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == crate_name) else {
        let fix =
            "give it a row in EDGES of xtask/src/tidy/layers.rs and a line in ARCHITECTURE.md";
        return vec![Violation::of(
            path,
            format!("{crate_name} has no layer"),
            fix,
        )];
    };
    let Allowed::Only(allowed) = allowed else {
        return Vec::new();
    };
    dependencies(manifest)
        .into_iter()
        // A crate that names itself turns its own features on for its tests.
        .filter(|name| name.starts_with("bardo-") && name != crate_name)
        .filter(|name| !allowed.contains(&name.as_str()))
        .map(|name| {
            let may = match allowed {
                [] => "none of our crates".to_owned(),
                names => format!("only {}", names.join(", ")),
            };
            let fix = format!("it may name {may}; move the code or, as a decision, add the edge");
            Violation::of(path, format!("{crate_name} depends on {name}"), fix)
        })
        .collect()
}

fn check_bans(
    bans: &BTreeMap<String, Ban>,
    crate_name: &str,
    path: &str,
    manifest: &Table,
) -> Vec<Violation> {
    dependencies(manifest)
        .into_iter()
        .filter_map(|name| bans.get(&name))
        .filter(|ban| !ban.wrappers.iter().any(|wrapper| wrapper == crate_name))
        .map(|ban| {
            let Ban {
                name,
                reason,
                wrappers,
            } = ban;
            let fix = match wrappers.as_slice() {
                [] => "use what we have instead".to_owned(),
                wrappers => format!("reach it through one of {}", wrappers.join(", ")),
            };
            let problem = format!("{crate_name} depends on {name} ({reason})");
            Violation::of(path, problem, fix)
        })
        .collect()
}

/// Every crate a manifest names, whatever the table, under its real name.
fn dependencies(manifest: &Table) -> Vec<String> {
    const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table);
    let scopes = std::iter::once(manifest).chain(
        targets
            .into_iter()
            .flat_map(|targets| targets.values().filter_map(Value::as_table)),
    );
    let mut names: Vec<String> = scopes
        .flat_map(|scope| {
            TABLES
                .iter()
                .filter_map(|table| scope.get(*table)?.as_table())
        })
        .flatten()
        .map(|(key, value)| {
            let renamed = value.get("package").and_then(Value::as_str);
            renamed.unwrap_or(key).to_owned()
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = r#"
        [bans]
        deny = [
            { crate = "clap", wrappers = ["bardo-gateway", "xtask"], reason = "arguments end at the edge" },
            { crate = "openssl", reason = "one TLS stack" },
        ]
    "#;

    fn manifest(dependencies: &str) -> String {
        format!("[package]\ndescription = \"d\"\n{dependencies}\n[lints]\nworkspace = true\n")
    }

    fn check_one(crate_name: &str, manifest: &str) -> Vec<String> {
        let path = format!("crates/{crate_name}/Cargo.toml");
        let tree = Tree::of(&[("deny.toml", DENY), (&path, manifest)]);
        let found = check(&tree).unwrap();
        found
            .iter()
            .map(|violation| violation.problem.clone())
            .collect()
    }

    #[test]
    fn an_allowed_edge_passes_and_an_upward_one_does_not() {
        let down = manifest("[dependencies]\nbardo-types.workspace = true");
        assert_eq!(check_one("bardo-wire", &down), [""; 0]);
        let up = manifest("[dependencies]\nbardo-engine.workspace = true");
        assert_eq!(
            check_one("bardo-wire", &up),
            ["bardo-wire depends on bardo-engine"]
        );
    }

    #[test]
    fn an_edge_hides_in_no_table_and_behind_no_name() {
        for table in [
            "[dev-dependencies]\nbardo-engine = { path = \"x\" }",
            "[build-dependencies]\nbardo-engine = { path = \"x\" }",
            "[target.'cfg(unix)'.dependencies]\nbardo-engine = { path = \"x\" }",
            "[dependencies]\nother = { package = \"bardo-engine\", path = \"x\" }",
        ] {
            assert_eq!(
                check_one("bardo-wire", &manifest(table)),
                ["bardo-wire depends on bardo-engine"],
                "{table}"
            );
        }
    }

    #[test]
    fn only_the_binary_and_tests_above_it_start_the_sandbox() {
        let uses = manifest("[dev-dependencies]\nbardo-sandbox.workspace = true");
        assert_eq!(check_one("bardo-gateway", &uses), [""; 0]);
        assert_eq!(
            check_one("bardo-wire", &uses),
            ["bardo-wire depends on bardo-sandbox"]
        );
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        assert_eq!(
            check_one("bardo-new", &manifest("")),
            ["bardo-new has no layer"]
        );
    }

    #[test]
    fn a_wrapped_crate_is_for_its_wrappers() {
        let uses = manifest("[dependencies]\nclap = \"4\"");
        assert_eq!(check_one("bardo-gateway", &uses), [""; 0]);
        assert_eq!(
            check_one("bardo-types", &uses),
            ["bardo-types depends on clap (arguments end at the edge)"]
        );
        let banned = manifest("[dependencies]\nopenssl = \"0.10\"");
        assert_eq!(
            check_one("bardo-gateway", &banned),
            ["bardo-gateway depends on openssl (one TLS stack)"]
        );
    }

    #[test]
    fn a_manifest_takes_the_shared_lints_and_says_what_it_is_for() {
        let bare = "[package]\ndescription = \"TODO\"\n";
        assert_eq!(
            check_one("bardo-types", bare),
            [
                "the workspace lints do not apply",
                "the crate has no description"
            ]
        );
    }

    #[test]
    fn the_list_in_this_workspace_names_the_promised_wrappers() {
        let deny = include_str!("../../../deny.toml");
        let bans = bans(&Tree::of(&[("deny.toml", deny)])).unwrap();
        for name in [
            "hyper",
            "clap",
            "toml",
            "serde-saphyr",
            "notify",
            "tiktoken-rs",
        ] {
            assert!(!bans[name].wrappers.is_empty(), "{name}");
        }
    }
}
