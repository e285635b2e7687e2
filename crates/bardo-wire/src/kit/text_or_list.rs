//! Members that are a string or a list.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bardo_types::chat::{Part, Text};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// A string, borrowed where it has no escapes, or a list. `null` is neither.
#[derive(Debug)]
pub(crate) enum TextOrList<'a, T> {
    Text(Cow<'a, str>),
    List(Vec<T>),
}

/// The name of a list's elements, as a refusal calls them.
pub(crate) trait Listed {
    const NAME: &'static str;
}

impl Listed for String {
    const NAME: &'static str = "strings";
}

impl<T> TextOrList<'_, T> {
    /// The parts of a message's content: one text, or each entry with its place.
    pub(crate) fn into_parts<E>(
        self,
        mut read: impl FnMut(usize, T) -> Result<Part, E>,
    ) -> Result<Vec<Part>, E> {
        match self {
            Self::Text(text) => Ok(vec![Text::new(text).into()]),
            Self::List(list) => list
                .into_iter()
                .enumerate()
                .map(|(index, entry)| read(index, entry))
                .collect(),
        }
    }
}

impl TextOrList<'_, String> {
    /// All texts as strings.
    pub(crate) fn into_texts(self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.into_owned()],
            Self::List(list) => list,
        }
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de> + Listed> Deserialize<'de> for TextOrList<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrListVisitor(PhantomData))
    }
}

struct TextOrListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Listed> Visitor<'de> for TextOrListVisitor<T> {
    type Value = TextOrList<'de, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string or a list of {}", T::NAME)
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(TextOrList::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(TextOrList::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = seq.next_element()? {
            list.push(entry);
        }
        Ok(TextOrList::List(list))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::TextOrList;

    #[test]
    fn a_string_is_borrowed_unless_an_escape_forbids_it_and_a_refusal_names_both_forms() {
        let read = |json| serde_json::from_str::<TextOrList<'_, String>>(json);
        assert!(matches!(
            read(r#""a""#),
            Ok(TextOrList::Text(Cow::Borrowed("a")))
        ));
        assert!(
            matches!(read(r#""\u0061""#), Ok(TextOrList::Text(Cow::Owned(text))) if text == "a")
        );
        assert_eq!(read(r#"["a","b"]"#).unwrap().into_texts(), ["a", "b"]);
        let told = read("7").unwrap_err().to_string();
        assert!(
            told.contains("expected a string or a list of strings"),
            "{told}"
        );
    }
}
