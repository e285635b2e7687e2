//! Streamed answers of upstreams.

use bardo_types::chat::StreamEvent;
use bardo_types::fault::{Fault, FaultClass};

use crate::chat::answer::decode::{IncomingAnswer, incomplete, read_chunk};
use crate::chat::shapes::answer::Chunk;
use crate::chat::stream::halves::HalfCharacter;
use crate::chat::usage::decode::read as read_usage;
use crate::codec::{DecodeContext, StreamDecoder};
use crate::quirks::Quirks;
use crate::sse::SseEvent;

/// A decoder for a streamed answer.
#[must_use]
pub fn stream_decoder(context: DecodeContext) -> Box<dyn StreamDecoder> {
    Box::new(ChatDecoder {
        context,
        answer: IncomingAnswer::default(),
        half: HalfCharacter::default(),
        over: false,
    })
}

struct ChatDecoder {
    context: DecodeContext,
    answer: IncomingAnswer,
    half: HalfCharacter,
    over: bool,
}

impl ChatDecoder {
    fn fail(&mut self, fault: Fault, out: &mut Vec<StreamEvent>) {
        self.over = true;
        out.push(StreamEvent::Failed(fault));
    }

    fn complete(&mut self, out: &mut Vec<StreamEvent>) {
        if self.answer.is_finished() {
            self.over = true;
            self.answer.finish(&self.context, out);
            out.push(StreamEvent::Done);
        } else {
            self.fail(incomplete(), out);
        }
    }
}

impl StreamDecoder for ChatDecoder {
    fn event(&mut self, event: SseEvent<'_>, out: &mut Vec<StreamEvent>) {
        let data = event.data.trim_ascii();
        if self.over || data.is_empty() {
            return;
        }
        if data == b"[DONE]" {
            self.complete(out);
            return;
        }
        let joined = self.half.join(data);
        let data = &*joined;
        let mut chunk = Chunk::default();
        let result = read_chunk(data, self.context.target.service, &mut chunk)
            .and_then(|()| self.answer.take(&chunk, false, &self.context, out));
        if let Err(fault) = result {
            // What was counted before the failure may be billed all the same.
            if self.answer.started
                && let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data)
            {
                out.extend(read_usage(&chunk.counts()).map(StreamEvent::Usage));
            }
            self.fail(fault, out);
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        if self.over {
            return;
        }
        if Quirks::of(self.context.target.service).no_terminal {
            return self.end_whole(out);
        }
        self.fail(cut(), out);
    }

    fn end_whole(&mut self, out: &mut Vec<StreamEvent>) {
        if self.over {
            return;
        }
        if self.answer.is_finished() {
            self.complete(out);
            return;
        }
        self.fail(cut(), out);
    }
}

fn cut() -> Fault {
    Fault::new(
        FaultClass::Connection,
        "the provider closed the stream before its end",
    )
}
