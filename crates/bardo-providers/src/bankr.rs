//! llm.bankr.bot: prepaid credit behind a key, both formats for all models.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_types::secret::Secret;
use http::header::{HeaderMap, HeaderName};

use crate::model_list::{ListError, ModelList, bankr_rows};
use crate::provider::{Call, Operation, Provider, insert_secret, openai_path};

pub(crate) struct Bankr;

impl Provider for Bankr {
    fn service(&self) -> Service {
        Service::Bankr
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat, Dialect::Anthropic]
    }

    fn path(&self, call: &Call<'_>) -> Option<String> {
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

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        bankr_rows(body, catalog)
    }
}
