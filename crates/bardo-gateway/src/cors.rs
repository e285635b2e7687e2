//! Web pages of other origins that may call the data listener (`server.cors.origins`).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Response, StatusCode};

use crate::reply::ReplyBody;

/// How long a browser may remember a preflight, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");

/// The origins that may call; none: no header of this kind is sent.
#[derive(Debug, Default)]
pub(crate) struct Cors {
    any: bool,
    origins: Vec<HeaderValue>,
}

impl Cors {
    pub(crate) fn new(origins: &[String]) -> Self {
        Self {
            any: origins.iter().any(|origin| origin == "*"),
            origins: origins
                .iter()
                .filter_map(|origin| HeaderValue::from_str(origin).ok())
                .collect(),
        }
    }

    const fn is_off(&self) -> bool {
        self.origins.is_empty()
    }

    /// The origin of the page that calls, if it may.
    fn allowed<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let mut given = headers.get_all(ORIGIN).into_iter();
        let origin = given.next().filter(|_| given.next().is_none())?;
        (self.any || self.origins.contains(origin)).then_some(origin)
    }

    /// The answer to a browser's question whether a page may call.
    pub(crate) fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<Response<ReplyBody>> {
        let asks = method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks {
            return None;
        }
        self.allowed(headers)?;
        let mut reply = Response::new(ReplyBody::Whole(bytes::Bytes::new()));
        *reply.status_mut() = StatusCode::NO_CONTENT;
        let out = reply.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        out.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            out.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
        Some(reply)
    }

    /// Adds what lets a page read the answer.
    pub(crate) fn mark(&self, asked: Option<&HeaderValue>, out: &mut HeaderMap) {
        if self.is_off() {
            return;
        }
        out.append(VARY, HeaderValue::from_static("origin"));
        let Some(origin) = asked else { return };
        out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let names: Vec<&str> = out
            .keys()
            .map(HeaderName::as_str)
            .filter(|name| {
                name.starts_with("x-")
                    || name.starts_with("payment-")
                    || name.contains("retry-after")
                    || *name == "request-id"
            })
            .collect();
        if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
            out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
        }
    }

    /// The origin that an answer is marked for.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.allowed(headers).cloned()
    }
}
