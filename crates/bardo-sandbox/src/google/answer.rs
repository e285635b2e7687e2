//! What the model says: parts, finish reason and token counts.

use serde_json::{Value, json};

use super::check::{self, Checked};
use super::error::ApiError;
use super::{prompt, signature};
use crate::cache;
use crate::chat::facts::texts_of;
use crate::dialect::Dialect;
use crate::fault::Faults;
use crate::recorded::Recorded;
use crate::script::{self, Choice, Facts, Input, Output, Said, Stop, Tool};
use crate::tokens;
use crate::world::World;

/// A finished candidate, or none if the prompt was blocked.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) parts: Vec<Value>,
    pub(super) finish: String,
    pub(super) finish_message: Option<String>,
    pub(super) blocked: Option<String>,
    pub(super) grounding: Option<Value>,
    pub(super) usage: Usage,
    pub(super) model_version: String,
    pub(super) response_id: String,
    /// Whether call arguments are streamed value by value.
    pub(super) partial_args: bool,
    pub(super) faults: Faults,
    pub(super) chunk: usize,
    pub(super) delay_ms: u64,
}

/// Token counts; `candidates` leaves thoughts out, `prompt` includes what was cached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) prompt: u64,
    pub(super) cached: u64,
    pub(super) candidates: u64,
    pub(super) thoughts: u64,
    pub(super) tool_use: u64,
}

/// Answers a checked request.
pub(super) fn answer(
    checked: &Checked,
    request: &Recorded,
    world: &World,
) -> Result<Answer, ApiError> {
    let rendered = prompt::rendered(&checked.body);
    let facts = Facts {
        from: Dialect::of_caller(request),
        input_tokens: Some(tokens::count(&rendered).max(1)),
        ..facts(checked)
    };
    let turn = script::play(&facts, world).map_err(ApiError::invalid)?;
    let usage = usage(checked, &rendered, &turn, world)?;
    let script_text = |field: &str| turn.step.get(field).and_then(Value::as_str);
    let calling = &checked.body["toolConfig"]["functionCallingConfig"];
    let mut answer = Answer {
        parts: Vec::new(),
        finish: finish(&turn),
        finish_message: script_text("finish_message").map(str::to_owned),
        blocked: script_text("blocked").map(str::to_owned),
        grounding: None,
        usage,
        model_version: checked.model.id.clone(),
        response_id: world.id("", 22, &[b"google", &request.body]),
        partial_args: calling["streamFunctionCallArguments"] == true,
        faults: turn.faults.clone(),
        chunk: turn.chunk,
        delay_ms: turn.delay_ms,
    };
    parts(&mut answer, checked, &turn, world);
    if answer.finish == "MALFORMED_FUNCTION_CALL" {
        answer.parts.clear();
        let message = answer.finish_message.take();
        answer.finish_message =
            message.or_else(|| Some("Malformed function call: print(default_api.f(".to_owned()));
    }
    Ok(answer)
}

fn finish(turn: &script::Turn) -> String {
    if let Some(finish) = turn.step.get("finish").and_then(Value::as_str) {
        return finish.to_owned();
    }
    match &turn.stop {
        Stop::End | Stop::Tools | Stop::Sequence(_) => "STOP".to_owned(),
        Stop::MaxTokens => "MAX_TOKENS".to_owned(),
        Stop::Refusal | Stop::ContentFilter => "SAFETY".to_owned(),
        Stop::Other(reason) => reason.to_uppercase(),
    }
}

fn usage(
    checked: &Checked,
    rendered: &str,
    turn: &script::Turn,
    world: &World,
) -> Result<Usage, ApiError> {
    let prompt = tokens::count(rendered).max(1);
    let most = checked.model.input_tokens;
    if prompt > most {
        return Err(ApiError::invalid(format!(
            "The input token count ({prompt}) exceeds the maximum number of tokens allowed \
             ({most})."
        )));
    }
    let scope = format!("google/{}", checked.model.id);
    let implicit = world
        .cache
        .automatic(cache::COMMON, &scope, rendered, world.now_ms());
    let cached = checked.cached_tokens.unwrap_or(implicit.read);
    let thoughts = turn.think_tokens();
    let searches = u64::from(check::has_tool(&checked.body, "googleSearch"));
    Ok(Usage {
        prompt: turn.usage.input.unwrap_or(prompt),
        cached: turn.usage.cache_read.unwrap_or(cached),
        candidates: turn.output_tokens().saturating_sub(thoughts),
        thoughts,
        tool_use: searches * 64,
    })
}

/// What the scripted model gets to see of a request.
fn facts(checked: &Checked) -> Facts {
    let body = &checked.body;
    let config = &body["generationConfig"];
    let limit = config["maxOutputTokens"].as_u64();
    let contents = body["contents"].as_array().map_or(&[][..], Vec::as_slice);
    let mut facts = Facts {
        service: "google",
        dialect: Dialect::Gemini,
        model: checked.model.id.clone(),
        tools: check::declarations(body).map(tool).collect(),
        choice: choice(body),
        output: output(config),
        can_think: checked.thinking,
        thinking: checked.thinking && limit.is_none_or(|limit| limit >= 64),
        max_tokens: limit,
        ..Facts::default()
    };
    let stops = config["stopSequences"].as_array().into_iter().flatten();
    facts.stop = stops
        .filter_map(|stop| stop.as_str().map(str::to_owned))
        .collect();
    facts
        .harness
        .note(&texts_of(&body["systemInstruction"]["parts"]));
    for (index, content) in contents.iter().enumerate() {
        if content["role"] == "model" {
            // Neighbors of one role are one turn.
            let goes_on = index > 0 && contents[index - 1]["role"] == "model";
            if !goes_on {
                facts.said.push(Said::Assistant);
            }
            note_calls(content, &mut facts);
        } else {
            note(content, &mut facts);
        }
    }
    facts
}

