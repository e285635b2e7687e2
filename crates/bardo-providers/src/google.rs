//! The description of Google's Gemini API.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName};

use crate::model_list::{ListError, ModelList, google_rows};
use crate::provider::{Operation, Provider, UpstreamCall, insert_secret};

pub(crate) struct Google;

impl Provider for Google {
    fn service(&self) -> Service {
        Service::Google
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Gemini]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        let method = match call.operation {
            Operation::Generate { stream: true } => "streamGenerateContent?alt=sse",
            Operation::Generate { stream: false } => "generateContent",
            Operation::CountTokens => "countTokens",
            Operation::Embeddings => "batchEmbedContents",
        };
        let model: String = call
            .model
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c))
            .collect();
        Some(format!("/v1beta/models/{model}:{method}"))
    }

    fn model_in_path(&self) -> bool {
        true
    }

    fn authorize(&self, key: &Secret, headers: &mut HeaderMap) {
        if !key.is_empty() {
            insert_secret(
                headers,
                HeaderName::from_static("x-goog-api-key"),
                key.expose(),
            );
        }
    }

    fn list_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        google_rows(body, catalog)
    }
}
