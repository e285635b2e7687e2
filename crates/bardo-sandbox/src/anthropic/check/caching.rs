//! `cache_control`: at most four, longest first.

use serde_json::Value;

use super::fields::{self, Fields, object, one_of, present};
use crate::anthropic::error::ApiError;

/// One marker in the order in which the prompt is read.
struct Marker<'a> {
    path: String,
    value: &'a Value,
    on_empty_text: bool,
}

/// Checks every marker of a body.
pub(super) fn check(body: &Fields) -> Result<(), ApiError> {
    let mut markers = Vec::new();
    for (part, blocks) in [("tools", body.get("tools")), ("system", body.get("system"))] {
        for (index, block) in blocks
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            collect(format!("{part}.{index}"), block, &mut markers);
        }
    }
    let messages = body.get("messages").and_then(Value::as_array);
    for (index, message) in messages.into_iter().flatten().enumerate() {
        let blocks = message["content"].as_array();
        for (position, block) in blocks.into_iter().flatten().enumerate() {
            collect(
                format!("messages.{index}.content.{position}"),
                block,
                &mut markers,
            );
        }
    }
    if let Some(value) = present(body, "cache_control") {
        markers.push(Marker {
            path: "cache_control".to_owned(),
            value,
            on_empty_text: false,
        });
    }
    judge(&markers)
}

/// Finds a marker on a block and on the blocks inside it.
fn collect<'a>(path: String, block: &'a Value, markers: &mut Vec<Marker<'a>>) {
    let nested = block["content"].as_array();
    for (index, inner) in nested.into_iter().flatten().enumerate() {
        collect(format!("{path}.content.{index}"), inner, markers);
    }
    if let Some(value) = block.get("cache_control").filter(|value| !value.is_null()) {
        markers.push(Marker {
            path: format!("{path}.cache_control"),
            value,
            on_empty_text: block["type"] == "text" && block["text"] == "",
        });
    }
}

fn judge(markers: &[Marker<'_>]) -> Result<(), ApiError> {
    let mut seen_short = false;
    for marker in markers {
        let fields = object(&marker.path, marker.value)?;
        let kind = fields::required(&marker.path, fields, "type")?;
        one_of(&fields::join(&marker.path, "type"), kind, &["ephemeral"])?;
        fields::only(&marker.path, fields, ["ttl", "scope"])?;
        let path = fields::join(&marker.path, "ttl");
        let long = match present(fields, "ttl") {
            Some(ttl) => one_of(&path, ttl, &["5m", "1h"])? == "1h",
            None => false,
        };
        if marker.on_empty_text {
            return Err(ApiError::at(
                &marker.path,
                "cache_control cannot be set for empty text blocks",
            ));
        }
        if long && seen_short {
            return Err(ApiError::at(
                path,
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control \
                 block. Note that blocks are processed in the following order: `tools`, `system`, \
                 `messages`.",
            ));
        }
        seen_short |= !long;
    }
    if markers.len() > 4 {
        return Err(ApiError::invalid(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {}.",
            markers.len()
        )));
    }
    Ok(())
}
