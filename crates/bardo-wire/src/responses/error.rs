//! Errors, in both directions.

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;
use serde_json::value::RawValue;

use crate::behind;
use crate::codec::{ErrorView, Observed};
use crate::json::{Count, Object, Str, kept_object, wire_object};
use crate::kit::error_details::ErrorDetails;
use crate::kit::messages::cut;
pub(super) use crate::kit::messages::malformed;
use crate::responses::answer::encode::Status;
use crate::responses::output;

/// The error `type` of OpenAI for a kind of failure.
fn error_type(class: FaultClass) -> &'static str {
    match class {
        FaultClass::BadRequest
        | FaultClass::ContextTooLong
        | FaultClass::NotFound
        | FaultClass::Conflict
        | FaultClass::TooLarge
        | FaultClass::Unprocessable => "invalid_request_error",
        FaultClass::Authentication => "authentication_error",
        FaultClass::Permission => "permission_error",
        FaultClass::Payment => "insufficient_quota",
        FaultClass::RateLimit => "rate_limit_error",
        FaultClass::Timeout => "timeout_error",
        FaultClass::Server
        | FaultClass::Overloaded
        | FaultClass::Connection
        | FaultClass::Malformed => "server_error",
    }
}

/// The error `code` of OpenAI where the kind alone decides it.
fn error_code(fault: &Fault) -> Option<&str> {
    match fault.class {
        FaultClass::ContextTooLong => Some("context_length_exceeded"),
        FaultClass::Authentication => Some("invalid_api_key"),
        FaultClass::Payment => Some("insufficient_quota"),
        FaultClass::RateLimit => Some("rate_limit_exceeded"),
        FaultClass::NotFound => Some(fault.code.as_deref().unwrap_or("model_not_found")),
        FaultClass::Server | FaultClass::Connection | FaultClass::Malformed => {
            Some(fault.code.as_deref().unwrap_or("server_error"))
        }
        _ => fault.code.as_deref(),
    }
}

/// The code within a failed response. Codex decides by it whether to try again.
pub(super) fn stream_code(fault: &Fault) -> &'static str {
    match fault.class {
        FaultClass::ContextTooLong => "context_length_exceeded",
        FaultClass::RateLimit => "rate_limit_exceeded",
        FaultClass::Payment => "insufficient_quota",
        FaultClass::BadRequest | FaultClass::Unprocessable | FaultClass::TooLarge => {
            "invalid_prompt"
        }
        _ => "server_error",
    }
}

/// Writes an error body.
#[must_use]
pub fn encode_error(view: &ErrorView<'_>) -> Vec<u8> {
    let fault = view.fault;
    let mut out = Vec::new();
    let mut body = Object::new(&mut out);
    let mut error = body.object("error");
    error.set("message", &fault.message);
    error.set("type", error_type(fault.class));
    error.set("param", &fault.param);
    error.set("code", error_code(fault));
    error.set("bardo_code", view.bardo_code);
    error.end();
    body.end();
    out
}

/// Writes the end of a stream that failed while its own bytes were being passed on: a
/// `response.failed` that stands by itself, because clients such as Codex wait for a terminal
/// event for ever.
#[must_use]
pub fn encode_stream_error(view: &ErrorView<'_>) -> Vec<u8> {
    end_stream(view, &Observed::default(), b"")
}

fn failure(
    view: &ErrorView<'_>,
    frame: &crate::responses::answer::encode::Frame,
    number: u64,
) -> Vec<u8> {
    let mut out = b"event: response.failed\ndata: ".to_vec();
    let mut event = Object::new(&mut out);
    event.set("type", "response.failed");
    event.set("sequence_number", number);
    let status = Status::Failed {
        code: stream_code(view.fault),
        message: &view.fault.message,
    };
    frame.write(status, &[], None, event.key("response"));
    event.set("bardo_code", view.bardo_code);
    event.end();
    out.extend_from_slice(b"\n\n");
    out
}

