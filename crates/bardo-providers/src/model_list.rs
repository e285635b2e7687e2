//! How each service lists its models. Rows that make no sense are left out, never guessed at;
//! prices are read as exact decimals or not at all.

mod pricing;

use bardo_router::Catalog;
use bardo_types::json::RawJson;
use bardo_types::model::{Effort, ModelEntry, ThinkingModes};
use serde::Deserialize;

/// Why a list of models was refused.
#[derive(Debug, thiserror::Error)]
#[error("the list of models is malformed: {0}")]
pub struct ListError(#[from] serde_json::Error);

#[derive(Deserialize)]
struct List {
    data: Vec<RawJson>,
}

/// Reads `{"data":[…]}`, each row on its own.
fn rows<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<Vec<T>, ListError> {
    let list: List = serde_json::from_slice(body)?;
    Ok(list.data.iter().filter_map(|row| row.read().ok()).collect())
}

/// What the catalog knows of `upstream`, under the catalog's name where it has one.
fn entry(catalog: &Catalog, upstream: &str) -> ModelEntry {
    let known = catalog.describe(upstream);
    ModelEntry {
        id: known.id,
        upstream_id: upstream.to_owned(),
        display_name: known.display_name,
        vendor: known.vendor,
        tier: known.tier,
        capabilities: known.capabilities,
        price: known.price,
        created: 0,
        embeddings: known.embeddings,
        rating: 0,
        security: bardo_types::privacy::SecurityClass::Standard,
    }
}

pub(crate) fn openai_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        created: Option<u64>,
    }
    let rows: Vec<Row> = rows(body)?;
    Ok(rows
        .into_iter()
        .map(|row| ModelEntry {
            created: row.created.unwrap_or(0),
            ..entry(catalog, &row.id)
        })
        .collect())
}

#[derive(Deserialize)]
struct AnthropicRow {
    id: String,
    display_name: Option<String>,
    max_input_tokens: Option<u64>,
    max_tokens: Option<u64>,
    capabilities: Option<AnthropicCapabilities>,
}

#[derive(Deserialize)]
struct AnthropicCapabilities {
    thinking: Option<AnthropicThinking>,
    effort: Option<std::collections::BTreeMap<String, RawJson>>,
    image_input: Option<RawJson>,
    pdf_input: Option<RawJson>,
    structured_outputs: Option<RawJson>,
}

#[derive(Deserialize)]
struct AnthropicThinking {
    types: Option<std::collections::BTreeMap<String, RawJson>>,
}

/// `true`, or an object that says `"supported": true`.
fn is_supported(raw: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Flag {
        supported: bool,
    }
    raw.as_str() == "true" || raw.read::<Flag>().is_ok_and(|flag| flag.supported)
}

pub(crate) fn anthropic_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    let rows: Vec<AnthropicRow> = rows(body)?;
    Ok(rows
        .into_iter()
        .map(|row| anthropic_entry(row, catalog))
        .collect())
}

fn anthropic_entry(row: AnthropicRow, catalog: &Catalog) -> ModelEntry {
    let mut entry = entry(catalog, &row.id);
    entry.vendor = "anthropic".into();
    if let Some(name) = row.display_name {
        entry.display_name = name;
    }
    let capabilities = &mut entry.capabilities;
    capabilities.context_tokens = row.max_input_tokens.unwrap_or(capabilities.context_tokens);
    capabilities.max_output_tokens = row.max_tokens.unwrap_or(capabilities.max_output_tokens);
    let Some(listed) = row.capabilities else {
        return entry;
    };
    if let Some(types) = listed.thinking.and_then(|thinking| thinking.types) {
        let has = |name: &str| types.get(name).is_some_and(is_supported);
        capabilities.thinking = ThinkingModes {
            adaptive: has("adaptive"),
            budget: has("enabled"),
            disabled: has("disabled"),
            between_tools: has("between_tools"),
            by_default: capabilities.thinking.by_default,
        };
    }
    if let Some(efforts) = listed.effort {
        let mut efforts: Vec<Effort> = efforts
            .iter()
            .filter(|(_, flag)| is_supported(flag))
            .filter_map(|(name, _)| Effort::parse(name))
            .collect();
        efforts.sort_unstable();
        capabilities.efforts = efforts;
    }
    let flag =
        |listed: Option<RawJson>, known: bool| listed.map_or(known, |raw| is_supported(&raw));
    capabilities.images = flag(listed.image_input, capabilities.images);
    capabilities.documents = flag(listed.pdf_input, capabilities.documents);
    capabilities.structured_output =
        flag(listed.structured_outputs, capabilities.structured_output);
    entry
}

