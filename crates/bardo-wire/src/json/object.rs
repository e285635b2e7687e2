use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bardo_types::json::RawJson;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::write::kept_object;

/// A string that borrows from the body unless an escape forced a copy.
///
/// Serde's own `Cow<str>` always copies; this one does not.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Str<'a>(Cow<'a, str>);

impl<'a> From<Cow<'a, str>> for Str<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(text)
    }
}

impl Str<'_> {
    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    /// Not inlined: each object has one for the names of its members, and more for their values.
    #[inline(never)]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrVisitor;
        impl<'de> Visitor<'de> for StrVisitor {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(StrVisitor)
    }
}

/// Members without a name of ours, as written, in order.
pub(crate) type Extra<'a> = Vec<(Str<'a>, &'a RawValue)>;

/// Stands for members that nothing looks at.
#[derive(Debug, Default)]
pub(crate) struct Skipped<'a>(PhantomData<&'a ()>);

/// The treatment of a member that has no name in a [`wire_object`].
pub(crate) trait Unknown<'de> {
    /// Takes the value of the member `key`.
    fn take<A: MapAccess<'de>>(&mut self, key: Str<'de>, map: &mut A) -> Result<(), A::Error>;
}

impl<'de: 'a, 'a> Unknown<'de> for Extra<'a> {
    fn take<A: MapAccess<'de>>(&mut self, key: Str<'de>, map: &mut A) -> Result<(), A::Error> {
        self.push((key, map.next_value()?));
        Ok(())
    }
}

impl<'de> Unknown<'de> for Skipped<'_> {
    fn take<A: MapAccess<'de>>(&mut self, _: Str<'de>, map: &mut A) -> Result<(), A::Error> {
        map.next_value::<IgnoredAny>().map(drop)
    }
}

/// A struct that is filled where it lies: a value that is returned is moved once by each reader in
/// between, and these have up to a kilobyte.
pub(crate) trait Filled<'de>: Default {
    /// Reads the members of an object into `self`, which has none yet.
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// Reads a whole text into a struct that has no members yet.
pub(crate) fn fill_from_str<'de>(
    text: &'de str,
    place: &mut impl Filled<'de>,
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    place.fill(&mut deserializer)?;
    deserializer.end()
}

/// Declares structs for JSON objects: known members by name, and everything else kept in `extra` as
/// raw text, in order; or skipped, after `..`. Unlike serde's `flatten` it borrows and costs one
/// pass.
///
/// Every field type has to be `Default` (absent and `null` members stay at their default when the
/// type is an `Option`). A member given twice is refused.
///
/// ```text
/// wire_object! {
///     struct Part<'a> {
///         "type" => kind: Option<Str<'a>>,
///         "text" => text: Option<Str<'a>>,
///     }
///
///     struct Source<'a> {
///         "url" => url: Option<Str<'a>>,
///         ..
///     }
/// }
/// ```
macro_rules! wire_object {
    () => {};
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> {
        $( $(#[$field_meta:meta])* $key:literal => $field:ident : $type:ty, )*
        ..
    } $($more:tt)*) => {
        $crate::json::wire_object!(@declare $crate::json::Skipped<$life>, $(#[$meta])* $vis $name $life
            $( $(#[$field_meta])* $key $field $type )*);
        $crate::json::wire_object! { $($more)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> {
        $( $(#[$field_meta:meta])* $key:literal => $field:ident : $type:ty ),* $(,)?
    } $($more:tt)*) => {
        $crate::json::wire_object!(@declare $crate::json::Extra<$life>, $(#[$meta])* $vis $name $life
            $( $(#[$field_meta])* $key $field $type )*);
        $crate::json::wire_object! { $($more)* }
    };
    (@declare $extra:ty, $(#[$meta:meta])* $vis:vis $name:ident $life:lifetime
        $( $(#[$field_meta:meta])* $key:literal $field:ident $type:ty )*) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name<$life> {
            $( $(#[$field_meta])* pub(crate) $field: $type, )*
            /// Members without a name above, as written, unless they are skipped.
            pub(crate) extra: $extra,
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut object = Self::default();
                $crate::json::Filled::fill(&mut object, deserializer)?;
                Ok(object)
            }
        }

        impl<'de: $life, $life> $crate::json::Filled<'de> for $name<$life> {
            fn fill<D: serde::Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                struct ObjectVisitor<'place, $life>(&'place mut $name<$life>);
                impl<'de: $life, $life> serde::de::Visitor<'de> for ObjectVisitor<'_, $life> {
                    type Value = ();

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    #[allow(clippy::too_many_lines, unused_mut, unused_variables, non_snake_case, reason = "generated per object")]
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                        let Self(object) = self;
                        #[derive(Default)]
                        struct Seen { $( $field: bool, )* }
                        let mut seen = Seen::default();
                        while let Some(key) = map.next_key::<$crate::json::Str<'de>>()? {
                            match &*key {
                                $( $key => {
                                    if std::mem::replace(&mut seen.$field, true) {
                                        return Err(serde::de::Error::duplicate_field($key));
                                    }
                                    object.$field = map.next_value()?;
                                } )*
                                _ => $crate::json::Unknown::take(&mut object.extra, key, &mut map)?,
                            }
                        }
                        Ok(())
                    }
                }
                deserializer.deserialize_map(ObjectVisitor(self))
            }
        }
    };
}
pub(crate) use wire_object;

wire_object! {
    /// Any object: its members in order, values as written.
    pub(crate) struct Members<'a> {}

    /// The `type` of an object.
    pub(crate) struct TypeOnly<'a> {
        "type" => kind: Option<Str<'a>>,
        ..
    }

    /// The `name` of an object.
    pub(crate) struct NameOnly<'a> {
        "name" => name: Option<Str<'a>>,
        ..
    }
}

impl<'a> Members<'a> {
    /// The first member of a name whose value is not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.extra
            .iter()
            .find(|(key, value)| &**key == name && value.get() != "null")
            .map(|(_, value)| *value)
    }

    /// The object again, members in their order, with `replaced` in place of its namesake.
    pub(crate) fn to_raw(&self, replaced: Option<(&str, &str)>) -> RawJson {
        kept_object(|object| {
            let mut pending = replaced;
            for (key, value) in &self.extra {
                match replaced {
                    Some((name, text)) if name == &**key => {
                        object.foreign(name, text);
                        pending = None;
                    }
                    _ => {
                        object.foreign(key, value.get());
                    }
                }
            }
            if let Some((name, text)) = pending {
                object.foreign(name, text);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Str;

    wire_object! {
        struct Sample<'a> {
            "type" => kind: Option<Str<'a>>,
            "n" => n: Option<u64>,
            "inner" => inner: Option<Vec<Sample<'a>>>,
        }
    }

    #[test]
    fn known_members_are_typed_and_the_rest_is_kept_as_written() {
        let text = r#"{"x":1.0,"type":"t","inner":[{"n":null,"y":{"k":[1, 2]}}]}"#;
        let sample: Sample<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(sample.kind.as_deref(), Some("t"));
        assert_eq!((&*sample.extra[0].0, sample.extra[0].1.get()), ("x", "1.0"));
        assert_eq!(sample.inner.unwrap()[0].extra[0].1.get(), r#"{"k":[1, 2]}"#);
    }

    #[test]
    fn a_member_given_twice_is_refused() {
        assert!(serde_json::from_str::<Sample<'_>>(r#"{"n":1,"n":2}"#).is_err());
    }
}
