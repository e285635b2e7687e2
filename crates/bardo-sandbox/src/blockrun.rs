//! BlockRun: three dialects behind one price. Below `/api` it is blockrun.ai, paid per call by
//! x402; without that prefix it is api.blockrun.ai, which takes an account's key.

mod account;
mod catalog;
mod payment;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::{self, Asked, Caching, Context, Counts, Flavor, Thoughts, UsageChunk};
use crate::chat::{order, parts};
use crate::openai::error::Problem;
use crate::openai::responses::{self, Card, Variant};
use crate::recorded::Recorded;
use crate::reply::{Piece, Reply};
use crate::world::World;
use catalog::Row;

const FLAVOR: Flavor = Flavor {
    id_prefix: "chatcmpl-",
    call_prefix: "call_",
    thoughts: Thoughts::Field {
        name: "reasoning_content",
        null_other: false,
    },
    usage_chunk: UsageChunk::Always,
    usage,
    comment: None,
    index_zero: false,
    reshape: chat::unchanged,
    decorate,
};

const RESPONSES: Variant = Variant {
    stateful: false,
    card: |model| match catalog::find(model) {
        Some(row) if row.id().starts_with("openai/") => Ok(Card {
            reasoning: row.has("reasoning"),
            caching: Caching::Automatic,
        }),
        Some(_) => Err(Problem::new(
            400,
            "This endpoint serves OpenAI models only.",
        )),
        None => Err(Problem::new(400, &catalog::unknown(model))),
    },
};

/// Which dialect an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Chat,
    Messages,
    Responses,
}

/// How a call is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rail {
    PerCall,
    Account,
}

/// Answers below `/blockrun`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let (path, rail) = match request.path.strip_prefix("/api") {
        Some(path) => (path, Rail::PerCall),
        None => (request.path.as_str(), Rail::Account),
    };
    let reply = match (&request.method, path) {
        (&Method::GET, "/v1/models") => Reply::json(200, &catalog::list()),
        (&Method::GET, "/.well-known/x402") => Reply::json(
            200,
            &json!({ "version": 2, "resources": ["/v1/chat/completions", "/v1/messages", "/v1/responses"] }),
        ),
        (&Method::POST, "/v1/chat/completions") => paid(request, world, Dialect::Chat, rail),
        (&Method::POST, "/v1/messages") => paid(request, world, Dialect::Messages, rail),
        (&Method::POST, "/v1/responses") => paid(request, world, Dialect::Responses, rail),
        _ => error(404, "INVALID_REQUEST", "Not found"),
    };
    reply.with_header("x-request-id", world.request_id("br_", request))
}

/// The life of a payable request: model, price, payment, nonce, inference, settlement.
fn paid(request: &Recorded, world: &World, dialect: Dialect, rail: Rail) -> Reply {
    let body = match request.json() {
        Ok(body) if body.is_object() => body,
        _ => {
            return refusal(
                request,
                400,
                "INVALID_JSON",
                "Request body must be valid JSON",
            );
        }
    };
    let key = (rail == Rail::Account).then(|| account::key(request, world));
    if let Some(Err((status, code, message))) = key {
        return refusal(request, status, code, message);
    }
    let model = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(row) = catalog::find(model) else {
        return Reply::json(400, &json!({ "error": catalog::unknown(model) }));
    };
    if row.billing() == "free" {
        return infer(request, &body, row, world, dialect).with_header("x-free-model", "true");
    }
    if let Some(Ok(key)) = key {
        return match account::credit(key) {
            Ok(()) => infer(request, &body, row, world, dialect),
            Err((status, code, message)) => refusal(request, status, code, message),
        };
    }
    let quote = catalog::quote(row, &body);
    let offer = payment::Offer::new(request, row, quote);
    let header = request
        .header("payment-signature")
        .or(request.header("x-payment"));
    let Some(header) = header else {
        return payment::challenge(&offer, dialect == Dialect::Chat);
    };
    let claimed = match offer.claim(header, world) {
        Ok(claimed) => claimed,
        Err((code, message)) => return refusal(request, 402, code, &message),
    };
    let reply = infer(request, &body, row, world, dialect);
    if reply.status >= 400 {
        // Nothing was served, so the authorization may be used again.
        world.shelf.take(&claimed.payer.claim());
        return reply;
    }
    claimed.settled(reply, world)
}

fn infer(request: &Recorded, body: &Value, row: Row, world: &World, dialect: Dialect) -> Reply {
    match dialect {
        Dialect::Messages => crate::anthropic::resold_messages(request, world),
        Dialect::Responses => responses::answer(request, "/responses", &RESPONSES, world)
            .unwrap_or_else(|problem| problem.reply()),
        Dialect::Chat => chat_completions(request, body, row, world)
            .unwrap_or_else(|(code, message)| error(400, code, &message)),
    }
}

