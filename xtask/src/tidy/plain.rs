//! Texts that users read are plain English: help, errors, log lines, comments of the default
//! configuration and the documentation.
//!
//! A list of patterns keeps out the words that made these texts hard to read: people for programs
//! ("nobody answers"), relative clauses as subjects ("What is lost is …"), and everyday verbs where
//! the industry has a term ("taken back" for revoked).

mod patterns;

use self::patterns::{PATTERNS, Pattern};
use super::source::{Kind, code_only, pieces, test_modules};
use super::{Violation, tree::Tree};

/// The sources with the help of commands and with settings, whose documentation comments users
/// read too. A path that ends in `/` is a folder.
const HELP: &[&str] = &[
    "crates/bardo-config/src/",
    "crates/bardo-gateway/src/admin.rs",
    "crates/bardo-gateway/src/assemble.rs",
    "crates/bardo-gateway/src/assemble/",
    "crates/bardo-gateway/src/cli.rs",
    "crates/bardo-gateway/src/cli/",
    "crates/bardo-gateway/src/config.rs",
    "crates/bardo-gateway/src/config/",
    "crates/bardo-gateway/src/control.rs",
    "crates/bardo-gateway/src/explain.rs",
    "crates/bardo-gateway/src/explain/",
    "crates/bardo-gateway/src/last_lists.rs",
    "crates/bardo-gateway/src/operator.rs",
    "crates/bardo-gateway/src/operator/",
    "crates/bardo-gateway/src/ops.rs",
    "crates/bardo-gateway/src/ops/",
    "crates/bardo-gateway/src/probe.rs",
    "crates/bardo-gateway/src/refresh.rs",
    "crates/bardo-gateway/src/serve.rs",
    "crates/bardo-gateway/src/simulation.rs",
    "crates/bardo-gateway/src/stores.rs",
    "crates/bardo-gateway/src/stores/",
    "crates/bardo-gateway/src/upkeep.rs",
    "xtask/src/",
];

/// Where the string literals of all sources are texts that a user can read.
const TEXTS: &[&str] = &["crates/", "xtask/src/"];

/// Files whose literals are not texts of ours, or are read by no user, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("xtask/src/tidy/", "holds the patterns themselves"),
    ("crates/bardo-testkit/", "only tests use it"),
    ("crates/bardo-fuzz/", "only tests use it"),
    ("crates/bardo-steps/", "only tests use it"),
    ("crates/bardo-ledger/src/contract/", "a test suite"),
    (
        "crates/bardo-router/src/router/properties.rs",
        "a test suite",
    ),
    (
        "crates/bardo-store/src/servers/",
        "starts servers for tests",
    ),
    (
        "crates/bardo-sandbox/src/anthropic",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/bankr",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/blockrun",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/deepseek",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/google",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/local",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/openai",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/openrouter",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/venice",
        "repeats a provider's words",
    ),
    (
        "crates/bardo-sandbox/src/asked.rs",
        "repeats the prompts of agents",
    ),
    (
        "crates/golem-inference/src/day",
        "a conversation of a simulated agent",
    ),
];

/// The defaults, whose comments are documentation.
const DEFAULTS: &str = "config/default.toml";

/// Whether the documentation is held to this, too.
const DOCS: bool = true;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.rust_files() {
        let is_in = |list: &[&str]| list.iter().any(|place| path.starts_with(place));
        let is_exempt = EXEMPT.iter().any(|(place, _)| path.starts_with(place));
        if is_in(TEXTS) && !is_exempt && !is_test(path) {
            found.extend(violations(path, &rust(text, is_in(HELP))));
        }
    }
    for (path, text) in tree.files() {
        if path == DEFAULTS {
            found.extend(violations(path, &comments(text)));
        }
        if DOCS && (!path.contains('/') || path.starts_with("docs/")) && path.ends_with(".md") {
            found.extend(violations(path, &markdown(text)));
        }
    }
    found
}

