//! What a store of earlier turns needs: input and output as items, to be put before a later
//! request's own input.

use std::collections::{HashMap, HashSet};

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
        let own = || item_id(item).filter(|id| output::maker_of_item(id).is_some());
        let repeats = reference(item).or_else(own).is_some_and(|id| {
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

/// The id of the answer that made an item; `None` for an id that is not the gateway's.
#[must_use]
pub fn maker_of_item(id: &str) -> Option<String> {
    output::maker_of_item(id).map(|(answer, _)| answer)
}

/// The body with items in place of the references to them, for references to items that the gateway
/// made. No provider knows these. `stored` has the output items of an answer by its id. `None` for a
/// body without such a reference.
///
/// # Errors
/// When `stored` does not have an item, or two references point at one.
pub fn with_referenced_items(
    top: &TopLevel<'_>,
    stored: impl Fn(&str) -> Option<Vec<RawJson>>,
) -> Result<Option<Vec<u8>>, BadRequest> {
    if memmem::find(top.bytes(), output::OWN_ID.as_bytes()).is_none() {
        return Ok(None);
    }
    let mut items = items_of(top)?;
    let mut outputs = HashMap::new();
    let mut seen = HashSet::new();
    for (place, item) in items.iter_mut().enumerate() {
        let Some(id) = reference(item) else { continue };
        let Some((answer, index)) = output::maker_of_item(&id) else {
            continue;
        };
        let output = outputs
            .entry(answer)
            .or_insert_with_key(|answer| stored(answer).unwrap_or_default());
        let found: Option<&RawJson> = output.get(index);
        let refused = |problem: &str| {
            let shown: String = id.chars().take(64).collect();
            let message = format!("`input[{place}]` refers to the item `{shown}`, {problem}");
            BadRequest::new(format!("input[{place}].id"), message)
        };
        let gone = "which is not stored here (any more); send the item itself in its place";
        let found = found.cloned().ok_or_else(|| refused(gone))?;
        if !seen.insert(id.clone()) {
            return Err(refused("as another one does; send it once"));
        }
        *item = found;
    }
    if seen.is_empty() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(top.bytes().len());
    let mut list = Array::new(&mut out);
    for item in &items {
        list.raw(item.as_str());
    }
    list.end();
    let input = String::from_utf8(out).expect("items are JSON text");
    Ok(Some(splice(top, &[Edit::set("input", input)])))
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
    fn items_of_the_gateway_take_the_place_of_references_to_them() {
        let output = [
            raw(r#"{"id":"rs_1","type":"reasoning"}"#),
            raw(r#"{"id":"msg_bardo_ab_1","type":"message"}"#),
        ];
        let stored = |answer: &str| (answer == "resp_ab").then(|| output.to_vec());
        let with_items = |body: &str| {
            let top = scan(body.as_bytes()).unwrap();
            let body = with_referenced_items(&top, stored)?;
            Ok::<_, BadRequest>(body.map(|body| String::from_utf8(body).unwrap()))
        };
        // The first item has an id of its own, which its caller saw under the gateway's.
        let body = r#"{"input":[{"role":"user","content":"a"},{"type":"item_reference","id":"rs_bardo_ab_0"},{"id":"msg_bardo_ab_1"},{"type":"item_reference","id":"msg_2"}],"n":1}"#;
        let expected = r#"{"input":[{"role":"user","content":"a"},{"id":"rs_1","type":"reasoning"},{"id":"msg_bardo_ab_1","type":"message"},{"type":"item_reference","id":"msg_2"}],"n":1}"#;
        assert_eq!(with_items(body).unwrap().as_deref(), Some(expected));
        for untouched in [
            r#"{"input":"msg_bardo_ab_1"}"#,
            r#"{"input":[{"type":"item_reference","id":"msg_1"}]}"#,
            r#"{"input":[{"type":"item_reference","id":"_bardo_"},{"id":"msg_bardo_ab_1","type":"message"}]}"#,
            r#"{"input":[{"role":"user","content":[],"id":"msg_bardo_ab_1"}]}"#,
        ] {
            assert_eq!(with_items(untouched), Ok(None), "{untouched}");
        }
        let twice = r#"{"input":[{"id":"msg_bardo_ab_1"},{"id":"msg_bardo_ab_1"}]}"#;
        for (refused, param) in [
            (r#"{"input":[{"id":"msg_bardo_ab_2"}]}"#, "input[0].id"),
            (
                r#"{"input":[{"role":"user"},{"type":"item_reference","id":"msg_bardo_cd_0"}]}"#,
                "input[1].id",
            ),
            (twice, "input[1].id"),
        ] {
            assert_eq!(with_items(refused).unwrap_err().param, param, "{refused}");
        }
    }

    #[test]
    fn items_of_the_gateway_that_are_there_already_are_not_repeated() {
        check(
            r#"{"input":[{"id":"msg_bardo_ab_1","type":"message"},{"id":"msg_2","type":"message"}]}"#,
            &[
                raw(r#"{"id":"msg_bardo_ab_1","type":"message"}"#),
                raw(r#"{"id":"msg_2","type":"message"}"#),
            ],
            r#"{"input":[{"id":"msg_bardo_ab_1","type":"message"},{"id":"msg_2","type":"message"},{"id":"msg_2","type":"message"}]}"#,
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
