//! Objects whose members are read one by one, whatever the others are: a count in a shape of its own
//! must not cost the counts beside it.

use std::convert::Infallible;

use super::object::Str;
use super::walk::Walker;

/// A value of validated JSON that is read by a walk. It costs half of what a deserializer costs.
pub(crate) trait Walked<'a>: Sized {
    /// Takes the value ahead, or stays before it; `None` where it has another shape.
    fn walk(walker: &mut Walker<'a>) -> Option<Self>;

    /// The value of `json`; `None` where it has another shape.
    fn read(json: &'a str) -> Option<Self> {
        Self::walk(&mut Walker::over(json.as_bytes()))
    }
}

/// A count: a whole number, also as a float or as digits in a string.
impl Walked<'_> for u64 {
    fn walk(walker: &mut Walker<'_>) -> Option<Self> {
        let digits = match walker.peek()? {
            b'0'..=b'9' | b'-' => walker.written(),
            b'"' => return std::str::from_utf8(walker.text()).ok()?.parse().ok(),
            _ => return None,
        };
        let digits = std::str::from_utf8(digits).ok()?;
        digits.parse().ok().or_else(|| {
            let count: f64 = digits.parse().ok()?;
            // A cast from float saturates, so the odd `1e30` cannot wrap.
            (count >= 0.0).then_some(count as Self)
        })
    }
}

impl<'a> Walked<'a> for Str<'a> {
    fn walk(walker: &mut Walker<'a>) -> Option<Self> {
        walker.string().map(Str::from)
    }
}

/// Any value but `null`, as it is written.
impl<'a> Walked<'a> for &'a str {
    fn walk(walker: &mut Walker<'a>) -> Option<Self> {
        let written = std::str::from_utf8(walker.written()).ok()?;
        (written != "null").then_some(written)
    }
}

/// The entries of a list that have the right shape.
impl<'a, T: Walked<'a>> Walked<'a> for Vec<T> {
    fn walk(walker: &mut Walker<'a>) -> Option<Self> {
        if walker.peek() != Some(b'[') {
            return None;
        }
        let mut list = Self::new();
        let Ok(()) = walker.entries(|walker, _| {
            list.extend(T::walk(walker));
            Ok::<_, Infallible>(())
        });
        Some(list)
    }
}

