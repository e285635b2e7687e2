//! What the scripted model gets to see of a request.

use serde_json::{Map, Value};

use super::check::Checked;
use super::server_tools;
use super::thinking::Mode;
use super::turns::{Block, Role};
use crate::chat::facts::texts_of;
use crate::dialect::Dialect;
use crate::recorded::Recorded;
use crate::script::{Choice, Facts, Input, Output, Said, Tool};

/// Boils a request down to the facts that every dialect shares.
pub(super) fn of(checked: &Checked, request: &Recorded) -> Facts {
    let body = &checked.body;
    let mut facts = Facts {
        service: request.service,
        dialect: Dialect::Messages,
        from: Dialect::of_caller(request),
        model: checked.asked_model.clone(),
        tools: custom_tools(body),
        choice: choice(body),
        one_call: body
            .get("tool_choice")
            .is_some_and(|choice| choice["disable_parallel_tool_use"] == true),
        output: output(body),
        can_think: checked.plan.mode != Mode::Off,
        thinking: checked.plan.mode == Mode::Manual
            || (checked.plan.mode == Mode::Adaptive
                && checked.max_tokens.is_none_or(|limit| limit >= 64)),
        max_tokens: checked.max_tokens.filter(|limit| *limit > 0),
        ..Facts::default()
    };
    let stops = body.get("stop_sequences").and_then(Value::as_array);
    facts.stop = stops
        .into_iter()
        .flatten()
        .filter_map(|stop| stop.as_str().map(str::to_owned))
        .collect();
    if let Some(system) = body.get("system") {
        facts.harness.note(&texts_of(system));
    }
    for turn in &checked.turns {
        if turn.role == Role::Assistant {
            facts.said.push(Said::Assistant);
        }
        for block in &turn.blocks {
            read_block(turn.role, block, &mut facts);
        }
    }
    facts
}

fn read_block(role: Role, block: &Block, facts: &mut Facts) {
    match (role, block.kind()) {
        (Role::Assistant, "tool_use") => {
            let input = Input::Json(block.value["input"].clone());
            facts.called(block.text("id"), block.text("name"), input);
        }
        (Role::Assistant, _) => {}
        (_, kind) => {
            note_attachments(&block.value, facts);
            let text = block.text("text");
            if kind == "text" {
                facts.harness.note(text);
            }
            match (role, kind) {
                (Role::User, "text") => facts.said.push(Said::User(text.to_owned())),
                (_, "tool_result") => {
                    let result = texts_of(&block.value["content"]);
                    let failed = block.value["is_error"] == true;
                    facts.answered(block.text("tool_use_id"), "", result, failed);
                }
                _ => {}
            }
        }
    }
}

fn note_attachments(block: &Value, facts: &mut Facts) {
    match block["type"].as_str() {
        Some("image") => {
            let media_type = block["source"]["media_type"].as_str();
            let kind = media_type.or(block["source"]["type"].as_str());
            facts.images.push(kind.unwrap_or_default().to_owned());
        }
        Some("document") => facts.documents += 1,
        Some("tool_result") => {
            for inner in block["content"].as_array().into_iter().flatten() {
                note_attachments(inner, facts);
            }
        }
        _ => {}
    }
}

/// The tools of a request.
pub(super) fn tools(body: &Map<String, Value>) -> &[Value] {
    body.get("tools")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn custom_tools(body: &Map<String, Value>) -> Vec<Tool> {
    tools(body)
        .iter()
        .filter(|tool| server_tools::family(tool).is_none())
        .filter_map(|tool| {
            Some(Tool {
                name: tool["name"].as_str()?.to_owned(),
                schema: tool.get("input_schema").cloned(),
                custom: false,
            })
        })
        .collect()
}

fn choice(body: &Map<String, Value>) -> Choice {
    let Some(choice) = body.get("tool_choice") else {
        return Choice::Auto;
    };
    match choice["type"].as_str() {
        Some("any") => Choice::Any,
        Some("none") => Choice::None,
        Some("tool") => Choice::Named(choice["name"].as_str().unwrap_or_default().to_owned()),
        _ => Choice::Auto,
    }
}

fn output(body: &Map<String, Value>) -> Output {
    let format = match body.get("output_config").map(|config| &config["format"]) {
        Some(format) if !format.is_null() => Some(format),
        _ => body.get("output_format").filter(|format| !format.is_null()),
    };
    format.map_or(Output::Free, |format| {
        Output::Schema(format["schema"].clone())
    })
}
