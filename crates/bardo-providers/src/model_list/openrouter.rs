//! OpenRouter's list, which tells which parameters a model takes. Whether a provider behind it keeps
//! requests depends on the request (`provider.zdr`), not on the row, so no row is private.

use std::sync::Arc;

use bardo_router::Catalog;
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Effort, ModelEntry, ThinkingModes, ToolFormat};
use serde::Deserialize;

use super::{ListError, ModelList, data, entry, pricing};

#[derive(Deserialize)]
struct OpenRouterRow {
    id: String,
    name: Option<String>,
    created: Option<u64>,
    context_length: Option<u64>,
    pricing: Option<RawJson>,
    architecture: Option<Architecture>,
    supported_parameters: Option<Vec<String>>,
    top_provider: Option<TopProvider>,
    reasoning: Option<ReasoningSupport>,
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

#[derive(Deserialize)]
struct ReasoningSupport {
    #[serde(default)]
    mandatory: bool,
    #[serde(default)]
    supported_efforts: Option<Vec<String>>,
}

pub(crate) fn openrouter_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    data(body, |row: OpenRouterRow| read(row, catalog).map(Some))
}

fn read(row: OpenRouterRow, catalog: &Catalog) -> Result<ModelEntry, &'static str> {
    let mut entry = entry(catalog, &row.id);
    entry.vendor = row
        .id
        .split_once('/')
        .map_or_else(String::new, |(vendor, _)| vendor.to_owned());
    entry.created = row.created.unwrap_or(entry.created);
    entry.display_name = row.name.unwrap_or(entry.display_name);
    let pricing: Option<pricing::OpenRouterPrices> = row.pricing.and_then(|raw| raw.read().ok());
    entry.price = match pricing {
        None => None,
        Some(pricing) => {
            pricing.check()?;
            pricing.price(&entry.vendor)
        }
    };
    let capabilities = Arc::make_mut(&mut entry.capabilities);
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
    if let Some(parameters) = row.supported_parameters.filter(|listed| !listed.is_empty()) {
        take_parameters(capabilities, &parameters);
    }
    if let Some(reasoning) = row.reasoning.filter(|_| capabilities.thinking.any()) {
        capabilities.thinking.disabled = !reasoning.mandatory;
        if let Some(efforts) = reasoning.supported_efforts {
            let efforts = efforts.iter();
            capabilities.efforts = efforts.filter_map(|name| Effort::parse(name)).collect();
            capabilities.efforts.sort_unstable();
        }
    }
    Ok(entry)
}

/// Sets the parameters that a model takes, by the names in the list. The service drops parameters
/// that are not listed in silence, so they count as not taken.
fn take_parameters(capabilities: &mut Capabilities, parameters: &[String]) {
    let takes = |name: &str| parameters.iter().any(|listed| listed == name);
    capabilities.structured_output = takes("structured_outputs");
    capabilities.tool_format = match takes("tools") {
        true => ToolFormat::Native,
        false => ToolFormat::Unsupported,
    };
    capabilities.sampling &= takes("temperature");
    capabilities.top_k &= takes("top_k");
    capabilities.min_p &= takes("min_p");
    capabilities.penalties &= takes("frequency_penalty") || takes("presence_penalty");
    capabilities.seed &= takes("seed");
    if !takes("reasoning") && !takes("include_reasoning") {
        capabilities.thinking = ThinkingModes::default();
        capabilities.efforts.clear();
    } else if !capabilities.thinking.any() {
        capabilities.thinking.adaptive = true;
    }
}
