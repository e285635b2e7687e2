//! The trace of a caller, by W3C Trace Context.

use std::sync::Arc;

/// Longest `tracestate` that is kept, in bytes.
const STATE_MAX: usize = 512;

/// The span of the caller that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerTrace {
    /// Id of the trace: 32 lower-case hexadecimal digits, not all zero.
    pub trace_id: Arc<str>,
    /// Id of the caller's span, not all zero.
    pub span_id: [u8; 8],
    /// Whether the caller records its trace.
    pub sampled: bool,
    /// State of the caller's tracing systems, as it was written.
    pub state: Option<Arc<str>>,
}

impl CallerTrace {
    /// Reads the headers `traceparent` and `tracestate`. `None` if the first one is malformed; a
    /// malformed state is left out.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut fields = parent.split('-');
        let version = fields.next()?;
        let (trace, span, flags) = (fields.next()?, fields.next()?, fields.next()?);
        // Version 0 has four fields; later ones may have more.
        let is_known = version != "ff" && (version != "00" || fields.next().is_none());
        if !is_known || !is_hex(version, 2) || !is_hex(trace, 32) || !is_hex(flags, 2) {
            return None;
        }
        let span_id = u64::from_str_radix(span, 16)
            .ok()
            .filter(|id| is_hex(span, 16) && *id != 0)?;
        if trace.bytes().all(|digit| digit == b'0') {
            return None;
        }
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(Self {
            trace_id: trace.into(),
            span_id: span_id.to_be_bytes(),
            sampled: flags & 1 == 1,
            state: state.filter(|state| is_state(state)).map(Into::into),
        })
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    text.len() == length && text.bytes().all(is_digit)
}

/// Whether a text is a list of `key=value`, at most 32 of them.
fn is_state(text: &str) -> bool {
    let is_member = |member: &str| {
        let member = member.trim_matches([' ', '\t']);
        let is_pair = |(key, value): (&str, &str)| !key.is_empty() && !value.is_empty();
        member.is_empty() || member.split_once('=').is_some_and(is_pair)
    };
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    (1..=STATE_MAX).contains(&text.len())
        && is_plain
        && text.split(',').count() <= 32
        && text.split(',').all(is_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    fn read(parent: &str) -> Option<(String, bool)> {
        let trace = CallerTrace::parse(parent, None)?;
        assert_eq!(trace.span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
        Some((trace.trace_id.to_string(), trace.sampled))
    }

    #[test]
    fn a_trace_is_read_from_a_well_formed_header_alone() {
        let all = |sampled| Some((TRACE.to_owned(), sampled));
        assert_eq!(read(&format!("00-{TRACE}-{SPAN}-01")), all(true));
        assert_eq!(read(&format!("00-{TRACE}-{SPAN}-02")), all(false));
        assert_eq!(read(&format!("01-{TRACE}-{SPAN}-03-more")), all(true));
        for bad in [
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}-+0f067aa0ba902b7-01"),
            format!("00-{TRACE}-{SPAN}"),
            "00-1-2-3".to_owned(),
            "é".to_owned(),
            String::new(),
        ] {
            assert_eq!(CallerTrace::parse(&bad, None), None, "{bad}");
        }
    }

    #[test]
    fn a_malformed_state_is_left_out() {
        let state = |text: &str| {
            let parent = format!("00-{TRACE}-{SPAN}-01");
            let trace = CallerTrace::parse(&parent, Some(text)).unwrap();
            trace.state.map(|state| state.to_string())
        };
        for good in [
            "a=1",
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "a=1, b@c=2,",
        ] {
            assert_eq!(state(good).as_deref(), Some(good));
        }
        for bad in [
            "",
            "a",
            "=1",
            "a=",
            "a=1\u{7f}",
            &"a=1,".repeat(40),
            &"a".repeat(600),
        ] {
            assert_eq!(state(bad), None, "{bad}");
        }
    }
}
