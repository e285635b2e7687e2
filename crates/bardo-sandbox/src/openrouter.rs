//! OpenRouter: many makers' models in the chat dialect, with two other dialects beside it.

mod models;
mod reasoning;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::order;
use crate::chat::{self, Asked, Caching, Context, Counts, Flavor, Thoughts, UsageChunk, flag};
use crate::openai::embeddings;
use crate::openai::error::Problem;
use crate::openai::responses::{self, Card, Variant};
use crate::recorded::Recorded;
use crate::reply::{Content, Part, Piece, Reply};
use crate::script::Turn;
use crate::world::{KeyProblem, World};

pub(crate) use reasoning::{reasoning_deltas, reasoning_details};

const FLAVOR: Flavor = Flavor {
    id_prefix: "gen-",
    call_prefix: "call_",
    thoughts: Thoughts::Details,
    usage_chunk: UsageChunk::WithEmptyDelta,
    usage,
    comment: Some("OPENROUTER PROCESSING"),
    index_zero: false,
    reshape,
    decorate,
};

/// Its share of what a maker bills for a call with a key of the customer's own.
const BYOK_FEE: f64 = 0.05;

/// Providers that a routing preference may name besides the model's author.
const PROVIDERS: &[&str] = &[
    "amazon-bedrock",
    "google-vertex",
    "azure",
    "deepinfra",
    "together",
    "fireworks",
];

const RESPONSES: Variant = Variant {
    stateful: false,
    card: |model| match models::find(model) {
        Some(row) => Ok(Card {
            reasoning: !row["reasoning"].is_null(),
            caching: Caching::Automatic,
        }),
        None => Err(Problem::new(
            400,
            &format!("{model} is not a valid model ID"),
        )),
    },
};

/// A refusal in OpenRouter's shape.
struct Refusal {
    status: u16,
    message: String,
    metadata: Value,
}

impl Refusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            metadata: Value::Null,
        }
    }

    fn body(&self) -> Value {
        let mut error = json!({ "code": self.status, "message": self.message });
        if !self.metadata.is_null() {
            error["metadata"] = self.metadata.clone();
        }
        json!({ "error": error, "user_id": "user_sandbox" })
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::new(problem.status, problem.message)
    }
}

/// Answers below `/openrouter`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let path = request.path.strip_prefix("/api/v1").unwrap_or_default();
    let reply = route(request, path, world)
        .unwrap_or_else(|refusal| Reply::json(refusal.status, &refusal.body()));
    let id = world.id("gen-", 29, &[request.service.as_bytes(), &request.body]);
    let reply = match request.method {
        Method::POST => reply.with_header("x-generation-id", id),
        _ => reply,
    };
    reply
        .with_header("cf-ray", format!("{:016x}-SBX", request.seq))
        .with_header("access-control-allow-origin", "*")
}

fn route(request: &Recorded, path: &str, world: &World) -> Result<Reply, Refusal> {
    if (&request.method, path) == (&Method::GET, "/models") {
        return Ok(Reply::json(200, &json!({ "data": models::rows() })));
    }
    let key = request.bearer().or(request.header("x-api-key"));
    world.check_key(key).map_err(|problem| match problem {
        KeyProblem::Missing => Refusal::new(401, "No auth credentials found"),
        KeyProblem::Wrong => Refusal::new(401, "User not found."),
    })?;
    match (&request.method, path) {
        (&Method::POST, "/chat/completions") => chat_completions(request, world),
        (&Method::POST, "/messages") => {
            let mut reply = crate::anthropic::resold_messages(request, world);
            if let Content::Stream(pieces) = &mut reply.content {
                pieces.insert(0, Piece::comment("OPENROUTER PROCESSING"));
            }
            Ok(reply)
        }
        (&Method::POST, "/messages/count_tokens") => {
            Ok(crate::anthropic::resold_count_tokens(request, world))
        }
        (&Method::POST, "/responses") => Ok(responses::answer(request, path, &RESPONSES, world)?),
        (&Method::POST, "/embeddings") => {
            let body = parsed(request)?;
            let model = body["model"].as_str().unwrap_or_default();
            row(model)?;
            Ok(embeddings::of_body(&body, model, 1_536, world)?)
        }
        (&Method::GET, "/key") => Ok(Reply::json(200, &key_info())),
        (&Method::GET, "/credits") => Ok(Reply::json(
            200,
            &json!({ "data": { "total_credits": 100.0, "total_usage": 12.5 } }),
        )),
        (&Method::GET, "/generation") => {
            let id = request.query_value("id").unwrap_or_default();
            match world.shelf.get(&format!("generation:{id}")) {
                Some(data) => Ok(Reply::json(200, &json!({ "data": data }))),
                None => Err(Refusal::new(404, format!("Generation {id} not found"))),
            }
        }
        (&Method::GET, path) if path.starts_with("/models/") => endpoints(path),
        _ => Err(Refusal::new(404, "Not Found")),
    }
}