/// Whether a file has only tests.
fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn violations(path: &str, prose: &str) -> Vec<Violation> {
    let tokens = tokens(prose);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        for pattern in PATTERNS {
            if let Some(length) = matches(pattern, &tokens, at) {
                let said: Vec<&str> = tokens[at..at + length].iter().map(|t| &*t.word).collect();
                let problem = format!("\"{}\" is hard to read", said.join(" "));
                let fix = format!("say: {}", pattern.instead);
                let line = prose[..tokens[at].offset].matches('\n').count() + 1;
                found.push(Violation::at(path, line, problem, fix));
            }
        }
    }
    found
}

/// A word of a text.
struct Token {
    word: String,
    offset: usize,
    begins: bool,
    asks: bool,
}

/// How many words match from `at` on.
fn matches(pattern: &Pattern, tokens: &[Token], at: usize) -> Option<usize> {
    if pattern.begins && (!tokens[at].begins || tokens[at].asks) {
        return None;
    }
    let mut length = 0;
    for wanted in pattern.words.split(' ') {
        let token = tokens.get(at + length)?;
        let goes_on = length == 0 || !token.begins;
        if !goes_on || !wanted.split('/').any(|word| word == token.word) {
            return None;
        }
        length += 1;
    }
    let next = tokens.get(at + length).filter(|token| !token.begins);
    let is_fine = next.is_some_and(|next| pattern.except.contains(&&*next.word));
    (!is_fine).then_some(length)
}

/// The words of a text. A sentence ends with a full stop, an exclamation or question mark before a
/// space, with a blank line, and where a line of a list or table begins.
fn tokens(prose: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let (mut begins, mut first) = (true, 0);
    let mut chars = prose.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '_';
        if is_word(c) {
            let mut word = c.to_lowercase().to_string();
            while let Some((_, c)) = chars.next_if(|(_, c)| is_word(*c)) {
                word.extend(c.to_lowercase());
            }
            if begins {
                first = tokens.len();
            }
            tokens.push(Token {
                word,
                offset,
                begins,
                asks: false,
            });
            begins = false;
            continue;
        }
        let next = chars.peek().map(|(_, c)| *c);
        let ends_line =
            next.is_none_or(|next| next.is_whitespace() || matches!(next, '"' | ')' | BREAK));
        match c {
            '?' if ends_line => {
                tokens[first..]
                    .iter_mut()
                    .for_each(|token| token.asks = true);
                begins = true;
            }
            '.' | '!' if ends_line => begins = true,
            '|' | BREAK => begins = true,
            '\n' => {
                let rest = prose[offset + 1..].trim_start_matches([' ', '\t']);
                let is_item = rest.starts_with(['-', '*', '#', '>', '|', '\n']);
                begins |= is_item || rest.is_empty();
            }
            _ => {}
        }
    }
    tokens
}

/// Ends a text among others.
const BREAK: char = '\u{1}';

/// Blanks out what is not prose, byte for byte in the same place.
struct Page(Vec<u8>);

impl Page {
    fn blank(text: &str) -> Self {
        let blanked = text.bytes().map(|b| if b == b'\n' { b } else { b' ' });
        Self(blanked.collect())
    }

    fn show(&mut self, text: &str, range: std::ops::Range<usize>) {
        self.0[range.clone()].copy_from_slice(&text.as_bytes()[range]);
    }

    fn hide(&mut self, range: std::ops::Range<usize>) {
        for byte in &mut self.0[range] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }

    /// Code in back ticks reads as one word that no pattern has.
    fn hide_code(&mut self) {
        let ticks: Vec<usize> = (0..self.0.len()).filter(|&at| self.0[at] == b'`').collect();
        for pair in ticks.chunks_exact(2) {
            self.0[pair[0]..=pair[1]].fill(b'_');
        }
    }

