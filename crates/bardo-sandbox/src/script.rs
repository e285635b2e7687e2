//! The deterministic model: neutral facts about a request in, one turn out.

use serde_json::{Map, Value, json};

use crate::asked::Harness;
use crate::dialect::Dialect;
use crate::fault::Faults;
use crate::tokens;
use crate::unscripted;
use crate::world::World;

/// What marks a script inside a user text.
const MARKER: &str = "bardo-script:";
/// Bytes per streamed piece unless the script says otherwise.
const CHUNK_BYTES: usize = 16;

/// One entry of the conversation, as far as a script cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A text by the user; tool results are not texts.
    User(String),
    /// One assistant turn, however many messages or items it is spread over.
    Assistant,
}

/// A tool that the model may call.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The schema of its arguments; a custom tool takes text instead.
    pub(crate) schema: Option<Value>,
    pub(crate) custom: bool,
}

/// What the request says about calling tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Auto,
    None,
    /// Some tool, whichever.
    Any,
    Named(String),
}

/// A call of an earlier turn, and what its tool gave back.
#[derive(Debug, Clone)]
pub(crate) struct Used {
    /// How many entries of `said` stand before it.
    pub(crate) at: usize,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Input,
    /// `None` until the tool has answered.
    pub(crate) result: Option<String>,
    /// The tool reported an error.
    pub(crate) failed: bool,
}

/// What the request says about the form of the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Output {
    #[default]
    Free,
    JsonObject,
    Schema(Value),
}

/// Everything the model looks at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) service: &'static str,
    /// The dialect of the request as it came in here.
    pub(crate) dialect: Dialect,
    /// The dialect that the gateway's caller spoke, where the gateway says so.
    pub(crate) from: Option<Dialect>,
    pub(crate) model: String,
    pub(crate) said: Vec<Said>,
    /// Calls of earlier turns, in order.
    pub(crate) used: Vec<Used>,
    /// What the program around the conversation says of itself.
    pub(crate) harness: Harness,
    /// Tokens of the prompt, if they are counted.
    pub(crate) input_tokens: Option<u64>,
    /// Media types of the images in the conversation.
    pub(crate) images: Vec<String>,
    pub(crate) documents: usize,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    /// No more than one call in a turn.
    pub(crate) one_call: bool,
    pub(crate) output: Output,
    /// Whether the model can reason at all; a script's `think` is dropped otherwise.
    pub(crate) can_think: bool,
    /// Whether thinking is on for this request.
    pub(crate) thinking: bool,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) stop: Vec<String>,
    /// Varies the ids of tool calls between choices of one request.
    pub(crate) choice_index: usize,
}

/// What a call passes to its tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Json(Value),
    /// Free text for a custom tool.
    Text(String),
    /// Arguments as the model wrote them, maybe not JSON.
    Raw(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Twenty-four alphanumeric characters; the service adds its prefix.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Input,
}

/// Why a turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    End,
    Tools,
    MaxTokens,
    Sequence(String),
    Refusal,
    ContentFilter,
    /// A reason in the service's own words, passed through.
    Other(String),
}

/// Counts that a script sets instead of the estimate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UsageOverride {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
}

/// What the model says in one turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) think: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) tools: Vec<Call>,
    pub(crate) stop: Stop,
    pub(crate) usage: UsageOverride,
    pub(crate) faults: Faults,
    pub(crate) chunk: usize,
    pub(crate) delay_ms: u64,
    /// The scripted step as written, for what only one service understands.
    pub(crate) step: Map<String, Value>,
}

impl Facts {
    /// Notes a call of an earlier turn.
    pub(crate) fn called(&mut self, id: &str, name: &str, input: Input) {
        self.used.push(Used {
            at: self.said.len(),
            id: id.to_owned(),
            name: name.to_owned(),
            input,
            result: None,
            failed: false,
        });
    }

    /// Notes what a tool gave back: to the call with this id, or without an id to the oldest open
    /// call of this name.
    pub(crate) fn answered(&mut self, id: &str, name: &str, result: String, failed: bool) {
        let fits = |used: &&mut Used| {
            let alike = if id.is_empty() {
                used.name == name
            } else {
                used.id == id
            };
            used.result.is_none() && alike
        };
        if let Some(used) = self.used.iter_mut().find(fits) {
            used.result = Some(result);
            used.failed = failed;
        }
    }
}

