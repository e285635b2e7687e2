//! Where in a refused body the fault is. Runs only after the one-pass reading failed, so it may
//! take its time.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::BadRequest;
use crate::json::{Str, explain, found, scan, told};
use crate::kit::error_path;
use crate::responses::shapes::{Content, ContentPart, Item, ReasoningConfig, TextConfig};

/// Turns serde's complaint about the whole body into one that names the field.
pub(in crate::responses) fn locate(body: &[u8], error: &serde_json::Error) -> BadRequest {
    let top = match scan(body) {
        Ok(top) => top,
        Err(problem) => {
            return BadRequest::new(
                "",
                format!("the request body is malformed: {problem}; send one JSON object"),
            );
        }
    };
    top.members()
        .iter()
        .find_map(|member| {
            let key: String = serde_json::from_str(&top.text()[member.key.clone()]).ok()?;
            let value = &top.text()[member.value.clone()];
            if value == "null" {
                return None;
            }
            in_member(&key, value)
        })
        .unwrap_or_else(|| explain(error))
}

fn in_member(key: &str, value: &str) -> Option<BadRequest> {
    match key {
        "model" | "instructions" | "service_tier" | "safety_identifier" | "prompt_cache_key" => {
            wrong::<Str<'_>>(key, value, "a string")
        }
        "parallel_tool_calls" | "stream" | "store" => wrong::<bool>(key, value, "true or false"),
        "max_output_tokens" => wrong::<u64>(key, value, "a whole number of 0 or more"),
        "top_logprobs" => wrong::<u8>(key, value, "a whole number from 0 to 20"),
        "tools" => wrong::<Vec<&RawValue>>(key, value, "a list of tools"),
        "include" => wrong::<Vec<Str<'_>>>(key, value, "a list of strings"),
        "reasoning" => {
            wrong::<ReasoningConfig<'_>>(key, value, "an object such as {\"effort\":\"low\"}")
        }
        "text" => wrong::<TextConfig<'_>>(
            key,
            value,
            "an object such as {\"format\":{\"type\":\"text\"}}",
        ),
        "input" => in_input(value),
        _ => None,
    }
}

fn in_input(value: &str) -> Option<BadRequest> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value) else {
        return wrong::<Str<'_>>("input", value, "a string or a list of input items");
    };
    items.iter().enumerate().find_map(|(index, raw)| {
        let error = serde_json::from_str::<Item<'_>>(raw.get()).err()?;
        let path = format!("input[{index}]");
        let members: std::collections::BTreeMap<String, &RawValue> =
            serde_json::from_str(raw.get()).unwrap_or_default();
        ["content", "output"]
            .into_iter()
            .find_map(|key| in_content(&format!("{path}.{key}"), members.get(key)?.get()))
            .or_else(|| Some(refusal(&path, raw.get(), &error)))
    })
}

fn in_content(path: &str, value: &str) -> Option<BadRequest> {
    let error = serde_json::from_str::<Content<'_>>(value).err()?;
    let parts = serde_json::from_str::<Vec<&RawValue>>(value).unwrap_or_default();
    parts
        .iter()
        .enumerate()
        .find_map(|(index, raw)| {
            let error = serde_json::from_str::<ContentPart<'_>>(raw.get()).err()?;
            Some(refusal(&format!("{path}[{index}]"), raw.get(), &error))
        })
        .or_else(|| Some(refusal(path, value, &error)))
}

fn wrong<'a, T: Deserialize<'a>>(key: &str, value: &'a str, wanted: &str) -> Option<BadRequest> {
    let error = serde_json::from_str::<T>(value).err()?;
    if !error_path::of(value.as_bytes(), &error).is_empty() {
        return Some(refusal(key, value, &error));
    }
    let message = match found(&error) {
        Some(found) => format!("`{key}` must be {wanted}, not {found}"),
        None => format!("`{key}` must be {wanted}"),
    };
    Some(BadRequest::new(key, message))
}

/// The refusal of `value` at `path`, or of a value within it.
fn refusal(path: &str, value: &str, error: &serde_json::Error) -> BadRequest {
    let inner = error_path::of(value.as_bytes(), error);
    let path = error_path::within(path, &inner);
    let message = told(error, &path);
    BadRequest::new(path, message)
}
