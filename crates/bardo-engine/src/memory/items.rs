//! The items of answers of the Responses API, which later requests of the same caller go on with or
//! refer to.

use bardo_types::json::RawJson;
use bardo_types::privacy::SecurityClass;

use super::value::Remembered;
use super::{Memory, items_key, output_key};

impl Memory {
    /// Remembers the items of a response, its input included, under its id, and how well they have
    /// to be kept.
    pub(crate) fn keep_items(
        &self,
        principal: &str,
        response_id: &str,
        items: Vec<RawJson>,
        class: SecurityClass,
    ) {
        let key = items_key(principal, response_id);
        self.keep(key, Remembered::Items(items), class);
    }

    /// How well an earlier response of the same caller has to be kept; `None` where it is not known.
    pub(crate) fn class_of_items(
        &self,
        principal: &str,
        response_id: &str,
    ) -> Option<SecurityClass> {
        self.class(&items_key(principal, response_id))
    }

    /// The items of an earlier response of the same caller.
    pub(crate) fn items(&self, principal: &str, response_id: &str) -> Option<Vec<RawJson>> {
        self.items_at(&items_key(principal, response_id))
    }

    fn items_at(&self, key: &str) -> Option<Vec<RawJson>> {
        self.get(key, |value| match value {
            Remembered::Items(items) => Some(items.clone()),
            Remembered::Call(_) => None,
        })
    }

    /// Remembers the output items of an answer under the id that is within the ids of its items, and
    /// how well they have to be kept.
    pub(crate) fn keep_output(
        &self,
        principal: &str,
        answer: &str,
        items: Vec<RawJson>,
        class: SecurityClass,
    ) {
        let key = output_key(principal, answer);
        self.keep(key, Remembered::Items(items), class);
    }

    /// The output items of an earlier answer to the same caller, and how well they have to be kept.
    pub(crate) fn output(
        &self,
        principal: &str,
        answer: &str,
    ) -> Option<(Vec<RawJson>, SecurityClass)> {
        let key = output_key(principal, answer);
        let items = self.items_at(&key)?;
        Some((items, self.class(&key).unwrap_or_default()))
    }
}
