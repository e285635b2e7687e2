//! Members of messages and tools that a request loses when it is written anew in its own dialect.

use bardo_types::{Degradation, Losses};
use serde_json::value::RawValue;

use crate::chat::shapes::request::{WireMessage, WireTool};
use crate::json::{Str, wire_object};

/// What clients hand back of an answer, and no provider reads.
const ECHOED: [&str; 3] = ["annotations", "parsed", "provider_specific_fields"];

wire_object! {
    struct Lists<'a> {
        "messages" => messages: Option<Vec<WireMessage<'a>>>,
        "tools" => tools: Option<Vec<WireTool<'a>>>,
    }
}

/// The members of messages and tools that have no slot of their own and stay behind.
#[must_use]
pub fn members_left_out(body: &[u8]) -> Vec<Degradation> {
    let mut lost = Losses::default();
    let lists: Lists<'_> = serde_json::from_slice(body).unwrap_or_default();
    let message = "only known members of a message are translated";
    for wire in lists.messages.iter().flatten() {
        note(&wire.extra, message, &mut lost);
    }
    let tool = "only known members of a tool are translated";
    for wire in lists.tools.iter().flatten() {
        if wire.function.is_some() || wire.custom.is_some() {
            note(&wire.extra, tool, &mut lost);
        }
    }
    lost.into_list()
}

fn note(members: &[(Str<'_>, &RawValue)], detail: &'static str, lost: &mut Losses) {
    for (name, value) in members {
        let says_nothing = matches!(value.get(), "null" | "false" | "[]" | "{}" | "\"\"");
        if !says_nothing && !ECHOED.contains(&&**name) {
            lost.lose_field(name, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_stay_behind_are_named_once_and_empty_ones_are_not() {
        let body = br#"{"messages":[
            {"role":"user","content":"hi","mood":"good","weight":null},
            {"role":"assistant","content":"x","mood":"bad","annotations":[{"type":"url_citation"}],"images":[]}],
            "tools":[{"type":"function","function":{"name":"f"},"defer_loading":true},
                     {"type":"web_search","filters":{}}]}"#;
        let lost = members_left_out(body);
        let names: Vec<&str> = lost.iter().map(|lost| &*lost.feature).collect();
        assert_eq!(names, ["mood", "defer_loading"]);
        assert!(members_left_out(b"[").is_empty());
    }
}
