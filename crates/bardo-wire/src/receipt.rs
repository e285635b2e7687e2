//! A receipt as JSON: whole for those who ask for it later, and the few figures of the comment that
//! closes a stream. Written by hand, member by member, so that a rename inside changes no promise.

mod routing;
mod write;

use std::fmt::Display;
use std::time::Duration;

use bardo_types::receipt::{Attempt, Receipt};
use bardo_types::usage::Usage;

use self::write::{Object, Value as _, inner};

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

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn write_figures(receipt: &Receipt, pending: bool, object: &mut Object<'_>) {
    let (usage, amounts) = (receipt.usage.as_ref(), &receipt.amounts);
    object
        .member("request_id", receipt.request_id.as_str())
        .member("model", &*receipt.model)
        .member("provider", &*receipt.backend)
        .member("input_tokens", usage.map(Usage::prompt))
        .member("cache_read_tokens", usage.map(|usage| usage.cache_read))
        .member("cache_write_tokens", usage.map(Usage::cache_write))
        .member("output_tokens", usage.map(|usage| usage.output))
        .member("reasoning_tokens", usage.and_then(|usage| usage.reasoning));
    object
        .member("cost", receipt.cost())
        .member("billed", receipt.is_billed())
        .member("savings", receipt.savings())
        .member("spread", amounts.spread)
        .member("balance", amounts.balance)
        .list("degraded", &receipt.degraded, |lost, out| {
            (&*lost.feature).write(out);
        })
        .member("cache", &*receipt.cache)
        .member("estimated", receipt.estimated);
    if pending {
        object.member("pending", true);
    }
}

fn whole(receipt: &Receipt, object: &mut Object<'_>) {
    let created = Utc(receipt.received_at_ms).to_string();
    object
        .member("request_id", receipt.request_id.as_str())
        .member("client_request_id", receipt.client_request_id.as_deref())
        .member("created", created.as_str())
        .member("created_ms", receipt.received_at_ms)
        .member("status", receipt.outcome.as_str())
        .member("dialect", receipt.dialect.as_str())
        .member("stream", receipt.streamed)
        .member("model_requested", &*receipt.model_requested)
        .member("model", &*receipt.model)
        .member("model_answered", receipt.model_answered.as_deref())
        .member("provider", &*receipt.backend)
        .member(
            "upstream_request_id",
            receipt.upstream_request_id.as_deref(),
        )
        .member("session", receipt.session.as_deref())
        .member("subsystem", receipt.subsystem.as_deref())
        .member("key", receipt.key.as_ref().map(|key| key.as_str()))
        .list("attempts", &receipt.attempts, |attempt, out| {
            inner(out, |object| write_attempt(attempt, object));
        });
    match &receipt.usage {
        Some(usage) => object.object("usage", |object| {
            write_usage(usage, receipt.estimated, object);
        }),
        None => object.member("usage", None::<u64>),
    };
    object
        .object("cost", |object| write_cost(receipt, object))
        .member("cache", &*receipt.cache)
        .list("degraded", &receipt.degraded, |lost, out| {
            inner(out, |object| {
                object
                    .member("feature", &*lost.feature)
                    .member("detail", &*lost.detail);
            });
        })
        .list("optimizations", &receipt.optimizations, |name, out| {
            (&**name).write(out);
        });
    match receipt.routing.as_deref() {
        Some(routing) => object.object("routing", |object| routing::write(routing, object)),
        None => object.member("routing", None::<u64>),
    };
    object.object("timings_ms", |object| write_timings(receipt, object));
}

fn write_usage(usage: &Usage, estimated: bool, object: &mut Object<'_>) {
    object
        .member("input_tokens", usage.prompt())
        .member("fresh_input_tokens", usage.fresh_input)
        .member("cache_read_tokens", usage.cache_read)
        .member("cache_write_5m_tokens", usage.cache_write_5m)
        .member("cache_write_1h_tokens", usage.cache_write_1h)
        .member("output_tokens", usage.output)
        .member("reasoning_tokens", usage.reasoning)
        .member("audio_input_tokens", usage.audio_input)
        .member("audio_output_tokens", usage.audio_output)
        .member("web_searches", usage.web_searches)
        .member("estimated", estimated);
}

fn write_cost(receipt: &Receipt, object: &mut Object<'_>) {
    let amounts = &receipt.amounts;
    object
        .member("mode", receipt.mode.as_str())
        .member("billed", receipt.is_billed())
        .member("currency", "USD")
        .member("provider_cost", amounts.provider_cost)
        .member("spread", amounts.spread)
        .member("spread_bps", u64::from(amounts.spread_rate.get()))
        .member("charge", amounts.charge)
        .member("shortfall", amounts.shortfall)
        .member("list_price", amounts.baseline)
        .member("savings", receipt.savings())
        .member("balance", amounts.balance);
}

fn write_timings(receipt: &Receipt, object: &mut Object<'_>) {
    let timings = &receipt.timings;
    object
        .member("reserved", timings.reserved.map(ms))
        .member("sent", timings.sent.map(ms))
        .member("head", timings.head.map(ms))
        .member("first_content", timings.first_content.map(ms))
        .member("total", ms(timings.total));
}

fn write_attempt(attempt: &Attempt, object: &mut Object<'_>) {
    let failure = attempt.failure.as_ref();
    let outcome = match failure {
        None => "answered",
        Some(failure) if failure.unknown_outcome => "unknown",
        Some(_) => "failed",
    };
    object
        .member("provider", &*attempt.backend)
        .member("model", &*attempt.model)
        .member("outcome", outcome)
        .member("class", failure.map(|failure| failure.class.as_str()))
        .member(
            "status",
            failure.and_then(|failure| failure.status).map(u64::from),
        )
        .member("ms", ms(attempt.duration));
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Unix milliseconds as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy)]
pub struct Utc(pub u64);

impl Display for Utc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        // Days into years, months and days, with years that begin in March (Hinnant,
        // "chrono-compatible low-level date algorithms").
        let days = days + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = era * 400 + year + u64::from(month <= 2);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
            rest / 3600,
            rest / 60 % 60,
            rest % 60
        )
    }
}

#[cfg(test)]
mod tests;
