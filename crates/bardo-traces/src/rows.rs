//! Receipts as rows of an analytics table: one JSON object a line (`JSONEachRow`).

use std::borrow::Borrow;
use std::time::Duration;

use bardo_types::money::MicroUsd;
use bardo_types::receipt::Receipt;
use serde_json::{Value, json};

use crate::spans::error_type;

/// Rows of these receipts, one a line. The columns are those of `deploy/clickhouse/schema.sql`.
#[must_use]
pub fn rows<R: Borrow<Receipt>>(receipts: &[R]) -> Vec<u8> {
    let mut lines = String::with_capacity(receipts.len() * 1_024);
    for receipt in receipts {
        lines.push_str(&row(receipt.borrow()).to_string());
        lines.push('\n');
    }
    lines.into_bytes()
}

/// Name of a batch: the same batch has the same name whenever it is sent, and no other batch has it.
#[must_use]
pub fn batch_name<R: Borrow<Receipt>>(receipts: &[R]) -> String {
    let id = |receipt: Option<&R>| {
        let receipt = receipt.map(Borrow::borrow);
        receipt.map_or(String::new(), |one| one.request_id.to_string())
    };
    format!(
        "{}.{}.{}",
        id(receipts.first()),
        id(receipts.last()),
        receipts.len()
    )
}

fn row(receipt: &Receipt) -> Value {
    let routing = receipt.routing.as_deref();
    let row = routing.and_then(|routing| routing.subsystem.as_deref());
    let golem = routing.and_then(|routing| routing.golem_id.as_deref());
    let usage = receipt.usage.clone().unwrap_or_default();
    let amounts = &receipt.amounts;
    let money = |amount: Option<MicroUsd>| amount.map(MicroUsd::get);
    let lost: Vec<&str> = receipt.degraded.iter().map(|lost| &*lost.feature).collect();
    json!({
        "request_id": receipt.request_id.as_str(),
        "received_ms": receipt.received_at_ms,
        "account": receipt.account.as_str(),
        "golem": golem.unwrap_or_default(),
        "subsystem": row.or(receipt.subsystem.as_deref()).unwrap_or_default(),
        "session": receipt.session.as_deref().unwrap_or_default(),
        "dialect": receipt.dialect.as_str(),
        "model_requested": &*receipt.model_requested,
        "model": &*receipt.model,
        "backend": &*receipt.backend,
        "mode": receipt.mode.as_str(),
        "outcome": receipt.outcome.as_str(),
        "error": error_type(receipt).unwrap_or_default(),
        "stream": receipt.streamed,
        "cache": &*receipt.cache,
        "attempts": receipt.attempts.len(),
        "degraded": lost,
        "input_tokens": usage.prompt(),
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write(),
        "output_tokens": usage.output,
        "reasoning_tokens": usage.reasoning.unwrap_or(0),
        "estimated": receipt.estimated,
        "cost_micro_usd": money(receipt.cost()),
        "provider_cost_micro_usd": money(amounts.provider_cost),
        "charge_micro_usd": amounts.charge.get(),
        "savings_micro_usd": money(receipt.savings()),
        "first_content_us": receipt.timings.first_content.map(micros),
        "duration_us": micros(receipt.timings.total),
    })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::receipt;

    #[test]
    fn a_receipt_is_one_line_with_its_figures() {
        let text = String::from_utf8(rows(&[receipt(), receipt()])).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["golem"], "golem-1");
        assert_eq!(lines[0]["input_tokens"], 1_024);
        assert_eq!(lines[0]["cost_micro_usd"], 1_200);
        assert_eq!(lines[0]["duration_us"], 400_000);
        assert!(!text.contains("key_1"));
    }

    #[test]
    fn a_batch_is_named_by_what_it_has() {
        let one = [receipt()];
        let two = [receipt(), receipt()];
        assert_eq!(batch_name(&one), batch_name(&[receipt()]));
        assert_ne!(batch_name(&one), batch_name(&two));
    }
}
