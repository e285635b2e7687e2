//! What the headers of an answer say of it, and of the caller's limits and money.

use std::fmt::{Display, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use bardo_access::Admission;
use bardo_engine::{AnswerHead, Figures};
use bardo_types::calendar::rfc3339;
use bardo_types::ids::RequestId;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::PaymentMode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Below this callers are warned.
const LOW: MicroUsd = MicroUsd::new(1_000_000);

/// The names of `bardo_wire::headers`, checked and sorted out when this is compiled and not for
/// every answer.
mod named {
    use bardo_wire::headers as names;
    use http::header::HeaderName;

    const fn three(texts: [&'static str; 3]) -> [HeaderName; 3] {
        [
            HeaderName::from_static(texts[0]),
            HeaderName::from_static(texts[1]),
            HeaderName::from_static(texts[2]),
        ]
    }

    pub(super) const MODEL_REQUESTED: HeaderName = HeaderName::from_static(names::MODEL_REQUESTED);
    pub(super) const MODEL: HeaderName = HeaderName::from_static(names::MODEL);
    pub(super) const PROVIDER: HeaderName = HeaderName::from_static(names::PROVIDER);
    pub(super) const DEGRADED: HeaderName = HeaderName::from_static(names::DEGRADED);
    pub(super) const WARNINGS: HeaderName = HeaderName::from_static(names::WARNINGS);
    pub(super) const VERIFICATION: HeaderName = HeaderName::from_static(names::VERIFICATION);
    pub(super) const TEE: HeaderName = HeaderName::from_static(names::TEE);
    pub(super) const OPTIMIZATIONS: HeaderName = HeaderName::from_static(names::OPTIMIZATIONS);
    pub(super) const UPSTREAM_REQUEST_ID: HeaderName =
        HeaderName::from_static(names::UPSTREAM_REQUEST_ID);
    pub(super) const CACHE: HeaderName = HeaderName::from_static(names::CACHE);
    pub(super) const CACHE_AGE: HeaderName = HeaderName::from_static(names::CACHE_AGE);
    pub(super) const CACHE_SIMILARITY: HeaderName =
        HeaderName::from_static(names::CACHE_SIMILARITY);
    pub(super) const CACHE_REASON: HeaderName = HeaderName::from_static(names::CACHE_REASON);
    pub(super) const COST_ESTIMATE: HeaderName = HeaderName::from_static(names::COST_ESTIMATE);
    pub(super) const HOLD: HeaderName = HeaderName::from_static(names::HOLD);
    pub(super) const COST: HeaderName = HeaderName::from_static(names::COST);
    pub(super) const COST_USD: HeaderName = HeaderName::from_static(names::COST_USD);
    pub(super) const BILLED: HeaderName = HeaderName::from_static(names::BILLED);
    pub(super) const PRICE: HeaderName = HeaderName::from_static(names::PRICE);
    pub(super) const SAVINGS: HeaderName = HeaderName::from_static(names::SAVINGS);
    pub(super) const SPREAD: HeaderName = HeaderName::from_static(names::SPREAD);
    pub(super) const BALANCE: HeaderName = HeaderName::from_static(names::BALANCE);
    pub(super) const BALANCE_WARNING: HeaderName = HeaderName::from_static(names::BALANCE_WARNING);
    pub(super) const REMAINING_TOKENS: HeaderName =
        HeaderName::from_static(names::REMAINING_TOKENS);
    pub(super) const RATE_REQUESTS: [HeaderName; 3] = three(names::RATE_REQUESTS);
    pub(super) const RATE_TOKENS: [HeaderName; 3] = three(names::RATE_TOKENS);
    pub(super) const ANTHROPIC_RATE_REQUESTS: [HeaderName; 3] =
        three(names::ANTHROPIC_RATE_REQUESTS);
    pub(super) const ANTHROPIC_RATE_TOKENS: [HeaderName; 3] = three(names::ANTHROPIC_RATE_TOKENS);
    pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static(names::X_REQUEST_ID);
    pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static(names::REQUEST_ID);
    pub(super) const BARDO_REQUEST_ID: HeaderName =
        HeaderName::from_static(names::BARDO_REQUEST_ID);
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Writes an amount in decimal USD.
fn amount(headers: &mut HeaderMap, name: HeaderName, amount: MicroUsd) {
    if let Ok(value) = HeaderValue::from_bytes(amount.text().as_bytes()) {
        headers.insert(name, value);
    }
}

/// Writes a time or another figure; none has more than [`HeaderFigure::ROOM`] bytes.
fn show(headers: &mut HeaderMap, name: HeaderName, value: impl Display) {
    let mut figure = HeaderFigure::default();
    if write!(figure, "{value}").is_ok()
        && let Ok(value) = HeaderValue::from_bytes(&figure.text[..figure.len])
    {
        headers.insert(name, value);
    }
}

/// A short text on the stack.
#[derive(Default)]
struct HeaderFigure {
    text: [u8; Self::ROOM],
    len: usize,
}

impl HeaderFigure {
    const ROOM: usize = 32;
}

impl std::fmt::Write for HeaderFigure {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let room = self.text.get_mut(self.len..self.len + part.len());
        room.ok_or(std::fmt::Error)?
            .copy_from_slice(part.as_bytes());
        self.len += part.len();
        Ok(())
    }
}

/// Writes the ids of a request: as each dialect's SDKs read them, and the gateway's own.
pub(crate) fn identify(request_id: &str, own: &RequestId, headers: &mut HeaderMap) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(named::X_REQUEST_ID, id.clone());
        headers.insert(named::REQUEST_ID, id);
    }
    insert(headers, named::BARDO_REQUEST_ID, own.as_str());
}

