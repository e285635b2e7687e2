//! What a decoder holds while a stream goes on for ever.
//!
//! Words, thinking, pings and counts are handed on and forgotten. Inputs of calls, citations and
//! new blocks are kept until the answer ends, so what is kept may grow with them, but by no more
//! than a small multiple; the limit on a whole answer then bounds it.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;

use bardo_fuzz::endless::{self, Stream};
use bardo_types::chat::StreamEvent;

const MIB: usize = 1_024 * 1_024;
/// Each stream brings this much.
const STREAM_BYTES: usize = 4 * MIB;
/// What a decoder that forgets may hold, and what the memory of a process wavers by.
const SLACK_BYTES: usize = 2 * MIB;
/// What a decoder that keeps may hold for each byte that came.
const KEPT_PER_BYTE: usize = 8;

#[test]
fn what_decoders_hold_is_bounded_by_what_came() {
    let mut report = String::new();
    let mut failed = false;
    for stream in endless::streams() {
        let before = resident_bytes();
        let (decoder, came) = endless_decoder(&stream);
        let held = resident_bytes().saturating_sub(before);
        drop(decoder);
        let allowed = SLACK_BYTES
            + if stream.keeps {
                came * KEPT_PER_BYTE
            } else {
                0
            };
        failed |= held > allowed;
        let _ = writeln!(report, "{}: {held} of {allowed} bytes", stream.name);
    }
    assert!(!failed, "{report}");
}

/// A decoder in the middle of an answer of which so many bytes came.
fn endless_decoder(stream: &Stream) -> (Box<dyn bardo_wire::codec::StreamDecoder>, usize) {
    let mut decoder = stream.decoder();
    let mut steps = Vec::new();
    let mut came = 0;
    let mut number = 0;
    while came < STREAM_BYTES {
        let (name, data) = stream.event(number);
        number += 1;
        came += data.len();
        decoder.event(
            bardo_wire::sse::SseEvent {
                name: &name,
                data: data.as_bytes(),
            },
            &mut steps,
        );
        assert!(!steps.contains(&StreamEvent::Done), "{}", stream.name);
        let failed = |step: &StreamEvent| matches!(step, StreamEvent::Failed(_));
        if steps.iter().any(failed) {
            // The decoder set a bound of its own.
            break;
        }
        steps.clear();
    }
    (decoder, came)
}

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells the status");
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next())
        .expect("the status tells the resident memory");
    let kib: usize = kib.parse().expect("memory is told in KiB");
    kib * 1_024
}
