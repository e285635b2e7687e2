//! Without keys: whoever can reach the listener, which is then bound to loopback. A browser can be
//! made to call loopback by any page, so calls with a foreign `Origin` are turned away.

use http::HeaderMap;

/// Whether the call comes from no web page, from one of this machine, or from one that the
/// configuration names. `*` names none: without keys it would let every page in.
pub(super) fn is_own_page(headers: &HeaderMap, allowed: &[String]) -> bool {
    headers
        .get_all(http::header::ORIGIN)
        .into_iter()
        .all(|origin| {
            let origin = origin.to_str().unwrap_or_default();
            let host = origin.split_once("://").map_or("", |(_, rest)| rest);
            is_local(host) || origin != "*" && allowed.iter().any(|known| known == origin)
        })
}

/// Whether the call names this machine as its host. A page whose name was pointed to loopback sends
/// its own name, and no `Origin` with a plain GET.
pub(super) fn is_own_host(headers: &HeaderMap) -> bool {
    headers
        .get_all(http::header::HOST)
        .into_iter()
        .all(|host| is_local(host.to_str().unwrap_or_default()))
}

/// Whether it is a name or an address of this machine, with or without a port.
fn is_local(host: &str) -> bool {
    let bare = match host.rsplit_once(':') {
        Some((bare, port)) if port.bytes().all(|b| b.is_ascii_digit()) => bare,
        _ => host,
    };
    let address = bare.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
