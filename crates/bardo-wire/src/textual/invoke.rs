//! Calls as older models of Anthropic write them: `<invoke>` with parameters as tagged text, typed
//! by the tool's schema.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::xml::{Arguments, Declared, one_line_break_less, typed, words_of};
use crate::json::Members;

pub(super) const INVOKE: &str = "<invoke";
pub(super) const INVOKE_END: &str = "</invoke>";
pub(super) const PARAMETER: &str = "<parameter name=";
pub(super) const PARAMETER_END: &str = "</parameter>";
/// The oldest form has the name in a tag of its own, and tags named after the parameters.
pub(super) const PARAMETERS: &str = "<parameters>";
pub(super) const PARAMETERS_END: &str = "</parameters>";

/// The name and the arguments of a call, from `<invoke` up to its end. Nothing may stand in it that
/// is not understood; of a call that was cut, what stands there is taken.
pub(super) fn read_call(text: &str, tools: &Declared<'_>, cut: bool) -> Option<(String, String)> {
    let (head, body) = text.strip_prefix(INVOKE)?.split_once('>')?;
    if head.trim().is_empty() {
        return read_oldest(body.trim(), tools, cut);
    }
    let name = attribute(
        head.strip_prefix([' ', '\n', '\t'])?
            .trim()
            .strip_prefix("name=")?,
    )?;
    let inner = body.trim();
    if inner.starts_with(['{', '"']) {
        return Some((name, whole_arguments(inner)?));
    }
    let schema = tools.schema(&name);
    let mut arguments = Arguments::default();
    let mut rest = inner;
    while !rest.is_empty() {
        let Some((head, after)) = rest
            .strip_prefix(PARAMETER)
            .and_then(|rest| rest.split_once('>'))
        else {
            return cut.then(|| (name, arguments.written()));
        };
        let key = attribute(head)?;
        let (value, after) = match after.split_once(PARAMETER_END) {
            Some(parts) => parts,
            None if cut => (after, ""),
            None => return None,
        };
        arguments.set(&key, typed(one_line_break_less(value), &key, schema));
        rest = after.trim_start();
    }
    Some((name, arguments.written()))
}

/// Reads the oldest form, `<tool_name>f</tool_name><parameters><city>Bern</city></parameters>`.
fn read_oldest(body: &str, tools: &Declared<'_>, cut: bool) -> Option<(String, String)> {
    let (name, rest) = body
        .strip_prefix("<tool_name>")?
        .split_once("</tool_name>")?;
    let name = name.trim();
    if name.is_empty() || name.contains(['\n', '<']) {
        return None;
    }
    let schema = tools.schema(name);
    let mut arguments = Arguments::default();
    let done = |arguments: &Arguments| Some((name.to_owned(), arguments.written()));
    let rest = rest.trim();
    if rest.is_empty() {
        return done(&arguments);
    }
    let Some(inner) = rest.strip_prefix(PARAMETERS) else {
        return if cut { done(&arguments) } else { None };
    };
    let mut inner = match inner.strip_suffix(PARAMETERS_END) {
        Some(inner) => inner.trim(),
        None if cut => inner.trim(),
        None => return None,
    };
    while !inner.is_empty() {
        let Some((key, after)) = inner
            .strip_prefix('<')
            .and_then(|rest| rest.split_once('>'))
        else {
            return if cut { done(&arguments) } else { None };
        };
        if key.is_empty() || key.contains(['<', '/', '\n', ' ']) {
            return None;
        }
        let (value, after) = match after.split_once(&format!("</{key}>")) {
            Some(parts) => parts,
            None if cut => (after, ""),
            None => return None,
        };
        arguments.set(key, typed(one_line_break_less(value), key, schema));
        inner = after.trim_start();
    }
    done(&arguments)
}

/// A quoted value with its entities resolved.
fn attribute(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .or_else(|| {
            text.strip_prefix('\'')
                .and_then(|text| text.strip_suffix('\''))
        })?;
    if inner.is_empty() || inner.contains('\n') {
        return None;
    }
    Some(
        inner
            .replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&"),
    )
}

fn quoted(name: &str) -> String {
    let escaped = name
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("\"{escaped}\"")
}

/// All arguments as one JSON object, or as a string that stands for text that is none.
fn whole_arguments(json: &str) -> Option<String> {
    match serde_json::from_str::<&RawValue>(json).ok()?.get() {
        object if object.starts_with('{') => Some(object.to_owned()),
        string => serde_json::from_str(string).ok(),
    }
}

/// The call in this notation. Where tags within values, or values that no schema gives their type,
/// would not survive, all arguments are one JSON object without a single tag in it.
pub(super) fn write_call(name: &str, arguments: &str, tools: &Declared<'_>) -> String {
    let mut text = format!("{INVOKE} name={}>\n", quoted(name));
    if let Some(parameters) = parameters(name, arguments, tools) {
        text.push_str(&parameters);
    } else {
        text.push_str(&arguments.replace('<', "\\u003c"));
        text.push('\n');
    }
    text.push_str(INVOKE_END);
    text
}

fn parameters(name: &str, arguments: &str, tools: &Declared<'_>) -> Option<String> {
    let members = serde_json::from_str::<Members<'_>>(arguments).ok()?.extra;
    let schema = tools.schema(name);
    let mut text = String::new();
    for (key, value) in &members {
        let words: Cow<'_, str> = words_of(value);
        let read = typed(&words, key, schema);
        let is_string = |json: &str| json.starts_with('"');
        let survives = is_string(&read) == is_string(value.get())
            && (is_string(&read) || read == value.get())
            && !words.contains(PARAMETER_END)
            && !key.is_empty()
            && !key.contains('\n');
        if !survives {
            return None;
        }
        text.push_str(&format!(
            "{PARAMETER}{}>\n{words}\n{PARAMETER_END}\n",
            quoted(key)
        ));
    }
    Some(text)
}
