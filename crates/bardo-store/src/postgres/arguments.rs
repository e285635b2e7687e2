//! A command and its arguments, in a form that can be sent from one thread to another.

use bardo_types::money::MicroUsd;
use tokio_postgres::types::{ToSql, Type};

/// One statement and what it is called with.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) sql: &'static str,
    pub(super) arguments: Vec<Argument>,
}

impl Statement {
    pub(super) fn new(sql: &'static str, arguments: Vec<Argument>) -> Self {
        Self { sql, arguments }
    }
}

#[derive(Debug)]
pub(super) enum Argument {
    Text(Option<String>),
    Number(Option<i64>),
    Texts(Option<Vec<Option<String>>>),
    Numbers(Option<Vec<Option<i64>>>),
}

impl Argument {
    pub(super) fn sql(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Number(number) => (number, Type::INT8),
            Self::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Self::Numbers(numbers) => (numbers, Type::INT8_ARRAY),
        }
    }
}

/// A text that the database takes: it knows no NUL.
pub(super) fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A text that fits an index. Two names that differ only beyond that are one name.
pub(super) fn short(text: &str) -> String {
    const BYTES_MAX: usize = 512;
    clean(&text[..text.floor_char_boundary(BYTES_MAX)])
}

pub(super) fn text(text: &str) -> Argument {
    Argument::Text(Some(clean(text)))
}

pub(super) fn number(number: u64) -> Argument {
    Argument::Number(Some(signed(number)))
}

pub(super) fn amount(amount: MicroUsd) -> Argument {
    number(amount.get())
}

/// As large as the database takes it. No amount that the books accept is above that.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_made_fit_for_the_database() {
        assert_eq!(clean("a\0b"), "a\u{fffd}b");
        assert_eq!(short(&"é".repeat(300)).len(), 512);
        assert_eq!(short(&format!("a{}", "é".repeat(300))).len(), 511);
        assert_eq!(short("plain"), "plain");
    }
}