fn chat_completions(
    request: &Recorded,
    body: &Value,
    row: Row,
    world: &World,
) -> Result<Reply, (&'static str, String)> {
    let messages = body.get("messages").and_then(Value::as_array);
    let Some(messages) = messages else {
        return Err(("INVALID_REQUEST_BODY", "messages: Required".to_owned()));
    };
    if messages.is_empty() {
        return Err((
            "EMPTY_CONVERSATION",
            "messages must not be empty".to_owned(),
        ));
    }
    parts::check(messages).map_err(|place| ("INVALID_REQUEST_BODY", place))?;
    if order::check(messages).is_err() {
        return Err((
            "TOOL_ID_FORMAT_ERROR",
            "tool calls and tool results do not match".to_owned(),
        ));
    }
    let mut body = body.clone();
    if row.id().contains("claude") && row.id().ends_with("5.5") && body["tool_choice"].is_object() {
        // The newest Claude models take no forced choice.
        body["tool_choice"] = json!("auto");
    }
    let most = row.max_output();
    let wanted = catalog::wanted_tokens(&body);
    let effective = wanted.unwrap_or(most.min(8_192)).min(most);
    body["max_tokens"] = json!(effective);
    let effort = body.get("reasoning_effort").and_then(Value::as_str);
    let asked = Asked {
        request,
        model: row.id().to_owned(),
        can_think: row.has("reasoning"),
        thinking: row.has("reasoning") && effort != Some("none"),
        caching: if row.id().starts_with("anthropic/") {
            Caching::Markers
        } else {
            Caching::Automatic
        },
        body: &body,
    };
    let reply = chat::answer(&asked, &FLAVOR, world)
        .map_err(|message| ("INVALID_REQUEST_BODY", message))?;
    Ok(match wanted.filter(|wanted| *wanted > most) {
        Some(wanted) => reply
            .with_header("x-max-tokens-capped", "true")
            .with_header("x-max-tokens-requested", wanted.to_string())
            .with_header("x-max-tokens-effective", effective.to_string()),
        None => reply,
    })
}

fn usage(counts: &Counts) -> Value {
    let (input, output) = (counts.input, counts.output);
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": counts.cache_read,
            "cached_creation_tokens": counts.cache_written },
        "cache_read_input_tokens": counts.cache_read,
        "cache_creation_input_tokens": counts.cache_written,
        "completion_tokens_details": { "reasoning_tokens": counts.reasoning },
    })
}

fn decorate(object: &mut Map<String, Value>, _: &Context<'_>) {
    object.insert("system_fingerprint".to_owned(), Value::Null);
}

fn error(status: u16, code: &str, message: &str) -> Reply {
    let kind = match status {
        402 => "payment_required",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    Reply::json(
        status,
        &json!({
            "error": { "message": message, "type": kind, "code": code, "param": null },
            "message": message, "code": code, "debug": format!("{code}: {message}"),
        }),
    )
}

fn refusal(request: &Recorded, status: u16, code: &str, message: &str) -> Reply {
    if request.path.ends_with("/messages") {
        let kind = if status == 402 {
            "payment_required"
        } else {
            "invalid_request_error"
        };
        return Reply::json(
            status,
            &json!({ "type": "error", "error": { "type": kind, "message": message } }),
        );
    }
    if request.path.ends_with("/responses") {
        return Problem::new(status, message).reply();
    }
    error(status, code, message)
}

/// A refusal with this status in the shape of the endpoint.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    if request.path.ends_with("/messages") {
        return crate::anthropic::refuse(status, request);
    }
    let (code, message) = match status {
        402 => ("PAYMENT_INVALID", "Payment verification failed"),
        429 => ("RATE_LIMITED", "Too many requests"),
        503 => ("MODEL_UNAVAILABLE", "The model is temporarily unavailable"),
        504 => ("TIMEOUT", "The upstream call timed out"),
        500.. => ("INTERNAL_ERROR", "Internal error"),
        _ => ("INVALID_PARAMETER", "Invalid request"),
    };
    error(status, code, message)
}

/// The error of a stream that already began.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    match () {
        () if request.path.ends_with("/messages") => crate::anthropic::stream_error(request),
        () => crate::openai::stream_error(request),
    }
}

/// What keeps a quiet stream open.
pub(crate) fn ping(request: &Recorded) -> Bytes {
    if request.path.ends_with("/messages") {
        return crate::anthropic::ping(request);
    }
    Bytes::from_static(b": ping\n\n")
}

#[cfg(test)]
mod tests;
