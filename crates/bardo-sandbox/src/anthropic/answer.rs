//! What the model says: content blocks, stop reason and token counts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::check::Checked;
use super::error::ApiError;
use super::facts::tools;
use super::thinking::{self, Maker, Prefix};
use super::turns::Role;
use super::usage::{InputTokens, Prompt};
use super::{context, facts, server_tools};
use crate::fault::Faults;
use crate::recorded::Recorded;
use crate::script::{self, Call, Facts, Input, Stop};
use crate::tokens;
use crate::world::World;

/// A finished assistant message.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content: Vec<Value>,
    /// Arguments that the token limit cut into broken JSON, by content index.
    pub(crate) broken_inputs: BTreeMap<usize, String>,
    pub(crate) stop_reason: String,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) stop_details: Value,
    pub(crate) input: InputTokens,
    pub(crate) output_tokens: u64,
    pub(crate) thinking_tokens: u64,
    pub(crate) searches: u64,
    pub(crate) fetches: u64,
    pub(crate) iterations: Option<Value>,
    pub(crate) applied_edits: Option<Value>,
    pub(crate) faults: Faults,
    pub(crate) chunk: usize,
    pub(crate) delay_ms: u64,
}

/// Answers a checked request.
pub(crate) fn answer(
    checked: &Checked,
    request: &Recorded,
    world: &World,
) -> Result<Answer, ApiError> {
    let prompt = Prompt::of(checked);
    let facts = Facts {
        input_tokens: Some(prompt.tokens()),
        ..facts::of(checked, request)
    };
    let turn = script::play(&facts, world).map_err(ApiError::invalid)?;
    let most = checked.model.max_input_tokens;
    if prompt.tokens() > most {
        return Err(ApiError::invalid(format!(
            "prompt is too long: {} tokens > {most} maximum",
            prompt.tokens()
        )));
    }
    let mut input = prompt.cached(world);
    override_input(&mut input, &turn.usage);
    let mut answer = Answer {
        content: Vec::new(),
        broken_inputs: BTreeMap::new(),
        stop_reason: String::new(),
        stop_sequence: None,
        stop_details: Value::Null,
        input,
        output_tokens: turn.output_tokens(),
        thinking_tokens: turn.think_tokens(),
        searches: 0,
        fetches: 0,
        iterations: None,
        applied_edits: None,
        faults: turn.faults.clone(),
        chunk: turn.chunk,
        delay_ms: turn.delay_ms,
    };
    if checked.max_tokens == Some(0) {
        "max_tokens".clone_into(&mut answer.stop_reason);
        answer.output_tokens = 0;
        answer.thinking_tokens = 0;
        return Ok(answer);
    }
    Composer::new(checked, world, &mut answer).compose(turn);
    context::manage(&mut answer, checked, world);
    Ok(answer)
}

fn override_input(input: &mut InputTokens, by: &script::UsageOverride) {
    input.plain = by.input.unwrap_or(input.plain);
    input.read = by.cache_read.unwrap_or(input.read);
    if let Some(written) = by.cache_write {
        input.written_5m = written;
        input.written_1h = 0;
    }
}

/// Builds the content block by block, because each thinking block signs what stands before it.
struct Composer<'a> {
    checked: &'a Checked,
    world: &'a World,
    answer: &'a mut Answer,
    prefix: Prefix,
}

impl<'a> Composer<'a> {
    fn new(checked: &'a Checked, world: &'a World, answer: &'a mut Answer) -> Self {
        Self {
            checked,
            world,
            answer,
            prefix: Prefix::after(&checked.body, &checked.turns),
        }
    }

    fn compose(mut self, turn: script::Turn) {
        let scripted = !turn.step.is_empty();
        match turn.step.get("blocks").and_then(Value::as_array) {
            Some(blocks) => blocks.iter().for_each(|block| self.raw(block)),
            None => self.spoken(&turn, scripted),
        }
        self.stop(&turn);
        if turn.stop == Stop::Refusal {
            self.refusal(&turn);
        }
    }

