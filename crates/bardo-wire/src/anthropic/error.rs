//! Failures, from providers and for callers.

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;
use serde_json::value::RawValue;

use crate::behind;
use crate::codec::ErrorView;
use crate::json::{Members, object};
use crate::kit::error_details::ErrorDetails;
use crate::kit::messages::{MESSAGE_LIMIT, bounded};

/// Writes an error body for a caller.
#[must_use]
pub fn encode_error(view: &ErrorView<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_error(
        &mut out,
        view.fault,
        Some(view.bardo_code),
        Some(view.request_id),
    );
    out
}

/// Writes the error event that ends a stream for a caller.
#[must_use]
pub fn encode_stream_error(view: &ErrorView<'_>) -> Vec<u8> {
    let mut out = b"event: error\ndata: ".to_vec();
    out.extend_from_slice(&encode_error(view));
    out.extend_from_slice(b"\n\n");
    out
}

/// Writes the error object that bodies and error events share.
pub(super) fn write_error(
    out: &mut Vec<u8>,
    fault: &Fault,
    bardo_code: Option<&str>,
    request_id: Option<&str>,
) {
    object(out, |body| {
        body.set("type", "error");
        body.nest("error", |error| {
            error.set("type", type_name(fault.class));
            error.set("message", shown_message(fault));
            if fault.code.is_none() && fault.param.is_none() {
                error.raw("details", "null");
            } else {
                error.nest("details", |details| {
                    details.set_some("error_code", fault.code.as_ref());
                    details.set_some("param", fault.param.as_ref());
                });
            }
            error.set_some("bardo_code", bardo_code);
        });
        body.set_some("request_id", request_id);
    });
}

/// Clients of this dialect know an overlong prompt by these words alone.
fn shown_message(fault: &Fault) -> String {
    const WORDS: &str = "prompt is too long";
    if fault.class == FaultClass::ContextTooLong && !fault.message.contains(WORDS) {
        format!("{WORDS}: {}", fault.message)
    } else {
        fault.message.clone().into_owned()
    }
}

/// Anthropic's `error.type` for a kind of failure.
const fn type_name(class: FaultClass) -> &'static str {
    match class {
        FaultClass::BadRequest | FaultClass::ContextTooLong | FaultClass::Unprocessable => {
            "invalid_request_error"
        }
        FaultClass::Authentication => "authentication_error",
        FaultClass::Payment => "billing_error",
        FaultClass::Permission => "permission_error",
        FaultClass::NotFound => "not_found_error",
        FaultClass::Conflict => "conflict_error",
        FaultClass::TooLarge => "request_too_large",
        FaultClass::RateLimit => "rate_limit_error",
        FaultClass::Server | FaultClass::Connection | FaultClass::Malformed => "api_error",
        FaultClass::Overloaded => "overloaded_error",
        FaultClass::Timeout => "timeout_error",
    }
}

fn class_of_type(name: &str) -> Option<FaultClass> {
    Some(match name {
        "invalid_request_error" => FaultClass::BadRequest,
        "authentication_error" => FaultClass::Authentication,
        "billing_error" => FaultClass::Payment,
        "permission_error" => FaultClass::Permission,
        "not_found_error" => FaultClass::NotFound,
        "conflict_error" => FaultClass::Conflict,
        "request_too_large" => FaultClass::TooLarge,
        "rate_limit_error" => FaultClass::RateLimit,
        "api_error" => FaultClass::Server,
        "overloaded_error" => FaultClass::Overloaded,
        "timeout_error" => FaultClass::Timeout,
        _ => return None,
    })
}

/// Reads a provider's error body, whatever it is made of.
#[must_use]
pub fn decode_error(status: u16, body: &[u8], _service: Service) -> Fault {
    read(status, body)
}

fn read(status: u16, body: &[u8]) -> Fault {
    let told = std::str::from_utf8(body)
        .ok()
        .and_then(|text| told_by_json(text.trim()))
        .unwrap_or_else(|| ErrorDetails::of_message(plain_message(status, body)));
    fault_of(told, (status != 200).then_some(status))
}

/// The failure that an `error` event, or an error member of a whole answer, tells of.
pub(super) fn fault_in_stream(data: &[u8]) -> Fault {
    read(200, data)
}

