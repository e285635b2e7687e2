//! Answers and refusals as HTTP replies.

use std::sync::Arc;
use std::time::Duration;

use bardo_engine::{Answer, AnswerBody, Recorder};
use bardo_types::model::Dialect;
use bardo_wire::headers as names;
use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    RETRY_AFTER,
};
use http::request::Parts;
use http::{Response, StatusCode};

use super::{ApiReply, Caller};
use crate::auth::presented_id;
use crate::describe::{LATE_TRAILERS, TRAILERS, describe, limits, set, warn_of};
use crate::error::Problem;
use crate::reply::{self, Behind, HeartbeatBody, ReplyBody};
use crate::usage::ReportBody;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Most answers have no more headers than these.
const HEADERS: usize = 24;

pub(super) fn answered(
    answer: Answer,
    recorder: Option<Box<Recorder>>,
    dialect: Dialect,
    behind: Behind,
) -> ApiReply {
    let Answer { head, body } = answer;
    let (body, is_stream) = match body {
        AnswerBody::Whole(bytes) => (ReplyBody::Whole(bytes), false),
        AnswerBody::Stream(stream) => {
            let stream = reply::stream(stream, recorder, behind);
            (ReplyBody::Stream(HeartbeatBody::Flowing(stream)), true)
        }
    };
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.reserve(HEADERS);
    if is_stream {
        event_stream(headers);
        announce(behind, TRAILERS, headers);
    } else {
        set(headers, CONTENT_TYPE, JSON);
    }
    describe(&head, dialect, reply.headers_mut());
    reply
}

/// The types of content that a caller accepts, as it wrote them.
pub(super) fn accepted(headers: &HeaderMap) -> Option<&str> {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok())
}

/// A report as JSON or as comma-separated values.
pub(super) fn report(report: ReportBody) -> ApiReply {
    match report {
        ReportBody::Json(body) => whole(body.to_string().into()),
        ReportBody::Csv(text) => {
            let mut reply = whole(text.into());
            let kind = HeaderValue::from_static("text/csv; charset=utf-8");
            reply.headers_mut().insert(CONTENT_TYPE, kind);
            reply
        }
    }
}

