//! The description of OpenRouter, openrouter.ai.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::model_list::{ListError, ModelList, openrouter_rows};
use crate::provider::{Call, Operation, Provider, bearer, openai_path};

pub(crate) struct OpenRouter;

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

    fn path(&self, call: &Call<'_>) -> Option<String> {
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

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        openrouter_rows(body, catalog)
    }
}
