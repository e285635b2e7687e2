//! Requests of the playground: they go to the engine through the admin listener, so that a page
//! needs no other origin.

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    CONTENT_SECURITY_POLICY, COOKIE, HeaderName, HeaderValue, ORIGIN, REFERER,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Request, StatusCode, Uri};
use hyper::body::Incoming;

use super::reply::{ConsoleReply, plain, protect};
use super::session::{Session, SessionAccess};
use crate::ops::Ops;

/// Begin of the paths that are relayed; the rest is a path of the clients' listener.
pub(super) const PREFIX: &str = "/console/api";

/// Paths that pages call.
const PATHS: [&str; 6] = [
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/responses",
    "/v1/completions",
    "/v1/route/explain",
    "/v1/cache/explain",
];

/// Headers of the browser that are none of the engine's business.
const OF_BROWSER: [HeaderName; 5] = [
    COOKIE,
    ORIGIN,
    REFERER,
    HeaderName::from_static("x-csrf-token"),
    HeaderName::from_static("sec-fetch-site"),
];

/// Sends a request of a page to the engine.
pub(super) async fn answer(
    ops: &Ops,
    session: &Session,
    head: http::request::Parts,
    body: Incoming,
) -> ConsoleReply {
    let sent = head.headers.get("x-csrf-token");
    let sent = sent
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !session.takes(sent) {
        return plain(
            StatusCode::FORBIDDEN,
            "the page is from another session; load it again",
        );
    }
    if session.access == SessionAccess::Read {
        return plain(
            StatusCode::FORBIDDEN,
            "this session is read only, and requests cost money; log in with the admin token",
        );
    }
    let path = head.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let Some(path) = PATHS.into_iter().find(|known| *known == path) else {
        return plain(
            StatusCode::NOT_FOUND,
            "pages cannot send requests to this path",
        );
    };
    let mut request = Request::from_parts(head, body);
    *request.uri_mut() = Uri::from_static(path);
    for name in OF_BROWSER {
        request.headers_mut().remove(name);
    }
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let edge = Arc::clone(&ops.edge);
    let Ok(mut reply) = edge.handle(request, here).await;
    protect(reply.headers_mut());
    let headers = reply.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // An answer is data, whatever a provider writes into it.
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    reply
}