fn string(members: &Members<'_>, name: &str) -> Option<String> {
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn members<'a>(raw: &'a RawValue) -> Option<Members<'a>> {
    serde_json::from_str(raw.get()).ok()
}

fn told_by_json(text: &str) -> Option<ErrorDetails> {
    if let Ok(message) = serde_json::from_str::<String>(text) {
        return (!message.is_empty()).then(|| ErrorDetails::of_message(message));
    }
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return told_by_json(list.first()?.get());
    }
    let body: Members<'_> = serde_json::from_str(text).ok()?;
    let error = match body.get("error") {
        Some(raw) => match members(raw) {
            Some(error) => error,
            None => return told_by_json(raw.get()),
        },
        None => body,
    };
    let details = error.get("details").and_then(members).unwrap_or_default();
    let metadata = error.get("metadata").and_then(members).unwrap_or_default();
    let behind = error
        .get("metadata")
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    Some(ErrorDetails {
        kind: string(&error, "type"),
        code: string(&details, "error_code")
            .or_else(|| string(&metadata, "error_type"))
            .or_else(|| string(&error, "code")),
        param: string(&error, "param").or_else(|| string(&details, "param")),
        status: error
            .get("code")
            .and_then(|raw| serde_json::from_str(raw.get()).ok()),
        message: string(&error, "message")
            .or_else(|| string(&error, "detail"))
            .or_else(|| string(&error, "error_description"))
            .filter(|message| !message.is_empty())
            .map(|message| behind::with_words(message, behind.as_ref()))
            .unwrap_or_else(|| "the provider gave no reason".to_owned()),
        retry_after_ms: None,
    })
}

/// A message for a body that is not JSON: a page of HTML helps nobody, plain words may.
fn plain_message(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MESSAGE_LIMIT)]);
    let text = text.trim();
    if text.is_empty() {
        format!("the provider answered with status {status} and no body")
    } else if text.starts_with('<') {
        format!("the provider answered with status {status} and a web page instead of JSON")
    } else {
        text.to_owned()
    }
}

fn fault_of(told: ErrorDetails, status: Option<u16>) -> Fault {
    let status_told = status.or(told.status);
    let by_status = status_told.map(FaultClass::of_status);
    let by_type = told.kind.as_deref().and_then(class_of_type);
    // The type is finer where the status says only that the request was bad or the server failed.
    let class = match by_status {
        Some(FaultClass::BadRequest | FaultClass::Server) | None => {
            FaultClass::told(status_told, by_type).unwrap_or(FaultClass::Server)
        }
        Some(class) => class,
    };
    let class = refined(class, &told);
    let mut fault = Fault::new(class, bounded(told.message));
    fault.status = status;
    fault.code = told.code.or(told.kind);
    fault.param = told.param;
    fault
}

/// Failures that Anthropic tells apart in words only.
fn refined(class: FaultClass, told: &ErrorDetails) -> FaultClass {
    let code = told.code.as_deref().unwrap_or_default();
    let message = told.message.to_ascii_lowercase();
    let any = |needles: &[&str]| needles.iter().any(|needle| message.contains(needle));
    match class {
        FaultClass::BadRequest | FaultClass::TooLarge | FaultClass::Unprocessable
            if code == "context_length_exceeded"
                || any(&[
                    "prompt is too long",
                    "exceed context limit",
                    "context window",
                    "maximum context length",
                ]) =>
        {
            FaultClass::ContextTooLong
        }
        FaultClass::BadRequest if any(&["credit balance is too low"]) => FaultClass::Payment,
        FaultClass::RateLimit if code == "enforced_spend_limit_reached" => FaultClass::Payment,
        other => other,
    }
}

/// Whether a refusal says that signed thinking does not fit the conversation it was sent in.
///
/// Such a request succeeds once all thinking is taken out, and never as it is.
#[must_use]
pub fn is_binding_error(status: u16, body: &[u8]) -> bool {
    if status != 400 {
        return false;
    }
    let fault = read(status, body);
    let message = fault.message.to_ascii_lowercase();
    message.contains("bound to a different conversation")
        || (message.contains("thinking")
            && ["invalid `signature`", "invalid signature", "invalid `data`"]
                .iter()
                .any(|words| message.contains(words)))
}
