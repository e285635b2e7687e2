//! Venice: private and anonymized models, and models inside a trusted execution environment.

mod attestation;
mod cipher;
mod encrypted;
mod models;
mod validate;

use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::{self, Asked, Caching, Context, Counts, Flavor, Thoughts, UsageChunk, flag};
use crate::openai::embeddings;
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::script::{Stop, Turn};
use crate::world::{KeyProblem, World};
use crate::x402;
use models::Row;

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
    reshape,
    decorate,
};

const SPENT: &str = "venice:spent_usd";
const BALANCE_USD: f64 = 25.0;
const BALANCE_DIEM: f64 = 10.0;

/// A refusal: a status, and the body's `error` as a string.
pub(super) struct Refusal {
    status: u16,
    message: String,
    details: Value,
}

impl Refusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            details: Value::Null,
        }
    }

    fn reply(&self) -> Reply {
        let mut body = json!({ "error": self.message });
        if !self.details.is_null() {
            body["details"] = self.details.clone();
        }
        Reply::json(self.status, &body)
    }
}

/// Answers below `/venice`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let path = request.path.strip_prefix("/api/v1").unwrap_or_default();
    let reply = route(request, path, world).unwrap_or_else(|refusal| refusal.reply());
    let spent = spent(world);
    reply
        .with_header("cf-ray", format!("{:016x}-SBX", request.seq))
        .with_header("x-venice-version", "20261120.sandbox")
        .with_header("x-venice-timestamp", "2026-11-20T00:00:00.000Z")
        .with_header("x-ratelimit-limit-requests", "75")
        .with_header("x-ratelimit-remaining-requests", "74")
        .with_header(
            "x-ratelimit-reset-requests",
            (world.now_ms() / 1_000 + 60).to_string(),
        )
        .with_header("x-ratelimit-limit-tokens", "750000")
        .with_header("x-ratelimit-remaining-tokens", "749000")
        .with_header("x-ratelimit-reset-tokens", "42")
        .with_header("x-ratelimit-type", "api_key")
        .with_header("x-venice-balance-diem", (BALANCE_DIEM - spent).to_string())
        .with_header("x-venice-balance-usd", BALANCE_USD.to_string())
}

fn route(request: &Recorded, path: &str, world: &World) -> Result<Reply, Refusal> {
    match (&request.method, path) {
        (&Method::GET, "/models") => {
            let kind = request
                .query_value("type")
                .unwrap_or_else(|| "text".to_owned());
            return Ok(Reply::json(200, &models::list(&kind)));
        }
        (&Method::GET, "/models/traits") => return Ok(Reply::json(200, &models::traits())),
        (&Method::GET, "/models/compatibility_mapping") => {
            return Ok(Reply::json(200, &models::mapping()));
        }
        _ => {}
    }
    match world.check_key(request.bearer()) {
        Ok(()) => {}
        Err(KeyProblem::Missing) => return Ok(payment_required(request)),
        Err(KeyProblem::Wrong) => return Err(Refusal::new(401, "Authentication failed")),
    }
    match (&request.method, path) {
        (&Method::POST, "/chat/completions") => chat_completions(request, world),
        (&Method::POST, "/embeddings") => embed(request, world),
        (&Method::GET, "/tee/attestation") => attestation::attest(request, world),
        (&Method::GET, "/tee/signature") => attestation::signature(request, world),
        (&Method::GET, "/billing/balance") => Ok(Reply::json(
            200,
            &json!({ "canConsume": true, "consumptionCurrency": "DIEM",
                "balances": { "diem": BALANCE_DIEM - spent(world), "usd": BALANCE_USD },
                "diemEpochAllocation": BALANCE_DIEM }),
        )),
        (&Method::GET, "/api_keys/rate_limits") => Ok(Reply::json(
            200,
            &json!({ "data": { "accessPermitted": true,
                "apiTier": { "id": "paid", "isCharged": true },
                "balances": { "USD": BALANCE_USD, "DIEM": BALANCE_DIEM - spent(world) },
                "keyExpiration": null, "nextEpochBegins": "2026-11-21T00:00:00.000Z",
                "rateLimits": [] } }),
        )),
        _ => Err(Refusal::new(404, "Not found")),
    }
}

/// A call without a key is offered x402 instead.
fn payment_required(request: &Recorded) -> Reply {
    let host = request.header("host").unwrap_or("127.0.0.1");
    let offer = json!({
        "x402Version": 2, "error": "Payment required",
        "resource": { "url": format!("http://{host}/venice{}", request.path),
            "description": "Venice API", "mimeType": "application/json" },
        "accepts": [{ "scheme": "exact", "network": x402::NETWORK, "amount": "5000000",
            "asset": x402::USDC, "payTo": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
            "maxTimeoutSeconds": 300, "extra": { "name": "USD Coin", "version": "2" } }],
    });
    Reply::json(402, &offer).with_header("payment-required", x402::encode(&offer))
}

fn spent(world: &World) -> f64 {
    world
        .shelf
        .get(SPENT)
        .and_then(|spent| spent.as_f64())
        .unwrap_or(0.0)
}

fn parsed(request: &Recorded) -> Result<Value, Refusal> {
    match request.json() {
        Ok(body) if body.is_object() => Ok(body),
        _ => Err(Refusal::new(400, "Invalid request body")),
    }
}

