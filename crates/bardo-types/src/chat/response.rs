use crate::chat::{Finish, Part, Reasoning, StreamEvent, Text, ToolCall, ToolInput};
use crate::fault::Fault;
use crate::json::RawJson;
use crate::usage::Usage;

/// A whole answer, free of any dialect.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChatResponse {
    /// The provider's id.
    pub id: Option<String>,
    /// The model that answered, by the provider's name.
    pub model: Option<String>,
    /// Creation time, in Unix seconds.
    pub created: Option<u64>,
    /// The service tier used.
    pub service_tier: Option<String>,
    /// One per answer asked for.
    pub choices: Vec<Choice>,
    /// The reported usage; `None` where the provider reported none.
    pub usage: Option<Usage>,
}

/// One of the answers to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    /// Reasoning, text and calls in the order they were made. Only [`Part::Reasoning`],
    /// [`Part::Text`], [`Part::Refusal`], [`Part::ToolCall`], [`Part::Server`] and
    /// [`Part::Audio`] occur.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub finish: Option<Finish>,
    /// The stop text that came up.
    pub stop_sequence: Option<String>,
    /// Details of a refusal, as Anthropic writes `stop_details`.
    pub details: Option<RawJson>,
    /// The `logprobs` object as OpenAI writes it.
    pub logprobs: Option<RawJson>,
}

impl Choice {
    /// Whether a tool is called.
    #[must_use]
    pub fn has_tool_calls(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::ToolCall(_)))
    }
}

/// Builds the whole answer from its steps: `assemble(stream) == buffered answer` is the property
/// every codec is held to.
#[derive(Debug, Default)]
pub struct Assembler {
    response: ChatResponse,
    building: Vec<Building>,
    done: bool,
    failed: Option<Fault>,
}

#[derive(Debug, Default)]
struct Building {
    open: OpenPart,
    /// Index into the choice's parts for each call number.
    calls: Vec<usize>,
    logprobs: Vec<RawJson>,
}

#[derive(Debug, Default, PartialEq, Clone, Copy)]
enum OpenPart {
    #[default]
    None,
    Reasoning,
    Text,
    Refusal,
}

impl Assembler {
    /// Takes the next step.
    pub fn push(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Start {
                id,
                model,
                created,
                service_tier,
            } => {
                self.response.id = id;
                self.response.model = model;
                self.response.created = created;
                self.response.service_tier = service_tier;
            }
            StreamEvent::Usage(usage) => match &mut self.response.usage {
                Some(known) => known.supersede(&usage),
                empty => *empty = Some(usage),
            },
            StreamEvent::Done => self.done = true,
            StreamEvent::Failed(fault) => self.failed = Some(fault),
            event => self.push_to_choice(event),
        }
    }

    fn push_to_choice(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Reasoning {
                choice,
                text,
                summary,
            } => {
                let (choice, building) = self.at(choice);
                if building.open != OpenPart::Reasoning {
                    choice.parts.push(Part::Reasoning(Reasoning {
                        summary,
                        ..Reasoning::default()
                    }));
                    building.open = OpenPart::Reasoning;
                }
                if let Some(Part::Reasoning(reasoning)) = choice.parts.last_mut() {
                    reasoning.text.push_str(&text);
                }
            }
            StreamEvent::ReasoningEnd { choice, opaque } => {
                let (choice, building) = self.at(choice);
                match choice.parts.last_mut() {
                    Some(Part::Reasoning(reasoning)) if building.open == OpenPart::Reasoning => {
                        reasoning.opaque = opaque
                    }
                    _ if opaque.is_some() => {
                        choice.parts.push(Part::Reasoning(Reasoning {
                            opaque,
                            ..Reasoning::default()
                        }));
                    }
                    _ => {}
                }
                building.open = OpenPart::None;
            }
            StreamEvent::Text { choice, text } => {
                let (choice, building) = self.at(choice);
                if building.open != OpenPart::Text {
                    choice.parts.push(Text::default().into());
                    building.open = OpenPart::Text;
                }
                if let Some(Part::Text(open)) = choice.parts.last_mut() {
                    open.text.push_str(&text);
                }
            }
            StreamEvent::TextEnd { choice, opaque } => {
                let (choice, building) = self.at(choice);
                match choice.parts.last_mut() {
                    Some(Part::Text(open)) if building.open == OpenPart::Text => {
                        open.opaque = opaque
                    }
                    _ if opaque.is_some() => choice.parts.push(
                        Text {
                            opaque,
                            ..Text::default()
                        }
                        .into(),
                    ),
                    _ => {}
                }
                building.open = OpenPart::None;
            }
            StreamEvent::Citation { choice, citation } => {
                let (choice, building) = self.at(choice);
                if building.open != OpenPart::Text {
                    choice.parts.push(Text::default().into());
                    building.open = OpenPart::Text;
                }
                if let Some(Part::Text(open)) = choice.parts.last_mut() {
                    open.citations.push(citation);
                }
            }
            event => self.push_rest(event),
        }
    }

    fn push_rest(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Refusal { choice, text } => {
                let (choice, building) = self.at(choice);
                match choice.parts.last_mut() {
                    Some(Part::Refusal(open)) if building.open == OpenPart::Refusal => {
                        open.push_str(&text)
                    }
                    _ => choice.parts.push(Part::Refusal(text)),
                }
                building.open = OpenPart::Refusal;
            }
            StreamEvent::Server { choice, block } => {
                let (choice, building) = self.at(choice);
                choice.parts.push(Part::Server(block));
                building.open = OpenPart::None;
            }
            StreamEvent::Logprobs { choice, raw } => self.at(choice).1.logprobs.push(raw),
            StreamEvent::Finish {
                choice,
                reason,
                stop_sequence,
                details,
            } => {
                let (choice, building) = self.at(choice);
                building.open = OpenPart::None;
                choice.finish = Some(reason);
                choice.stop_sequence = stop_sequence;
                choice.details = details;
            }
            event => self.push_tool(event),
        }
    }

    fn push_tool(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::ToolStart {
                choice,
                call,
                id,
                name,
                custom,
                opaque,
            } => {
                let (choice, building) = self.at(choice);
                building.open = OpenPart::None;
                let input = if custom {
                    ToolInput::Text(String::new())
                } else {
                    ToolInput::Json(String::new())
                };
                let place = choice.parts.len();
                choice.parts.push(Part::ToolCall(ToolCall {
                    input,
                    opaque,
                    ..ToolCall::new(id, name, "")
                }));
                let call = call as usize;
                if building.calls.len() <= call {
                    building.calls.resize(call + 1, usize::MAX);
                }
                building.calls[call] = place;
            }
            StreamEvent::ToolInput {
                choice,
                call,
                fragment,
            } => {
                let (choice, building) = self.at(choice);
                let place = building
                    .calls
                    .get(call as usize)
                    .copied()
                    .unwrap_or(usize::MAX);
                if let Some(Part::ToolCall(ToolCall {
                    input: ToolInput::Json(text) | ToolInput::Text(text),
                    ..
                })) = choice.parts.get_mut(place)
                {
                    text.push_str(&fragment);
                }
            }
            _ => {}
        }
    }

    fn at(&mut self, choice: u32) -> (&mut Choice, &mut Building) {
        let index = choice as usize;
        if self.response.choices.len() <= index {
            self.response
                .choices
                .resize_with(index + 1, Choice::default);
        }
        if self.building.len() <= index {
            self.building.resize_with(index + 1, Building::default);
        }
        (&mut self.response.choices[index], &mut self.building[index])
    }

    /// The part of the answer so far, whether or not it is complete.
    #[must_use]
    pub fn so_far(&self) -> &ChatResponse {
        &self.response
    }

    /// The whole answer.
    ///
    /// # Errors
    /// The fault, when the stream failed or stopped before its end.
    pub fn finish(mut self) -> Result<ChatResponse, Fault> {
        if let Some(fault) = self.failed {
            return Err(fault);
        }
        if !self.done {
            return Err(Fault::new(
                crate::fault::FaultClass::Connection,
                "the stream stopped before its end",
            ));
        }
        for (choice, building) in self.response.choices.iter_mut().zip(&self.building) {
            choice.logprobs = merge_logprobs(&building.logprobs);
        }
        Ok(self.response)
    }
}

