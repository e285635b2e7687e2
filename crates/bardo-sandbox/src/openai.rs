//! OpenAI: chat completions, legacy completions, Responses, embeddings and models.

pub(crate) mod completions;
pub(crate) mod embeddings;
pub(crate) mod error;
pub(crate) mod models;
pub(crate) mod responses;
mod strict;
mod validate;

use http::Method;
use serde_json::{Map, Value, json};

use crate::chat::{self, Asked, Caching, Context, Counts, Flavor, Thoughts, UsageChunk};
use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
use crate::world::{KeyProblem, World};
use error::Problem;

const FLAVOR: Flavor = Flavor {
    id_prefix: "chatcmpl-",
    call_prefix: "call_",
    thoughts: Thoughts::Hidden,
    usage_chunk: UsageChunk::OnRequest,
    usage: Counts::openai,
    comment: None,
    index_zero: false,
    reshape: chat::unchanged,
    decorate,
};

/// Answers below `/openai`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let reply = route(request, world).unwrap_or_else(|problem| problem.reply());
    with_headers(reply, request)
}

fn route(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    authenticate(request, world)?;
    let path = request.path.strip_prefix("/v1").unwrap_or(&request.path);
    match (&request.method, path) {
        (&Method::POST, "/chat/completions") => chat_completions(request, world),
        (&Method::POST, "/completions") => completions::answer(request, world),
        (&Method::POST, "/embeddings") => embeddings::answer(request, world),
        (&Method::GET, "/models") => Ok(models::list()),
        (&Method::GET, path) if path.starts_with("/models/") => {
            models::one(&path["/models/".len()..])
        }
        (_, path) if path == "/responses" || path.starts_with("/responses/") => {
            responses::answer(request, path, &responses::OPENAI, world)
        }
        (method, _) => Err(Problem::unknown_url(method, request)),
    }
}

/// Checks the bearer key the way the service words it.
pub(crate) fn authenticate(request: &Recorded, world: &World) -> Result<(), Problem> {
    let key = request.bearer();
    world.check_key(key).map_err(|problem| match problem {
        KeyProblem::Missing => Problem::new(
            401,
            "You didn't provide an API key. You need to provide your API key in an \
             Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
        ),
        KeyProblem::Wrong => Problem::new(
            401,
            &format!(
                "Incorrect API key provided: {}***. You can find your API key at \
                 https://platform.openai.com/account/api-keys.",
                key.unwrap_or_default().chars().take(3).collect::<String>(),
            ),
        )
        .code("invalid_api_key"),
    })
}

fn chat_completions(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    let body = error::json_body(request)?;
    let model = validate::text(&body, "model")?;
    let card = models::find(model)?;
    validate::chat(&body, &card)?;
    let effort = body.get("reasoning_effort").and_then(Value::as_str);
    let asked = Asked {
        request,
        model: model.to_owned(),
        can_think: card.reasoning,
        thinking: card.reasoning && effort != Some("none"),
        caching: if card.cache_writes {
            Caching::Breakpoints
        } else {
            Caching::Automatic
        },
        body: &body,
    };
    chat::answer(&asked, &FLAVOR, world).map_err(|error| Problem::new(400, &error))
}

fn decorate(object: &mut Map<String, Value>, context: &Context<'_>) {
    let tier = match context
        .asked
        .body
        .get("service_tier")
        .and_then(Value::as_str)
    {
        None | Some("auto") => "default",
        Some(tier) => tier,
    };
    object.insert("service_tier".to_owned(), json!(tier));
    object.insert("system_fingerprint".to_owned(), Value::Null);
}

/// The headers that every answer of the service carries.
fn with_headers(reply: Reply, request: &Recorded) -> Reply {
    reply
        .with_header("x-request-id", format!("req_{:032x}", request.seq))
        .with_header("openai-processing-ms", "12")
        .with_header("openai-version", "2020-10-01")
        .with_header("openai-organization", "sandbox-org")
        .with_header("x-ratelimit-limit-requests", "10000")
        .with_header("x-ratelimit-remaining-requests", "9999")
        .with_header("x-ratelimit-reset-requests", "6ms")
        .with_header("x-ratelimit-limit-tokens", "2000000")
        .with_header("x-ratelimit-remaining-tokens", "1999000")
        .with_header("x-ratelimit-reset-tokens", "1s")
        .with_header("cf-ray", format!("{:016x}-SBX", request.seq))
        .with_header(
            "set-cookie",
            "__cf_bm=sandbox-canary; path=/; HttpOnly; Secure",
        )
}

/// A refusal with this status in the shape of the service.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    with_headers(Problem::of_status(status).reply(), request)
}

/// The error event of a stream that already began.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    if request.path.ends_with("/responses") {
        return responses::stream_error();
    }
    let error = Problem::of_status(500).body();
    Piece::data(Part::Content, &error)
}

#[cfg(test)]
mod tests;
