//! A documentation comment says in a sentence that stands alone what the item is.
//!
//! A comment of one or two words repeats the name of the item. One that begins with "The same",
//! "They" or "And" depends on the item above it, and goes wrong as soon as another item is inserted
//! between them.

use std::ops::Range;

use super::source::{Kind, pieces};
use super::{Violation, tree::Tree};

/// Beginnings that depend on the item above.
const DEPENDENT: &[&str] = &["The same ", "The same,", "And ", "They ", "So ", "It "];
/// A comment has more words than this.
const TOO_FEW_WORDS: usize = 2;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust_files()
        .flat_map(|(path, text)| violations(path, text))
        .collect()
}

fn violations(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (offset, words) in comments(text) {
        let fix = "say what the item is, in a sentence that stands alone";
        let line = text[..offset].matches('\n').count() + 1;
        if let Some(start) = DEPENDENT.iter().find(|start| words.starts_with(**start)) {
            let problem = format!("a doc comment begins with \"{}\"", start.trim_end());
            found.push(Violation::at(path, line, problem, fix));
        } else if words.split_whitespace().count() <= TOO_FEW_WORDS {
            let problem = format!("the doc comment \"{words}\" is too short");
            found.push(Violation::at(path, line, problem, fix));
        }
    }
    found
}

/// Each documentation comment with the place where it begins, its lines joined by spaces.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut last: Option<(Range<usize>, &str)> = None;
    for (kind, range) in pieces(text) {
        let piece = &text[range.clone()];
        let marker = ["///", "//!"].into_iter().find(|m| piece.starts_with(m));
        let (Kind::Comment, Some(marker)) = (kind, marker) else {
            continue;
        };
        if piece.starts_with("////") {
            continue;
        }
        let words = piece[marker.len()..].trim();
        let continues = last.as_ref().is_some_and(|(before, same)| {
            let between = &text[before.end..range.start];
            *same == marker && between.trim().is_empty() && between.matches('\n').count() == 1
        });
        match found.last_mut() {
            Some((_, comment)) if continues => {
                comment.push(' ');
                comment.push_str(words);
            }
            _ => found.push((range.start, words.to_owned())),
        }
        last = Some((range, marker));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[(path, text)]));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn comments_that_depend_on_others_are_found_with_their_line() {
        for start in ["The same", "And", "They", "So", "It"] {
            let text =
                format!("/// The name of a model.\nfn a() {{}}\n/// {start} goes on here.\n");
            let [one] = found("a.rs", &text).try_into().unwrap();
            assert!(one.starts_with("a.rs:3: a doc comment begins"), "{one}");
        }
        assert_eq!(found("a.rs", "//! So it is.\n").len(), 1);
    }

    #[test]
    fn comments_of_two_words_are_found_and_longer_ones_pass() {
        assert_eq!(found("a.rs", "/// Why.\nfn a() {}\n").len(), 1);
        assert_eq!(found("a.rs", "    /// The name.\n    a: u8,\n").len(), 1);
        assert_eq!(found("a.rs", "/// Name of the\n/// model.\n"), [""; 0]);
        assert_eq!(
            found("a.rs", "/// Someone's id.\n///\n/// Unique.\n"),
            [""; 0]
        );
        assert_eq!(found("a.rs", "/// Itself is no start.\n"), [""; 0]);
    }

    #[test]
    fn only_documentation_comments_outside_of_literals_count() {
        let text = "// And so on\n//// Why\nconst A: &str = \"\n/// Why.\n\";\n";
        assert_eq!(found("a.rs", text), [""; 0]);
        assert_eq!(found("a.md", "/// Why.\n"), [""; 0]);
    }

    #[test]
    fn comments_of_different_items_are_not_joined() {
        let text = "/// Name of one model.\na: u8,\n/// Why.\nb: u8,\n\n//! And so.\n";
        assert_eq!(found("a.rs", text).len(), 2);
    }
}
