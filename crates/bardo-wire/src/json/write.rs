//! The one JSON writer: absent members cost nothing, raw text goes out as it came.
//!
//! What writes a member or a value is never inlined. A receipt has eighty members, each of which is
//! written once: a copy of the writer for each would be loaded for a single run.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use bardo_types::json::RawJson;
use serde::Serialize;
use serde_json::value::RawValue;

use super::object::Str;
use super::special::string_special;

/// A value that appends itself as JSON.
pub(crate) trait ToJson {
    fn write(&self, out: &mut Vec<u8>);

    /// Whether a [`written_object`] leaves the value out.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: ToJson + ToOwned + ?Sized> ToJson for Cow<'_, T> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }
}

impl ToJson for str {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(out, self);
    }
}

/// Types that are written as the text they hold.
macro_rules! texts {
    ($($kind:ty),*) => { $(
        impl ToJson for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                write_text(out, self);
            }
        }
    )* };
}
texts!(String, Str<'_>);

impl ToJson for fmt::Arguments<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        write!(Escaped(out), "{self}").expect("memory takes whatever is written");
        out.push(b'"');
    }
}

impl ToJson for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl ToJson for () {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"null");
    }
}

impl ToJson for u64 {
    #[inline(never)]
    fn write(&self, out: &mut Vec<u8>) {
        if *self < 10 {
            // Most counts and times of a receipt.
            return out.push(b'0' + u8::try_from(*self).expect("a digit is below ten"));
        }
        let mut text = [0; 20];
        let (mut at, mut rest) = (text.len(), *self);
        loop {
            at -= 1;
            text[at] = b'0' + u8::try_from(rest % 10).expect("a digit is below ten");
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&text[at..]);
    }
}

impl ToJson for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        if *self < 0 {
            out.push(b'-');
        }
        self.unsigned_abs().write(out);
    }
}

impl ToJson for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }
}

impl ToJson for RawJson {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_str().as_bytes());
    }
}

