//! Ids of traces and spans. They follow from the id of the request, so that nothing is stored and a
//! repeated export has the same ids.

use bardo_types::receipt::Receipt;

/// Digits of a trace id.
const TRACE_DIGITS: usize = 32;

/// Id of the trace of a request, 16 bytes: that of the caller's `traceparent`, otherwise the digits
/// of the request id without `req_`.
#[must_use]
pub(crate) fn trace_id(receipt: &Receipt) -> [u8; 16] {
    let caller = receipt.trace_id.as_deref().and_then(bytes_of);
    caller.unwrap_or_else(|| own_trace_id(receipt.request_id.as_str()))
}

fn own_trace_id(request_id: &str) -> [u8; 16] {
    let digits = request_id
        .strip_prefix("req_")
        .and_then(|rest| rest.get(..TRACE_DIGITS));
    digits.and_then(bytes_of).unwrap_or_else(|| {
        let [high, low] = [0, 1].map(|half| u128::from(hash(request_id, "trace", half)));
        (high << 64 | low).to_be_bytes()
    })
}

/// Id of a span of a request, 8 bytes, never all zero. `kind` and `index` tell the spans of a request
/// apart.
pub(crate) fn span_id(receipt: &Receipt, kind: &str, index: u64) -> Vec<u8> {
    let id = hash(receipt.request_id.as_str(), kind, index).max(1);
    id.to_be_bytes().to_vec()
}

/// The bytes of 32 hexadecimal digits that are not all zero.
fn bytes_of(digits: &str) -> Option<[u8; 16]> {
    if digits.len() != TRACE_DIGITS || digits.starts_with('+') {
        return None;
    }
    let id = u128::from_str_radix(digits, 16).ok();
    id.filter(|id| *id != 0).map(u128::to_be_bytes)
}

/// FNV-1a over the parts, and then a finalizer that spreads the last bytes over all bits.
fn hash(request_id: &str, kind: &str, index: u64) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = request_id
        .bytes()
        .chain([0])
        .chain(kind.bytes())
        .chain(index.to_le_bytes());
    let mut state = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::receipt;

    #[test]
    fn a_trace_has_the_callers_id_or_the_digits_of_the_request() {
        let mut one = receipt();
        one.trace_id = Some("4bf92f3577b34da6a3ce929d0e0e4736".into());
        assert_eq!(trace_id(&one)[..3], [0x4b, 0xf9, 0x2f]);
        one.trace_id = None;
        assert_eq!(trace_id(&one)[..3], [0x01, 0x9a, 0x2b]);
        for odd in ["req_1", "req_é0000000000000000000000000000000", "else"] {
            let id = own_trace_id(odd);
            assert_eq!(id.len(), 16, "{odd}");
            assert!(id.iter().any(|byte| *byte != 0), "{odd}");
        }
    }

    #[test]
    fn the_spans_of_a_request_have_different_ids() {
        let one = receipt();
        let ids: std::collections::BTreeSet<_> = ["server", "stage", "attempt"]
            .iter()
            .flat_map(|kind| (0..100).map(|index| span_id(&one, kind, index)))
            .collect();
        assert_eq!(ids.len(), 300);
    }
}