fn chat_completions(request: &Recorded, world: &World) -> Result<Reply, Refusal> {
    let mut body = parsed(request)?;
    let named = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let (name, feature_suffix) = named.split_once(':').unwrap_or((&named, ""));
    let row = models::find(name)
        .ok_or_else(|| Refusal::new(404, format!("Specified model not found: {name}")))?;
    models::apply_suffix(&mut body, feature_suffix);
    let session = encrypted::Session::of(request, &body, row, world)?;
    if let Some(session) = &session {
        session.decrypt_messages(&mut body)?;
    }
    validate::chat(&body, row)?;
    let asked = Asked {
        request,
        model: row.id().to_owned(),
        can_think: row.can("supportsReasoning"),
        thinking: thinking(&body, row),
        caching: Caching::Automatic,
        body: &body,
    };
    let mut reply =
        chat::answer(&asked, &FLAVOR, world).map_err(|error| Refusal::new(400, error))?;
    if let Some(session) = &session {
        session.encrypt_reply(&mut reply, world);
    }
    let reply = reply
        .with_header("x-venice-model-id", row.id())
        .with_header("x-venice-model-name", row.name())
        .with_header("x-venice-model-router", "sandbox");
    if !row.can("supportsTeeAttestation") {
        return Ok(reply);
    }
    attestation::remember(request, row, &reply, world);
    Ok(reply
        .with_header("x-venice-tee", "true")
        .with_header("x-venice-tee-provider", "near-ai"))
}

fn thinking(body: &Value, row: Row) -> bool {
    if !row.can("supportsReasoning") {
        return false;
    }
    let parameters = body.get("venice_parameters").unwrap_or(&Value::Null);
    let effort = body
        .get("reasoning_effort")
        .or(body.pointer("/reasoning/effort"));
    let off = flag(parameters, "disable_thinking")
        || body.pointer("/reasoning/enabled") == Some(&json!(false))
        || effort.and_then(Value::as_str) == Some("none");
    // Claude and Gemini cannot be stopped from thinking.
    !off || row.id().starts_with("claude") || row.id().starts_with("gemini")
}

fn embed(request: &Recorded, world: &World) -> Result<Reply, Refusal> {
    let body = parsed(request)?;
    let model = body
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let dimensions = models::embedding_dimensions(model)
        .ok_or_else(|| Refusal::new(404, "Specified model not found"))?;
    let input = body.get("input").unwrap_or(&Value::Null);
    let has_tokens = |value: &Value| {
        value
            .as_array()
            .is_some_and(|all| all.iter().any(Value::is_u64))
    };
    if has_tokens(input)
        || input
            .as_array()
            .is_some_and(|all| all.iter().any(has_tokens))
    {
        return Err(Refusal::new(400, "Token arrays are not supported as input"));
    }
    embeddings::of_body(&body, model, dimensions, world)
        .map_err(|problem| Refusal::new(problem.status, problem.message))
}

fn usage(counts: &Counts) -> Value {
    let (input, output) = (counts.input, counts.output);
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": counts.cache_read,
            "cache_creation_input_tokens": counts.cache_written },
        "completion_tokens_details": { "reasoning_tokens": counts.reasoning },
    })
}

/// The service knows three finish reasons, and strips thinking if asked to.
fn reshape(turn: &mut Turn, asked: &Asked<'_>) {
    if matches!(turn.stop, Stop::ContentFilter | Stop::Other(_)) {
        turn.stop = Stop::End;
    }
    let parameters = asked.body.get("venice_parameters").unwrap_or(&Value::Null);
    if flag(parameters, "strip_thinking_response") && turn.think.is_some() {
        turn.usage.output = Some(turn.output_tokens());
        turn.usage.reasoning = Some(turn.think_tokens());
        turn.think = None;
    }
}

fn decorate(object: &mut Map<String, Value>, context: &Context<'_>) {
    let choices = object.get_mut("choices").and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        choice["stop_reason"] = Value::Null;
    }
    if !context.last {
        return;
    }
    let parameters = context
        .asked
        .body
        .get("venice_parameters")
        .unwrap_or(&Value::Null);
    let search = parameters
        .get("enable_web_search")
        .cloned()
        .unwrap_or(json!("off"));
    object.insert(
        "venice_parameters".to_owned(),
        json!({ "enable_web_search": search, "web_search_citations": [],
            "enable_e2ee": parameters.get("enable_e2ee") != Some(&json!(false)) }),
    );
    let Some(row) = models::find(&context.asked.model) else {
        return;
    };
    let cost = row.cost(context.counts);
    object.insert("cost".to_owned(), json!({ "usd": 0, "diem": cost }));
    context.world.shelf.update(SPENT, |held| {
        json!(held.and_then(|held| held.as_f64()).unwrap_or(0.0) + cost)
    });
}

/// A refusal with this status in the shape of the service.
pub(crate) fn refuse(status: u16, _request: &Recorded) -> Reply {
    let message = match status {
        401 => "Authentication failed",
        402 => "Insufficient USD or Diem balance to complete request",
        403 => "Unauthorized access",
        404 => "Specified model not found",
        413 => "The request payload is too large",
        422 => "Your prompt violates the content policy",
        429 => "Rate limit exceeded",
        502 => "TEE attestation failed",
        503 => "The model is at capacity. Please try again later.",
        504 => "The request took too long to complete and was timed-out",
        500.. => "Inference processing failed",
        _ => "Invalid request parameters",
    };
    Refusal::new(status, message).reply()
}

#[cfg(test)]
mod tests;
