use std::fmt;

use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::special::string_special;

/// Appends any serializable value as JSON.
///
/// Texts, most of any body, are searched for escapes a word at a time; everything else goes to
/// serde. The bytes are the same either way.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    if value.serialize(TextOnly { out }).is_err() {
        serde_json::to_writer(out, value).expect("writing plain data into memory cannot fail");
    }
}

/// Appends a JSON string.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = string_special(rest) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [
                    HEX[usize::from(control >> 4)],
                    HEX[usize::from(control & 15)],
                ];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes a value if it is a text, and refuses anything else without having written.
struct TextOnly<'a> {
    out: &'a mut Vec<u8>,
}

#[derive(Debug)]
struct NotText;

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a text")
    }
}

impl std::error::Error for NotText {}

impl serde::ser::Error for NotText {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Refuses each kind of plain value.
macro_rules! refuse {
    ($($method:ident($kind:ty))*) => {
        $( fn $method(self, _: $kind) -> Result<(), NotText> { Err(NotText) } )*
    };
}

impl Serializer for TextOnly<'_> {
    type Ok = ();
    type Error = NotText;
    type SerializeSeq = Impossible<(), NotText>;
    type SerializeTuple = Impossible<(), NotText>;
    type SerializeTupleStruct = Impossible<(), NotText>;
    type SerializeTupleVariant = Impossible<(), NotText>;
    type SerializeMap = Impossible<(), NotText>;
    type SerializeStruct = Impossible<(), NotText>;
    type SerializeStructVariant = Impossible<(), NotText>;

    fn serialize_str(self, text: &str) -> Result<(), NotText> {
        write_text(self.out, text);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotText> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotText> {
        value.serialize(self)
    }

    refuse! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_f32(f32)
        serialize_f64(f64) serialize_char(char) serialize_bytes(&[u8]) serialize_unit_struct(&'static str)
    }

    fn serialize_none(self) -> Result<(), NotText> {
        Err(NotText)
    }

    fn serialize_unit(self) -> Result<(), NotText> {
        Err(NotText)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
    ) -> Result<(), NotText> {
        Err(NotText)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotText> {
        Err(NotText)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, NotText> {
        Err(NotText)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, NotText> {
        Err(NotText)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotText> {
        Err(NotText)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotText> {
        Err(NotText)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, NotText> {
        Err(NotText)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, NotText> {
        Err(NotText)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NotText> {
        Err(NotText)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::write_json;

    fn written(value: &impl serde::Serialize) -> String {
        let mut out = b"before".to_vec();
        write_json(&mut out, value);
        String::from_utf8(out)
            .unwrap()
            .strip_prefix("before")
            .unwrap()
            .to_owned()
    }

    #[test]
    fn values_of_every_kind_are_written_as_serde_writes_them() {
        for value in [
            json!(null),
            json!(true),
            json!(1.5),
            json!("é\"\\\n\u{1}\u{7f}"),
            json!(["a", {"b": []}]),
            json!({"k": 7}),
        ] {
            assert_eq!(written(&value), value.to_string());
        }
        assert_eq!(written(&Some("x")), "\"x\"");
        assert_eq!(written(&None::<&str>), "null");
        let raw = bardo_types::json::RawJson::parse(r#"{"a":1.0}"#).unwrap();
        assert_eq!(written(&raw), r#"{"a":1.0}"#);
    }

    proptest! {
        #[test]
        fn texts_are_written_as_serde_writes_them(text in "[\\x00-\\x7fé世🦀]{0,40}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
