//! Headers of the caller that are sent on and are part of a request's key.

use bardo_types::model::Dialect;
use bardo_wire::anthropic::VERSION;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Headers that say nothing of the answer.
const TRACES: [&str; 4] = ["traceparent", "tracestate", "session-id", "session_id"];
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// Lists of names of features. Their order and white space say nothing.
const LISTS: [&str; 2] = ["anthropic-beta", "openai-beta"];

/// Each header that may change the answer to a request of a dialect, with its value, in an order that
/// depends on nothing else. The entries of a list stand alone, each once.
pub(crate) fn sorted(forward: &HeaderMap, dialect: Dialect) -> Vec<(&str, &[u8])> {
    let names_the_usual_version = names_the_usual_version(forward);
    let changes_answers = |(name, _): &(&HeaderName, &HeaderValue)| {
        let name = name.as_str();
        let says_nothing = names_the_usual_version && name == ANTHROPIC_VERSION;
        !says_nothing && !TRACES.contains(&name) && is_sent(name, dialect)
    };
    let mut headers: Vec<(&str, &[u8])> = Vec::new();
    for (name, value) in forward.iter().filter(changes_answers) {
        let (name, value) = (name.as_str(), value.as_bytes());
        if LISTS.contains(&name) {
            let entries = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            headers.extend(entries.filter(|one| !one.is_empty()).map(|one| (name, one)));
        } else {
            headers.push((name, value));
        }
    }
    headers.sort_unstable();
    headers.dedup_by(|one, other| one == other && LISTS.contains(&one.0));
    headers
}

/// Whether a header reaches a provider: headers of Anthropic do from Messages to Messages alone.
fn is_sent(name: &str, dialect: Dialect) -> bool {
    dialect == Dialect::Anthropic || !name.starts_with("anthropic-")
}

/// Whether the version is the one that the gateway names for a caller who names none, as each SDK
/// of Anthropic does.
fn names_the_usual_version(forward: &HeaderMap) -> bool {
    let mut versions = forward.get_all(ANTHROPIC_VERSION).iter();
    versions.next().is_some_and(|version| version == VERSION) && versions.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: [(&str, &str); 5] = [
        ("anthropic-beta", "a"),
        ("anthropic-beta", "b"),
        ("openai-beta", "a"),
        ("session-id", "a"),
        ("traceparent", "a"),
    ];

    fn keyed(headers: &HeaderMap) -> Vec<(&str, &[u8])> {
        sorted(headers, Dialect::Anthropic)
    }

    /// Headers of all sets of `OTHERS`.
    fn sets() -> impl Iterator<Item = HeaderMap> {
        (0..1_u32 << OTHERS.len()).map(|set| {
            let chosen = OTHERS
                .iter()
                .enumerate()
                .filter(move |(bit, _)| set >> bit & 1 == 1);
            let mut headers = HeaderMap::new();
            for (_, (name, value)) in chosen {
                headers.append(*name, HeaderValue::from_static(value));
            }
            headers
        })
    }

    fn with(headers: &HeaderMap, versions: &[&'static str]) -> HeaderMap {
        let mut headers = headers.clone();
        for version in versions {
            headers.append(ANTHROPIC_VERSION, HeaderValue::from_static(version));
        }
        headers
    }

    #[test]
    fn the_usual_version_is_the_same_as_none_whatever_else_is_sent() {
        for headers in sets() {
            assert_eq!(keyed(&with(&headers, &[VERSION])), keyed(&headers));
        }
    }

    #[test]
    fn any_other_version_is_another_key_whatever_else_is_sent() {
        let others: [&[&str]; 7] = [
            &["2026-10-21"],
            &["2023-06-02"],
            &["2023-01-01"],
            &["2023-06-01 "],
            &[""],
            &[VERSION, "2026-10-21"],
            &[VERSION, VERSION],
        ];
        for headers in sets() {
            let mut keys = vec![keyed(&headers)];
            let all = others.map(|versions| with(&headers, versions));
            for other in &all {
                let key = keyed(other);
                assert!(!keys.contains(&key), "{other:?}");
                keys.push(key);
            }
        }
    }

    #[test]
    fn order_and_traces_change_nothing() {
        let mut one = HeaderMap::new();
        one.append("anthropic-beta", HeaderValue::from_static("a"));
        one.append("openai-beta", HeaderValue::from_static("b"));
        let mut other = HeaderMap::new();
        other.append("openai-beta", HeaderValue::from_static("b"));
        other.append("tracestate", HeaderValue::from_static("t"));
        other.append("anthropic-beta", HeaderValue::from_static("a"));
        assert_eq!(keyed(&one), keyed(&other));
    }

    #[test]
    fn lists_are_compared_by_their_entries_and_headers_that_are_not_sent_are_none() {
        let of = |values: &[&'static str]| {
            let mut headers = with(&HeaderMap::new(), &["2026-10-21"]);
            for value in values {
                headers.append("anthropic-beta", HeaderValue::from_static(value));
            }
            headers
        };
        let one = of(&["a,b"]);
        for same in [of(&["b, a"]), of(&["b", "a"]), of(&["a,,b,", "", "b"])] {
            assert_eq!(keyed(&same), keyed(&one));
        }
        assert_ne!(keyed(&of(&["a"])), keyed(&one));
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Completions] {
            assert_eq!(sorted(&one, dialect), []);
        }
    }
}
