//! Token budgets of efforts (`data/thinking.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bardo_types::model::Effort;
use serde::Deserialize;

/// Two readings of one effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EffortTokens {
    /// For models that take a number of thinking tokens.
    pub(crate) budget: u64,
    /// For the limit of the answer where the model decides how long it thinks.
    pub(crate) allowance: u64,
}

impl EffortTokens {
    pub(crate) fn of(effort: Effort) -> Self {
        static TABLE: LazyLock<BTreeMap<Effort, EffortTokens>> = LazyLock::new(|| {
            let table: Result<toml::Table, _> = include_str!("../data/thinking.toml").parse();
            let table = table.and_then(toml::Table::try_into);
            table.expect("the embedded table is tested")
        });
        *TABLE.get(&effort).expect("every effort has its row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budgets_are_those_of_the_sources_and_rise() {
        let budget = |effort| EffortTokens::of(effort).budget;
        for (effort, tokens) in [
            (Effort::None, 0),
            (Effort::Low, 1_024),
            (Effort::Medium, 4_096),
            (Effort::High, 16_384),
            (Effort::Max, 65_536),
        ] {
            assert_eq!(budget(effort), tokens, "{effort:?}");
        }
        let all = [
            Effort::None,
            Effort::Minimal,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Xhigh,
            Effort::Max,
        ]
        .map(EffortTokens::of);
        assert!(all.is_sorted_by_key(|tokens| tokens.budget));
        assert!(all.is_sorted_by_key(|tokens| tokens.allowance));
        assert!(all.iter().all(|tokens| tokens.allowance >= tokens.budget));
    }
}
