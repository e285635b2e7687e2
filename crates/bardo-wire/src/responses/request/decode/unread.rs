//! Members of a request that a relay sends on and its neutral form lacks.
//!
//! `null` is the same as absent. Ids and states of items whose words are given say nothing to a model,
//! nor do the token probabilities of an earlier answer, which clients hand back.

use serde_json::value::RawValue;

use super::ADDITIONAL_TOOLS;
use crate::json::{Extra, Str};
use crate::kit::openai::has_media_parameters;
use crate::responses::shapes::{
    Content, ContentPart, FormatConfig, Input, Item, ReasoningConfig, ResponsesBody,
};

/// Whether a body holds members below the top level that no slot was made for. The decoder of tools
/// tells of theirs.
pub(super) fn holds_unread_members(body: &ResponsesBody<'_>) -> bool {
    let in_input = match &body.input {
        Some(Input::List(items)) => items.iter().any(in_item),
        Some(Input::Text(_)) | None => false,
    };
    let format = body.text.as_ref().and_then(|text| text.format.as_ref());
    in_input || format.is_some_and(in_format) || body.reasoning.as_ref().is_some_and(in_reasoning)
}

fn in_item(item: &Item<'_>) -> bool {
    let kind = item.kind();
    // Their slots are theirs alone.
    let is_output = matches!(kind, "function_call_output" | "custom_tool_call_output");
    if item.content.is_some() && kind != "message" || item.output.is_some() && !is_output {
        return true;
    }
    match kind {
        "message" => item.holds_other_than(&["id", "status"]) || in_content(item.content.as_ref()),
        // Other members of a call are kept.
        "function_call" => item.role.is_some() || is_given(item.get("input")),
        "custom_tool_call" => item.role.is_some() || is_given(item.get("arguments")),
        "reasoning" => {
            item.holds_other_than(&["id", "status", "summary", "content", "encrypted_content"])
        }
        ADDITIONAL_TOOLS => {
            item.role.as_deref().is_some_and(|role| role != "developer")
                || item.holds_other_than(&["id", "status", "tools"])
        }
        _ if is_output => {
            item.role.is_some()
                || item.holds_other_than(&["id", "status", "call_id"])
                || in_content(item.output.as_ref())
        }
        // Kept as written.
        _ => false,
    }
}

fn in_content(content: Option<&Content<'_>>) -> bool {
    match content {
        Some(Content::List(parts)) => parts.iter().any(in_part),
        Some(Content::Text(_)) | None => false,
    }
}

fn in_part(part: &ContentPart<'_>) -> bool {
    match part.kind.as_deref().unwrap_or_default() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            holds_slots_beside(part, &["text", "annotations"]) || holds(&part.extra, &["logprobs"])
        }
        "refusal" => holds_slots_beside(part, &["refusal"]) || holds(&part.extra, &[]),
        "input_image" => {
            let source = if part.image_url.is_some() {
                "image_url"
            } else {
                "file_id"
            };
            holds_slots_beside(part, &[source, "detail"])
                || holds(&part.extra, &[])
                || part.image_url.as_deref().is_some_and(has_media_parameters)
        }
        "input_file" => {
            let source = match (&part.file_data, &part.file_url) {
                (Some(_), _) => "file_data",
                (None, Some(_)) => "file_url",
                (None, None) => "file_id",
            };
            holds_slots_beside(part, &[source, "filename"])
                || holds(&part.extra, &[])
                || part.file_data.as_deref().is_some_and(has_media_parameters)
        }
        "input_audio" => {
            let audio = part.input_audio.as_ref();
            holds_slots_beside(part, &["input_audio"])
                || holds(&part.extra, &[])
                || audio.is_some_and(|audio| holds(&audio.extra, &[]))
        }
        // Put together again without these two.
        _ => part.annotations.is_some() || part.input_audio.is_some(),
    }
}

/// Whether slots are filled that a part of its kind does not read.
fn holds_slots_beside(part: &ContentPart<'_>, read: &[&str]) -> bool {
    [
        ("text", part.text.is_some()),
        ("refusal", part.refusal.is_some()),
        ("image_url", part.image_url.is_some()),
        ("detail", part.detail.is_some()),
        ("file_id", part.file_id.is_some()),
        ("file_url", part.file_url.is_some()),
        ("file_data", part.file_data.is_some()),
        ("filename", part.filename.is_some()),
        ("input_audio", part.input_audio.is_some()),
        ("annotations", part.annotations.is_some()),
    ]
    .iter()
    .any(|(name, is_filled)| *is_filled && !read.contains(name))
}

/// A schema and what belongs to it are read where the format is one.
fn in_format(format: &FormatConfig<'_>) -> bool {
    let is_schema = format.kind.as_deref() == Some("json_schema");
    let has_schema = format.name.is_some()
        || format.description.is_some()
        || is_given(format.schema)
        || format.strict.is_some();
    holds(&format.extra, &[]) || has_schema && !is_schema
}

/// Of the two names of one member, the older is read alone.
fn in_reasoning(reasoning: &ReasoningConfig<'_>) -> bool {
    reasoning.summary.is_some() && reasoning.generate_summary.is_some()
}

