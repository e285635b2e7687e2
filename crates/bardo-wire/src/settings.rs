//! Changes of settings as edits of a relayed body.
//!
//! Where caller and backend speak the same dialect, a changed temperature or effort is no reason
//! to write the whole conversation anew. The settings alone are decoded, changed and encoded; the
//! members in which the two encodings differ become [`Edit`]s, and every other byte stays as the
//! caller wrote it.

mod fields;
mod small;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::codec::{BadRequest, Target};
use crate::json::{Str, TopLevel, scan, wire_object, write_text};
use crate::splice::Edit;
use crate::table;
use fields::{Path, member_name, touched};

/// The [`BadRequest::code`] of a change that cannot be made by edits: the request has to be
/// translated instead, and its caller did nothing wrong.
pub const TRANSLATE: &str = "translate";

/// Members that hold what is asked rather than how. No edit is ever made of them.
const PROMPT: [&str; 8] = [
    "messages",
    "system",
    "instructions",
    "input",
    "prompt",
    "tools",
    "functions",
    "bardo",
];

/// Objects that hold more than settings: what is left in them stays when a setting goes.
const SHARED: [&str; 1] = ["chat_template_kwargs"];

/// Changed settings as edits, and what the target cannot carry of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// The edits, each member at most once.
    pub edits: Vec<Edit>,
    /// Losses that the change brought; those that were there before it are not repeated.
    pub degraded: Vec<Degradation>,
}

/// The edits of [`settings_change`] alone.
///
/// # Errors
/// As there.
pub fn settings_edits(
    dialect: Dialect,
    top: &TopLevel<'_>,
    target: &Target,
    change: impl FnOnce(&mut ChatRequest),
) -> Result<Vec<Edit>, BadRequest> {
    settings_change(dialect, top, target, change).map(|changed| changed.edits)
}

/// Finds the edits that make `change` happen to a body which is otherwise relayed.
///
/// `change` sees the caller's settings with one word in place of the conversation and one tool in
/// place of the tools. What it does not touch is not edited, even where the encoder would have
/// written it differently; what it touches is written as the target takes it, and taken out where
/// the target does not take it at all.
///
/// # Errors
/// With the code [`TRANSLATE`] when the change cannot be made without touching the conversation or
/// the tools; otherwise when a setting is wrong in itself, as the decoder tells it.
pub fn settings_change(
    dialect: Dialect,
    top: &TopLevel<'_>,
    target: &Target,
    change: impl FnOnce(&mut ChatRequest),
) -> Result<SettingsChange, BadRequest> {
    let small = small::settings_only(dialect, top).ok_or_else(|| translate(""))?;
    let before = table::decode_request(dialect, &small)?;
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(SettingsChange::default());
    }
    refuse_more_than_settings(top, &before, &after)?;
    let paths = touched(dialect, &before, &after);
    forget_spellings(&paths, &before, &mut after);
    let was = table::encode_request(dialect, &before, target)?;
    let is = table::encode_request(dialect, &after, target)?;
    let mut degraded = is.degraded;
    degraded.retain(|lost| !was.degraded.contains(lost));
    let unreadable = |_| translate("");
    let difference = Difference {
        caller: top,
        was: Encoding::of(scan(&was.body).map_err(unreadable)?),
        is: Encoding::of(scan(&is.body).map_err(unreadable)?),
        paths: &paths,
    };
    Ok(SettingsChange {
        edits: difference.edits()?,
        degraded,
    })
}

fn translate(param: &str) -> BadRequest {
    BadRequest::new(param, "the client's dialect cannot express this change").with_code(TRANSLATE)
}

fn refuse_more_than_settings(
    top: &TopLevel<'_>,
    before: &ChatRequest,
    after: &ChatRequest,
) -> Result<(), BadRequest> {
    if after.messages != before.messages {
        return Err(translate("messages"));
    }
    if after.tools != before.tools {
        return Err(translate("tools"));
    }
    let rechosen = after.tool_choice != before.tool_choice;
    let names_tools = matches!(
        after.tool_choice,
        Some(ToolChoice::Named(_) | ToolChoice::Allowed { .. })
    );
    // Of which kind a newly named tool is was not looked at.
    if rechosen && names_tools && !small::names_tools(top) {
        return Err(translate("tool_choice"));
    }
    let legacy = top.member("functions").is_some();
    let one_by_one = after.parallel_tool_calls != before.parallel_tool_calls;
    if legacy && (rechosen || one_by_one) {
        return Err(translate("functions"));
    }
    Ok(())
}

/// Drops what the caller wrote in words that no slot knows, where the slot was changed: it would
/// win over the change, or come twice.
fn forget_spellings(paths: &[Path], before: &ChatRequest, after: &mut ChatRequest) {
    // Its rest is other entries of the same list, not another spelling.
    let forgets = |path: &&Path| path.of_slot && path.key != "include";
    for path in paths.iter().filter(forgets) {
        let dotted = path
            .within
            .as_ref()
            .map(|name| format!("{}.{name}", path.key));
        let name: &str = dotted.as_deref().unwrap_or(&path.key);
        let old = |entry: &(String, RawJson)| before.extra.contains(entry);
        after.extra.retain(|entry| entry.0 != name || !old(entry));
        let Some(within) = &path.within else { continue };
        for entry in &mut after.extra {
            if entry.0 == path.key && old(entry) {
                let mut members = MemberList::of(entry.1.as_str());
                members.remove(within);
                if let Ok(rest) = RawJson::parse(members.written()) {
                    entry.1 = rest;
                }
            }
        }
    }
}

