//! Output items: what a caller gets for the parts of an answer.

use bardo_types::chat::{
    ChatResponse, Choice, Citation, Finish, Part, ServerBlock, ToolCall, ToolInput,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use super::{annotations, reasoning_item};
use crate::codec::ReplyContext;
use crate::json::{Array, kept_object, wire_object};
use crate::kit::custom_tools::unwrapped;
use crate::kit::namespaces;
use crate::kit::namespaces::Called;
use crate::kit::openai::Logprobs;

/// The text behind the kind in ids of items that the gateway made, so that they are never taken for
/// ids that OpenAI knows.
pub(super) const OWN_ID: &str = "_bardo_";

/// Makes the ids of items; numbered, because each item of an answer has its own.
pub(super) fn item_id(kind: &str, seed: &str, index: usize) -> String {
    format!("{kind}{OWN_ID}{seed}_{index}")
}

/// The answer that made an item, and the place of the item in it; `None` for an id that is not the
/// gateway's.
pub(super) fn maker_of_item(id: &str) -> Option<(String, usize)> {
    let (_, rest) = id.split_once(OWN_ID)?;
    let (seed, index) = rest.rsplit_once('_')?;
    Some((own_response_id(seed), index.parse().ok()?))
}

/// The id of an answer that has none of OpenAI's.
pub(super) fn own_response_id(seed: &str) -> String {
    format!("resp_{seed}")
}

/// The part of a message that holds words.
pub(super) fn text_part(text: &str, annotations: &[RawJson], logprobs: &[RawJson]) -> RawJson {
    kept_object(|object| {
        object.set("type", "output_text");
        object.set("text", text);
        object.set("annotations", annotations);
        object.set("logprobs", logprobs);
    })
}

/// The part of a message that holds a refusal.
pub(super) fn refusal_part(refusal: &str) -> RawJson {
    kept_object(|object| {
        object.set("type", "refusal");
        object.set("refusal", refusal);
    })
}

/// A message of the model.
pub(super) fn message(
    id: &str,
    status: &str,
    phase: Option<&RawJson>,
    content: &[RawJson],
) -> RawJson {
    kept_object(|object| {
        object.set("id", id);
        object.set("type", "message");
        object.set("status", status);
        object.set("role", "assistant");
        object.set_some("phase", phase);
        object.set("content", content);
    })
}

wire_object! {
    /// The end of a message.
    struct MessageEnd<'a> {
        "phase" => phase: Option<&'a RawValue>,
    }
}

/// The phase of the message that a block ends.
pub(super) fn phase_of(end: &ServerBlock) -> Option<RawJson> {
    let end: MessageEnd<'_> = end.raw.read().ok()?;
    end.phase.map(RawJson::from)
}

/// A call of a function.
pub(super) fn function_call(
    id: &str,
    status: &str,
    call_id: &str,
    called: &Called,
    arguments: &str,
) -> RawJson {
    kept_object(|object| {
        object.set("id", id);
        object.set("type", "function_call");
        object.set("status", status);
        object.set("arguments", arguments);
        object.set("call_id", call_id);
        object.set("name", &called.name);
        object.set_some("namespace", called.namespace.as_deref());
    })
}

/// A call of a custom tool.
pub(super) fn custom_call(
    id: &str,
    status: &str,
    call_id: &str,
    name: &str,
    input: &str,
) -> RawJson {
    kept_object(|object| {
        object.set("id", id);
        object.set("type", "custom_tool_call");
        object.set("status", status);
        object.set("call_id", call_id);
        object.set("input", input);
        object.set("name", name);
    })
}

/// The arguments of a call as this dialect shows them: never empty.
pub(super) fn arguments(text: &str) -> &str {
    if text.trim().is_empty() { "{}" } else { text }
}

/// How a call stands: arguments that are no JSON were cut off.
pub(super) fn call_status(arguments: &str) -> &'static str {
    match serde_json::from_str::<serde::de::IgnoredAny>(arguments) {
        Ok(_) => "completed",
        Err(_) => "incomplete",
    }
}

/// The entries of a `logprobs` object in the form of Chat Completions.
pub(super) fn logprob_entries(raw: &RawJson) -> Vec<RawJson> {
    let logprobs: Logprobs<'_> = raw.read().unwrap_or_default();
    let content = logprobs.content.unwrap_or_default();
    content.into_iter().map(RawJson::from).collect()
}

