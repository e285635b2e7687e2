use bardo_types::chat::{
    ChatRequest, Message, Part, Role, Text, Tool, ToolCall, ToolChoice, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::ToolFormat;
use serde::Serialize;

use super::calls::{CLOSE, OPEN};
use super::xml;

/// Writes a request for a model that calls tools in its text: tools are told in the system
/// prompt, and calls and results of the history become text.
///
/// Answers belong through an [`super::EventFilter`] that was given the request as it was before.
/// For other formats the request stays as it is.
#[must_use]
pub fn lower(request: &ChatRequest, format: ToolFormat) -> ChatRequest {
    let mut lowered = request.clone();
    if !matches!(format, ToolFormat::Hermes | ToolFormat::QwenXml) {
        return lowered;
    }
    for message in &mut lowered.messages {
        let parts = std::mem::take(&mut message.parts);
        message.parts = match message.role {
            Role::Assistant => calls_as_text(parts, &request.tools, format),
            Role::User => results_as_text(parts),
            Role::System => parts,
        };
    }
    if let Some(told) = told_tools(request, format) {
        add_to_system(&mut lowered.messages, told);
    }
    lowered
        .tools
        .retain(|tool| matches!(tool, Tool::Server { .. }));
    lowered.tool_choice = None;
    lowered.parallel_tool_calls = None;
    lowered
}

fn add_to_system(messages: &mut Vec<Message>, told: String) {
    let leading = messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count();
    if leading == 0 {
        messages.insert(0, Message::new(Role::System, vec![Text::new(told).into()]));
        return;
    }
    // Some servers join blocks without a separator.
    messages[leading - 1]
        .parts
        .push(Text::new(format!("\n\n{told}")).into());
}

#[derive(Serialize)]
struct Signature<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: RawJson,
}

fn signature(tool: &Tool) -> Option<String> {
    let free_text =
        r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;
    let (name, description, parameters) = match tool {
        Tool::Function {
            name,
            description,
            schema,
            ..
        } => {
            let none = || RawJson::parse(r#"{"type":"object","properties":{}}"#).ok();
            (name, description, schema.clone().or_else(none)?)
        }
        Tool::Custom {
            name, description, ..
        } => (name, description, RawJson::parse(free_text).ok()?),
        Tool::Server { .. } => return None,
    };
    serde_json::to_string(&Signature {
        r#type: "function",
        function: Function {
            name,
            description: description.as_deref(),
            parameters,
        },
    })
    .ok()
}

/// The words that models of both families were trained on.
fn told_tools(request: &ChatRequest, format: ToolFormat) -> Option<String> {
    let signatures: Vec<String> = request.tools.iter().filter_map(signature).collect();
    if signatures.is_empty() {
        return None;
    }
    let mut told = format!(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n\
         <tools>\n{}\n</tools>\n\n",
        signatures.join("\n")
    );
    told.push_str(if format == ToolFormat::QwenXml {
        "If you choose to call a function ONLY reply in the following format with NO suffix:\n\n\
         <tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n\
         </parameter>\n<parameter=example_parameter_2>\nThis is the value for the second \
         parameter\nthat can span\nmultiple lines\n</parameter>\n</function>\n</tool_call>"
    } else {
        "For each function call, return a json object with function name and arguments within \
         <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \
         \"arguments\": <args-json-object>}\n</tool_call>"
    });
    for rule in rules(request) {
        told.push_str("\n\n");
        told.push_str(&rule);
    }
    Some(told)
}

fn rules(request: &ChatRequest) -> Vec<String> {
    let mut rules = Vec::new();
    match &request.tool_choice {
        None | Some(ToolChoice::Auto) => {}
        Some(ToolChoice::None) => {
            rules.push("Do not call any function now; answer in words.".to_owned());
        }
        Some(ToolChoice::Required) => {
            rules.push("You must call at least one function now.".to_owned());
        }
        Some(ToolChoice::Named(name)) => {
            rules.push(format!("You must call the function `{name}` now."));
        }
        Some(ToolChoice::Allowed { required, names }) => {
            let names = names.join("`, `");
            rules.push(if *required {
                format!("You must call one of these functions now: `{names}`.")
            } else {
                format!("Of the functions you may call only these now: `{names}`.")
            });
        }
    }
    if request.parallel_tool_calls == Some(false) {
        rules.push("Call at most one function at a time.".to_owned());
    }
    rules
}

/// Joins the words and calls of one message into one text, in order.
fn calls_as_text(parts: Vec<Part>, tools: &[Tool], format: ToolFormat) -> Vec<Part> {
    let mut lowered: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        let Part::ToolCall(call) = part else {
            lowered.push(part);
            continue;
        };
        let text = format!("{OPEN}\n{}\n{CLOSE}", written(&call, tools, format));
        match lowered.last_mut() {
            Some(Part::Text(before)) => {
                if !before.text.is_empty() && !before.text.ends_with('\n') {
                    before.text.push('\n');
                }
                before.text.push_str(&text);
                before.cache = before.cache.take().or(call.cache);
            }
            _ => lowered.push(
                Text {
                    text,
                    cache: call.cache,
                    ..Text::default()
                }
                .into(),
            ),
        }
    }
    lowered
}

fn written(call: &ToolCall, tools: &[Tool], format: ToolFormat) -> String {
    let arguments = match &call.input {
        ToolInput::Json(text) => call
            .input
            .as_object()
            .unwrap_or_else(|| RawJson::string(text)),
        ToolInput::Text(text) => {
            RawJson::of(&serde_json::json!({ "input": text })).expect("a string always serializes")
        }
    };
    if format == ToolFormat::QwenXml
        && let Some(text) = xml::write_call(&call.name, arguments.as_str(), tools)
    {
        return text;
    }
    let name = serde_json::Value::from(call.name.as_str());
    format!(
        "{{\"name\": {name}, \"arguments\": {}}}",
        arguments.as_str()
    )
}

/// Results as tagged text, together and before the other words; what they show beside text
/// follows them.
fn results_as_text(parts: Vec<Part>) -> Vec<Part> {
    if !parts.iter().any(|part| matches!(part, Part::ToolResult(_))) {
        return parts;
    }
    let mut responses = Text::default();
    let mut attached = Vec::new();
    let mut others = Vec::new();
    for part in parts {
        match part {
            Part::ToolResult(result) => respond(result, &mut responses, &mut attached),
            part => others.push(part),
        }
    }
    let mut lowered = vec![responses.into()];
    lowered.extend(attached);
    if let Some(Part::Text(next)) = others.first_mut() {
        next.text.insert(0, '\n');
    }
    lowered.extend(others);
    lowered
}

fn respond(result: ToolResult, responses: &mut Text, attached: &mut Vec<Part>) {
    if !responses.text.is_empty() {
        responses.text.push('\n');
    }
    responses.text.push_str("<tool_response>\n");
    if result.is_error {
        responses.text.push_str("Error: ");
    }
    for part in result.parts {
        match part {
            Part::Text(text) => {
                responses.text.push_str(&text.text);
                responses.text.push('\n');
            }
            Part::SearchResult(found) => {
                responses
                    .text
                    .push_str(&format!("{}\n{}\n", found.title, found.source));
                for block in &found.content {
                    responses.text.push_str(&block.text);
                    responses.text.push('\n');
                }
            }
            Part::Server(block) => {
                responses.text.push_str(block.raw.as_str());
                responses.text.push('\n');
            }
            other => attached.push(other),
        }
    }
    if !responses.text.ends_with('\n') {
        responses.text.push('\n');
    }
    responses.text.push_str("</tool_response>");
    responses.cache = result.cache.or(responses.cache.take());
}