fn note_calls(content: &Value, facts: &mut Facts) {
    for part in content["parts"].as_array().into_iter().flatten() {
        let call = &part["functionCall"];
        if let Some(name) = call["name"].as_str() {
            let id = call["id"].as_str().unwrap_or_default();
            facts.called(id, name, Input::Json(call["args"].clone()));
        }
    }
}

/// The text in a function's response, which is an object of any shape.
fn result_of(response: &Value) -> String {
    let named = ["output", "result", "content", "error"];
    let found = named.iter().map(|name| &response[*name]);
    let text = found.into_iter().find(|value| !value.is_null());
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(parts @ Value::Array(_)) => texts_of(parts),
        _ => response.to_string(),
    }
}

fn note(content: &Value, facts: &mut Facts) {
    for part in content["parts"].as_array().into_iter().flatten() {
        if let Some(text) = part["text"].as_str() {
            facts.harness.note(text);
            facts.said.push(Said::User(text.to_owned()));
        }
        let answer = &part["functionResponse"];
        if let Some(name) = answer["name"].as_str() {
            let id = answer["id"].as_str().unwrap_or_default();
            let failed = !answer["response"]["error"].is_null();
            facts.answered(id, name, result_of(&answer["response"]), failed);
        }
        let inner = part["functionResponse"]["parts"].as_array();
        for part in inner.into_iter().flatten().chain([part]) {
            note_file(part, facts);
        }
    }
}

fn note_file(part: &Value, facts: &mut Facts) {
    let inline = part["inlineData"]["mimeType"].as_str();
    let Some(media_type) = inline.or(part["fileData"]["mimeType"].as_str()) else {
        return;
    };
    if media_type.starts_with("image/") {
        facts.images.push(media_type.to_owned());
    } else {
        facts.documents += 1;
    }
}

fn tool(declared: &Value) -> Tool {
    let schema = ["parametersJsonSchema", "parameters"]
        .into_iter()
        .find_map(|name| declared.get(name).filter(|schema| !schema.is_null()));
    Tool {
        name: declared["name"].as_str().unwrap_or_default().to_owned(),
        schema: schema.cloned(),
        custom: false,
    }
}

fn choice(body: &Value) -> Choice {
    let config = &body["toolConfig"]["functionCallingConfig"];
    match config["mode"].as_str() {
        Some("ANY") => match config["allowedFunctionNames"][0].as_str() {
            Some(name) => Choice::Named(name.to_owned()),
            None => Choice::Any,
        },
        Some("NONE") => Choice::None,
        _ => Choice::Auto,
    }
}

fn output(config: &Value) -> Output {
    let schemas = ["responseJsonSchema", "responseSchema"];
    let schema = schemas
        .iter()
        .map(|name| &config[*name])
        .find(|schema| !schema.is_null());
    match (schema, config["responseMimeType"].as_str()) {
        (Some(schema), _) => Output::Schema(schema.clone()),
        (None, Some("application/json")) => Output::JsonObject,
        _ => Output::Free,
    }
}

/// Thoughts, text and calls, with a signature on the first call or on the end of the text.
fn parts(answer: &mut Answer, checked: &Checked, turn: &script::Turn, world: &World) {
    let body = &checked.body;
    let think = turn.think.as_deref().unwrap_or_default();
    let shown = body["generationConfig"]["thinkingConfig"]["includeThoughts"] == true;
    if shown && !think.is_empty() {
        answer.parts.push(json!({"text": think, "thought": true}));
    }
    if turn.step.is_empty() && check::has_tool(body, "codeExecution") {
        answer.parts.push(json!({"executableCode":
            {"language": "PYTHON", "code": "print(6 * 7)"}}));
        answer.parts.push(json!({"codeExecutionResult":
            {"outcome": "OUTCOME_OK", "output": "42\n"}}));
    }
    let text = turn.text.as_deref().unwrap_or_default();
    if !text.is_empty() {
        answer.parts.push(json!({"text": text}));
        if check::has_tool(body, "googleSearch") {
            answer.grounding = Some(grounding(text));
        }
    }
    let first_call = answer.parts.len();
    for call in &turn.tools {
        // A call that the limit cut has no arguments to send.
        if matches!(&call.input, Input::Raw(text) if serde_json::from_str::<Value>(text).is_err()) {
            continue;
        }
        let mut function = json!({"name": call.name, "args": call.object()});
        if checked.model.generation >= 3 {
            function["id"] = json!(format!("fc_{}", call.id));
        }
        answer.parts.push(json!({"functionCall": function}));
    }
    let signs = checked.model.generation >= 3 || (checked.thinking && !turn.tools.is_empty());
    let signed = if answer.parts.len() > first_call {
        answer.parts.get_mut(first_call)
    } else {
        answer
            .parts
            .last_mut()
            .filter(|part| part["thought"] != true)
    };
    if let Some(part) = signed.filter(|_| signs && checked.thinking) {
        part["thoughtSignature"] = json!(signature::mint(part, think, world));
    }
}

/// Grounding of the whole text; offsets count bytes of UTF-8.
fn grounding(text: &str) -> Value {
    let query: String = text.chars().take(40).collect();
    json!({
        "webSearchQueries": [query],
        "searchEntryPoint": {"renderedContent": "<div>Sandbox search</div>"},
        "groundingChunks": [{"web": {"uri": "https://example.com/sandbox/1",
            "title": "Sandbox result 1"}}],
        "groundingSupports": [{
            "segment": {"startIndex": 0, "endIndex": text.len(), "text": text},
            "groundingChunkIndices": [0],
        }],
    })
}
