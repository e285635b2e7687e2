//! Content parts of chat messages, as services that resell models read them.

use serde_json::Value;

/// The types that any of these services takes.
const KINDS: &[&str] = &[
    "text",
    "refusal",
    "image_url",
    "input_audio",
    "input_video",
    "video_url",
    "file",
    "thinking",
    "redacted_thinking",
];

/// Checks the parts of all messages.
///
/// # Errors
/// The place of the first part that is no object, has an unknown type, or is an image without an
/// address.
pub(crate) fn check(messages: &[Value]) -> Result<(), String> {
    for (at, message) in messages.iter().enumerate() {
        let parts = message.get("content").and_then(Value::as_array);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if !KINDS.contains(&kind) {
                return Err(format!(
                    "messages.{at}.content.{index}.type: Invalid content part type"
                ));
            }
            let url = part.pointer("/image_url/url").or(part.get("image_url"));
            if kind == "image_url" && !url.is_some_and(Value::is_string) {
                return Err(format!(
                    "messages.{at}.content.{index}.image_url.url: Required"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn unknown_parts_and_images_without_an_address_are_refused_by_their_place() {
        let refused = |part| {
            let text = json!({ "type": "text", "text": "x" });
            check(&[json!({ "role": "user", "content": [text, part] })])
        };
        for part in [
            json!({ "type": "hologram" }),
            json!({ "type": 5 }),
            json!({ "text": "x" }),
            json!("x"),
            json!({ "type": "image_url" }),
            json!({ "type": "image_url", "image_url": {} }),
        ] {
            let place = refused(part.clone()).expect_err("a refusal");
            assert!(place.starts_with("messages.0.content.1."), "{part} {place}");
        }
        for part in [
            json!({ "type": "image_url", "image_url": { "url": "https://x" } }),
            json!({ "type": "image_url", "image_url": "https://x" }),
            json!({ "type": "file", "file": {} }),
        ] {
            assert_eq!(refused(part), Ok(()));
        }
    }
}
