//! Bankr's list. Any member beyond the owner may be missing.

use std::sync::Arc;

use bardo_router::Catalog;
use bardo_types::json::RawJson;
use bardo_types::model::ModelEntry;
use serde::Deserialize;

use super::{ListError, ModelList, data, entry, pricing};

#[derive(Deserialize)]
struct BankrRow {
    id: String,
    owned_by: Option<String>,
    name: Option<String>,
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
    input_modalities: Option<Vec<String>>,
    output_modalities: Option<Vec<String>>,
    pricing: Option<RawJson>,
}

pub(crate) fn bankr_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    data(body, |row: BankrRow| {
        let answers = |kinds: &Vec<String>| kinds.iter().any(|kind| kind == "text");
        if !row.output_modalities.as_ref().is_none_or(answers) {
            return Ok(None);
        }
        read(row, catalog).map(Some)
    })
}

fn read(row: BankrRow, catalog: &Catalog) -> Result<ModelEntry, &'static str> {
    let mut entry = entry(catalog, &row.id);
    entry.vendor = row.owned_by.unwrap_or(entry.vendor);
    entry.display_name = row.name.unwrap_or(entry.display_name);
    let pricing = row.pricing.and_then(|raw| raw.read().ok());
    entry.price = pricing::checked(pricing, &entry.vendor)?;
    let capabilities = Arc::make_mut(&mut entry.capabilities);
    capabilities.context_tokens = row.context_window.unwrap_or(capabilities.context_tokens);
    capabilities.max_output_tokens = row
        .max_output_tokens
        .unwrap_or(capabilities.max_output_tokens);
    if let Some(kinds) = row.input_modalities {
        capabilities.images = kinds.iter().any(|kind| kind == "image");
    }
    Ok(entry)
}