fn key_info() -> Value {
    json!({ "data": {
        "label": "sk-or-v1-san...box", "limit": 100.0, "limit_remaining": 87.5,
        "limit_reset": "monthly", "usage": 12.5, "byok_usage": 0.0, "is_free_tier": false,
        "free_model_daily_requests": { "limit": 1000, "remaining": 1000 },
        "rate_limit": { "requests": -1, "interval": "10s", "note": "deprecated" },
    } })
}

fn endpoints(path: &str) -> Result<Reply, Refusal> {
    let id = path["/models/".len()..].trim_end_matches("/endpoints");
    let row = row(id)?;
    Ok(Reply::json(
        200,
        &json!({ "data": { "id": row["id"], "name": row["name"], "endpoints": [{
            "name": format!("{} | {}", models::author(id), id), "tag": models::author(id),
            "context_length": row["context_length"], "pricing": row["pricing"],
            "quantization": "unknown", "status": 0, "uptime_last_30m": 99.9,
            "max_completion_tokens": row["top_provider"]["max_completion_tokens"],
            "supported_parameters": row["supported_parameters"],
            "supports_implicit_caching": true, "max_prompt_tokens": null,
        }] } }),
    ))
}

fn parsed(request: &Recorded) -> Result<Value, Refusal> {
    match request.json() {
        Ok(body) if body.is_object() => Ok(body),
        _ => Err(Refusal::new(400, "Invalid JSON in request body")),
    }
}

fn row(model: &str) -> Result<&'static Value, Refusal> {
    models::find(model).ok_or_else(|| Refusal::new(400, format!("{model} is not a valid model ID")))
}

fn chat_completions(request: &Recorded, world: &World) -> Result<Reply, Refusal> {
    let mut body = parsed(request)?;
    let chain = body
        .get("models")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let named = body.get("model").cloned().into_iter().chain(chain);
    let wanted: Vec<String> = named
        .filter_map(|model| Some(model.as_str()?.to_owned()))
        .collect();
    let Some(first) = wanted.first() else {
        return Err(Refusal::new(400, "No models provided"));
    };
    let model = wanted
        .iter()
        .find(|model| models::find(model).is_some())
        .unwrap_or(first);
    let row = row(model)?;
    validate(&body)?;
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    chat::parts::check(messages).map_err(|place| Refusal::new(400, place))?;
    reasoning::verify(world, model, messages).map_err(|raw| Refusal {
        status: 400,
        message: "Provider returned error".to_owned(),
        metadata: json!({ "raw": raw, "provider_name": models::author(model) }),
    })?;
    route_to_provider(&mut body, row, model)?;
    let asked = Asked {
        request,
        model: model.clone(),
        can_think: !row["reasoning"].is_null(),
        thinking: thinking(&body, row, model),
        caching: if models::author(model) == "anthropic" {
            Caching::Markers
        } else {
            Caching::Automatic
        },
        body: &body,
    };
    chat::answer(&asked, &FLAVOR, world).map_err(|error| Refusal::new(400, error))
}