impl Input {
    /// Arguments as a message carries them, in a text.
    pub(crate) fn parse(arguments: &str) -> Self {
        match serde_json::from_str(arguments) {
            Ok(value) => Self::Json(value),
            Err(_) => Self::Raw(arguments.to_owned()),
        }
    }
}

impl Call {
    /// The arguments as the text that the chat dialects carry.
    pub(crate) fn arguments(&self) -> String {
        match &self.input {
            Input::Json(value) => value.to_string(),
            Input::Text(text) | Input::Raw(text) => text.clone(),
        }
    }

    /// The arguments as an object; text that is no JSON object becomes an empty one.
    pub(crate) fn object(&self) -> Value {
        match &self.input {
            Input::Json(value) => value.clone(),
            Input::Text(text) => json!({ "input": text }),
            Input::Raw(text) => serde_json::from_str(text)
                .ok()
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({})),
        }
    }

    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.input, Input::Text(_))
    }
}

impl Turn {
    /// Tokens of the visible and the hidden answer together.
    pub(crate) fn output_tokens(&self) -> u64 {
        self.usage.output.unwrap_or_else(|| {
            let calls: u64 = self
                .tools
                .iter()
                .map(|call| tokens::count(&call.arguments()) + 8)
                .sum();
            let text = self.text.as_deref().map_or(0, tokens::count);
            let refusal = self.refusal.as_deref().map_or(0, tokens::count);
            (self.think_tokens() + text + refusal + calls).max(1)
        })
    }

    /// Tokens of the hidden answer.
    pub(crate) fn think_tokens(&self) -> u64 {
        let estimate = || self.think.as_deref().map_or(0, tokens::count);
        self.usage.reasoning.unwrap_or_else(estimate)
    }

    pub(crate) fn plain(text: String) -> Self {
        Self {
            think: None,
            text: Some(text),
            refusal: None,
            tools: Vec::new(),
            stop: Stop::End,
            usage: UsageOverride::default(),
            faults: Faults::default(),
            chunk: CHUNK_BYTES,
            delay_ms: 0,
            step: Map::new(),
        }
    }
}

/// Plays one turn. The error is the reason why a script cannot be understood.
pub(crate) fn play(facts: &Facts, world: &World) -> Result<Turn, String> {
    let mut turn = match scripted(facts, world)? {
        Some(turn) => turn,
        None => unscripted::turn(facts, world),
    };
    if !facts.can_think {
        turn.think = None;
    }
    shorten(&mut turn, facts);
    Ok(turn)
}

fn scripted(facts: &Facts, world: &World) -> Result<Option<Turn>, String> {
    let found = facts
        .said
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, said)| match said {
            Said::User(text) => text
                .rfind(MARKER)
                .map(|marker| (at, &text[marker + MARKER.len()..])),
            Said::Assistant => None,
        });
    let Some((at, script)) = found else {
        return Ok(None);
    };
    let mut parsed = serde_json::Deserializer::from_str(script.trim_start()).into_iter::<Value>();
    let script = match parsed.next() {
        Some(Ok(script)) => script,
        Some(Err(error)) => return Err(format!("the bardo-script is not JSON: {error}")),
        None => return Err("no JSON follows `bardo-script:`".to_owned()),
    };
    let steps = script
        .get("steps")
        .and_then(Value::as_array)
        .filter(|steps| !steps.is_empty())
        .ok_or("the bardo-script has no steps")?;
    let index = facts.said[at..]
        .iter()
        .filter(|said| **said == Said::Assistant)
        .count();
    let step = match steps.get(index) {
        Some(step) => Some(step),
        None => steps.last().filter(|step| step.get("tools").is_none()),
    };
    match step {
        Some(step) => turn_of(step, index, facts, world).map(Some),
        None => Ok(Some(Turn::plain("done".to_owned()))),
    }
}

