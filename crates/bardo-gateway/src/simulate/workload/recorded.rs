//! Calls from a file, one JSON object per line.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{SimulatedCall, SimulatedTurn, ToolText, Workload};
use crate::simulate::dice::Dice;

/// The format, for errors.
const RECORDED: &str = "one JSON object per line: `at_ms` (when it was sent, in milliseconds), `model`, `messages` and `tools` as in Chat Completions, `temperature`, `output_tokens` (how long the answer was), and optionally `answer` (its text) and `bardo` (hints)";

/// The longest answer of a line, in tokens; no model gives a longer one.
const OUTPUT_MAX: u64 = 1_000_000;

#[derive(Deserialize)]
struct RecordedLine {
    at_ms: u64,
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<RecordedTool>,
    temperature: Option<f64>,
    output_tokens: u64,
    answer: Option<String>,
    #[serde(default)]
    bardo: Value,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Vec<RecordedCall>,
}

#[derive(Deserialize)]
struct RecordedCall {
    function: CalledFunction,
}

#[derive(Deserialize)]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct RecordedTool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    description: String,
    parameters: Option<Value>,
}

pub(super) fn workload() -> Workload {
    Workload {
        name: "recorded",
        title: "Recorded calls",
        tier: None,
        spread_percent: 20.0,
        assumptions: &[
            "calls, times and lengths of answers come from the file; calls of tools are played as texts of the model, their results as turns of the user",
            "equal requests get equal answers",
        ],
        naive: None,
        days: None,
    }
}

/// The text of a file, without the mark of its encoding.
///
/// # Errors
/// The line that is no UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<&str, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("line {line} is not UTF-8")
    })
}

/// The calls of a file.
///
/// # Errors
/// The first line that cannot be read, and why.
pub(super) fn calls(text: &str) -> Result<Vec<SimulatedCall>, String> {
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let calls = lines
        .map(|(at, line)| {
            let read = serde_json::from_str(line).map_err(|error| reason(&error));
            let mut call = read.and_then(call);
            if let Ok(call) = &mut call {
                call.line = Some(at + 1);
            }
            call.map_err(|error| format!("line {}: {error}", at + 1))
        })
        .collect::<Result<Vec<SimulatedCall>, String>>()?;
    match calls.is_empty() {
        true => Err(format!("the file has no calls; it needs {RECORDED}")),
        false => Ok(calls),
    }
}

/// Why a line cannot be read. Its number is said before, so the place in it is its column alone.
fn reason(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let told = error.to_string();
    match told.strip_suffix(&place) {
        Some(told) => format!("{told} at column {}", error.column()),
        None => told,
    }
}

fn call(line: RecordedLine) -> Result<SimulatedCall, String> {
    if line.output_tokens > OUTPUT_MAX {
        let given = line.output_tokens;
        return Err(format!(
            "`output_tokens` is {given}; it can be {OUTPUT_MAX} at most"
        ));
    }
    let mut system = String::new();
    let mut turns: Vec<SimulatedTurn> = Vec::new();
    for message in &line.messages {
        let text = text_of(message);
        if text.is_empty() {
            // A provider refuses a turn without words.
            continue;
        }
        match &*message.role {
            "system" | "developer" => {
                system.push_str(&text);
                system.push('\n');
            }
            "assistant" => turns.push(SimulatedTurn::assistant(text)),
            "user" | "tool" | "function" => turns.push(SimulatedTurn::user(text)),
            other => return Err(format!("`{other}` is not a role")),
        }
    }
    if turns.last().is_none_or(|turn| turn.assistant) {
        return Err("the last message must be a text of the user or of a tool".into());
    }
    let tools = line.tools.into_iter().map(|tool| ToolText {
        name: tool.function.name,
        description: tool.function.description,
        schema: tool
            .function
            .parameters
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    });
    // Without its text an answer has one of its length, the same for the same request.
    let made = || Dice::new(line.output_tokens, "recorded").prose(line.output_tokens);
    Ok(SimulatedCall {
        at_ms: line.at_ms,
        model: line.model.into(),
        tools: tools.collect(),
        system: system.into(),
        turns,
        temperature: line.temperature,
        hints: line.bardo,
        answer: Arc::from(line.answer.unwrap_or_else(made)),
        output_tokens: line.output_tokens,
        line: None,
    })
}

/// The texts of a message: of its parts, and of the tools that it calls.
fn text_of(message: &Message) -> String {
    let parts = match &message.content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let calls = message.tool_calls.iter();
    let calls = calls.map(|call| format!("{}({})", call.function.name, call.function.arguments));
    let texts = parts.into_iter().chain(calls);
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n")
}