impl ToJson for RawValue {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.get().as_bytes());
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => ().write(out),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        let mut list = Array::new(out);
        for item in self {
            item.write(list.item());
        }
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// Declares structs that are written as JSON objects, without members that are absent. An object
/// without any member is absent itself.
macro_rules! written_object {
    ($( $(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> {
        $( $(#[$field_meta:meta])* $key:literal => $field:ident : $type:ty ),* $(,)?
    } )*) => { $(
        $(#[$meta])*
        $vis struct $name<$life> {
            $( $(#[$field_meta])* pub(crate) $field: $type, )*
        }

        impl $crate::json::ToJson for $name<'_> {
            fn write(&self, out: &mut Vec<u8>) {
                let mut object = $crate::json::Object::new(out);
                $( if !$crate::json::ToJson::is_absent(&self.$field) {
                    object.put($crate::json::member!($key), &self.$field);
                } )*
            }

            fn is_absent(&self) -> bool {
                $( $crate::json::ToJson::is_absent(&self.$field) )&&*
            }
        }
    )* };
}
pub(crate) use written_object;

/// The name of a member with the marks around it, such as `,"model":`, so that all of it is written
/// at once. Made by [`member!`].
#[derive(Clone, Copy)]
pub(crate) struct MemberName(pub(crate) &'static str);

/// A [`MemberName`] of a literal that needs no escapes.
macro_rules! member {
    ($name:literal) => {
        $crate::json::MemberName(concat!(",\"", $name, "\":"))
    };
}
pub(crate) use member;

/// A value that serde knows how to write.
pub(crate) struct Serde<T>(pub(crate) T);

impl<T: Serialize> ToJson for Serde<T> {
    fn write(&self, out: &mut Vec<u8>) {
        serde_json::to_writer(out, &self.0).expect("plain data is always written");
    }
}

/// A `data:` URL that is written without being put together first.
pub(crate) struct DataUrl<'a> {
    pub(crate) media_type: &'a str,
    pub(crate) data: &'a str,
}

impl ToJson for DataUrl<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.media_type.len() + self.data.len() + 16);
        out.extend_from_slice(b"\"data:");
        escape(out, self.media_type);
        out.extend_from_slice(b";base64,");
        escape(out, self.data);
        out.push(b'"');
    }
}

/// Appends a JSON string.
#[inline(never)]
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

/// Appends what stands between the quotes of a JSON string.
fn escape(out: &mut Vec<u8>, text: &str) {
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
}

struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

/// An object being written; its end closes it.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Object<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, begun: false }
    }

    fn comma(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
    }

    /// Writes a name of ours, which needs no escapes, and hands out the place of its value.
    #[inline(never)]
    pub(crate) fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Writes a whole name, and hands out the place of its value.
    #[inline(never)]
    fn name(&mut self, name: MemberName) -> &mut Vec<u8> {
        let has_comma = std::mem::replace(&mut self.begun, true);
        let name = &name.0.as_bytes()[usize::from(!has_comma)..];
        self.out.extend_from_slice(name);
        self.out
    }

    /// Writes a member by its whole name.
    #[inline(never)]
    pub(crate) fn put(&mut self, name: MemberName, value: impl ToJson) -> &mut Self {
        value.write(self.name(name));
        self
    }

    /// Writes an object as a member by its whole name.
    pub(crate) fn put_object(
        &mut self,
        name: MemberName,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> &mut Self {
        fill(&mut Object::new(self.name(name)));
        self
    }

    /// Writes an array as a member by its whole name, an item at a time.
    pub(crate) fn put_list<T>(
        &mut self,
        name: MemberName,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(T, &mut Vec<u8>),
    ) -> &mut Self {
        Array::new(self.name(name)).fill(items, write);
        self
    }

    /// Writes a member.
    #[inline(never)]
    pub(crate) fn set(&mut self, key: &'static str, value: impl ToJson) -> &mut Self {
        value.write(self.key(key));
        self
    }

    /// Writes a member where there is a value.
    pub(crate) fn set_some(&mut self, key: &'static str, value: Option<impl ToJson>) -> &mut Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Writes a member whose value is JSON text already.
    pub(crate) fn raw(&mut self, key: &'static str, json: &str) -> &mut Self {
        self.key(key).extend_from_slice(json.as_bytes());
        self
    }

    /// Writes a member whose name came with a request or an answer, and whose value is JSON text.
    pub(crate) fn foreign(&mut self, key: &str, json: &str) -> &mut Self {
        self.comma();
        write_text(self.out, key);
        self.out.push(b':');
        self.out.extend_from_slice(json.as_bytes());
        self
    }

    /// Writes members that were kept as they came.
    pub(crate) fn members(&mut self, members: &[(String, RawJson)]) {
        for (key, json) in members {
            self.foreign(key, json.as_str());
        }
    }

    /// Writes a run of members that is JSON text already, without braces.
    pub(crate) fn spread(&mut self, members: &str) {
        self.comma();
        self.out.extend_from_slice(members.as_bytes());
    }

    /// Begins an object as a member.
    pub(crate) fn object(&mut self, key: &'static str) -> Object<'_> {
        Object::new(self.key(key))
    }

    /// Writes an object as a member.
    pub(crate) fn nest(
        &mut self,
        key: &'static str,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> &mut Self {
        fill(&mut self.object(key));
        self
    }

    /// Begins an array as a member.
    pub(crate) fn array(&mut self, key: &'static str) -> Array<'_> {
        Array::new(self.key(key))
    }

    /// Writes an array as a member, an item at a time.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl FnMut(T, &mut Vec<u8>),
    ) -> &mut Self {
        self.array(key).fill(items, write);
        self
    }

    /// Closes the object before the end of its scope.
    pub(crate) fn end(self) {}
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        self.out.push(b'}');
    }
}

/// An array being written; its end closes it.
pub(crate) struct Array<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Array<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, begun: false }
    }

    /// Hands out the place of the next item.
    pub(crate) fn item(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        self.out
    }

    /// Writes items and closes the array.
    fn fill<T>(
        mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut Vec<u8>),
    ) {
        for item in items {
            write(item, self.item());
        }
    }

    /// Begins an object as the next item.
    pub(crate) fn object(&mut self) -> Object<'_> {
        Object::new(self.item())
    }

    /// Writes an object as the next item.
    pub(crate) fn nest(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        fill(&mut self.object());
    }

    /// Writes an item that is JSON text already.
    pub(crate) fn raw(&mut self, json: &str) {
        self.item().extend_from_slice(json.as_bytes());
    }

    /// Closes the array before the end of its scope.
    pub(crate) fn end(self) {}
}

impl Drop for Array<'_> {
    fn drop(&mut self) {
        self.out.push(b']');
    }
}

/// Appends an object from its first brace to its last.
pub(crate) fn object(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
    fill(&mut Object::new(out));
}

/// Builds one object as kept JSON.
pub(crate) fn kept_object(fill: impl FnOnce(&mut Object<'_>)) -> RawJson {
    let mut out = Vec::new();
    object(&mut out, fill);
    let text = String::from_utf8(out).expect("the writer writes UTF-8");
    RawJson::parse(text).expect("the writer writes JSON")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Serde, ToJson};

    fn written(value: &impl ToJson) -> String {
        let mut out = b"before".to_vec();
        value.write(&mut out);
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
            assert_eq!(written(&Serde(&value)), value.to_string());
        }
        assert_eq!(written(&Some("x")), "\"x\"");
        assert_eq!(written(&None::<&str>), "null");
        let raw = bardo_types::json::RawJson::parse(r#"{"a":1.0}"#).unwrap();
        assert_eq!(written(&raw), r#"{"a":1.0}"#);
        assert_eq!(
            written(&[0, 7, u64::MAX].as_slice()),
            "[0,7,18446744073709551615]"
        );
        assert_eq!(written(&format_args!("{}\"{}", "é\n", 1)), "\"é\\n\\\"1\"");
    }

    proptest! {
        #[test]
        fn texts_are_written_as_serde_writes_them(text in "[\\x00-\\x7fé世🦀]{0,40}") {
            prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
