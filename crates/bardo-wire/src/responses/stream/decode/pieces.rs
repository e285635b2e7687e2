//! Deltas of words, thinking and arguments, and what their `done` events add.

use super::{
    CallState, Event, ItemProgress, ItemState, MessageState, Opaque, OutputPart, RawJson, RawValue,
    ReasoningState, ResponsesDecoder, StreamEvent, annotations, characters, logprobs, loose_text,
    reasoning_item,
};

/// What of `whole` is missing after `sent`. A server whose `done` differs from its deltas is
/// taken at its deltas.
fn rest<'a>(whole: &'a str, sent: &str) -> &'a str {
    whole.strip_prefix(sent).unwrap_or_default()
}

impl ResponsesDecoder {
    /// Deltas and ends of message text, refusals and inputs of calls.
    pub(super) fn words(
        &mut self,
        kind: &str,
        event: &Event<'_>,
        place: u64,
        out: &mut Vec<StreamEvent>,
    ) {
        let part = event.content_index.unwrap_or(0);
        match kind {
            "response.output_text.delta" | "response.text.delta" => {
                let delta = loose_text(event.delta);
                // The message is begun by then.
                self.message(place, part, out);
                let entries = event.logprobs.as_deref().unwrap_or_default();
                self.weigh(place, entries, out);
                self.say(place, part, &delta, false, out);
            }
            "response.output_text.done" | "response.text.done" => {
                if let Some(text) = event.text.as_deref() {
                    self.say_rest(place, part, text, false, out);
                }
            }
            "response.output_text.annotation.added" => {
                if let Some(raw) = event.annotation {
                    self.cite(place, part, raw, out);
                }
            }
            "response.refusal.delta" => {
                let delta = loose_text(event.delta);
                self.say(place, part, &delta, true, out);
            }
            "response.refusal.done" => {
                if let Some(refusal) = event.refusal.as_deref() {
                    self.say_rest(place, part, refusal, true, out);
                }
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let delta = loose_text(event.delta);
                self.call_more(place, &delta, out);
            }
            "response.function_call_arguments.done" => {
                self.call_rest(place, event.arguments, out);
            }
            "response.custom_tool_call_input.done" => self.call_rest(place, event.input, out),
            _ => {}
        }
    }

    /// The message at a place, with `part` open.
    fn message(
        &mut self,
        place: u64,
        part: u64,
        out: &mut Vec<StreamEvent>,
    ) -> Option<&mut MessageState> {
        let ItemState::Message(message) = &mut self
            .items
            .entry(place)
            .or_insert_with(|| ItemProgress::of_kind("message"))
            .body
        else {
            return None;
        };
        if message.part != part {
            if !message.text.is_empty() && !message.ended {
                out.push(steps::text_end(0, None));
                self.before += characters(&message.text);
            }
            *message = MessageState {
                part,
                ..MessageState::default()
            };
        }
        Some(message)
    }

    fn say(
        &mut self,
        place: u64,
        part: u64,
        text: &str,
        refusal: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(message) = self.message(place, part, out) else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let text = text.to_owned();
        if refusal {
            // Refusals count no characters of the text, so they are kept apart by `ended`.
            message.ended = true;
            message.text.push_str(&text);
            self.seen.refused = true;
            out.push(StreamEvent::Refusal { choice: 0, text });
        } else {
            message.text.push_str(&text);
            out.push(StreamEvent::Text { choice: 0, text });
        }
    }

    fn say_rest(
        &mut self,
        place: u64,
        part: u64,
        whole: &str,
        refusal: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(message) = self.message(place, part, out) else {
            return;
        };
        let missing = rest(whole, &message.text);
        self.say(place, part, missing, refusal, out);
    }

    fn weigh(&mut self, place: u64, entries: &[&RawValue], out: &mut Vec<StreamEvent>) {
        let Some(raw) = logprobs(entries) else { return };
        if let Some(ItemProgress {
            body: ItemState::Message(message),
            ..
        }) = self.items.get_mut(&place)
        {
            message.weighed = true;
        }
        out.push(StreamEvent::Logprobs { choice: 0, raw });
    }

    fn cite(&mut self, place: u64, part: u64, raw: &RawValue, out: &mut Vec<StreamEvent>) {
        let before = self.before;
        if let Some(message) = self.message(place, part, out) {
            message.cited += 1;
            let citation = annotations::read(raw.into(), before);
            out.push(steps::citation(0, citation));
        }
    }