/// Joins the `content` and `refusal` lists of several `logprobs` objects.
fn merge_logprobs(pieces: &[RawJson]) -> Option<RawJson> {
    use serde_json::{Map, Value};
    if pieces.len() < 2 {
        return pieces.first().cloned();
    }
    let mut merged = Map::new();
    for piece in pieces {
        let Ok(object) = piece.read::<Map<String, Value>>() else {
            continue;
        };
        for (name, value) in object {
            match (merged.get_mut(&name), value) {
                (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
                (None | Some(Value::Null), value) => {
                    merged.insert(name, value);
                }
                _ => {}
            }
        }
    }
    RawJson::of(&merged).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_calls_and_a_signature_alone_assemble() {
        let mut assembler = Assembler::default();
        let start = |call, id: &str| StreamEvent::ToolStart {
            choice: 0,
            call,
            id: id.into(),
            name: "f".into(),
            custom: false,
            opaque: None,
        };
        let input = |call, fragment: &str| StreamEvent::ToolInput {
            choice: 0,
            call,
            fragment: fragment.into(),
        };
        let signature = crate::chat::Opaque::AnthropicSignature("sig".into());
        for event in [
            StreamEvent::ReasoningEnd {
                choice: 0,
                opaque: Some(signature.clone()),
            },
            start(0, "a"),
            start(1, "b"),
            input(1, "{\"x\":"),
            input(0, "{}"),
            input(1, "1}"),
            StreamEvent::Finish {
                choice: 0,
                reason: Finish::ToolCalls,
                stop_sequence: None,
                details: None,
            },
            StreamEvent::Done,
        ] {
            assembler.push(event);
        }
        let response = assembler.finish().unwrap();
        assert_eq!(
            response.choices[0].parts,
            vec![
                Part::Reasoning(Reasoning {
                    opaque: Some(signature),
                    ..Reasoning::default()
                }),
                Part::ToolCall(ToolCall::new("a", "f", "{}")),
                Part::ToolCall(ToolCall::new("b", "f", "{\"x\":1}")),
            ]
        );
    }

    #[test]
    fn a_stream_without_its_end_is_a_fault() {
        let mut assembler = Assembler::default();
        assembler.push(StreamEvent::Text {
            choice: 0,
            text: "half".into(),
        });
        assert!(assembler.finish().is_err());
    }
}
