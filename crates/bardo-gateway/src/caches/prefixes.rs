//! What providers read from their prompt caches, from the series of receipts.

use std::time::Duration;

use bardo_ledger::series::{Figure, Resolution, SeriesDimension, SeriesFigures, SeriesName};
use bardo_providers::BUILT_IN;
use bardo_types::ids::AccountId;
use serde_json::{Value, json};

use crate::operator::{Operator, OperatorError};
use crate::series::{ChartQuery, ReportPeriod};

/// Hours that the figures cover.
const HOURS: u64 = 24;
/// Most backends by name.
const BACKENDS: usize = 20;

/// Adds the figures of the last day to the figures of stored answers, for one account or for all.
/// A store that does not answer is named in place of them.
pub(crate) async fn with_prompt_caches(
    operator: &Operator,
    account: Option<&AccountId>,
    mut shown: Value,
) -> Value {
    let read = prompt_caches(operator, account).await;
    shown["prompt_caches"] = read.unwrap_or_else(|error| json!({ "error": error.to_string() }));
    shown
}

async fn prompt_caches(
    operator: &Operator,
    account: Option<&AccountId>,
) -> Result<Value, OperatorError> {
    let now_ms = operator.clock.now_ms();
    let chart = operator.chart(ChartQuery {
        period: ReportPeriod::last(now_ms, Duration::from_secs(HOURS * 3_600)),
        step: Some(Resolution::Hour),
        by: SeriesDimension::Backend,
        only: account.map(|account| (SeriesDimension::Account, account.to_string())),
        lines: BACKENDS,
    });
    let lines = chart.await?.lines;
    let mut all = SeriesFigures::default();
    let mut backends = Vec::new();
    for line in lines {
        // The model in this program makes vectors only, and has no cache of prompts.
        if matches!(&line.name, SeriesName::Named(name) if name == BUILT_IN) {
            continue;
        }
        all.add(&line.total);
        let mut row = figures(&line.total);
        row["backend"] = match line.name {
            SeriesName::Named(name) => json!(name),
            SeriesName::Other => json!("other"),
            // No provider answered: a stored answer, or a failure.
            SeriesName::Unnamed => continue,
        };
        backends.push(row);
    }
    let mut shown = figures(&all);
    shown["hours"] = json!(HOURS);
    shown["backends"] = json!(backends);
    Ok(shown)
}

fn figures(figures: &SeriesFigures) -> Value {
    let [read, written, fresh] = [
        Figure::CachedTokens,
        Figure::CacheWriteTokens,
        Figure::InputTokens,
    ]
    .map(|figure| figures.count(figure));
    let prompt = read + written + fresh;
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let share = (prompt > 0).then(|| read as f64 / prompt as f64);
    json!({
        "prompt_tokens": prompt,
        "read_tokens": read,
        "written_tokens": written,
        "read_share": share,
        "saved_usd": figures.usd(Figure::PrefixSavings).to_string(),
    })
}

/// The figures as lines for people.
pub(crate) fn prompt_cache_words(shown: &Value) -> Vec<String> {
    if let Some(error) = shown["error"].as_str() {
        return vec![format!("prefixes  not known: {error}")];
    }
    let count = |row: &Value, name: &str| row[name].as_u64().unwrap_or(0);
    let line = |row: &Value| {
        let share = row["read_share"].as_f64().unwrap_or(0.0) * 100.0;
        format!(
            "{} of {} prompt tokens read from the provider's cache ({share:.1} %), {} written, saved {} USD",
            count(row, "read_tokens"),
            count(row, "prompt_tokens"),
            count(row, "written_tokens"),
            row["saved_usd"].as_str().unwrap_or("0"),
        )
    };
    let mut lines = vec![format!("prefixes  24 hours: {}", line(shown))];
    for row in shown["backends"].as_array().into_iter().flatten() {
        let name = row["backend"].as_str().unwrap_or_default();
        lines.push(format!("prefixes  {name}: {}", line(row)));
    }
    lines
}
