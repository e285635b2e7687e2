//! The dialect modules by name, for callers that learn the dialect at run time.
//!
//! No caller speaks Gemini; where a function for callers meets it, chat stands in.

use bardo_types::chat::{ChatRequest, ChatResponse, MarkPlan, StreamEvent};
use bardo_types::fault::Fault;
use bardo_types::model::{Dialect, Service};

use crate::bounded::bounded;
use crate::codec::{
    BadRequest, DecodeContext, DecodedRequest, Encoded, ErrorView, Observed, ReplyContext,
    StreamDecoder, StreamEncoder, Target,
};
use crate::kit::unknown_parts;
use crate::sse::SseEvent;
use crate::{anthropic, chat, gemini, responses};

/// Reads a caller's request.
///
/// # Errors
/// When a field is wrong; the refusal names it.
pub fn decode_request(dialect: Dialect, body: &[u8]) -> Result<ChatRequest, BadRequest> {
    Ok(read_request(dialect, body)?.request)
}

/// Reads a caller's request, and says whether its neutral form lacks members of the body.
///
/// # Errors
/// When a field is wrong; the refusal names it.
pub fn read_request(dialect: Dialect, body: &[u8]) -> Result<DecodedRequest, BadRequest> {
    // No part of it has members.
    let whole = |request| DecodedRequest {
        request,
        holds_unread_members: false,
    };
    match dialect {
        Dialect::Anthropic => anthropic::read_request(body),
        Dialect::Responses => responses::read_request(body),
        Dialect::Completions => chat::completions::decode_request(body).map(whole),
        Dialect::Chat | Dialect::Gemini => chat::read_request(body),
    }
}

/// Writes an answer for a caller.
#[must_use]
pub fn encode_response(
    dialect: Dialect,
    response: &ChatResponse,
    context: &ReplyContext,
) -> Vec<u8> {
    match dialect {
        Dialect::Anthropic => anthropic::encode_response(response, context),
        Dialect::Responses => responses::encode_response(response, context),
        Dialect::Completions => chat::completions::encode_response(response, context),
        Dialect::Chat | Dialect::Gemini => chat::encode_response(response, context),
    }
}

/// Writes a stream for a caller.
#[must_use]
pub fn stream_encoder(dialect: Dialect, context: ReplyContext) -> Box<dyn StreamEncoder> {
    match dialect {
        Dialect::Anthropic => anthropic::stream_encoder(context),
        Dialect::Responses => responses::stream_encoder(context),
        Dialect::Completions => chat::completions::stream_encoder(context),
        Dialect::Chat | Dialect::Gemini => chat::stream_encoder(context),
    }
}

/// Writes a failure as the whole body of an answer.
#[must_use]
pub fn encode_error(dialect: Dialect, view: &ErrorView<'_>) -> Vec<u8> {
    match dialect {
        Dialect::Anthropic => anthropic::encode_error(view),
        Dialect::Responses => responses::encode_error(view),
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => chat::encode_error(view),
    }
}

/// Writes a failure as the last event of a stream that has begun.
#[must_use]
pub fn encode_stream_error(dialect: Dialect, view: &ErrorView<'_>) -> Vec<u8> {
    match dialect {
        Dialect::Anthropic => anthropic::encode_stream_error(view),
        Dialect::Responses => responses::encode_stream_error(view),
        Dialect::Chat | Dialect::Completions | Dialect::Gemini => chat::encode_stream_error(view),
    }
}

/// Writes a failure as the last event of a relayed stream of which so much was `seen` and handed on;
/// `last` is the data of its last event.
#[must_use]
pub fn end_stream(dialect: Dialect, view: &ErrorView<'_>, seen: &Observed, last: &[u8]) -> Vec<u8> {
    match dialect {
        Dialect::Responses => responses::end_stream(view, seen, last),
        _ => encode_stream_error(dialect, view),
    }
}

/// Checks the content of a request before it is written in `dialect`.
///
/// # Errors
/// For the first content part whose type no translation knows, with its place and the types that
/// are known. A request that stays in its own dialect may have parts of any type.
pub fn check_parts(request: &ChatRequest, dialect: Dialect) -> Result<(), BadRequest> {
    unknown_parts::check(request, dialect)
}

/// Writes a request for an upstream.
///
/// # Errors
/// When something the caller cannot do without has no form there.
pub fn encode_request(
    dialect: Dialect,
    request: &ChatRequest,
    target: &Target,
) -> Result<Encoded, BadRequest> {
    match dialect {
        Dialect::Anthropic => anthropic::encode_request(request, target),
        Dialect::Responses => responses::encode_request(request, target),
        Dialect::Gemini => gemini::encode_request(request, target),
        Dialect::Chat | Dialect::Completions => chat::encode_request(request, target),
    }
}