pub(super) fn whole(bytes: Bytes) -> ApiReply {
    let mut reply = Response::new(ReplyBody::Whole(bytes));
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

/// A stream that no provider has begun yet; its head is sent now, and what the head would have said
/// goes behind it where the caller takes trailers.
pub(super) fn awaited(
    working: crate::edge::Answering,
    every: Duration,
    caller: &Caller,
    behind: Behind,
) -> ApiReply {
    let (dialect, request_id) = (caller.dialect, Arc::clone(&caller.request_id));
    let body = async move {
        let (answer, recorder) = working
            .await
            .map_err(|error| Problem::from(error).event(dialect, &request_id))?;
        match answer.body {
            AnswerBody::Stream(stream) => {
                let head = reply::late_head(answer.head, dialect);
                Ok(reply::stream(stream, recorder, behind).with_late_head(head))
            }
            AnswerBody::Whole(bytes) => Err(bytes),
        }
    };
    let body = HeartbeatBody::until(Box::pin(body), every);
    let mut reply = Response::new(ReplyBody::Stream(body));
    event_stream(reply.headers_mut());
    announce(behind, LATE_TRAILERS, reply.headers_mut());
    reply
}

/// Names the trailers that come behind a stream.
fn announce(behind: Behind, names: &'static str, headers: &mut HeaderMap) {
    if behind == Behind::Figures {
        headers.insert(http::header::TRAILER, HeaderValue::from_static(names));
    }
}

/// An answer given before, which says whose it was.
pub(super) fn replayed(answer: Answer, dialect: Dialect, behind: Behind) -> ApiReply {
    let first = answer.head.request_id.clone();
    let mut reply = answered(answer, None, dialect, behind);
    let first = first.and_then(|id| HeaderValue::from_str(id.as_str()).ok());
    if let Some(first) = first {
        let name = HeaderName::from_static(names::REPLAYED_REQUEST_ID);
        reply.headers_mut().insert(name, first);
    }
    reply.headers_mut().insert(
        HeaderName::from_static(names::IDEMPOTENT_REPLAYED),
        HeaderValue::from_static("true"),
    );
    reply
}

pub(super) fn event_stream(headers: &mut HeaderMap) {
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
}

pub(super) fn identify(caller: &Caller, headers: &mut HeaderMap) {
    crate::describe::identify(&caller.request_id, &caller.id, headers);
    if caller.sandbox {
        headers.insert(
            HeaderName::from_static(names::SANDBOX),
            HeaderValue::from_static("true"),
        );
    }
}

/// Writes one line for a request that was refused. Failures of providers and stores have lines of
/// their own.
pub(super) fn log_refusal(caller: &Caller, head: &Parts, problem: &Problem) {
    if problem.code.status() >= 500 {
        return;
    }
    let path = path_for_log(head.uri.path());
    let model = problem.model.as_deref().map(for_log);
    tracing::info!(
        target: "bardo::requests",
        id = caller.id.as_str(),
        status = problem.code.status(),
        code = problem.code.as_str(),
        reason = problem.reason,
        method = %for_log(head.method.as_str()),
        path,
        model,
        key = presented_id(&head.headers),
        peer = %caller.peer,
        "refused"
    );
}

/// The longest word of a caller in the log, in characters.
const LOGGED: usize = 120;

/// A caller's word as the log may hold it: cut, without control characters.
fn for_log(text: &str) -> String {
    let words = text.chars().take(LOGGED);
    let mut shown: String = words.flat_map(char::escape_default).collect();
    if text.chars().nth(LOGGED).is_some() {
        shown.push_str("...");
    }
    shown
}

/// A path as the log may hold it. A credential that was pasted into it is left out.
fn path_for_log(path: &str) -> String {
    let is_secret = |part: &str| part.starts_with("bardo_") || part.starts_with("sk-");
    let parts = path.split('/').map(|part| match is_secret(part) {
        true => "[redacted]",
        false => part,
    });
    for_log(&parts.collect::<Vec<_>>().join("/"))
}

pub(super) fn refuse(caller: &Caller, problem: &Problem) -> ApiReply {
    let mut reply = Response::new(ReplyBody::Whole(
        problem.body(caller.dialect, &caller.request_id),
    ));
    *reply.status_mut() = problem.status(caller.dialect);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(wait) = problem.fault.retry_after_ms {
        headers.insert(RETRY_AFTER, HeaderValue::from(wait.div_ceil(1000)));
        headers.insert(
            HeaderName::from_static("retry-after-ms"),
            HeaderValue::from(wait),
        );
    }
    if let Some(retry) = problem.should_retry {
        let value = if retry { "true" } else { "false" };
        headers.insert(
            HeaderName::from_static(names::SHOULD_RETRY),
            HeaderValue::from_static(value),
        );
    }
    if let Some(admission) = &problem.limits {
        limits(admission, caller.dialect, headers);
    }
    if let Some(funds) = problem.funds {
        warn_of(funds, headers);
    }
    for (name, value) in problem.requirement.iter().flat_map(|one| &one.headers) {
        headers.insert(name.clone(), value.clone());
    }
    // The rest of such a body is not worth reading.
    if matches!(problem.code.status(), 408 | 413 | 431) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

pub(super) fn json_reply(status: StatusCode, value: serde_json::Value) -> ApiReply {
    let mut reply = whole(value.to_string().into());
    *reply.status_mut() = status;
    reply
}

#[cfg(test)]
mod tests {
    use bardo_engine::{EngineError, PaymentRequirement, UnpaidRequest};
    use bardo_types::money::MicroUsd;

    use super::*;
    use crate::request_id;

    #[test]
    fn the_headers_of_an_offer_are_those_of_its_seller() {
        let id = request_id::fresh();
        let caller = Caller {
            peer: [127, 0, 0, 1].into(),
            request_id: id.as_str().into(),
            id,
            dialect: Dialect::Chat,
            sandbox: false,
            propagates: false,
        };
        let name = HeaderName::from_static("payment-required");
        let value = HeaderValue::from_static("abc");
        let requirement = PaymentRequirement {
            headers: vec![(name.clone(), value.clone())],
            ..PaymentRequirement::default()
        };
        let unpaid = UnpaidRequest {
            price: MicroUsd::new(7),
            requirement,
            limits: None,
        };
        let problem = Problem::from(EngineError::Unpaid(Box::new(unpaid)));
        let reply = refuse(&caller, &problem);
        assert_eq!(reply.status(), StatusCode::PAYMENT_REQUIRED);
        assert_eq!(reply.headers().get(name), Some(&value));
        assert_eq!(
            reply.headers().get(names::SHOULD_RETRY),
            Some(&HeaderValue::from_static("false"))
        );
    }

    #[test]
    fn words_of_callers_are_cut_and_escaped_in_the_log() {
        assert_eq!(for_log("gpt-5.5"), "gpt-5.5");
        assert_eq!(for_log("a\nb\u{1b}[31m"), "a\\nb\\u{1b}[31m");
        assert_eq!(for_log(&"x".repeat(500)).len(), 123);
        assert_eq!(path_for_log("/v1/models/x"), "/v1/models/x");
        assert_eq!(
            path_for_log("/v1/models/sk-abc/x"),
            "/v1/models/[redacted]/x"
        );
    }
}
