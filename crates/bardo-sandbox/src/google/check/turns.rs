//! The order of contents: roles, parts, and calls with their responses.

use serde_json::Value;

use crate::google::error::ApiError;

/// Fields of a part of which exactly one may be set.
const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

pub(super) fn check(body: &Value) -> Result<(), ApiError> {
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, content) in contents.iter().enumerate() {
        one(index, content)?;
    }
    for (index, content) in contents.iter().enumerate() {
        let calls = names(content, "functionCall");
        let responses = names(content, "functionResponse");
        if !calls.is_empty() {
            answered(&calls, contents.get(index + 1))?;
        }
        let before = index.checked_sub(1).map(|before| &contents[before]);
        if !responses.is_empty() && before.is_none_or(|b| names(b, "functionCall").is_empty()) {
            return Err(ApiError::invalid(
                "Please ensure that function response turn comes immediately after a function \
                 call turn.",
            ));
        }
    }
    Ok(())
}

fn one(index: usize, content: &Value) -> Result<(), ApiError> {
    match content["role"].as_str() {
        None | Some("user" | "model") => {}
        Some(_) => {
            return Err(ApiError::invalid("Please use a valid role: user, model."));
        }
    }
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    if parts.is_empty() {
        return Err(ApiError::invalid(format!(
            "* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.\n"
        )));
    }
    for (at, part) in parts.iter().enumerate() {
        let place = format!("contents[{index}].parts[{at}]");
        let mut set = DATA.iter().filter(|name| !part[**name].is_null());
        match (set.next(), set.next()) {
            (Some(_), None) => {}
            (Some(_), Some(second)) => {
                return Err(ApiError::invalid(format!(
                    "Invalid value at '{place}' (oneof), oneof field 'data' is already set. \
                     Cannot set '{second}'"
                )));
            }
            // A signature may stand on a part of its own.
            (None, _) if !part["thoughtSignature"].is_null() => {}
            (None, _) => {
                return Err(ApiError::invalid(format!(
                    "* GenerateContentRequest.{place}.data: required oneof field 'data' must have \
                     one initialized field\n"
                )));
            }
        }
        for kind in ["functionCall", "functionResponse"] {
            if !part[kind].is_null() && part[kind]["name"].as_str().is_none_or(str::is_empty) {
                return Err(ApiError::invalid(format!(
                    "* GenerateContentRequest.{place}.{kind}.name: Name cannot be empty.\n"
                )));
            }
        }
        let wrong_side = match content["role"].as_str() {
            Some("model") => "functionResponse",
            _ => "functionCall",
        };
        if !part[wrong_side].is_null() {
            return Err(ApiError::invalid(format!(
                "Please ensure that {wrong_side} parts come from the right role at '{place}'."
            )));
        }
    }
    Ok(())
}

fn names<'a>(content: &'a Value, kind: &str) -> Vec<&'a str> {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts
        .filter(|part| !part[kind].is_null())
        .map(|part| part[kind]["name"].as_str().unwrap_or_default())
        .collect()
}

/// All responses of a batch stand in one content, right after the calls.
fn answered(calls: &[&str], next: Option<&Value>) -> Result<(), ApiError> {
    let mut responses = next
        .map(|next| names(next, "functionResponse"))
        .unwrap_or_default();
    if responses.len() != calls.len() {
        return Err(ApiError::invalid(
            "Please ensure that the number of function response parts is equal to the number of \
             function call parts of the function call turn.",
        ));
    }
    let mut calls = calls.to_vec();
    calls.sort_unstable();
    responses.sort_unstable();
    if calls == responses {
        Ok(())
    } else {
        Err(ApiError::invalid(
            "Please ensure that the function response parts have the names of the function call \
             parts of the function call turn.",
        ))
    }
}
