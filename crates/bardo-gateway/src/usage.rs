//! Sums of receipts as pages, tables and files show them: parameters of a query, then rows.

mod csv;
mod of_series;

use std::collections::BTreeMap;

use bardo_ledger::{Dimension, Group, ReceiptFilter, SumRow, Sums};
use bardo_types::calendar::{DAY_MS, Date, rfc3339};
use bardo_types::ids::{AccountId, KeyId};
use serde_json::{Map, Value, json};

use crate::config::units::Span;
use crate::route::percent_decoded;

pub(crate) use self::csv::csv;
pub(crate) use self::of_series::of_golems;

/// Number of days up to today that are covered without dates.
const USUAL_DAYS: u64 = 30;
/// Largest number of days in a report.
const DAYS_MAX: u64 = 400;
/// Largest number of rows in a report over all accounts.
pub(crate) const ROWS_MAX: u32 = 10_000;

/// Body of a report.
pub(crate) enum ReportBody {
    Json(Value),
    Csv(String),
}

/// Reads whether a report is wanted as comma-separated values: `format`, or else the types that the
/// caller accepts.
pub(crate) fn is_csv(
    parameters: &mut Parameters,
    accept: Option<&str>,
) -> Result<bool, BadParameter> {
    match parameters.take("format").as_deref() {
        None => Ok(accept.is_some_and(|accept| accept.contains("text/csv"))),
        Some("json") => Ok(false),
        Some("csv") => Ok(true),
        Some(_) => Err(BadParameter::new("format", "`format` must be json or csv")),
    }
}

/// Reads the dimensions of `by`, or of `group_by`, its other name.
pub(crate) fn grouping(
    parameters: &mut Parameters,
) -> Result<Option<Vec<Dimension>>, BadParameter> {
    let (by, group_by) = (parameters.take("by"), parameters.take("group_by"));
    if by.is_some() && group_by.is_some() {
        let message = "use `by` or `group_by`, not both: they are two names of one parameter";
        return Err(BadParameter::new("group_by", message));
    }
    by.or(group_by).as_deref().map(dimensions).transpose()
}

/// A parameter of a query that cannot be taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct BadParameter {
    /// Name of the parameter.
    pub(crate) name: String,
    /// Text for the caller: what is valid.
    pub(crate) message: String,
}

impl BadParameter {
    pub(crate) fn new(name: &str, message: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            message: message.into(),
        }
    }
}

/// Parameters of a query, each taken once.
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Reads `name=value&…`. Empty values count as absent.
    pub(crate) fn read(query: Option<&str>) -> Result<Self, BadParameter> {
        let mut found = BTreeMap::new();
        for pair in query.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (plain(name), plain(value));
            if value.is_empty() {
                continue;
            }
            if found.insert(name.clone(), value).is_some() {
                let message = format!("the parameter `{name}` is given twice");
                return Err(BadParameter::new(&name, message));
            }
        }
        Ok(Self(found))
    }

    /// Parameters by their names.
    pub(crate) fn of<const COUNT: usize>(given: [(&str, Option<String>); COUNT]) -> Self {
        let given = given.into_iter();
        Self(
            given
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect(),
        )
    }

    /// Whether one of these was given and not taken.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.contains_key(*name))
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// The first name that was given and not taken.
    pub(crate) fn first(&self) -> Option<&str> {
        self.0.keys().next().map(String::as_str)
    }

    /// Refuses what nobody took.
    pub(crate) fn finish(self, known: &str) -> Result<(), BadParameter> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => {
                let message = format!("unknown parameter `{name}`; use {known}");
                Err(BadParameter::new(&name, message))
            }
        }
    }
}

fn plain(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

/// A range of days in UTC, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Days {
    pub(crate) from: Date,
    pub(crate) to: Date,
}

impl Days {
    /// Reads the parameters `from` and `to`; without them the last 30 days.
    pub(crate) fn take(parameters: &mut Parameters, now_ms: u64) -> Result<Self, BadParameter> {
        let mut date = |name: &str| -> Result<Option<u64>, BadParameter> {
            let Some(text) = parameters.take(name) else {
                return Ok(None);
            };
            let date = Date::parse(&text).ok_or_else(|| bad_date(name))?;
            Ok(Some(date.days()))
        };
        let to = date("to")?.unwrap_or(now_ms / DAY_MS);
        let from = date("from")?.unwrap_or_else(|| to.saturating_sub(USUAL_DAYS - 1));
        if from > to || to - from >= DAYS_MAX {
            return Err(bad_date("from"));
        }
        Ok(Self {
            from: Date::of_days(from),
            to: Date::of_days(to),
        })
    }

    /// A filter on these days alone.
    pub(crate) fn filter(self) -> ReceiptFilter {
        ReceiptFilter::between(self.from.days() * DAY_MS, (self.to.days() + 1) * DAY_MS)
    }
}

