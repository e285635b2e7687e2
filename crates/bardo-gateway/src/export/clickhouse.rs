//! ClickHouse by its HTTP interface: rows of `JSONEachRow`, inserted in batches.

use bardo_telemetry::Metrics;

use super::ReceiptQueue;
use super::destination::Destination;
use super::sinks::{ReceiptSink, SinkForm};
use crate::config::ClickHouseConfig;

/// The settings of an insert: the server gathers small inserts, answers once they are stored, and
/// takes a column that it does not know for a newer gateway's.
const SETTINGS: &str = "&async_insert=1&wait_for_async_insert=1&async_insert_deduplicate=1&input_format_skip_unknown_fields=1";

/// The sink that these settings name, if any.
///
/// # Errors
/// What is wrong with the settings.
pub(crate) fn sink(
    config: &ClickHouseConfig,
    metrics: &Metrics,
) -> Result<Option<ReceiptSink>, String> {
    if config.url.is_empty() {
        return Ok(None);
    }
    for (name, value) in [("database", &config.database), ("table", &config.table)] {
        if !is_name(value) {
            return Err(format!(
                "`telemetry.clickhouse.{name}` must have letters, digits and `_` only, and begin with a letter or `_`"
            ));
        }
    }
    let query = format!(
        "/?database={}&query=INSERT%20INTO%20{}%20FORMAT%20JSONEachRow{SETTINGS}",
        config.database, config.table
    );
    let named = ("telemetry.clickhouse.url", &*config.url);
    let mut destination =
        Destination::new(named, &query, "application/x-ndjson", config.timeout.0)?;
    for (name, value) in [
        ("x-clickhouse-user", &*config.user),
        ("x-clickhouse-key", config.password.expose()),
    ] {
        if !value.is_empty() {
            destination = destination
                .with_header(name, value)
                .map_err(|reason| format!("`telemetry.clickhouse`: {reason}"))?;
        }
    }
    Ok(Some(ReceiptSink {
        name: "clickhouse",
        form: SinkForm::Rows,
        queue: ReceiptQueue::new(config.queue, config.batch, metrics.exports("clickhouse")),
        destination,
        every: config.every.0,
    }))
}

/// Whether a database or a table may have this name without quotes.
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes() {
        for good in ["default", "bardo_receipts", "_1"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "1a", "a b", "a;DROP", "a.b", "a%20b", "ä"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