/// Writes the same as the end of a stream of which so much was `seen` and handed on, `last` being
/// the data of its last event: it keeps the answer's id, and counts on.
#[must_use]
pub fn end_stream(view: &ErrorView<'_>, seen: &Observed, last: &[u8]) -> Vec<u8> {
    wire_object! {
        struct Numbered<'a> {
            "sequence_number" => number: Count,
        }
    }
    let number = serde_json::from_slice::<Numbered<'_>>(last)
        .ok()
        .and_then(|event| event.number.0)
        .map_or(0, |number| number.saturating_add(1));
    let seed = view.request_id.trim_start_matches("req_");
    let begun = seen.memory.begun.clone();
    let (id, created) = begun.unwrap_or_else(|| (output::own_response_id(seed), 0));
    let frame = crate::responses::answer::encode::Frame::bare(id);
    failure(view, &frame.at(created, seen.model.clone()), number)
}

wire_object! {
    /// An error body of any of the shapes in use.
    struct ErrorBody<'a> {
        "error" => error: Option<&'a RawValue>,
        "message" => message: Option<&'a RawValue>,
        "detail" => detail: Option<&'a RawValue>,
        "code" => code: Option<&'a RawValue>,
    }

    /// The object under `error`.
    struct ErrorObject<'a> {
        "message" => message: Option<&'a RawValue>,
        "type" => kind: Option<&'a RawValue>,
        "param" => param: Option<&'a RawValue>,
        "code" => code: Option<&'a RawValue>,
        "metadata" => metadata: Option<&'a RawValue>,
    }
}

/// A string, or any other value as it is written; `null` is nothing.
fn words(raw: Option<&RawValue>) -> Option<String> {
    let text = raw?.get();
    if text == "null" {
        return None;
    }
    let unquoted = serde_json::from_str::<Str<'_>>(text).map(Str::into_string);
    Some(unquoted.unwrap_or_else(|_| text.to_owned()))
}

fn told_by_object(text: &str) -> Option<ErrorDetails> {
    let error: ErrorObject<'_> = serde_json::from_str(text).ok()?;
    let behind = error
        .metadata
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    Some(ErrorDetails {
        message: behind::with_words(words(error.message).unwrap_or_default(), behind.as_ref()),
        kind: words(error.kind),
        code: words(error.code),
        param: words(error.param),
        ..ErrorDetails::default()
    })
}

fn told(body: &[u8]) -> ErrorDetails {
    let text = String::from_utf8_lossy(body);
    let mut text = text.trim();
    // Some servers put the one error into a list.
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text)
        && let Some(first) = list.first()
    {
        text = first.get();
    }
    if let Ok(message) = serde_json::from_str::<Str<'_>>(text) {
        return ErrorDetails::of_message(message.into_string());
    }
    let Ok(body) = serde_json::from_str::<ErrorBody<'_>>(text) else {
        return ErrorDetails::of_message(readable(text));
    };
    let mut told = match body.error {
        Some(error) => told_by_object(error.get())
            .unwrap_or_else(|| ErrorDetails::of_message(words(Some(error)).unwrap_or_default())),
        None => ErrorDetails::default(),
    };
    if told.message.is_empty() {
        told.message = words(body.message.or(body.detail)).unwrap_or_default();
    }
    if told.code.is_none() {
        told.code = words(body.code);
    }
    told
}