/// Reads `since`, such as `7d`, or the days of `from` and `to`. Answers the days that the filter
/// touches, and the filter.
pub(crate) fn covered(
    parameters: &mut Parameters,
    now_ms: u64,
) -> Result<(Days, ReceiptFilter), BadParameter> {
    let Some(since) = parameters.take("since") else {
        let days = Days::take(parameters, now_ms)?;
        return Ok((days, days.filter()));
    };
    let bad = |message: String| BadParameter::new("since", message);
    if parameters.0.contains_key("from") || parameters.0.contains_key("to") {
        return Err(bad("use `since`, or `from` and `to`, not both".to_owned()));
    }
    let span: Span = since
        .parse()
        .map_err(|error| bad(format!("`since`: {error}")))?;
    let span_ms = u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX);
    if span_ms >= DAYS_MAX * DAY_MS {
        return Err(bad(format!("`since` must be less than {DAYS_MAX} days")));
    }
    let from_ms = now_ms.saturating_sub(span_ms);
    let days = Days {
        from: Date::of_days(from_ms / DAY_MS),
        to: Date::of_days(now_ms / DAY_MS),
    };
    Ok((days, ReceiptFilter::between(from_ms, now_ms + 1)))
}

fn bad_date(name: &str) -> BadParameter {
    let message = format!(
        "`{name}` must be a date such as 2026-11-20; `from` must not be after `to`, nor more than {DAYS_MAX} days before it"
    );
    BadParameter::new(name, message)
}

/// Reads the list of dimensions `by`, such as `key,day`.
pub(crate) fn dimensions(text: &str) -> Result<Vec<Dimension>, BadParameter> {
    let mut by = Vec::new();
    for name in text.split(',').map(str::trim) {
        let found = Dimension::ALL.into_iter().find(|one| one.as_str() == name);
        let Some(dimension) = found else {
            let known: Vec<&str> = Dimension::ALL.iter().map(|one| one.as_str()).collect();
            let message = format!(
                "`by` has no dimension `{name}`; use one or more of {}",
                known.join(", ")
            );
            return Err(BadParameter::new("by", message));
        };
        if !by.contains(&dimension) {
            by.push(dimension);
        }
    }
    Ok(by)
}

/// Takes the filters on names.
pub(crate) fn names(
    parameters: &mut Parameters,
    filter: &mut ReceiptFilter,
) -> Result<(), BadParameter> {
    if let Some(account) = parameters.take("account") {
        let found = AccountId::parse(&account);
        filter.account = Some(
            found.map_err(|error| BadParameter::new("account", format!("`account`: {error}")))?,
        );
    }
    if let Some(key) = parameters.take("key") {
        let found = KeyId::parse(&key);
        filter.key =
            Some(found.map_err(|error| BadParameter::new("key", format!("`key`: {error}")))?);
    }
    filter.model = parameters.take("model");
    filter.backend = parameters.take("backend");
    filter.subsystem = parameters.take("subsystem");
    filter.session = parameters.take("session");
    filter.outcome = parameters.take("outcome");
    if let Some(outcome) = &filter.outcome
        && !["finished", "aborted", "failed", "unknown"].contains(&&**outcome)
    {
        return Err(BadParameter::new(
            "outcome",
            "`outcome` must be finished, aborted, failed or unknown",
        ));
    }
    Ok(())
}

/// Label of a dimension in rows.
pub(crate) fn label(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Day => "date",
        Dimension::Backend => "provider",
        Dimension::Hour
        | Dimension::Account
        | Dimension::Key
        | Dimension::Model
        | Dimension::Subsystem
        | Dimension::Session
        | Dimension::Golem => dimension.as_str(),
    }
}

/// Value of a dimension in rows: a text, or null where the receipts have none.
pub(crate) fn value(group: &Group, dimension: Dimension) -> Value {
    match dimension {
        Dimension::Day => json!(
            group
                .starts_at_ms
                .map(|ms| Date::of_days(ms / DAY_MS).to_string())
        ),
        Dimension::Hour => json!(group.starts_at_ms.map(rfc3339)),
        Dimension::Account => json!(group.account),
        Dimension::Key => json!(group.key),
        Dimension::Model => json!(group.model),
        Dimension::Backend => json!(group.backend),
        Dimension::Subsystem => json!(group.subsystem),
        Dimension::Session => json!(group.session),
        Dimension::Golem => json!(group.golem),
    }
}

/// Place of a group in a report: by the dimensions in the order in which they were asked for.
pub(crate) fn place(group: &Group, by: &[Dimension]) -> Vec<Option<String>> {
    let text = |dimension: &Dimension| value(group, *dimension).as_str().map(str::to_owned);
    by.iter().map(text).collect()
}

