//! Explicit caches: `cachedContents`, and their use in a request.

use http::Method;
use serde_json::{Value, json};

use super::error::ApiError;
use super::model::{self, Model};
use super::prompt;
use super::shape;
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::world::World;

const INDEX: &str = "google/cachedContents";
const LEAST_TOKENS: u64 = 1_024;
const HOUR_MS: u64 = 3_600_000;
/// Entries of a page at most. The service may send fewer than are asked for.
const PAGE_MAX: usize = 50;

fn key(name: &str) -> String {
    format!("google/{name}")
}

/// Serves `/{version}/cachedContents…`; `name` is empty for the collection.
pub(super) fn serve(request: &Recorded, name: &str, world: &World) -> Result<Reply, ApiError> {
    let full_name = format!("cachedContents/{name}");
    let body = match (&request.method, name) {
        (&Method::POST, "") => create(request, world)?,
        (&Method::GET, "") => list(request, world)?,
        (&Method::GET, _) => shown(&find(&full_name, world)?),
        (&Method::PATCH, _) => patch(request, &full_name, world)?,
        (&Method::DELETE, _) => {
            find(&full_name, world)?;
            world.shelf.take(&key(&full_name));
            json!({})
        }
        _ => return Err(ApiError::not_found("Method not found.")),
    };
    Ok(Reply::json(200, &body))
}

fn create(request: &Recorded, world: &World) -> Result<Value, ApiError> {
    let body = shape::read("CachedContent", &super::json(request)?)?;
    let model = body["model"].as_str().unwrap_or_default();
    let model = model::find(model).ok_or_else(|| {
        ApiError::invalid("* CreateCachedContentRequest.model: unexpected model name format\n")
    })?;
    let tokens = prompt::tokens(&body);
    if tokens < LEAST_TOKENS {
        return Err(ApiError::invalid(format!(
            "Cached content is too small. total_token_count={tokens}, \
             min_total_token_count={LEAST_TOKENS}"
        )));
    }
    let now_ms = world.now_ms();
    let id = world
        .id("", 40, &[b"cached", &request.seq.to_be_bytes()])
        .to_lowercase();
    let name = format!("cachedContents/{id}");
    let held = json!({
        "name": name,
        "model": format!("models/{}", model.id),
        "displayName": body["displayName"],
        "created_ms": now_ms,
        "updated_ms": now_ms,
        "expires_ms": expires_ms(&body, now_ms)?,
        "tokens": tokens,
        "content": body,
    });
    let mut names = world.shelf.get(INDEX).unwrap_or_else(|| json!([]));
    if let Value::Array(names) = &mut names {
        names.push(json!(name));
    }
    world.shelf.put(INDEX, names);
    world.shelf.put(&key(&name), held.clone());
    Ok(shown(&held))
}

fn list(request: &Recorded, world: &World) -> Result<Value, ApiError> {
    let asked = request.query_value("pageSize");
    let asked = asked.and_then(|size| size.parse::<usize>().ok());
    let size = asked.filter(|size| *size > 0).unwrap_or(PAGE_MAX);
    let size = size.min(PAGE_MAX);
    let first = match request.query_value("pageToken").as_deref() {
        None | Some("") => 0,
        // Tokens are text that says nothing to callers, with characters that a query escapes.
        Some(token) => token
            .strip_prefix("from+")
            .and_then(|token| token.strip_suffix("/="))
            .and_then(|first| first.parse::<usize>().ok())
            .ok_or_else(|| {
                ApiError::invalid("* ListCachedContentsRequest.page_token: invalid\n")
            })?,
    };
    let names = world.shelf.get(INDEX).unwrap_or_else(|| json!([]));
    let names = names
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let held: Vec<Value> = names
        .filter_map(|name| find(name, world).ok())
        .map(|held| shown(&held))
        .collect();
    let page: Vec<&Value> = held.iter().skip(first).take(size).collect();
    let mut listed = json!({});
    if !page.is_empty() {
        listed["cachedContents"] = json!(page);
    }
    if first + size < held.len() {
        listed["nextPageToken"] = json!(format!("from+{}/=", first + size));
    }
    Ok(listed)
}

