//! What the headers of an answer say of it, and of the caller's limits and money.

use std::fmt::Display;
use std::time::{SystemTime, UNIX_EPOCH};

use bardo_access::{Admission, Remaining};
use bardo_engine::{AnswerHead, Figures};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::PaymentMode;
use bardo_wire::headers as names;
use bardo_wire::receipt::Utc;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Below this callers are warned.
const LOW: MicroUsd = MicroUsd::new(1_000_000);

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn show(headers: &mut HeaderMap, name: &'static str, value: impl Display) {
    if let Ok(value) = HeaderValue::try_from(value.to_string()) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Writes what is known of an answer at its start.
pub(crate) fn describe(head: &AnswerHead, dialect: Dialect, headers: &mut HeaderMap) {
    headers.reserve(24);
    insert(headers, names::MODEL_REQUESTED, &head.model_requested);
    insert(headers, names::MODEL, &head.model);
    insert(headers, names::PROVIDER, &head.backend);
    if !head.degraded.is_empty() {
        insert(headers, names::DEGRADED, &head.degraded);
    }
    if !head.optimizations.is_empty() {
        insert(headers, names::OPTIMIZATIONS, &head.optimizations.join(","));
    }
    if let Some(id) = &head.upstream_request_id {
        insert(headers, names::UPSTREAM_REQUEST_ID, id);
    }
    insert(headers, names::CACHE, &head.cache);
    if let Some(estimate) = head.estimate {
        show(headers, names::COST_ESTIMATE, estimate);
    }
    if let Some(figures) = &head.figures {
        cost(figures, headers);
    }
    if let Some(funds) = head.funds {
        warn_of(funds, headers);
    }
    if let Some(admission) = &head.limits {
        limits(admission, dialect, headers);
    }
}

fn cost(figures: &Figures, headers: &mut HeaderMap) {
    match (figures.mode, figures.cost) {
        (PaymentMode::Direct, _) => insert(headers, names::COST, "direct"),
        (PaymentMode::Prepaid | PaymentMode::Owner, Some(cost)) => {
            show(headers, names::COST, cost);
            show(headers, names::COST_USD, cost);
        }
        (PaymentMode::Prepaid | PaymentMode::Owner, None) => {}
    }
    if let Some(savings) = figures.savings {
        show(headers, names::SAVINGS, savings);
    }
    if figures.mode == PaymentMode::Prepaid {
        show(headers, names::SPREAD, figures.spread);
    }
    if let Some(balance) = figures.balance {
        show(headers, names::BALANCE, balance);
    }
}

/// The names of the trailers.
pub(crate) const TRAILERS: &str =
    "x-bardo-cost, x-bardo-cost-usd, x-bardo-savings, x-bardo-spread, x-bardo-balance";

/// Whether the caller takes trailers.
pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let names = headers.get_all(http::header::TE).into_iter();
    names
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("trailers"))
}

/// The final figures of a stream.
pub(crate) fn trailers(figures: &Figures) -> HeaderMap {
    let mut headers = HeaderMap::new();
    cost(figures, &mut headers);
    headers
}

/// Says so where there is little money.
pub(crate) fn warn_of(funds: MicroUsd, headers: &mut HeaderMap) {
    if funds < LOW {
        show(headers, names::BALANCE_WARNING, funds);
    }
}

/// Writes what is left of the limits, as the caller's SDK reads it.
pub(crate) fn limits(admission: &Admission, dialect: Dialect, headers: &mut HeaderMap) {
    let rows = [
        (
            &admission.requests,
            names::RATE_REQUESTS,
            names::ANTHROPIC_RATE_REQUESTS,
        ),
        (
            &admission.tokens,
            names::RATE_TOKENS,
            names::ANTHROPIC_RATE_TOKENS,
        ),
    ];
    for (remaining, usual, anthropic) in rows {
        let Some(remaining) = remaining else {
            continue;
        };
        counts(remaining, usual, headers);
        show(headers, usual[2], Wait(remaining.reset_ms));
        if dialect == Dialect::Anthropic {
            counts(remaining, anthropic, headers);
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0));
            show(headers, anthropic[2], Utc(now + remaining.reset_ms));
        }
    }
    if let Some(allowance) = admission.allowance {
        show(headers, names::REMAINING_TOKENS, allowance);
    }
}

fn counts(remaining: &Remaining, [limit, left, _]: [&'static str; 3], headers: &mut HeaderMap) {
    show(headers, limit, remaining.limit);
    show(headers, left, remaining.remaining);
}

/// Milliseconds as OpenAI writes durations: `120ms`, `1.5s`, `6m0s`.
struct Wait(u64);

impl Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (minutes, rest) = (self.0 / 60_000, self.0 % 60_000);
        let (seconds, millis) = (rest / 1_000, rest % 1_000);
        match (minutes, millis) {
            (0, _) if rest < 1_000 => write!(f, "{millis}ms"),
            (0, 0) => write!(f, "{seconds}s"),
            (0, _) => write!(f, "{seconds}.{millis:03}s"),
            _ => write!(f, "{minutes}m{seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_written_as_sdks_read_them() {
        let check = |ms, expected: &str| assert_eq!(Wait(ms).to_string(), expected);
        check(0, "0ms");
        check(120, "120ms");
        check(1_000, "1s");
        check(1_500, "1.500s");
        check(360_000, "6m0s");
    }

    #[test]
    fn each_dialect_reads_its_own_limits() {
        let left = Some(Remaining {
            limit: 100,
            remaining: 99,
            reset_ms: 600,
        });
        let admission = Admission {
            requests: left,
            tokens: left,
            allowance: Some(7),
            reserved_tokens: 0,
        };
        let mut headers = HeaderMap::new();
        limits(&admission, Dialect::Chat, &mut headers);
        assert_eq!(headers["x-ratelimit-remaining-requests"], "99");
        assert_eq!(headers["x-ratelimit-reset-tokens"], "600ms");
        assert_eq!(headers["x-remaining-tokens"], "7");
        assert!(!headers.contains_key("anthropic-ratelimit-tokens-limit"));
        limits(&admission, Dialect::Anthropic, &mut headers);
        assert_eq!(headers["anthropic-ratelimit-tokens-limit"], "100");
        let reset = headers["anthropic-ratelimit-requests-reset"].to_str();
        assert!(reset.unwrap().ends_with('Z'));
    }

    #[test]
    fn little_money_is_told() {
        let told = |micro| {
            let mut headers = HeaderMap::new();
            warn_of(MicroUsd::new(micro), &mut headers);
            headers.get("x-bardo-balance-warning").cloned()
        };
        assert_eq!(told(1_000_000), None);
        assert_eq!(told(999_999).unwrap(), "0.999999");
    }
}
