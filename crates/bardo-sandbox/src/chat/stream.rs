//! A chat completion as server-sent events.

use serde_json::{Map, Value, json};

use crate::chat::whole::{call_object, logprobs};
use crate::chat::{Rendering, Thoughts, UsageChunk, flag};
use crate::fault::Fault;
use crate::reply::{Part, Piece, Reply};
use crate::script::Turn;
use crate::tokens;

/// One delta before it is wrapped in a chunk.
struct Delta {
    part: Part,
    index: usize,
    delta: Value,
    logprobs: Value,
    finish: Value,
}

pub(super) fn render(rendering: &Rendering<'_>) -> Reply {
    let mut lanes: Vec<Vec<Delta>> = rendering
        .turns
        .iter()
        .enumerate()
        .map(|(index, turn)| deltas(rendering, index, turn))
        .collect();
    let mut pieces = Vec::new();
    pieces.extend(rendering.flavor.comment.map(Piece::comment));
    // Choices share one connection, so their chunks alternate.
    lanes.iter_mut().for_each(|lane| lane.reverse());
    while lanes.iter().any(|lane| !lane.is_empty()) {
        for delta in lanes.iter_mut().filter_map(Vec::pop) {
            let comment = rendering.flavor.comment.filter(|_| pieces.len() % 64 == 63);
            pieces.extend(comment.map(Piece::comment));
            pieces.push(chunk(rendering, delta));
        }
    }
    pieces.extend(usage_piece(rendering));
    pieces.push(Piece::done());
    Reply::stream(pieces).paced(rendering.turns[0].delay_ms)
}

fn deltas(rendering: &Rendering<'_>, index: usize, turn: &Turn) -> Vec<Delta> {
    let mut deltas = Vec::new();
    let mut push = |part, delta: Value, text: &str| {
        let logprobs = if text.is_empty() {
            Value::Null
        } else {
            logprobs(rendering, text)
        };
        deltas.push(Delta {
            part,
            index,
            delta,
            logprobs,
            finish: Value::Null,
        });
    };
    push(Part::Open, opening(rendering), "");
    if let Some(think) = &turn.think {
        for delta in thoughts(rendering, think, turn.chunk) {
            push(Part::Content, delta, "");
        }
    }
    let empty_list = rendering.faults.has(&Fault::ToolCallsEmptyList);
    for piece in tokens::pieces(turn.text.as_deref().unwrap_or_default(), turn.chunk) {
        let mut delta = json!({ "content": piece });
        if let Thoughts::Field {
            name,
            null_other: true,
        } = rendering.flavor.thoughts
        {
            delta[name] = Value::Null;
        }
        if empty_list {
            delta["tool_calls"] = json!([]);
        }
        push(Part::Content, delta, piece);
    }
    for piece in tokens::pieces(turn.refusal.as_deref().unwrap_or_default(), turn.chunk) {
        push(Part::Content, json!({ "refusal": piece }), "");
    }
    for delta in calls(rendering, turn) {
        push(Part::Content, delta, "");
    }
    deltas.push(Delta {
        part: Part::Close,
        index,
        delta: closing(rendering),
        logprobs: Value::Null,
        finish: rendering.finish_reason(turn),
    });
    deltas
}

fn opening(rendering: &Rendering<'_>) -> Value {
    match rendering.flavor.thoughts {
        Thoughts::Hidden => json!({ "role": "assistant", "content": "", "refusal": null }),
        Thoughts::Field {
            name,
            null_other: true,
        } => {
            json!({ "role": "assistant", "content": null, name: "" })
        }
        Thoughts::Field { .. } | Thoughts::Details => {
            json!({ "role": "assistant", "content": "" })
        }
    }
}

fn closing(rendering: &Rendering<'_>) -> Value {
    match rendering.flavor.thoughts {
        Thoughts::Field {
            name,
            null_other: true,
        } => json!({ "content": "", name: null }),
        Thoughts::Details => json!({ "role": "assistant", "content": "" }),
        Thoughts::Hidden | Thoughts::Field { .. } => json!({}),
    }
}

fn thoughts(rendering: &Rendering<'_>, think: &str, chunk: usize) -> Vec<Value> {
    match rendering.flavor.thoughts {
        Thoughts::Hidden => Vec::new(),
        Thoughts::Field { name, null_other } => tokens::pieces(think, chunk)
            .into_iter()
            .map(|piece| {
                let mut delta = Map::new();
                if null_other {
                    delta.insert("content".to_owned(), Value::Null);
                }
                delta.insert(name.to_owned(), json!(piece));
                Value::Object(delta)
            })
            .collect(),
        Thoughts::Details => crate::openrouter::reasoning_deltas(
            rendering.world,
            &rendering.asked.model,
            think,
            chunk,
        ),
    }
}

