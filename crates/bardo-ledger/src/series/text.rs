//! The facts of a receipt that no column has, borrowed from it.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_types::money::MicroUsd;

use super::details::ReceiptDetails;
use super::facts::ReceiptColumns;
use super::members::{TextCursor, amount, number, text};

/// What one receipt tells beyond its columns. Members that it lacks are unknown, or zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextFacts<'a> {
    pub(super) layer: Option<Cow<'a, str>>,
    pub(super) golem: Option<Cow<'a, str>>,
    pub(super) phase: Option<Cow<'a, str>>,
    pub(super) vitality: Option<Cow<'a, str>>,
    pub(super) sustainability: Option<Cow<'a, str>>,
    /// Class of the last attempt that failed.
    pub(super) class: Option<Cow<'a, str>>,
    pub(super) attempts: u64,
    pub(super) failed_attempts: u64,
    pub(super) reasoning_tokens: u64,
    pub(super) is_prepaid: Option<bool>,
    pub(super) spread: MicroUsd,
    pub(super) shortfall: MicroUsd,
    pub(super) total_ms: Option<u64>,
    pub(super) first_content_ms: Option<u64>,
}

impl<'a> TextFacts<'a> {
    /// The facts of a receipt: those that came with it, else those of its JSON.
    pub(super) fn of(receipt: &ReceiptColumns<'a>, json: &'a str) -> Self {
        match receipt.details {
            Some(details) => {
                let known = Self::known(details);
                debug_assert_eq!(known, Self::read(json), "details differ from the text");
                known
            }
            None => Self::read(json),
        }
    }

    fn known(details: &'a ReceiptDetails) -> Self {
        let borrowed = |text: &'a Option<Arc<str>>| text.as_deref().map(Cow::Borrowed);
        let figure = |figure: Option<f64>| {
            let figure = figure.filter(|figure| figure.is_finite());
            figure.map(|figure| Cow::Owned(figure.to_string()))
        };
        Self {
            layer: Some(Cow::Borrowed(&details.layer)),
            golem: borrowed(&details.golem),
            phase: details.phase.map(Cow::Borrowed),
            vitality: figure(details.vitality),
            sustainability: figure(details.sustainability),
            class: details.class.map(Cow::Borrowed),
            attempts: details.attempts,
            failed_attempts: details.failed_attempts,
            reasoning_tokens: details.reasoning_tokens,
            is_prepaid: Some(details.is_prepaid),
            spread: details.spread,
            shortfall: details.shortfall,
            total_ms: Some(details.total_ms),
            first_content_ms: details.first_content_ms,
        }
    }

    /// The facts of a text; those of its beginning where it is cut.
    fn read(json: &'a str) -> Self {
        let mut facts = Self::default();
        let cursor = &mut TextCursor::of(json);
        if !cursor.enter(b'{') {
            return facts;
        }
        while let Some(member) = cursor.member() {
            match member {
                "cache" => facts.layer = cursor.value().and_then(text),
                "usage" => facts.take_usage(cursor),
                "cost" => facts.take_cost(cursor),
                "attempts" => facts.take_attempts(cursor),
                "routing" => facts.take_routing(cursor),
                "timings_ms" => {
                    facts.take_timings(cursor);
                    // No later member counts.
                    break;
                }
                _ => {
                    cursor.value();
                }
            }
        }
        facts
    }

    fn take_usage(&mut self, cursor: &mut TextCursor<'a>) {
        each(cursor, |member, value| {
            if member == "reasoning_tokens" {
                self.reasoning_tokens = number(value).unwrap_or(0);
            }
        });
    }

    fn take_cost(&mut self, cursor: &mut TextCursor<'a>) {
        each(cursor, |member, value| match member {
            "mode" => self.is_prepaid = text(value).map(|mode| mode == "prepaid"),
            "spread" => self.spread = amount(value).unwrap_or_default(),
            "shortfall" => self.shortfall = amount(value).unwrap_or_default(),
            _ => {}
        });
    }

    fn take_attempts(&mut self, cursor: &mut TextCursor<'a>) {
        if !cursor.enter(b'[') {
            return;
        }
        while cursor.element() {
            self.attempts += 1;
            each(cursor, |member, value| {
                if member == "class"
                    && let Some(class) = text(value)
                {
                    self.failed_attempts += 1;
                    self.class = Some(class);
                }
            });
        }
    }

    fn take_routing(&mut self, cursor: &mut TextCursor<'a>) {
        let figure = |value: &'a str| {
            let value = Some(value).filter(|value| *value != "null");
            value.map(Cow::Borrowed)
        };
        each(cursor, |member, value| match member {
            "golem_id" => self.golem = text(value),
            "phase" => self.phase = text(value),
            "vitality" => self.vitality = figure(value),
            "sustainability" => self.sustainability = figure(value),
            _ => {}
        });
    }

    fn take_timings(&mut self, cursor: &mut TextCursor<'a>) {
        each(cursor, |member, value| match member {
            "total" => self.total_ms = number(value),
            "first_content" => self.first_content_ms = number(value),
            _ => {}
        });
    }
}

/// Shows all members of the object that is next.
fn each<'a>(cursor: &mut TextCursor<'a>, mut show: impl FnMut(&'a str, &'a str)) {
    if cursor.enter(b'{') {
        while let Some(member) = cursor.member() {
            match cursor.value() {
                Some(value) => show(member, value),
                None => return,
            }
        }
    }
}
