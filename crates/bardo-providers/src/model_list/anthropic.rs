//! Anthropic's list, which tells what each model can do.

use std::sync::Arc;

use std::collections::BTreeMap;

use bardo_router::Catalog;
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Effort, ModelEntry, ThinkingModes};
use serde::Deserialize;

use super::{ListError, ModelList, data, entry};

#[derive(Deserialize)]
struct AnthropicRow {
    id: String,
    display_name: Option<String>,
    max_input_tokens: Option<u64>,
    max_tokens: Option<u64>,
    capabilities: Option<ListedCapabilities>,
}

#[derive(Deserialize)]
struct ListedCapabilities {
    thinking: Option<ThinkingSupport>,
    effort: Option<BTreeMap<String, RawJson>>,
    image_input: Option<RawJson>,
    pdf_input: Option<RawJson>,
    structured_outputs: Option<RawJson>,
    citations: Option<RawJson>,
    context_management: Option<RawJson>,
    batch: Option<RawJson>,
}

#[derive(Deserialize)]
struct ThinkingSupport {
    types: Option<BTreeMap<String, RawJson>>,
}

/// `true`, or an object that says `"supported": true`.
fn is_supported(raw: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Flag {
        supported: bool,
    }
    raw.as_str() == "true" || raw.read::<Flag>().is_ok_and(|flag| flag.supported)
}

pub(crate) fn anthropic_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    data(body, |row: AnthropicRow| Ok(Some(read(row, catalog))))
}

fn read(row: AnthropicRow, catalog: &Catalog) -> ModelEntry {
    let mut entry = entry(catalog, &row.id);
    entry.vendor = "anthropic".into();
    if let Some(name) = row.display_name {
        entry.display_name = name;
    }
    let capabilities = Arc::make_mut(&mut entry.capabilities);
    capabilities.context_tokens = row.max_input_tokens.unwrap_or(capabilities.context_tokens);
    capabilities.max_output_tokens = row.max_tokens.unwrap_or(capabilities.max_output_tokens);
    if let Some(listed) = row.capabilities {
        listed.change(capabilities);
    }
    entry
}

impl ListedCapabilities {
    fn change(self, capabilities: &mut Capabilities) {
        if let Some(types) = self.thinking.and_then(|thinking| thinking.types) {
            let has = |name: &str| types.get(name).is_some_and(is_supported);
            capabilities.thinking = ThinkingModes {
                adaptive: has("adaptive"),
                budget: has("enabled"),
                disabled: has("disabled"),
                between_tools: has("between_tools"),
                by_default: capabilities.thinking.by_default,
            };
        }
        if let Some(efforts) = self.effort {
            let mut efforts: Vec<Effort> = efforts
                .iter()
                .filter(|(_, flag)| is_supported(flag))
                .filter_map(|(name, _)| Effort::parse(name))
                .collect();
            efforts.sort_unstable();
            capabilities.efforts = efforts;
        }
        let flag =
            |listed: &Option<RawJson>, known: bool| listed.as_ref().map_or(known, is_supported);
        capabilities.images = flag(&self.image_input, capabilities.images);
        capabilities.documents = flag(&self.pdf_input, capabilities.documents);
        capabilities.structured_output =
            flag(&self.structured_outputs, capabilities.structured_output);
        let known = capabilities.features;
        capabilities.features = [
            (Feature::Citations, &self.citations),
            (Feature::Compaction, &self.context_management),
            (Feature::BatchApi, &self.batch),
        ]
        .into_iter()
        .fold(known, |features: FeatureSet, (feature, listed)| {
            features
                .without(feature)
                .with_if(flag(listed, known.has(feature)), feature)
        })
        .without(Feature::AdaptiveThinking)
        .with_if(capabilities.thinking.adaptive, Feature::AdaptiveThinking);
    }
}
