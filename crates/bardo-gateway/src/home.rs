//! The page that a browser gets at `/`.

use http::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Response};

use crate::reply::ReplyBody;

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>Bardo Inference</title>
<h1>Bardo Inference</h1>
<p>The gateway is running. This address is for API clients:</p>
<ul>
<li>OpenAI clients: add <code>/v1</code> to this address as base URL</li>
<li>Anthropic clients: use this address as base URL</li>
</ul>
<p>List the models with <code>GET /v1/models</code>. Check the health with <code>GET /health/ready</code>.</p>
</html>
";

/// The page, where a browser asks for it.
pub(crate) fn page(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response<ReplyBody>> {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let wants_page = headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    if !is_read || path != "/" || !wants_page {
        return None;
    }
    let mut reply = Response::new(ReplyBody::Whole(PAGE.into()));
    let out = reply.headers_mut();
    out.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    out.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'"),
    );
    Some(reply)
}