/// Annotations for a part of `length` characters after `before` others.
pub(super) fn annotations_of(citations: &[Citation], before: u64, length: u64) -> Vec<RawJson> {
    citations
        .iter()
        .filter_map(|citation| annotations::write(citation, before, length))
        .collect()
}

/// The number of characters, as offsets of annotations count them.
pub(super) fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}

/// Whether the answer was cut off.
pub(super) fn is_cut(finish: Option<Finish>) -> bool {
    matches!(finish, Some(Finish::Length | Finish::ContextWindow))
}

/// Whether the caller asked for a summary of the thinking, and looks for thinking nowhere else.
pub(super) fn wants_summary(context: &ReplyContext) -> bool {
    context.request.reasoning.summary.is_some()
}

/// All items of an answer.
pub(super) fn items(response: &ChatResponse, context: &ReplyContext) -> Vec<RawJson> {
    let Some(choice) = response.choices.first() else {
        return Vec::new();
    };
    let mut builder = OutputBuilder {
        context,
        items: Vec::new(),
        content: Vec::new(),
        before: 0,
        logprobs: choice
            .logprobs
            .as_ref()
            .map(logprob_entries)
            .unwrap_or_default(),
    };
    builder.choice(choice);
    builder.items
}

struct OutputBuilder<'a> {
    context: &'a ReplyContext,
    items: Vec<RawJson>,
    /// Parts of the message under construction.
    content: Vec<RawJson>,
    before: u64,
    logprobs: Vec<RawJson>,
}

impl OutputBuilder<'_> {
    fn choice(&mut self, choice: &Choice) {
        for part in &choice.parts {
            self.part(part);
        }
        let cut = is_cut(choice.finish);
        self.message(if cut { "incomplete" } else { "completed" }, None);
    }

    fn id(&self, prefix: &str) -> String {
        item_id(prefix, &self.context.id_seed, self.items.len())
    }

    fn message(&mut self, status: &str, phase: Option<&RawJson>) {
        if !self.content.is_empty() {
            let content = std::mem::take(&mut self.content);
            let id = self.id("msg");
            self.items.push(message(&id, status, phase, &content));
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => {
                let length = characters(&text.text);
                if length > 0 {
                    let annotations = annotations_of(&text.citations, self.before, length);
                    let logprobs = std::mem::take(&mut self.logprobs);
                    self.content
                        .push(text_part(&text.text, &annotations, &logprobs));
                    self.before += length;
                }
                if let Some(opaque) = &text.opaque {
                    self.message("completed", None);
                    let id = self.id("rs");
                    let item = reasoning_item::of_text_state(opaque, &text.text, &id);
                    self.items.push(item);
                }
            }
            Part::Refusal(refusal) => self.content.push(refusal_part(refusal)),
            Part::Reasoning(reasoning) => {
                self.message("completed", None);
                let id = self.id("rs");
                let wanted = wants_summary(self.context);
                let item = reasoning_item::of_reasoning(reasoning, wanted, &id);
                self.items.push(item);
            }
            Part::ToolCall(call) => {
                self.message("completed", None);
                self.call(call);
            }
            Part::Server(block) if block.ends_message() => {
                self.message("completed", phase_of(block).as_ref());
            }
            Part::Server(block) if block.dialect == Dialect::Responses => {
                self.message("completed", None);
                self.items.push(block.raw.clone());
            }
            // Another dialect's blocks and the rest have no item here.
            _ => {}
        }
    }

    fn call(&mut self, call: &ToolCall) {
        if let Some(opaque) = &call.opaque {
            let id = self.id("rs");
            self.items.push(reasoning_item::of_call_state(opaque, &id));
        }
        let custom = |text: &str| {
            let id = self.id("ctc");
            custom_call(&id, "completed", &call.id, &call.name, text)
        };
        let item = match &call.input {
            ToolInput::Text(text) => custom(text),
            ToolInput::Json(text) if self.context.request.is_custom_tool(&call.name) => {
                custom(unwrapped(text).as_deref().unwrap_or(text))
            }
            ToolInput::Json(text) => {
                let text = arguments(text);
                let (id, status) = (self.id("fc"), call_status(text));
                let called = namespaces::called(&self.context.request, &call.name);
                function_call(&id, status, &call.id, &called, text)
            }
        };
        self.items.push(item);
    }
}

/// Writes items as an array.
pub(super) fn write_items(items: &[RawJson], out: &mut Vec<u8>) {
    let mut list = Array::new(out);
    for item in items {
        list.raw(item.as_str());
    }
    list.end();
}