/// Dimensions of a group as members of a row.
pub(crate) fn labels(group: &Group, by: &[Dimension]) -> Map<String, Value> {
    by.iter()
        .map(|dimension| (label(*dimension).to_owned(), value(group, *dimension)))
        .collect()
}

/// Counts of requests and tokens as members of a row.
pub(crate) fn counts(sums: &Sums, row: &mut Map<String, Value>) {
    let counts = [
        ("requests", sums.requests),
        ("failed_requests", sums.failed_requests),
        ("unpriced_requests", sums.unpriced_requests),
        ("input_tokens", sums.input_tokens),
        ("output_tokens", sums.output_tokens),
        ("cache_read_tokens", sums.prompt_cache.read_tokens),
        ("cache_write_tokens", sums.prompt_cache.written_tokens),
    ];
    row.extend(counts.map(|(name, count)| (name.to_owned(), json!(count))));
}

/// An amount as decimal USD; null where no request has a known cost.
pub(crate) fn known(sums: &Sums, amount: impl ToString) -> Value {
    json!(sums.is_cost_known().then(|| amount.to_string()))
}

/// Sums as members of a row over all accounts.
pub(crate) fn amounts(sums: &Sums, row: &mut Map<String, Value>) {
    counts(sums, row);
    row.insert("cost".to_owned(), known(sums, sums.provider_cost));
    row.insert("charge".to_owned(), json!(sums.charge.to_string()));
    row.insert("savings".to_owned(), known(sums, sums.savings));
    row.insert(
        "cache_savings".to_owned(),
        known(sums, sums.prompt_cache.saved),
    );
}

/// Sums of all rows.
pub(crate) fn total(rows: &[SumRow]) -> Sums {
    let mut total = Sums::default();
    for row in rows {
        total.add(&row.sums);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Parameters {
        Parameters::read(Some(query)).unwrap()
    }

    #[test]
    fn parameters_are_decoded_and_taken_once() {
        let mut parameters = read("session=a%20b+c&key=&from=2026-11-01");
        assert_eq!(parameters.take("session").as_deref(), Some("a b c"));
        assert_eq!(parameters.take("key"), None);
        let error = parameters.finish("by").unwrap_err();
        assert_eq!(error.name, "from");
        let twice = Parameters::read(Some("key=a&key=b"));
        assert_eq!(twice.err().map(|error| error.name).as_deref(), Some("key"));
        assert!(Parameters::read(None).unwrap().finish("by").is_ok());
    }

    #[test]
    fn days_are_inclusive_and_at_most_400() {
        let now_ms = 1_795_190_400_000;
        let take = |query: &str| Days::take(&mut read(query), now_ms);
        let filter = take("from=2026-11-01&to=2026-11-01").unwrap().filter();
        assert_eq!(filter.to_ms - filter.from_ms, DAY_MS);
        let usual = take("").unwrap();
        assert_eq!(usual.from.to_string(), "2026-10-22");
        assert_eq!(usual.to.to_string(), "2026-11-20");
        for (query, name) in [
            ("from=yesterday", "from"),
            ("to=2026-13-01", "to"),
            ("from=2026-11-02&to=2026-11-01", "from"),
            ("from=2020-01-01", "from"),
        ] {
            let error = take(query).unwrap_err();
            assert_eq!(error.name, name, "{query}: {error}");
        }
    }

    #[test]
    fn a_report_covers_a_time_up_to_now_or_days_and_never_both() {
        let now_ms = 1_795_190_400_000;
        let take = |query: &str| covered(&mut read(query), now_ms);
        let (days, filter) = take("since=36h").unwrap();
        assert_eq!(filter.from_ms, now_ms - 36 * 3_600_000);
        assert_eq!(filter.to_ms, now_ms + 1);
        assert_eq!(days.from.to_string(), "2026-11-19");
        assert_eq!(days.to.to_string(), "2026-11-20");
        for query in ["since=7d&from=2026-11-01", "since=soon", "since=2years"] {
            assert_eq!(take(query).unwrap_err().name, "since", "{query}");
        }
    }

    #[test]
    fn dimensions_are_named_once_or_refused() {
        use Dimension::{Day, Key};
        assert_eq!(dimensions("key, day,key"), Ok(vec![Key, Day]));
        let error = dimensions("key,week").unwrap_err();
        assert_eq!(error.name, "by");
        assert!(error.message.contains("`week`"), "{error}");
        assert!(dimensions("").is_err());
    }

    #[test]
    fn a_filter_that_cannot_be_is_refused_by_its_name() {
        for (query, name) in [
            ("account=a/b", "account"),
            ("key=a b", "key"),
            ("outcome=good", "outcome"),
        ] {
            let error = names(&mut read(query), &mut ReceiptFilter::default()).unwrap_err();
            assert_eq!(error.name, name);
        }
    }
}
