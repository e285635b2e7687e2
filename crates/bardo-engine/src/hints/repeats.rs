//! Hints that the body object gives more than once, so that nobody can tell which value is meant.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What the object `bardo` gives twice.
#[derive(Debug, Default)]
pub(super) struct Repeats(Vec<(String, String)>);

impl Repeats {
    /// Finds them in the object, in its `intent` and in its `profile`. A hint that both the object
    /// and its `intent` give counts too. `known`: the hints. None in what is no object.
    pub(super) fn of(json: &str, known: &[&'static str]) -> Self {
        let mut repeats = Self::default();
        let outer = ObjectMembers::of(json);
        let inner = |name: &str| outer.given(name).map(ObjectMembers::of).unwrap_or_default();
        let (intent, profile) = (inner("intent"), inner("profile"));
        for name in &outer.again {
            repeats.add(known, name, "bardo");
        }
        for name in &intent.again {
            repeats.add(known, name, "bardo.intent");
        }
        let is_in_both = |name: &&str| intent.given(name).is_some() && outer.given(name).is_some();
        for name in known.iter().copied().filter(is_in_both) {
            repeats.add(known, name, "bardo");
        }
        if let Some(name) = profile.again.first() {
            let place = format!("bardo.profile.{name:.64}");
            repeats.0.push(("profile".to_owned(), place));
        }
        repeats
    }

    fn add(&mut self, known: &[&str], name: &str, within: &str) {
        if known.contains(&name) && !self.has(name) {
            self.0.push((name.to_owned(), format!("{within}.{name}")));
        }
    }

    /// The hints and where they are.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, place)| (&**name, &**place))
    }

    /// Whether a hint is given twice.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(hint, _)| hint == name)
    }
}

/// The members of an object, values as written.
#[derive(Default)]
struct ObjectMembers<'a> {
    /// The last value of each.
    values: BTreeMap<String, &'a str>,
    /// Names that are there again.
    again: Vec<String>,
}

impl<'a> ObjectMembers<'a> {
    fn of(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// The value of a member that is not null.
    fn given(&self, name: &str) -> Option<&'a str> {
        let value = self.values.get(name).copied();
        value.filter(|value| *value != "null")
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = ObjectMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = ObjectMembers::default();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    match members.values.entry(name) {
                        Entry::Vacant(first) => {
                            first.insert(value.get());
                        }
                        Entry::Occupied(mut known) => {
                            members.again.push(known.key().clone());
                            known.insert(value.get());
                        }
                    }
                }
                Ok(members)
            }
        }
        from.deserialize_map(Read)
    }
}
