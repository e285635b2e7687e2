//! The page at `/venice`: the calls of an account as they happen, read with the account's own key.
//! The key stays in the memory of the page.

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::header::{REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderMap, Response};

use crate::reply::ReplyBody;

/// A page may load its own files and read its own gateway, nothing else, and no page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page, by its path below `/venice`; `None` where there is none.
pub(crate) fn file(path: &str) -> Option<Response<ReplyBody>> {
    let (kind, text) = match path {
        "" => ("text/html; charset=utf-8", include_str!("page.html")),
        "page.css" => ("text/css; charset=utf-8", include_str!("page.css")),
        "page.js" => ("text/javascript; charset=utf-8", include_str!("page.js")),
        _ => return None,
    };
    let mut reply = Response::new(ReplyBody::Whole(text.into()));
    protect(reply.headers_mut());
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(reply)
}

fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
