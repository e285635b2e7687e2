//! A reader of the repository can follow every reference in it.
//!
//! Ids of requirements, of rulings and of bugs come from documents that the repository does not
//! have. The reason itself stands in their place.

use super::{Violation, tree::Tree};

/// Words before a number or a sign that cite a document outside of the repository.
const DOCUMENTS: &[&str] = &[
    concat!("decisions", " §"),
    concat!("translation", " §"),
    concat!("translation", " principle"),
    concat!("sheet", " §"),
    concat!("reference", " sheet"),
    concat!("bug", "_0"),
    concat!("bug", "_1"),
    concat!("bug", "_2"),
    concat!("bug", "_3"),
    concat!("bug", "_4"),
    concat!("bug", "_5"),
    concat!("bug", "_6"),
];

/// Names with the form of an id that everybody can look up: encodings, character sets, curves.
const STANDARDS: &[&str] = &["UTF-16", "UTF-32", "ISO-10", "TLS-13"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        let is_text = [".rs", ".md", ".toml", ".py", ".yaml", ".yml"]
            .iter()
            .any(|end| path.ends_with(end));
        let is_recorded = path.contains("/fixtures/");
        if is_text && !is_recorded {
            found.extend(violations(path, text));
        }
    }
    found
}

fn violations(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let document = DOCUMENTS.iter().copied().find(|words| line.contains(words));
        let cited = document.or_else(|| words(line).find(|word| is_id(word)));
        if let Some(cited) = cited {
            let problem = format!("`{cited}` refers to a document that the repository lacks");
            found.push(Violation::at(
                path,
                number + 1,
                problem,
                "state the reason itself",
            ));
        }
    }
    found
}

/// The words of a line, with their hyphens.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')))
        .map(|word| word.trim_end_matches(['.', '-']))
}

/// Whether a word is an id: `C-` or `F-` or `P-` and its digits, or a name in capitals and two
/// digits.
fn is_id(word: &str) -> bool {
    let Some((name, number)) = word.split_once('-') else {
        return false;
    };
    if !number.bytes().all(|b| b.is_ascii_digit()) || STANDARDS.contains(&word) {
        return false;
    }
    match (name, number.len()) {
        ("C", 3) | ("P" | "F", 2) => true,
        (name, 2) => (3..=10).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_uppercase()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[(path, text)]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ids_of_absent_documents_are_found_with_their_line() {
        for id in [
            concat!("C", "-019"),
            concat!("P", "-07,"),
            concat!("(ROUTE", "-13)"),
            concat!("decisions", " §3"),
            concat!("fn bug", "_21_a_claim()"),
            concat!("reference", " sheet `a.md`"),
        ] {
            let text = format!("fine\n// see {id}\n");
            let [one] = found("a.rs", &text).try_into().unwrap();
            assert!(one.starts_with("a.rs:2: `"), "{one}");
        }
    }

    #[test]
    fn standards_curves_models_and_recordings_pass() {
        for text in [
            "SHA-256 and UTF-16 and P-256",
            "GPT-5 answers, claude-opus-4-6 too",
            "a 2026-11-20 date",
            "ACME_KEY-12x",
        ] {
            assert_eq!(found("a.md", text), [""; 0], "{text}");
        }
        let id = concat!("ROUTE", "-13");
        assert_eq!(found("tests/fixtures/a.toml", id), [""; 0]);
        assert_eq!(found("a.bin", id), [""; 0]);
    }
}
