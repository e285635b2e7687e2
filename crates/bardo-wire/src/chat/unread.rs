//! Members of a request that a relay sends on and its neutral form lacks.

mod choices;
mod parts;

use crate::chat::shapes::request::{
    ChatBody, WireMessage, WireReasoning, WireThinking, WireTool, WireToolCall,
};

/// Whether a body holds members that no slot was made for, or that another one takes the place of.
/// A relay sends them on; the neutral request does not know of them.
pub(in crate::chat) fn holds_unread_members(body: &ChatBody<'_>) -> bool {
    body.messages.iter().flatten().any(in_message)
        || body.tools.iter().flatten().any(in_tool)
        || body.thinking.as_ref().is_some_and(in_thinking)
        || body.reasoning.as_ref().is_some_and(in_reasoning)
        || choices::holds_unread_members(body)
        || says_twice(body)
}

fn in_message(message: &WireMessage<'_>) -> bool {
    !message.extra.is_empty()
        || holds_slots_of_another_role(message)
        || message
            .function_call
            .as_ref()
            .is_some_and(|call| !call.extra.is_empty())
        || message.tool_calls.iter().flatten().any(in_call)
        || parts::in_content(message.content.as_ref())
        || message.audio.is_some_and(parts::in_sound_of_an_answer)
}

/// Each role reads its own members.
fn holds_slots_of_another_role(message: &WireMessage<'_>) -> bool {
    let role = message.role.as_deref();
    let of_a_model = message.function_call.is_some()
        || message.refusal.is_some()
        || message.audio.is_some()
        || message.reasoning_content.is_some()
        || message.reasoning.is_some()
        || message.thought_signature.is_some()
        || message.tool_calls.iter().flatten().next().is_some()
        || message.reasoning_details.iter().flatten().next().is_some();
    of_a_model && role != Some("assistant")
        || message.tool_call_id.is_some() && role != Some("tool")
}

fn in_call(call: &WireToolCall<'_>) -> bool {
    !call.extra.is_empty()
        || call.extra_content.is_some_and(parts::in_content_of_a_call)
        || call
            .function
            .as_ref()
            .is_some_and(|function| !function.extra.is_empty())
        || call
            .custom
            .as_ref()
            .is_some_and(|custom| !custom.extra.is_empty())
}

fn in_tool(tool: &WireTool<'_>) -> bool {
    let is_read = tool.function.is_some() || tool.custom.is_some();
    is_read && !tool.extra.is_empty()
        || tool
            .custom
            .as_ref()
            .is_some_and(|custom| !custom.extra.is_empty())
}

/// A type that is not known here is taken for thinking that is on.
fn in_thinking(thinking: &WireThinking<'_>) -> bool {
    let is_read = match thinking.kind.as_deref() {
        Some("enabled" | "adaptive") => true,
        Some("disabled" | "between_tools") => thinking.budget_tokens.is_none(),
        _ => false,
    };
    !is_read || !thinking.extra.is_empty()
}

fn in_reasoning(reasoning: &WireReasoning<'_>) -> bool {
    let is_off = reasoning.enabled == Some(false);
    !reasoning.extra.is_empty() || is_off && reasoning.max_tokens.is_some()
}

/// Whether two members say one thing, of which one is read.
fn says_twice(body: &ChatBody<'_>) -> bool {
    let reasoning = body.reasoning.as_ref();
    let limits = body.max_completion_tokens.zip(body.max_tokens);
    let of_effort =
        body.reasoning_effort.is_some() && reasoning.is_some_and(|own| own.effort.is_some());
    let of_mode = body.thinking.is_some()
        && reasoning.is_some_and(|own| own.enabled.is_some() || own.max_tokens.is_some());
    of_effort || of_mode || limits.is_some_and(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(message: &str, rest: &str) -> bool {
        let body = format!(r#"{{"messages":[{{"role":"user",{message}}}]{rest}}}"#);
        let wire: ChatBody<'_> = serde_json::from_str(&body).unwrap();
        holds_unread_members(&wire)
    }

    const PLAIN: &str = r#""content":"hi""#;

    #[test]
    fn an_unread_member_is_seen_wherever_it_stands() {
        assert!(!with(
            PLAIN,
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
                PLAIN,
                r#","tools":[{"type":"function","function":{"name":"f"},"zz":1}]"#,
            ),
            (
                PLAIN,
                r#","tools":[{"type":"custom","custom":{"name":"f","zz":1}}]"#,
            ),
            (PLAIN, r#","reasoning":{"zz":1}"#),
            (PLAIN, r#","thinking":{"type":"enabled","zz":1}"#),
            (PLAIN, r#","thinking":{"type":"other","budget_tokens":9}"#),
            (
                PLAIN,
                r#","thinking":{"type":"disabled","budget_tokens":9}"#,
            ),
            (PLAIN, r#","reasoning":{"enabled":false,"max_tokens":9}"#),
            (
                PLAIN,
                r#","reasoning":{"effort":"low"},"reasoning_effort":"high""#,
            ),
            (
                PLAIN,
                r#","reasoning":{"max_tokens":9},"thinking":{"type":"enabled"}"#,
            ),
            (PLAIN, r#","max_tokens":9,"max_completion_tokens":8"#),
            (r#""content":"hi","refusal":"no""#, ""),
            (r#""content":"hi","tool_call_id":"t""#, ""),
        ] {
            assert!(with(message, rest), "{message} {rest}");
        }
    }

    #[test]
    fn what_clients_send_is_read() {
        for (message, rest) in [
            (
                r#""content":"hi","refusal":null,"tool_calls":[],"name":"n""#,
                "",
            ),
            (PLAIN, r#","thinking":{"type":"enabled","budget_tokens":9}"#),
            (PLAIN, r#","reasoning":{"effort":"low","exclude":true}"#),
            (PLAIN, r#","max_tokens":9,"max_completion_tokens":9"#),
        ] {
            assert!(!with(message, rest), "{message} {rest}");
        }
    }
}
