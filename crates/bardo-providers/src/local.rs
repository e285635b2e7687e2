//! A server of the owner's own in OpenAI format: Ollama, llama.cpp, vLLM, SGLang.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};

use crate::model_list::{ListError, ModelList, openai_rows};
use crate::provider::{Provider, UpstreamCall, openai_path};

pub(crate) struct Local;

impl Provider for Local {
    fn service(&self) -> Service {
        Service::Local
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        openai_path(call)
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        openai_rows(body, catalog)
    }
}
