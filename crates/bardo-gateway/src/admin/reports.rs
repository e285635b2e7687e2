//! Reports of the admin API: what the console shows, as JSON and as comma-separated values.

use bardo_ledger::series::{Figure, SeriesDimension, SeriesFigures};
use bardo_types::calendar::rfc3339;
use http::Method;
use serde_json::{Map, Value, json};

use super::routes::AdminOperation;
use super::{payments, receipts, routes};
use crate::operator::{Operator, OperatorError, balance_json};
use crate::series::columns::{self, FigureColumn};
use crate::series::{self, ChartQuery, GolemRow, ReportPeriod, SeriesChart};
use crate::usage::{self, BadParameter, Parameters, ReportBody};

const TIMES: &str = "since, from, to";
/// Lines of a chart, unless the query names a number.
const LINES: u32 = 8;
/// Names of a list, unless the query names a number.
const TOP: u32 = 20;
/// Accounts on a page, unless the query names a number.
const ACCOUNTS: u32 = 100;

/// Answers a report; `None` for another path.
pub(crate) async fn answer(
    operator: &Operator,
    path: &str,
    query: Option<&str>,
    accept: Option<&str>,
) -> Option<Result<ReportBody, OperatorError>> {
    let (operation, _) = routes::find(&Method::GET, path)?;
    let is_report = matches!(
        operation,
        AdminOperation::Usage
            | AdminOperation::Receipts
            | AdminOperation::Overview
            | AdminOperation::Series
            | AdminOperation::Top
            | AdminOperation::Golems
            | AdminOperation::Accounts
            | AdminOperation::Payments
            | AdminOperation::PaymentWallets
            | AdminOperation::PaymentDebts
    );
    if !is_report {
        return None;
    }
    let parameters = match Parameters::read(query) {
        Ok(parameters) => parameters,
        Err(error) => return Some(Err(error.into())),
    };
    Some(match operation {
        AdminOperation::Usage => receipts::sums(operator, parameters, accept).await,
        AdminOperation::Receipts => receipts::list(operator, parameters, accept).await,
        AdminOperation::Overview => overview(operator, parameters).await,
        AdminOperation::Series => chart(operator, parameters, accept).await,
        AdminOperation::Top => top(operator, parameters, accept).await,
        AdminOperation::Golems => golems(operator, parameters, accept).await,
        AdminOperation::Payments => payments::list(operator, parameters, accept).await,
        AdminOperation::PaymentWallets => payments::wallets(operator, parameters, accept).await,
        AdminOperation::PaymentDebts => payments::debts(operator, parameters, accept).await,
        _ => accounts(operator, parameters, accept).await,
    })
}

async fn overview(
    operator: &Operator,
    mut parameters: Parameters,
) -> Result<ReportBody, OperatorError> {
    let period = ReportPeriod::read(&mut parameters, operator.clock.now_ms())?;
    parameters.finish(TIMES)?;
    let found = operator.overview(period).await?;
    let shown = |figures: &SeriesFigures| columns::object(figures, FigureColumn::all());
    Ok(ReportBody::Json(json!({
        "object": "overview",
        "from": rfc3339(found.period.from_ms),
        "to": rfc3339(found.period.to_ms),
        "currency": "USD",
        "figures": shown(&found.now),
        "before": shown(&found.before),
        "waiting_receipts": found.waiting,
        "is_back_filling": found.is_back_filling,
    })))
}

async fn chart(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let period = ReportPeriod::read(&mut parameters, operator.clock.now_ms())?;
    let step = series::step(parameters.take("step").as_deref())?;
    let by = dimension(&mut parameters, SeriesDimension::Total)?;
    let shown = FigureColumn::read(parameters.take("figures").as_deref())?;
    let lines = receipts::limit(&mut parameters, LINES, 100)?;
    let only = only(&mut parameters)?;
    parameters.finish(&format!(
        "by, step, figures, limit, format, {TIMES}, or the name of a dimension"
    ))?;
    let query = ChartQuery {
        period,
        step,
        by,
        only,
        lines: usize::try_from(lines).unwrap_or(usize::MAX),
    };
    let chart = operator.chart(query).await?;
    Ok(match is_csv {
        true => ReportBody::Csv(chart_csv(&chart, &shown)),
        false => ReportBody::Json(chart_json(&chart, by, &shown)),
    })
}

