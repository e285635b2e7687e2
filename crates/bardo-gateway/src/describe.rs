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
use bytes::BytesMut;
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

/// Writes headers whose values lie in one buffer: an answer has twenty, most of them short.
///
/// Nothing here is inlined. `HeaderMap::insert` is half a kilobyte of code, which each of these headers
/// would have to load for itself.
struct HeaderWriter<'a> {
    headers: &'a mut HeaderMap,
    text: BytesMut,
}

impl<'a> HeaderWriter<'a> {
    /// `room`: what the values usually take, in bytes.
    fn new(headers: &'a mut HeaderMap, room: usize) -> Self {
        let text = BytesMut::with_capacity(room);
        Self { headers, text }
    }

    /// Names the value that was written since the last one. What no header may have is left out.
    #[inline(never)]
    fn end(&mut self, name: HeaderName) {
        if let Ok(value) = HeaderValue::from_maybe_shared(self.text.split().freeze()) {
            set(self.headers, name, value);
        }
    }

    #[inline(never)]
    fn insert(&mut self, name: HeaderName, value: &str) {
        self.text.extend_from_slice(value.as_bytes());
        self.end(name);
    }

    /// Writes an amount in decimal USD.
    #[inline(never)]
    fn amount(&mut self, name: HeaderName, amount: MicroUsd) {
        self.text.extend_from_slice(amount.text().as_bytes());
        self.end(name);
    }

    /// Writes a time or another figure.
    #[inline(never)]
    fn show(&mut self, name: HeaderName, value: impl Display) {
        if write!(self.text, "{value}").is_ok() {
            self.end(name);
        }
    }
}

/// As [`HeaderMap::insert`], whose code is there once.
#[inline(never)]
pub(crate) fn set(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    headers.insert(name, value);
}

/// Writes the ids of a request: as each dialect's SDKs read them, and the gateway's own.
pub(crate) fn identify(request_id: &str, own: &RequestId, headers: &mut HeaderMap) {
    let mut id = HeaderValue::from_str(own.as_str());
    if let Ok(own) = &id {
        set(headers, named::BARDO_REQUEST_ID, own.clone());
    }
    if request_id != own.as_str() {
        id = HeaderValue::from_str(request_id);
    }
    if let Ok(id) = id {
        set(headers, named::X_REQUEST_ID, id.clone());
        set(headers, named::REQUEST_ID, id);
    }
}

/// Writes what is known of an answer at its start.
pub(crate) fn describe(head: &AnswerHead, dialect: Dialect, headers: &mut HeaderMap) {
    let mut values = HeaderWriter::new(headers, 704);
    values.insert(named::MODEL_REQUESTED, &head.model_requested);
    values.insert(named::MODEL, &head.model);
    values.insert(named::PROVIDER, &head.backend);
    if !head.degraded.is_empty() {
        values.insert(named::DEGRADED, &head.degraded);
    }
    if !head.warnings.is_empty() {
        values.insert(named::WARNINGS, &head.warnings);
    }
    if !head.verification.is_empty() {
        values.insert(named::VERIFICATION, &head.verification);
    }
    if let Some(evidence) = head.tee {
        values.insert(named::TEE, evidence.as_str());
    }
    if !head.optimizations.is_empty() {
        values.insert(named::OPTIMIZATIONS, &head.optimizations.join(","));
    }
    if let Some(id) = &head.upstream_request_id {
        values.insert(named::UPSTREAM_REQUEST_ID, id);
    }
    values.insert(named::CACHE, &head.cache);
    if let Some(age) = head.cache_age {
        values.show(named::CACHE_AGE, age.as_secs());
    }
    if let Some(similarity) = head.cache_similarity {
        let (whole, rest) = (similarity / 1_000, similarity % 1_000);
        let decimal = format_args!("{whole}.{rest:03}");
        values.show(named::CACHE_SIMILARITY, decimal);
    }
    if let Some(reason) = &head.cache_reason {
        values.insert(named::CACHE_REASON, reason);
    }
    if let Some(estimate) = head.estimate {
        values.amount(named::COST_ESTIMATE, estimate);
    }
    if let Some(hold) = head.hold {
        values.amount(named::HOLD, hold);
    }
    if head.unbilled {
        values
            .headers
            .insert(named::BILLED, HeaderValue::from_static("no"));
    }
    if head.unpriced {
        values
            .headers
            .insert(named::PRICE, HeaderValue::from_static("unknown"));
    }
    if let Some(figures) = &head.figures {
        cost(figures, &mut values);
    }
    if let Some(funds) = head.funds {
        low(funds, &mut values);
    }
    if let Some(admission) = &head.limits {
        left_of(admission, dialect, &mut values);
    }
}

fn cost(figures: &Figures, values: &mut HeaderWriter<'_>) {
    if let Some(cost) = figures.cost {
        values.amount(named::COST, cost);
        values.amount(named::COST_USD, cost);
    }
    if let Some(savings) = figures.savings {
        values.show(named::SAVINGS, savings);
    }
    if figures.mode == PaymentMode::Prepaid {
        values.amount(named::SPREAD, figures.spread);
    }
    if let Some(balance) = figures.balance {
        values.amount(named::BALANCE, balance);
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
    cost(figures, &mut HeaderWriter::new(headers, 128));
}

/// Says so where there is little money.
pub(crate) fn warn_of(funds: MicroUsd, headers: &mut HeaderMap) {
    low(funds, &mut HeaderWriter::new(headers, 32));
}

fn low(funds: MicroUsd, values: &mut HeaderWriter<'_>) {
    if funds < LOW {
        values.amount(named::BALANCE_WARNING, funds);
    }
}

/// Writes what is left of the limits, as the caller's SDK reads it.
pub(crate) fn limits(admission: &Admission, dialect: Dialect, headers: &mut HeaderMap) {
    left_of(admission, dialect, &mut HeaderWriter::new(headers, 128));
}

fn left_of(admission: &Admission, dialect: Dialect, values: &mut HeaderWriter<'_>) {
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
        values.show(limit, remaining.limit);
        values.show(left, remaining.remaining);
        values.show(reset, Wait(remaining.reset_ms));
        if dialect == Dialect::Anthropic {
            let [limit, left, reset] = anthropic;
            values.show(limit, remaining.limit);
            values.show(left, remaining.remaining);
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0));
            values.show(reset, rfc3339(now + remaining.reset_ms));
        }
    }
    if let Some(allowance) = admission.allowance {
        values.show(named::REMAINING_TOKENS, allowance);
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
