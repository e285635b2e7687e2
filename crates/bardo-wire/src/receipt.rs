//! A receipt as JSON: whole for those who ask for it later, and the few figures of the comment that
//! closes a stream. Written by hand, member by member, so that a rename inside changes no promise.

use std::fmt::Display;
use std::time::Duration;

use bardo_types::Degradation;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::{Attempt, PaymentMode, Receipt};
use bardo_types::usage::Usage;
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

/// The whole receipt, as `GET /v1/receipts/{id}` shows it. What is unknown is `null`.
#[must_use]
pub fn to_json(receipt: &Receipt) -> String {
    serde_json::to_string(&Whole(receipt)).expect("plain members always serialize")
}

/// The comment that closes a stream, `: bardo {json}` and a blank line. `pending` is for figures
/// that the books have not confirmed yet.
#[must_use]
pub fn comment(receipt: &Receipt, pending: bool) -> String {
    let mut text = Vec::with_capacity(512);
    text.extend_from_slice(b": bardo ");
    serde_json::to_writer(&mut text, &Figures { receipt, pending })
        .expect("plain members always serialize");
    text.extend_from_slice(b"\n\n");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// The figures of the closing comment as one JSON object, for answers that carry them within.
#[must_use]
pub fn figures(receipt: &Receipt) -> String {
    let figures = Figures {
        receipt,
        pending: false,
    };
    serde_json::to_string(&figures).expect("plain members always serialize")
}

struct Figures<'a> {
    receipt: &'a Receipt,
    pending: bool,
}

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let receipt = self.receipt;
        let (usage, amounts) = (receipt.usage.as_ref(), &receipt.amounts);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("request_id", receipt.request_id.as_str())?;
        map.serialize_entry("model", &*receipt.model)?;
        map.serialize_entry("provider", &*receipt.backend)?;
        map.serialize_entry("input_tokens", &usage.map(Usage::prompt))?;
        map.serialize_entry("cache_read_tokens", &usage.map(|usage| usage.cache_read))?;
        map.serialize_entry("cache_write_tokens", &usage.map(Usage::cache_write))?;
        map.serialize_entry("output_tokens", &usage.map(|usage| usage.output))?;
        map.serialize_entry("reasoning_tokens", &usage.and_then(|usage| usage.reasoning))?;
        match receipt.mode {
            PaymentMode::Direct => map.serialize_entry("cost", "direct")?,
            PaymentMode::Prepaid | PaymentMode::Owner => {
                map.serialize_entry("cost", &receipt.cost().map(Usd))?;
            }
        }
        map.serialize_entry("savings", &receipt.savings().map(Usd))?;
        map.serialize_entry("spread", &Usd(amounts.spread))?;
        map.serialize_entry("balance", &amounts.balance.map(Usd))?;
        map.serialize_entry("degraded", &Features(&receipt.degraded))?;
        map.serialize_entry("cache", &*receipt.cache)?;
        map.serialize_entry("estimated", &receipt.estimated)?;
        if self.pending {
            map.serialize_entry("pending", &true)?;
        }
        map.end()
    }
}

struct Whole<'a>(&'a Receipt);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let receipt = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("request_id", receipt.request_id.as_str())?;
        map.serialize_entry("client_request_id", &receipt.client_request_id.as_deref())?;
        map.serialize_entry("created", &Shown(Utc(receipt.received_at_ms)))?;
        map.serialize_entry("created_ms", &receipt.received_at_ms)?;
        map.serialize_entry("status", receipt.outcome.as_str())?;
        map.serialize_entry("dialect", receipt.dialect.as_str())?;
        map.serialize_entry("stream", &receipt.streamed)?;
        map.serialize_entry("model_requested", &*receipt.model_requested)?;
        map.serialize_entry("model", &*receipt.model)?;
        map.serialize_entry("model_answered", &receipt.model_answered.as_deref())?;
        map.serialize_entry("provider", &*receipt.backend)?;
        map.serialize_entry(
            "upstream_request_id",
            &receipt.upstream_request_id.as_deref(),
        )?;
        map.serialize_entry("session", &receipt.session.as_deref())?;
        map.serialize_entry("subsystem", &receipt.subsystem.as_deref())?;
        map.serialize_entry("key", &receipt.key.as_ref().map(|key| key.as_str()))?;
        map.serialize_entry("attempts", &Each(&receipt.attempts, Try))?;
        map.serialize_entry(
            "usage",
            &receipt
                .usage
                .as_ref()
                .map(|usage| Counts(usage, receipt.estimated)),
        )?;
        map.serialize_entry("cost", &Cost(receipt))?;
        map.serialize_entry("cache", &*receipt.cache)?;
        map.serialize_entry("degraded", &Each(&receipt.degraded, Lost))?;
        map.serialize_entry("optimizations", &receipt.optimizations)?;
        map.serialize_entry("timings_ms", &Stages(receipt))?;
        map.end()
    }
}