/// Two encodings beside what the caller wrote.
struct Difference<'a> {
    caller: &'a TopLevel<'a>,
    was: Encoding<'a>,
    is: Encoding<'a>,
    paths: &'a [Path],
}

/// The members of an encoded body, and their values by name.
struct Encoding<'a> {
    keys: Vec<String>,
    values: HashMap<String, &'a str>,
}

impl<'a> Encoding<'a> {
    fn of(body: TopLevel<'a>) -> Self {
        let mut encoding = Self {
            keys: Vec::new(),
            values: HashMap::new(),
        };
        for member in body.members() {
            let key = body.key(member).into_owned();
            let value = &body.bytes()[member.value.clone()];
            encoding
                .values
                .insert(key.clone(), std::str::from_utf8(value).unwrap_or_default());
            encoding.keys.push(key);
        }
        encoding
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).copied()
    }
}

impl Difference<'_> {
    fn edits(&self) -> Result<Vec<Edit>, BadRequest> {
        let mut edits = Vec::new();
        let touched: HashSet<&str> = self.paths.iter().map(|path| &*path.key).collect();
        for key in self.keys() {
            let (was, is) = (self.was.get(&key), self.is.get(&key));
            if was == is && !touched.contains(&*key) {
                continue;
            }
            if PROMPT.contains(&&*key) {
                return Err(translate(&key));
            }
            let written = self.caller.get(&key).filter(|value| *value != "null");
            let new = self.value(&key, written);
            if new.as_deref() == written {
                continue;
            }
            let key = member_name(&key).ok_or_else(|| translate(&key))?;
            edits.push(match new {
                Some(value) => Edit::set(key, value),
                None => Edit::Remove { key },
            });
        }
        Ok(edits)
    }

    /// All members that may have changed, each once.
    fn keys(&self) -> Vec<Cow<'_, str>> {
        let mut keys: Vec<Cow<'_, str>> = Vec::new();
        let mut known = HashSet::new();
        let encoded = [&self.was, &self.is]
            .into_iter()
            .flat_map(|body| body.keys.iter().map(|key| Cow::Borrowed(key.as_str())));
        let named = self.paths.iter().map(|path| Cow::Borrowed(&*path.key));
        for key in encoded.chain(named) {
            if known.insert(key.clone()) {
                keys.push(key);
            }
        }
        keys
    }

    /// What the member becomes: within an object only what changed, so that members of it which
    /// nobody here knows survive.
    fn value(&self, key: &str, written: Option<&str>) -> Option<String> {
        let (was, is) = (self.was.get(key), self.is.get(key));
        let touched: Vec<_> = self.paths.iter().filter(|path| path.key == key).collect();
        let is_object = |value: &str| value.starts_with('{');
        let is_shared = SHARED.contains(&key);
        let whole = touched.iter().any(|path| path.within.is_none())
            || !written.is_some_and(is_object)
            || was.into_iter().chain(is).any(|value| !is_object(value))
            || is.is_none() && !is_shared;
        if whole {
            return is.map(str::to_owned);
        }
        let written = written.unwrap_or("{}");
        let mut members = MemberList::of(written);
        let was = MemberList::of(was.unwrap_or("{}"));
        let is = MemberList::of(is.unwrap_or("{}"));
        let encoded = was.members().chain(is.members()).map(|(name, _)| name);
        // What the encoder leaves out of a shared object may be nothing that it knows.
        let changed = encoded.filter(|name| !is_shared && was.get(name) != is.get(name));
        let named = touched.iter().filter_map(|path| path.within.as_deref());
        let mut is_moved = false;
        for name in changed.chain(named) {
            is_moved |= members.get(name) != is.get(name);
            members.put(name, is.get(name));
        }
        // Where nothing moved, the caller's own spelling stays.
        match (is_moved, members.members().next().is_none()) {
            (false, _) => Some(written.to_owned()),
            (true, true) => None,
            (true, false) => Some(members.written()),
        }
    }
}

/// The members of an object as written, in order.
struct MemberList {
    /// Those that were taken out have no value.
    list: Vec<(String, Option<String>)>,
    places: HashMap<String, usize>,
    /// Some name comes twice.
    has_twins: bool,
}

impl MemberList {
    fn of(json: &str) -> Self {
        wire_object! {
            struct Any<'a> {}
        }
        let any: Any<'_> = serde_json::from_str(json).unwrap_or_default();
        let owned =
            |(name, raw): (Str<'_>, &RawValue)| (name.into_string(), Some(raw.get().to_owned()));
        let list: Vec<_> = any.extra.into_iter().map(owned).collect();
        let mut places = HashMap::new();
        for (place, (name, _)) in list.iter().enumerate() {
            places.entry(name.clone()).or_insert(place);
        }
        Self {
            has_twins: places.len() < list.len(),
            list,
            places,
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.list[*self.places.get(name)?].1.as_deref()
    }

    fn remove(&mut self, name: &str) {
        if let Some(place) = self.places.remove(name) {
            self.list[place].1 = None;
            if self.has_twins {
                let twins = self.list.iter_mut().filter(|(known, _)| known == name);
                twins.for_each(|(_, value)| *value = None);
            }
        }
    }

    fn put(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value else {
            return self.remove(name);
        };
        if let Some(&place) = self.places.get(name) {
            self.list[place].1 = Some(value.to_owned());
        } else {
            self.places.insert(name.to_owned(), self.list.len());
            self.list.push((name.to_owned(), Some(value.to_owned())));
        }
    }

    fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    fn written(&self) -> String {
        let mut out = vec![b'{'];
        for (index, (name, value)) in self.members().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_text(&mut out, name);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.push(b'}');
        String::from_utf8(out).expect("members of JSON text are text")
    }
}

#[cfg(test)]
mod tests;
