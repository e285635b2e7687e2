//! Google's list, which tells sizes and what a model is for.

use std::sync::Arc;

use bardo_router::Catalog;
use bardo_types::json::RawJson;
use serde::Deserialize;

use super::{ListError, ModelList, each, entry};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GoogleRow {
    name: String,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Vec<String>,
}

#[derive(Deserialize)]
struct Models {
    models: Vec<RawJson>,
}

pub(crate) fn google_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    let list: Models = serde_json::from_slice(body)?;
    Ok(each(&list.models, |row: GoogleRow| {
        let mut entry = entry(catalog, row.name.trim_start_matches("models/"));
        entry.vendor = "google".into();
        let capabilities = Arc::make_mut(&mut entry.capabilities);
        capabilities.context_tokens = row.input_token_limit.unwrap_or(capabilities.context_tokens);
        capabilities.max_output_tokens = row
            .output_token_limit
            .unwrap_or(capabilities.max_output_tokens);
        let methods = &row.supported_generation_methods;
        entry.embeddings = entry.embeddings
            || methods.iter().any(|method| method == "embedContent")
                && !methods.iter().any(|method| method == "generateContent");
        Ok(Some(entry))
    }))
}
