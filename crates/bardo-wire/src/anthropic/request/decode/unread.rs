//! Members of a request that a relay sends on and its neutral form lacks.

use super::{RequestMessage, RequestWire, ThinkingWire, ToolChoiceWire};
use crate::anthropic::shapes::unread::content_holds_more;
use crate::json::Members;

/// Whether a body holds members below the top level that no slot was made for.
pub(super) fn holds_unread_members(body: &RequestWire<'_>) -> bool {
    content_holds_more(body.system.as_ref())
        || body.messages.iter().flatten().any(in_message)
        || body.thinking.as_ref().is_some_and(in_thinking)
        || body.tool_choice.as_ref().is_some_and(in_tool_choice)
        || in_output_format(body)
}

fn in_message(message: &RequestMessage<'_>) -> bool {
    !message.extra.is_empty() || content_holds_more(message.content.as_ref())
}

/// A budget is read where it is one of thinking that is on.
fn in_thinking(thinking: &ThinkingWire<'_>) -> bool {
    thinking.budget_tokens.is_some() && thinking.kind.as_deref() != Some("enabled")
}

fn in_tool_choice(choice: &ToolChoiceWire<'_>) -> bool {
    choice.name.is_some() && choice.kind.as_deref() != Some("tool")
}

/// Of a schema's two places one is read, and of its members `schema`. Formats of other types are
/// kept as written.
fn in_output_format(body: &RequestWire<'_>) -> bool {
    let config = body.output_config.as_ref();
    let current = config.and_then(|config| config.format.as_ref());
    let earlier = body.output_format.as_ref();
    let is_schema = |format: &Members<'_>| {
        let kind = format.get("type");
        kind.is_some_and(|kind| kind.get() == r#""json_schema""#)
    };
    let in_format = |format: &&Members<'_>| {
        let is_read = |name: &str| matches!(name, "type" | "schema");
        is_schema(format) && !format.extra.iter().all(|(name, _)| is_read(name))
    };
    current.is_some() && earlier.is_some() || current.or(earlier).as_ref().is_some_and(in_format)
}

#[cfg(test)]
mod tests {
    use crate::anthropic::read_request;

    #[track_caller]
    fn holds(content: &str, rest: &str) -> bool {
        let body = format!(
            r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{content}]}}]{rest}}}"#
        );
        read_request(body.as_bytes()).unwrap().holds_unread_members
    }

    #[test]
    fn an_unread_member_is_seen_wherever_it_stands() {
        let image = |members: &str| format!(r#"{{"type":"image",{members}}}"#);
        let data = r#""source":{"type":"base64","media_type":"image/png","data":"aQ==""#;
        for content in [
            r#"{"type":"text","text":"a","zz":1}"#.to_owned(),
            r#"{"zz":1,"type":"text","text":"a"}"#.to_owned(),
            r#"{"type":"thinking","thinking":"a","signature":"s","zz":1}"#.to_owned(),
            r#"{"type":"redacted_thinking","data":"a","zz":1}"#.to_owned(),
            image(&format!(r#"{data}}},"detail":"low""#)),
            image(&format!(r#"{data},"zz":1}}"#)),
            image(&format!(r#"{data},"url":"https://a.example"}}"#)),
            r#"{"type":"document","source":{"type":"text","data":"a","media_type":"text/html"}}"#.to_owned(),
            r#"{"type":"document","source":{"type":"text","data":"a"},"citations":{"enabled":true,"zz":1}}"#.to_owned(),
            r#"{"type":"document","source":{"type":"content","content":[{"type":"text","text":"a","zz":1}]}}"#.to_owned(),
            r#"{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"a","zz":1}]}"#.to_owned(),
            r#"{"type":"search_result","source":"s","title":"t","content":[{"type":"note"}]}"#.to_owned(),
            r#"{"type":"tool_result","tool_use_id":"t","zz":1}"#.to_owned(),
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a","zz":1}]}"#.to_owned(),
        ] {
            assert!(holds(&content, ""), "{content}");
        }
        for rest in [
            r#","system":[{"type":"text","text":"a","zz":1}]"#,
            r#","thinking":{"type":"adaptive","budget_tokens":1024}"#,
            r#","tool_choice":{"type":"auto","name":"f"}"#,
            r#","output_config":{"format":{"type":"json_schema","schema":{},"name":"n"}}"#,
            r#","output_config":{"format":{"type":"json_schema","schema":{}}},"output_format":{"type":"json_schema","schema":{}}"#,
        ] {
            assert!(holds(r#"{"type":"text","text":"a"}"#, rest), "{rest}");
        }
    }

    #[test]
    fn what_clients_send_is_read() {
        for content in [
            r#"{"type":"text","text":"a","citations":null,"cache_control":{"type":"ephemeral"}}"#,
            r#"{"type":"text","text":"a","parsed_output":null}"#,
            r#"{"type":"thinking","thinking":"a","signature":"s","cache_control":null}"#,
            r#"{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"direct"}}"#,
            r#"{"type":"tool_result","tool_use_id":"t","is_error":false,"content":[{"type":"text","text":"a"}]}"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aQ=="}}"#,
            r#"{"type":"document","title":"t","context":"c","citations":{"enabled":true},"source":{"type":"text","media_type":"text/plain","data":"a"}}"#,
            r#"{"type":"document","source":{"type":"file","file_id":"f"}}"#,
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{},"zz":1}"#,
        ] {
            assert!(!holds(content, ""), "{content}");
        }
        for rest in [
            r#","thinking":{"type":"enabled","budget_tokens":1024,"zz":1}"#,
            r#","tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":true}"#,
            r#","output_config":{"effort":"high","format":{"type":"json_schema","schema":{}}}"#,
            r#","output_format":{"type":"json_schema","schema":{}}"#,
        ] {
            assert!(!holds(r#"{"type":"text","text":"a"}"#, rest), "{rest}");
        }
    }
}