    /// A block that the script wrote out; thinking gets its signature here.
    fn raw(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("thinking") if block["signature"].is_null() => {
                self.think(block["thinking"].as_str().unwrap_or_default(), false);
            }
            _ => self.push(block.clone()),
        }
    }

    fn spoken(&mut self, turn: &script::Turn, scripted: bool) {
        if let Some(text) = turn.think.as_deref().filter(|text| !text.is_empty()) {
            self.think(text, turn.step.get("redacted") == Some(&Value::Bool(true)));
        }
        let citation = self.search(turn, scripted);
        if let Some(text) = turn.text.as_deref().filter(|text| !text.is_empty()) {
            let citation = citation.or_else(|| cite_document(self.checked));
            self.push(match citation {
                Some(citation) => json!({"type": "text", "text": text, "citations": [citation]}),
                None => json!({"type": "text", "text": text}),
            });
        }
        let one_only = self
            .checked
            .body
            .get("tool_choice")
            .is_some_and(|c| c["disable_parallel_tool_use"] == true);
        let own = |call: &&Call| self.family(&call.name).is_none();
        let mut calls: Vec<&Call> = turn.tools.iter().filter(own).collect();
        calls.truncate(if one_only { 1 } else { calls.len() });
        calls.into_iter().for_each(|call| self.call(call));
    }

    fn think(&mut self, text: &str, redacted: bool) {
        let maker = Maker {
            model: &self.checked.model.id,
            organization: &self.checked.access.organization,
        };
        let display = self.checked.plan.display;
        let block = if redacted {
            thinking::redacted(text, maker, &self.prefix, self.world)
        } else {
            thinking::block(text, display, maker, &self.prefix, self.world)
        };
        self.push(block);
    }

    fn family(&self, name: &str) -> Option<&'static str> {
        tools(&self.checked.body)
            .iter()
            .find(|tool| tool["name"] == name)
            .and_then(server_tools::family)
    }

    /// Runs the server tools that the script calls, or a search if one is offered and nothing is
    /// scripted.
    fn search(&mut self, turn: &script::Turn, scripted: bool) -> Option<Value> {
        let mut runs: Vec<(&'static str, String, Value, String)> = Vec::new();
        for call in &turn.tools {
            if let Some(family) = self.family(&call.name) {
                runs.push((family, call.name.clone(), call.object(), call.id.clone()));
            }
        }
        let offered = server_tools::offered(tools(&self.checked.body), "web_search");
        if let (false, Some(name), true) = (scripted, offered, turn.tools.is_empty()) {
            let query = turn.text.as_deref().unwrap_or_default();
            let query = json!({"query": query.chars().take(60).collect::<String>()});
            let id = self
                .world
                .id("", 24, &[b"search", query.to_string().as_bytes()]);
            runs.push(("web_search", name.to_owned(), query, id));
        }
        let mut citation = None;
        for (family, name, input, id) in runs {
            let ran = server_tools::run(family, &name, &input, &id, self.world);
            self.answer.searches += u64::from(family == "web_search");
            self.answer.fetches += u64::from(family == "web_fetch");
            ran.blocks.into_iter().for_each(|block| self.push(block));
            citation = ran.citation.or(citation);
        }
        citation
    }

    fn call(&mut self, call: &Call) {
        let input = match &call.input {
            Input::Raw(text) if serde_json::from_str::<Value>(text).is_err() => {
                if self.streams_eagerly(&call.name) {
                    let index = self.answer.content.len();
                    self.answer.broken_inputs.insert(index, text.clone());
                }
                whole_members(text)
            }
            _ => call.object(),
        };
        let id = format!("toolu_{}", call.id);
        self.push(
            json!({"type": "tool_use", "id": id, "name": call.name, "input": input,
            "caller": {"type": "direct"}}),
        );
    }

    /// Whether fragments of this tool's input leave as they are written.
    fn streams_eagerly(&self, name: &str) -> bool {
        let tool = tools(&self.checked.body)
            .iter()
            .find(|tool| tool["name"] == name);
        match tool.map(|tool| &tool["eager_input_streaming"]) {
            Some(Value::Bool(eager)) => *eager,
            _ => self.checked.access.has_beta("fine-grained-tool-streaming-"),
        }
    }

    fn push(&mut self, block: Value) {
        self.prefix.push(Role::Assistant.name(), &block);
        self.answer.content.push(block);
    }

    fn stop(&mut self, turn: &script::Turn) {
        let calls = self
            .answer
            .content
            .iter()
            .any(|block| block["type"] == "tool_use");
        let (reason, sequence) = match &turn.stop {
            Stop::End => ("end_turn", None),
            Stop::Tools if calls => ("tool_use", None),
            Stop::Tools => ("end_turn", None),
            Stop::MaxTokens => ("max_tokens", None),
            Stop::Sequence(sequence) => ("stop_sequence", Some(sequence.clone())),
            Stop::Refusal | Stop::ContentFilter => ("refusal", None),
            Stop::Other(other) => (other.as_str(), None),
        };
        reason.clone_into(&mut self.answer.stop_reason);
        self.answer.stop_sequence = sequence;
    }

    /// A refusal, or the fallback model's answer if the request names one.
    fn refusal(mut self, turn: &script::Turn) {
        let category = turn.step.get("category").cloned().unwrap_or(Value::Null);
        let next = self
            .checked
            .body
            .get("fallbacks")
            .and_then(|list| list[0]["model"].as_str());
        let Some(next) = next else {
            self.answer.stop_details =
                json!({"type": "refusal", "category": category, "explanation": turn.refusal});
            return;
        };
        self.push(json!({"type": "fallback",
            "from": {"model": self.checked.asked_model},
            "to": {"model": next},
            "trigger": {"type": "refusal", "category": category}}));
        let text = format!("Sandbox answer from {next} after a refusal.");
        let declined = self.answer.output_tokens;
        self.answer.output_tokens = tokens::count(&text);
        self.push(json!({"type": "text", "text": text}));
        "end_turn".clone_into(&mut self.answer.stop_reason);
        let iteration = |kind: &str, model: &str, output: u64| {
            let mut entry = self.answer.input.json();
            entry.insert("type".to_owned(), json!(kind));
            entry.insert("model".to_owned(), json!(model));
            entry.insert("output_tokens".to_owned(), json!(output));
            Value::Object(entry)
        };
        self.answer.iterations = Some(json!([
            iteration("message", &self.checked.asked_model, declined),
            iteration("fallback_message", next, self.answer.output_tokens),
        ]));
    }
}

