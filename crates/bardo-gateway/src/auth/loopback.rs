//! Without keys: whoever can reach the listener, which is then bound to loopback. A browser can be
//! made to call loopback by any page, so calls with a foreign `Origin` are turned away.

use http::HeaderMap;

/// Whether the call comes from no web page, or from one of this machine.
pub(super) fn is_own_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(http::header::ORIGIN)
        .into_iter()
        .all(|origin| {
            let origin = origin.to_str().unwrap_or_default();
            let host = origin.split_once("://").map_or("", |(_, rest)| rest);
            ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
                host.strip_prefix(local)
                    .is_some_and(|port| port.is_empty() || port.starts_with(':'))
            })
        })
}
