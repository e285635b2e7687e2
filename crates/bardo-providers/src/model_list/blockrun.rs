//! BlockRun's list, which tells what each model is for.

use std::sync::Arc;

use bardo_router::Catalog;
use bardo_types::json::RawJson;
use bardo_types::model::ModelEntry;
use serde::Deserialize;

use super::{ListError, ModelList, data, entry, pricing};

#[derive(Deserialize)]
struct BlockrunRow {
    id: String,
    created: Option<u64>,
    owned_by: Option<String>,
    name: Option<String>,
    context_window: Option<u64>,
    max_output: Option<u64>,
    #[serde(default)]
    categories: Vec<String>,
    pricing: Option<RawJson>,
}

pub(crate) fn blockrun_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    data(body, |row: BlockrunRow| {
        if !row.categories.iter().any(|category| category == "chat") {
            return Ok(None);
        }
        read(row, catalog).map(Some)
    })
}

fn read(row: BlockrunRow, catalog: &Catalog) -> Result<ModelEntry, &'static str> {
    let mut entry = entry(catalog, &row.id);
    entry.created = row.created.unwrap_or(entry.created);
    entry.vendor = row.owned_by.unwrap_or(entry.vendor);
    entry.display_name = row.name.unwrap_or(entry.display_name);
    let pricing = row.pricing.and_then(|raw| raw.read().ok());
    entry.price = pricing::checked(pricing, &entry.vendor)?;
    let capabilities = Arc::make_mut(&mut entry.capabilities);
    capabilities.context_tokens = row.context_window.unwrap_or(capabilities.context_tokens);
    capabilities.max_output_tokens = row.max_output.unwrap_or(capabilities.max_output_tokens);
    capabilities.images = row.categories.iter().any(|category| category == "vision");
    Ok(entry)
}
