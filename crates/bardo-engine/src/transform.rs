//! What a translated answer passes between its decoder and its encoder, streamed or whole.
//!
//! A new stage is a [`Transform`] and a line in [`Transforms::of`].

use bardo_profile::AnswerLift;
use bardo_types::chat::{ChatResponse, StreamEvent};
use bardo_wire::codec::DecodeContext;
use bardo_wire::textual::{self, EventFilter};

use crate::shape::Translation;

/// One change of an answer. The steps of a stream, changed one by one, make the same answer as the
/// whole one, changed at once.
pub(crate) trait Transform: Send {
    /// Takes the next step of a stream and appends what it becomes. What is held back comes with a
    /// later step, at the latest with the last one.
    fn step(&mut self, step: StreamEvent, out: &mut Vec<StreamEvent>);

    /// Changes a whole answer.
    fn whole(&mut self, answer: ChatResponse) -> ChatResponse;
}

/// All changes of one answer, in order.
pub(crate) struct Transforms {
    all: Vec<Box<dyn Transform>>,
    changed: Vec<StreamEvent>,
}

impl Transforms {
    /// The changes that an answer needs: calls and thinking are taken out of the text first, then
    /// the arguments of an answering tool become the answer.
    pub(crate) fn of(translation: &Translation) -> Self {
        let mut all: Vec<Box<dyn Transform>> = Vec::new();
        if translation.textual {
            all.push(Box::new(Textual::new(&translation.decode)));
        }
        if let Some(lift) = &translation.lift {
            all.push(Box::new(lift.clone()));
        }
        Self {
            all,
            changed: Vec::new(),
        }
    }

    /// No change: for an answer that was changed before.
    pub(crate) fn none() -> Self {
        Self {
            all: Vec::new(),
            changed: Vec::new(),
        }
    }

    /// Changes the steps in place.
    pub(crate) fn steps(&mut self, steps: &mut Vec<StreamEvent>) {
        for transform in &mut self.all {
            for step in steps.drain(..) {
                transform.step(step, &mut self.changed);
            }
            std::mem::swap(steps, &mut self.changed);
        }
    }

    /// Changes a whole answer.
    pub(crate) fn whole(mut self, answer: ChatResponse) -> ChatResponse {
        let all = self.all.iter_mut();
        all.fold(answer, |answer, transform| transform.whole(answer))
    }
}

/// Takes thinking and calls out of the text of models that write them there.
struct Textual {
    filter: EventFilter,
    context: DecodeContext,
}

impl Textual {
    fn new(context: &DecodeContext) -> Self {
        Self {
            filter: EventFilter::new(context),
            context: context.clone(),
        }
    }
}

impl Transform for Textual {
    fn step(&mut self, step: StreamEvent, out: &mut Vec<StreamEvent>) {
        self.filter.push(step, out);
    }

    fn whole(&mut self, answer: ChatResponse) -> ChatResponse {
        textual::filter_response(answer, &self.context)
    }
}

impl Transform for AnswerLift {
    fn step(&mut self, step: StreamEvent, out: &mut Vec<StreamEvent>) {
        AnswerLift::step(self, step, out);
    }

    fn whole(&mut self, mut answer: ChatResponse) -> ChatResponse {
        AnswerLift::whole(self, &mut answer);
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bardo_profile::{SchemaCheck, SchemaMode};
    use bardo_types::chat::{Assembler, ChatRequest, Choice, Finish, Text, ToolCall};
    use bardo_types::json::RawJson;
    use bardo_types::model::{Capabilities, Dialect, ReasoningFormat, Service};
    use bardo_types::profile::ResponseSchema;
    use bardo_wire::codec::Target;

    use super::*;
    use crate::steps::steps;

    fn transforms() -> Transforms {
        let capabilities = Capabilities {
            reasoning_format: ReasoningFormat::ThinkTags,
            ..Capabilities::default()
        };
        let context = DecodeContext {
            target: Target {
                model: "m".to_owned(),
                service: Service::Local,
                capabilities: Arc::new(capabilities),
            },
            request: Arc::new(ChatRequest::new(Dialect::Chat, "m")),
            renamed_tools: Vec::new(),
            id_seed: "1".to_owned(),
        };
        let schema = ResponseSchema {
            name: "answer".to_owned(),
            schema: RawJson::of(&serde_json::json!({ "type": "object" })).expect("JSON"),
            strict: true,
        };
        let check = SchemaCheck {
            schema,
            mode: SchemaMode::Tool,
        };
        Transforms {
            all: vec![
                Box::new(Textual::new(&context)),
                Box::new(AnswerLift::new(&check)),
            ],
            changed: Vec::new(),
        }
    }

    fn assembled(steps: Vec<StreamEvent>) -> ChatResponse {
        let mut assembler = Assembler::default();
        steps.into_iter().for_each(|step| assembler.push(step));
        assembler.finish().expect("a whole stream")
    }

    #[test]
    fn a_stream_and_a_whole_answer_are_changed_alike() {
        let call = ToolCall::new("c1", "answer", r#"{"a":1}"#);
        for parts in [
            vec![Text::new("<think>Hm.</think>Yes.").into()],
            vec![bardo_types::chat::Part::ToolCall(call)],
        ] {
            let choice = Choice {
                parts,
                finish: Some(Finish::Stop),
                ..Choice::default()
            };
            let answer = ChatResponse {
                choices: vec![choice],
                ..ChatResponse::default()
            };
            let whole = transforms().whole(answer.clone());
            assert_ne!(whole, answer, "nothing was changed");
            let mut transforms = transforms();
            let mut changed = Vec::new();
            for step in steps(answer) {
                let mut one = vec![step];
                transforms.steps(&mut one);
                changed.extend(one);
            }
            assert_eq!(assembled(changed), whole);
        }
    }
}
