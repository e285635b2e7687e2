//! Content blocks: known types, known fields, the right role, sound sources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::fields::{
    self, Fields, array, boolean, join, object, one_of, present, required, string,
};
use crate::anthropic::access::{Access, Version};
use crate::anthropic::error::ApiError;
use crate::anthropic::rules::rules;
use crate::anthropic::turns::Role;

const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Checks one block of a message of `role`.
pub(super) fn check(
    path: &str,
    block: &Value,
    role: Role,
    access: &Access,
) -> Result<(), ApiError> {
    let fields = object(path, block)?;
    let kind = fields::tag(path, fields)?;
    let allowed_here = |rule: &&crate::anthropic::rules::BlockRule| {
        rule.roles.iter().any(|name| name == role.name())
            && rule.beta.as_ref().is_none_or(|beta| access.has_beta(beta))
    };
    let Some(rule) = rules().blocks.get(kind).filter(allowed_here) else {
        return Err(unexpected_tag(path, kind, role));
    };
    let path = format!("{path}.{kind}");
    let known = rule.required.iter().chain(&rule.optional);
    fields::only(&path, fields, known.map(String::as_str))?;
    for name in &rule.required {
        required(&path, fields, name)?;
    }
    match kind {
        "text" => text(&path, fields, role, access),
        "image" => image(&path, fields),
        "document" => document(&path, fields, role, access),
        "search_result" => search_result(&path, fields, access),
        "tool_use" => tool_use(&path, fields),
        "tool_result" => tool_result(&path, fields, access),
        "thinking" => {
            string(&join(&path, "thinking"), &fields["thinking"])?;
            string(&join(&path, "signature"), &fields["signature"]).map(drop)
        }
        "redacted_thinking" => string(&join(&path, "data"), &fields["data"]).map(drop),
        _ => Ok(()),
    }
}

/// Checks one block of the top-level `system` prompt, where only text is legal.
pub(super) fn system(path: &str, block: &Value, access: &Access) -> Result<(), ApiError> {
    let kind = fields::tag(path, object(path, block)?)?;
    if kind == "text" {
        check(path, block, Role::System, access)
    } else {
        Err(ApiError::at(join(path, "type"), "Input should be 'text'"))
    }
}

fn unexpected_tag(path: &str, kind: &str, role: Role) -> ApiError {
    let expected: Vec<&str> = rules()
        .blocks
        .iter()
        .filter(|(_, rule)| rule.beta.is_none() && rule.roles.iter().any(|n| n == role.name()))
        .map(|(name, _)| name.as_str())
        .collect();
    ApiError::at(
        path,
        format!(
            "Input tag '{kind}' found using 'type' does not match any of the expected tags: {}",
            fields::listed(&expected).replace(" or ", ", ")
        ),
    )
}

fn text(path: &str, fields: &Fields, role: Role, access: &Access) -> Result<(), ApiError> {
    let content = string(&join(path, "text"), &fields["text"])?;
    if content.is_empty() {
        return Err(ApiError::at(
            "messages",
            "text content blocks must be non-empty",
        ));
    }
    let cited = present(fields, "citations")
        .and_then(Value::as_array)
        .is_some_and(|citations| !citations.is_empty());
    if cited && role == Role::User && access.version == Version::V2026 {
        return Err(ApiError::at(
            join(path, "citations"),
            "`citations` may only be set on text blocks in `assistant` messages",
        ));
    }
    Ok(())
}

fn image(path: &str, fields: &Fields) -> Result<(), ApiError> {
    let path = join(path, "source");
    let source = object(&path, &fields["source"])?;
    match fields::tag(&path, source)? {
        "base64" => {
            let path = join(&path, "base64");
            fields::only(&path, source, ["media_type", "data"])?;
            let declared = required(&path, source, "media_type")?;
            let declared = one_of(&join(&path, "media_type"), declared, &IMAGE_TYPES)?;
            let bytes = base64(&path, source)?;
            match sniffed(&bytes) {
                Some(actual) if actual != declared => Err(ApiError::at(
                    join(&path, "media_type"),
                    format!(
                        "The image was specified using the {declared} media type, \
                         but the image appears to be a {actual} image"
                    ),
                )),
                _ => Ok(()),
            }
        }
        other => linked(&path, source, other),
    }
}

/// Sources that name a thing instead of containing it.
fn linked(path: &str, source: &Fields, kind: &str) -> Result<(), ApiError> {
    let name = match kind {
        "url" => "url",
        "file" => "file_id",
        _ => {
            return Err(ApiError::at(
                path,
                format!(
                    "Input tag '{kind}' found using 'type' does not match any of the expected tags"
                ),
            ));
        }
    };
    let path = join(path, kind);
    fields::only(&path, source, [name])?;
    let value = string(&join(&path, name), required(&path, source, name)?)?;
    if kind == "url" && !value.starts_with("https://") && !value.starts_with("http://") {
        return Err(ApiError::at(
            join(&path, "url"),
            "Only HTTPS URLs are supported.",
        ));
    }
    Ok(())
}