/// A chart as JSON: starts once, and for each line its points in their order.
pub(crate) fn chart_json(
    chart: &SeriesChart,
    by: SeriesDimension,
    shown: &[FigureColumn],
) -> Value {
    let starts: Vec<String> = chart.starts.iter().copied().map(rfc3339).collect();
    let lines: Vec<Value> = chart
        .lines
        .iter()
        .map(|line| {
            let mut object = Map::new();
            columns::label(&mut object, &line.name);
            let total = columns::object(&line.total, shown.iter().copied());
            object.insert("total".to_owned(), Value::Object(total));
            for column in shown {
                let points = line.points.iter().map(|point| column.value(point));
                object.insert(column.name().to_owned(), points.collect());
            }
            Value::Object(object)
        })
        .collect();
    json!({
        "object": "series",
        "by": by.as_str(),
        "step": chart.step.as_str(),
        "currency": "USD",
        "starts": starts,
        "data": lines,
    })
}

fn chart_csv(chart: &SeriesChart, shown: &[FigureColumn]) -> String {
    let mut names = vec!["start".to_owned(), "name".to_owned(), "is_rest".to_owned()];
    names.extend(shown.iter().map(|column| column.name().to_owned()));
    let mut rows = Vec::new();
    for line in &chart.lines {
        for (start, point) in chart.starts.iter().zip(&line.points) {
            let mut row = columns::object(point, shown.iter().copied());
            row.insert("start".to_owned(), json!(rfc3339(*start)));
            columns::label(&mut row, &line.name);
            rows.push(row);
        }
    }
    usage::csv(&names, &rows)
}