    /// A placeholder such as `{name}` or `{:?}` reads as one word that no pattern has.
    fn hide_placeholders(&mut self, range: std::ops::Range<usize>) {
        let mut open = None;
        for at in range {
            match self.0[at] {
                b'{' => open = Some(at),
                b'}' => {
                    if let Some(start) = open.take() {
                        self.0[start..=at].fill(b'_');
                    } else {
                        self.0[at] = b'"';
                    }
                }
                byte if byte.is_ascii_alphanumeric() || b"_:?.<>^+$#".contains(&byte) => {}
                _ => {
                    if let Some(start) = open.take() {
                        self.0[start] = b'"';
                    }
                }
            }
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The literals of a source without its tests and without the reasons of assertions, which only
/// developers read; also its documentation comments if `has_help`.
fn rust(text: &str, has_help: bool) -> String {
    let code = code_only(text);
    let tests = test_modules(&code);
    let mut page = Page::blank(text);
    for (kind, range) in pieces(text) {
        if tests.iter().any(|test| test.contains(&range.start)) {
            continue;
        }
        match kind {
            // One word alone is a name.
            Kind::Literal if !text[range.clone()].contains(' ') => {}
            Kind::Literal if is_for_developers(&text[..range.start]) => {}
            Kind::Literal => {
                page.show(text, range.clone());
                page.0[range.start] = BREAK as u8;
                let inside = range.start + 1..range.end;
                for at in inside {
                    let is_escaped = page.0[at - 1] == b'\\';
                    match page.0[at] {
                        b'n' if is_escaped => page.0[at] = BREAK as u8,
                        b'\n' if is_escaped => page.0[at - 1] = b' ',
                        b'"' => page.0[at] = b'"',
                        _ => {}
                    }
                }
                page.hide_placeholders(range.start + 1..range.end);
            }
            Kind::Comment if has_help && text[range.clone()].starts_with("///") => {
                let words = range.start + 3..range.end;
                page.show(text, words);
                let starts = text[..range.start].trim_end_matches([' ', '\n']);
                if !ends_in_comment(starts) {
                    page.0[range.start] = BREAK as u8;
                }
            }
            Kind::Comment => {}
        }
    }
    page.hide_code();
    page.text()
}

/// Whether the code before a literal makes it the reason of an assertion or of a lint.
fn is_for_developers(before: &str) -> bool {
    let before = before.trim_end();
    [
        "expect(",
        "expect_err(",
        "panic!(",
        "unreachable!(",
        "reason =",
    ]
    .iter()
    .any(|end| before.ends_with(end))
}

/// Whether the last line is a documentation comment, which the next one continues.
fn ends_in_comment(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default();
    last.trim_start().starts_with("///")
}

/// The comments of a configuration file.
fn comments(text: &str) -> String {
    let mut page = Page::blank(text);
    let (mut at, mut continues) = (0, false);
    for line in text.split_inclusive('\n') {
        let is_comment = line.starts_with('#');
        if is_comment {
            page.show(text, at + 1..at + line.len());
        }
        if !(is_comment && continues) {
            page.0[at] = if line == "\n" { b'\n' } else { BREAK as u8 };
        }
        continues = is_comment;
        at += line.len();
    }
    page.hide_code();
    page.text()
}

/// A document without code, headings and the addresses of links.
fn markdown(text: &str) -> String {
    let mut page = Page::blank(text);
    let (mut at, mut fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if !fenced && !is_fence && !line.starts_with('#') {
            page.show(text, at..at + line.len());
        }
        at += line.len();
    }
    page.hide_code();
    let shown = String::from_utf8_lossy(&page.0).into_owned();
    for (start, _) in shown.match_indices("](") {
        if let Some(length) = shown[start..].find(')') {
            page.hide(start..start + length);
        }
    }
    page.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of(&[(path, text)]));
        found.iter().map(ToString::to_string).collect()
    }

    fn words(prose: &str) -> Vec<String> {
        let found = violations("a", prose);
        found.iter().map(|one| one.problem.clone()).collect()
    }

    const CLI: &str = "crates/bardo-gateway/src/cli.rs";
    const WIRE: &str = "crates/bardo-wire/src/lib.rs";

    #[test]
    fn the_texts_that_were_hard_to_read_are_found() {
        for text in [
            "Say who would answer a request.",
            "Make a key; both are taken.",
            "its time is over, or it was taken back",
            "The old key is taken for so long.",
            "Asks nobody and costs nothing.",
            "An answer without it will do.",
            "Whoever calls has a key.",
            "What is lost is named in a header.",
            "Where a key is missing, add one.",
            "The store was away.",
            "A value that is no number changes nothing.",
            "this model takes no images",
            "the tool call was left out",
        ] {
            assert!(!words(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn plain_texts_and_named_exceptions_pass() {
        for text in [
            "Revoke a key at once.",
            "The old key keeps working for a grace period.",
            "What is a hold?",
            "The connection is kept open. It is asked for in the request.",
            "Set `nobody` or `what is` to any value.",
            "Choose the address where clients connect.",
            "It is. Taken together, this is fine.",
            "There is no key. It is no longer valid.",
        ] {
            assert_eq!(
                words(&rust(&format!("\"{text}\""), true)),
                [""; 0],
                "{text}"
            );
        }
    }

    #[test]
    fn literals_and_help_are_checked_and_code_and_tests_are_not() {
        let source = "// nobody\n/// Ask\n/// nobody.\nfn nobody() { say(\"a\\nwhat is lost\"); }\n\
                      #[cfg(test)]\nmod tests {\n const A: &str = \"nobody\";\n}\n";
        let [help, literal] = found(CLI, source).try_into().unwrap();
        assert!(help.starts_with(&format!("{CLI}:3: \"nobody\"")), "{help}");
        assert!(
            literal.starts_with(&format!("{CLI}:4: \"what is\"")),
            "{literal}"
        );
        let [literal] = found(WIRE, source).try_into().unwrap();
        assert!(literal.starts_with(&format!("{WIRE}:4")), "{literal}");
        assert_eq!(found("crates/bardo-wire/src/tests/a.rs", source), [""; 0]);
        assert_eq!(found("crates/bardo-testkit/src/lib.rs", source), [""; 0]);
    }

    #[test]
    fn placeholders_and_reasons_for_developers_are_no_texts() {
        let source = "fn a() {\n b(\"{told} is {nobody:?}, {whom}\");\n c().expect(\"nobody\");\n\
                      #[expect(lint, reason = \"nobody\")]\n d(\"{not told}\");\n}\n";
        let [text] = found(WIRE, source).try_into().unwrap();
        assert!(text.starts_with(&format!("{WIRE}:5: \"told\"")), "{text}");
    }

    #[test]
    fn a_text_over_two_lines_is_one_text() {
        let source = "fn a() { say(\"the key is \\\n    taken\"); }\n";
        assert_eq!(found(CLI, source).len(), 1);
        assert_eq!(
            found(CLI, "fn a() { say(\"it is\", \"taken\"); }\n"),
            [""; 0]
        );
    }

    #[test]
    fn comments_of_the_defaults_are_checked() {
        let text = "[server]\n# The address. It is\n# taken at once.\nlisten = \"nobody\"\n# What is read.\na = 1\n";
        let [first, second] = found(DEFAULTS, text).try_into().unwrap();
        assert!(
            first.contains("config/default.toml:2: \"is taken\""),
            "{first}"
        );
        assert!(
            second.contains("config/default.toml:5: \"what is\""),
            "{second}"
        );
    }

    #[test]
    fn code_headings_and_addresses_of_documents_are_not_prose() {
        let text = "# What is here\n\n```sh\nnobody\n```\n`nobody` and [a page](nobody.md).\n";
        assert_eq!(violations("a.md", &markdown(text)), []);
        let text = "| a | b |\n|---|---|\n| x | What is lost |\n- Whoever\n";
        let lines: Vec<_> = violations("a.md", &markdown(text))
            .iter()
            .map(|one| one.line)
            .collect();
        assert_eq!(lines, [Some(3), Some(4)]);
    }
}
