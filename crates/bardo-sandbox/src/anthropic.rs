//! Anthropic's Messages API: both live versions, strict checks, signed thinking, prompt caching.
//!
//! A request goes through [`access`] (headers), [`check`] (everything the service refuses),
//! [`answer`] (what the model says) and [`render`] (one object, or events).

mod access;
mod answer;
mod catalog;
mod check;
mod context;
mod error;
mod facts;
mod model;
mod render;
mod rules;
mod server_tools;
#[cfg(test)]
mod tests;
mod thinking;
mod threads;
mod turns;
mod usage;

use bytes::Bytes;
use http::Method;
use serde_json::json;

use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
use crate::world::World;
use access::{Access, Strictness};
use answer::Answer;
use check::Checked;
use error::ApiError;
use usage::Prompt;

/// Answers a request below `/anthropic`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let path = request.path.trim_end_matches('/');
    let reply = match (&request.method, path) {
        (&Method::POST, "/v1/messages") => messages_as(request, world, Strictness::Anthropic),
        (&Method::POST, "/v1/messages/count_tokens") => {
            count_tokens(request, world, Strictness::Anthropic)
        }
        (&Method::GET, path) if path == "/v1/models" || path.starts_with("/v1/models/") => {
            Access::read(request, world, Strictness::Anthropic)
                .and_then(|_| catalog::models(request, path))
        }
        (_, "/v1/messages" | "/v1/messages/count_tokens" | "/v1/models") => {
            Err(ApiError::method_not_allowed())
        }
        _ => Err(ApiError::not_found("Not Found")),
    };
    let id = request_id(request);
    reply.unwrap_or_else(|error| with_headers(Reply::json(error.status, &error.body(&id)), request))
}

/// `POST …/messages` of a reseller that speaks this dialect: the caller has checked the key, the
/// version header is optional, and models of any maker are served.
pub(crate) fn resold_messages(request: &Recorded, world: &World) -> Reply {
    let id = request_id(request);
    messages_as(request, world, Strictness::Reseller)
        .unwrap_or_else(|error| Reply::json(error.status, &error.body(&id)))
}

/// `POST …/messages/count_tokens` of a reseller.
pub(crate) fn resold_count_tokens(request: &Recorded, world: &World) -> Reply {
    let id = request_id(request);
    count_tokens(request, world, Strictness::Reseller)
        .unwrap_or_else(|error| Reply::json(error.status, &error.body(&id)))
}

/// An error of this status, as a fault asks for it.
pub(crate) fn refuse(status: u16, request: &Recorded) -> Reply {
    let body = ApiError::for_status(status).body(&request_id(request));
    with_headers(Reply::json(status, &body), request)
}

/// The error event of a stream that already began.
pub(crate) fn stream_error(request: &Recorded) -> Piece {
    let body = ApiError::for_status(529).body(&request_id(request));
    Piece::event(Part::Content, "error", &body)
}

/// A ping, which is an event here and not a comment.
pub(crate) fn ping(_: &Recorded) -> Bytes {
    render::ping().bytes
}

fn messages_as(
    request: &Recorded,
    world: &World,
    strictness: Strictness,
) -> Result<Reply, ApiError> {
    let checked = checked(request, world, strictness, false)?;
    let answer = answer::answer(&checked, request, world)?;
    let id = world.id("msg_01", 22, &[request.service.as_bytes(), &request.body]);
    let faults = answer.faults.clone().and(&request.faults);
    if faults.status().is_none() {
        threads::hold(&id, &checked, &answer, world);
    }
    let reply = if checked.stream {
        Reply::stream(render::events(&id, &answer, &checked, &faults))
    } else {
        Reply::json(200, &render::message(&id, &answer, &checked, &faults))
    };
    let reply = reply.with_faults(&answer.faults).paced(answer.delay_ms);
    Ok(match strictness {
        Strictness::Anthropic => with_limits(with_headers(reply, request), &answer, world),
        Strictness::Reseller => reply,
    })
}

fn count_tokens(
    request: &Recorded,
    world: &World,
    strictness: Strictness,
) -> Result<Reply, ApiError> {
    let checked = checked(request, world, strictness, true)?;
    let tokens = Prompt::of(&checked).tokens();
    let mut body = json!({"input_tokens": tokens});
    if checked.body.contains_key("context_management") {
        body["context_management"] = json!({"original_input_tokens": tokens});
    }
    let reply = Reply::json(200, &body);
    Ok(match strictness {
        Strictness::Anthropic => with_headers(reply, request),
        Strictness::Reseller => reply,
    })
}

fn checked(
    request: &Recorded,
    world: &World,
    strictness: Strictness,
    counting: bool,
) -> Result<Checked, ApiError> {
    let access = Access::read(request, world, strictness)?;
    let find = match strictness {
        Strictness::Anthropic => check::own_model,
        Strictness::Reseller => check::any_model,
    };
    let checked = check::check(&request.body, access, counting, find, world)?;
    server_tools::verify(&checked.turns, world)?;
    Ok(checked)
}

fn request_id(request: &Recorded) -> String {
    format!("req_011C{:020}", request.seq)
}

fn with_headers(reply: Reply, request: &Recorded) -> Reply {
    reply
        .with_header("request-id", request_id(request))
        .with_header(
            "anthropic-organization-id",
            "0b5ad5b0-0000-4000-8000-5a9db0c50001",
        )
        .with_header("anthropic-workspace-id", "wrkspc_01Sandbox")
        .with_header("cf-ray", format!("{:016x}-SBX", request.seq))
        .with_header("via", "1.1 google")
        .with_header(
            "set-cookie",
            "_cfuvid=anthropic-canary; path=/; domain=.anthropic.com; HttpOnly; Secure",
        )
}

/// The rate-limit headers, which count down from a generous limit.
fn with_limits(mut reply: Reply, answer: &Answer, world: &World) -> Reply {
    let reset = rfc3339(world.now_ms() / 1000 + 60);
    let limits = [
        ("requests", 4_000, 1),
        ("input-tokens", 2_000_000, answer.input.plain),
        ("output-tokens", 400_000, answer.output_tokens),
        (
            "tokens",
            2_400_000,
            answer.input.plain + answer.output_tokens,
        ),
    ];
    for (what, limit, used) in limits {
        let name = |part: &str| format!("anthropic-ratelimit-{what}-{part}");
        reply = reply
            .with_header(&name("limit"), limit.to_string())
            .with_header(
                &name("remaining"),
                u64::saturating_sub(limit, used).to_string(),
            )
            .with_header(&name("reset"), reset.clone());
    }
    reply
}

/// Seconds since the epoch as an RFC 3339 time in UTC.
pub(crate) fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days, after Howard Hinnant's algorithm.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