/// Writes what is known of an answer at its start.
pub(crate) fn describe(head: &AnswerHead, dialect: Dialect, headers: &mut HeaderMap) {
    headers.reserve(24);
    insert(headers, named::MODEL_REQUESTED, &head.model_requested);
    insert(headers, named::MODEL, &head.model);
    insert(headers, named::PROVIDER, &head.backend);
    if !head.degraded.is_empty() {
        insert(headers, named::DEGRADED, &head.degraded);
    }
    if !head.warnings.is_empty() {
        insert(headers, named::WARNINGS, &head.warnings);
    }
    if !head.verification.is_empty() {
        insert(headers, named::VERIFICATION, &head.verification);
    }
    if let Some(evidence) = head.tee {
        insert(headers, named::TEE, evidence.as_str());
    }
    if !head.optimizations.is_empty() {
        insert(headers, named::OPTIMIZATIONS, &head.optimizations.join(","));
    }
    if let Some(id) = &head.upstream_request_id {
        insert(headers, named::UPSTREAM_REQUEST_ID, id);
    }
    insert(headers, named::CACHE, &head.cache);
    if let Some(age) = head.cache_age {
        headers.insert(named::CACHE_AGE, age.as_secs().into());
    }
    if let Some(similarity) = head.cache_similarity {
        let (whole, rest) = (similarity / 1_000, similarity % 1_000);
        let decimal = format_args!("{whole}.{rest:03}");
        show(headers, named::CACHE_SIMILARITY, decimal);
    }
    if let Some(reason) = &head.cache_reason {
        insert(headers, named::CACHE_REASON, reason);
    }
    if let Some(estimate) = head.estimate {
        amount(headers, named::COST_ESTIMATE, estimate);
    }
    if let Some(hold) = head.hold {
        amount(headers, named::HOLD, hold);
    }
    if head.unbilled {
        headers.insert(named::BILLED, HeaderValue::from_static("no"));
    }
    if head.unpriced {
        headers.insert(named::PRICE, HeaderValue::from_static("unknown"));
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
    if let Some(cost) = figures.cost
        && let Ok(value) = HeaderValue::from_bytes(cost.text().as_bytes())
    {
        headers.insert(named::COST, value.clone());
        headers.insert(named::COST_USD, value);
    }
    if let Some(savings) = figures.savings {
        show(headers, named::SAVINGS, savings);
    }
    if figures.mode == PaymentMode::Prepaid {
        amount(headers, named::SPREAD, figures.spread);
    }
    if let Some(balance) = figures.balance {
        amount(headers, named::BALANCE, balance);
    }
}

/// The names of the trailers.
pub(crate) const TRAILERS: &str =
    "x-bardo-cost, x-bardo-cost-usd, x-bardo-savings, x-bardo-spread, x-bardo-balance";

/// The names of the trailers of an answer whose head was sent before anything was known of it.
pub(crate) const LATE_TRAILERS: &str = "x-bardo-cost, x-bardo-cost-usd, x-bardo-savings, \
    x-bardo-spread, x-bardo-balance, x-bardo-model-requested, x-bardo-model, x-bardo-provider, \
    x-bardo-degraded, x-bardo-warnings, x-bardo-verification, x-bardo-tee, x-bardo-optimizations, \
    x-bardo-upstream-request-id, x-bardo-cache, x-bardo-cache-age, x-bardo-cache-similarity, \
    x-bardo-cache-reason, x-bardo-cost-estimate, x-bardo-hold, \
    x-bardo-billed, x-bardo-price, x-bardo-balance-warning";

/// Whether the caller takes trailers.
pub(crate) fn takes_trailers(headers: &HeaderMap) -> bool {
    let names = headers.get_all(http::header::TE).into_iter();
    names
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("trailers"))
}

/// Writes the final figures of a stream.
pub(crate) fn trailers(figures: &Figures, headers: &mut HeaderMap) {
    cost(figures, headers);
}

/// Says so where there is little money.
pub(crate) fn warn_of(funds: MicroUsd, headers: &mut HeaderMap) {
    if funds < LOW {
        amount(headers, named::BALANCE_WARNING, funds);
    }
}

/// Writes what is left of the limits, as the caller's SDK reads it.
pub(crate) fn limits(admission: &Admission, dialect: Dialect, headers: &mut HeaderMap) {
    let rows = [
        (
            &admission.requests,
            named::RATE_REQUESTS,
            named::ANTHROPIC_RATE_REQUESTS,
        ),
        (
            &admission.tokens,
            named::RATE_TOKENS,
            named::ANTHROPIC_RATE_TOKENS,
        ),
    ];
    for (remaining, [limit, left, reset], anthropic) in rows {
        let Some(remaining) = remaining else {
            continue;
        };
        headers.insert(limit, remaining.limit.into());
        headers.insert(left, remaining.remaining.into());
        show(headers, reset, Wait(remaining.reset_ms));
        if dialect == Dialect::Anthropic {
            let [limit, left, reset] = anthropic;
            headers.insert(limit, remaining.limit.into());
            headers.insert(left, remaining.remaining.into());
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0));
            show(headers, reset, rfc3339(now + remaining.reset_ms));
        }
    }
    if let Some(allowance) = admission.allowance {
        headers.insert(named::REMAINING_TOKENS, allowance.into());
    }
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
    use bardo_access::Remaining;

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