/// Declares structs for JSON objects whose members are all optional, each of a type that is
/// [`Walked`]. A member of another shape is absent, unknown members are skipped, and of a member
/// given twice the last counts.
///
/// ```text
/// lenient_object! {
///     struct Usage<'a> {
///         "input_tokens" => input: u64,
///         "service_tier" => tier: Str<'a>,
///     }
///
///     struct Details {
///         "cached_tokens" => cached: u64,
///     }
/// }
/// ```
macro_rules! lenient_object {
    () => {};
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> {
        $( $key:literal => $field:ident : $type:ty ),* $(,)?
    } $($more:tt)*) => {
        $crate::json::lenient_object!(@declare [$life] [<$life>], $(#[$meta])* $vis $name $( $key $field $type )*);
        $crate::json::lenient_object! { $($more)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $( $key:literal => $field:ident : $type:ty ),* $(,)?
    } $($more:tt)*) => {
        $crate::json::lenient_object!(@declare ['any] [], $(#[$meta])* $vis $name $( $key $field $type )*);
        $crate::json::lenient_object! { $($more)* }
    };
    (@declare [$life:lifetime] [$($generics:tt)*], $(#[$meta:meta])* $vis:vis $name:ident
        $( $key:literal $field:ident $type:ty )*) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name $($generics)* {
            $( pub(crate) $field: Option<$type>, )*
        }

        impl<$life> $crate::json::Walked<$life> for $name $($generics)* {
            fn walk(walker: &mut $crate::json::Walker<$life>) -> Option<Self> {
                if walker.peek() != Some(b'{') {
                    return None;
                }
                let mut object = Self::default();
                let Ok(()) = walker.members(|walker, name| {
                    $( if name == $key.as_bytes() {
                        object.$field = $crate::json::Walked::walk(walker);
                        return Ok(());
                    } )*
                    Ok::<_, std::convert::Infallible>(())
                });
                Some(object)
            }
        }
    };
}
pub(crate) use lenient_object;

#[cfg(test)]
mod tests {
    use super::*;

    lenient_object! {
        struct Sample<'a> {
            "n" => n: u64,
            "text" => text: Str<'a>,
            "raw" => raw: &'a str,
            "inner" => inner: Inner,
            "list" => list: Vec<Inner>,
        }

        struct Inner {
            "n" => n: u64,
        }
    }

    #[test]
    fn a_count_is_read_however_it_is_written() {
        for (json, expected) in [
            ("7", Some(7)),
            ("7.0", Some(7)),
            ("\"7\"", Some(7)),
            ("1e30", Some(u64::MAX)),
            ("1e999", Some(u64::MAX)),
            ("-7", None),
            ("-7.5", None),
            ("null", None),
            ("true", None),
            ("[1,[2]]", None),
            ("{\"a\":{\"b\":1}}", None),
            ("\"seven\"", None),
            ("\"\"", None),
            ("-0", Some(0)),
            ("1e2", Some(100)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
        ] {
            assert_eq!(u64::read(json), expected, "{json}");
            let json = format!(r#" {{ "x":[{json}] , "n" : {json} ,"text":"t"}}"#);
            let sample = Sample::read(&json).unwrap();
            assert_eq!(
                (sample.n, sample.text.as_deref()),
                (expected, Some("t")),
                "{json}"
            );
        }
    }

    #[test]
    fn a_member_of_another_shape_is_absent_and_the_rest_is_read() {
        let json = r#"{"n":[1,{"n":2}],"text":{"n":3},"raw": {"n":[4 ]} ,"inner":[],"list":[{"n":5},6,{}]}"#;
        let sample = Sample::read(json).unwrap();
        assert_eq!(
            (sample.n, sample.text, sample.raw),
            (None, None, Some(r#"{"n":[4 ]}"#))
        );
        assert!(sample.inner.is_none());
        let counts: Vec<_> = sample.list.unwrap().iter().map(|inner| inner.n).collect();
        assert_eq!(counts, [Some(5), None]);
        for json in ["null", "[]", "7", "\"n\""] {
            assert!(Sample::read(json).is_none(), "{json}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_walk_over_any_bytes_ends(json in "[\\[\\]{}:,\"\\\\ \nu0n1-]{0,60}|\\PC{0,40}") {
            let _ = (Sample::read(&json), Vec::<Sample<'_>>::read(&json), u64::read(&json));
            let _ = Sample::read(&format!("{{\"n\":{json}"));
        }

        /// Whatever stands around a member, it is found as another reader finds it.
        #[test]
        fn a_walk_finds_what_a_parser_finds(
            names in proptest::collection::vec("n|text|inner|list|[\\PC]{0,3}", 0..6),
            values in proptest::collection::vec(
                "0|-?[1-9][0-9]{0,18}|\"[^\"\\\\\\p{C}]{0,4}\"|\\[\\]|\\[ 1 , \\{\\} \\]|\\{ \"n\" : 7 \\}|null|true",
                6,
            ),
        ) {
            let member = |(name, value): (&String, &String)| {
                format!("{} : {value}", serde_json::Value::from(&**name))
            };
            let members: Vec<_> = names.iter().zip(&values).map(member).collect();
            let json = format!("{{ {} }}", members.join("\n,"));
            let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
            let walked = Sample::read(&json).unwrap();
            let digits = |value: &serde_json::Value| value.as_str().and_then(|text| text.parse().ok());
            let count = |value: &serde_json::Value| value.as_u64().or_else(|| digits(value));
            proptest::prop_assert_eq!(walked.n, count(&parsed["n"]), "{}", &json);
            proptest::prop_assert_eq!(walked.text.as_deref(), parsed["text"].as_str());
            let inner = walked.inner.map(|inner| inner.n);
            let expected = parsed["inner"].as_object().map(|inner| inner.get("n").and_then(count));
            proptest::prop_assert_eq!(inner, expected, "{}", &json);
            let length = walked.list.map(|list| list.len());
            let objects = |list: &Vec<serde_json::Value>| list.iter().filter(|one| one.is_object()).count();
            proptest::prop_assert_eq!(length, parsed["list"].as_array().map(objects));
        }
    }

    #[test]
    fn escapes_are_resolved_in_names_and_texts() {
        let sample = Sample::read(r#"{"\u006e":1,"text":"a\"b","raw":null}"#).unwrap();
        assert_eq!(
            (sample.n, sample.text.as_deref(), sample.raw),
            (Some(1), Some("a\"b"), None)
        );
    }
}
