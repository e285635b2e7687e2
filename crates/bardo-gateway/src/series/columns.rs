//! Figures of series as members of JSON and as columns.

use bardo_ledger::series::{Figure, Histogram, SeriesFigures, SeriesName};
use serde_json::{Map, Value, json};

use crate::usage::BadParameter;

/// A figure as answers show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureColumn {
    /// A count or an amount.
    Figure(Figure),
    /// A quantile of the durations of requests, in thousandths.
    Latency(&'static str, u16),
    /// A quantile of the times to the first content, in thousandths.
    FirstContent(&'static str, u16),
}

const QUANTILES: [FigureColumn; 6] = [
    FigureColumn::Latency("p50_ms", 500),
    FigureColumn::Latency("p95_ms", 950),
    FigureColumn::Latency("p99_ms", 990),
    FigureColumn::FirstContent("first_content_p50_ms", 500),
    FigureColumn::FirstContent("first_content_p95_ms", 950),
    FigureColumn::FirstContent("first_content_p99_ms", 990),
];

/// Columns of a chart that names none.
pub(crate) const USUAL: [FigureColumn; 6] = [
    FigureColumn::Figure(Figure::Requests),
    FigureColumn::Figure(Figure::Failed),
    FigureColumn::Figure(Figure::Cost),
    FigureColumn::Figure(Figure::Savings),
    QUANTILES[0],
    QUANTILES[1],
];

impl FigureColumn {
    /// All columns in their order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Figure::ALL
            .iter()
            .copied()
            .map(Self::Figure)
            .chain(QUANTILES)
    }

    /// Name of the member.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Figure(figure) => figure.as_str(),
            Self::Latency(name, _) | Self::FirstContent(name, _) => name,
        }
    }

    /// Value of the member: amounts as decimal USD, a quantile of nothing as null.
    pub(crate) fn value(self, figures: &SeriesFigures) -> Value {
        let quantile = |of: Histogram, permille| json!(of.quantile(permille));
        match self {
            Self::Figure(figure) if is_amount(figure) => json!(figures.usd(figure).to_string()),
            Self::Figure(figure) => json!(figures.get(figure)),
            Self::Latency(_, permille) => quantile(figures.latency(), permille),
            Self::FirstContent(_, permille) => quantile(figures.first_content(), permille),
        }
    }

    /// Reads a list of names, such as `requests,cost,p95_ms`.
    pub(crate) fn read(list: Option<&str>) -> Result<Vec<Self>, BadParameter> {
        let Some(list) = list else {
            return Ok(USUAL.to_vec());
        };
        let mut columns = Vec::new();
        for name in list.split(',').map(str::trim) {
            let Some(column) = Self::all().find(|one| one.name() == name) else {
                let known: Vec<&str> = Self::all().map(Self::name).collect();
                let message = format!(
                    "`figures` has no `{name}`; use one or more of {}",
                    known.join(", ")
                );
                return Err(BadParameter::new("figures", message));
            };
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        Ok(columns)
    }
}

const fn is_amount(figure: Figure) -> bool {
    matches!(
        figure,
        Figure::ProviderCost
            | Figure::Cost
            | Figure::Charge
            | Figure::Spread
            | Figure::Shortfall
            | Figure::Savings
            | Figure::HashSavings
            | Figure::SemanticSavings
            | Figure::PrefixSavings
    )
}

/// Figures as members of an object.
pub(crate) fn object(
    figures: &SeriesFigures,
    columns: impl IntoIterator<Item = FigureColumn>,
) -> Map<String, Value> {
    let columns = columns.into_iter();
    columns
        .map(|column| (column.name().to_owned(), column.value(figures)))
        .collect()
}

/// A name as rows show it: null for receipts without one. The rest is told by `is_rest`.
pub(crate) fn label(row: &mut Map<String, Value>, name: &SeriesName) {
    row.insert("name".to_owned(), json!(name.label()));
    row.insert("is_rest".to_owned(), json!(*name == SeriesName::Other));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_once_or_refused() {
        let read = FigureColumn::read(Some("requests, p95_ms,requests")).unwrap();
        let names: Vec<_> = read.iter().map(|column| column.name()).collect();
        assert_eq!(names, ["requests", "p95_ms"]);
        let error = FigureColumn::read(Some("p96_ms")).unwrap_err();
        assert!(error.message.contains("`p96_ms`"), "{error}");
        assert_eq!(FigureColumn::read(None).unwrap(), USUAL);
    }

    #[test]
    fn amounts_are_decimals_and_quantiles_of_nothing_are_null() {
        let shown = object(&SeriesFigures::default(), FigureColumn::all());
        assert_eq!(shown["cost"], "0.000000");
        assert_eq!(shown["requests"], 0);
        assert_eq!(shown["p50_ms"], Value::Null);
    }
}
