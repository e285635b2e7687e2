//! Ways to change one top-level member of a body, add another and leave every other byte: ours, and
//! what `serde_json` offers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::fs;

use bardo_wire::json::{Str, scan};
use bardo_wire::splice::{Edit, splice};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

const MODEL: &str = "anthropic/claude-opus-5-5";
const ADDED: &str = r#"{"include_usage":true}"#;

/// A way: the changed body, or nothing where the body cannot be read.
pub(crate) type Way = fn(&[u8]) -> Option<Vec<u8>>;

/// The scanner and the splice of the wire.
pub(crate) fn ours(body: &[u8]) -> Option<Vec<u8>> {
    let top = scan(body).ok()?;
    top.string("model")?;
    let edits = [
        Edit::set_string("model", MODEL),
        Edit::set("stream_options", ADDED),
    ];
    Some(splice(&top, &edits))
}

/// The other ways by name.
pub(crate) const RIVALS: [(&str, Way); 3] = [
    ("list of raw values, spliced", spliced),
    ("list of raw values, written anew", written),
    ("map of raw values, written anew", mapped),
];

/// The members of an object in order, values as written.
struct Members<'a>(Vec<(Str<'a>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(16);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().find(|(key, _)| &**key == name);
        found.map(|(_, value)| *value)
    }
}

fn is_text(value: &RawValue) -> bool {
    serde_json::from_str::<Str<'_>>(value.get()).is_ok()
}

/// Finds the place of a value by its address within the body.
fn spliced(body: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let members: Members<'_> = serde_json::from_str(text).ok()?;
    let model = members.get("model").filter(|model| is_text(model))?.get();
    let start = model.as_ptr() as usize - text.as_ptr() as usize;
    let close = text.rfind('}')?;
    let mut out = String::with_capacity(text.len() + MODEL.len() + ADDED.len() + 32);
    out.push_str(&text[..start]);
    out.push_str(&serde_json::to_string(MODEL).ok()?);
    out.push_str(&text[start + model.len()..close]);
    out.push_str(",\"stream_options\":");
    out.push_str(ADDED);
    out.push_str(&text[close..]);
    Some(out.into_bytes())
}

fn written(body: &[u8]) -> Option<Vec<u8>> {
    let Members(mut members) = serde_json::from_slice(body).ok()?;
    let model = to_raw_value(MODEL).ok()?;
    let added: Box<RawValue> = serde_json::from_str(ADDED).ok()?;
    let place = members.iter_mut().find(|(key, _)| &**key == "model")?;
    if !is_text(place.1) {
        return None;
    }
    place.1 = &model;
    let mut out = Vec::with_capacity(body.len() + 128);
    let added = std::iter::once(("stream_options", &*added));
    let all = members.iter().map(|(key, value)| (&**key, *value));
    serde_json::Serializer::new(&mut out)
        .collect_map(all.chain(added))
        .ok()?;
    Some(out)
}

fn mapped(body: &[u8]) -> Option<Vec<u8>> {
    let mut members: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(body).ok()?;
    let model = to_raw_value(MODEL).ok()?;
    let added: Box<RawValue> = serde_json::from_str(ADDED).ok()?;
    members.get("model").filter(|model| is_text(model))?;
    members.insert("model".into(), &model);
    members.insert("stream_options".into(), &added);
    let mut out = Vec::with_capacity(body.len() + 128);
    serde_json::to_writer(&mut out, &members).ok()?;
    Some(out)
}

/// A body by name and size.
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) json: Vec<u8>,
}

/// The bodies in the files that the command line names; an error where a way gives another body than
/// ours.
pub(crate) fn bodies() -> Result<Vec<Body>, Box<dyn std::error::Error>> {
    let mut bodies = Vec::new();
    for path in std::env::args().skip(1) {
        let json = fs::read(&path)?;
        let stem = std::path::Path::new(&path).file_stem();
        let stem = stem.unwrap_or_default().to_string_lossy();
        let name = format!(
            "{}, {:.1} kB",
            stem.replace('-', " "),
            json.len() as f64 / 1e3
        );
        let expected: Value = serde_json::from_slice(&ours(&json).ok_or("not read")?)?;
        for (rival, way) in RIVALS {
            let changed: Value = serde_json::from_slice(&way(&json).ok_or("not read")?)?;
            if changed != expected {
                return Err(format!("{name}: {rival} gives another body").into());
            }
        }
        bodies.push(Body { name, json });
    }
    Ok(bodies)
}
