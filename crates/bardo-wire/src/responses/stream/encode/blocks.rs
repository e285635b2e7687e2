use bardo_types::chat::{Citation, Opaque};
use bardo_types::json::RawJson;

use super::Events;
use crate::json::Object;
use crate::responses::{output, reasoning_item};

/// A reasoning item whose words are on their way.
pub(super) struct OpenThinking {
    place: usize,
    id: String,
    text: String,
    summary: bool,
    /// The part of the summary, or of the content.
    index: u64,
}

/// A message whose parts are on their way.
pub(super) struct OpenMessage {
    place: usize,
    id: String,
    /// Whether it is the answer, known at its end.
    pub(super) phase: Option<RawJson>,
    /// Parts that are complete.
    content: Vec<RawJson>,
    part: Option<MessagePart>,
}

struct MessagePart {
    text: String,
    refusal: bool,
    citations: Vec<Citation>,
    logprobs: Vec<RawJson>,
}

/// Members that say where a delta belongs.
pub(super) fn at(event: &mut Object<'_>, place: usize, id: &str) {
    event.set("item_id", id);
    event.set("output_index", place as u64);
}

impl OpenThinking {
    pub(super) fn begin(
        place: usize,
        id: String,
        summary: bool,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) -> Self {
        let thinking = Self {
            place,
            id,
            text: String::new(),
            summary,
            index: 0,
        };
        thinking.part("added", "", events, out);
        thinking
    }

    /// Writes a whole part of a summary.
    pub(super) fn whole_part(
        place: usize,
        id: &str,
        index: u64,
        text: &str,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) {
        let mut thinking = Self {
            place,
            id: id.to_owned(),
            text: String::new(),
            summary: true,
            index,
        };
        thinking.part("added", "", events, out);
        thinking.think(text, events, out);
        thinking.end_part(events, out);
    }

    pub(super) fn think(&mut self, text: &str, events: &mut Events, out: &mut Vec<u8>) {
        self.text.push_str(text);
        self.words("delta", "delta", text, events, out);
    }

    /// `…_part.added` and `…_part.done`.
    fn part(&self, step: &str, text: &str, events: &mut Events, out: &mut Vec<u8>) {
        let (kind, index, part) = if self.summary {
            (
                "response.reasoning_summary_part.",
                "summary_index",
                "summary_text",
            )
        } else {
            ("response.content_part.", "content_index", "reasoning_text")
        };
        events.write(&format!("{kind}{step}"), out, |event| {
            at(event, self.place, &self.id);
            event.set(index, self.index);
            let mut object = event.object("part");
            object.set("type", part);
            object.set("text", text);
            object.end();
        });
    }

    /// `…_text.delta` and `…_text.done`.
    fn words(
        &self,
        step: &str,
        key: &'static str,
        text: &str,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) {
        let (kind, index) = if self.summary {
            ("response.reasoning_summary_text.", "summary_index")
        } else {
            ("response.reasoning_text.", "content_index")
        };
        events.write(&format!("{kind}{step}"), out, |event| {
            at(event, self.place, &self.id);
            event.set(index, self.index);
            event.set(key, text);
        });
    }

    fn end_part(&self, events: &mut Events, out: &mut Vec<u8>) {
        self.words("done", "text", &self.text, events, out);
        self.part("done", &self.text, events, out);
    }

    pub(super) fn end(self, opaque: Option<Opaque>, events: &mut Events, out: &mut Vec<u8>) {
        self.end_part(events, out);
        let item = reasoning_item::of_streamed(&self.text, self.summary, opaque, &self.id);
        events.done(self.place, item, out);
    }
}

impl OpenMessage {
    pub(super) fn begin(place: usize, id: String) -> Self {
        Self {
            place,
            id,
            phase: None,
            content: Vec::new(),
            part: None,
        }
    }

    /// Whether the open part is a refusal; `None` when no part is open.
    pub(super) fn refusing(&self) -> Option<bool> {
        self.part.as_ref().map(|part| part.refusal)
    }

    /// The words of the open part.
    pub(super) fn said(&self) -> &str {
        self.part.as_ref().map_or("", |part| &part.text)
    }

    pub(super) fn cite(&mut self, citation: Citation) {
        if let Some(part) = &mut self.part {
            part.citations.push(citation);
        }
    }

    /// Adds probabilities to the open part, for its end alone.
    pub(super) fn weigh(&mut self, logprobs: Vec<RawJson>) {
        if let Some(part) = &mut self.part {
            part.logprobs.extend(logprobs);
        }
    }

    fn at_part(&self, event: &mut Object<'_>) {
        at(event, self.place, &self.id);
        event.set("content_index", self.content.len() as u64);
    }

    pub(super) fn say(
        &mut self,
        text: &str,
        refusal: bool,
        logprobs: Vec<RawJson>,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) {
        if self.part.is_none() {
            let empty = if refusal {
                output::refusal_part("")
            } else {
                output::text_part("", &[], &[])
            };
            events.write("response.content_part.added", out, |event| {
                self.at_part(event);
                event.raw("part", empty.as_str());
            });
            self.part = Some(MessagePart {
                text: String::new(),
                refusal,
                citations: Vec::new(),
                logprobs: Vec::new(),
            });
        }
        let kind = if refusal {
            "response.refusal.delta"
        } else {
            "response.output_text.delta"
        };
        events.write(kind, out, |event| {
            self.at_part(event);
            event.set("delta", text);
            if !refusal {
                event.set("logprobs", &logprobs);
            }
        });
        if let Some(part) = &mut self.part {
            part.text.push_str(text);
            part.logprobs.extend(logprobs);
        }
    }

    /// Closes the open part. Annotations come here, when the extent of their text is known.
    pub(super) fn end_part(&mut self, before: &mut u64, events: &mut Events, out: &mut Vec<u8>) {
        let Some(part) = self.part.take() else { return };
        if part.refusal {
            events.write("response.refusal.done", out, |event| {
                self.at_part(event);
                event.set("refusal", &part.text);
            });
            let done = output::refusal_part(&part.text);
            self.close_part(done, events, out);
            return;
        }
        let length = output::characters(&part.text);
        let annotations = output::annotations_of(&part.citations, *before, length);
        *before += length;
        for (index, annotation) in annotations.iter().enumerate() {
            events.write("response.output_text.annotation.added", out, |event| {
                self.at_part(event);
                event.set("annotation_index", index as u64);
                event.raw("annotation", annotation.as_str());
            });
        }
        events.write("response.output_text.done", out, |event| {
            self.at_part(event);
            event.set("text", &part.text);
            event.set("logprobs", &part.logprobs);
        });
        let done = output::text_part(&part.text, &annotations, &part.logprobs);
        self.close_part(done, events, out);
    }

    fn close_part(&mut self, part: RawJson, events: &mut Events, out: &mut Vec<u8>) {
        events.write("response.content_part.done", out, |event| {
            self.at_part(event);
            event.raw("part", part.as_str());
        });
        self.content.push(part);
    }

    /// Closes the message.
    pub(super) fn end(
        mut self,
        status: &str,
        before: &mut u64,
        events: &mut Events,
        out: &mut Vec<u8>,
    ) {
        self.end_part(before, events, out);
        let item = output::message(&self.id, status, self.phase.as_ref(), &self.content);
        events.done(self.place, item, out);
    }
}
