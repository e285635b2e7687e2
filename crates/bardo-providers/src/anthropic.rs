//! The description of Anthropic, api.anthropic.com: the Messages API.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::model_list::{ListError, ModelList, anthropic_rows};
use crate::provider::{Operation, Provider, UpstreamCall, insert_secret};

pub(crate) struct Anthropic;

/// The version that translated requests are written in. A relayed request keeps its own.
const TRANSLATED_VERSION: HeaderValue = HeaderValue::from_static(bardo_wire::anthropic::VERSION);

impl Provider for Anthropic {
    fn service(&self) -> Service {
        Service::Anthropic
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Anthropic]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match call.operation {
            Operation::Generate { .. } => Some("/v1/messages".into()),
            Operation::CountTokens => Some("/v1/messages/count_tokens".into()),
            Operation::Embeddings => None,
        }
    }

    fn complete(&self, _: Dialect, headers: &mut HeaderMap) {
        let version = HeaderName::from_static("anthropic-version");
        headers.entry(version).or_insert(TRANSLATED_VERSION);
    }

    fn authorize(&self, key: &Secret, headers: &mut HeaderMap) {
        if !key.is_empty() {
            insert_secret(headers, HeaderName::from_static("x-api-key"), key.expose());
        }
    }

    fn list_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        anthropic_rows(body, catalog)
    }
}
