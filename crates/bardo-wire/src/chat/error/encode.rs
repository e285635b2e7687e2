//! Failures as callers of this dialect expect them.

use bardo_types::fault::{Fault, FaultClass};

use crate::codec::ErrorView;
use crate::json::Object;

/// The whole body of an error answer.
#[must_use]
pub fn encode_error(view: &ErrorView<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write_error(view, &mut out);
    out
}

/// The event that ends a stream that failed; nothing may follow it.
#[must_use]
pub fn encode_stream_error(view: &ErrorView<'_>) -> Vec<u8> {
    let mut out = b"data: ".to_vec();
    write_error(view, &mut out);
    out.extend_from_slice(b"\n\n");
    out
}

fn write_error(view: &ErrorView<'_>, out: &mut Vec<u8>) {
    let (kind, code) = kind_and_code(view.fault, view.status);
    let mut body = Object::new(out);
    body.object("error")
        .set("message", &view.fault.message)
        .set("type", kind)
        .set("param", &view.fault.param)
        .set("code", code)
        .set("bardo_code", view.bardo_code);
}

fn kind_and_code(fault: &Fault, status: u16) -> (&'static str, Option<&str>) {
    // A provider's refusal of our own key, or its empty account, is no fault of the caller's.
    if status >= 500 {
        let code = match fault.class {
            FaultClass::Timeout => "timeout",
            FaultClass::Overloaded => "overloaded",
            _ => "server_error",
        };
        return ("server_error", Some(code));
    }
    let request = "invalid_request_error";
    // Where a provider tells a type and no code, the type is no code here either.
    let told = fault.code.as_deref().filter(|code| *code != request);
    match fault.class {
        FaultClass::ContextTooLong => (request, Some("context_length_exceeded")),
        FaultClass::Authentication => (request, Some("invalid_api_key")),
        FaultClass::Payment => ("insufficient_quota", Some("insufficient_quota")),
        FaultClass::Permission => (request, told.or(Some("permission_denied"))),
        FaultClass::NotFound => (request, told.or(Some("model_not_found"))),
        FaultClass::Conflict => (request, told.or(Some("conflict"))),
        FaultClass::TooLarge => (request, Some("request_too_large")),
        FaultClass::BadRequest => (request, told),
        FaultClass::Unprocessable => (request, told),
        FaultClass::RateLimit => ("rate_limit_error", Some("rate_limit_exceeded")),
        FaultClass::Server
        | FaultClass::Overloaded
        | FaultClass::Timeout
        | FaultClass::Connection
        | FaultClass::Malformed => ("server_error", Some("server_error")),
    }
}
