//! Writes JSON member by member: absent members cost nothing, raw text goes out as it came.

use bardo_types::json::RawJson;
use serde::{Serialize, Serializer};

/// An object being written; its end closes it.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

/// An array being written; its end closes it.
pub(super) struct Array<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

/// Appends any serializable value as JSON.
pub(super) fn value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    crate::json::write_json(out, value);
}

impl<'a> Object<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes a key and hands out the place of its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        value(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(super) fn set(&mut self, key: &str, to: &(impl Serialize + ?Sized)) -> &mut Self {
        value(self.key(key), to);
        self
    }

    pub(super) fn set_some(
        &mut self,
        key: &str,
        to: Option<&(impl Serialize + ?Sized)>,
    ) -> &mut Self {
        if let Some(to) = to {
            self.set(key, to);
        }
        self
    }

    pub(super) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key).extend_from_slice(json.as_bytes());
        self
    }

    pub(super) fn raw_some(&mut self, key: &str, json: Option<&RawJson>) -> &mut Self {
        if let Some(json) = json {
            self.raw(key, json.as_str());
        }
        self
    }

    pub(super) fn object(&mut self, key: &str) -> Object<'_> {
        Object::new(self.key(key))
    }

    pub(super) fn array(&mut self, key: &str) -> Array<'_> {
        Array::new(self.key(key))
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        self.out.push(b'}');
    }
}

impl<'a> Array<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, empty: true }
    }

    /// Hands out the place of the next item.
    pub(super) fn item(&mut self) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out
    }

    pub(super) fn object(&mut self) -> Object<'_> {
        Object::new(self.item())
    }

    pub(super) fn raw(&mut self, json: &str) {
        self.item().extend_from_slice(json.as_bytes());
    }
}

impl Drop for Array<'_> {
    fn drop(&mut self) {
        self.out.push(b']');
    }
}

/// A `data:` URL that is written without being put together first.
pub(super) struct DataUrl<'a> {
    pub(super) media_type: &'a str,
    pub(super) data: &'a str,
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!(
            "data:{};base64,{}",
            self.media_type, self.data
        ))
    }
}
