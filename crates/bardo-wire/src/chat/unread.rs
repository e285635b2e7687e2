//! Members of a request that a relay sends on and its neutral form lacks.

mod choices;
mod parts;

use std::collections::{HashMap, HashSet};

use crate::chat::shapes::request::{
    ChatBody, WireMessage, WireReasoning, WireThinking, WireTool, WireToolCall,
};

/// Whether a body holds members that no slot was made for, or that another one takes the place of.
/// A relay sends them on; the neutral request does not know of them.
pub(in crate::chat) fn holds_unread_members(body: &ChatBody<'_>) -> bool {
    body.messages.iter().flatten().any(in_message)
        || names_another_tool(body)
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

/// Whether the result of a tool has a name that its call does not have. Results are paired by the
/// ids of their calls, and those of the old `function_call` by name.
fn names_another_tool(body: &ChatBody<'_>) -> bool {
    let all = || body.messages.iter().flatten();
    let is_result = |message: &&WireMessage<'_>| {
        message.name.is_some() && matches!(message.role.as_deref(), Some("tool" | "function"))
    };
    if !all().any(|message| is_result(&message)) {
        return false;
    }
    let (mut called, mut by_id) = (HashSet::new(), HashMap::new());
    for message in all() {
        let name = message.name.as_deref();
        let is_known = match message.role.as_deref() {
            Some("tool") => {
                let id = message.tool_call_id.as_deref();
                name.is_none() || id.and_then(|id| by_id.get(id).copied()) == name
            }
            Some("function") => name.is_none_or(|name| called.contains(name)),
            _ => true,
        };
        if !is_known {
            return true;
        }
        let old = message.function_call.as_ref();
        called.extend(old.and_then(|call| call.name.as_deref()));
        for call in message.tool_calls.iter().flatten() {
            let of_function = call.function.as_ref().and_then(|one| one.name.as_deref());
            let of_custom = call.custom.as_ref().and_then(|one| one.name.as_deref());
            if let (Some(id), Some(name)) = (call.id.as_deref(), of_function.or(of_custom)) {
                by_id.insert(id, name);
            }
        }
    }
    false
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
    fn the_name_of_a_result_is_read_where_its_call_has_it() {
        let holds = |messages: &str| {
            let body = format!(r#"{{"messages":[{messages}]}}"#);
            holds_unread_members(&serde_json::from_str(&body).unwrap())
        };
        let call = r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"#;
        let old = r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},"#;
        for (before, result, is_unread) in [
            (
                call,
                r#"{"role":"tool","tool_call_id":"c","content":"1"}"#,
                false,
            ),
            (
                call,
                r#"{"role":"tool","tool_call_id":"c","name":"f","content":"1"}"#,
                false,
            ),
            (
                call,
                r#"{"role":"tool","tool_call_id":"c","name":"g","content":"1"}"#,
                true,
            ),
            (
                call,
                r#"{"role":"tool","tool_call_id":"d","name":"f","content":"1"}"#,
                true,
            ),
            (
                old,
                r#"{"role":"function","name":"f","content":"1"}"#,
                false,
            ),
            (old, r#"{"role":"function","name":"g","content":"1"}"#, true),
            ("", r#"{"role":"function","name":"f","content":"1"}"#, true),
        ] {
            assert_eq!(holds(&format!("{before}{result}")), is_unread, "{result}");
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
