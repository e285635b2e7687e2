//! The trace that a request belongs to, as its caller names it by W3C Trace Context.

use std::sync::Arc;

use http::HeaderMap;

/// The trace id in the header `traceparent`: 32 lower-case hexadecimal digits, not all zero. `None`
/// where the header is missing, comes twice or is malformed.
pub(crate) fn id_of(headers: &HeaderMap) -> Option<Arc<str>> {
    let mut all = headers.get_all("traceparent").into_iter();
    let (only, None) = (all.next()?, all.next()) else {
        return None;
    };
    let mut fields = only.to_str().ok()?.split('-');
    let version = fields.next()?;
    let (trace, parent, flags) = (fields.next()?, fields.next()?, fields.next()?);
    // Version 0 has four fields; later ones may have more.
    let is_known = version != "ff" && (version != "00" || fields.next().is_none());
    let is_whole = is_hex(version, 2) && is_hex(parent, 16) && is_hex(flags, 2);
    let is_id = is_hex(trace, 32) && trace.bytes().any(|digit| digit != b'0');
    (is_known && is_whole && is_id).then(|| trace.into())
}

fn is_hex(text: &str, length: usize) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    text.len() == length && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn id(values: &[&str]) -> Option<Arc<str>> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("traceparent", HeaderValue::from_str(value).unwrap());
        }
        id_of(&headers)
    }

    #[test]
    fn a_trace_id_is_read_from_one_well_formed_header_alone() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(id(&[&good]).as_deref(), Some(TRACE));
        let later = format!("01-{TRACE}-00f067aa0ba902b7-01-more");
        assert_eq!(id(&[&later]).as_deref(), Some(TRACE));
        assert_eq!(id(&[]), None);
        assert_eq!(id(&[&good, &good]), None);
        for bad in [
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-00f067aa0ba902b7"),
            "00-1-2-3".to_owned(),
            String::new(),
        ] {
            assert_eq!(id(&[&bad]), None, "{bad}");
        }
    }
}
