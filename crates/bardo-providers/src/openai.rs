//! api.openai.com: Chat Completions and Responses.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};

use crate::model_list::{ListError, ModelList, openai_rows};
use crate::provider::{Provider, UpstreamCall, openai_path};

pub(crate) struct OpenAi;

impl Provider for OpenAi {
    fn service(&self) -> Service {
        Service::OpenAi
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat, Dialect::Responses]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        if call.dialect == Dialect::Anthropic {
            None
        } else {
            openai_path(call)
        }
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        openai_rows(body, catalog)
    }
}
