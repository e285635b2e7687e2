//! Requests that another site makes a browser send.

use http::HeaderMap;
use http::header::{HOST, HeaderName, ORIGIN};

use crate::ops::is_loopback_name;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what does not come from the console's own pages.
pub(super) struct Guard;

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

impl Guard {
    /// Why a request is refused because of its names. An open console answers names of this machine
    /// alone: a page of another site may let its own name resolve to this machine.
    pub(super) fn foreign(&self, headers: &HeaderMap, is_open: bool) -> Option<&'static str> {
        if headers.get_all(HOST).iter().nth(1).is_some() {
            return Some("the request names two hosts");
        }
        let host = text(headers, HOST)?;
        if is_open && !is_loopback_name(host) {
            return Some(
                "without `server.admin_token` the console answers only to the hosts localhost and 127.0.0.1",
            );
        }
        None
    }

    /// Why a POST is refused because of the page that sent it.
    pub(super) fn cross_site(&self, headers: &HeaderMap) -> Option<&'static str> {
        const REFUSED: &str = "nothing was changed: the request came from a page of another site";
        if text(headers, FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Some(REFUSED);
        }
        let origin = text(headers, ORIGIN)?;
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        match (authority, text(headers, HOST)) {
            (Some(authority), Some(host)) if authority == host => None,
            _ => Some(REFUSED),
        }
    }
}
