//! Request ids: ours, which sort by time and are never used twice, and the caller's own beside them.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};

use bardo_types::ids::RequestId;
use http::{HeaderMap, HeaderName};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The caller's own id for a request with these headers, when it is short and clean.
pub(crate) fn of_caller(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(X_REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|id| is_clean(id))
}

fn is_clean(id: &str) -> bool {
    (8..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// `req_` and 32 hex digits: milliseconds first, as in UUIDv7, then what makes it unique.
pub(crate) fn fresh() -> RequestId {
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
    let millis = u64::try_from(millis & 0xffff_ffff_ffff).unwrap_or_default();
    let mut id = *b"req_00000000000070000000000000000000";
    hexadecimal(&mut id[4..16], millis);
    hexadecimal(&mut id[17..20], count & 0xfff);
    hexadecimal(&mut id[20..], random);
    let id = std::str::from_utf8(&id).expect("digits are ASCII");
    RequestId::parse(id).expect("hexadecimal digits make an id")
}

/// Fills a text with the last digits of a number.
fn hexadecimal(text: &mut [u8], mut number: u64) {
    for place in text.iter_mut().rev() {
        *place = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_are_unique_sorted_by_time_and_of_one_length() {
        let ids: std::collections::BTreeSet<RequestId> = (0..1000).map(|_| fresh()).collect();
        assert_eq!(ids.len(), 1000);
        let is_usual = |id: &RequestId| id.as_str().len() == 36 && is_clean(id.as_str());
        assert!(ids.iter().all(is_usual));
    }

    #[test]
    fn a_callers_id_is_kept_only_when_clean() {
        let with = |id: &'static str| {
            of_caller(&HeaderMap::from_iter([(
                "x-request-id".parse().unwrap(),
                http::HeaderValue::from_static(id),
            )]))
            .map(str::to_owned)
        };
        assert_eq!(with("abc-123_XYZ.9").as_deref(), Some("abc-123_XYZ.9"));
        assert_eq!(with("bad id with spaces"), None);
        assert_eq!(with("short"), None);
    }
}