pub(crate) fn google_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Row {
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
    let list: Models = serde_json::from_slice(body)?;
    let rows = list.models.iter().filter_map(|row| row.read::<Row>().ok());
    Ok(rows
        .map(|row| {
            let mut entry = entry(catalog, row.name.trim_start_matches("models/"));
            entry.vendor = "google".into();
            let capabilities = &mut entry.capabilities;
            capabilities.context_tokens =
                row.input_token_limit.unwrap_or(capabilities.context_tokens);
            capabilities.max_output_tokens = row
                .output_token_limit
                .unwrap_or(capabilities.max_output_tokens);
            let methods = &row.supported_generation_methods;
            entry.embeddings = entry.embeddings
                || methods.iter().any(|method| method == "embedContent")
                    && !methods.iter().any(|method| method == "generateContent");
            entry
        })
        .collect())
}

pub(crate) fn openrouter_rows(
    body: &[u8],
    catalog: &Catalog,
) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        name: Option<String>,
        created: Option<u64>,
        context_length: Option<u64>,
        pricing: Option<RawJson>,
        architecture: Option<Architecture>,
        supported_parameters: Option<Vec<String>>,
        top_provider: Option<TopProvider>,
    }
    #[derive(Deserialize)]
    struct Architecture {
        #[serde(default)]
        input_modalities: Vec<String>,
    }
    #[derive(Deserialize)]
    struct TopProvider {
        max_completion_tokens: Option<u64>,
    }
    let rows: Vec<Row> = rows(body)?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let mut entry = entry(catalog, &row.id);
            entry.vendor = row
                .id
                .split_once('/')
                .map_or_else(String::new, |(vendor, _)| vendor.to_owned());
            entry.created = row.created.unwrap_or(0);
            entry.display_name = row.name.unwrap_or(entry.display_name);
            let pricing = row.pricing.and_then(|raw| raw.read().ok());
            entry.price =
                pricing.and_then(|pricing: pricing::OpenRouter| pricing.price(&entry.vendor));
            let capabilities = &mut entry.capabilities;
            capabilities.context_tokens = row.context_length.unwrap_or(capabilities.context_tokens);
            if let Some(limit) = row.top_provider.and_then(|top| top.max_completion_tokens) {
                capabilities.max_output_tokens = limit;
            }
            if let Some(architecture) = row.architecture {
                let takes = |kind: &str| {
                    architecture
                        .input_modalities
                        .iter()
                        .any(|listed| listed == kind)
                };
                capabilities.images = takes("image");
                capabilities.audio = takes("audio");
            }
            if let Some(parameters) = row.supported_parameters {
                capabilities.structured_output = parameters
                    .iter()
                    .any(|listed| listed == "structured_outputs");
            }
            entry
        })
        .collect())
}

