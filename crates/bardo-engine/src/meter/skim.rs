//! How much content is in a piece of a stream, without parsing it.

use std::sync::LazyLock;

use bardo_types::model::Dialect;
use memchr::memmem::Finder;

type Names = [Finder<'static>];

fn finders(names: &[&'static str]) -> Vec<Finder<'static>> {
    names.iter().map(|name| Finder::new(*name)).collect()
}

static CHAT: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| {
    finders(&[
        "\"content\"",
        "\"reasoning_content\"",
        "\"reasoning\"",
        "\"arguments\"",
        "\"refusal\"",
        "\"input\"",
    ])
});
static COMPLETIONS: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| finders(&["\"text\""]));
static ANTHROPIC: LazyLock<Vec<Finder<'static>>> =
    LazyLock::new(|| finders(&["\"text\"", "\"thinking\"", "\"partial_json\""]));
static RESPONSES: LazyLock<Vec<Finder<'static>>> = LazyLock::new(|| finders(&["\"delta\""]));
static GEMINI: LazyLock<Vec<Finder<'static>>> =
    LazyLock::new(|| finders(&["\"text\"", "\"args\""]));

/// The bytes of the strings (and, in Gemini, objects) that hold content. Escapes count as they are
/// written, which errs on the side of more.
pub(super) fn content_bytes(dialect: Dialect, bytes: &[u8]) -> u64 {
    let names: &Names = match dialect {
        Dialect::Chat => &CHAT,
        Dialect::Completions => &COMPLETIONS,
        Dialect::Anthropic => &ANTHROPIC,
        Dialect::Responses => &RESPONSES,
        Dialect::Gemini => &GEMINI,
    };
    let lengths = names.iter().map(|name| {
        name.find_iter(bytes)
            .map(|at| value_bytes(&bytes[at + name.needle().len()..]))
            .sum::<usize>()
    });
    lengths.sum::<usize>() as u64
}

/// The length of a member's string, or of its object, `rest` being what follows its name. Zero for
/// anything else.
fn value_bytes(rest: &[u8]) -> usize {
    let Some(value) = rest.trim_ascii_start().strip_prefix(b":") else {
        return 0;
    };
    let value = value.trim_ascii_start();
    match value.first() {
        Some(b'"') => string_bytes(&value[1..]),
        Some(b'{') => memchr::memchr(b'\n', value).unwrap_or(value.len()),
        _ => 0,
    }
}

fn string_bytes(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += found;
        if text[at] == b'"' {
            return at;
        }
        at = (at + 2).min(text.len());
    }
    text.len()
}