/// The text of a page without its tags.
fn readable(text: &str) -> String {
    if !text.starts_with('<') {
        return text.to_owned();
    }
    let mut plain = String::new();
    let mut within_tag = false;
    for c in text.chars().take(16 * 1024) {
        match c {
            '<' => within_tag = true,
            '>' => {
                within_tag = false;
                plain.push(' ');
            }
            c if !within_tag => plain.push(c),
            _ => {}
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kind that codes and words tell beyond the status.
fn told_class(told: &ErrorDetails) -> Option<FaultClass> {
    let names = [told.code.as_deref(), told.kind.as_deref()];
    let by_name = names.into_iter().flatten().find_map(|name| {
        Some(match name.to_ascii_lowercase().as_str() {
            "context_length_exceeded" | "string_above_max_length" => FaultClass::ContextTooLong,
            "insufficient_quota"
            | "billing_hard_limit_reached"
            | "payment_required"
            | "usage_not_included" => FaultClass::Payment,
            "rate_limit_exceeded" | "rate_limit_error" | "tokens" | "requests" => {
                FaultClass::RateLimit
            }
            "invalid_api_key" | "authentication_error" => FaultClass::Authentication,
            "permission_error" => FaultClass::Permission,
            "model_not_found" | "not_found_error" => FaultClass::NotFound,
            "server_is_overloaded" | "slow_down" | "overloaded_error" => FaultClass::Overloaded,
            "server_error" | "internal_error" | "api_error" => FaultClass::Server,
            "invalid_prompt" | "invalid_request_error" => FaultClass::BadRequest,
            "vector_store_timeout" | "timeout" => FaultClass::Timeout,
            name if name.contains("image") => FaultClass::BadRequest,
            _ => return None,
        })
    });
    let message = told.message.to_ascii_lowercase();
    let too_long = message.contains("maximum context length")
        || message.contains("context window")
        || message.contains("prompt is too long");
    match by_name {
        None | Some(FaultClass::BadRequest) if too_long => Some(FaultClass::ContextTooLong),
        class => class,
    }
}

fn fault(told: ErrorDetails, class: FaultClass, status: Option<u16>, otherwise: &str) -> Fault {
    let message = if told.message.is_empty() {
        otherwise.to_owned()
    } else {
        cut(told.message)
    };
    Fault {
        status,
        code: told.code.or(told.kind).map(cut),
        param: told.param.map(cut),
        ..Fault::new(class, message)
    }
}

/// Reads an error answer of any shape.
#[must_use]
pub fn decode_error(status: u16, body: &[u8], service: Service) -> Fault {
    let told = told(body);
    let by_status = FaultClass::of_status(status);
    let named = FaultClass::told(Some(status), told_class(&told));
    let class = match (status, named) {
        // A status that speaks for itself is not overruled by the words with it.
        (400 | 413 | 422, Some(FaultClass::ContextTooLong)) => FaultClass::ContextTooLong,
        (400, Some(class)) => class,
        (429, Some(FaultClass::Payment)) => FaultClass::Payment,
        (403, Some(FaultClass::Payment)) => FaultClass::Payment,
        (500.., Some(FaultClass::Overloaded)) => FaultClass::Overloaded,
        (200..=299, Some(class)) => class,
        _ => by_status,
    };
    let otherwise = format!("{} answered with status {status}", service.as_str());
    fault(told, class, Some(status), &otherwise)
}

/// Reads the `error` of a response object or of an `error` event.
pub(super) fn of_error_object(text: &str) -> Fault {
    of_told(told_by_object(text).unwrap_or_else(|| {
        let message = serde_json::from_str::<Str<'_>>(text).unwrap_or_default();
        ErrorDetails::of_message(message.into_string())
    }))
}

fn of_told(told: ErrorDetails) -> Fault {
    // Providers that write their status as the code, such as OpenRouter.
    let status = told.code.as_deref().and_then(|code| code.parse().ok());
    let class = FaultClass::told(status, told_class(&told)).unwrap_or(FaultClass::Server);
    fault(
        told,
        class,
        None,
        "the provider reported a failure without a reason",
    )
}

/// Reads an `error` event, whose members stand beside its own `type`.
pub(super) fn of_error_event(text: &str) -> Fault {
    let told = told_by_object(text).map(|told| ErrorDetails { kind: None, ..told });
    of_told(told.unwrap_or_default())
}

/// The body of `POST /v1/responses/input_tokens`.
#[must_use]
pub fn input_tokens(count: u64) -> Vec<u8> {
    let body = kept_object(|object| {
        object.set("object", "response.input_tokens");
        object.set("input_tokens", count);
    });
    body.as_str().as_bytes().to_vec()
}
