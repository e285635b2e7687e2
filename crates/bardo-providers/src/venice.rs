//! The description of Venice, api.venice.ai.

use bardo_router::Catalog;
use bardo_types::model::{Dialect, ModelEntry, Service};
use bardo_wire::json::TopLevel;
use bardo_wire::splice::Edit;

use crate::model_list::{ListError, ModelList, venice_rows};
use crate::provider::{Operation, Provider, UpstreamCall, openai_path};

pub(crate) struct Venice;

impl Provider for Venice {
    fn service(&self) -> Service {
        Service::Venice
    }

    fn dialects(&self, _: &ModelEntry) -> &'static [Dialect] {
        &[Dialect::Chat]
    }

    fn path(&self, call: &UpstreamCall<'_>) -> Option<String> {
        match (call.operation, call.dialect) {
            (Operation::CountTokens, _) | (_, Dialect::Anthropic) => None,
            _ => openai_path(call),
        }
    }

    /// Venice puts a prompt of its own before the caller's unless told not to; that changes the
    /// answer and the cache prefix. A caller who sets `venice_parameters` decides.
    fn edits(&self, dialect: Dialect, body: &TopLevel<'_>) -> Vec<Edit> {
        if dialect == Dialect::Chat && body.get("venice_parameters").is_none() {
            vec![Edit::set(
                "venice_parameters",
                r#"{"include_venice_system_prompt":false}"#,
            )]
        } else {
            Vec::new()
        }
    }

    fn parse_list(&self, body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
        venice_rows(body, catalog)
    }
}
