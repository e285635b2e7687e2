//! JSON written straight into a byte buffer, member by member.

use bardo_types::json::RawJson;
use serde::Serialize;

/// Appends `text` as a JSON string.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    crate::json::write_json(out, text);
}

/// An object under construction; [`ObjectWriter::end`] closes it.
pub(super) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> ObjectWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Starts a member and hands out the buffer for its value.
    pub(super) fn value(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        string(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(super) fn string(&mut self, key: &str, text: &str) {
        string(self.value(key), text);
    }

    pub(super) fn string_if(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.string(key, text);
        }
    }

    /// A member whose value is JSON text already.
    pub(super) fn raw(&mut self, key: &str, json: &str) {
        self.value(key).extend_from_slice(json.as_bytes());
    }

    pub(super) fn raw_if(&mut self, key: &str, json: Option<&RawJson>) {
        if let Some(json) = json {
            self.raw(key, json.as_str());
        }
    }

    pub(super) fn number(&mut self, key: &str, number: u64) {
        self.raw(key, &number.to_string());
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    pub(super) fn null(&mut self, key: &str) {
        self.raw(key, "null");
    }

    /// Any value that serde can write.
    pub(super) fn serialize(&mut self, key: &str, value: &impl Serialize) {
        crate::json::write_json(self.value(key), value);
    }

    /// Members kept as they came.
    pub(super) fn members(&mut self, members: &[(String, RawJson)]) {
        for (key, json) in members {
            self.raw(key, json.as_str());
        }
    }

    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}

/// An array under construction; [`ArrayWriter::end`] closes it.
pub(super) struct ArrayWriter<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> ArrayWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, empty: true }
    }

    /// Starts an element and hands out the buffer for it.
    pub(super) fn item(&mut self) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out
    }

    pub(super) fn raw(&mut self, json: &str) {
        self.item().extend_from_slice(json.as_bytes());
    }

    pub(super) fn object(&mut self) -> ObjectWriter<'_> {
        ObjectWriter::new(self.item())
    }

    pub(super) fn end(self) {
        self.out.push(b']');
    }
}

/// Builds one object as kept JSON.
pub(super) fn object(build: impl FnOnce(&mut ObjectWriter<'_>)) -> RawJson {
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    build(&mut object);
    object.end();
    kept(out)
}

/// Takes written JSON as kept JSON.
pub(super) fn kept(json: Vec<u8>) -> RawJson {
    let text = String::from_utf8(json).expect("the writers write UTF-8");
    RawJson::parse(text).expect("the writers write JSON")
}
