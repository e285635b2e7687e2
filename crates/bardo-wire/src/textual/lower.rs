use std::collections::HashMap;

use bardo_types::chat::{
    ChatRequest, Message, Part, Role, Text, Tool, ToolCall, ToolChoice, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::ToolFormat;
use serde::Serialize;

use super::calls::{CLOSE, OPEN};
use super::xml::Declared;
use super::{invoke, objects, xml};

/// Writes a request for a model that calls tools in its text: tools are told in the system
/// prompt, and calls and results of the history become text.
///
/// Answers belong through an [`super::EventFilter`] that was given the request as it was before.
/// For other formats the request stays as it is.
#[must_use]
pub fn lower(request: &ChatRequest, format: ToolFormat) -> ChatRequest {
    let mut lowered = request.clone();
    if !format.is_textual() {
        return lowered;
    }
    let names = called_names(request);
    let declared = Declared::of(&request.tools);
    for message in &mut lowered.messages {
        let parts = std::mem::take(&mut message.parts);
        message.parts = match message.role {
            Role::Assistant => calls_as_text(parts, &declared, format),
            Role::User => results_as_text(parts, &names, format),
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

/// The words that models of each family were trained on.
fn told_tools(request: &ChatRequest, format: ToolFormat) -> Option<String> {
    let signatures: Vec<String> = request.tools.iter().filter_map(signature).collect();
    if signatures.is_empty() {
        return None;
    }
    let mut told = if format == ToolFormat::Anthropic {
        format!(
            "In this environment you have access to a set of tools you can use to answer the \
             user's question. Call them by writing a block like this one:\n\n\
             <function_calls>\n<invoke name=\"$FUNCTION_NAME\">\n\
             <parameter name=\"$PARAMETER_NAME\">$PARAMETER_VALUE</parameter>\n...\n</invoke>\n\
             <invoke name=\"$FUNCTION_NAME2\">\n...\n</invoke>\n</function_calls>\n\n\
             Write text as it is, and lists and objects as JSON. Here are the functions as JSON \
             schemas:\n<functions>\n{}\n</functions>",
            signatures.join("\n")
        )
    } else {
        format!(
            "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
             You are provided with function signatures within <tools></tools> XML tags:\n\
             <tools>\n{}\n</tools>\n\n",
            signatures.join("\n")
        )
    };
    told.push_str(match format {
        ToolFormat::QwenXml => {
            "If you choose to call a function ONLY reply in the following format with NO suffix:\n\n\
             <tool_call>\n<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n\
             </parameter>\n<parameter=example_parameter_2>\nThis is the value for the second \
             parameter\nthat can span\nmultiple lines\n</parameter>\n</function>\n</tool_call>"
        }
        ToolFormat::Json => {
            "To call functions, answer with one JSON object and nothing else, no words around \
             it:\n{\"tool_calls\": [{\"name\": <function-name>, \"arguments\": <args-json-object>}]}"
        }
        ToolFormat::Anthropic => "",
        ToolFormat::Hermes | ToolFormat::Native | ToolFormat::Unsupported => {
            "For each function call, return a json object with function name and arguments within \
             <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \
             \"arguments\": <args-json-object>}\n</tool_call>"
        }
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
            rules.push("Do not call any function now; answer in text.".to_owned());
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
fn calls_as_text(parts: Vec<Part>, tools: &Declared<'_>, format: ToolFormat) -> Vec<Part> {
    let mut lowered: Vec<Part> = Vec::with_capacity(parts.len());
    let mut after_words = false;
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        let Part::ToolCall(call) = part else {
            after_words |= matches!(&part, Part::Text(text) if !text.text.is_empty());
            lowered.push(part);
            continue;
        };
        let mut calls = vec![call];
        while let Some(Part::ToolCall(call)) =
            parts.next_if(|part| matches!(part, Part::ToolCall(_)))
        {
            calls.push(call);
        }
        let cache = calls.iter_mut().rev().find_map(|call| call.cache.take());
        let text = written(&calls, tools, format, after_words);
        after_words |= !text.is_empty();
        match lowered.last_mut() {
            Some(Part::Text(before)) => {
                if !before.text.is_empty() && !before.text.ends_with('\n') {
                    before.text.push('\n');
                }
                before.text.push_str(&text);
                before.cache = before.cache.take().or(cache);
            }
            _ => lowered.push(
                Text {
                    text,
                    cache,
                    ..Text::default()
                }
                .into(),
            ),
        }
    }
    lowered
}

/// Calls that stand together, as the model writes them.
fn written(
    calls: &[ToolCall],
    tools: &Declared<'_>,
    format: ToolFormat,
    after_words: bool,
) -> String {
    let arguments = |call: &ToolCall| match &call.input {
        ToolInput::Json(text) => call
            .input
            .as_object()
            .unwrap_or_else(|| RawJson::string(text)),
        ToolInput::Text(text) => {
            RawJson::of(&serde_json::json!({ "input": text })).expect("a string always serializes")
        }
    };
    let each = calls
        .iter()
        .map(|call| (call.name.as_str(), arguments(call)));
    match format {
        ToolFormat::Json => {
            let each: Vec<_> = each
                .map(|(name, arguments)| (name.to_owned(), arguments.as_str().to_owned()))
                .collect();
            objects::write_calls(&each, after_words)
        }
        ToolFormat::Anthropic => {
            let each: Vec<String> = each
                .map(|(name, arguments)| invoke::write_call(name, arguments.as_str(), tools))
                .collect();
            format!("<function_calls>\n{}\n</function_calls>", each.join("\n"))
        }
        _ => {
            let each: Vec<String> = each
                .map(|(name, arguments)| tagged(name, &arguments, tools, format))
                .collect();
            each.join("\n")
        }
    }
}

fn tagged(name: &str, arguments: &RawJson, tools: &Declared<'_>, format: ToolFormat) -> String {
    let as_xml = (format == ToolFormat::QwenXml)
        .then(|| xml::write_call(name, arguments.as_str(), tools))
        .flatten();
    let inner = as_xml.unwrap_or_else(|| {
        let name = serde_json::Value::from(name);
        format!(
            "{{\"name\": {name}, \"arguments\": {}}}",
            arguments.as_str()
        )
    });
    format!("{OPEN}\n{inner}\n{CLOSE}")
}

/// The names of earlier calls by their ids, for results that have to name their tool.
fn called_names(request: &ChatRequest) -> HashMap<String, String> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some((call.id.clone(), call.name.clone())),
            _ => None,
        })
        .collect()
}

/// Results as tagged text, together and before the other words; what they show beside text
/// follows them.
fn results_as_text(
    parts: Vec<Part>,
    names: &HashMap<String, String>,
    format: ToolFormat,
) -> Vec<Part> {
    if !parts.iter().any(|part| matches!(part, Part::ToolResult(_))) {
        return parts;
    }
    let mut responses = Text::default();
    let mut attached = Vec::new();
    let mut others = Vec::new();
    for part in parts {
        match part {
            Part::ToolResult(result) => {
                if !responses.text.is_empty() {
                    responses.text.push('\n');
                }
                let (before, after) = frame(&result, names, format);
                responses.text.push_str(&before);
                respond(result, &mut responses, &mut attached);
                responses.text.push_str(after);
            }
            part => others.push(part),
        }
    }
    if format == ToolFormat::Anthropic {
        responses.text = format!(
            "<function_results>\n{}\n</function_results>",
            responses.text
        );
    }
    let mut lowered = vec![responses.into()];
    lowered.extend(attached);
    if let Some(Part::Text(next)) = others.first_mut() {
        next.text.insert(0, '\n');
    }
    lowered.extend(others);
    lowered
}

/// What stands before and after the words of a result.
fn frame(
    result: &ToolResult,
    names: &HashMap<String, String>,
    format: ToolFormat,
) -> (String, &'static str) {
    let error = if result.is_error { "Error: " } else { "" };
    if format != ToolFormat::Anthropic {
        return (format!("<tool_response>\n{error}"), "</tool_response>");
    }
    let name = names.get(&result.call_id).map_or("", String::as_str);
    let (open, close) = if result.is_error {
        ("<error>", "</error>\n</result>")
    } else {
        ("<stdout>", "</stdout>\n</result>")
    };
    (
        format!("<result>\n<tool_name>{name}</tool_name>\n{open}\n"),
        close,
    )
}

fn respond(result: ToolResult, responses: &mut Text, attached: &mut Vec<Part>) {
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
    responses.cache = result.cache.or(responses.cache.take());
}
