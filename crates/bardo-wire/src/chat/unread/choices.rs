//! Members of the tool choice and of the format that the neutral ones lack.

use serde_json::value::RawValue;

use crate::chat::request::decode::options::ResponseFormat;
use crate::chat::shapes::request::ChatBody;
use crate::json::{Members, Str, wire_object};

wire_object! {
    struct Choice<'a> {
        "type" => kind: Option<Str<'a>>,
        "function" => function: Option<Members<'a>>,
        "custom" => custom: Option<Members<'a>>,
        "allowed_tools" => allowed_tools: Option<AllowedTools<'a>>,
        "name" => name: Option<Str<'a>>,
    }

    struct AllowedTools<'a> {
        "mode" => mode: Option<Str<'a>>,
        "tools" => tools: Option<Vec<Choice<'a>>>,
    }
}

pub(super) fn holds_unread_members(body: &ChatBody<'_>) -> bool {
    body.tool_choice.is_some_and(in_choice)
        || body.response_format.is_some_and(in_format)
        || in_legacy_functions(body)
}

/// Functions of the old form are read where there are no tools, and their choice beside them.
fn in_legacy_functions(body: &ChatBody<'_>) -> bool {
    let has_tools = body.tools.iter().flatten().next().is_some();
    let has_functions = body.functions.is_some();
    let is_more = |choice: Members<'_>| !is_name_alone(&choice);
    has_tools && has_functions
        || body.function_call.is_some_and(|choice| {
            has_tools || !has_functions || serde_json::from_str(choice.get()).is_ok_and(is_more)
        })
}

fn in_choice(raw: &RawValue) -> bool {
    let Ok(choice) = serde_json::from_str::<Choice<'_>>(raw.get()) else {
        // One word.
        return false;
    };
    match &choice.allowed_tools {
        Some(allowed) => {
            let is_known = matches!(allowed.mode.as_deref(), None | Some("auto" | "required"));
            let mut named = allowed.tools.iter().flatten();
            !is_known
                || choice.kind.as_deref() != Some("allowed_tools")
                || !choice.extra.is_empty()
                || !allowed.extra.is_empty()
                || choice.function.is_some()
                || choice.custom.is_some()
                || choice.name.is_some()
                || named.any(|tool| !names_one_tool(tool))
        }
        // Without a name it is kept as written.
        None if choice.function.is_none() && choice.custom.is_none() && choice.name.is_none() => {
            false
        }
        None => !names_one_tool(&choice),
    }
}

/// Whether the choice is the name of one tool, in the form that its type has, and nothing more.
fn names_one_tool(choice: &Choice<'_>) -> bool {
    let is_of_form = match (&choice.function, &choice.custom, &choice.name) {
        (Some(named), None, None) => {
            choice.kind.as_deref() == Some("function") && is_name_alone(named)
        }
        (None, Some(named), None) => {
            choice.kind.as_deref() == Some("custom") && is_name_alone(named)
        }
        (None, None, Some(_)) => matches!(choice.kind.as_deref(), Some("function" | "custom")),
        _ => false,
    };
    is_of_form && choice.allowed_tools.is_none() && choice.extra.is_empty()
}

fn is_name_alone(named: &Members<'_>) -> bool {
    named.extra.iter().all(|(key, _)| &**key == "name")
}

/// A schema is read where the format is one. Formats of unknown types are kept as written.
fn in_format(raw: &RawValue) -> bool {
    let Ok(format) = serde_json::from_str::<ResponseFormat<'_>>(raw.get()) else {
        return false;
    };
    let holds_more = !format.extra.is_empty();
    match (format.kind.as_deref(), &format.json_schema) {
        (Some("text" | "json_object"), schema) => holds_more || schema.is_some(),
        (Some("json_schema"), Some(schema)) => holds_more || !schema.extra.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(members: &str) -> bool {
        let body = format!("{{{members}}}");
        holds_unread_members(&serde_json::from_str(&body).unwrap())
    }

    #[test]
    fn an_unread_member_of_a_choice_or_format_is_seen() {
        for members in [
            r#""tool_choice":{"type":"function","function":{"name":"f"},"zz":1}"#,
            r#""tool_choice":{"type":"function","function":{"name":"f","zz":1}}"#,
            r#""tool_choice":{"type":"custom","function":{"name":"f"}}"#,
            r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"zz":1}}"#,
            r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"other"}}"#,
            r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"type":"function","function":{"name":"f"},"zz":1}]}}"#,
            r#""response_format":{"type":"text","zz":1}"#,
            r#""response_format":{"type":"json_object","json_schema":{"name":"n"}}"#,
            r#""response_format":{"type":"json_schema","json_schema":{"name":"n","zz":1}}"#,
            r#""functions":[{"name":"f"}],"function_call":{"name":"f","zz":1}"#,
            r#""functions":[{"name":"f"}],"tools":[{"type":"function","function":{"name":"f"}}]"#,
            r#""function_call":"none""#,
        ] {
            assert!(with(members), "{members}");
        }
    }

    #[test]
    fn what_clients_send_is_read() {
        for members in [
            r#""tool_choice":"auto""#,
            r#""tool_choice":{"type":"function","function":{"name":"f"}}"#,
            r#""tool_choice":{"type":"function","name":"f"}"#,
            r#""tool_choice":{"type":"web_search","zz":1}"#,
            r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"custom","custom":{"name":"f"}}]}}"#,
            r#""response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"zz":1}}}"#,
            r#""response_format":{"type":"grammar","zz":1}"#,
            r#""functions":[{"name":"f","zz":1}],"function_call":{"name":"f"}"#,
        ] {
            assert!(!with(members), "{members}");
        }
    }
}
