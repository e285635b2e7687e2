//! A whole answer as the events of a stream.

use crate::chat::{ChatResponse, Choice, Finish, Part, Reasoning, StreamEvent, ToolInput};

/// Events of an answer that is one text: its start, the text and its end, why it ended, its counts, and
/// that it is over.
const USUAL_EVENTS: usize = 6;

impl ChatResponse {
    /// A whole answer as the events of a stream: what [`Assembler`](crate::chat::Assembler) makes of
    /// them is the answer again. Sound has no events and is left out.
    #[must_use]
    pub fn into_events(self) -> Vec<StreamEvent> {
        let mut events = Vec::with_capacity(USUAL_EVENTS);
        events.push(StreamEvent::Start {
            id: self.id,
            model: self.model,
            created: self.created,
            service_tier: self.service_tier,
        });
        for (index, choice) in (0..).zip(self.choices) {
            of_choice(index, choice, &mut events);
        }
        events.extend(self.usage.map(StreamEvent::Usage));
        events.push(StreamEvent::Done);
        events
    }
}

fn of_choice(choice: u32, whole: Choice, events: &mut Vec<StreamEvent>) {
    let mut call = 0;
    let logprobs = whole.logprobs;
    events.extend(logprobs.map(|raw| StreamEvent::Logprobs { choice, raw }));
    for part in whole.parts {
        match part {
            Part::Reasoning(reasoning) => thought(choice, reasoning, events),
            Part::Text(text) => {
                if !text.text.is_empty() {
                    let text = text.text;
                    events.push(StreamEvent::Text { choice, text });
                }
                let citations = text.citations.into_iter();
                events.extend(citations.map(|citation| StreamEvent::Citation { choice, citation }));
                let opaque = text.opaque;
                events.push(StreamEvent::TextEnd { choice, opaque });
            }
            Part::Refusal(text) => events.push(StreamEvent::Refusal { choice, text }),
            Part::ToolCall(one) => {
                let (fragment, custom) = match one.input {
                    ToolInput::Json(json) => (json, false),
                    ToolInput::Text(text) => (text, true),
                };
                events.push(StreamEvent::ToolStart {
                    choice,
                    call,
                    id: one.id,
                    name: one.name,
                    custom,
                    opaque: one.opaque,
                });
                events.push(StreamEvent::ToolInput {
                    choice,
                    call,
                    fragment,
                });
                events.push(StreamEvent::ToolEnd { choice, call });
                call += 1;
            }
            Part::Server(block) => events.push(StreamEvent::Server { choice, block }),
            Part::Image(_)
            | Part::Audio(_)
            | Part::Document(_)
            | Part::SearchResult(_)
            | Part::ToolResult(_) => {}
        }
    }
    events.push(StreamEvent::Finish {
        choice,
        reason: whole.finish.unwrap_or(Finish::Unknown),
        stop_sequence: whole.stop_sequence,
        details: whole.details,
    });
}

fn thought(choice: u32, reasoning: Reasoning, events: &mut Vec<StreamEvent>) {
    if !reasoning.text.is_empty() {
        events.push(StreamEvent::Reasoning {
            choice,
            text: reasoning.text,
            summary: reasoning.summary,
        });
    }
    let opaque = reasoning.opaque;
    events.push(StreamEvent::ReasoningEnd { choice, opaque });
}

#[cfg(test)]
mod tests {
    use crate::chat::{Assembler, Opaque, Text, ToolCall};
    use crate::usage::Usage;

    use super::*;

    #[test]
    fn the_events_of_an_answer_make_the_answer_again() {
        let thinking = Reasoning {
            text: "Hm.".to_owned(),
            summary: true,
            opaque: Some(Opaque::AnthropicSignature("s".to_owned())),
        };
        let sealed = Reasoning {
            opaque: Some(Opaque::AnthropicRedacted("r".to_owned())),
            ..Reasoning::default()
        };
        let custom = ToolCall {
            input: ToolInput::Text("ls".to_owned()),
            ..ToolCall::new("c2", "shell", "")
        };
        let first = Choice {
            parts: vec![
                Part::Reasoning(thinking),
                Part::Reasoning(sealed),
                Text::new("One.").into(),
                Text::new("Two.").into(),
                Part::ToolCall(ToolCall::new("c1", "look", r#"{"at":1}"#)),
                Part::ToolCall(custom),
                Text::new("Three.").into(),
            ],
            finish: Some(Finish::ToolCalls),
            ..Choice::default()
        };
        let second = Choice {
            parts: vec![Part::Refusal("No.".to_owned())],
            finish: Some(Finish::Refusal),
            stop_sequence: Some("END".to_owned()),
            ..Choice::default()
        };
        let whole = ChatResponse {
            id: Some("a".to_owned()),
            model: Some("m".to_owned()),
            created: Some(7),
            service_tier: Some("default".to_owned()),
            choices: vec![first, second],
            usage: Some(Usage {
                fresh_input: 3,
                output: 4,
                ..Usage::default()
            }),
        };
        let mut assembler = Assembler::default();
        for event in whole.clone().into_events() {
            assembler.push(event);
        }
        assert_eq!(assembler.finish().expect("a whole stream"), whole);
    }
}
