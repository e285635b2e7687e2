//! api.deepseek.com, in OpenAI format.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};

use crate::model_list::{ListError, ModelList, openai_rows};
use crate::provider::{Operation, Provider, UpstreamCall, openai_path};

pub(crate) struct DeepSeek;

impl Provider for DeepSeek {
    fn service(&self) -> Service {
        Service::DeepSeek
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match (call.operation, call.dialect) {
            (Operation::Embeddings, _) => None,
            // The Anthropic format lives beside the OpenAI one, for owners who ask for it.
            (Operation::Generate { .. }, Dialect::Anthropic) => {
                Some("/anthropic/v1/messages".into())
            }
            _ => openai_path(call),
        }
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        openai_rows(body, catalog)
    }
}