fn validate(body: &Value) -> Result<(), Refusal> {
    let messages = body.get("messages").and_then(Value::as_array);
    let Some(messages) = messages.filter(|messages| !messages.is_empty()) else {
        return Err(Refusal::new(
            400,
            "Input required: specify \"prompt\" or \"messages\"",
        ));
    };
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !matches!(role, "system" | "developer" | "user" | "assistant" | "tool") {
            return Err(Refusal::new(
                400,
                format!("messages.{at}.role: invalid value \"{role}\""),
            ));
        }
    }
    if order::check(messages).is_err() {
        return Err(Refusal {
            status: 400,
            message: "Provider returned error".to_owned(),
            metadata: json!({ "raw": "tool calls and tool results do not match", "error_type": "invalid_request" }),
        });
    }
    let nested = body.pointer("/reasoning/effort").and_then(Value::as_str);
    let flat = body.get("reasoning_effort").and_then(Value::as_str);
    if let (Some(nested), Some(flat)) = (nested, flat)
        && nested != flat
    {
        return Err(Refusal::new(
            400,
            "reasoning_effort and reasoning.effort disagree",
        ));
    }
    Ok(())
}

/// Applies routing preferences: unsupported parameters vanish unless they are required.
fn route_to_provider(body: &mut Value, row: &Value, model: &str) -> Result<(), Refusal> {
    let nobody = || Refusal {
        status: 503,
        message: "No endpoints found that meet the routing requirements.".to_owned(),
        metadata: json!({ "error_type": "provider_unavailable" }),
    };
    let preferences = body.get("provider").cloned().unwrap_or(Value::Null);
    if let Some(only) = preferences.get("only").and_then(Value::as_array) {
        let known = |slug: &Value| {
            slug.as_str()
                .is_some_and(|slug| slug == models::author(model) || PROVIDERS.contains(&slug))
        };
        if !only.is_empty() && !only.iter().any(known) {
            return Err(nobody());
        }
    }
    let requires = flag(&preferences, "require_parameters");
    for name in ["tools", "response_format"] {
        let unsupported = body.get(name).is_some() && !models::supports(row, name);
        if unsupported && requires {
            return Err(nobody());
        }
        if unsupported && let Some(fields) = body.as_object_mut() {
            fields.shift_remove(name);
            fields.shift_remove("tool_choice");
        }
    }
    Ok(())
}

fn thinking(body: &Value, row: &Value, model: &str) -> bool {
    let settings = &row["reasoning"];
    if settings.is_null() {
        return false;
    }
    if settings["mandatory"] == true || model.ends_with(":thinking") {
        return true;
    }
    let asked = body.get("reasoning").unwrap_or(&Value::Null);
    let effort = asked
        .get("effort")
        .or(body.get("reasoning_effort"))
        .and_then(Value::as_str);
    match (asked.get("enabled").and_then(Value::as_bool), effort) {
        (Some(false), _) | (_, Some("none")) => false,
        (Some(true), _) | (_, Some(_)) => true,
        (None, None) => asked.get("max_tokens").is_some() || settings["default_enabled"] == true,
    }
}

/// Excluded reasoning is paid for and not shown.
fn reshape(turn: &mut Turn, asked: &Asked<'_>) {
    let excluded = asked.body.pointer("/reasoning/exclude") == Some(&json!(true))
        || asked.body.get("include_reasoning") == Some(&json!(false));
    if excluded && turn.think.is_some() {
        turn.usage.output = Some(turn.output_tokens());
        turn.usage.reasoning = Some(turn.think_tokens());
        turn.think = None;
    }
}

fn usage(counts: &Counts) -> Value {
    let (input, output) = (counts.input, counts.output);
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": counts.cache_read,
            "cache_write_tokens": counts.cache_written, "audio_tokens": 0, "video_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": counts.reasoning, "image_tokens": 0 },
        "is_byok": false,
    })
}

