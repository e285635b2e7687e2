//! Writes the members of a receipt. One is written for every request, so nothing here goes by
//! serde's detours: names are literals without escapes, and figures are written digit by digit.

use std::io::Write as _;

use bardo_types::money::MicroUsd;

use crate::json::write_text;

/// Something that stands as a member's value.
pub(super) trait Value {
    fn write(&self, out: &mut Vec<u8>);
}

impl Value for &str {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(out, self);
    }
}

impl Value for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Value for u64 {
    fn write(&self, out: &mut Vec<u8>) {
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

/// Never infinite: JSON has no word for that.
impl Value for f64 {
    fn write(&self, out: &mut Vec<u8>) {
        if self.is_finite() {
            write!(out, "{self}").expect("memory takes whatever is written");
        } else {
            out.extend_from_slice(b"null");
        }
    }
}

/// Decimal USD with six digits, as text: numbers would come back as floats.
impl Value for MicroUsd {
    fn write(&self, out: &mut Vec<u8>) {
        write!(out, "\"{self}\"").expect("memory takes whatever is written");
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// An object whose members are written one after the other.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    begun: bool,
}

impl<'a> Object<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, begun: false }
    }

    /// Writes a member; its name needs no escapes.
    pub(super) fn member(&mut self, name: &'static str, value: impl Value) -> &mut Self {
        value.write(self.name(name));
        self
    }

    /// Writes an object as a member.
    pub(super) fn object(
        &mut self,
        name: &'static str,
        write: impl FnOnce(&mut Object<'_>),
    ) -> &mut Self {
        inner(self.name(name), write);
        self
    }

    /// Writes a list as a member.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut Vec<u8>),
    ) -> &mut Self {
        let out = self.name(name);
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(item, out);
        }
        out.push(b']');
        self
    }

    fn name(&mut self, name: &'static str) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}

/// Writes an object from its first brace to its last.
pub(super) fn inner(out: &mut Vec<u8>, write: impl FnOnce(&mut Object<'_>)) {
    let mut object = Object::new(out);
    write(&mut object);
    object.end();
}
