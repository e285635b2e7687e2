//! What an answer reports beside its content: why it ended, probabilities.

use bardo_types::chat::Finish;
use bardo_types::fault::Fault;
use bardo_types::json::RawJson;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::bounded;
use crate::gemini::shapes::answer::{LogprobsResult, PromptFeedback, TokenProbability, compact};
use crate::json::{Object, Serde, kept_object};
use crate::kit::messages::malformed;

/// Rebuilds a part that only Gemini understands.
pub(super) fn server_part(
    kind: &'static str,
    value: &RawValue,
    signature: Option<&str>,
) -> RawJson {
    let mut part = serde_json::Map::new();
    if let Some(signature) = signature {
        part.insert("thoughtSignature".to_owned(), signature.into());
    }
    let rest = serde_json::to_string(&part).expect("strings always serialize");
    let comma = if part.is_empty() { "" } else { "," };
    RawJson::parse(format!(
        "{{\"{kind}\":{}{comma}{}",
        compact(value.get()),
        &rest[1..]
    ))
    .expect("members of JSON make an object")
}

/// Why the answer ended; an error where Gemini gave up on it.
pub(super) fn read_finish(reason: &str, message: Option<&str>) -> Result<Finish, Fault> {
    Ok(match reason {
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "SPII" | "RECITATION" | "LANGUAGE"
        | "NO_IMAGE" | "MODEL_ARMOR" => Finish::Refusal,
        image if image.starts_with("IMAGE_") => Finish::Refusal,
        // The turn may be sent again to go on.
        "CONTINUATION" => Finish::Pause,
        other => {
            let text = message.map_or_else(
                || format!("the provider ended the answer with {other}"),
                |message| format!("the provider ended the answer with {other}: {message}"),
            );
            let text = bounded(&text);
            return Err(malformed(text).with_code(other));
        }
    })
}

/// The details of a refused prompt; `None` when it was not refused.
pub(super) fn blocked(feedback: &PromptFeedback<'_>) -> Option<RawJson> {
    let reason = feedback
        .block_reason
        .as_deref()
        .filter(|reason| !reason.is_empty() && *reason != "BLOCKED_REASON_UNSPECIFIED")?;
    let message = feedback.block_reason_message.as_deref();
    Some(refusal("the prompt was blocked", reason, message))
}

/// Details of a refusal, as Anthropic writes `stop_details`.
pub(super) fn refusal(what: &str, reason: &str, message: Option<&str>) -> RawJson {
    let explanation = match message {
        Some(message) => format!("{what}: {reason}: {message}"),
        None => format!("{what}: {reason}"),
    };
    kept_object(|details| {
        details
            .set("type", "refusal")
            .set("category", ())
            .set("explanation", bounded(&explanation));
    })
}

/// Token probabilities in OpenAI's shape.
pub(super) fn logprobs(result: &LogprobsResult<'_>) -> Option<RawJson> {
    let token = |entry: &mut Object<'_>, from: &TokenProbability<'_>| {
        let text = from.token.as_deref().unwrap_or_default();
        let logprob: Option<Value> = from
            .log_probability
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        entry
            .set("token", text)
            .set("logprob", Serde(&logprob))
            .set("bytes", Serde(text.as_bytes()));
    };
    let chosen = result.chosen_candidates.as_deref()?;
    let top = result.top_candidates.as_deref().unwrap_or_default();
    Some(kept_object(|object| {
        object
            .list(
                "content",
                chosen.iter().enumerate(),
                |(place, chosen), out| {
                    let mut entry = Object::new(out);
                    token(&mut entry, chosen);
                    let others = top.get(place).and_then(|top| top.candidates.as_deref());
                    entry.list("top_logprobs", others.unwrap_or_default(), |other, out| {
                        token(&mut Object::new(out), other);
                    });
                },
            )
            .set("refusal", ());
    }))
}
