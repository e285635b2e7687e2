//! A receipt as JSON: whole for those who ask for it later, and the few figures of the comment that
//! closes a stream. Written by hand, member by member, so that a rename inside changes no promise.

mod routing;

use std::io::Write as _;
use std::time::Duration;

use bardo_types::calendar::rfc3339;
use bardo_types::money::{MicroUsd, SignedMicroUsd};
use bardo_types::receipt::{
    self, Attempt, AttemptPayment, DecisionVerification, ProviderPayment, Receipt, ReceiptText,
    VerificationResult,
};
use bardo_types::usage::Usage;

use crate::json::{MemberName, Object, ToJson, member, object as inner};

/// What the text of nearly every receipt fits in.
const USUAL_BYTES: usize = 768;

/// The whole receipt, as stores keep it.
#[must_use]
pub fn to_text(receipt: &Receipt) -> ReceiptText {
    let mut out = Vec::with_capacity(USUAL_BYTES);
    inner(&mut out, |object| whole(receipt, object));
    text(out).into()
}

/// The whole receipt, as `GET /v1/receipts/{id}` shows it. What is unknown is `null`.
#[must_use]
pub fn to_json(receipt: &Receipt) -> String {
    to_text(receipt).json().into_owned()
}

/// The name of a member that nearly every receipt has, as stores keep it.
macro_rules! coded {
    ($name:literal) => {
        MemberName(const { receipt::text::member($name) })
    };
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

/// A time in whole milliseconds.
struct WholeMillis(Duration);

impl ToJson for WholeMillis {
    fn write(&self, out: &mut Vec<u8>) {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        millis.write(out);
    }
}

/// A time in whole microseconds.
struct WholeMicros(Duration);

impl ToJson for WholeMicros {
    fn write(&self, out: &mut Vec<u8>) {
        let micros = u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX);
        micros.write(out);
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
        .put(coded!("request_id"), receipt.request_id.as_str())
        .put(
            coded!("client_request_id"),
            receipt.client_request_id.as_deref(),
        )
        .put(coded!("trace_id"), receipt.trace_id.as_deref())
        .put(coded!("created"), created.as_str())
        .put(coded!("created_ms"), receipt.received_at_ms)
        .put(coded!("status"), receipt.outcome.as_str())
        .put(coded!("dialect"), receipt.dialect.as_str())
        .put(coded!("stream"), receipt.streamed)
        .put(coded!("model_requested"), &*receipt.model_requested)
        .put(coded!("model"), &*receipt.model)
        .put(coded!("model_answered"), receipt.model_answered.as_deref())
        .put(coded!("provider"), &*receipt.backend)
        .put(
            coded!("upstream_request_id"),
            receipt.upstream_request_id.as_deref(),
        )
        .put(coded!("session"), receipt.session.as_deref())
        .put(coded!("subsystem"), receipt.subsystem.as_deref())
        .put(coded!("key"), receipt.key.as_ref().map(|key| key.as_str()))
        .put_list(coded!("attempts"), &receipt.attempts, |attempt, out| {
            inner(out, |object| write_attempt(attempt, object));
        })
        .put_list(coded!("passed_over"), &receipt.passed_over, |one, out| {
            inner(out, |object| {
                object
                    .put(member!("backend"), &*one.backend)
                    .put(member!("reason"), &*one.reason);
            });
        });
    match &receipt.usage {
        Some(usage) => object.put_object(coded!("usage"), |object| {
            write_usage(usage, receipt.estimated, object);
        }),
        None => object.put(coded!("usage"), None::<u64>),
    };
    match &receipt.saved_usage {
        Some(usage) => object.put_object(coded!("saved_usage"), |object| {
            write_usage(usage, false, object)
        }),
        None => object.put(coded!("saved_usage"), None::<u64>),
    };
    let similarity = receipt.cache_similarity.map(thousandths);
    object
        .put_object(coded!("cost"), |object| write_cost(receipt, object))
        .put(coded!("cache"), &*receipt.cache)
        .put(
            coded!("cache_age_s"),
            receipt.cache_age.map(|age| age.as_secs()),
        )
        .put(coded!("cache_similarity"), similarity.as_deref())
        .put(coded!("cache_reason"), receipt.cache_reason.as_deref())
        .put_list(coded!("degraded"), &receipt.degraded, |lost, out| {
            inner(out, |object| {
                object
                    .put(member!("feature"), &*lost.feature)
                    .put(member!("detail"), &*lost.detail);
            });
        })
        .put_list(
            coded!("optimizations"),
            &receipt.optimizations,
            |name, out| {
                (**name).write(out);
            },
        );
    match receipt.verification.as_deref() {
        Some(one) => object.put_object(coded!("verification"), |object| {
            write_verification(one, object)
        }),
        None => object.put(coded!("verification"), None::<u64>),
    };
    match receipt.routing.as_deref() {
        Some(routing) => {
            object.put_object(coded!("routing"), |object| routing::write(routing, object))
        }
        None => object.put(coded!("routing"), None::<u64>),
    };
    object
        .put_object(coded!("timings_ms"), |object| {
            write_timings(receipt, object)
        })
        .put_object(coded!("timings_us"), |object| write_stages(receipt, object));
}

/// A share of one thousand as a decimal.
fn thousandths(number: u16) -> String {
    format!("{}.{:03}", number / 1_000, number % 1_000)
}

fn write_usage(usage: &Usage, estimated: bool, object: &mut Object<'_>) {
    object
        .put(coded!("input_tokens"), usage.prompt())
        .put(coded!("fresh_input_tokens"), usage.fresh_input)
        .put(coded!("cache_read_tokens"), usage.cache_read)
        .put(coded!("cache_write_5m_tokens"), usage.cache_write_5m)
        .put(coded!("cache_write_1h_tokens"), usage.cache_write_1h)
        .put(coded!("output_tokens"), usage.output)
        .put(coded!("reasoning_tokens"), usage.reasoning)
        .put(coded!("audio_input_tokens"), usage.audio_input)
        .put(coded!("audio_output_tokens"), usage.audio_output)
        .put(coded!("web_searches"), usage.web_searches)
        .put(coded!("byok"), usage.byok_fee.is_some())
        .put(coded!("estimated"), estimated);
}

fn write_cost(receipt: &Receipt, object: &mut Object<'_>) {
    let amounts = &receipt.amounts;
    object
        .put(coded!("mode"), receipt.mode.as_str())
        .put(
            coded!("provider_payment"),
            receipt.provider_payment.map(ProviderPayment::as_str),
        )
        .put(coded!("billed"), receipt.is_billed())
        .put(coded!("currency"), "USD")
        .put(coded!("provider_cost"), amounts.provider_cost)
        .put(coded!("spread"), amounts.spread)
        .put(coded!("spread_bps"), u64::from(amounts.spread_rate.get()))
        .put(coded!("charge"), amounts.charge)
        .put(coded!("shortfall"), amounts.shortfall)
        .put(coded!("list_price"), amounts.baseline)
        .put(coded!("savings"), receipt.savings())
        .put(coded!("cache_savings"), amounts.cache_savings)
        .put(coded!("balance"), amounts.balance);
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
        .put(coded!("reserved"), timings.reserved.map(WholeMillis))
        .put(coded!("sent"), timings.sent.map(WholeMillis))
        .put(coded!("head"), timings.head.map(WholeMillis))
        .put(
            coded!("first_content"),
            timings.first_content.map(WholeMillis),
        )
        .put(coded!("total"), WholeMillis(timings.total));
}

/// All stages in microseconds, since most of them take less than a millisecond.
fn write_stages(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .put(coded!("read"), timings.read.map(WholeMicros))
        .put(coded!("limited"), timings.limited.map(WholeMicros))
        .put(coded!("hash_lookup"), timings.hash_lookup.map(WholeMicros))
        .put(coded!("screened"), timings.screened.map(WholeMicros))
        .put(coded!("prepared"), timings.prepared.map(WholeMicros))
        .put(coded!("planned"), timings.planned.map(WholeMicros))
        .put(
            coded!("semantic_lookup"),
            timings.semantic_lookup.map(WholeMicros),
        )
        .put(coded!("reserved"), timings.reserved.map(WholeMicros))
        .put(coded!("sent"), timings.sent.map(WholeMicros))
        .put(coded!("head"), timings.head.map(WholeMicros))
        .put(
            coded!("first_content"),
            timings.first_content.map(WholeMicros),
        )
        .put(coded!("settled"), timings.settled.map(WholeMicros))
        .put(coded!("total"), WholeMicros(timings.total));
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
        .put(coded!("provider"), &*attempt.backend)
        .put(coded!("model"), &*attempt.model)
        .put(coded!("outcome"), outcome)
        .put(
            coded!("class"),
            failure.map(|failure| failure.class.as_str()),
        )
        .put(
            coded!("status"),
            failure.and_then(|failure| failure.status).map(u64::from),
        )
        .put(coded!("ms"), WholeMillis(attempt.duration));
    match &attempt.payment {
        Some(payment) => {
            object.put_object(coded!("payment"), |object| write_payment(payment, object))
        }
        None => object.put(coded!("payment"), None::<u64>),
    };
}

#[cfg(test)]
mod tests;
