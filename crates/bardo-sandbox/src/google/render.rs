//! A whole response, an event stream, or the JSON array that a stream is without `alt=sse`.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use crate::fault::{Fault, Faults};
use crate::reply::{Part, Piece, Reply};
use crate::tokens;

/// The response of `generateContent`.
pub(super) fn whole(answer: &Answer, faults: &Faults) -> Value {
    if answer.blocked.is_some() {
        return blocked(answer, faults);
    }
    let last = Last {
        finish: true,
        usage: true,
    };
    response(answer, &answer.parts, last, faults)
}

/// The chunks of `streamGenerateContent`, as events or as one array.
pub(super) fn stream(answer: &Answer, sse: bool, faults: &Faults) -> Reply {
    let chunks = chunks(answer, faults);
    if sse {
        let pieces = chunks.into_iter().map(|chunk| Piece {
            delay_ms: chunk.delay_ms,
            ..Piece::raw(chunk.part, format!("data: {}\r\n\r\n", chunk.body))
        });
        return Reply::stream(pieces.collect()).set_header("content-type", "text/event-stream");
    }
    let mut pieces: Vec<Piece> = chunks
        .into_iter()
        .enumerate()
        .map(|(index, chunk)| {
            let before = if index == 0 { "[" } else { "\n,\r\n" };
            Piece {
                delay_ms: chunk.delay_ms,
                ..Piece::raw(chunk.part, format!("{before}{}", chunk.body))
            }
        })
        .collect();
    pieces.push(Piece::raw(Part::Done, "\n]"));
    Reply::stream(pieces).set_header("content-type", "application/json; charset=UTF-8")
}

struct Chunk {
    part: Part,
    body: Value,
    delay_ms: u64,
}

/// Which of the closing fields a chunk has.
#[derive(Clone, Copy)]
struct Last {
    finish: bool,
    usage: bool,
}

const OPEN: Last = Last {
    finish: false,
    usage: true,
};

fn chunks(answer: &Answer, faults: &Faults) -> Vec<Chunk> {
    let chunk = |part, body| Chunk {
        part,
        body,
        delay_ms: 0,
    };
    if answer.blocked.is_some() {
        return vec![chunk(Part::Close, blocked(answer, faults))];
    }
    let mut deltas = deltas(answer, faults);
    let late_usage = faults.late_usage_ms();
    // The end of a text comes with the finish reason; a call has a closing chunk of its own.
    let closing = match deltas.last() {
        Some(delta) if delta["functionCall"].is_null() => deltas.pop(),
        _ => None,
    };
    let closing = closing.unwrap_or_else(|| json!({"text": ""}));
    let mut chunks: Vec<Chunk> = deltas
        .into_iter()
        .map(|delta| chunk(Part::Content, response(answer, &[delta], OPEN, faults)))
        .collect();
    let last = Last {
        finish: true,
        usage: late_usage.is_none(),
    };
    let body = response(answer, &[closing], last, faults);
    chunks.push(chunk(Part::Close, body));
    if let Some(delay_ms) = late_usage {
        let mut body = envelope(answer);
        body.insert("usageMetadata".to_owned(), usage(answer, true));
        chunks.push(Chunk {
            part: Part::Close,
            body: Value::Object(body),
            delay_ms,
        });
    }
    chunks
}

/// The parts in the pieces in which a stream sends them.
fn deltas(answer: &Answer, faults: &Faults) -> Vec<Value> {
    let mut deltas = Vec::new();
    for part in &answer.parts {
        if let Some(text) = part["text"].as_str() {
            for piece in tokens::pieces(text, answer.chunk) {
                let mut delta = json!({"text": piece});
                if part["thought"] == true {
                    delta["thought"] = json!(true);
                }
                deltas.push(delta);
            }
            if !part["thoughtSignature"].is_null() {
                deltas.push(json!({"text": "", "thoughtSignature": part["thoughtSignature"]}));
            }
        } else if answer.partial_args && !part["functionCall"].is_null() {
            partial_call(part, answer.chunk, &mut deltas);
        } else if faults.has(&Fault::SplitThoughtSignature) && !part["thoughtSignature"].is_null() {
            let mut unsigned = part.clone();
            unsigned
                .as_object_mut()
                .map(|fields| fields.remove("thoughtSignature"));
            deltas.push(unsigned);
            deltas.push(json!({"text": "", "thoughtSignature": part["thoughtSignature"]}));
        } else {
            deltas.push(part.clone());
        }
    }
    deltas
}

