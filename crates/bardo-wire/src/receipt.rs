//! A receipt as JSON: whole for those who ask for it later, and the few figures of the comment that
//! closes a stream. Written by hand, member by member, so that a rename inside changes no promise.

mod routing;

use std::io::Write as _;
use std::time::Duration;

use bardo_types::calendar::rfc3339;
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use bardo_types::receipt::{
    Attempt, AttemptPayment, DecisionVerification, ProviderPayment, Receipt, VerificationResult,
};
use bardo_types::usage::Usage;

use crate::json::{Object, ToJson, object as inner};

/// What nearly every receipt fits in.
const USUAL_BYTES: usize = 1_536;

/// The whole receipt, as `GET /v1/receipts/{id}` shows it. What is unknown is `null`.
#[must_use]
pub fn to_json(receipt: &Receipt) -> String {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    inner(&mut out, |object| whole(receipt, object));
    text(out)
}

/// The comment that closes a stream, `: bardo {json}` and a blank line. `pending` is for figures
/// that the books have not confirmed yet.
#[must_use]
pub fn comment(receipt: &Receipt, pending: bool) -> String {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b": bardo ");
    inner(&mut out, |object| write_figures(receipt, pending, object));
    out.extend_from_slice(b"\n\n");
    text(out)
}

/// The figures of the closing comment as one JSON object, for answers that carry them within.
#[must_use]
pub fn figures(receipt: &Receipt) -> String {
    let mut out = Vec::with_capacity(512);
    inner(&mut out, |object| write_figures(receipt, false, object));
    text(out)
}

/// Decimal USD with six digits, as text: numbers would come back as floats.
impl ToJson for MicroUsd {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.text().as_str().as_bytes());
        out.push(b'"');
    }
}

/// Decimal USD with six digits and a minus sign below zero, as text.
impl ToJson for SignedMicroUsd {
    fn write(&self, out: &mut Vec<u8>) {
        write!(out, "\"{self}\"").expect("memory takes whatever is written");
    }
}

/// A number between bounds that are not money; `null` if it is not finite.
struct Figure(f64);

