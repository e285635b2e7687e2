//! Which dialect a body on `/v1/completions` is in.

use std::sync::LazyLock;

use bardo_types::model::{Dialect, Service};
use memchr::memmem::Finder;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::envelope;
use crate::json::{Str, TopLevel};
use crate::quirks::Quirks;

/// Tells the dialect of a body that came without a telling path: `prompt` means legacy
/// completions; a version header, a top-level `system`, tool blocks or tools with `input_schema`
/// mean Anthropic; everything else is Chat Completions.
#[must_use]
pub fn detect_completions_body(top: &TopLevel<'_>, anthropic_version: bool) -> Dialect {
    if top.get("prompt").is_some_and(|prompt| prompt != "null") {
        return Dialect::Completions;
    }
    let anthropic = anthropic_version
        || top.get("system").is_some_and(|system| system != "null")
        || top.get("tools").is_some_and(has_input_schema)
        || top.get("messages").is_some_and(has_tool_blocks);
    if anthropic {
        Dialect::Anthropic
    } else {
        Dialect::Chat
    }
}

static REASONING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"reasoning_"));

/// Whether a body's history seems to hold thinking in members that `service` does not know, or an
/// envelope, which only `reasoning_details` hold.
#[must_use]
pub fn holds_foreign_thinking(body: &[u8], service: Service) -> bool {
    let is_member = |rest: &[u8], name: &[u8]| {
        let after = rest.strip_prefix(name).map(<[u8]>::trim_ascii_start);
        after.is_some_and(|after| after.starts_with(b":"))
    };
    let refused = Quirks::of(service).refused_thinking;
    if refused.is_empty() {
        return envelope::is_within(body);
    }
    let refuses = |member: &str| refused.contains(&member);
    let (content, details) = (refuses("reasoning_content"), refuses("reasoning_details"));
    let seems_to_hold = REASONING.find_iter(body).any(|at| {
        let rest = &body[at + REASONING.needle().len()..];
        content && is_member(rest, b"content\"") || details && is_member(rest, b"details\"")
    });
    seems_to_hold
        && in_messages(body, |message| {
            content && message.content || details && message.details
        })
}

/// Whether a message of the history has such members: tools and their arguments may be named like
/// them. What cannot be read is taken for one.
fn in_messages(body: &[u8], wanted: impl Fn(&ThinkingMembers) -> bool) -> bool {
    #[derive(Deserialize)]
    struct MessagesBody {
        #[serde(default)]
        messages: Vec<ThinkingMembers>,
    }
    serde_json::from_slice::<MessagesBody>(body)
        .map_or(true, |body| body.messages.iter().any(wanted))
}

/// Which members a message has, whatever is in them.
#[derive(Deserialize)]
struct ThinkingMembers {
    #[serde(default, rename = "reasoning_content", deserialize_with = "is_there")]
    content: bool,
    #[serde(default, rename = "reasoning_details", deserialize_with = "is_there")]
    details: bool,
}

fn is_there<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    input_schema: Option<&'a RawValue>,
}

fn has_input_schema(tools: &str) -> bool {
    serde_json::from_str::<Vec<Tool<'_>>>(tools)
        .is_ok_and(|tools| tools.iter().any(|tool| tool.input_schema.is_some()))
}

#[derive(Deserialize)]
struct MessageContent<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ContentType<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Str<'a>>,
}

fn has_tool_blocks(messages: &str) -> bool {
    let messages: Vec<MessageContent<'_>> = serde_json::from_str(messages).unwrap_or_default();
    messages.iter().any(|message| {
        let content = message.content.map_or("", RawValue::get);
        content.starts_with('[')
            && serde_json::from_str::<Vec<ContentType<'_>>>(content).is_ok_and(|blocks| {
                blocks
                    .iter()
                    .any(|block| matches!(block.kind.as_deref(), Some("tool_use" | "tool_result")))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::scan;

    #[test]
    fn the_body_tells_the_dialect_and_doubt_means_chat() {
        for (body, header, expected) in [
            (r#"{"model":"m","prompt":"x"}"#, false, Dialect::Completions),
            (
                r#"{"model":"m","prompt":"x","system":"s"}"#,
                true,
                Dialect::Completions,
            ),
            (r#"{"model":"m","messages":[]}"#, true, Dialect::Anthropic),
            (
                r#"{"model":"m","system":"s","messages":[]}"#,
                false,
                Dialect::Anthropic,
            ),
            (
                r#"{"messages":[],"tools":[{"name":"f","input_schema":{"type":"object"}}]}"#,
                false,
                Dialect::Anthropic,
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}]}"#,
                false,
                Dialect::Anthropic,
            ),
            (
                r#"{"messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"input_schema":{}}}}}]}"#,
                false,
                Dialect::Chat,
            ),
            (
                r#"{"messages":[{"role":"user","content":"{\"type\":\"tool_use\"}"}]}"#,
                false,
                Dialect::Chat,
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_tokens":5}"#,
                false,
                Dialect::Chat,
            ),
            (r#"{"prompt":null,"messages":[]}"#, false, Dialect::Chat),
        ] {
            let top = scan(body.as_bytes()).unwrap();
            assert_eq!(detect_completions_body(&top, header), expected, "{body}");
        }
    }
    #[test]
    fn thinking_is_foreign_by_service_and_by_member() {
        let details = r#"{"messages":[{"reasoning_details":[{"data":"bardo1.e30"}]}]}"#;
        let content = r#"{"messages":[{"reasoning_content":"x"}]}"#;
        let effort = r#"{"reasoning_effort":"low","messages":[{"content":"reasoning_content"}]}"#;
        let quoted = r#"{"messages":[{"content":"{\"reasoning_details\":[]}"}]}"#;
        let property = r#"{"messages":[{"role":"user"}],"tools":[{"function":{"parameters":{"properties":{"reasoning_content":{},"reasoning_details":{}}}}}]}"#;
        let argument =
            r#"{"messages":[{"tool_calls":[{"function":{"arguments":{"reasoning_content":1}}}]}]}"#;
        for (body, service, expected) in [
            (property, Service::OpenAi, false),
            (property, Service::DeepSeek, false),
            (argument, Service::OpenAi, false),
            (details, Service::OpenAi, true),
            (details, Service::DeepSeek, true),
            (details, Service::OpenRouter, true),
            (content, Service::OpenAi, true),
            (content, Service::DeepSeek, false),
            (content, Service::OpenRouter, false),
            (effort, Service::OpenAi, false),
            (quoted, Service::OpenAi, false),
        ] {
            let found = holds_foreign_thinking(body.as_bytes(), service);
            assert_eq!(found, expected, "{service:?} {body}");
        }
    }
}