struct Counts<'a>(&'a Usage, bool);

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(usage, estimated) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("input_tokens", &usage.prompt())?;
        map.serialize_entry("fresh_input_tokens", &usage.fresh_input)?;
        map.serialize_entry("cache_read_tokens", &usage.cache_read)?;
        map.serialize_entry("cache_write_5m_tokens", &usage.cache_write_5m)?;
        map.serialize_entry("cache_write_1h_tokens", &usage.cache_write_1h)?;
        map.serialize_entry("output_tokens", &usage.output)?;
        map.serialize_entry("reasoning_tokens", &usage.reasoning)?;
        map.serialize_entry("audio_input_tokens", &usage.audio_input)?;
        map.serialize_entry("audio_output_tokens", &usage.audio_output)?;
        map.serialize_entry("web_searches", &usage.web_searches)?;
        map.serialize_entry("estimated", estimated)?;
        map.end()
    }
}

struct Cost<'a>(&'a Receipt);

impl Serialize for Cost<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let amounts = &self.0.amounts;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("mode", self.0.mode.as_str())?;
        map.serialize_entry("currency", "USD")?;
        map.serialize_entry("provider_cost", &amounts.provider_cost.map(Usd))?;
        map.serialize_entry("spread", &Usd(amounts.spread))?;
        map.serialize_entry("spread_bps", &amounts.spread_rate.get())?;
        map.serialize_entry("charge", &Usd(amounts.charge))?;
        map.serialize_entry("shortfall", &Usd(amounts.shortfall))?;
        map.serialize_entry("list_price", &amounts.baseline.map(Usd))?;
        map.serialize_entry("savings", &self.0.savings().map(Usd))?;
        map.serialize_entry("balance", &amounts.balance.map(Usd))?;
        map.end()
    }
}

struct Stages<'a>(&'a Receipt);

impl Serialize for Stages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let timings = &self.0.timings;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("reserved", &timings.reserved.map(ms))?;
        map.serialize_entry("sent", &timings.sent.map(ms))?;
        map.serialize_entry("head", &timings.head.map(ms))?;
        map.serialize_entry("first_content", &timings.first_content.map(ms))?;
        map.serialize_entry("total", &ms(timings.total))?;
        map.end()
    }
}

struct Try<'a>(&'a Attempt);

impl Serialize for Try<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failure = self.0.failure.as_ref();
        let outcome = match failure {
            None => "answered",
            Some(failure) if failure.unknown_outcome => "unknown",
            Some(_) => "failed",
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("provider", &*self.0.backend)?;
        map.serialize_entry("model", &*self.0.model)?;
        map.serialize_entry("outcome", outcome)?;
        map.serialize_entry("class", &failure.map(|failure| failure.class.as_str()))?;
        map.serialize_entry("status", &failure.and_then(|failure| failure.status))?;
        map.serialize_entry("ms", &ms(self.0.duration))?;
        map.end()
    }
}

struct Lost<'a>(&'a Degradation);

impl Serialize for Lost<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("feature", &*self.0.feature)?;
        map.serialize_entry("detail", &*self.0.detail)?;
        map.end()
    }
}

/// The names alone.
struct Features<'a>(&'a [Degradation]);

impl Serialize for Features<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for lost in self.0 {
            list.serialize_element(&*lost.feature)?;
        }
        list.end()
    }
}

/// A list whose elements are each shown by a wrapper.
struct Each<'a, T, F>(&'a [T], F);

impl<'a, T, W: Serialize, F: Fn(&'a T) -> W> Serialize for Each<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// Decimal USD with six digits, as text: numbers would come back as floats.
struct Usd(MicroUsd);

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct Shown<T>(T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
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
