use std::sync::Arc;

use bardo_profile::{SchemaCheck, SchemaMode};
use bardo_types::chat::{Assembler, ChatRequest, Choice, Finish, Text, ToolCall};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, ReasoningFormat, Service};
use bardo_types::profile::ResponseSchema;
use bardo_wire::codec::Target;

use super::*;
use crate::answer_notes::NoNotes;
use crate::answer_stages::AnswerStages;

fn stages() -> AnswerStages {
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
    let mut stages = AnswerStages::default();
    stages.add(Textual::new(&context));
    stages.add(Lift::new(&AnswerLift::new(&check)));
    stages
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
        let mut whole = answer.clone();
        stages().whole(&mut whole, &mut NoNotes);
        assert_ne!(whole, answer, "nothing was changed");
        let mut stages = stages();
        let mut changed = Vec::new();
        for step in answer.into_events() {
            let mut one = vec![step];
            stages.events(&mut one, &mut NoNotes);
            changed.extend(one);
        }
        assert_eq!(assembled(changed), whole);
    }
}
