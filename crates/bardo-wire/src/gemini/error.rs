use std::borrow::Cow;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Service;

use crate::json::{Count, Str, wire_object};
use crate::kit::messages::{self, malformed};

wire_object! {
    struct Wrapper<'a> {
        "error" => error: Option<GoogleError<'a>>,
        ..
    }

    struct GoogleError<'a> {
        "code" => code: Count,
        "message" => message: Option<Str<'a>>,
        "status" => status: Option<Str<'a>>,
        "details" => details: Option<Vec<GoogleDetail<'a>>>,
        ..
    }

    struct GoogleDetail<'a> {
        "reason" => reason: Option<Str<'a>>,
        "retryDelay" => retry_delay: Option<Str<'a>>,
        "fieldViolations" => field_violations: Option<Vec<Violation<'a>>>,
        ..
    }

    struct Violation<'a> {
        "field" => field: Option<Str<'a>>,
        ..
    }
}

/// Reads an error answer: an object, one in an array, plain text, HTML, or nothing.
#[must_use]
pub fn decode_error(status: u16, body: &[u8], _service: Service) -> Fault {
    let text = String::from_utf8_lossy(body);
    if let Some(error) = parse(&text) {
        return fault(&error, Some(status));
    }
    let text = text.trim();
    let words = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
    let message = if words.trim().is_empty() || words.starts_with('<') {
        format!("the provider answered with status {status}")
    } else {
        words
    };
    Fault::new(FaultClass::of_status(status), bounded(&message)).with_status(status)
}

/// The fault of a body that came with status 200 but is an error, or no answer at all.
pub(super) fn told_in_200(body: &[u8]) -> Fault {
    match parse(&String::from_utf8_lossy(body)) {
        Some(error) => fault(&error, None),
        None => malformed("the provider's answer is not a Gemini answer"),
    }
}

fn parse(text: &str) -> Option<GoogleError<'_>> {
    if text.trim_start().starts_with('[') {
        let list: Vec<Wrapper<'_>> = serde_json::from_str(text).ok()?;
        list.into_iter().find_map(|wrapper| wrapper.error)
    } else {
        serde_json::from_str::<Wrapper<'_>>(text).ok()?.error
    }
}

fn fault(error: &GoogleError<'_>, http_status: Option<u16>) -> Fault {
    let details = error.details.as_deref().unwrap_or_default();
    let message = error.message.as_deref().unwrap_or_default();
    let message = match message.trim() {
        "" => "the provider failed",
        _ => message,
    };
    let code = error
        .code
        .0
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..=599).contains(code));
    let status = http_status.or(code);
    let reason = details.iter().find_map(|detail| detail.reason.as_deref());
    let name = error.status.as_deref().unwrap_or_default();
    let class =
        FaultClass::told(status, classify(name, reason, message)).unwrap_or(FaultClass::Server);
    Fault {
        class,
        status,
        message: Cow::Owned(bounded(message)),
        code: match reason {
            Some(reason) if reason.starts_with("API_KEY") => Some(bounded(reason)),
            _ if name.is_empty() => None,
            _ => Some(bounded(name)),
        },
        own_code: None,
        param: details
            .iter()
            .flat_map(|detail| detail.field_violations.iter().flatten())
            .find_map(|violation| violation.field.as_deref())
            .filter(|field| !field.is_empty())
            .map(bounded),
        retry_after_ms: details
            .iter()
            .find_map(|detail| detail.retry_delay.as_deref())
            .and_then(millis)
            .or_else(|| retry_hint(message)),
    }
}

fn classify(status: &str, reason: Option<&str>, message: &str) -> Option<FaultClass> {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let bad_key = reason.is_some_and(|reason| reason.starts_with("API_KEY"))
        || says(&[
            "api key not valid",
            "api key not found",
            "api key expired",
            "api key was reported as leaked",
        ]);
    Some(match status {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "PERMISSION_DENIED" if bad_key => {
            FaultClass::Authentication
        }
        "INVALID_ARGUMENT" if says(&["exceeds the maximum number of tokens"]) => {
            FaultClass::ContextTooLong
        }
        "INVALID_ARGUMENT" if says(&["payload size exceeds"]) => FaultClass::TooLarge,
        // Another provider may serve what this one may not.
        "FAILED_PRECONDITION" if says(&["location is not supported"]) => FaultClass::Permission,
        "FAILED_PRECONDITION" if says(&["billing"]) => FaultClass::Payment,
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => FaultClass::BadRequest,
        // The caller named stored content that is not there, or that is another project's.
        "PERMISSION_DENIED" | "NOT_FOUND" if says(&["cachedcontent"]) => FaultClass::Unprocessable,
        "UNAUTHENTICATED" => FaultClass::Authentication,
        "PERMISSION_DENIED" => FaultClass::Permission,
        "NOT_FOUND" => FaultClass::NotFound,
        "ABORTED" | "ALREADY_EXISTS" => FaultClass::Conflict,
        "RESOURCE_EXHAUSTED" if says(&["credits are depleted"]) => FaultClass::Payment,
        "RESOURCE_EXHAUSTED" => FaultClass::RateLimit,
        "UNAVAILABLE" => FaultClass::Overloaded,
        "DEADLINE_EXCEEDED" => FaultClass::Timeout,
        "INTERNAL" | "UNKNOWN" | "DATA_LOSS" | "CANCELLED" | "UNIMPLEMENTED" => FaultClass::Server,
        _ if bad_key => FaultClass::Authentication,
        _ => return None,
    })
}

/// `30s`, `1.5s`, `34.074824224s`.
fn millis(delay: &str) -> Option<u64> {
    let seconds = delay.trim().strip_suffix('s')?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis = whole.parse::<u64>().ok()?.checked_mul(1000)?;
    // Digits below a millisecond still mean "later than that".
    let rest = u64::from(fraction.len() > 3 && fraction[3..].bytes().any(|byte| byte != b'0'));
    millis.checked_add(thousandths.parse::<u64>().ok()? + rest)
}

/// `Please retry in 34.07s.`
fn retry_hint(message: &str) -> Option<u64> {
    let (_, after) = message.split_once("retry in ")?;
    let end = after.find('s')?;
    millis(&after[..=end])
}

/// The text without API keys, cut to what a fault may quote.
pub(super) fn bounded(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    // Google's own messages quote the key (`Consumer 'api_key:AIza…' has been suspended`).
    while let Some(found) = rest.find("AIza") {
        clean.push_str(&rest[..found]);
        clean.push_str("[key]");
        let key = &rest[found..];
        let end = key
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
            .unwrap_or(key.len());
        rest = &key[end..];
    }
    clean.push_str(rest);
    messages::cut(clean)
}
