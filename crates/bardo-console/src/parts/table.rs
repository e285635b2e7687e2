use askama::Template;

use super::{Empty, Tone};
use crate::render;

/// A column of a table.
#[derive(Debug, Clone, Default)]
pub struct TableColumn {
    /// The words at its head.
    pub label: String,
    /// Whether it holds figures, which are aligned at their end.
    pub numeric: bool,
    /// Whether narrow screens leave it out.
    pub wide: bool,
}

/// A value in a table.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The words that are shown.
    pub text: String,
    /// Where the words lead; empty: nowhere.
    pub href: String,
    /// Smaller words below.
    pub note: String,
    /// Whether it is shown as a badge, and which.
    pub badge: Option<Tone>,
    /// Whether it is shown in the font of code.
    pub code: bool,
    /// A time in milliseconds since 1970, shown in the reader's zone.
    pub at_ms: Option<u64>,
    /// A share of 100 behind the words.
    pub bar: Option<u8>,
}

impl Cell {
    /// A cell with words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Words, or a dash where there are none.
    #[must_use]
    pub fn maybe(text: Option<&str>) -> Self {
        Self::text(text.filter(|text| !text.is_empty()).unwrap_or("–"))
    }

    /// Words in the font of code.
    pub fn code(text: impl Into<String>) -> Self {
        Self {
            code: true,
            ..Self::text(text)
        }
    }

    /// A cell that is shown as a badge.
    pub fn badge(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            badge: Some(tone),
            ..Self::text(text)
        }
    }

    /// A time in milliseconds since 1970; `words` are for readers without scripts.
    pub fn time(at_ms: u64, words: impl Into<String>) -> Self {
        Self {
            at_ms: Some(at_ms),
            ..Self::text(words)
        }
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, href: impl Into<String>) -> Self {
        self.href = href.into();
        self
    }

    /// Adds smaller words.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds a bar of a length of at most 100.
    #[must_use]
    pub fn bar(mut self, percent: u64) -> Self {
        self.bar = u8::try_from(percent.min(100)).ok();
        self
    }

    pub(super) fn text_parts(&self) -> Vec<(bool, &str)> {
        parts(&self.text)
    }

    pub(super) fn note_parts(&self) -> Vec<(bool, &str)> {
        parts(&self.note)
    }

    pub(super) fn tone(&self) -> &'static str {
        self.badge.unwrap_or_default().class()
    }
}

/// The parts of words, and whether each is code: the text between two backticks. Words with an odd
/// number of backticks are one part.
fn parts(words: &str) -> Vec<(bool, &str)> {
    if words.matches('`').count() % 2 == 1 {
        return vec![(false, words)];
    }
    let parts = words.split('`').enumerate();
    parts
        .map(|(index, part)| (index % 2 == 1, part))
        .filter(|(_, part)| !part.is_empty())
        .collect()
}

/// A list, or what to do where it is empty.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "parts/table.html")]
pub struct PageTable {
    /// What the rows are, for screen readers.
    pub caption: String,
    /// The columns from left to right.
    pub columns: Vec<TableColumn>,
    /// The rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// What to show without rows.
    pub empty: Empty,
    /// Names and addresses of the same list as a file.
    pub exports: Vec<(String, String)>,
    /// The address of the next page; empty: none.
    pub next: String,
}

impl PageTable {
    /// A table with headings. A heading that begins with `#` is of figures, one that ends with `*`
    /// is left out on narrow screens.
    #[must_use]
    pub fn new(caption: &str, headings: &[&str]) -> Self {
        let column = |heading: &&str| TableColumn {
            label: heading
                .trim_start_matches('#')
                .trim_end_matches('*')
                .to_owned(),
            numeric: heading.starts_with('#'),
            wide: heading.ends_with('*'),
        };
        Self {
            caption: caption.to_owned(),
            columns: headings.iter().map(column).collect(),
            ..Self::default()
        }
    }

    /// Sets what to show without rows.
    #[must_use]
    pub fn empty(mut self, empty: Empty) -> Self {
        self.empty = empty;
        self
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Adds the same list as a file, such as `CSV`.
    #[must_use]
    pub fn export(mut self, name: &str, href: impl Into<String>) -> Self {
        self.exports.push((name.to_owned(), href.into()));
        self
    }

    fn nothing(&self) -> String {
        render(&self.empty)
    }

    fn class(&self, index: &usize) -> &'static str {
        match self.columns.get(*index) {
            Some(column) if column.numeric && column.wide => "num wide",
            Some(column) if column.numeric => "num",
            Some(column) if column.wide => "wide",
            _ => "",
        }
    }
}
