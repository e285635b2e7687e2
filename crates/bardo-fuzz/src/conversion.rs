//! Targets for conversion from one dialect to another, both ways.

use bardo_types::chat::StreamEvent;
use bardo_types::fault::Fault;
use bardo_types::model::Dialect;
use bardo_wire::codec::{DecodeContext, ErrorView};
use bardo_wire::json::scan;
use bardo_wire::sse::SseParser;
use bardo_wire::table;
use bardo_wire::textual::{EventFilter, filter_response, lower};
use serde_json::Value;

use crate::{Knobs, answers, requests, world};

/// A trailer as the engine writes it.
const TRAILER: &str = ": bardo-cost 0.000123\n\n";

/// Turns the request of a caller in any dialect into a body for an upstream of any dialect.
pub fn request_conversion(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let client = knobs.pick(0, &world::CLIENTS);
    let upstream = knobs.pick(1, &world::UPSTREAMS);
    let Some(request) = requests::decoded(client, payload) else {
        return;
    };
    let format = world::target(knobs).capabilities.tool_format;
    if format.is_textual() {
        requests::encoded(upstream, &lower(&request, format), knobs);
    } else {
        requests::encoded(upstream, &request, knobs);
    }
}

/// A stream of any upstream becomes frames of any caller's dialect, with one proper end.
pub fn stream_conversion(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let client = knobs.pick(0, &world::CLIENTS);
    let upstream = knobs.pick(1, &world::UPSTREAMS);
    let context = world::decode_context(knobs, client);
    let mut steps = answers::steps(upstream, &context, payload);
    if EventFilter::needed(&context.target.capabilities) {
        steps = filtered(&context, steps);
    }
    let failed = matches!(steps.last(), Some(StreamEvent::Failed(_)));
    let mut encoder = table::stream_encoder(client, world::reply_context(&context));
    let mut bytes = Vec::new();
    for step in steps {
        encoder.encode(step, TRAILER, &mut bytes);
    }
    let shown = || String::from_utf8_lossy(&bytes).into_owned();
    let ends = ends(client, &bytes);
    assert_eq!(ends.errors, usize::from(failed), "{}", shown());
    assert_eq!(ends.terminals, usize::from(!failed), "{}", shown());
    assert_eq!(
        memchr_count(&bytes, TRAILER.as_bytes()),
        usize::from(!failed),
        "{}",
        shown()
    );
    if client != Dialect::Completions {
        let again = answers::steps(client, &context, &bytes);
        let failed_again = matches!(again.last(), Some(StreamEvent::Failed(_)));
        assert_eq!(failed_again, failed, "{:?}: {}", again.last(), shown());
    }
}

fn memchr_count(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes
        .windows(wanted.len())
        .filter(|at| at == &wanted)
        .count()
}

fn filtered(context: &DecodeContext, steps: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut filter = EventFilter::new(context);
    let mut out = Vec::new();
    for step in steps {
        filter.push(step, &mut out);
    }
    out
}

#[derive(Default)]
struct Ends {
    errors: usize,
    terminals: usize,
}

/// Counts endings, and checks every frame on the way.
fn ends(client: Dialect, stream: &[u8]) -> Ends {
    let mut parser = SseParser::new(usize::MAX);
    let mut ends = Ends::default();
    parser
        .push(stream, |event| {
            assert_eq!(ends.errors + ends.terminals, 0, "an event after the end");
            if event.data == b"[DONE]" {
                ends.terminals += 1;
                return;
            }
            let value: Value = serde_json::from_slice(event.data).expect("an event holds JSON");
            let kind = value.get("type").and_then(Value::as_str).unwrap_or("");
            match client {
                Dialect::Anthropic | Dialect::Responses => {
                    assert_eq!(event.name, kind, "an event's name is its type");
                    ends.errors += usize::from(matches!(kind, "error" | "response.failed"));
                    ends.terminals += usize::from(matches!(
                        kind,
                        "message_stop" | "response.completed" | "response.incomplete"
                    ));
                }
                Dialect::Chat | Dialect::Completions | Dialect::Gemini => {
                    ends.errors += usize::from(value.get("error").is_some());
                }
            }
        })
        .expect("nothing outgrows the largest limit");
    parser.finish(|event| assert!(event.data.is_empty(), "the last event is torn"));
    ends
}

/// A whole answer or an error of any upstream becomes a body of any caller's dialect.
pub fn response_conversion(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let client = knobs.pick(0, &world::CLIENTS);
    let upstream = knobs.pick(1, &world::UPSTREAMS);
    let context = world::decode_context(knobs, client);
    match table::decode_response(upstream, payload, &context) {
        Ok(mut response) => {
            if EventFilter::needed(&context.target.capabilities) {
                response = filter_response(response, &context);
            }
            let body = table::encode_response(client, &response, &world::reply_context(&context));
            let shown = String::from_utf8_lossy(&body);
            assert!(scan(&body).is_ok(), "{shown}");
            if client != Dialect::Completions {
                let again = table::decode_response(client, &body, &context);
                assert!(again.is_ok(), "{:?}: {shown}", again.err());
            }
        }
        Err(fault) => told(client, &fault),
    }
    let status = 400 + u16::from(knobs.0[3]);
    let fault = table::decode_error(upstream, status, payload, context.target.service);
    told(client, &fault);
}

/// A failure is shown as one error, whole or as an event.
fn told(client: Dialect, fault: &Fault) {
    let view = ErrorView {
        fault,
        status: 502,
        bardo_code: "upstream_error",
        request_id: "req_1",
    };
    let body = table::encode_error(client, &view);
    let shown = String::from_utf8_lossy(&body);
    let value: Value = serde_json::from_slice(&body).expect("an error is JSON");
    assert!(value["error"]["bardo_code"].is_string(), "{shown}");
    let event = table::encode_stream_error(client, &view);
    let ends = ends(client, &event);
    assert_eq!((ends.errors, ends.terminals), (1, 0));
}