/// A call whose arguments come value by value, long strings in several pieces.
fn partial_call(part: &Value, chunk: usize, deltas: &mut Vec<Value>) {
    let mut opening = part.clone();
    let call = &mut opening["functionCall"];
    call.as_object_mut().map(|fields| fields.remove("args"));
    call["willContinue"] = json!(true);
    deltas.push(opening);
    let mut leaves = Vec::new();
    flatten("$", &part["functionCall"]["args"], &mut leaves);
    let mut push = |partial: Value| {
        deltas.push(json!({"functionCall": {"partialArgs": [partial], "willContinue": true}}));
    };
    for (path, leaf) in leaves {
        match leaf {
            Value::String(text) => {
                let pieces = tokens::pieces(text, chunk);
                if pieces.is_empty() {
                    push(json!({"jsonPath": path, "stringValue": ""}));
                }
                for (at, piece) in pieces.iter().enumerate() {
                    let mut partial = json!({"jsonPath": path, "stringValue": piece});
                    if at + 1 < pieces.len() {
                        partial["willContinue"] = json!(true);
                    }
                    push(partial);
                }
            }
            Value::Number(number) => push(json!({"jsonPath": path, "numberValue": number})),
            Value::Bool(flag) => push(json!({"jsonPath": path, "boolValue": flag})),
            _ => push(json!({"jsonPath": path, "nullValue": "NULL_VALUE"})),
        }
    }
    deltas.push(json!({"functionCall": {}}));
}

fn flatten<'a>(path: &str, value: &'a Value, leaves: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, leaves)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| flatten(&format!("{path}[{index}]"), value, leaves)),
        leaf => leaves.push((path.to_owned(), leaf)),
    }
}

fn response(answer: &Answer, parts: &[Value], last: Last, faults: &Faults) -> Value {
    let mut candidate = json!({
        "content": {"parts": parts, "role": "model"},
        "index": 0,
    });
    if last.finish {
        if parts.is_empty() {
            candidate["content"] = json!({"role": "model"});
        }
        if !faults.has(&Fault::FinishMissing) {
            candidate["finishReason"] = json!(answer.finish);
        }
        if let Some(message) = &answer.finish_message {
            candidate["finishMessage"] = json!(message);
        }
        if let Some(grounding) = &answer.grounding {
            candidate["groundingMetadata"] = grounding.clone();
        }
        if answer.finish == "SAFETY" {
            candidate["safetyRatings"] = json!([{"category": "HARM_CATEGORY_DANGEROUS_CONTENT",
                "probability": "HIGH", "blocked": true}]);
        }
    }
    let mut body = Map::new();
    body.insert("candidates".to_owned(), json!([candidate]));
    if last.usage && !faults.has(&Fault::UsageMissing) {
        body.insert("usageMetadata".to_owned(), usage(answer, last.finish));
    }
    body.extend(envelope(answer));
    Value::Object(body)
}

fn envelope(answer: &Answer) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("modelVersion".to_owned(), json!(answer.model_version));
    body.insert("responseId".to_owned(), json!(answer.response_id));
    body
}

/// A blocked prompt is answered with status 200 and no candidates at all.
fn blocked(answer: &Answer, faults: &Faults) -> Value {
    let mut body = Map::new();
    body.insert(
        "promptFeedback".to_owned(),
        json!({"blockReason": answer.blocked}),
    );
    if !faults.has(&Fault::UsageMissing) {
        let prompt = answer.usage.prompt;
        body.insert(
            "usageMetadata".to_owned(),
            json!({"promptTokenCount": prompt, "totalTokenCount": prompt}),
        );
    }
    body.extend(envelope(answer));
    Value::Object(body)
}

/// Counts so far; the candidate's own tokens are known at the end.
fn usage(answer: &Answer, finished: bool) -> Value {
    let counts = answer.usage;
    let mut usage = json!({"promptTokenCount": counts.prompt});
    let mut total = counts.prompt;
    let mut add = |name: &str, count: u64| {
        if count > 0 {
            usage[name] = json!(count);
        }
        count
    };
    add("cachedContentTokenCount", counts.cached);
    total += add("toolUsePromptTokenCount", counts.tool_use);
    total += add("thoughtsTokenCount", counts.thoughts);
    if finished {
        total += add("candidatesTokenCount", counts.candidates);
    }
    usage["totalTokenCount"] = json!(total);
    usage["promptTokensDetails"] = json!([{"modality": "TEXT", "tokenCount": counts.prompt}]);
    usage
}
