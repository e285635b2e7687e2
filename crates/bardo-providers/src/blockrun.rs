//! BlockRun, by either of its doors: blockrun.ai, paid per request by x402, and api.blockrun.ai,
//! which takes an account's key and draws on its credit. Formats and models are the same.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};

use crate::model_list::{ListError, ModelList, blockrun_rows};
use crate::provider::{Operation, Provider, UpstreamCall, openai_path};

pub(crate) struct BlockRun;

impl Provider for BlockRun {
    fn service(&self) -> Service {
        Service::BlockRun
    }

    /// Claude is passed through verbatim on `/messages`; other models are converted there, so they
    /// are better asked in their own format.
    fn dialects(&self, model: &ModelEntry) -> &'static [Dialect] {
        if model.vendor == "anthropic" {
            &[Dialect::Chat, Dialect::Anthropic]
        } else {
            &[Dialect::Chat]
        }
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match call.operation {
            Operation::Generate { .. } => openai_path(call),
            Operation::CountTokens | Operation::Embeddings => None,
        }
    }

    /// The service drops a caller's `stream_options` and always reports usage.
    fn usage_on_request(&self) -> bool {
        false
    }

    fn sells_per_call(&self) -> bool {
        true
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        blockrun_rows(body, catalog)
    }
}