pub(crate) fn venice_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        created: Option<u64>,
        model_spec: Spec,
        #[serde(rename = "type")]
        kind: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        name: Option<String>,
        available_context_tokens: Option<u64>,
        max_completion_tokens: Option<u64>,
        #[serde(default)]
        offline: bool,
        capabilities: Option<Flags>,
        pricing: Option<RawJson>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Flags {
        #[serde(default)]
        supports_vision: bool,
        #[serde(default)]
        supports_audio_input: bool,
        #[serde(default)]
        supports_response_schema: bool,
        #[serde(default)]
        supports_reasoning: bool,
        #[serde(default)]
        reasoning_effort_options: Vec<String>,
    }
    let rows: Vec<Row> = rows(body)?;
    Ok(rows
        .into_iter()
        .filter(|row| !row.model_spec.offline)
        .map(|row| {
            let spec = row.model_spec;
            let mut entry = entry(catalog, &row.id);
            // The vendor of a name here is who made the model, but Venice is who serves it.
            entry.id = row.id;
            entry.created = row.created.unwrap_or(0);
            entry.embeddings = row.kind.as_deref() == Some("embedding");
            entry.display_name = spec.name.unwrap_or(entry.display_name);
            let pricing = spec.pricing.and_then(|raw| raw.read().ok());
            entry.price = pricing.and_then(|pricing: pricing::Venice| pricing.price(&entry.vendor));
            let capabilities = &mut entry.capabilities;
            capabilities.context_tokens = spec
                .available_context_tokens
                .unwrap_or(capabilities.context_tokens);
            capabilities.max_output_tokens = spec
                .max_completion_tokens
                .unwrap_or(capabilities.max_output_tokens);
            if let Some(flags) = spec.capabilities {
                capabilities.images = flags.supports_vision;
                capabilities.audio = flags.supports_audio_input;
                capabilities.structured_output = flags.supports_response_schema;
                capabilities.thinking.adaptive = flags.supports_reasoning;
                capabilities.efforts = flags
                    .reasoning_effort_options
                    .iter()
                    .filter_map(|name| Effort::parse(name))
                    .collect();
                capabilities.efforts.sort_unstable();
            }
            entry
        })
        .collect())
}

pub(crate) fn bankr_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    struct Row {
        id: String,
        owned_by: Option<String>,
        name: Option<String>,
        context_window: Option<u64>,
        max_output_tokens: Option<u64>,
        input_modalities: Option<Vec<String>>,
        pricing: Option<RawJson>,
    }
    let rows: Vec<Row> = rows(body)?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let mut entry = entry(catalog, &row.id);
            entry.vendor = row.owned_by.unwrap_or(entry.vendor);
            entry.display_name = row.name.unwrap_or(entry.display_name);
            let pricing = row.pricing.and_then(|raw| raw.read().ok());
            entry.price =
                pricing.and_then(|pricing: pricing::PerMillion| pricing.price(&entry.vendor));
            let capabilities = &mut entry.capabilities;
            capabilities.context_tokens = row.context_window.unwrap_or(capabilities.context_tokens);
            capabilities.max_output_tokens = row
                .max_output_tokens
                .unwrap_or(capabilities.max_output_tokens);
            if let Some(kinds) = row.input_modalities {
                capabilities.images = kinds.iter().any(|kind| kind == "image");
            }
            entry
        })
        .collect())
}

pub(crate) fn blockrun_rows(body: &[u8], catalog: &Catalog) -> Result<Vec<ModelEntry>, ListError> {
    #[derive(Deserialize)]
    struct Row {
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
    let rows: Vec<Row> = rows(body)?;
    Ok(rows
        .into_iter()
        .filter(|row| row.categories.iter().any(|category| category == "chat"))
        .map(|row| {
            let mut entry = entry(catalog, &row.id);
            entry.created = row.created.unwrap_or(0);
            entry.vendor = row.owned_by.unwrap_or(entry.vendor);
            entry.display_name = row.name.unwrap_or(entry.display_name);
            let pricing = row.pricing.and_then(|raw| raw.read().ok());
            entry.price =
                pricing.and_then(|pricing: pricing::PerMillion| pricing.price(&entry.vendor));
            let capabilities = &mut entry.capabilities;
            capabilities.context_tokens = row.context_window.unwrap_or(capabilities.context_tokens);
            capabilities.max_output_tokens =
                row.max_output.unwrap_or(capabilities.max_output_tokens);
            capabilities.images = row.categories.iter().any(|category| category == "vision");
            entry
        })
        .collect())
}

#[cfg(test)]
mod tests;
