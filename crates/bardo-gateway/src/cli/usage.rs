//! `usage`: sums of requests, tokens and costs over all accounts.

use bardo_ledger::ReceiptFilter;
use bardo_types::clock::{Clock as _, SystemClock};
use clap::Args;
use serde_json::{Map, Value};

use super::{CliFailure, Common, say, show, table};
use crate::operator::ReceiptSums;
use crate::stores;
use crate::usage::{self, BadParameter, Parameters};

#[derive(Args)]
pub(super) struct UsageArgs {
    #[command(flatten)]
    common: Common,
    /// Group by one or more of hour, day, account, key, model, backend, subsystem, session and
    /// golem, such as key,day.
    #[arg(long, value_name = "LIST", default_value = "key")]
    by: String,
    /// Time up to now, such as 7d [default: the last 30 days].
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["from", "to"])]
    since: Option<String>,
    /// First day (UTC), such as 2026-11-01.
    #[arg(long, value_name = "DATE")]
    from: Option<String>,
    /// Last day (UTC) [default: today].
    #[arg(long, value_name = "DATE")]
    to: Option<String>,
    /// Sum only requests of this account.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Sum only requests of this key.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Sum only requests that this model answered.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Sum only requests that this backend answered.
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Sum only requests of this subsystem.
    #[arg(long, value_name = "NAME")]
    subsystem: Option<String>,
    /// Sum only requests of this session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Sum only requests that ended like this: finished, aborted, failed or unknown.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub(super) fn run(args: UsageArgs) -> Result<(), CliFailure> {
    let by = usage::dimensions(&args.by).map_err(wrong)?;
    let (common, is_csv) = (args.common.clone(), args.csv);
    let filter = filter(args).map_err(wrong)?;
    let (report, kind) = stores::reading(&common, async |operator| {
        let key = filter.key.clone();
        let report = operator.usage(filter, &by).await?;
        if let Some(key) = key.filter(|_| report.rows.is_empty()) {
            operator.check_key(&key).await?;
        }
        Ok(report)
    })?;
    if common.json {
        for row in report.rows {
            show(&common, kind, &Value::Object(row), |_| String::new());
        }
    } else if is_csv {
        say(usage::csv(&report.columns, &report.rows).trim_end());
    } else if report.rows.is_empty() {
        say("no request within this time");
    } else {
        table(&lines(&report)).iter().for_each(say);
    }
    Ok(())
}

fn wrong(error: BadParameter) -> CliFailure {
    CliFailure::new("usage", format!("--{}: {error}", error.name))
}

fn filter(args: UsageArgs) -> Result<ReceiptFilter, BadParameter> {
    let mut parameters = Parameters::of([
        ("since", args.since),
        ("from", args.from),
        ("to", args.to),
        ("account", args.account),
        ("key", args.key),
        ("model", args.model),
        ("backend", args.backend),
        ("subsystem", args.subsystem),
        ("session", args.session),
        ("outcome", args.outcome),
    ]);
    let (_, mut filter) = usage::covered(&mut parameters, SystemClock.now_ms())?;
    usage::names(&mut parameters, &mut filter)?;
    Ok(filter)
}

/// A heading, a line for each row, and the sums of all.
fn lines(report: &ReceiptSums) -> Vec<Vec<String>> {
    let heading = report
        .columns
        .iter()
        .map(|column| heading(column).to_uppercase());
    let cells = |row: &Map<String, Value>| -> Vec<String> {
        let columns = report.columns.iter();
        columns.map(|column| cell(row.get(column))).collect()
    };
    let mut total = cells(&report.total);
    if let Some(first) = total.first_mut() {
        "total".clone_into(first);
    }
    let mut lines = vec![heading.collect()];
    lines.extend(report.rows.iter().map(cells));
    lines.push(total);
    lines
}

/// A short heading of a column.
fn heading(column: &str) -> &str {
    match column {
        "key_name" => "name",
        "failed_requests" => "failed",
        "unpriced_requests" => "unpriced",
        "input_tokens" => "input",
        "output_tokens" => "output",
        "cache_read_tokens" => "cache_read",
        "cache_write_tokens" => "cache_write",
        other => other,
    }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) if text.is_empty() => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
