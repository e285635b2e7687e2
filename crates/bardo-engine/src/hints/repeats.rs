//! Hints that the body object gives more than once, so that nobody can tell which value is meant.

use std::collections::HashSet;
use std::fmt;

use bardo_wire::json::Str;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What the object `bardo` gives twice.
#[derive(Debug, Default)]
pub(super) struct Repeats(Vec<(String, String)>);

impl Repeats {
    /// Finds them in the object, in its `intent` and in its `profile`. A hint that both the object
    /// and its `intent` give counts too. `known`: the hints. None in an `intent` or a `profile` that
    /// is no object.
    pub(super) fn of(outer: &ObjectMembers<'_>, known: &[&'static str]) -> Self {
        let mut repeats = Self::default();
        let inner = |name: &str| {
            let members = outer.given(name).map(ObjectMembers::read);
            members.and_then(Result::ok).unwrap_or_default()
        };
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
            let place = format!("bardo.profile.{:.64}", &**name);
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

/// The members of an object in their order, values as written.
#[derive(Default)]
pub(super) struct ObjectMembers<'a> {
    /// The last value of each.
    values: Vec<(Str<'a>, &'a str)>,
    /// Names that are there again.
    again: Vec<Str<'a>>,
}

impl<'a> ObjectMembers<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// When the text is anything else.
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// Each name once, with its last value.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.values.iter().map(|(name, value)| (&**name, *value))
    }

    /// The value of a member that is not null.
    fn given(&self, name: &str) -> Option<&'a str> {
        let mut members = self.all();
        let (_, value) = members.find(|(known, _)| *known == name)?;
        Some(value).filter(|value| *value != "null")
    }

    /// Keeps the last of the members with one name.
    fn keep_last(&mut self) {
        if self.values.len() < 2 {
            return;
        }
        let mut later = HashSet::with_capacity(self.values.len());
        let mut again = Vec::new();
        self.values.reverse();
        self.values.retain(|(name, _)| {
            let is_last = later.insert(name.clone());
            if !is_last {
                again.push(name.clone());
            }
            is_last
        });
        self.values.reverse();
        again.reverse();
        self.again = again;
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
                while let Some((name, value)) = map.next_entry::<Str<'de>, &RawValue>()? {
                    members.values.push((name, value.get()));
                }
                members.keep_last();
                Ok(members)
            }
        }
        from.deserialize_map(Read)
    }
}