fn turn_of(step: &Value, index: usize, facts: &Facts, world: &World) -> Result<Turn, String> {
    let fields = step
        .as_object()
        .ok_or("a step of the bardo-script is not an object")?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    let listed = fields.get("tools").and_then(Value::as_array);
    let tools = listed
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, call)| call_of(call, call_id(facts, world, index, at)))
        .collect::<Result<Vec<_>, _>>()?;
    let refusal = text("refusal");
    let stop = match text("stop").as_deref() {
        Some("end" | "stop" | "end_turn") => Stop::End,
        Some("tools" | "tool_use" | "tool_calls") => Stop::Tools,
        Some("max_tokens" | "length") => Stop::MaxTokens,
        Some("stop_sequence") => Stop::Sequence(facts.stop.first().cloned().unwrap_or_default()),
        Some("refusal") => Stop::Refusal,
        Some("content_filter") => Stop::ContentFilter,
        Some(other) => Stop::Other(other.to_owned()),
        None if refusal.is_some() => Stop::Refusal,
        None if !tools.is_empty() => Stop::Tools,
        None => Stop::End,
    };
    let faults = Faults::parse(fields.get("fault").unwrap_or(&Value::Null))
        .map_err(|error| format!("the fault of the bardo-script is invalid: {error}"))?;
    Ok(Turn {
        think: text("think"),
        text: text("text"),
        refusal,
        tools,
        stop,
        usage: usage_of(fields.get("usage").unwrap_or(&Value::Null)),
        faults,
        chunk: number("chunk")
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(CHUNK_BYTES),
        delay_ms: number("delay_ms").unwrap_or(0),
        step: fields.clone(),
    })
}

fn call_of(call: &Value, id: String) -> Result<Call, String> {
    let name = call
        .get("name")
        .and_then(Value::as_str)
        .ok_or("a scripted tool has no name")?;
    let id = call
        .get("id")
        .and_then(Value::as_str)
        .map_or(id, str::to_owned);
    let raw = |field: &str| call.get(field).and_then(Value::as_str).map(str::to_owned);
    let input = if let Some(text) = raw("input") {
        Input::Text(text)
    } else if let Some(text) = raw("args_text") {
        Input::Raw(text)
    } else {
        Input::Json(call.get("args").cloned().unwrap_or_else(|| json!({})))
    };
    Ok(Call {
        id,
        name: name.to_owned(),
        input,
    })
}

fn usage_of(usage: &Value) -> UsageOverride {
    let count = |names: [&str; 3]| names.iter().find_map(|name| usage.get(name)?.as_u64());
    UsageOverride {
        input: count(["input", "input_tokens", "prompt_tokens"]),
        output: count(["output", "output_tokens", "completion_tokens"]),
        reasoning: count(["reasoning", "reasoning_tokens", "thinking"]),
        cache_read: count(["cache_read", "cached_tokens", "cached"]),
        cache_write: count(["cache_write", "cache_write_tokens", "written"]),
    }
}

pub(crate) fn call_id(facts: &Facts, world: &World, turn: usize, at: usize) -> String {
    let conversation = format!("{:?}", facts.said);
    let place = format!("{turn}/{at}/{}", facts.choice_index);
    let parts = [facts.service, &facts.model, &conversation, &place];
    world.id("", 24, &parts.map(str::as_bytes))
}

/// Honors stop sequences, then the token limit: hidden text is spent first, calls last.
fn shorten(turn: &mut Turn, facts: &Facts) {
    if let Some(text) = &mut turn.text {
        let stops = facts.stop.iter().filter(|stop| !stop.is_empty());
        let first = stops
            .filter_map(|stop| text.find(stop).map(|at| (at, stop)))
            .min();
        if let Some((at, stop)) = first {
            text.truncate(at);
            turn.tools.clear();
            turn.stop = Stop::Sequence(stop.clone());
        }
    }
    let Some(limit) = facts.max_tokens else {
        return;
    };
    let mut left = usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .saturating_mul(4);
    let mut cut = false;
    let spoken = [&mut turn.think, &mut turn.text, &mut turn.refusal];
    for text in spoken.into_iter().flatten() {
        if text.len() > left {
            text.truncate(tokens::floor_boundary(text, left));
            cut = true;
        }
        left -= text.len().min(left);
    }
    for at in 0..turn.tools.len() {
        let arguments = turn.tools[at].arguments();
        if cut || arguments.len() > left {
            if cut {
                turn.tools.truncate(at);
            } else {
                let keep = tokens::floor_boundary(&arguments, left);
                turn.tools[at].input = Input::Raw(arguments[..keep].to_owned());
                turn.tools.truncate(at + 1);
            }
            cut = true;
            break;
        }
        left -= arguments.len();
    }
    if cut {
        turn.stop = Stop::MaxTokens;
        turn.usage.output = turn.usage.output.or(Some(limit));
        turn.usage.reasoning = turn.usage.reasoning.or_else(|| {
            turn.think
                .as_deref()
                .map(|think| tokens::count(think).min(limit))
        });
    }
}

#[cfg(test)]
mod tests;
