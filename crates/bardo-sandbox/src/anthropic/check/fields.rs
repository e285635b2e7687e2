//! Typed access to JSON fields, with the validator's wording when a type is wrong.

use serde_json::{Map, Value};

use crate::anthropic::error::ApiError;

pub(super) type Fields = Map<String, Value>;

/// `a.b`, or `b` at the top level.
pub(super) fn join(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

pub(super) fn object<'a>(path: &str, value: &'a Value) -> Result<&'a Fields, ApiError> {
    value
        .as_object()
        .ok_or_else(|| ApiError::at(path, "Input should be an object"))
}

pub(super) fn array<'a>(path: &str, value: &'a Value) -> Result<&'a [Value], ApiError> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| ApiError::at(path, "Input should be a valid array"))
}

pub(super) fn string<'a>(path: &str, value: &'a Value) -> Result<&'a str, ApiError> {
    value
        .as_str()
        .ok_or_else(|| ApiError::at(path, "Input should be a valid string"))
}

pub(super) fn boolean(path: &str, value: &Value) -> Result<bool, ApiError> {
    value
        .as_bool()
        .ok_or_else(|| ApiError::at(path, "Input should be a valid boolean"))
}

pub(super) fn integer(path: &str, value: &Value) -> Result<u64, ApiError> {
    match value.as_i64() {
        Some(number) => u64::try_from(number)
            .map_err(|_| ApiError::at(path, "Input should be greater than or equal to 0")),
        None => Err(ApiError::at(path, "Input should be a valid integer")),
    }
}

/// A field that must be there.
pub(super) fn required<'a>(
    path: &str,
    fields: &'a Fields,
    name: &str,
) -> Result<&'a Value, ApiError> {
    fields
        .get(name)
        .ok_or_else(|| ApiError::at(join(path, name), "Field required"))
}

/// A field that is there and not `null`.
pub(super) fn present<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// The `type` of a tagged union.
pub(super) fn tag<'a>(path: &str, fields: &'a Fields) -> Result<&'a str, ApiError> {
    string(&join(path, "type"), required(path, fields, "type")?)
}

/// Refuses any field that is not in `known`; `type` always is.
pub(super) fn only<'a>(
    path: &str,
    fields: &Fields,
    known: impl IntoIterator<Item = &'a str>,
) -> Result<(), ApiError> {
    let known: Vec<&str> = known.into_iter().collect();
    match fields
        .keys()
        .find(|name| *name != "type" && !known.contains(&name.as_str()))
    {
        None => Ok(()),
        Some(name) => Err(ApiError::at(
            join(path, name),
            "Extra inputs are not permitted",
        )),
    }
}

/// A string out of a closed list.
pub(super) fn one_of<'a>(
    path: &str,
    value: &'a Value,
    allowed: &[&str],
) -> Result<&'a str, ApiError> {
    match value.as_str() {
        Some(text) if allowed.contains(&text) => Ok(text),
        _ => Err(ApiError::at(
            path,
            format!("Input should be {}", listed(allowed)),
        )),
    }
}

/// `'a', 'b' or 'c'`.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