/// The complete members of an object that was cut short.
fn whole_members(text: &str) -> Value {
    let commas = text.match_indices(',').map(|(at, _)| at).rev();
    commas
        .filter_map(|at| serde_json::from_str(&format!("{}}}", &text[..at])).ok())
        .next()
        .unwrap_or_else(|| json!({}))
}

/// A citation of the first document that has citations enabled.
fn cite_document(checked: &Checked) -> Option<Value> {
    let documents = checked
        .turns
        .iter()
        .filter(|turn| turn.role == Role::User)
        .flat_map(|turn| &turn.blocks)
        .filter(|block| block.kind() == "document");
    let (index, document) = documents
        .enumerate()
        .find(|(_, block)| block.value["citations"]["enabled"] == true)?;
    let source = &document.value["source"];
    let title = &document.value["title"];
    let cite = |kind: &str, text: String, from: Value| {
        let mut citation = json!({"type": kind, "cited_text": text, "document_index": index,
            "document_title": title, "file_id": null});
        if let (Value::Object(citation), Value::Object(from)) = (&mut citation, from) {
            citation.extend(from);
        }
        citation
    };
    Some(match source["type"].as_str() {
        Some("text") => {
            let data = source["data"].as_str().unwrap_or_default();
            let cited: String = data.chars().take(40).collect();
            let end = cited.chars().count();
            cite(
                "char_location",
                cited,
                json!({"start_char_index": 0, "end_char_index": end}),
            )
        }
        Some("content") => cite(
            "content_block_location",
            source["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            json!({"start_block_index": 0, "end_block_index": 1}),
        ),
        _ => cite(
            "page_location",
            "A sentence on the first page.".to_owned(),
            json!({"start_page_number": 1, "end_page_number": 2}),
        ),
    })
}
