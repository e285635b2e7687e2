//! Google's Gemini API: both versions, strict field names, thought signatures, explicit caches.

mod answer;
mod cached;
mod check;
mod embed;
mod error;
mod model;
mod prompt;
mod render;
mod shape;
mod signature;
#[cfg(test)]
mod tests;

use http::Method;
use serde_json::{Value, json};

use crate::anthropic::rfc3339;
use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
use crate::world::{KeyProblem, World};
use error::ApiError;
use model::Model;

/// Answers a request below `/google`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let reply = route(request, world).unwrap_or_else(|error| error.reply(is_array(request)));
    with_headers(reply)
}

/// An error of this status, as a fault asks for it.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    with_headers(ApiError::for_code(status).reply(is_array(request)))
}

/// The error of a stream that already began: one more chunk.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    let body = ApiError::for_code(503).body();
    if is_array(request) {
        Piece::raw(Part::Content, format!("\n,\r\n{body}\n]"))
    } else {
        Piece::data(Part::Content, &body)
    }
}

/// Whether the answer is a JSON array: a stream that did not ask for events.
fn is_array(request: &Recorded) -> bool {
    request.path.ends_with(":streamGenerateContent") && !is_sse(request)
}

fn is_sse(request: &Recorded) -> bool {
    request.query_value("alt").as_deref() == Some("sse")
}

fn route(request: &Recorded, world: &World) -> Result<Reply, ApiError> {
    let mut segments = request.path.trim_matches('/').splitn(3, '/');
    let version = segments.next().unwrap_or_default();
    if !matches!(version, "v1" | "v1beta") {
        return Err(ApiError::not_found("Requested entity was not found."));
    }
    authenticate(request, world)?;
    let collection = segments.next().unwrap_or_default();
    let name = segments.next().unwrap_or_default();
    match (collection, &request.method) {
        ("models", &Method::GET) => models(request, name, version),
        ("models", &Method::POST) => method(request, name, version, world),
        ("cachedContents", _) => cached::serve(request, name, world),
        _ => Err(ApiError::not_found("Requested entity was not found.")),
    }
}

/// The key comes in a header or in the query; OAuth tokens come as bearer.
fn authenticate(request: &Recorded, world: &World) -> Result<(), ApiError> {
    let in_query = request.query_value("key");
    let key = request
        .header("x-goog-api-key")
        .or(in_query.as_deref())
        .or(request.bearer());
    world.check_key(key).map_err(|problem| match problem {
        KeyProblem::Missing => ApiError::missing_key(),
        KeyProblem::Wrong => ApiError::wrong_key(),
    })
}

/// Answers a call of `models/{model}:{method}`.
fn method(request: &Recorded, name: &str, version: &str, world: &World) -> Result<Reply, ApiError> {
    let (id, method) = name.split_once(':').unwrap_or((name, ""));
    let model = model::find(id)
        .filter(|model| model.serves(method))
        .ok_or_else(|| unknown_model(id, method, version))?;
    let body = json(request)?;
    let answered = match method {
        "generateContent" => return generate(request, &body, model, false, world),
        "streamGenerateContent" => return generate(request, &body, model, true, world),
        "countTokens" => count_tokens(&body)?,
        "embedContent" => embed::one(&body, model, world)?,
        "batchEmbedContents" => embed::batch(&body, model, world)?,
        _ => return Err(ApiError::not_found("Requested entity was not found.")),
    };
    Ok(Reply::json(200, &answered))
}

fn unknown_model(id: &str, method: &str, version: &str) -> ApiError {
    ApiError::not_found(format!(
        "models/{id} is not found for API version {version}, or is not supported for {method}. \
         Call ListModels to see the list of available models and their supported methods."
    ))
}

fn json(request: &Recorded) -> Result<Value, ApiError> {
    request
        .json()
        .map_err(|error| ApiError::invalid(format!("Invalid JSON payload received. {error}")))
}

fn generate(
    request: &Recorded,
    body: &Value,
    model: &'static Model,
    streams: bool,
    world: &World,
) -> Result<Reply, ApiError> {
    let checked = check::check(body, model, world)?;
    let answer = answer::answer(&checked, request, world)?;
    let faults = answer.faults.clone().and(&request.faults);
    let reply = if streams {
        render::stream(&answer, is_sse(request), &faults)
    } else {
        Reply::json(200, &render::whole(&answer, &faults))
    };
    Ok(reply.with_faults(&answer.faults).paced(answer.delay_ms))
}

fn count_tokens(body: &Value) -> Result<Value, ApiError> {
    let body = shape::read("CountTokensRequest", body)?;
    let whole = &body["generateContentRequest"];
    let counted = if whole.is_null() { &body } else { whole };
    if counted["contents"].as_array().is_none_or(Vec::is_empty) {
        return Err(ApiError::invalid(
            "* CountTokensRequest.contents: contents is not specified\n",
        ));
    }
    let tokens = prompt::tokens(counted);
    Ok(json!({
        "totalTokens": tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}],
    }))
}

fn models(request: &Recorded, name: &str, version: &str) -> Result<Reply, ApiError> {
    if !name.is_empty() {
        let model = model::find(name).ok_or_else(|| unknown_model(name, "getModel", version))?;
        return Ok(Reply::json(200, &model.info()));
    }
    let number = |name: &str| request.query_value(name).and_then(|text| text.parse().ok());
    let from = number("pageToken")
        .unwrap_or(0_usize)
        .min(model::all().len());
    let size = number("pageSize").filter(|size| *size > 0).unwrap_or(50);
    let page: Vec<Value> = model::all()[from..]
        .iter()
        .take(size)
        .map(Model::info)
        .collect();
    let next = from + page.len();
    let mut body = json!({"models": page});
    if next < model::all().len() {
        body["nextPageToken"] = json!(next.to_string());
    }
    Ok(Reply::json(200, &body))
}

fn with_headers(reply: Reply) -> Reply {
    reply
        .with_header("vary", "Origin, X-Origin, Referer")
        .with_header("server", "scaffolding on HTTPServer2")
        .with_header("x-content-type-options", "nosniff")
        .with_header("server-timing", "gfet4t7; dur=12")
        .with_header("set-cookie", "NID=google-canary; path=/; HttpOnly")
}
