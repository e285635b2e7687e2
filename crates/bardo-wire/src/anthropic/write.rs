use serde::Serialize;

/// Writes one JSON object member by member, straight into the body.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

/// Writes one JSON array item by item.
pub(super) struct Array<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

/// Appends any serializable value.
pub(super) fn value(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    crate::json::write_json(out, value);
}

/// Appends an object.
pub(super) fn object(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>)) {
    out.push(b'{');
    let mut object = Object { out, empty: true };
    fill(&mut object);
    object.out.push(b'}');
}

impl Object<'_> {
    fn key(&mut self, key: &str) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        value(self.out, key);
        self.out.push(b':');
    }

    /// Adds a member.
    pub(super) fn field(&mut self, key: &str, content: &(impl Serialize + ?Sized)) {
        self.key(key);
        value(self.out, content);
    }

    /// Adds a member where there is something to add.
    pub(super) fn maybe(&mut self, key: &str, content: Option<&(impl Serialize + ?Sized)>) {
        if let Some(content) = content {
            self.field(key, content);
        }
    }

    /// Adds a member whose value is JSON text already.
    pub(super) fn raw(&mut self, key: &str, json: &str) {
        self.key(key);
        self.out.extend_from_slice(json.as_bytes());
    }

    /// Adds an object.
    pub(super) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        object(self.out, fill);
    }

    /// Adds an array.
    pub(super) fn array(&mut self, key: &str, fill: impl FnOnce(&mut Array<'_>)) {
        self.key(key);
        self.out.push(b'[');
        let mut array = Array {
            out: self.out,
            empty: true,
        };
        fill(&mut array);
        self.out.push(b']');
    }
}

impl Array<'_> {
    fn comma(&mut self) {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
    }

    /// Adds an object.
    pub(super) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        self.comma();
        object(self.out, fill);
    }

    /// Adds an item that is JSON text already.
    pub(super) fn raw(&mut self, json: &str) {
        self.comma();
        self.out.extend_from_slice(json.as_bytes());
    }
}
