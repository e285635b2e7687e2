//! The description of OpenRouter, openrouter.ai.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::money::MicroUsd;
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model_list::{ListError, ModelList, openrouter_rows};
use crate::provider::{Operation, Provider, UpstreamCall, bearer, openai_path};

pub(crate) struct OpenRouter;

#[derive(Deserialize)]
struct Enveloped<T> {
    data: T,
}

/// The facts about an answer that OpenRouter tells afterwards.
#[derive(Deserialize)]
struct Generation<'a> {
    /// The cost of the answer, in USD.
    #[serde(borrow)]
    total_cost: &'a RawValue,
}

impl Provider for OpenRouter {
    fn service(&self) -> Service {
        Service::OpenRouter
    }

    /// Claude is reached in its own format where the caller speaks it: cache marks and thinking
    /// signatures survive without translation.
    fn dialects(&self, model: &ModelEntry) -> &'static [Dialect] {
        if model.vendor == "anthropic" {
            &[Dialect::Chat, Dialect::Anthropic]
        } else {
            &[Dialect::Chat]
        }
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match (call.operation, call.dialect) {
            (Operation::CountTokens, _) => None,
            _ => openai_path(call),
        }
    }

    fn authorize(&self, key: &Secret, headers: &mut HeaderMap) {
        headers.insert(
            HeaderName::from_static("x-openrouter-title"),
            HeaderValue::from_static("Bardo Inference"),
        );
        bearer(key, headers);
    }

    /// Usage is always in the last chunk.
    fn usage_on_request(&self) -> bool {
        false
    }

    fn bill_path(&self, id: &str) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_ours = id.starts_with("gen-") && id.bytes().all(is_plain);
        is_ours.then(|| format!("/generation?id={id}"))
    }

    /// With a key of the customer's own at the maker, this is the fee alone.
    fn read_bill(&self, body: &[u8]) -> Option<MicroUsd> {
        let answer: Enveloped<Generation<'_>> = serde_json::from_slice(body).ok()?;
        MicroUsd::from_usd_rounded_up(answer.data.total_cost.get().trim_matches('"'))
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        openrouter_rows(body, catalog)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_of_an_answer_is_read_exactly_and_rounded_up() {
        let bill = |body: &str| OpenRouter.read_bill(body.as_bytes()).map(MicroUsd::get);
        let told = r#"{"data":{"id":"gen-1","total_cost":0.0012345678901,"is_byok":false,"tokens_prompt":7}}"#;
        assert_eq!(bill(told), Some(1_235));
        assert_eq!(bill(r#"{"data":{"total_cost":0}}"#), Some(0));
        assert_eq!(bill(r#"{"data":{"total_cost":null}}"#), None);
        assert_eq!(bill(r#"{"data":{}}"#), None);
        assert_eq!(
            bill(r#"{"error":{"code":404,"message":"not found"}}"#),
            None
        );
    }

    #[test]
    fn only_an_id_of_theirs_is_looked_up() {
        let path = |id: &str| OpenRouter.bill_path(id);
        assert_eq!(
            path("gen-1a_B-2").as_deref(),
            Some("/generation?id=gen-1a_B-2")
        );
        for id in ["", "req_1", "gen-1&x=1", "gen-1/../keys", "gen-ä"] {
            assert_eq!(path(id), None, "{id}");
        }
    }
}
