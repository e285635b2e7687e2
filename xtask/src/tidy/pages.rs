//! What the documents promise to cover is covered.

use std::collections::BTreeSet;

use super::{Violation, source::code_only, tree::Tree};

const MAP: &str = "ARCHITECTURE.md";
const CODES: &str = "crates/bardo-types/src/error_code.rs";
const PAGES: &str = "docs/errors/";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = check_map(tree);
    found.extend(check_error_pages(tree));
    found
}

/// Every crate is on the map.
fn check_map(tree: &Tree) -> Vec<Violation> {
    let map = tree.text(MAP).unwrap_or_default();
    tree.manifests()
        .filter_map(|(dir, _, _)| dir.strip_prefix("crates/"))
        .filter(|name| !mentions(map, name))
        .map(|name| {
            let fix = "add what it is and what it deliberately is not";
            Violation::of(MAP, format!("{name} is not mentioned"), fix)
        })
        .collect()
}

/// Whether `text` holds `name` whole, not as part of a longer name.
fn mentions(text: &str, name: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(part_of_name) && !text[at + name.len()..].starts_with(part_of_name)
    })
}

/// Every error code has a page, and every page a code.
fn check_error_pages(tree: &Tree) -> Vec<Violation> {
    let Some(codes) = tree.text(CODES).and_then(codes) else {
        return Vec::new();
    };
    let pages: BTreeSet<&str> = tree
        .files()
        .filter_map(|(path, _)| path.strip_prefix(PAGES)?.strip_suffix(".md"))
        .filter(|page| !page.eq_ignore_ascii_case("readme"))
        .collect();
    let missing = codes
        .iter()
        .filter(|code| !pages.contains(*code))
        .map(|code| {
            let fix = format!("write {PAGES}{code}.md");
            Violation::of(CODES, format!("the error code `{code}` has no page"), fix)
        });
    let orphans = pages
        .iter()
        .filter(|page| !codes.contains(*page))
        .map(|page| {
            let path = format!("{PAGES}{page}.md");
            let fix = "remove the page, or add the code to `ErrorCode`";
            Violation::of(&path, format!("no error has the code `{page}`"), fix)
        });
    missing.chain(orphans).collect()
}

/// The codes in the table of `ErrorCode`; other literals in it are no codes.
fn codes(text: &str) -> Option<BTreeSet<&str>> {
    let code = code_only(text);
    let start = code.find("\nerror_codes! {")?;
    let end = start + code[start..].find("\n}")?;
    let literals = text[start..end].split('"').skip(1).step_by(2);
    let in_form = |literal: &&str| {
        !literal.is_empty()
            && literal
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    Some(literals.filter(in_form).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
// error_codes! { in a comment
macro_rules! error_codes { () => {} }
error_codes! {
    /// No provider can serve this.
    NoRoute = "no_route", 404, NotFound;
    TooLarge = "too_large", 413, TooLarge;
}
const OTHER: &str = "not_a_code";
    "#;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn codes_are_the_code_shaped_literals_of_the_table() {
        assert_eq!(
            codes(TABLE).unwrap(),
            BTreeSet::from(["no_route", "too_large"])
        );
        assert_eq!(codes("fn a() {}"), None);
    }

    #[test]
    fn a_code_without_a_page_and_a_page_without_a_code_are_found() {
        let found = problems(&[
            (CODES, TABLE),
            ("docs/errors/README.md", ""),
            ("docs/errors/no_route.md", ""),
            ("docs/errors/retired.md", ""),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`too_large` has no page"), "{found:?}");
        assert!(found[1].starts_with("docs/errors/retired.md:"), "{found:?}");
    }

    #[test]
    fn without_a_table_there_is_nothing_to_check() {
        assert_eq!(problems(&[("docs/errors/a.md", "")]), [""; 0]);
    }

    #[test]
    fn a_crate_is_on_the_map_under_its_whole_name() {
        let wire = ("crates/bardo-wire/Cargo.toml", "");
        assert_eq!(problems(&[wire, (MAP, "`bardo-wire` is …")]), [""; 0]);
        assert_eq!(problems(&[wire, (MAP, "`bardo-wires` is …")]).len(), 1);
        assert_eq!(problems(&[wire]).len(), 1);
    }
}
