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

use crate::json::{Object, ToJson, member, object as inner};

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
        out.extend_from_slice(self.text().as_bytes());
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
        .put(member!("request_id"), receipt.request_id.as_str())
        .put(member!("model"), &*receipt.model)
        .put(member!("provider"), &*receipt.backend)
        .put(member!("input_tokens"), usage.map(Usage::prompt))
        .put(
            member!("cache_read_tokens"),
            usage.map(|usage| usage.cache_read),
        )
        .put(member!("cache_write_tokens"), usage.map(Usage::cache_write))
        .put(member!("output_tokens"), usage.map(|usage| usage.output))
        .put(
            member!("reasoning_tokens"),
            usage.and_then(|usage| usage.reasoning),
        );
    object
        .put(member!("cost"), receipt.cost())
        .put(member!("billed"), receipt.is_billed())
        .put(member!("savings"), receipt.savings())
        .put(member!("spread"), amounts.spread)
        .put(member!("balance"), amounts.balance)
        .list("degraded", &receipt.degraded, |lost, out| {
            (*lost.feature).write(out);
        })
        .put(member!("cache"), &*receipt.cache)
        .put(member!("estimated"), receipt.estimated);
    if pending {
        object.put(member!("pending"), true);
    }
}

fn whole(receipt: &Receipt, object: &mut Object<'_>) {
    let created = rfc3339(receipt.received_at_ms);
    object
        .put(member!("request_id"), receipt.request_id.as_str())
        .put(
            member!("client_request_id"),
            receipt.client_request_id.as_deref(),
        )
        .put(member!("trace_id"), receipt.trace_id.as_deref())
        .put(member!("created"), created.as_str())
        .put(member!("created_ms"), receipt.received_at_ms)
        .put(member!("status"), receipt.outcome.as_str())
        .put(member!("dialect"), receipt.dialect.as_str())
        .put(member!("stream"), receipt.streamed)
        .put(member!("model_requested"), &*receipt.model_requested)
        .put(member!("model"), &*receipt.model)
        .put(member!("model_answered"), receipt.model_answered.as_deref())
        .put(member!("provider"), &*receipt.backend)
        .put(
            member!("upstream_request_id"),
            receipt.upstream_request_id.as_deref(),
        )
        .put(member!("session"), receipt.session.as_deref())
        .put(member!("subsystem"), receipt.subsystem.as_deref())
        .put(member!("key"), receipt.key.as_ref().map(|key| key.as_str()))
        .list("attempts", &receipt.attempts, |attempt, out| {
            inner(out, |object| write_attempt(attempt, object));
        })
        .list("passed_over", &receipt.passed_over, |one, out| {
            inner(out, |object| {
                object
                    .put(member!("backend"), &*one.backend)
                    .put(member!("reason"), &*one.reason);
            });
        });
    match &receipt.usage {
        Some(usage) => object.nest("usage", |object| {
            write_usage(usage, receipt.estimated, object);
        }),
        None => object.put(member!("usage"), None::<u64>),
    };
    match &receipt.saved_usage {
        Some(usage) => object.nest("saved_usage", |object| write_usage(usage, false, object)),
        None => object.put(member!("saved_usage"), None::<u64>),
    };
    let similarity = receipt.cache_similarity.map(thousandths);
    object
        .nest("cost", |object| write_cost(receipt, object))
        .put(member!("cache"), &*receipt.cache)
        .put(
            member!("cache_age_s"),
            receipt.cache_age.map(|age| age.as_secs()),
        )
        .put(member!("cache_similarity"), similarity.as_deref())
        .put(member!("cache_reason"), receipt.cache_reason.as_deref())
        .list("degraded", &receipt.degraded, |lost, out| {
            inner(out, |object| {
                object
                    .put(member!("feature"), &*lost.feature)
                    .put(member!("detail"), &*lost.detail);
            });
        })
        .list("optimizations", &receipt.optimizations, |name, out| {
            (**name).write(out);
        });
    match receipt.verification.as_deref() {
        Some(one) => object.nest("verification", |object| write_verification(one, object)),
        None => object.put(member!("verification"), None::<u64>),
    };
    match receipt.routing.as_deref() {
        Some(routing) => object.nest("routing", |object| routing::write(routing, object)),
        None => object.put(member!("routing"), None::<u64>),
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
        .put(member!("input_tokens"), usage.prompt())
        .put(member!("fresh_input_tokens"), usage.fresh_input)
        .put(member!("cache_read_tokens"), usage.cache_read)
        .put(member!("cache_write_5m_tokens"), usage.cache_write_5m)
        .put(member!("cache_write_1h_tokens"), usage.cache_write_1h)
        .put(member!("output_tokens"), usage.output)
        .put(member!("reasoning_tokens"), usage.reasoning)
        .put(member!("audio_input_tokens"), usage.audio_input)
        .put(member!("audio_output_tokens"), usage.audio_output)
        .put(member!("web_searches"), usage.web_searches)
        .put(member!("byok"), usage.byok_fee.is_some())
        .put(member!("estimated"), estimated);
}

fn write_cost(receipt: &Receipt, object: &mut Object<'_>) {
    let amounts = &receipt.amounts;
    object
        .put(member!("mode"), receipt.mode.as_str())
        .put(
            member!("provider_payment"),
            receipt.provider_payment.map(ProviderPayment::as_str),
        )
        .put(member!("billed"), receipt.is_billed())
        .put(member!("currency"), "USD")
        .put(member!("provider_cost"), amounts.provider_cost)
        .put(member!("spread"), amounts.spread)
        .put(member!("spread_bps"), u64::from(amounts.spread_rate.get()))
        .put(member!("charge"), amounts.charge)
        .put(member!("shortfall"), amounts.shortfall)
        .put(member!("list_price"), amounts.baseline)
        .put(member!("savings"), receipt.savings())
        .put(member!("cache_savings"), amounts.cache_savings)
        .put(member!("balance"), amounts.balance);
}

fn write_verification(verification: &DecisionVerification, object: &mut Object<'_>) {
    object
        .put(member!("result"), verification.result.as_str())
        .put(
            member!("disagree"),
            verification.result == VerificationResult::Disagreed,
        )
        .put(
            member!("role"),
            if verification.is_second {
                "second"
            } else {
                "first"
            },
        )
        .put(member!("delivered"), verification.delivered)
        .put(
            member!("other_request_id"),
            verification.other.as_ref().map(|id| id.as_str()),
        )
        .put(member!("other_model"), verification.other_model.as_deref())
        .put(member!("other_cost"), verification.other_cost);
}

fn write_timings(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .put(member!("reserved"), timings.reserved.map(ms))
        .put(member!("sent"), timings.sent.map(ms))
        .put(member!("head"), timings.head.map(ms))
        .put(member!("first_content"), timings.first_content.map(ms))
        .put(member!("total"), ms(timings.total));
}

/// All stages in microseconds, since most of them take less than a millisecond.
fn write_stages(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .put(member!("read"), timings.read.map(us))
        .put(member!("limited"), timings.limited.map(us))
        .put(member!("hash_lookup"), timings.hash_lookup.map(us))
        .put(member!("screened"), timings.screened.map(us))
        .put(member!("prepared"), timings.prepared.map(us))
        .put(member!("planned"), timings.planned.map(us))
        .put(member!("semantic_lookup"), timings.semantic_lookup.map(us))
        .put(member!("reserved"), timings.reserved.map(us))
        .put(member!("sent"), timings.sent.map(us))
        .put(member!("head"), timings.head.map(us))
        .put(member!("first_content"), timings.first_content.map(us))
        .put(member!("settled"), timings.settled.map(us))
        .put(member!("total"), us(timings.total));
}

fn write_payment(payment: &AttemptPayment, object: &mut Object<'_>) {
    object
        .put(member!("amount"), payment.amount)
        .put(member!("network"), &*payment.network)
        .put(member!("reference"), &*payment.reference)
        .put(member!("scheme"), payment.scheme);
    let settlement = payment.settlement.as_ref();
    object
        .put(member!("settlement"), settlement.map(|end| end.state))
        .put(
            member!("transaction"),
            settlement.and_then(|end| end.transaction.as_deref()),
        )
        .put(member!("settled"), settlement.and_then(|end| end.amount));
}

fn write_attempt(attempt: &Attempt, object: &mut Object<'_>) {
    let failure = attempt.failure.as_ref();
    let outcome = match failure {
        None => "answered",
        Some(failure) if failure.unknown_outcome => "unknown",
        Some(_) => "failed",
    };
    object
        .put(member!("provider"), &*attempt.backend)
        .put(member!("model"), &*attempt.model)
        .put(member!("outcome"), outcome)
        .put(
            member!("class"),
            failure.map(|failure| failure.class.as_str()),
        )
        .put(
            member!("status"),
            failure.and_then(|failure| failure.status).map(u64::from),
        )
        .put(member!("ms"), ms(attempt.duration));
    match &attempt.payment {
        Some(payment) => object.nest("payment", |object| write_payment(payment, object)),
        None => object.put(member!("payment"), None::<u64>),
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
