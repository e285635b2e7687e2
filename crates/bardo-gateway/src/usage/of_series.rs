//! Sums by agent, which no column of receipts has: they come from the series of the store.

use std::collections::BTreeMap;

use bardo_ledger::series::{
    Figure, Resolution, SeriesDimension, SeriesFigures, SeriesName, SeriesQuery,
};
use bardo_ledger::{Dimension, Group, PromptCacheFigures, ReceiptFilter, SumRow, Sums};
use bardo_types::money::MicroUsd;

use super::BadParameter;
use crate::operator::{Operator, OperatorError};

/// Label of agents beyond the largest number of names in a bucket.
const REST: &str = "(other)";

/// Sums of the receipts of a time by agent, and by hour or day where `by` names one. The time is
/// widened to whole hours, or to whole days.
pub(crate) async fn of_golems(
    operator: &Operator,
    filter: &ReceiptFilter,
    by: &[Dimension],
) -> Result<Vec<SumRow>, OperatorError> {
    let refused = |message: &str| Err(BadParameter::new("by", message).into());
    let period = [Dimension::Hour, Dimension::Day];
    if by
        .iter()
        .any(|one| *one != Dimension::Golem && !period.contains(one))
    {
        return refused("`golem` can be combined with `hour` or `day` alone");
    }
    let is_narrowed = filter.key.is_some()
        || filter.model.is_some()
        || filter.backend.is_some()
        || filter.subsystem.is_some()
        || filter.session.is_some()
        || filter.outcome.is_some();
    if is_narrowed {
        return refused("a report by `golem` can be narrowed by time and `account` alone");
    }
    operator.refresh_series().await?;
    let step = match by.iter().find(|one| period.contains(one)) {
        Some(Dimension::Hour) => Resolution::Hour,
        Some(_) => Resolution::Day,
        // Days are exact where the time begins and ends with one.
        None if filter.from_ms.is_multiple_of(Resolution::Day.ms()) => Resolution::Day,
        None => Resolution::Hour,
    };
    let query = SeriesQuery {
        resolution: step,
        from_ms: filter.from_ms,
        to_ms: filter.to_ms,
        account: filter.account.clone(),
        dimension: SeriesDimension::Golem,
        only: None,
        summed: by.len() == 1,
    };
    let mut rows = BTreeMap::<Group, Sums>::new();
    for row in operator.ledger.series(query).await? {
        let golem = match row.name {
            SeriesName::Unnamed => None,
            SeriesName::Other => Some(REST.to_owned()),
            SeriesName::Named(name) => Some(name),
        };
        let group = Group {
            starts_at_ms: (by.len() > 1).then_some(row.starts_at_ms),
            golem,
            ..Group::default()
        };
        rows.entry(group).or_default().add(&sums(&row.figures));
    }
    let row = |(group, sums)| SumRow { group, sums };
    Ok(rows.into_iter().map(row).collect())
}

/// Figures of series as sums of receipts.
fn sums(figures: &SeriesFigures) -> Sums {
    let count = |figure| figures.count(figure);
    let amount = |figure| MicroUsd::new(figures.count(figure));
    let input = [
        Figure::InputTokens,
        Figure::CachedTokens,
        Figure::CacheWriteTokens,
    ];
    Sums {
        requests: count(Figure::Requests),
        failed_requests: count(Figure::Failed),
        unpriced_requests: count(Figure::Unpriced),
        input_tokens: input.map(count).iter().sum(),
        output_tokens: count(Figure::OutputTokens),
        provider_cost: amount(Figure::ProviderCost),
        charge: amount(Figure::Charge),
        savings: amount(Figure::Savings),
        prompt_cache: PromptCacheFigures {
            read_tokens: count(Figure::CachedTokens),
            written_tokens: count(Figure::CacheWriteTokens),
            saved: figures.usd(Figure::PrefixSavings),
        },
    }
}
