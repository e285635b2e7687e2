//! A response as named events.

use serde_json::{Map, Value, json};

use crate::chat::flag;
use crate::fault::Fault;
use crate::openai::responses::{Asked, Made, object};
use crate::reply::{Part, Piece, Reply};
use crate::tokens;
use crate::world::World;

/// Collects events and numbers them.
struct Events<'a> {
    pieces: Vec<Piece>,
    sequence: u64,
    chunk: usize,
    /// Leaves out every delta, as some servers do.
    only_done: bool,
    obfuscates: bool,
    world: &'a World,
}

pub(super) fn render(asked: &Asked<'_>, made: &Made, whole: &Value, world: &World) -> Reply {
    let options = asked.body.get("stream_options").unwrap_or(&Value::Null);
    let mut events = Events {
        pieces: Vec::new(),
        sequence: 0,
        chunk: made.turn.chunk,
        only_done: made.faults.has(&Fault::OnlyDoneEvents),
        obfuscates: flag(options, "include_obfuscation"),
        world,
    };
    let started = object::started(asked, made, "in_progress");
    events.push(
        Part::Open,
        "response.created",
        json!({ "response": started }),
    );
    events.push(
        Part::Open,
        "response.in_progress",
        json!({ "response": started }),
    );
    for (index, item) in made.output.iter().enumerate() {
        events.item(index, item);
    }
    if !made.faults.has(&Fault::FinishMissing) {
        let status = whole["status"].as_str().unwrap_or("completed");
        events.push(
            Part::Done,
            &format!("response.{status}"),
            json!({ "response": whole }),
        );
    }
    Reply::stream(events.pieces)
}

impl Events<'_> {
    fn push(&mut self, part: Part, kind: &str, fields: Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), json!(kind));
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        event.insert("sequence_number".to_owned(), json!(self.sequence));
        if self.obfuscates && kind.ends_with(".delta") {
            let length = 4 + usize::try_from(self.sequence * 7 % 13).unwrap_or(0);
            let filler = self.world.id("", length, &[&self.sequence.to_be_bytes()]);
            event.insert("obfuscation".to_owned(), json!(filler));
        }
        self.sequence += 1;
        self.pieces
            .push(Piece::event(part, kind, &Value::Object(event)));
    }

    fn content(&mut self, kind: &str, fields: Value) {
        self.push(Part::Content, kind, fields);
    }

    fn item(&mut self, index: usize, item: &Value) {
        self.content(
            "response.output_item.added",
            json!({ "output_index": index, "item": empty(item) }),
        );
        match item["type"].as_str() {
            Some("reasoning") => self.reasoning(index, item),
            Some("message") => self.message(index, item),
            Some("function_call") => self.call(index, item, "function_call_arguments", "arguments"),
            Some("custom_tool_call") => self.call(index, item, "custom_tool_call_input", "input"),
            _ => {}
        }
        self.content(
            "response.output_item.done",
            json!({ "output_index": index, "item": item }),
        );
    }

    fn reasoning(&mut self, index: usize, item: &Value) {
        let parts = item["summary"].as_array().cloned().unwrap_or_default();
        for (at, part) in parts.iter().enumerate() {
            let place =
                json!({ "item_id": item["id"], "output_index": index, "summary_index": at });
            let text = part["text"].as_str().unwrap_or_default();
            let blank = json!({ "type": "summary_text", "text": "" });
            self.content(
                "response.reasoning_summary_part.added",
                with(&place, json!({ "part": blank })),
            );
            self.deltas("response.reasoning_summary_text", text, &place, json!({}));
            self.content(
                "response.reasoning_summary_text.done",
                with(&place, json!({ "text": text })),
            );
            self.content(
                "response.reasoning_summary_part.done",
                with(&place, json!({ "part": part })),
            );
        }
    }

    fn message(&mut self, index: usize, item: &Value) {
        let part = &item["content"][0];
        let place = json!({ "item_id": item["id"], "output_index": index, "content_index": 0 });
        let is_refusal = part["type"] == "refusal";
        let (field, kind) = if is_refusal {
            ("refusal", "response.refusal")
        } else {
            ("text", "response.output_text")
        };
        let extra = if is_refusal {
            json!({})
        } else {
            json!({ "logprobs": [] })
        };
        let text = part[field].as_str().unwrap_or_default();
        let mut blank = part.clone();
        blank[field] = json!("");
        self.content(
            "response.content_part.added",
            with(&place, json!({ "part": blank })),
        );
        self.deltas(kind, text, &place, extra.clone());
        let done = with(&with(&place, json!({ field: text })), extra);
        self.content(&format!("{kind}.done"), done);
        self.content(
            "response.content_part.done",
            with(&place, json!({ "part": part })),
        );
    }

    fn call(&mut self, index: usize, item: &Value, event: &str, field: &str) {
        let place = json!({ "item_id": item["id"], "output_index": index });
        let text = item[field].as_str().unwrap_or_default();
        let kind = format!("response.{event}");
        self.deltas(&kind, text, &place, json!({}));
        let mut done = with(&place, json!({ field: text }));
        if field == "arguments" {
            done["name"] = item["name"].clone();
        }
        self.content(&format!("{kind}.done"), done);
    }

    fn deltas(&mut self, kind: &str, text: &str, place: &Value, extra: Value) {
        if self.only_done {
            return;
        }
        for piece in tokens::pieces(text, self.chunk) {
            let fields = with(&with(place, json!({ "delta": piece })), extra.clone());
            self.content(&format!("{kind}.delta"), fields);
        }
    }
}

/// An item as `output_item.added` shows it: named, but with nothing said.
fn empty(item: &Value) -> Value {
    let mut item = item.clone();
    match item["type"].as_str() {
        Some("reasoning") => item["summary"] = json!([]),
        Some("message") => item["content"] = json!([]),
        Some("function_call") => item["arguments"] = json!(""),
        Some("custom_tool_call") => item["input"] = json!(""),
        _ => {}
    }
    if item.get("status").is_some() {
        item["status"] = json!("in_progress");
    }
    item
}

fn with(fields: &Value, more: Value) -> Value {
    let mut merged = fields.clone();
    if let (Value::Object(merged), Value::Object(more)) = (&mut merged, more) {
        merged.extend(more);
    }
    merged
}
