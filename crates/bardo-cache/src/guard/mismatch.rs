//! What separates two texts, in words.

use std::fmt;

/// Why two texts must not share an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// A text is longer than the guard reads.
    TooLong,
    /// The texts have no word with content.
    Empty,
    /// Each text has a word that the other lacks.
    Changed {
        /// The class of the word in the first text, such as `number`.
        class: &'static str,
        /// The word of the first text.
        one: String,
        /// The word of the second text.
        other: String,
    },
    /// One text has a word that the other lacks.
    OnlyInOne {
        /// The class of the word.
        class: &'static str,
        /// The word, in its base form.
        word: String,
    },
    /// The words are equal and stand in different orders.
    Order {
        /// The word that comes first in the first text.
        one: String,
        /// The word that comes first in the second text.
        other: String,
    },
    /// A word stands in different relations.
    Relation {
        /// The word of both texts.
        word: String,
        /// Its preposition in the first text.
        one: &'static str,
        /// Its preposition in the second text.
        other: &'static str,
    },
    /// The active voice against the passive voice.
    Voice {
        /// The verb of both texts.
        word: String,
    },
    /// The texts ask in different ways.
    Question {
        /// The question of the first text.
        one: &'static str,
        /// The question of the second text.
        other: &'static str,
    },
    /// "can" against "should", or the future against the present.
    Modality {
        /// The modal verbs of the first text.
        one: String,
        /// The modal verbs of the second text.
        other: String,
    },
    /// The past against the present.
    Tense,
    /// One certain thing against several.
    Number {
        /// The word of the first text.
        one: String,
        /// The word of the second text.
        other: String,
    },
    /// Different persons, or persons in different roles.
    Person {
        /// Persons of the first text.
        one: String,
        /// Persons of the second text.
        other: String,
    },
}

impl Mismatch {
    /// The kind of the difference, from a closed set and without a word of either text.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Empty => "empty",
            Self::Changed { class, .. } | Self::OnlyInOne { class, .. } => class,
            Self::Order { .. } => "order",
            Self::Relation { .. } => "relation",
            Self::Voice { .. } => "voice",
            Self::Question { .. } => "question",
            Self::Modality { .. } => "modality",
            Self::Tense => "tense",
            Self::Number { .. } => "plural",
            Self::Person { .. } => "person",
        }
    }

    /// The difference as seen from the other text.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Changed { class, one, other } => Self::Changed {
                class,
                one: other,
                other: one,
            },
            Self::Order { one, other } => Self::Order {
                one: other,
                other: one,
            },
            Self::Number { one, other } => Self::Number {
                one: other,
                other: one,
            },
            Self::Relation { word, one, other } => Self::Relation {
                word,
                one: other,
                other: one,
            },
            same @ (Self::TooLong
            | Self::Empty
            | Self::OnlyInOne { .. }
            | Self::Voice { .. }
            | Self::Question { .. }
            | Self::Modality { .. }
            | Self::Tense
            | Self::Person { .. }) => same,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("text too long to compare"),
            Self::Empty => f.write_str("no words to compare"),
            Self::Changed { class, one, other } => {
                let (one, other) = (Unmarked(one), Unmarked(other));
                write!(f, "{class} \"{one}\" against \"{other}\"")
            }
            Self::OnlyInOne { class, word } => {
                write!(f, "{class} \"{}\" in one text only", Unmarked(word))
            }
            Self::Order { one, other } => write!(f, "order of \"{one}\" and \"{other}\""),
            Self::Relation { word, one, other } => {
                write!(f, "\"{word}\" after \"{one}\" against \"{other}\"")
            }
            Self::Voice { word } => write!(f, "active against passive \"{word}\""),
            Self::Question { one, other } => write!(f, "question \"{one}\" against \"{other}\""),
            Self::Modality { one, other } => write!(f, "modality \"{one}\" against \"{other}\""),
            Self::Tense => f.write_str("past against present"),
            Self::Number { one, other } => {
                write!(f, "one or several: \"{one}\" against \"{other}\"")
            }
            Self::Person { one, other } => write!(f, "person \"{one}\" against \"{other}\""),
        }
    }
}

/// A word without the guard's own marks: "its^" is "its", and "it^s^" is "it's".
struct Unmarked<'a>(&'a str);

impl fmt::Display for Unmarked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.strip_suffix('^') {
            Some(word) => f.write_str(&word.replace('^', "'")),
            None => f.write_str(self.0),
        }
    }
}