impl ToJson for Figure {
    fn write(&self, out: &mut Vec<u8>) {
        if self.0.is_finite() {
            write!(out, "{}", self.0).expect("memory takes whatever is written");
        } else {
            ().write(out);
        }
    }
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn write_figures(receipt: &Receipt, pending: bool, object: &mut Object<'_>) {
    let (usage, amounts) = (receipt.usage.as_ref(), &receipt.amounts);
    object
        .set("request_id", receipt.request_id.as_str())
        .set("model", &*receipt.model)
        .set("provider", &*receipt.backend)
        .set("input_tokens", usage.map(Usage::prompt))
        .set("cache_read_tokens", usage.map(|usage| usage.cache_read))
        .set("cache_write_tokens", usage.map(Usage::cache_write))
        .set("output_tokens", usage.map(|usage| usage.output))
        .set("reasoning_tokens", usage.and_then(|usage| usage.reasoning));
    object
        .set("cost", receipt.cost())
        .set("billed", receipt.is_billed())
        .set("savings", receipt.savings())
        .set("spread", amounts.spread)
        .set("balance", amounts.balance)
        .list("degraded", &receipt.degraded, |lost, out| {
            (*lost.feature).write(out);
        })
        .set("cache", &*receipt.cache)
        .set("estimated", receipt.estimated);
    if pending {
        object.set("pending", true);
    }
}

fn whole(receipt: &Receipt, object: &mut Object<'_>) {
    let created = rfc3339(receipt.received_at_ms);
    object
        .set("request_id", receipt.request_id.as_str())
        .set("client_request_id", receipt.client_request_id.as_deref())
        .set("trace_id", receipt.trace_id.as_deref())
        .set("created", created.as_str())
        .set("created_ms", receipt.received_at_ms)
        .set("status", receipt.outcome.as_str())
        .set("dialect", receipt.dialect.as_str())
        .set("stream", receipt.streamed)
        .set("model_requested", &*receipt.model_requested)
        .set("model", &*receipt.model)
        .set("model_answered", receipt.model_answered.as_deref())
        .set("provider", &*receipt.backend)
        .set(
            "upstream_request_id",
            receipt.upstream_request_id.as_deref(),
        )
        .set("session", receipt.session.as_deref())
        .set("subsystem", receipt.subsystem.as_deref())
        .set("key", receipt.key.as_ref().map(|key| key.as_str()))
        .list("attempts", &receipt.attempts, |attempt, out| {
            inner(out, |object| write_attempt(attempt, object));
        })
        .list("passed_over", &receipt.passed_over, |one, out| {
            inner(out, |object| {
                object
                    .set("backend", &*one.backend)
                    .set("reason", &*one.reason);
            });
        });
    match &receipt.usage {
        Some(usage) => object.nest("usage", |object| {
            write_usage(usage, receipt.estimated, object);
        }),
        None => object.set("usage", None::<u64>),
    };
    match &receipt.saved_usage {
        Some(usage) => object.nest("saved_usage", |object| write_usage(usage, false, object)),
        None => object.set("saved_usage", None::<u64>),
    };
    let similarity = receipt.cache_similarity.map(thousandths);
    object
        .nest("cost", |object| write_cost(receipt, object))
        .set("cache", &*receipt.cache)
        .set("cache_age_s", receipt.cache_age.map(|age| age.as_secs()))
        .set("cache_similarity", similarity.as_deref())
        .set("cache_reason", receipt.cache_reason.as_deref())
        .list("degraded", &receipt.degraded, |lost, out| {
            inner(out, |object| {
                object
                    .set("feature", &*lost.feature)
                    .set("detail", &*lost.detail);
            });
        })
        .list("optimizations", &receipt.optimizations, |name, out| {
            (**name).write(out);
        });
    match receipt.verification.as_deref() {
        Some(one) => object.nest("verification", |object| write_verification(one, object)),
        None => object.set("verification", None::<u64>),
    };
    match receipt.routing.as_deref() {
        Some(routing) => object.nest("routing", |object| routing::write(routing, object)),
        None => object.set("routing", None::<u64>),
    };
    object
        .nest("timings_ms", |object| write_timings(receipt, object))
        .nest("timings_us", |object| write_stages(receipt, object));
}

/// A share of one thousand as a decimal.
fn thousandths(number: u16) -> String {
    format!("{}.{:03}", number / 1_000, number % 1_000)
}

fn write_usage(usage: &Usage, estimated: bool, object: &mut Object<'_>) {
    object
        .set("input_tokens", usage.prompt())
        .set("fresh_input_tokens", usage.fresh_input)
        .set("cache_read_tokens", usage.cache_read)
        .set("cache_write_5m_tokens", usage.cache_write_5m)
        .set("cache_write_1h_tokens", usage.cache_write_1h)
        .set("output_tokens", usage.output)
        .set("reasoning_tokens", usage.reasoning)
        .set("audio_input_tokens", usage.audio_input)
        .set("audio_output_tokens", usage.audio_output)
        .set("web_searches", usage.web_searches)
        .set("byok", usage.byok_fee.is_some())
        .set("estimated", estimated);
}

fn write_cost(receipt: &Receipt, object: &mut Object<'_>) {
    let amounts = &receipt.amounts;
    object
        .set("mode", receipt.mode.as_str())
        .set(
            "provider_payment",
            receipt.provider_payment.map(ProviderPayment::as_str),
        )
        .set("billed", receipt.is_billed())
        .set("currency", "USD")
        .set("provider_cost", amounts.provider_cost)
        .set("spread", amounts.spread)
        .set("spread_bps", u64::from(amounts.spread_rate.get()))
        .set("charge", amounts.charge)
        .set("shortfall", amounts.shortfall)
        .set("list_price", amounts.baseline)
        .set("savings", receipt.savings())
        .set("cache_savings", amounts.cache_savings)
        .set("balance", amounts.balance);
}

fn write_verification(verification: &DecisionVerification, object: &mut Object<'_>) {
    object
        .set("result", verification.result.as_str())
        .set(
            "disagree",
            verification.result == VerificationResult::Disagreed,
        )
        .set(
            "role",
            if verification.is_second {
                "second"
            } else {
                "first"
            },
        )
        .set("delivered", verification.delivered)
        .set(
            "other_request_id",
            verification.other.as_ref().map(|id| id.as_str()),
        )
        .set("other_model", verification.other_model.as_deref())
        .set("other_cost", verification.other_cost);
}

fn write_timings(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .set("reserved", timings.reserved.map(ms))
        .set("sent", timings.sent.map(ms))
        .set("head", timings.head.map(ms))
        .set("first_content", timings.first_content.map(ms))
        .set("total", ms(timings.total));
}

/// All stages in microseconds, since most of them take less than a millisecond.
fn write_stages(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .set("read", timings.read.map(us))
        .set("limited", timings.limited.map(us))
        .set("hash_lookup", timings.hash_lookup.map(us))
        .set("screened", timings.screened.map(us))
        .set("prepared", timings.prepared.map(us))
        .set("planned", timings.planned.map(us))
        .set("semantic_lookup", timings.semantic_lookup.map(us))
        .set("reserved", timings.reserved.map(us))
        .set("sent", timings.sent.map(us))
        .set("head", timings.head.map(us))
        .set("first_content", timings.first_content.map(us))
        .set("settled", timings.settled.map(us))
        .set("total", us(timings.total));
}

fn write_payment(payment: &AttemptPayment, object: &mut Object<'_>) {
    object
        .set("amount", payment.amount)
        .set("network", &*payment.network)
        .set("reference", &*payment.reference);
}

fn write_attempt(attempt: &Attempt, object: &mut Object<'_>) {
    let failure = attempt.failure.as_ref();
    let outcome = match failure {
        None => "answered",
        Some(failure) if failure.unknown_outcome => "unknown",
        Some(_) => "failed",
    };
    object
        .set("provider", &*attempt.backend)
        .set("model", &*attempt.model)
        .set("outcome", outcome)
        .set("class", failure.map(|failure| failure.class.as_str()))
        .set(
            "status",
            failure.and_then(|failure| failure.status).map(u64::from),
        )
        .set("ms", ms(attempt.duration));
    match &attempt.payment {
        Some(payment) => object.nest("payment", |object| write_payment(payment, object)),
        None => object.set("payment", None::<u64>),
    };
}

fn us(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
