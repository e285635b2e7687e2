//! What has to be equal before similarity is asked.

use bardo_types::chat::{Part, Role};

use crate::key::{Key, KeySource, key_of};

/// The digest of a request without the last turn of its user, and the text of that turn. `None`
/// where the request has tools, or does not end with a turn of the user that is text alone: such
/// requests have no semantic lookup.
#[must_use]
pub fn context(asked: &KeySource<'_>) -> Option<(Key, String)> {
    let request = asked.request;
    let last = request.messages.last()?;
    if last.role != Role::User || !request.tools.is_empty() {
        return None;
    }
    let mut text = String::new();
    for part in &last.parts {
        let Part::Text(part) = part else {
            return None;
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part.text);
    }
    if text.trim().is_empty() {
        return None;
    }
    let mut context = request.clone();
    if let Some(last) = context.messages.last_mut() {
        last.parts.clear();
    }
    let digest = key_of(&KeySource {
        request: &context,
        ..*asked
    });
    Some((digest, text))
}
