//! What a store of earlier turns needs: input and output as items, to be put before a later
//! request's own input.

use bardo_types::chat::ChatResponse;
use bardo_types::json::RawJson;
use memchr::memmem;

use super::output;
use crate::codec::{BadRequest, ReplyContext};
use crate::envelope;
use crate::json::{Array, TopLevel, kept_object, scan};
use crate::splice::{Edit, splice};

/// The answer that a request goes on from, if it names one.
#[must_use]
pub fn previous_response_id(top: &TopLevel<'_>) -> Option<String> {
    top.string("previous_response_id")
}

/// The conversation that a request belongs to, given as a string or as an object with `id`.
#[must_use]
pub fn conversation_id(top: &TopLevel<'_>) -> Option<String> {
    top.string("conversation").or_else(|| {
        let object = scan(top.get("conversation")?.as_bytes()).ok()?;
        object.string("id")
    })
}

/// Whether a body's history holds state or ids that the gateway made: such a body must be read and
/// written anew even for an upstream of this dialect, because an envelope must never get there.
#[must_use]
pub fn holds_own_marks(body: &[u8]) -> bool {
    let found = |mark: &str| memmem::find(body, mark.as_bytes()).is_some();
    found(envelope::PREFIX) || found(output::OWN_ID)
}

fn top_level(body: &[u8]) -> Result<TopLevel<'_>, BadRequest> {
    scan(body)
        .map_err(|problem| BadRequest::new("", format!("the request body is malformed: {problem}")))
}

fn items_of(top: &TopLevel<'_>) -> Result<Vec<RawJson>, BadRequest> {
    let Some(input) = top.get("input").filter(|input| *input != "null") else {
        return Ok(Vec::new());
    };
    if let Ok(text) = serde_json::from_str::<String>(input) {
        return Ok(vec![kept_object(|object| {
            object.set("type", "message");
            object.set("role", "user");
            object.set("content", &text);
        })]);
    }
    serde_json::from_str(input)
        .map_err(|_| BadRequest::new("input", "`input` must be a string or a list of input items"))
}

/// The input of a request as items; a plain string is one user message.
///
/// # Errors
/// When the body is not a JSON object, or its `input` is neither a string nor a list.
pub fn input_items(body: &[u8]) -> Result<Vec<RawJson>, BadRequest> {
    items_of(&top_level(body)?)
}

/// The body with `earlier_items` before its own input, and without the `previous_response_id` or
/// `conversation` that they stand for. References to earlier items give way to the items
/// themselves, which are there already.
///
/// # Errors
/// As [`input_items`].
pub fn prepend_items(body: &[u8], earlier_items: &[RawJson]) -> Result<Vec<u8>, BadRequest> {
    let top = top_level(body)?;
    let own = items_of(&top)?;
    let mut out = Vec::with_capacity(body.len());
    let mut list = Array::new(&mut out);
    for item in earlier_items {
        list.raw(item.as_str());
    }
    for item in &own {
        let repeats = reference(item).is_some_and(|id| {
            earlier_items
                .iter()
                .any(|item| item_id(item).as_ref() == Some(&id))
        });
        if !repeats {
            list.raw(item.as_str());
        }
    }
    list.end();
    let input = String::from_utf8(out).expect("items are JSON text");
    let edits = [
        Edit::set("input", input),
        Edit::Remove {
            key: "previous_response_id",
        },
        Edit::Remove {
            key: "conversation",
        },
    ];
    Ok(splice(&top, &edits))
}

fn item_id(item: &RawJson) -> Option<String> {
    scan(item.as_str().as_bytes()).ok()?.string("id")
}

/// The id that an `item_reference` points at. The `type` of a reference may be missing.
fn reference(item: &RawJson) -> Option<String> {
    let top = scan(item.as_str().as_bytes()).ok()?;
    match top.string("type").as_deref() {
        Some("item_reference") => top.string("id"),
        None if top.get("role").is_none() => top.string("id"),
        _ => None,
    }
}

/// The output items of an answer, as [`super::encode_response`] shows them.
#[must_use]
pub fn output_items_of(response: &ChatResponse, context: &ReplyContext) -> Vec<RawJson> {
    output::items(response, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[track_caller]
    fn check(body: &str, earlier: &[RawJson], expected: &str) {
        let prepended = prepend_items(body.as_bytes(), earlier).unwrap();
        assert_eq!(String::from_utf8(prepended).unwrap(), expected);
    }

    #[test]
    fn earlier_items_come_first_and_the_pointer_to_them_goes() {
        check(
            r#"{"model":"m","previous_response_id":"resp_1","input":"next","top_p":1.0}"#,
            &[
                raw(r#"{"role":"user","content":"first"}"#),
                raw(r#"{"id":"msg_1","type":"message"}"#),
            ],
            r#"{"model":"m","input":[{"role":"user","content":"first"},{"id":"msg_1","type":"message"},{"type":"message","role":"user","content":"next"}],"top_p":1.0}"#,
        );
        check(
            r#"{"input":[ {"a":1.0} ],"conversation":{"id":"conv_1"}}"#,
            &[],
            r#"{"input":[{"a":1.0}]}"#,
        );
        check(
            r#"{"previous_response_id":"r"}"#,
            &[raw("{}")],
            r#"{"input":[{}]}"#,
        );
    }

    #[test]
    fn references_to_items_that_are_there_go() {
        check(
            r#"{"input":[{"type":"item_reference","id":"msg_1"},{"id":"msg_1"},{"type":"item_reference","id":"msg_2"}]}"#,
            &[raw(r#"{"id":"msg_1","type":"message"}"#)],
            r#"{"input":[{"id":"msg_1","type":"message"},{"type":"item_reference","id":"msg_2"}]}"#,
        );
    }

    #[test]
    fn pointers_are_read_in_every_form() {
        let of = |body: &str| {
            let top = scan(body.as_bytes()).unwrap();
            (previous_response_id(&top), conversation_id(&top))
        };
        assert_eq!(
            of(r#"{"previous_response_id":"resp_1"}"#).0.as_deref(),
            Some("resp_1")
        );
        assert_eq!(of(r#"{"previous_response_id":null}"#), (None, None));
        assert_eq!(
            of(r#"{"conversation":"conv_1"}"#).1.as_deref(),
            Some("conv_1")
        );
        assert_eq!(
            of(r#"{"conversation":{"id":"conv_1"}}"#).1.as_deref(),
            Some("conv_1")
        );
    }

    #[test]
    fn input_that_is_no_list_is_refused() {
        assert_eq!(input_items(br#"{"input":5}"#).unwrap_err().param, "input");
        assert_eq!(input_items(b"{}").unwrap(), []);
    }
}
