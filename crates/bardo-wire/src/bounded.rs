//! An end to streams that have none.
//!
//! Decoders, and what follows them, keep what they must tell again later: inputs of calls, the
//! items of a Responses answer, the assembled answer for a cache. Each holds a small multiple of
//! the bytes that came, so a limit on those bounds them all.

use bardo_types::chat::StreamEvent;

use crate::codec::StreamDecoder;
use crate::kit::messages::malformed;
use crate::sse::SseEvent;

/// Most bytes that the events of one answer hold together.
const ANSWER_BYTES_MAX: usize = 128 * 1_024 * 1_024;
/// Counted for each event beside its bytes, so that very many tiny ones end as well.
const EVENT_BYTES: usize = 64;

/// `decoder`, with an answer that never ends turned into one that failed.
pub(crate) fn bounded(decoder: Box<dyn StreamDecoder>) -> Box<dyn StreamDecoder> {
    Box::new(Bounded::new(decoder, ANSWER_BYTES_MAX))
}

struct Bounded {
    decoder: Box<dyn StreamDecoder>,
    bytes_left: usize,
    over: bool,
}

impl Bounded {
    fn new(decoder: Box<dyn StreamDecoder>, bytes_max: usize) -> Self {
        Self {
            decoder,
            bytes_left: bytes_max,
            over: false,
        }
    }

    fn note_end(&mut self, out: &[StreamEvent]) {
        let end = |step| matches!(step, &StreamEvent::Done | &StreamEvent::Failed(_));
        self.over |= out.last().is_some_and(end);
    }
}

impl StreamDecoder for Bounded {
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
        if self.over {
            return;
        }
        match self.bytes_left.checked_sub(event.data.len() + EVENT_BYTES) {
            Some(left) => {
                self.bytes_left = left;
                self.decoder.event(event, out);
            }
            None => out.push(StreamEvent::Failed(malformed(
                "the provider's answer is larger than 128 MiB",
            ))),
        }
        self.note_end(out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.over {
            self.decoder.end(out);
            self.note_end(out);
        }
    }

    fn end_whole(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.over {
            self.decoder.end_whole(out);
            self.note_end(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says every event again, and is done at its end.
    struct Echo;

    impl StreamDecoder for Echo {
        fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
            let text = String::from_utf8_lossy(event.data).into_owned();
            out.push(StreamEvent::Text { choice: 0, text });
        }

        fn end(&mut self, out: &mut Vec<StreamEvent>) {
            out.push(StreamEvent::Done);
        }
    }

    fn steps(bytes_max: usize, events: usize) -> Vec<StreamEvent> {
        let mut decoder = Bounded::new(Box::new(Echo), bytes_max);
        let mut out = Vec::new();
        for _ in 0..events {
            let data = b"0123456789";
            decoder.event(SseEvent { name: "", data }, &mut out);
        }
        decoder.end(&mut out);
        decoder.end(&mut out);
        out
    }

    #[test]
    fn an_answer_within_the_limit_is_untouched() {
        let out = steps(10 * (10 + EVENT_BYTES), 10);
        assert_eq!(out.len(), 11);
        assert_eq!(out[10], StreamEvent::Done);
    }

    #[test]
    fn an_answer_beyond_the_limit_fails_once_and_for_good() {
        let out = steps(10 * (10 + EVENT_BYTES) - 1, 20);
        assert_eq!(out.len(), 10);
        assert!(matches!(out[9], StreamEvent::Failed(_)));
    }
}
