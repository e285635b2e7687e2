//! Texts that may not appear.

use super::{Violation, source::code_only, tree::Tree};

/// Words of one developer's machine and of the place a dependency came from.
/// They are joined here so that this file passes its own check.
const MACHINE: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("crates", ".io"), "a registry host"),
    (concat!("pypi", ".org"), "a registry host"),
    (concat!("npmjs", ".org"), "a registry host"),
];

/// Code that makes a test suite lie or stall.
const CODE: &[(&str, &str, &str)] = &[
    ("#[ignore", "an ignored test", "make it pass or remove it"),
    (
        "thread::sleep",
        "a thread sleeps",
        "wait for the condition itself",
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        // Recordings of clients are kept as they were sent, whatever they speak of.
        let recorded = path.starts_with("tests/clients/fixtures/");
        if path.rsplit('/').next() != Some("Cargo.lock") && !recorded {
            found.extend(check_machine(path, text));
        }
    }
    for (path, text) in tree.rust_files() {
        found.extend(check_code(path, &code_only(text)));
    }
    found
}

fn check_machine(path: &str, text: &str) -> Vec<Violation> {
    lines_with(text, MACHINE.iter().map(|(word, what)| (*word, what)))
        .map(|(line, word, what)| {
            let problem = format!("`{word}` is {what}");
            Violation::at(path, line, problem, "say it without the place")
        })
        .collect()
}

fn check_code(path: &str, code: &str) -> Vec<Violation> {
    let words = CODE
        .iter()
        .map(|(word, problem, fix)| (*word, (problem, fix)));
    lines_with(code, words)
        .map(|(line, _, (problem, fix))| Violation::at(path, line, *problem, *fix))
        .collect()
}

fn lines_with<'t, T>(
    text: &'t str,
    words: impl Iterator<Item = (&'static str, T)> + 't,
) -> impl Iterator<Item = (usize, &'static str, T)> + 't {
    words.filter_map(move |(word, about)| {
        let at = text.find(word)?;
        Some((text[..at].matches('\n').count() + 1, word, about))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[(path, text)]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_of_a_machine_are_found_with_their_line() {
        for (word, _) in MACHINE {
            let text = format!("fine\nsee {word}x\n");
            let [line] = found("README.md", &text).try_into().unwrap();
            assert!(
                line.starts_with(&format!("README.md:2: `{word}`")),
                "{line}"
            );
        }
    }

    #[test]
    fn the_lock_file_names_its_registry() {
        let text = MACHINE.iter().map(|(word, _)| *word).collect::<String>();
        assert_eq!(found("Cargo.lock", &text), [""; 0]);
        assert_eq!(found("fuzz/Cargo.lock", &text), [""; 0]);
        assert_eq!(found("Cargo.toml", &text).len(), MACHINE.len());
    }

    #[test]
    fn ordinary_words_pass() {
        assert_eq!(
            found("a.md", "the network/ and framework/ and /roots/"),
            [""; 0]
        );
    }

    #[test]
    fn ignored_tests_and_sleeping_threads_are_found_in_code_only() {
        let bad = "#[test]\n#[ignore = \"slow\"]\nfn a() { std::thread::sleep(d) }\n";
        assert_eq!(found("a.rs", bad).len(), 2);
        let good = "// no #[ignore] here\nconst S: &str = \"thread::sleep\";\n";
        assert_eq!(found("a.rs", good), [""; 0]);
        assert_eq!(found("a.md", bad), [""; 0]);
    }
}
