//! What pages are made of. Each part is a template of its own; a page writes it with `|safe`.

mod chart;
mod table;

use askama::Template;

pub use chart::{ChartKind, ChartSeries, PageChart, Unit};
pub use table::{Cell, PageTable, TableColumn};

/// The weight of a state: the colour of a badge, a tile or a notice. Words always say it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// A state without weight.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Something to look at.
    Warn,
    /// Something to mend.
    Bad,
    /// A message without weight.
    Info,
}

impl Tone {
    /// The class in the style sheet.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Info => "info",
        }
    }
}

/// A figure with its name, and a link to what it is made of.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "parts/tile.html")]
pub struct Tile {
    /// What the figure counts.
    pub label: String,
    /// The figure as words.
    pub value: String,
    /// A line below it.
    pub note: String,
    /// Where its parts are; empty: nowhere.
    pub href: String,
    /// The weight of what it says.
    pub tone: Tone,
    /// Points of the line behind it, oldest first; fewer than two draw nothing.
    pub spark: Vec<f64>,
}

impl Tile {
    /// A figure without a line.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            value: value.into(),
            ..Self::default()
        }
    }

    /// Adds the line below.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds the link.
    #[must_use]
    pub fn link(mut self, href: impl Into<String>) -> Self {
        self.href = href.into();
        self
    }

    /// Sets the weight.
    #[must_use]
    pub const fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// Adds the line behind.
    #[must_use]
    pub fn spark(mut self, points: Vec<f64>) -> Self {
        self.spark = points;
        self
    }

    /// The points of the line for a picture of 100 by 24.
    fn points(&self) -> String {
        let highest = self.spark.iter().copied().fold(0.0_f64, f64::max);
        let last = self.spark.len().saturating_sub(1).max(1);
        let mut out = String::new();
        for (index, value) in self.spark.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
            let x = index as f64 * 100.0 / last as f64;
            let y = if highest > 0.0 {
                23.0 - value.max(0.0) / highest * 21.0
            } else {
                23.0
            };
            out.push_str(&format!("{x:.1},{y:.1} "));
        }
        out
    }
}

/// What a list shows that has nothing to show, with the next step.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "parts/empty.html")]
pub struct Empty {
    /// What is missing.
    pub title: String,
    /// What to do next.
    pub text: String,
    /// Where to do it; empty: nowhere.
    pub href: String,
    /// The words of the link.
    pub link: String,
    /// A command to paste; empty: none.
    pub code: String,
}

impl Empty {
    /// What is missing, and what to do.
    pub fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds a link.
    #[must_use]
    pub fn link(mut self, words: impl Into<String>, href: impl Into<String>) -> Self {
        self.link = words.into();
        self.href = href.into();
        self
    }

    /// Adds a command.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }
}

/// Names with values, such as the head of a receipt.
#[derive(Debug, Clone, Default, Template)]
#[template(path = "parts/facts.html")]
pub struct FactList(pub Vec<(String, Cell)>);

impl FactList {
    /// Adds a name with its value.
    pub fn add(&mut self, name: &str, value: Cell) {
        self.0.push((name.to_owned(), value));
    }
}

/// A tab or another link in a row of links, one of which is current.
#[derive(Debug, Clone)]
pub struct Tab {
    /// The words that are shown.
    pub label: String,
    /// The address that it leads to.
    pub href: String,
    /// Whether it is the current one.
    pub current: bool,
}

/// An option of a list of choices.
#[derive(Debug, Clone)]
pub struct FormChoice {
    /// The value that a form sends.
    pub value: String,
    /// The words that are shown.
    pub label: String,
    /// Whether it is chosen.
    pub chosen: bool,
}

impl FormChoice {
    /// Options of the same words and values, one of which is chosen.
    pub fn list<'a>(values: impl IntoIterator<Item = &'a str>, chosen: &str) -> Vec<Self> {
        let choice = |value: &str| Self {
            value: value.to_owned(),
            label: value.to_owned(),
            chosen: value == chosen,
        };
        values.into_iter().map(choice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render;

    #[test]
    fn words_between_backticks_are_code() {
        let mut table = PageTable::new("Reasons", &["Reason"]);
        table.push(vec![Cell::text("set `a.b: true` for `<b>`").note("or `c`")]);
        table.push(vec![Cell::text("a ` alone")]);
        let html = render(&table);
        for part in [
            "set <code>a.b: true</code> for <code>&#60;b&#62;</code>",
            "or <code>c</code>",
            "a ` alone",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn markup_in_values_is_text() {
        let tile = Tile::new("<script>", "<b>").note("<i>").link("\"><script>");
        let html = render(&tile);
        assert!(
            !html.contains("<script>") && !html.contains("<b>") && !html.contains("<i>"),
            "{html}"
        );
        let empty = render(&Empty::new("<script>", "<script>").code("<script>"));
        assert!(!empty.contains("<script>"), "{empty}");
        let mut table = PageTable::new("<script>", &["<script>"]);
        table.push(vec![
            Cell::text("<script>alert(1)</script>")
                .link("\"onclick=")
                .note("<script>"),
        ]);
        let html = render(&table);
        assert!(
            !html.contains("<script>") && !html.contains("\"onclick"),
            "{html}"
        );
        let chart = PageChart::new("c", "<script>", Unit::Usd).series(
            "<script>",
            ChartKind::Line,
            vec![None],
        );
        assert!(!render(&chart).contains("<script>"));
    }

    #[test]
    fn a_table_without_rows_says_what_to_do_next() {
        let table = PageTable::new("Keys", &["Name"])
            .empty(Empty::new("No key", "Create one.").link("Create", "/x"));
        let html = render(&table);
        assert!(
            html.contains("No key") && html.contains("href=\"/x\"") && !html.contains("<table")
        );
    }

    #[test]
    fn a_line_stays_in_its_picture() {
        let tile = Tile::new("a", "b").spark(vec![0.0, 5.0, 10.0]);
        assert_eq!(tile.points(), "0.0,23.0 50.0,12.5 100.0,2.0 ");
        assert_eq!(
            Tile::default().spark(vec![0.0, 0.0]).points(),
            "0.0,23.0 100.0,23.0 "
        );
    }
}