    /// A finished content part: words, annotations and probabilities that no event brought.
    pub(super) fn part_done(
        &mut self,
        place: u64,
        index: u64,
        part: OutputPart<'_>,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(ItemProgress {
            body: ItemState::Message(message),
            ..
        }) = self.items.get(&place)
        else {
            return;
        };
        // An earlier part is over; the finished item only repeats it.
        if message.part > index {
            return;
        }
        if let Some(refusal) = part.refusal.as_deref() {
            self.say_rest(place, index, refusal, true, out);
            return;
        }
        self.say_rest(
            place,
            index,
            part.text.as_deref().unwrap_or_default(),
            false,
            out,
        );
        let Some(message) = self.message(place, index, out) else {
            return;
        };
        if message.text.is_empty() {
            return;
        }
        let (cited, weighed) = (message.cited, message.weighed);
        let annotations = part.annotations.unwrap_or_default();
        for raw in annotations.into_iter().skip(cited) {
            self.cite(place, index, raw, out);
        }
        if !weighed {
            self.weigh(place, &part.logprobs.unwrap_or_default(), out);
        }
    }

    /// The last part of a message is over.
    pub(super) fn end_text(&mut self, place: u64, out: &mut Vec<StreamEvent>) {
        if let Some(ItemProgress {
            body: ItemState::Message(message),
            ..
        }) = self.items.get_mut(&place)
            && !message.text.is_empty()
            && !std::mem::replace(&mut message.ended, true)
        {
            self.before += characters(&message.text);
            out.push(steps::text_end(0, None));
        }
    }

    fn call(&mut self, place: u64) -> Option<&mut CallState> {
        match self.items.get_mut(&place) {
            Some(ItemProgress {
                body: ItemState::Call(call),
                done: false,
            }) => Some(call),
            _ => None,
        }
    }

    fn call_more(&mut self, place: u64, fragment: &str, out: &mut Vec<StreamEvent>) {
        if fragment.is_empty() {
            return;
        }
        if let Some(call) = self.call(place) {
            call.text.push_str(fragment);
            out.push(steps::tool_input(0, call.number, fragment));
        }
    }

    pub(super) fn call_rest(
        &mut self,
        place: u64,
        whole: Option<&RawValue>,
        out: &mut Vec<StreamEvent>,
    ) {
        let whole = loose_text(whole);
        if let Some(call) = self.call(place) {
            let missing = rest(&whole, &call.text);
            self.call_more(place, missing, out);
        }
    }

    pub(super) fn reasoning(
        &mut self,
        kind: &str,
        event: &Event<'_>,
        place: u64,
        out: &mut Vec<StreamEvent>,
    ) {
        let summary = kind.starts_with("response.reasoning_summary");
        let entry = if summary {
            event.summary_index
        } else {
            event.content_index
        };
        let entry = entry.unwrap_or(0);
        if kind.ends_with("_text.delta") {
            let delta = loose_text(event.delta);
            self.think(place, entry, &delta, summary, out);
        }
    }

    fn thinking(&mut self, place: u64) -> Option<&mut ReasoningState> {
        match &mut self.item(place, "reasoning").body {
            ItemState::Reasoning(reasoning) => Some(reasoning),
            _ => None,
        }
    }

    fn think(
        &mut self,
        place: u64,
        entry: u64,
        text: &str,
        summary: bool,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(reasoning) = self.thinking(place) else {
            return;
        };
        // A server that sends the thinking and its summary is heard once.
        if text.is_empty() || reasoning.summary.is_some_and(|known| known != summary) {
            return;
        }
        let gap = summary && !reasoning.text.is_empty() && reasoning.entry != entry;
        let text = if gap {
            format!("{}{text}", reasoning_item::SUMMARY_GAP)
        } else {
            text.to_owned()
        };
        reasoning.summary = Some(summary);
        reasoning.entry = entry;
        reasoning.text.push_str(&text);
        out.push(steps::reasoning(0, text, summary));
    }

    pub(super) fn reasoning_done(
        &mut self,
        place: u64,
        raw: &RawValue,
        out: &mut Vec<StreamEvent>,
    ) {
        let whole = reasoning_item::of_upstream(RawJson::from(raw));
        if let Some(reasoning) = self.thinking(place) {
            let missing = rest(&whole.text, &reasoning.text).to_owned();
            if !missing.is_empty() && reasoning.summary.is_none_or(|known| known == whole.summary) {
                out.push(steps::reasoning(0, missing, whole.summary));
            }
        }
        let opaque: Option<Opaque> = whole.opaque;
        out.push(StreamEvent::ReasoningEnd { choice: 0, opaque });
    }
}
use crate::kit::steps;
