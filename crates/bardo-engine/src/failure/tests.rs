use bardo_types::model::Dialect;
use bardo_wire::table;

use super::*;

const NEVER: RetryDecision = RetryDecision::Never;
const OTHER: RetryDecision = RetryDecision::Other;
const UNKNOWN: RetryDecision = RetryDecision::Unknown;
const SAME: RetryDecision = RetryDecision::Same { after: None };

fn refused(service: Service, account: bool, status: u16, page: bool, body: &str) -> Failure {
    let mut fault = table::decode_error(Dialect::Chat, status, body.as_bytes(), service);
    fault.status = Some(status);
    Failure::refused(
        fault,
        ProviderRefusal {
            status,
            page,
            service,
            account,
        },
    )
}

/// A plain error of this status and kind, as OpenAI writes it.
fn plain(status: u16, code: &str) -> RetryDecision {
    let body = format!(r#"{{"error":{{"message":"no","type":"x","param":null,"code":"{code}"}}}}"#);
    refused(Service::OpenAi, true, status, false, &body).retry
}

#[test]
fn every_status_in_a_providers_own_words() {
    let rows = [
        (400, "invalid_json", NEVER, Attribution::Nobody),
        (400, "context_length_exceeded", NEVER, Attribution::Nobody),
        (401, "invalid_api_key", OTHER, Attribution::Nobody),
        (402, "x", OTHER, Attribution::Nobody),
        (403, "x", OTHER, Attribution::Nobody),
        (404, "model_not_found", OTHER, Attribution::Nobody),
        (408, "x", OTHER, Attribution::Backend),
        (409, "x", NEVER, Attribution::Nobody),
        (413, "x", NEVER, Attribution::Nobody),
        (422, "x", NEVER, Attribution::Nobody),
        (425, "x", SAME, Attribution::Backend),
        (429, "rate_limit_exceeded", SAME, Attribution::Nobody),
        (429, "insufficient_quota", OTHER, Attribution::Nobody),
        (500, "x", OTHER, Attribution::Backend),
        (501, "x", OTHER, Attribution::Backend),
        (502, "x", OTHER, Attribution::Backend),
        (503, "slow_down", SAME, Attribution::Backend),
        (504, "x", OTHER, Attribution::Backend),
        (520, "x", OTHER, Attribution::Backend),
        (524, "x", OTHER, Attribution::Backend),
        (529, "x", SAME, Attribution::Backend),
    ];
    for (status, code, next, whose) in rows {
        assert_eq!(plain(status, code), next, "{status} {code}");
        let body = format!(r#"{{"error":{{"message":"no","type":"x","code":"{code}"}}}}"#);
        let failure = refused(Service::OpenAi, true, status, false, &body);
        assert_eq!(failure.blame(Service::OpenAi), whose, "{status} {code}");
    }
}

/// A refusal in the words of any dialect, its kind told in every place that the dialect has.
fn refusals(dialect: Dialect, status: u16, kind: &str) -> Vec<Failure> {
    let bodies = match dialect {
        Dialect::Gemini => vec![
            serde_json::json!({ "error": { "code": status, "message": "no", "status": kind } }),
        ],
        _ => vec![
            serde_json::json!({ "error": { "message": "no", "type": kind } }),
            serde_json::json!({ "error": { "message": "no", "code": kind } }),
            serde_json::json!({ "type": "error", "error": { "message": "no", "type": kind } }),
            serde_json::json!({ "error": { "message": "no", "code": status, "metadata": { "error_type": kind } } }),
            serde_json::json!({ "error": "no", "code": kind }),
        ],
    };
    let refused = |body: serde_json::Value| {
        let body = body.to_string();
        let mut fault = table::decode_error(dialect, status, body.as_bytes(), Service::OpenAi);
        fault.status = Some(status);
        let refusal = ProviderRefusal {
            status,
            page: false,
            service: Service::OpenAi,
            account: true,
        };
        Failure::refused(fault, refusal)
    };
    bodies.into_iter().map(refused).collect()
}

#[test]
fn what_a_refusal_is_called_never_makes_it_a_failure_of_the_provider() {
    let dialects = [
        Dialect::Chat,
        Dialect::Completions,
        Dialect::Responses,
        Dialect::Anthropic,
        Dialect::Gemini,
    ];
    let kinds = [
        "api_error",
        "server_error",
        "internal_error",
        "internal",
        "INTERNAL",
        "INTERNAL_ERROR",
        "UNKNOWN",
        "overloaded_error",
        "UNAVAILABLE",
        "timeout",
        "timeout_error",
        "DEADLINE_EXCEEDED",
        "inference_failed",
    ];
    for dialect in dialects {
        for kind in kinds {
            for status in [400, 401, 402, 403, 404, 409, 413, 415, 422, 431, 451] {
                let plain = FaultClass::of_status(status);
                for failure in refusals(dialect, status, kind) {
                    let what = format!("{dialect:?} {status} {kind}");
                    assert_eq!(failure.fault.class, plain, "{what}");
                    assert_eq!(
                        failure.blame(Service::OpenAi),
                        Attribution::Nobody,
                        "{what}"
                    );
                    if matches!(status, 400 | 409 | 413 | 415 | 422 | 431 | 451) {
                        assert_eq!(failure.retry, NEVER, "{what}: asked elsewhere");
                    }
                }
            }
        }
        for kind in [
            "invalid_request_error",
            "INVALID_ARGUMENT",
            "rate_limit_error",
        ] {
            for status in [500, 502, 503, 504, 529] {
                let plain = FaultClass::of_status(status);
                for failure in refusals(dialect, status, kind) {
                    assert_eq!(failure.fault.class, plain, "{dialect:?} {status} {kind}");
                }
            }
        }
    }
}

#[test]
fn a_named_time_travels_with_the_verdict() {
    for status in [429, 503, 529] {
        let class = FaultClass::of_status(status);
        let mut fault = Fault::new(class, "later").with_status(status);
        fault.retry_after_ms = Some(1_500);
        let refusal = ProviderRefusal {
            status,
            page: false,
            service: Service::OpenAi,
            account: true,
        };
        let after = Some(Duration::from_millis(1_500));
        assert_eq!(
            Failure::refused(fault, refusal).retry,
            RetryDecision::Same { after }
        );
    }
}

/// Pages come from something in front of the provider.
#[test]
fn pages_of_proxies() {
    let page = "<!DOCTYPE html><title>Cloudflare</title>";
    let rows = [
        (403, OTHER),
        (429, SAME),
        (500, OTHER),
        (502, OTHER),
        (503, SAME),
        (504, UNKNOWN),
        (520, OTHER),
        (521, OTHER),
        (522, OTHER),
        (523, OTHER),
        (524, UNKNOWN),
        (525, OTHER),
        (526, OTHER),
        (530, OTHER),
    ];
    for (status, next) in rows {
        let failure = refused(Service::OpenAi, true, status, true, page);
        assert_eq!(failure.retry, next, "{status}");
    }
}

#[test]
fn blockruns_account_may_be_billed_for_server_errors() {
    for (status, next) in [
        (429, SAME),
        (500, UNKNOWN),
        (502, UNKNOWN),
        (503, SAME),
        (504, UNKNOWN),
    ] {
        let failure = refused(Service::BlockRun, true, status, false, "{}");
        assert_eq!(failure.retry, next, "{status}");
        let paid_by_call = refused(Service::BlockRun, false, status, false, "{}");
        assert_ne!(paid_by_call.retry, UNKNOWN, "{status}");
    }
}

#[test]
fn words_inside_a_success() {
    let rows = [
        (FaultClass::BadRequest, NEVER),
        (FaultClass::RateLimit, OTHER),
        (FaultClass::Server, OTHER),
        (FaultClass::Overloaded, OTHER),
        (FaultClass::Timeout, OTHER),
        (FaultClass::Connection, UNKNOWN),
        (FaultClass::Malformed, UNKNOWN),
    ];
    for (class, next) in rows {
        assert_eq!(
            Failure::reported(Fault::new(class, "no")).retry,
            next,
            "{class:?}"
        );
    }
}

#[test]
fn connections_that_do_not_come_about() {
    let io = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let rows = [
        (ConnectError::Resolve(io()), OTHER),
        (ConnectError::Private, OTHER),
        (ConnectError::Tls(io()), OTHER),
        (ConnectError::Tcp(io()), SAME),
        (ConnectError::Timeout(Duration::from_secs(2)), SAME),
        (ConnectError::Closed, SAME),
    ];
    for (error, next) in rows {
        let failure = Failure::unsent(&error, None);
        assert_eq!(failure.retry, next, "{error}");
        let whose = failure.blame(Service::OpenAi);
        assert_eq!(whose, Attribution::Unreachable, "{error}");
    }
}

#[test]
fn silence_and_cuts_leave_the_outcome_open() {
    for (class, whose) in [
        (FaultClass::Timeout, Attribution::Silent),
        (FaultClass::Connection, Attribution::Backend),
    ] {
        let failure = Failure::unknown(class, "nothing came");
        assert_eq!(failure.retry, UNKNOWN);
        assert_eq!(failure.blame(Service::OpenAi), whose);
    }
}

#[test]
fn a_demand_that_nobody_meets_is_not_the_backends_fault() {
    let body = r#"{"error":{"code":503,"message":"No provider meets the routing requirement"}}"#;
    let failure = refused(Service::OpenRouter, true, 503, false, body);
    assert_eq!(failure.blame(Service::OpenRouter), Attribution::Nobody);
    assert_eq!(failure.blame(Service::Venice), Attribution::Backend);
}
