//! Content that a request names and does not carry, and that may be another one tomorrow.

use bardo_types::chat::{ChatRequest, DocumentSource, MediaSource, Part, ServerBlock};

/// Members that name a prompt kept elsewhere, which its owner changes.
const PROMPTS: [&str; 2] = ["preset", "prompt"];

/// Whether a provider fetches content by an address, or fills in a prompt by its name. Files by id
/// stay as they were uploaded.
pub(crate) fn is_by_reference(request: &ChatRequest) -> bool {
    let mut extra = request.extra.iter().map(|(name, _)| name.as_str());
    extra.any(|name| PROMPTS.contains(&name)) || request.any_part(is_elsewhere)
}

fn is_elsewhere(part: &Part) -> bool {
    match part {
        Part::Image(image) => is_address(&image.source),
        Part::Document(document) => match &document.source {
            DocumentSource::Media(source) => is_address(source),
            DocumentSource::Parts(parts) => parts.iter().any(is_elsewhere),
            DocumentSource::Text(_) => false,
        },
        Part::Server(block) => names_address(block),
        _ => false,
    }
}

/// A `data:` URL carries its content, whatever form it has.
fn is_address(source: &MediaSource) -> bool {
    match source {
        MediaSource::Url(url) => !is_inline(url),
        MediaSource::Base64 { .. } | MediaSource::File(_) => false,
    }
}

fn is_inline(url: &str) -> bool {
    url.get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Whether a block that is kept as written has a member such as `video_url` or `image_url` with an
/// address in it, as a string or as `url` of an object.
fn names_address(block: &ServerBlock) -> bool {
    let members = block.raw.as_str().split("_url\"").skip(1);
    members
        .filter_map(value_of)
        .any(|value| match value.strip_prefix('{') {
            Some(object) => object
                .split("\"url\"")
                .nth(1)
                .and_then(value_of)
                .is_some_and(is_quoted_address),
            None => is_quoted_address(value),
        })
}

/// The text from the value on, after the name of a member.
fn value_of(rest: &str) -> Option<&str> {
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn is_quoted_address(value: &str) -> bool {
    value
        .strip_prefix('"')
        .is_some_and(|url| !url.starts_with('"') && !is_inline(url))
}

#[cfg(test)]
mod tests {
    use bardo_types::model::Dialect;
    use bardo_wire::table::decode_request;

    use super::*;

    #[track_caller]
    fn reads(dialect: Dialect, body: &str) -> bool {
        is_by_reference(&decode_request(dialect, body.as_bytes()).unwrap())
    }

    fn chat(part: &str) -> bool {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{part}]}}]}}"#);
        reads(Dialect::Chat, &body)
    }

    fn messages(block: &str) -> bool {
        let body = format!(
            r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{block}]}}]}}"#
        );
        reads(Dialect::Anthropic, &body)
    }

    fn responses(item: &str, rest: &str) -> bool {
        let body = format!(r#"{{"model":"m","input":[{item}]{rest}}}"#);
        reads(Dialect::Responses, &body)
    }

    #[test]
    fn content_by_an_address_is_seen_in_all_dialects() {
        for part in [
            r#"{"type":"image_url","image_url":{"url":"https://cam.example/latest.jpg"}}"#,
            r#"{"type":"image_url","image_url":"HTTP://cam.example/latest.jpg"}"#,
            r#"{"type":"image_url","image_url":{"url":"gs://bucket/latest.jpg"}}"#,
            r#"{"type":"file","file":{"file_data":"https://a.example/a.pdf"}}"#,
            r#"{"type":"video_url","video_url":{"fps":1,"url" : "https://cam.example/live.mp4"}}"#,
        ] {
            assert!(chat(part), "{part}");
        }
        for block in [
            r#"{"type":"image","source":{"type":"url","url":"https://cam.example/latest.jpg"}}"#,
            r#"{"type":"document","source":{"type":"url","url":"https://a.example/a.pdf"}}"#,
            r#"{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://a.example"}}]}}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"url","url":"https://a.example"}}]}"#,
        ] {
            assert!(messages(block), "{block}");
        }
        for item in [
            r#"{"role":"user","content":[{"type":"input_image","image_url":"https://cam.example/latest.jpg"}]}"#,
            r#"{"role":"user","content":[{"type":"input_file","file_url":"https://a.example/a.pdf"}]}"#,
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://a.example"}]}"#,
            r#"{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"https://a.example"}}"#,
        ] {
            assert!(responses(item, ""), "{item}");
        }
    }

    #[test]
    fn a_prompt_by_its_name_is_seen() {
        let hello = r#"{"role":"user","content":"hi"}"#;
        assert!(responses(hello, r#","prompt":{"id":"pmpt_1"}"#));
        let preset = r#"{"model":"m","preset":"p","messages":[{"role":"user","content":"hi"}]}"#;
        assert!(reads(Dialect::Chat, preset));
    }

    #[test]
    fn content_that_is_carried_or_cannot_change_is_not() {
        for part in [
            r#"{"type":"text","text":"Look at https://a.example"}"#,
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,aQ=="}}"#,
            r#"{"type":"image_url","image_url":{"url":"data:image/svg+xml,<svg/>"}}"#,
            r#"{"type":"file","file":{"file_id":"file-1"}}"#,
            r#"{"type":"file","file":{"file_data":"JVBERi0="}}"#,
            r#"{"type":"video_url","video_url":{"url":"data:video/mp4;base64,AA=="}}"#,
            r#"{"type":"video_url","video_url":null}"#,
        ] {
            assert!(!chat(part), "{part}");
        }
        for block in [
            r#"{"type":"image","source":{"type":"file","file_id":"f"}}"#,
            r#"{"type":"search_result","source":"https://a.example","title":"t","content":[{"type":"text","text":"a"}]}"#,
        ] {
            assert!(!messages(block), "{block}");
        }
        assert!(!responses(
            r#"{"type":"web_search_call","action":{"type":"open_page","url":"https://a.example"}}"#,
            ""
        ));
    }
}
