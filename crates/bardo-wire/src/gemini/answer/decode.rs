//! Whole answers of Gemini, read by the machine that reads streams.

use bardo_types::chat::{Assembler, ChatResponse};
use bardo_types::fault::Fault;

use crate::codec::{DecodeContext, StreamDecoder as _};
use crate::gemini::stream::decode::GeminiDecoder;

/// Decodes a buffered answer.
///
/// # Errors
/// The fault that the body tells of: an error object in a 200, or an answer the protocol does
/// not allow.
pub fn decode_response(body: &[u8], context: &DecodeContext) -> Result<ChatResponse, Fault> {
    let mut decoder = GeminiDecoder::new(context.clone(), true);
    let mut events = Vec::new();
    decoder.take(body, &mut events);
    decoder.end(&mut events);
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.finish()
}