fn decorate(object: &mut Map<String, Value>, context: &Context<'_>) {
    let model = &context.asked.model;
    object.insert("provider".to_owned(), json!(models::author(model)));
    object.insert("system_fingerprint".to_owned(), Value::Null);
    let choices = object.get_mut("choices").and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        choice["native_finish_reason"] = choice["finish_reason"].clone();
    }
    if !context.last {
        return;
    }
    let (prompt, completion) = models::find(model).map_or((0.0, 0.0), |row| {
        models::cost(row, context.counts, context.asked.body)
    });
    // A key whose name says so has a key of the maker's stored at OpenRouter.
    let is_byok = context
        .asked
        .request
        .bearer()
        .is_some_and(|key| key.contains("byok"));
    let (cost, upstream) = match is_byok {
        true => ((prompt + completion) * BYOK_FEE, json!(prompt + completion)),
        false => (prompt + completion, Value::Null),
    };
    if let Some(usage) = object.get_mut("usage").filter(|usage| !usage.is_null()) {
        usage["cost"] = json!(cost);
        usage["is_byok"] = json!(is_byok);
        usage["cost_details"] = json!({
            "upstream_inference_cost": upstream,
            "upstream_inference_prompt_cost": prompt,
            "upstream_inference_completions_cost": completion,
        });
    }
    let id = object["id"].as_str().unwrap_or_default();
    context.world.shelf.put(
        &format!("generation:{id}"),
        json!({ "id": id, "model": model, "total_cost": cost, "is_byok": is_byok,
            "upstream_inference_cost": upstream,
            "native_tokens_prompt": context.counts.input,
            "native_tokens_completion": context.counts.output,
            "native_tokens_cached": context.counts.cache_read,
            "native_tokens_reasoning": context.counts.reasoning,
            "provider_name": models::author(model), "streamed": context.asked.streams() }),
    );
}

fn speaks_anthropic(request: &Recorded) -> bool {
    request.path.ends_with("/messages")
}

/// A refusal with this status in the shape of the endpoint.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    if speaks_anthropic(request) {
        return crate::anthropic::refuse(status, request);
    }
    let (message, kind) = match status {
        401 => ("User not found.", "authentication"),
        402 => (
            "Insufficient credits. Add more using https://openrouter.ai/credits",
            "payment_required",
        ),
        403 => (
            "Your chosen model requires moderation and your input was flagged",
            "content_policy_violation",
        ),
        404 => ("No endpoints found for the requested model.", "not_found"),
        408 => ("Request timed out", "timeout"),
        429 => ("Rate limit exceeded", "rate_limit_exceeded"),
        502 => ("Provider returned error", "provider_unavailable"),
        503 => ("No instances available", "provider_overloaded"),
        500.. => ("Internal Server Error", "server"),
        _ => ("Invalid request", "invalid_request"),
    };
    let refusal = Refusal {
        status,
        message: message.to_owned(),
        metadata: json!({ "error_type": kind }),
    };
    Reply::json(status, &refusal.body())
}

/// The error of a stream that already began: a chunk with `error` and a finish reason.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    if speaks_anthropic(request) {
        return crate::anthropic::stream_error(request);
    }
    if request.path.ends_with("/responses") {
        return responses::stream_error();
    }
    let chunk = json!({
        "id": "gen-error", "object": "chat.completion.chunk", "created": 1_790_000_000,
        "model": "sandbox", "provider": "sandbox",
        "error": { "code": 502, "message": "Provider disconnected unexpectedly",
            "metadata": { "error_type": "provider_unavailable", "provider_code": "overloaded_error" } },
        "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" },
            "finish_reason": "error", "native_finish_reason": null }],
    });
    Piece::data(Part::Content, &chunk)
}

/// What keeps a quiet stream open.
pub(crate) fn ping(request: &Recorded) -> Bytes {
    if speaks_anthropic(request) {
        return crate::anthropic::ping(request);
    }
    Bytes::from_static(b": OPENROUTER PROCESSING\n\n")
}

#[cfg(test)]
mod tests;
