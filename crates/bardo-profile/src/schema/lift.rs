//! Answers that came as the arguments of a tool, made answers again.

use std::collections::BTreeSet;

use bardo_types::chat::{ChatResponse, Finish, Part, StreamEvent, Text, ToolInput};

use super::{SchemaCheck, SchemaMode};

/// Turns the calls of the answering tool into text. Every other mode passes through unchanged.
#[derive(Debug, Clone)]
pub struct AnswerLift {
    /// The tool whose arguments are the answer; `None`: nothing to do.
    tool: Option<String>,
    /// The calls of it that are open, as (choice, call), with whether anything came yet.
    open: BTreeSet<(u32, u32)>,
    silent: BTreeSet<(u32, u32)>,
    /// Choices whose text block is open.
    texts: BTreeSet<u32>,
    /// Choices that called another tool.
    others: BTreeSet<u32>,
}

impl AnswerLift {
    /// For answers of one request.
    #[must_use]
    pub fn new(check: &SchemaCheck) -> Self {
        Self {
            tool: (check.mode == SchemaMode::Tool).then(|| check.schema.name.clone()),
            open: BTreeSet::new(),
            silent: BTreeSet::new(),
            texts: BTreeSet::new(),
            others: BTreeSet::new(),
        }
    }

    /// A whole answer.
    pub fn whole(&self, response: &mut ChatResponse) {
        let Some(tool) = &self.tool else { return };
        for choice in &mut response.choices {
            for part in &mut choice.parts {
                if let Part::ToolCall(call) = part
                    && call.name == *tool
                {
                    let text = match &call.input {
                        ToolInput::Json(json) if json.trim().is_empty() => "{}",
                        ToolInput::Json(json) => json,
                        ToolInput::Text(text) => text,
                    };
                    *part = Text::new(text).into();
                }
            }
            if choice.finish == Some(Finish::ToolCalls) && !choice.has_tool_calls() {
                choice.finish = Some(Finish::Stop);
            }
        }
    }

    /// One step of a stream; appends what it becomes.
    pub fn step(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        let Some(tool) = self.tool.as_deref() else {
            return out.push(event);
        };
        match event {
            StreamEvent::ToolStart {
                choice, call, name, ..
            } if name == tool => {
                if self.texts.remove(&choice) {
                    out.push(StreamEvent::TextEnd {
                        choice,
                        opaque: None,
                    });
                }
                self.open.insert((choice, call));
                self.silent.insert((choice, call));
            }
            StreamEvent::ToolInput {
                choice,
                call,
                fragment,
            } if self.open.contains(&(choice, call)) => {
                if !fragment.is_empty() {
                    self.silent.remove(&(choice, call));
                    out.push(StreamEvent::Text {
                        choice,
                        text: fragment,
                    });
                }
            }
            StreamEvent::ToolEnd { choice, call } if self.open.contains(&(choice, call)) => {
                self.close(choice, call, out);
            }
            StreamEvent::Finish {
                choice,
                reason,
                stop_sequence,
                details,
            } => {
                let left: Vec<u32> = self
                    .open
                    .iter()
                    .filter(|(of, _)| *of == choice)
                    .map(|(_, call)| *call)
                    .collect();
                for call in left {
                    self.close(choice, call, out);
                }
                let lifted = reason == Finish::ToolCalls && !self.others.contains(&choice);
                out.push(StreamEvent::Finish {
                    choice,
                    reason: if lifted { Finish::Stop } else { reason },
                    stop_sequence,
                    details,
                });
            }
            event => {
                match &event {
                    StreamEvent::Text { choice, .. } => {
                        self.texts.insert(*choice);
                    }
                    StreamEvent::TextEnd { choice, .. } => {
                        self.texts.remove(choice);
                    }
                    StreamEvent::ToolStart { choice, .. } => {
                        self.others.insert(*choice);
                    }
                    _ => {}
                }
                out.push(event);
            }
        }
    }

    fn close(&mut self, choice: u32, call: u32, out: &mut Vec<StreamEvent>) {
        self.open.remove(&(choice, call));
        if self.silent.remove(&(choice, call)) {
            let text = "{}".to_owned();
            out.push(StreamEvent::Text { choice, text });
        }
        out.push(StreamEvent::TextEnd {
            choice,
            opaque: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::Assembler;

    use super::*;
    use crate::table::named_schema;

    fn lift(mode: SchemaMode) -> AnswerLift {
        AnswerLift::new(&SchemaCheck {
            schema: named_schema("capture_result").unwrap(),
            mode,
        })
    }

    fn steps(name: &str, fragments: &[&str], ended: bool) -> Vec<StreamEvent> {
        let (choice, call) = (0, 0);
        let mut steps = vec![
            StreamEvent::Start {
                id: None,
                model: None,
                created: None,
                service_tier: None,
            },
            StreamEvent::Text {
                choice,
                text: "So be it.".to_owned(),
            },
            StreamEvent::ToolStart {
                choice,
                call,
                id: "call_1".to_owned(),
                name: name.to_owned(),
                custom: false,
                opaque: None,
            },
        ];
        steps.extend(fragments.iter().map(|fragment| StreamEvent::ToolInput {
            choice,
            call,
            fragment: (*fragment).to_owned(),
        }));
        if ended {
            steps.push(StreamEvent::ToolEnd { choice, call });
        }
        steps.push(StreamEvent::Finish {
            choice,
            reason: Finish::ToolCalls,
            stop_sequence: None,
            details: None,
        });
        steps.push(StreamEvent::Done);
        steps
    }

    fn assembled(steps: Vec<StreamEvent>) -> ChatResponse {
        let mut assembler = Assembler::default();
        for step in steps {
            assembler.push(step);
        }
        assembler.finish().expect("a whole stream")
    }

    #[test]
    fn a_stream_and_a_whole_answer_are_lifted_alike() {
        for (name, fragments, ended) in [
            ("capture_result", &["{\"captures\"", ":[]}"][..], true),
            ("capture_result", &["{}"], false),
            ("capture_result", &[], true),
            ("capture_result", &["", ""], false),
            ("another", &["{}"], true),
        ] {
            for mode in [SchemaMode::Tool, SchemaMode::Native] {
                let steps = steps(name, fragments, ended);
                let mut whole = assembled(steps.clone());
                lift(mode).whole(&mut whole);
                let mut streaming = lift(mode);
                let mut lifted = Vec::new();
                for step in steps {
                    streaming.step(step, &mut lifted);
                }
                assert_eq!(assembled(lifted), whole, "{name} {fragments:?} {mode:?}");
                let is_lifted = mode == SchemaMode::Tool && name == "capture_result";
                let choice = &whole.choices[0];
                assert_eq!(choice.has_tool_calls(), !is_lifted, "{name}");
                let finish = if is_lifted {
                    Finish::Stop
                } else {
                    Finish::ToolCalls
                };
                assert_eq!(choice.finish, Some(finish), "{name}");
            }
        }
    }
}
