//! What a router tells of the provider behind it that failed: its name, and its own words, quoted
//! within bounds.

use serde_json::Value;

/// Longest quotation, in characters.
const WORDS_MAX: usize = 600;
/// Longest name, in characters.
const NAME_MAX: usize = 64;

/// The router's words with those of the provider behind it, as `metadata` tells them.
pub(crate) fn with_words(message: String, metadata: Option<&Value>) -> String {
    let Some(metadata) = metadata else {
        return message;
    };
    let name = metadata.get("provider_name").and_then(Value::as_str);
    let name = name.map(|name| bounded(name, NAME_MAX));
    let words = metadata.get("raw").and_then(words);
    let words = words.filter(|words| !words.is_empty() && !message.contains(words.as_str()));
    let told = match (name.filter(|name| !name.is_empty()), words) {
        (Some(name), Some(words)) => format!("{name}: {words}"),
        (Some(told), None) | (None, Some(told)) => told,
        (None, None) => return message,
    };
    if message.is_empty() {
        told
    } else {
        format!("{message} ({told})")
    }
}

/// The words in a provider's error body, which may be text, JSON, or JSON as text.
fn words(raw: &Value) -> Option<String> {
    let text = match raw {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(body @ (Value::Object(_) | Value::Array(_))) => message(&body)?.to_owned(),
            _ if text.trim_start().starts_with('<') => return None,
            _ => text.clone(),
        },
        body => message(body)?.to_owned(),
    };
    Some(bounded(&text, WORDS_MAX))
}

fn message(body: &Value) -> Option<&str> {
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    error.as_str().or_else(|| {
        ["message", "detail", "error_description", "msg"]
            .iter()
            .find_map(|name| error.get(name).or_else(|| body.get(name))?.as_str())
    })
}

/// One line of at most so many characters.
fn bounded(text: &str, most: usize) -> String {
    let line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.trim().chars().take(most).map(line).collect();
    if text.trim().chars().count() > most {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use bardo_types::model::{Dialect, Service};
    use serde_json::json;

    use crate::table;

    #[test]
    fn the_reason_of_the_provider_behind_a_router_is_quoted_in_every_dialect() {
        let rows = [
            (
                json!({ "raw": "no such\nvoice", "provider_name": "DeepInfra" }),
                "(DeepInfra: no such voice)",
            ),
            (
                json!({ "raw": "{\"error\":{\"message\":\"no such voice\"}}", "provider_name": "Azure" }),
                "(Azure: no such voice)",
            ),
            (
                json!({ "raw": { "message": "no such voice" } }),
                "(no such voice)",
            ),
            (
                json!({ "raw": [{ "error": "no such voice" }] }),
                "(no such voice)",
            ),
            (json!({ "raw": "<html>", "provider_name": "X" }), "(X)"),
        ];
        for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
            for (metadata, told) in &rows {
                let body = json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": metadata } });
                let body = body.to_string();
                let fault = table::decode_error(dialect, 400, body.as_bytes(), Service::OpenRouter);
                assert_eq!(
                    fault.message,
                    format!("Provider returned error {told}"),
                    "{dialect:?}"
                );
            }
            let long = json!({ "raw": "ä".repeat(9000), "provider_name": "p".repeat(9000) });
            let body = json!({ "error": { "message": "no", "metadata": long } }).to_string();
            let fault = table::decode_error(dialect, 502, body.as_bytes(), Service::OpenRouter);
            assert!(fault.message.len() < 2048, "{dialect:?}");
        }
    }
}
