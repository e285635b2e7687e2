//! llm.bankr.bot: prepaid credit behind a key, both formats for all models.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model_list::{ListError, ModelList, bankr_rows};
use crate::provider::{
    Operation, Provider, ProviderUsage, UpstreamCall, insert_secret, openai_path,
};

pub(crate) struct Bankr;

/// The credit of the wallet, in USD.
#[derive(Deserialize)]
struct WalletCredit<'a> {
    #[serde(borrow, default, rename = "effectiveBalanceUsd")]
    effective: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "balanceUsd")]
    balance: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "dailyBudget")]
    daily_budget: Option<&'a RawValue>,
}

/// What the key used. Days out of range are clamped, so the answer's count.
#[derive(Deserialize)]
struct KeyUsage<'a> {
    days: u32,
    #[serde(borrow)]
    totals: UsageTotals<'a>,
}

#[derive(Deserialize)]
struct UsageTotals<'a> {
    #[serde(borrow, rename = "totalCost")]
    cost: &'a RawValue,
}

/// Longest budget of a day that is shown, in bytes; its shape is undocumented.
const BUDGET_MAX: usize = 1_024;

impl Provider for Bankr {
    fn service(&self) -> Service {
        Service::Bankr
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat, Dialect::Anthropic]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match (call.operation, call.dialect) {
            (Operation::Generate { .. }, Dialect::Chat | Dialect::Anthropic) => openai_path(call),
            _ => None,
        }
    }

    fn authorize(&self, key: &Secret, headers: &mut HeaderMap) {
        if !key.is_empty() {
            insert_secret(headers, HeaderName::from_static("x-api-key"), key.expose());
        }
    }

    fn credit_path(&self) -> Option<&'static str> {
        Some("/credits")
    }

    /// Net of what is used and not yet deducted, where Bankr says so.
    fn read_credit(&self, body: &[u8]) -> Option<MicroUsd> {
        let credits: WalletCredit<'_> = serde_json::from_slice(body).ok()?;
        [credits.effective, credits.balance]
            .into_iter()
            .flatten()
            .find_map(|raw| MicroUsd::from_usd_rounded_down(raw.get().trim_matches('"')))
    }

    fn read_daily_budget(&self, body: &[u8]) -> Option<Box<RawValue>> {
        let credits: WalletCredit<'_> = serde_json::from_slice(body).ok()?;
        let budget = credits.daily_budget?;
        (budget.get().len() <= BUDGET_MAX).then(|| budget.to_owned())
    }

    fn usage_path(&self, days: u32) -> Option<String> {
        Some(format!("/usage?days={days}"))
    }

    fn read_usage(&self, body: &[u8]) -> Option<ProviderUsage> {
        let usage: KeyUsage<'_> = serde_json::from_slice(body).ok()?;
        let cost = usage.totals.cost.get().trim_matches('"');
        Some(ProviderUsage {
            days: usage.days,
            cost: MicroUsd::from_usd_rounded_down(cost)?,
        })
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        bankr_rows(body, catalog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_read_net_of_what_is_not_deducted_yet() {
        let credit = |body: &str| Bankr.read_credit(body.as_bytes()).map(MicroUsd::get);
        let told = r#"{"object":"credit_balance","balanceUsd":9.15,"effectiveBalanceUsd":9.1234567,"undeductedCostUsd":0.03}"#;
        assert_eq!(credit(told), Some(9_123_456));
        assert_eq!(credit(r#"{"balanceUsd":"12.50"}"#), Some(12_500_000));
        assert_eq!(credit(r#"{"effectiveBalanceUsd":-0.01}"#), Some(0));
        for silent in [
            r#"{"object":"credit_balance"}"#,
            r#"{"balanceUsd":"much"}"#,
            "[]",
            "",
        ] {
            assert_eq!(credit(silent), None, "{silent}");
        }
    }

    #[test]
    fn a_budget_of_the_day_is_kept_as_it_came() {
        let budget = |body: &str| {
            let budget = Bankr.read_daily_budget(body.as_bytes());
            budget.map(|raw| raw.get().to_owned())
        };
        let told = r#"{"balanceUsd":9,"dailyBudget":{"limitUsd":5,"spentUsd":1.5}}"#;
        assert_eq!(
            budget(told).as_deref(),
            Some(r#"{"limitUsd":5,"spentUsd":1.5}"#)
        );
        let long = format!(r#"{{"dailyBudget":"{}"}}"#, "a".repeat(BUDGET_MAX));
        for none in [
            r#"{"balanceUsd":9}"#,
            r#"{"dailyBudget":null}"#,
            "[]",
            &long,
        ] {
            assert_eq!(budget(none), None, "{none}");
        }
    }

    #[test]
    fn usage_is_counted_over_the_days_of_the_answer() {
        let usage = |body: &str| Bankr.read_usage(body.as_bytes());
        let told = r#"{"object":"usage","days":90,"totals":{"totalCost":0.4100009}}"#;
        let expected = ProviderUsage {
            days: 90,
            cost: MicroUsd::new(410_000),
        };
        assert_eq!(usage(told), Some(expected));
        for silent in ["{}", r#"{"days":30}"#, r#"{"days":30,"totals":{}}"#, "[]"] {
            assert_eq!(usage(silent), None, "{silent}");
        }
        assert_eq!(Bankr.usage_path(30).as_deref(), Some("/usage?days=30"));
    }
}
