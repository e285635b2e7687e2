//! Members that must not cost an answer when a server writes them its own way.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bardo_types::money::MicroUsd;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::object::Filled;
use super::walked::Walked;

/// A count: a whole number, also as a float or as digits in a string. Anything else is no count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Count {
    /// The count, zero where there is none.
    pub(crate) fn get(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count(Some(count)))
    }

    fn visit_i64<E>(self, count: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(count).ok()))
    }

    fn visit_f64<E>(self, count: f64) -> Result<Count, E> {
        // A cast from float saturates, so the odd `1e30` cannot wrap.
        Ok(Count((count >= 0.0).then_some(count as u64)))
    }

    fn visit_str<E>(self, digits: &str) -> Result<Count, E> {
        Ok(Count(digits.parse().ok()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Count, A::Error> {
        IgnoredAny.visit_seq(seq)?;
        Ok(Count(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Count, A::Error> {
        IgnoredAny.visit_map(map)?;
        Ok(Count(None))
    }
}

/// A value that is there only when it has the right shape, e.g. not `[]` for an empty object.
#[derive(Debug, Clone)]
pub(crate) struct Lenient<T>(pub(crate) Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Walked<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Self(T::read(raw.get())))
    }
}

/// A list whose entries are filled where they lie. It makes room for one entry at first, since most
/// have no more.
#[derive(Debug)]
pub(crate) struct FilledList<T>(Vec<T>);

impl<T> FilledList<T> {
    pub(crate) fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> Deref for FilledList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'a, T> IntoIterator for &'a FilledList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Bytes up to which a list takes room for four entries at once.
const SMALL: usize = 512;

impl<'de, T: Filled<'de>> Deserialize<'de> for FilledList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Filled<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = FilledList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                let mut entry = T::default();
                while seq.next_element_seed(EntrySeed(&mut entry))?.is_some() {
                    if list.is_empty() {
                        // A conversation has several messages, which are small beside an answer's
                        // choices, and of these there is one.
                        list.reserve_exact(if size_of::<T>() <= SMALL { 4 } else { 1 });
                    }
                    list.push(entry);
                    entry = T::default();
                }
                Ok(FilledList(list))
            }
        }
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct EntrySeed<'place, T>(&'place mut T);

impl<'de, T: Filled<'de>> DeserializeSeed<'de> for EntrySeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.fill(deserializer)
    }
}

/// The text of a decimal, given as JSON: a number, or a string with one in it; `None` for what is no
/// amount of zero or more.
pub(crate) fn decimal(json: &str) -> Option<String> {
    let text = json.trim_matches('"');
    text.starts_with(|first: char| first.is_ascii_digit())
        .then(|| text.to_owned())
}

/// OpenRouter's fee for a call with its customer's own key; `None` where it used its own.
pub(crate) fn byok_fee(is_byok: Option<&str>, cost: Option<&str>) -> Option<MicroUsd> {
    let fee = cost.filter(|_| is_byok == Some("true")).and_then(decimal)?;
    MicroUsd::from_usd_rounded_up(&fee)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Str;

    #[test]
    fn a_count_is_read_however_it_is_written() {
        for (text, expected) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("\"7\"", Some(7)),
            ("1e30", Some(u64::MAX)),
            ("-7", None),
            ("-7.5", None),
            ("null", None),
            ("true", None),
            ("[1,[2]]", None),
            ("{\"a\":{\"b\":1}}", None),
            ("\"seven\"", None),
            ("-0", Some(0)),
            ("1e2", Some(100)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("false", None),
            ("{}", None),
            ("\"\"", None),
        ] {
            let count: Count = serde_json::from_str(text).unwrap();
            assert_eq!(count.0, expected, "{text}");
        }
    }

    #[test]
    fn a_value_of_another_shape_is_absent_and_the_rest_is_read() {
        let pair: (Lenient<Str<'_>>, u8) = serde_json::from_str("[[], 5]").unwrap();
        assert_eq!((pair.0.0, pair.1), (None, 5));
        let pair: (Lenient<Str<'_>>, u8) = serde_json::from_str("[\"x\", 5]").unwrap();
        assert_eq!(pair.0.0.as_deref(), Some("x"));
    }

    #[test]
    fn a_decimal_keeps_its_own_text() {
        for (text, expected) in [
            ("0.00014", Some("0.00014")),
            ("\"1.50\"", Some("1.50")),
            ("1.4e-05", Some("1.4e-05")),
            ("-1", None),
            ("null", None),
        ] {
            assert_eq!(decimal(text).as_deref(), expected);
        }
    }
}
