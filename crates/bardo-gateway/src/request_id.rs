//! Request ids: the caller's own when it is short and clean, else one that sorts by time.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};

use http::HeaderMap;

/// The id of a request with these headers.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    headers
        .get("x-request-id")
        .and_then(|value| value.to_str().ok())
        .filter(|id| is_clean(id))
        .map_or_else(fresh, str::to_owned)
}

fn is_clean(id: &str) -> bool {
    (8..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// `req_` and 32 hex digits: milliseconds first, as in UUIDv7, then what makes it unique.
pub(crate) fn fresh() -> String {
    thread_local! {
        static STATE: (RandomState, Cell<u64>) = (RandomState::new(), const { Cell::new(0) });
    }
    let millis = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis());
    let (count, random) = STATE.with(|(hasher, count)| {
        count.set(count.get() + 1);
        (count.get(), hasher.hash_one(count.get()))
    });
    format!(
        "req_{:012x}7{:03x}{random:016x}",
        millis & 0xffff_ffff_ffff,
        count & 0xfff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_are_unique_sorted_by_time_and_of_one_length() {
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| fresh()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 36 && is_clean(id)));
    }

    #[test]
    fn a_callers_id_is_kept_only_when_clean() {
        let with = |id: &'static str| {
            request_id(&HeaderMap::from_iter([(
                "x-request-id".parse().unwrap(),
                http::HeaderValue::from_static(id),
            )]))
        };
        assert_eq!(with("abc-123_XYZ.9"), "abc-123_XYZ.9");
        assert_ne!(with("bad id with spaces"), "bad id with spaces");
        assert_ne!(with("short"), "short");
    }
}
