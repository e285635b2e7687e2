//! The headers of a request, sorted: those that may travel on, hints, and the caller's trace.

use std::sync::Arc;

use bardo_engine::Hints;
use bardo_seller::AGENT_PROOF;
use bardo_types::receipt::CallerTrace;
use bardo_wire::headers as names;
use http::header::{HeaderMap, HeaderValue};

const TRACE_PARENT: &str = "traceparent";
const TRACE_STATE: &str = "tracestate";

/// The headers that may travel on, and our hints among them. Everything else stays here. Headers of
/// traces travel on if `propagates` says so.
pub(super) fn sort(headers: &HeaderMap, propagates: bool) -> (HeaderMap, Hints) {
    const FORWARDED: &[&str] = &[
        "anthropic-version",
        "anthropic-beta",
        "openai-beta",
        "session-id",
        "session_id",
    ];
    let mut forward = HeaderMap::new();
    let (mut hints, mut given) = (Hints::default(), Vec::new());
    for (name, value) in headers {
        let text = name.as_str();
        if FORWARDED.contains(&text) {
            forward.append(name, value.clone());
        } else if text == AGENT_PROOF {
            // It is for the gateway, and no hint.
        } else if text == names::SDK_RETRY_COUNT {
            hints.is_repeated = value != "0";
        } else if text == TRACE_PARENT || text == TRACE_STATE {
            if text == TRACE_PARENT && hints.trace.is_none() {
                hints.trace = trace(headers);
            }
            if propagates {
                forward.append(name, value.clone());
            }
        } else if let Some(hint) = text.strip_prefix(names::HINT_PREFIX) {
            given.push((hint, value.as_bytes()));
        }
    }
    hints.headers(given);
    let keys = headers.get_all(names::PROMPT_CACHE_KEY);
    hints.prompt_cache_key(keys.iter().map(HeaderValue::as_bytes));
    (forward, hints)
}

/// The caller's span. `None` where `traceparent` comes twice or is malformed.
fn trace(headers: &HeaderMap) -> Option<Arc<CallerTrace>> {
    let mut parents = headers.get_all(TRACE_PARENT).into_iter();
    let (parent, None) = (parents.next()?.to_str().ok()?, parents.next()) else {
        return None;
    };
    let states: Vec<&str> = headers
        .get_all(TRACE_STATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    // Several headers are one list.
    let states = states.join(",");
    CallerTrace::parse(
        parent,
        Some(&states)
            .filter(|all| !all.is_empty())
            .map(String::as_str),
    )
    .map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn with(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_trace_is_read_and_stays_here_unless_it_may_travel_on() {
        let headers = with(&[
            (TRACE_STATE, "a=1"),
            (TRACE_PARENT, PARENT),
            (TRACE_STATE, "b=2"),
        ]);
        let (forward, hints) = sort(&headers, false);
        assert!(forward.is_empty());
        let trace = hints.trace.unwrap();
        assert!(trace.sampled);
        assert_eq!(trace.state.as_deref(), Some("a=1,b=2"));
        let (forward, _) = sort(&headers, true);
        assert_eq!(forward.len(), 3);
    }

    #[test]
    fn two_parents_are_none() {
        let twice = with(&[(TRACE_PARENT, PARENT), (TRACE_PARENT, PARENT)]);
        assert_eq!(sort(&twice, false).1.trace, None);
        assert_eq!(sort(&with(&[(TRACE_STATE, "a=1")]), false).1.trace, None);
    }

    #[test]
    fn hints_are_bytes_and_one_that_is_no_text_is_refused() {
        let sorted = |name: &'static str, values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(name, HeaderValue::from_bytes(value).unwrap());
            }
            sort(&headers, false).1
        };
        let agent = sorted("x-bardo-golem-id", &["gölem-1".as_bytes()]);
        assert_eq!(agent.route.unwrap().golem_id.as_deref(), Some("gölem-1"));
        for values in [&[&b"tee\xa0"[..]][..], &[b"tee", b"standard"]] {
            let hints = sorted("x-bardo-security-class", values);
            let refused = hints.check(false).unwrap_err();
            assert_eq!(refused.param, "x-bardo-security-class");
        }
        let key = sorted(names::PROMPT_CACHE_KEY, &["schlüssel".as_bytes()]);
        assert_eq!(key.cache_key.as_deref(), Some("schlüssel"));
        assert_eq!(
            sorted(names::PROMPT_CACHE_KEY, &[b"\xff"]).warnings().len(),
            1
        );
    }
}