fn document(path: &str, fields: &Fields, role: Role, access: &Access) -> Result<(), ApiError> {
    if role == Role::Assistant && access.version == Version::V2026 {
        return Err(ApiError::at(
            path,
            "`document` blocks are not permitted in `assistant` messages",
        ));
    }
    citations(path, fields)?;
    let path = join(path, "source");
    let source = object(&path, &fields["source"])?;
    let kind = fields::tag(&path, source)?;
    match kind {
        "base64" => {
            let path = join(&path, "base64");
            fields::only(&path, source, ["media_type", "data"])?;
            let declared = required(&path, source, "media_type")?;
            one_of(&join(&path, "media_type"), declared, &["application/pdf"])?;
            base64(&path, source).map(drop)
        }
        "text" => {
            let path = join(&path, "text");
            fields::only(&path, source, ["media_type", "data"])?;
            let declared = required(&path, source, "media_type")?;
            one_of(&join(&path, "media_type"), declared, &["text/plain"])?;
            string(&join(&path, "data"), required(&path, source, "data")?).map(drop)
        }
        "content" => required(&path, source, "content").map(drop),
        other => linked(&path, source, other),
    }
}

fn search_result(path: &str, fields: &Fields, access: &Access) -> Result<(), ApiError> {
    citations(path, fields)?;
    for name in ["source", "title"] {
        string(&join(path, name), &fields[name])?;
    }
    let path = join(path, "content");
    for (index, block) in array(&path, &fields["content"])?.iter().enumerate() {
        nested(&format!("{path}.{index}"), block, &["text"], access)?;
    }
    Ok(())
}

fn citations(path: &str, fields: &Fields) -> Result<(), ApiError> {
    let Some(value) = present(fields, "citations") else {
        return Ok(());
    };
    let path = join(path, "citations");
    let value = object(&path, value)?;
    fields::only(&path, value, ["enabled"])?;
    match present(value, "enabled") {
        Some(flag) => boolean(&join(&path, "enabled"), flag).map(drop),
        None => Ok(()),
    }
}

fn tool_use(path: &str, fields: &Fields) -> Result<(), ApiError> {
    identifier(&join(path, "id"), &fields["id"])?;
    super::tools::name(&join(path, "name"), &fields["name"])?;
    if fields["input"].is_object() {
        Ok(())
    } else {
        Err(ApiError::at(
            join(path, "input"),
            "Input should be a valid dictionary",
        ))
    }
}

fn tool_result(path: &str, fields: &Fields, access: &Access) -> Result<(), ApiError> {
    identifier(&join(path, "tool_use_id"), &fields["tool_use_id"])?;
    if let Some(flag) = present(fields, "is_error") {
        boolean(&join(path, "is_error"), flag)?;
    }
    let path = join(path, "content");
    match present(fields, "content") {
        None | Some(Value::String(_)) => Ok(()),
        Some(content) => {
            let known = [
                "text",
                "image",
                "search_result",
                "document",
                "tool_reference",
                "browser_state",
            ];
            for (index, block) in array(&path, content)?.iter().enumerate() {
                nested(&format!("{path}.{index}"), block, &known, access)?;
            }
            Ok(())
        }
    }
}

/// A block inside another one, where fewer types are legal.
fn nested(path: &str, block: &Value, known: &[&str], access: &Access) -> Result<(), ApiError> {
    let kind = fields::tag(path, object(path, block)?)?;
    if !known.contains(&kind) {
        return Err(ApiError::at(
            path,
            format!(
                "Input tag '{kind}' found using 'type' does not match any of the expected tags: {}",
                fields::listed(known).replace(" or ", ", ")
            ),
        ));
    }
    match kind {
        "tool_reference" | "browser_state" => Ok(()),
        _ => check(path, block, Role::User, access),
    }
}

fn identifier(path: &str, value: &Value) -> Result<(), ApiError> {
    let id = string(path, value)?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !id.is_empty() && id.bytes().all(legal) {
        Ok(())
    } else {
        Err(ApiError::at(
            path,
            "String should match pattern '^[a-zA-Z0-9_-]+$'",
        ))
    }
}

fn base64(path: &str, source: &Fields) -> Result<Vec<u8>, ApiError> {
    let path = join(path, "data");
    let data = source
        .get("data")
        .ok_or_else(|| ApiError::at(&path, "Field required"))?;
    let data = string(&path, data)?;
    STANDARD
        .decode(data)
        .ok()
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| ApiError::at(&path, "Input should be valid base64-encoded data"))
}

/// The media type that the first bytes give away.
fn sniffed(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}