/// Writes a request for an upstream, with the cache marks of a plan where the caller sets none. Only
/// the Messages dialect has marks on parts.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_marked(
    dialect: Dialect,
    request: &ChatRequest,
    target: &Target,
    marks: MarkPlan,
) -> Result<Encoded, BadRequest> {
    match dialect {
        Dialect::Anthropic => anthropic::encode_marked(request, target, marks),
        _ => encode_request(dialect, request, target),
    }
}

/// Reads an upstream's whole answer.
///
/// # Errors
/// When it is malformed, or tells of a failure in spite of its status.
pub fn decode_response(
    dialect: Dialect,
    body: &[u8],
    context: &DecodeContext,
) -> Result<ChatResponse, Fault> {
    match dialect {
        Dialect::Anthropic => anthropic::decode_response(body, context),
        Dialect::Responses => responses::decode_response(body, context),
        Dialect::Gemini => gemini::decode_response(body, context),
        Dialect::Chat | Dialect::Completions => chat::decode_response(body, context),
    }
}

/// Reads an upstream's whole answer as the events of a stream. Parts that have no events
/// ([`ChatResponse::into_events`]) are left out.
///
/// # Errors
/// As [`decode_response`].
pub fn decode_events(
    dialect: Dialect,
    body: &[u8],
    context: &DecodeContext,
) -> Result<Vec<StreamEvent>, Fault> {
    match dialect {
        Dialect::Chat | Dialect::Completions => chat::decode_events(body, context),
        _ => decode_response(dialect, body, context).map(ChatResponse::into_events),
    }
}

/// Reads an upstream's stream, which fails when it grows beyond all measure.
#[must_use]
pub fn stream_decoder(dialect: Dialect, context: DecodeContext) -> Box<dyn StreamDecoder> {
    bounded(match dialect {
        Dialect::Anthropic => anthropic::stream_decoder(context),
        Dialect::Responses => responses::stream_decoder(context),
        Dialect::Gemini => gemini::stream_decoder(context),
        Dialect::Chat | Dialect::Completions => chat::stream_decoder(context),
    })
}

/// Reads an upstream's error answer.
#[must_use]
pub fn decode_error(dialect: Dialect, status: u16, body: &[u8], service: Service) -> Fault {
    match dialect {
        Dialect::Anthropic => anthropic::decode_error(status, body, service),
        Dialect::Responses => responses::decode_error(status, body, service),
        Dialect::Gemini => gemini::decode_error(status, body, service),
        Dialect::Chat | Dialect::Completions => chat::decode_error(status, body, service),
    }
}

/// Looks at one event of a relayed stream.
pub fn observe(dialect: Dialect, event: SseEvent<'_>, seen: &mut Observed) {
    match dialect {
        Dialect::Anthropic => anthropic::observe(event, seen),
        Dialect::Responses => responses::observe(event, seen),
        Dialect::Gemini => gemini::observe(event, seen),
        Dialect::Chat | Dialect::Completions => chat::observe(event, seen),
    }
}

/// Looks at a relayed answer.
#[must_use]
pub fn observe_response(dialect: Dialect, body: &[u8]) -> Observed {
    match dialect {
        Dialect::Anthropic => anthropic::observe_response(body),
        Dialect::Responses => responses::observe_response(body),
        Dialect::Gemini => gemini::observe_response(body),
        Dialect::Chat | Dialect::Completions => chat::observe_response(body),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bardo_types::fault::FaultClass;

    use super::*;

    #[test]
    fn every_stream_that_fails_names_the_gateways_code() {
        for dialect in [
            Dialect::Chat,
            Dialect::Completions,
            Dialect::Anthropic,
            Dialect::Responses,
        ] {
            let mut encoder = stream_encoder(
                dialect,
                ReplyContext {
                    request: Arc::new(ChatRequest::new(dialect, "m")),
                    id_seed: "1".to_owned(),
                    created: 1,
                    model: "m".to_owned(),
                    original: None,
                },
            );
            let fault = Fault::new(FaultClass::Payment, "the balance is used up");
            let view = ErrorView {
                fault: &fault,
                status: 402,
                bardo_code: "insufficient_funds",
                request_id: "req_1",
            };
            let mut out = Vec::new();
            encoder.fail(&view, &mut out);
            let told = String::from_utf8(out.clone()).unwrap();
            assert!(
                told.contains(r#""bardo_code":"insufficient_funds""#),
                "{dialect:?}: {told}"
            );
            assert!(told.contains("used up"), "{dialect:?}: {told}");
            // It is over: nothing follows.
            encoder.encode(bardo_types::chat::StreamEvent::Done, "", &mut out);
            encoder.fail(&view, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), told, "{dialect:?}");
        }
    }
}