async fn top(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let period = ReportPeriod::read(&mut parameters, operator.clock.now_ms())?;
    let by = dimension(&mut parameters, SeriesDimension::Model)?;
    let order = match FigureColumn::read(parameters.take("order").as_deref().or(Some("requests")))?
        [..]
    {
        [FigureColumn::Figure(figure), ..] => figure,
        _ => return Err(BadParameter::new("order", "`order` must be a count or an amount").into()),
    };
    let limit = receipts::limit(&mut parameters, TOP, 1_000)?;
    parameters.finish(&format!("by, order, limit, format, {TIMES}"))?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = operator.top(period, by, order, limit).await?;
    let rows: Vec<_> = found
        .iter()
        .map(|row| {
            let mut object = Map::new();
            columns::label(&mut object, &row.name);
            object.extend(columns::object(&row.figures, FigureColumn::all()));
            object
        })
        .collect();
    if is_csv {
        let names = ["name", "is_rest"].into_iter();
        let names = names.chain(FigureColumn::all().map(FigureColumn::name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        return Ok(ReportBody::Csv(usage::csv(&names, &rows)));
    }
    Ok(ReportBody::Json(json!({
        "object": "list",
        "by": by.as_str(),
        "from": rfc3339(period.from_ms),
        "to": rfc3339(period.to_ms),
        "currency": "USD",
        "data": rows,
    })))
}

async fn golems(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let period = ReportPeriod::read(&mut parameters, operator.clock.now_ms())?;
    parameters.finish(&format!("format, {TIMES}"))?;
    let found = operator.golems(period).await?;
    let rows: Vec<Map<String, Value>> = found.iter().map(golem).collect();
    if is_csv {
        let names = [
            "golem",
            "account",
            "last_seen",
            "phase",
            "vitality",
            "sustainability",
            "requests",
            "cost",
            "savings",
        ];
        let names: Vec<String> = names.map(str::to_owned).into();
        return Ok(ReportBody::Csv(usage::csv(&names, &rows)));
    }
    Ok(ReportBody::Json(json!({
        "object": "list",
        "from": rfc3339(period.from_ms),
        "to": rfc3339(period.to_ms),
        "currency": "USD",
        "data": rows,
    })))
}

fn golem(row: &GolemRow) -> Map<String, Value> {
    let seen = &row.seen;
    let amount = |micro: i64| bardo_types::money::SignedMicroUsd::new(micro).to_string();
    let subsystems = row.subsystems.iter().map(|(name, figures)| {
        json!({
            "subsystem": name.label(),
            "requests": figures.get(Figure::Requests),
            "cost": figures.usd(Figure::Cost).to_string(),
        })
    });
    let days = row.days.iter().map(|(start, cost)| {
        let date = bardo_types::calendar::Date::of_days(start / bardo_types::calendar::DAY_MS);
        json!({ "date": date.to_string(), "cost": amount(*cost) })
    });
    let mut object = columns::object(&row.figures, FigureColumn::all());
    for (name, value) in [
        ("golem", json!(seen.golem)),
        ("account", json!(seen.account)),
        ("first_seen", json!(rfc3339(seen.first_seen_ms))),
        ("last_seen", json!(rfc3339(seen.last_seen_ms))),
        ("phase", json!(seen.phase)),
        ("vitality", json!(seen.vitality)),
        ("sustainability", json!(seen.sustainability)),
        ("subsystems", subsystems.collect()),
        ("days", days.collect()),
    ] {
        object.insert(name.to_owned(), value);
    }
    object
}

async fn accounts(
    operator: &Operator,
    mut parameters: Parameters,
    accept: Option<&str>,
) -> Result<ReportBody, OperatorError> {
    let is_csv = usage::is_csv(&mut parameters, accept)?;
    let limit = receipts::limit(&mut parameters, ACCOUNTS, 1_000)?;
    let after = parameters.take("after");
    parameters.finish("limit, after, format")?;
    let page = operator.accounts(after, limit).await?;
    let rows: Vec<Map<String, Value>> = page
        .accounts
        .iter()
        .filter_map(|row| {
            let mut shown = balance_json(&row.account, &row.balance);
            shown["debt"] = json!(row.debt.to_string());
            shown.as_object().cloned()
        })
        .collect();
    if is_csv {
        let names = rows.first().map(|row| row.keys().cloned().collect());
        let names: Vec<String> = names.unwrap_or_default();
        return Ok(ReportBody::Csv(usage::csv(&names, &rows)));
    }
    Ok(ReportBody::Json(json!({
        "object": "list",
        "currency": "USD",
        "data": rows,
        "next": page.next,
    })))
}

/// Reads the dimension of the parameter `by`.
fn dimension(
    parameters: &mut Parameters,
    usual: SeriesDimension,
) -> Result<SeriesDimension, BadParameter> {
    let Some(name) = parameters.take("by") else {
        return Ok(usual);
    };
    let found = SeriesDimension::parse(&name).filter(|one| *one != SeriesDimension::GolemSubsystem);
    found.ok_or_else(|| {
        let known = names().join(", ");
        BadParameter::new("by", format!("`by` has no `{name}`; use {known}"))
    })
}

/// Reads the one name to which a chart is narrowed.
fn only(parameters: &mut Parameters) -> Result<Option<(SeriesDimension, String)>, BadParameter> {
    let mut only = None;
    for name in names() {
        let Some(value) = parameters.take(name) else {
            continue;
        };
        if only.is_some() {
            let message = "a chart can be narrowed to one name";
            return Err(BadParameter::new(name, message));
        }
        only = SeriesDimension::parse(name).map(|dimension| (dimension, value));
    }
    Ok(only)
}

fn names() -> Vec<&'static str> {
    let named = SeriesDimension::ALL
        .into_iter()
        .map(SeriesDimension::as_str);
    named.filter(|name| *name != "golem_subsystem").collect()
}
