//! Bankr: two dialects on prepaid credit, with a privacy tier per request.

mod account;
mod catalog;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::{self, Asked, Caching, Context, Counts, Flavor, Thoughts, UsageChunk};
use crate::chat::{order, parts};
use crate::recorded::Recorded;
use crate::reply::{Piece, Reply};
use crate::world::{KeyProblem, World};
use catalog::Model;

const FLAVOR: Flavor = Flavor {
    id_prefix: "chatcmpl-",
    call_prefix: "call_",
    thoughts: Thoughts::Field {
        name: "reasoning_content",
        null_other: false,
    },
    usage_chunk: UsageChunk::OnRequest,
    usage,
    comment: None,
    index_zero: false,
    reshape: chat::unchanged,
    decorate,
};

/// Answers below `/bankr`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let (tier, path) = match request.path.split_once("/v1/") {
        Some(("/zdr", rest)) => (Some("zdr"), rest),
        Some(("/private", rest)) => (Some("private"), rest),
        Some((_, rest)) => (None, rest),
        // The service serves the same paths without a version.
        None => (None, request.path.trim_start_matches('/')),
    };
    let key = request.header("x-api-key").or(request.bearer());
    if path == "health" {
        return Reply::json(200, &json!({ "status": "ok" }));
    }
    if let Err(problem) = world.check_key(key) {
        return error(
            401,
            "auth_error",
            match problem {
                KeyProblem::Missing => "API key required",
                KeyProblem::Wrong => "Invalid or inactive API key",
            },
        );
    }
    match (&request.method, path) {
        (&Method::POST, "chat/completions") => inference(request, tier, world),
        (&Method::POST, "messages") => inference(request, tier, world),
        (&Method::GET, "models") => Reply::json(200, &catalog::list()),
        (&Method::GET, "credits") => Reply::json(200, &account::credits(world)),
        (&Method::GET, "usage") => {
            let days = request
                .query_value("days")
                .and_then(|days| days.parse().ok());
            Reply::json(200, &account::usage(days, world))
        }
        (&Method::POST, "llm/credits/topup") => account::top_up(request, world),
        (_, "llm/credits/auto-topup") => account::auto_top_up(request, world),
        _ => error(404, "not_found", "Not found"),
    }
}

/// The life of an inference request: model, privacy, credit, answer, deduction.
fn inference(request: &Recorded, path_tier: Option<&str>, world: &World) -> Reply {
    let mut body = match request.json() {
        Ok(body) if body.is_object() => body,
        _ => return refused(request, 400, "invalid_request_error", "Invalid JSON body"),
    };
    let asked = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let (id, suffix) = catalog::split(&asked);
    let Some(model) = catalog::find(id) else {
        if let Some(replacement) = catalog::removed(id) {
            return refused(
                request,
                410,
                "model_removed",
                &format!("Model {id} was removed"),
            )
            .with_header("x-model-replacement", replacement);
        }
        return refused(
            request,
            400,
            "invalid_request_error",
            &format!("Unknown model: {id}"),
        );
    };
    let tier = match privacy(&body, path_tier, suffix) {
        Ok(tier) => tier,
        Err((kind, message)) => return refused(request, 400, kind, &message),
    };
    if !model.offers(&tier) {
        let message = format!("No provider serves {id} with privacy {tier}");
        return refused(request, 422, "zdr_unavailable", &message);
    }
    if account::balance_micro_usd(world) <= 0 {
        let message = "Insufficient LLM credits. Top up to continue.";
        return refused(request, 402, "insufficient_credits", message);
    }
    body["model"] = json!(id);
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove("privacy");
    }
    let reply = if speaks_anthropic(request) {
        let inner = Recorded {
            body: body.to_string().into(),
            ..request.clone()
        };
        let reply = crate::anthropic::resold_messages(&inner, world);
        account::charge_reply(&model, &reply, world);
        reply
    } else {
        chat_completions(request, &body, &model, world)
            .unwrap_or_else(|message| error(400, "invalid_request_error", &message))
    };
    let reply = reply.with_header("x-privacy-tier", tier);
    match model.replacement() {
        Some(replacement) => reply
            .with_header("x-model-deprecated", "true")
            .with_header("x-model-replacement", replacement),
        None => reply,
    }
}