fn holds(extra: &Extra<'_>, known: &[&str]) -> bool {
    let is_unread =
        |(name, raw): &(Str<'_>, &RawValue)| is_given(Some(raw)) && !known.contains(&&**name);
    extra.iter().any(is_unread)
}

fn is_given(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() != "null")
}

#[cfg(test)]
mod tests {
    use crate::responses::read_request;

    #[track_caller]
    fn holds(item: &str, rest: &str) -> bool {
        let body = format!(r#"{{"model":"m","input":[{item}]{rest}}}"#);
        read_request(body.as_bytes()).unwrap().holds_unread_members
    }

    #[track_caller]
    fn part_holds(part: &str) -> bool {
        holds(&format!(r#"{{"role":"user","content":[{part}]}}"#), "")
    }

    const PLAIN: &str = r#"{"role":"user","content":"hi"}"#;

    #[test]
    fn an_unread_member_is_seen_wherever_it_stands() {
        for item in [
            r#"{"role":"user","content":"hi","zz":1}"#,
            r#"{"role":"assistant","content":"hi","phase":"commentary"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"o","zz":1}"#,
            r#"{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a","zz":1}]}"#,
            r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","input":"x"}"#,
            r#"{"type":"custom_tool_call","call_id":"c","name":"f","input":"x","arguments":"{}"}"#,
            r#"{"type":"function_call_output","role":"user","call_id":"c","output":"o"}"#,
            r#"{"type":"reasoning","summary":[],"zz":1}"#,
            r#"{"role":"assistant","content":"hi","type":"note"}"#,
            r#"{"type":"additional_tools","tools":[],"zz":1}"#,
            r#"{"type":"additional_tools","tools":[],"role":"user"}"#,
        ] {
            assert!(holds(item, ""), "{item}");
        }
        for part in [
            r#"{"type":"input_text","text":"a","zz":1}"#,
            r#"{"type":"input_text","text":"a","image_url":"https://a.example"}"#,
            r#"{"type":"refusal","refusal":"a","zz":1}"#,
            r#"{"type":"input_image","image_url":"https://a.example","zz":1}"#,
            r#"{"type":"input_image","image_url":"https://a.example","file_id":"f"}"#,
            r#"{"type":"input_file","file_id":"f","detail":"low"}"#,
            r#"{"type":"input_file","file_url":"https://a.example","file_id":"f"}"#,
            r#"{"type":"input_audio","input_audio":{"data":"a","format":"wav","zz":1}}"#,
            r#"{"type":"note","annotations":[]}"#,
        ] {
            assert!(part_holds(part), "{part}");
        }
        for rest in [
            r#","text":{"format":{"type":"text","zz":1}}"#,
            r#","text":{"format":{"type":"text","strict":true}}"#,
            r#","reasoning":{"summary":"auto","generate_summary":"concise"}"#,
            r#","tools":[{"type":"custom","name":"f","zz":1}]"#,
            r#","tools":[{"type":"custom","name":"f","strict":true}]"#,
            r#","tools":[{"type":"function","name":"f","format":{}}]"#,
            r#","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f","format":{}}]}]"#,
            r#","tool_choice":{"type":"function","name":"f","zz":1}"#,
            r#","tool_choice":{"type":"function","name":"f","mode":"auto"}"#,
            r#","tool_choice":{"type":"allowed_tools","mode":"other","tools":[]}"#,
            r#","tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f","zz":1}]}"#,
        ] {
            assert!(holds(PLAIN, rest), "{rest}");
        }
    }

    #[test]
    fn what_clients_send_is_read() {
        for item in [
            r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":null,"content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}"#,
            r#"{"type":"function_call","id":"fc_1","status":"completed","call_id":"c","name":"f","arguments":"{}","zz":1}"#,
            r#"{"type":"function_call_output","id":"o","status":null,"call_id":"c","output":"o"}"#,
            r#"{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"gAAA","status":null}"#,
            r#"{"type":"additional_tools","role":"developer","tools":[]}"#,
            r#"{"type":"web_search_call","id":"ws_1","status":"completed","zz":1}"#,
        ] {
            assert!(!holds(item, ""), "{item}");
        }
        for part in [
            r#"{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}"#,
            r#"{"type":"input_image","image_url":"data:image/png;base64,aQ==","detail":"high","file_id":null}"#,
            r#"{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JQ=="}"#,
            r#"{"type":"note","zz":1}"#,
        ] {
            assert!(!part_holds(part), "{part}");
        }
        for rest in [
            r#","text":{"format":{"type":"json_schema","name":"n","schema":{},"strict":true},"zz":1}"#,
            r#","reasoning":{"effort":"low","summary":"auto","zz":1}"#,
            r#","tools":[{"type":"function","name":"f","parameters":{},"zz":1},{"type":"custom","name":"g","format":{},"description":null}]"#,
            r#","tools":[{"type":"web_search","zz":1},{"type":"namespace","name":"n","zz":1,"tools":[{"type":"custom","name":"f","zz":1}]}]"#,
            r#","tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}"#,
            r#","tool_choice":{"type":"file_search","zz":1}"#,
        ] {
            assert!(!holds(PLAIN, rest), "{rest}");
        }
    }
}
