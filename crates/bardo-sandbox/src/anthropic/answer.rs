//! What the model says: content blocks, stop reason and token counts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::check::{Checked, Edit};
use super::error::ApiError;
use super::server_tools;
use super::thinking::{self, Maker, Mode, Prefix};
use super::turns::Role;
use super::usage::{self, InputTokens, Prompt};
use crate::fault::Faults;
use crate::recorded::Recorded;
use crate::script::{self, Call, Choice, Facts, Input, Output, Said, Stop, Tool};
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
    let facts = facts(checked, request);
    let turn = script::play(&facts, world).map_err(ApiError::invalid)?;
    let prompt = Prompt::of(checked);
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
    manage_context(&mut answer, checked, world);
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

/// What the scripted model gets to see of a request.
fn facts(checked: &Checked, request: &Recorded) -> Facts {
    let body = &checked.body;
    let mut facts = Facts {
        service: request.service,
        model: checked.asked_model.clone(),
        messages: body["messages"].as_array().map_or(0, Vec::len),
        tools: custom_tools(body),
        choice: choice(body),
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
    for turn in &checked.turns {
        if turn.role == Role::Assistant {
            facts.said.push(Said::Assistant);
            continue;
        }
        for block in &turn.blocks {
            note_attachments(&block.value, &mut facts);
            if turn.role == Role::User && block.kind() == "text" {
                facts.said.push(Said::User(block.text("text").to_owned()));
            }
        }
    }
    facts
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

fn tools(body: &Map<String, Value>) -> &[Value] {
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
                None => json!({"type": "text", "text": text, "citations": null}),
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
        self.push(json!({"type": "text", "text": text, "citations": null}));
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

/// Applies context edits and compaction to the finished answer.
fn manage_context(answer: &mut Answer, checked: &Checked, world: &World) {
    let total = answer.input.total();
    if checked
        .body
        .get("compaction")
        .is_some_and(|value| !value.is_null())
    {
        answer.content = vec![compaction(checked, world)];
        "compaction".clone_into(&mut answer.stop_reason);
    }
    if !checked.body.contains_key("context_management") {
        return;
    }
    let mut applied = Vec::new();
    for edit in &checked.edits {
        match edit {
            Edit::ClearThinking { keep_turns } => {
                let Some(keep) = keep_turns else { continue };
                let (cleared, turns) = usage::old_thinking(checked, *keep);
                if turns > 0 {
                    answer.input.plain = answer.input.plain.saturating_sub(cleared);
                    applied.push(json!({"type": "clear_thinking_20251015",
                        "cleared_thinking_turns": turns, "cleared_input_tokens": cleared}));
                }
            }
            Edit::ClearToolUses {
                trigger_tokens,
                trigger_uses,
                keep,
            } => {
                let (cleared, uses) = old_tool_results(checked, *keep);
                let all = uses + keep;
                let due = trigger_tokens.is_some_and(|trigger| total >= trigger)
                    || trigger_uses.is_some_and(|trigger| all >= trigger);
                if due && uses > 0 {
                    answer.input.plain = answer.input.plain.saturating_sub(cleared);
                    applied.push(json!({"type": "clear_tool_uses_20250919",
                        "cleared_tool_uses": uses, "cleared_input_tokens": cleared}));
                }
            }
            Edit::Compact {
                trigger_tokens,
                pause,
            } if total >= *trigger_tokens => compact(answer, checked, *pause, world),
            Edit::Compact { .. } => {}
        }
    }
    answer.applied_edits = Some(json!({"applied_edits": applied}));
}

fn compaction(checked: &Checked, world: &World) -> Value {
    let summary = format!("Summary of {} turns, by the sandbox.", checked.turns.len());
    let signature = world
        .seals
        .mint("anthropic.compaction", &[summary.as_bytes()], b"");
    json!({"type": "compaction", "content": summary, "encrypted_content": null,
        "signature": signature})
}

/// Puts a summary before the answer; what it cost is listed apart and not in the totals.
fn compact(answer: &mut Answer, checked: &Checked, pause: bool, world: &World) {
    answer.content.insert(0, compaction(checked, world));
    answer.broken_inputs.clear();
    let entry = |kind: &str, input: u64, output: u64| {
        json!({"type": kind, "input_tokens": input, "output_tokens": output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0})
    };
    let before = answer.input.total();
    answer.input = InputTokens {
        plain: 200,
        ..InputTokens::default()
    };
    let mut iterations = vec![entry("compaction", before, 40)];
    if pause {
        answer.content.truncate(1);
        "compaction".clone_into(&mut answer.stop_reason);
        answer.output_tokens = 0;
    } else {
        iterations.push(entry("message", 200, answer.output_tokens));
    }
    answer.iterations = Some(Value::Array(iterations));
}

/// Tokens and number of tool results before the last `keep`.
fn old_tool_results(checked: &Checked, keep: u64) -> (u64, u64) {
    let results: Vec<u64> = checked
        .turns
        .iter()
        .flat_map(|turn| &turn.blocks)
        .filter(|block| block.kind() == "tool_result")
        .map(|block| tokens::count(&tokens::render(&block.value["content"])))
        .collect();
    let old = results
        .len()
        .saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    (results[..old].iter().sum(), old as u64)
}
