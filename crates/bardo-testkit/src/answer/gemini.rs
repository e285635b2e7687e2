use serde_json::{Value, json};

use super::{Answer, Event, UsageStyle, content, data, terminal};

fn chunk(answer: &Answer, text: &str, finish: Option<&str>, output: Option<u64>) -> Value {
    let mut candidate = json!({
        "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0,
    });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let mut chunk = json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": "r-1",
    });
    if let Some(output) = output.filter(|_| answer.usage != UsageStyle::Missing) {
        chunk["usageMetadata"] = json!({
            "promptTokenCount": answer.input,
            "cachedContentTokenCount": answer.cached,
            "candidatesTokenCount": output,
            "totalTokenCount": answer.input + output,
        });
    }
    chunk
}

/// Every chunk reports what there was so far; the last one has a reason to finish as well.
pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let last = answer.pieces.len() - 1;
    answer
        .pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| {
            let output = Some(at as u64 + 1);
            if at == last {
                let bytes = data(&chunk(answer, piece, Some("STOP"), output));
                Event {
                    tokens: 1,
                    ..terminal(bytes)
                }
            } else {
                content(data(&chunk(answer, piece, None, output)))
            }
        })
        .collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    chunk(answer, &answer.text(), Some("STOP"), Some(answer.output()))
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        401 => "UNAUTHENTICATED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": name } })
}
