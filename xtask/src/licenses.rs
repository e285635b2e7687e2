//! Checks the dependency tree against `deny.toml`: licenses and sources.
//!
//! `cargo deny` reads the same file. It takes minutes to install, so the test command checks these
//! two rules itself, and calls `cargo deny` where the machine has it.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, Licensee};

use crate::workspace::Workspace;

/// The part of `deny.toml` that this check reads.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
    #[serde(default)]
    allow_registry: Vec<String>,
    #[serde(default)]
    allow_git: Vec<String>,
}

/// The part of `cargo metadata` that this check reads.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    license_file: Option<String>,
    /// Absent for the crates of this workspace.
    source: Option<String>,
}

/// Checks every package of `Cargo.lock`; each violation is a line.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let rules = std::fs::read_to_string(workspace.root().join("deny.toml"))?;
    let rules: Rules = toml::from_str(&rules).context("parse deny.toml")?;
    violations(&rules, &metadata(workspace.cargo())?.packages)
}

fn metadata(mut cargo: Command) -> Result<Metadata> {
    let output = cargo
        .args(["metadata", "--locked", "--format-version", "1"])
        .output()
        .context("start cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("parse the output of cargo metadata")
}

fn violations(rules: &Rules, packages: &[Package]) -> Result<Vec<String>> {
    let allowed = rules.licenses.allow.iter().map(|name| {
        Licensee::parse(name).with_context(|| format!("deny.toml: `{name}` is not an SPDX license"))
    });
    let allowed: Vec<Licensee> = allowed.collect::<Result<_>>()?;
    let sources = packages.iter().filter_map(|each| each.source.as_deref());
    let registry = most_common(sources.filter(|source| !source.starts_with("git+")));
    let mut found = Vec::new();
    for package in packages {
        let Some(source) = &package.source else {
            continue;
        };
        let named = format!("{} {}", package.name, package.version);
        if !rules.sources.allows(source, registry) {
            found.push(format!("{named}: deny.toml does not allow its source"));
        }
        if let Err(problem) = license(package, &allowed) {
            found.push(format!("{named}: {problem}"));
        }
    }
    Ok(found)
}

fn license(package: &Package, allowed: &[Licensee]) -> Result<(), String> {
    let Some(text) = &package.license else {
        return Err(match &package.license_file {
            Some(_) => "it has a license file and no SPDX expression".to_owned(),
            None => "it names no license".to_owned(),
        });
    };
    // Old manifests write `MIT/Apache-2.0`, which means `OR`.
    let expression = Expression::parse_mode(text, spdx::ParseMode::LAX)
        .map_err(|error| format!("`{text}` is not an SPDX expression: {error}"))?;
    let is_allowed = |wanted: &LicenseReq| allowed.iter().any(|one| one.satisfies(wanted));
    if expression.evaluate(is_allowed) {
        Ok(())
    } else {
        Err(format!("deny.toml allows no license of `{text}`"))
    }
}

/// The registry of the workspace: the one that most packages come from.
fn most_common<'a>(sources: impl Iterator<Item = &'a str>) -> &'a str {
    let mut counts = BTreeMap::new();
    for source in sources {
        *counts.entry(source).or_insert(0) += 1;
    }
    let most = counts.into_iter().max_by_key(|&(_, count)| count);
    most.map_or("", |(source, _)| source)
}

impl Sources {
    fn allows(&self, source: &str, registry: &str) -> bool {
        if let Some(url) = source.strip_prefix("git+") {
            let is_listed = self.allow_git.iter().any(|known| url.starts_with(&**known));
            return self.unknown_git != "deny" || is_listed;
        }
        let url = source.split_once('+').map_or(source, |(_, url)| url);
        let is_listed = self.allow_registry.iter().any(|known| known == url);
        self.unknown_registry != "deny" || is_listed || source == registry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0 WITH LLVM-exception"]
        [sources]
        unknown-registry = "deny"
        unknown-git = "deny"
    "#;

    const REGISTRY: &str = "registry+https://example.com/index";

    fn package(license: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: "a".into(),
            version: "1.0.0".into(),
            license: license.map(str::to_owned),
            license_file: None,
            source: source.map(str::to_owned),
        }
    }

    #[track_caller]
    fn check(license: Option<&str>, source: Option<&str>, problem: Option<&str>) {
        let usual = || package(Some("MIT"), Some(REGISTRY));
        let rules = toml::from_str(RULES).unwrap();
        let packages = [usual(), package(license, source), usual()];
        let found = violations(&rules, &packages).unwrap();
        match problem {
            None => assert!(found.is_empty(), "{found:?}"),
            Some(problem) => assert!(found.iter().any(|one| one.contains(problem)), "{found:?}"),
        }
    }

    #[test]
    fn one_allowed_license_of_several_is_enough() {
        let here = Some(REGISTRY);
        check(Some("MIT"), here, None);
        check(Some("MIT/Apache-2.0"), here, None);
        check(Some("GPL-3.0-only OR MIT"), here, None);
        check(Some("Apache-2.0 WITH LLVM-exception"), here, None);
        check(
            Some("MIT AND GPL-3.0-only"),
            here,
            Some("allows no license"),
        );
        check(Some("Apache-2.0"), here, Some("allows no license"));
        check(None, here, Some("names no license"));
    }

    #[test]
    fn crates_come_from_one_registry() {
        check(Some("MIT"), None, None);
        for source in [
            "git+https://example.com/a?rev=1#1",
            "registry+https://example.net/index",
        ] {
            check(Some("MIT"), Some(source), Some("source"));
        }
    }
}