fn patch(request: &Recorded, name: &str, world: &World) -> Result<Value, ApiError> {
    let mut held = find(name, world)?;
    let body = shape::read("CachedContent", &super::json(request)?)?;
    let fixed = body
        .as_object()
        .into_iter()
        .flatten()
        .find(|(field, _)| !matches!(field.as_str(), "ttl" | "expireTime" | "name"));
    if let Some((field, _)) = fixed {
        return Err(ApiError::invalid(format!(
            "* UpdateCachedContentRequest.update_mask: only ttl and expire_time can be updated, \
             not {field}\n"
        )));
    }
    let now_ms = world.now_ms();
    held["expires_ms"] = json!(expires_ms(&body, now_ms)?);
    held["updated_ms"] = json!(now_ms);
    world.shelf.put(&key(name), held.clone());
    Ok(shown(&held))
}

/// When content expires: after its `ttl`, or an hour from now.
fn expires_ms(body: &Value, now_ms: u64) -> Result<u64, ApiError> {
    let Some(ttl) = body["ttl"].as_str() else {
        // Any explicit instant is taken to lie in the future.
        return Ok(now_ms + HOUR_MS);
    };
    let seconds = ttl
        .strip_suffix('s')
        .and_then(|seconds| seconds.parse::<f64>().ok());
    match seconds.filter(|seconds| *seconds > 0.0) {
        Some(seconds) => Ok(now_ms + (seconds * 1_000.0) as u64),
        None => Err(ApiError::invalid(format!(
            "Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration), \
             \"{ttl}\""
        ))),
    }
}

fn find(name: &str, world: &World) -> Result<Value, ApiError> {
    world
        .shelf
        .get(&key(name))
        .filter(|held| held["expires_ms"].as_u64() > Some(world.now_ms()))
        .ok_or_else(|| ApiError::denied("CachedContent not found (or permission denied)"))
}

fn shown(held: &Value) -> Value {
    let time = |field: &str| super::rfc3339(held[field].as_u64().unwrap_or_default() / 1_000);
    let mut shown = json!({
        "name": held["name"],
        "model": held["model"],
        "createTime": time("created_ms"),
        "updateTime": time("updated_ms"),
        "expireTime": time("expires_ms"),
        "usageMetadata": {"totalTokenCount": held["tokens"]},
    });
    if !held["displayName"].is_null() {
        shown["displayName"] = held["displayName"].clone();
    }
    shown
}

/// Puts cached content in front of the request's own, and says how many tokens that is.
pub(super) fn expand(
    body: &mut Value,
    model: &Model,
    world: &World,
) -> Result<Option<u64>, ApiError> {
    let Some(name) = body["cachedContent"].as_str().map(str::to_owned) else {
        return Ok(None);
    };
    let fixed = ["systemInstruction", "tools", "toolConfig"];
    if fixed.iter().any(|field| !body[*field].is_null()) {
        return Err(ApiError::invalid(
            "CachedContent can not be used with GenerateContent request setting \
             system_instruction, tools or tool_config.\n\nProposed fix: move those values to \
             CachedContent from GenerateContent request.",
        ));
    }
    let held = find(&name, world)?;
    let asked = format!("models/{}", model.id);
    if held["model"] != asked {
        return Err(ApiError::invalid(format!(
            "Model used by GenerateContent request ({asked}) and CachedContent ({}) has to be the \
             same.",
            held["model"].as_str().unwrap_or_default()
        )));
    }
    let content = &held["content"];
    for field in fixed {
        if !content[field].is_null() {
            body[field] = content[field].clone();
        }
    }
    let mut contents = content["contents"].as_array().cloned().unwrap_or_default();
    contents.extend(body["contents"].as_array().cloned().unwrap_or_default());
    body["contents"] = Value::Array(contents);
    Ok(held["tokens"].as_u64())
}
