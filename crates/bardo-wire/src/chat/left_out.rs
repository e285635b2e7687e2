//! Members of messages and tools that a request loses when it is written anew in its own dialect.

use bardo_types::{Degradation, Losses};
use serde_json::value::RawValue;

use crate::chat::shapes::request::{
    ChatBody, WireMessage, WirePart, WireReasoning, WireThinking, WireTool, WireToolCall,
};
use crate::json::{Str, wire_object};
use crate::kit::text_or_list::TextOrList;

/// What clients hand back of an answer, and no provider reads.
const ECHOED: [&str; 3] = ["annotations", "parsed", "provider_specific_fields"];

wire_object! {
    struct Lists<'a> {
        "messages" => messages: Option<Vec<WireMessage<'a>>>,
        "tools" => tools: Option<Vec<WireTool<'a>>>,
    }
}

/// Whether a body holds members below the top level that no slot was made for. A relay sends them
/// on; the neutral request does not know of them.
pub(in crate::chat) fn holds_unread_members(body: &ChatBody<'_>) -> bool {
    let in_call = |call: &WireToolCall<'_>| {
        !call.extra.is_empty()
            || call
                .function
                .as_ref()
                .is_some_and(|function| !function.extra.is_empty())
            || call
                .custom
                .as_ref()
                .is_some_and(|custom| !custom.extra.is_empty())
    };
    let in_part = |part: &WirePart<'_>| !part.extra.is_empty();
    let in_message = |message: &WireMessage<'_>| {
        let parts = match &message.content {
            Some(TextOrList::List(parts)) => parts.as_slice(),
            Some(TextOrList::Text(_)) | None => &[],
        };
        !message.extra.is_empty()
            || message
                .function_call
                .as_ref()
                .is_some_and(|call| !call.extra.is_empty())
            || message.tool_calls.iter().flatten().any(in_call)
            || parts.iter().any(in_part)
    };
    let in_tool = |tool: &WireTool<'_>| {
        let is_read = tool.function.is_some() || tool.custom.is_some();
        is_read && !tool.extra.is_empty()
            || tool
                .custom
                .as_ref()
                .is_some_and(|custom| !custom.extra.is_empty())
    };
    let in_reasoning = |reasoning: &WireReasoning<'_>| !reasoning.extra.is_empty();
    let in_thinking = |thinking: &WireThinking<'_>| !thinking.extra.is_empty();
    body.messages.iter().flatten().any(in_message)
        || body.tools.iter().flatten().any(in_tool)
        || body.reasoning.as_ref().is_some_and(in_reasoning)
        || body.thinking.as_ref().is_some_and(in_thinking)
}

/// The members of messages and tools that have no slot of their own and stay behind.
#[must_use]
pub fn members_left_out(body: &[u8]) -> Vec<Degradation> {
    let mut lost = Losses::default();
    let lists: Lists<'_> = serde_json::from_slice(body).unwrap_or_default();
    let message = "only known members of a message are translated";
    for wire in lists.messages.iter().flatten() {
        note(&wire.extra, message, &mut lost);
    }
    let tool = "only known members of a tool are translated";
    for wire in lists.tools.iter().flatten() {
        if wire.function.is_some() || wire.custom.is_some() {
            note(&wire.extra, tool, &mut lost);
        }
    }
    lost.into_list()
}

fn note(members: &[(Str<'_>, &RawValue)], detail: &'static str, lost: &mut Losses) {
    for (name, value) in members {
        let says_nothing = matches!(value.get(), "null" | "false" | "[]" | "{}" | "\"\"");
        if !says_nothing && !ECHOED.contains(&&**name) {
            lost.lose_field(name, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unread_member_is_seen_wherever_it_stands() {
        let with = |message: &str, rest: &str| {
            let body = format!(r#"{{"messages":[{{"role":"user",{message}}}]{rest}}}"#);
            let wire: ChatBody<'_> = serde_json::from_str(&body).unwrap();
            holds_unread_members(&wire)
        };
        let plain = r#""content":"hi""#;
        assert!(!with(
            plain,
            r#","tools":[{"type":"function","function":{"name":"f","zz":1}}]"#
        ));
        assert!(!with(r#""content":[{"type":"text","text":"hi"}]"#, ""));
        for (message, rest) in [
            (r#""content":"hi","prefix":true"#, ""),
            (r#""content":[{"type":"text","text":"hi","zz":1}]"#, ""),
            (
                r#""tool_calls":[{"id":"a","zz":1,"function":{"name":"f"}}]"#,
                "",
            ),
            (
                r#""tool_calls":[{"id":"a","function":{"name":"f","zz":1}}]"#,
                "",
            ),
            (
                plain,
                r#","tools":[{"type":"function","function":{"name":"f"},"zz":1}]"#,
            ),
            (
                plain,
                r#","tools":[{"type":"custom","custom":{"name":"f","zz":1}}]"#,
            ),
            (plain, r#","reasoning":{"zz":1}"#),
            (plain, r#","thinking":{"zz":1}"#),
        ] {
            assert!(with(message, rest), "{message} {rest}");
        }
    }

    #[test]
    fn members_that_stay_behind_are_named_once_and_empty_ones_are_not() {
        let body = br#"{"messages":[
            {"role":"user","content":"hi","mood":"good","weight":null},
            {"role":"assistant","content":"x","mood":"bad","annotations":[{"type":"url_citation"}],"images":[]}],
            "tools":[{"type":"function","function":{"name":"f"},"defer_loading":true},
                     {"type":"web_search","filters":{}}]}"#;
        let lost = members_left_out(body);
        let names: Vec<&str> = lost.iter().map(|lost| &*lost.feature).collect();
        assert_eq!(names, ["mood", "defer_loading"]);
        assert!(members_left_out(b"[").is_empty());
    }
}
