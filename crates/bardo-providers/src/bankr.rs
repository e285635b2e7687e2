//! llm.bankr.bot: prepaid credit behind a key, both formats for all models.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model_list::{ListError, ModelList, bankr_rows};
use crate::provider::{Operation, Provider, UpstreamCall, insert_secret, openai_path};

pub(crate) struct Bankr;

/// The credit of the wallet, in USD.
#[derive(Deserialize)]
struct WalletCredit<'a> {
    #[serde(borrow, default, rename = "effectiveBalanceUsd")]
    effective: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "balanceUsd")]
    balance: Option<&'a RawValue>,
}

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
}