/// The tier of a request. Body, path and suffix must not disagree.
fn privacy(
    body: &Value,
    path: Option<&str>,
    suffix: Option<&str>,
) -> Result<String, (&'static str, String)> {
    let field = match body.get("privacy") {
        None | Some(Value::Null) => None,
        Some(Value::String(tier)) if catalog::TIERS.contains(&tier.as_str()) => Some(tier.as_str()),
        Some(other) => return Err(("invalid_privacy", format!("Invalid privacy: {other}"))),
    };
    let mut named = [field, path, suffix].into_iter().flatten();
    let first = named.next().unwrap_or("standard");
    match named.find(|other| *other != first) {
        Some(other) => Err((
            "privacy_conflict",
            format!("Conflicting privacy: {first} and {other}"),
        )),
        None => Ok(first.to_owned()),
    }
}

fn chat_completions(
    request: &Recorded,
    body: &Value,
    model: &Model,
    world: &World,
) -> Result<Reply, String> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages
        .filter(|messages| !messages.is_empty())
        .ok_or("messages is required")?;
    parts::check(messages)?;
    order::check(messages).map_err(|_| "tool calls and tool results do not match".to_owned())?;
    let effort = body.get("reasoning_effort").and_then(Value::as_str);
    let thinks = model.reasons();
    let asked = Asked {
        request,
        model: model.id().to_owned(),
        can_think: thinks,
        thinking: thinks && effort.is_some_and(|effort| effort != "none"),
        caching: if model.id().starts_with("claude") {
            Caching::Markers
        } else {
            Caching::Automatic
        },
        body,
    };
    chat::answer(&asked, &FLAVOR, world)
}

fn usage(counts: &Counts) -> Value {
    let (input, output) = (counts.input, counts.output);
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": counts.cache_read,
            "cache_write_tokens": counts.cache_written },
        "completion_tokens_details": { "reasoning_tokens": counts.reasoning },
    })
}

/// Charges the account when the last object of an answer is made.
fn decorate(object: &mut Map<String, Value>, context: &Context<'_>) {
    object.insert("system_fingerprint".to_owned(), Value::Null);
    let is_end = context.last
        || (context.asked.streams()
            && object["choices"]
                .pointer("/0/finish_reason")
                .is_some_and(|reason| !reason.is_null())
            && !context.asked.includes_usage());
    if is_end && let Some(model) = catalog::find(&context.asked.model) {
        account::charge(&model, context.counts, context.world);
    }
}

fn speaks_anthropic(request: &Recorded) -> bool {
    request.path.ends_with("/messages")
}

fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({ "error": { "message": message, "type": kind } }),
    )
}

/// An error in the shape that both dialects read: `error.type` and `error.message`.
fn refused(request: &Recorded, status: u16, kind: &str, message: &str) -> Reply {
    if speaks_anthropic(request) {
        let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
        return Reply::json(status, &error);
    }
    error(status, kind, message)
}

/// A refusal with this status in the shape of the endpoint.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    let (kind, message) = match status {
        401 => ("auth_error", "Invalid or inactive API key"),
        402 => (
            "insufficient_credits",
            "Insufficient LLM credits. Top up to continue.",
        ),
        403 => ("auth_error", "LLM Gateway is not enabled for this key"),
        422 => ("zdr_unavailable", "No provider at this privacy tier"),
        429 => ("rate_limit_error", "Too many requests"),
        503 => ("provider_unavailable", "All providers are unavailable"),
        500.. => ("api_error", "Internal error"),
        _ => ("invalid_request_error", "Invalid request"),
    };
    refused(request, status, kind, message)
}

/// The error of a stream that already began.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    if speaks_anthropic(request) {
        return crate::anthropic::stream_error(request);
    }
    crate::openai::stream_error(request)
}

/// What keeps a quiet stream open.
pub(crate) fn ping(request: &Recorded) -> Bytes {
    if speaks_anthropic(request) {
        return crate::anthropic::ping(request);
    }
    Bytes::from_static(b": ping\n\n")
}

#[cfg(test)]
mod tests;