/// The fragments of every tool call; the first fragment of a call has its id and name.
fn calls(rendering: &Rendering<'_>, turn: &Turn) -> Vec<Value> {
    let faults = &rendering.faults;
    let zero = rendering.flavor.index_zero || faults.has(&Fault::IndexAlwaysZero);
    let mut lanes = Vec::new();
    for (at, call) in turn.tools.iter().enumerate() {
        let id = format!("{}{}", rendering.flavor.call_prefix, call.id);
        let arguments = call.arguments();
        let whole_at_once = rendering.flavor.index_zero || faults.has(&Fault::ArgsInFirstFragment);
        let first = if whole_at_once {
            arguments.as_str()
        } else {
            ""
        };
        let mut fragments = vec![call_object(&id, call, first)];
        if !whole_at_once {
            for piece in tokens::pieces(&arguments, turn.chunk) {
                let mut fragment = if call.is_custom() {
                    json!({ "custom": { "input": piece } })
                } else {
                    json!({ "function": { "arguments": piece } })
                };
                if faults.has(&Fault::SameIdEveryFragment) {
                    fragment["id"] = json!(id);
                }
                fragments.push(fragment);
            }
        }
        for fragment in &mut fragments {
            if rendering.legacy_functions() {
                *fragment = json!({ "function_call": fragment["function"] });
                continue;
            }
            let mut indexed = Map::new();
            if !faults.has(&Fault::NoIndex) {
                indexed.insert("index".to_owned(), json!(if zero { 0 } else { at }));
            }
            if let Value::Object(fields) = fragment.take() {
                indexed.extend(fields);
            }
            *fragment = json!({ "tool_calls": [indexed] });
        }
        lanes.push(fragments);
    }
    if faults.has(&Fault::InterleaveTools) {
        interleaved(lanes)
    } else {
        lanes.concat()
    }
}

fn interleaved(mut lanes: Vec<Vec<Value>>) -> Vec<Value> {
    let mut all = Vec::new();
    lanes.iter_mut().for_each(|lane| lane.reverse());
    while lanes.iter().any(|lane| !lane.is_empty()) {
        all.extend(lanes.iter_mut().filter_map(Vec::pop));
    }
    all
}

fn chunk(rendering: &Rendering<'_>, delta: Delta) -> Piece {
    let Delta {
        part,
        index,
        delta,
        logprobs,
        finish,
    } = delta;
    let choice =
        json!({ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish });
    let last_choice = index + 1 == rendering.turns.len();
    let usage = match rendering.flavor.usage_chunk {
        UsageChunk::WithFinish
            if part == Part::Close && last_choice && usage_is_in_time(rendering) =>
        {
            Some((rendering.flavor.usage)(&rendering.counts))
        }
        UsageChunk::OnRequest if rendering.asked.includes_usage() => Some(Value::Null),
        UsageChunk::Always => Some(Value::Null),
        _ => None,
    };
    let last = usage.as_ref().is_some_and(|usage| !usage.is_null());
    object(rendering, part, json!([choice]), usage, last)
}

fn usage_is_in_time(rendering: &Rendering<'_>) -> bool {
    !rendering.faults.has(&Fault::UsageMissing) && rendering.faults.late_usage_ms().is_none()
}

fn usage_piece(rendering: &Rendering<'_>) -> Option<Piece> {
    let late_ms = rendering.faults.late_usage_ms();
    let wanted = match rendering.flavor.usage_chunk {
        UsageChunk::OnRequest => rendering.asked.includes_usage(),
        UsageChunk::Always | UsageChunk::WithEmptyDelta => true,
        UsageChunk::WithFinish => late_ms.is_some(),
    };
    if !wanted || rendering.faults.has(&Fault::UsageMissing) {
        return None;
    }
    let choices = match rendering.flavor.usage_chunk {
        UsageChunk::WithEmptyDelta => json!([{
            "index": 0, "delta": { "role": "assistant", "content": "" }, "finish_reason": null,
            "native_finish_reason": null, "logprobs": null,
        }]),
        _ => json!([]),
    };
    let usage = (rendering.flavor.usage)(&rendering.counts);
    let mut piece = object(rendering, Part::Close, choices, Some(usage), true);
    piece.delay_ms = late_ms.unwrap_or(0);
    Some(piece)
}

fn object(
    rendering: &Rendering<'_>,
    part: Part,
    choices: Value,
    usage: Option<Value>,
    last: bool,
) -> Piece {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(rendering.id));
    object.insert("object".to_owned(), json!("chat.completion.chunk"));
    object.insert("created".to_owned(), json!(rendering.created));
    object.insert("model".to_owned(), json!(rendering.asked.model));
    object.insert("choices".to_owned(), choices);
    if let Some(usage) = usage {
        object.insert("usage".to_owned(), usage);
    }
    let options = rendering
        .asked
        .body
        .get("stream_options")
        .unwrap_or(&Value::Null);
    if flag(options, "include_obfuscation") {
        let length = 4 + object["choices"].to_string().len() % 13;
        let parts: [&[u8]; 2] = [rendering.id.as_bytes(), &length.to_be_bytes()];
        let filler = rendering.world.id("", length, &parts);
        object.insert("obfuscation".to_owned(), json!(filler));
    }
    rendering.decorate(&mut object, last);
    Piece::data(part, &Value::Object(object))
}

#[cfg(test)]
mod tests;
