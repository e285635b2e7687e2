//! A body that holds the caller's settings and next to nothing else.

use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use super::PROMPT;
use crate::json::{NameOnly, Str, TopLevel, wire_object, write_text};

/// Stands for the caller's tools where none of them is named.
const PLACEHOLDER: &str = "tool";

wire_object! {
    /// A tool of any dialect, as far as a choice among tools looks at it.
    struct AnyTool<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "function" => function: Option<NameOnly<'a>>,
        "custom" => custom: Option<NameOnly<'a>>,
    }
}

/// Whether the caller's choice among tools names some of them.
pub(super) fn names_tools(top: &TopLevel<'_>) -> bool {
    let is_object = |key: &str| top.get(key).is_some_and(|value| value.starts_with('{'));
    is_object("tool_choice") || is_object("function_call")
}

/// The caller's settings as a whole request; `None` for a dialect that is never relayed, and for
/// tools that cannot be read.
pub(super) fn settings_only(dialect: Dialect, top: &TopLevel<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(match dialect {
        Dialect::Chat | Dialect::Anthropic => br#"{"messages":[{"role":"user","content":"hi"}]"#,
        Dialect::Responses => br#"{"input":"hi""#.as_slice(),
        Dialect::Gemini | Dialect::Completions => return None,
    });
    for member in top.members() {
        let key = top.key(member);
        if PROMPT.contains(&&*key) {
            continue;
        }
        out.push(b',');
        out.extend_from_slice(&top.bytes()[member.key.clone()]);
        out.push(b':');
        out.extend_from_slice(&top.bytes()[member.value.clone()]);
    }
    for key in ["tools", "functions"] {
        if let Some(list) = top.get(key).filter(|list| is_filled(list)) {
            out.extend_from_slice(format!(",\"{key}\":").as_bytes());
            if names_tools(top) {
                named(dialect, key, list, &mut out)?;
            } else {
                out.push(b'[');
                let kind = if key == "functions" {
                    ToolForm::Bare
                } else {
                    ToolForm::of(dialect, None)
                };
                kind.write(PLACEHOLDER, &mut out);
                out.push(b']');
            }
        }
    }
    out.push(b'}');
    Some(out)
}

fn is_filled(list: &str) -> bool {
    list.strip_prefix('[')
        .is_some_and(|rest| !rest.trim_start().starts_with(']'))
}

/// How a tool without anything but its name is written.
enum ToolForm<'a> {
    /// `{"type":"function","function":{"name":…}}`, by its type.
    Nested(&'a str),
    /// A flat object, `{"type":…,"name":…}`.
    Typed(&'a str),
    /// An object with a schema, `{"name":…,"input_schema":{}}`.
    Schema,
    /// The name alone, `{"name":…}`.
    Bare,
}

impl<'a> ToolForm<'a> {
    fn of(dialect: Dialect, kind: Option<&'a str>) -> Self {
        match (dialect, kind) {
            (Dialect::Chat, None) => Self::Nested("function"),
            (Dialect::Chat, Some(kind @ ("function" | "custom"))) => Self::Nested(kind),
            (Dialect::Anthropic, None | Some("custom")) => Self::Schema,
            (_, None) => Self::Typed("function"),
            (_, Some(kind)) => Self::Typed(kind),
        }
    }

    fn write(&self, name: &str, out: &mut Vec<u8>) {
        out.push(b'{');
        match self {
            Self::Nested(kind) => {
                out.extend_from_slice(format!("\"type\":\"{kind}\",\"{kind}\":{{").as_bytes());
            }
            Self::Typed(kind) => {
                out.extend_from_slice(b"\"type\":");
                write_text(out, kind);
                out.push(b',');
            }
            Self::Schema => out.extend_from_slice(b"\"input_schema\":{},"),
            Self::Bare => {}
        }
        out.extend_from_slice(b"\"name\":");
        write_text(out, name);
        out.push(b'}');
        if matches!(self, Self::Nested(_)) {
            out.push(b'}');
        }
    }
}

/// The caller's tools by their names alone.
fn named(dialect: Dialect, key: &str, list: &str, out: &mut Vec<u8>) -> Option<()> {
    let tools: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    out.push(b'[');
    let mut first = true;
    for raw in tools {
        let tool: AnyTool<'_> = serde_json::from_str(raw.get()).ok()?;
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        let nested = tool.function.or(tool.custom).and_then(|named| named.name);
        let Some(name) = tool.name.or(nested) else {
            // A tool of the provider's own goes by its type.
            out.extend_from_slice(raw.get().as_bytes());
            continue;
        };
        if tool.kind.as_deref() == Some("namespace") {
            out.extend_from_slice(raw.get().as_bytes());
        } else if key == "functions" {
            ToolForm::Bare.write(&name, out);
        } else {
            ToolForm::of(dialect, tool.kind.as_deref()).write(&name, out);
        }
    }
    out.push(b']');
    Some(())
}
