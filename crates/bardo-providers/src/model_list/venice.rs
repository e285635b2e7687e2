//! Venice's list, which tells what is kept of a request, and whether the model runs in an enclave.

use std::sync::Arc;

use bardo_router::Catalog;
use bardo_types::feature::Feature;
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Effort, ModelEntry, ThinkingModes, ToolFormat};
use bardo_types::privacy::SecurityClass;
use serde::Deserialize;

use super::{ListError, ModelList, data, entry, pricing};

#[derive(Deserialize)]
struct VeniceRow {
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
    privacy: Option<String>,
    available_context_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    #[serde(default)]
    offline: bool,
    capabilities: Option<Flags>,
    pricing: Option<RawJson>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Flags {
    supports_vision: bool,
    supports_audio_input: bool,
    supports_response_schema: bool,
    supports_function_calling: Option<bool>,
    supports_reasoning: bool,
    reasoning_effort_options: Vec<String>,
    supports_web_search: bool,
    supports_tee_attestation: bool,
    #[serde(rename = "supportsE2EE")]
    supports_e2ee: bool,
}

pub(crate) fn venice_rows(body: &[u8], catalog: &Catalog) -> Result<ModelList, ListError> {
    data(body, |row: VeniceRow| {
        if row.model_spec.offline {
            return Ok(None);
        }
        read(row, catalog).map(Some)
    })
}

fn read(row: VeniceRow, catalog: &Catalog) -> Result<ModelEntry, &'static str> {
    let spec = row.model_spec;
    let mut entry = entry(catalog, &row.id);
    // The vendor of a name here is who made the model, but Venice is who serves it.
    entry.id = row.id;
    entry.created = row.created.unwrap_or(entry.created);
    entry.embeddings = row.kind.as_deref() == Some("embedding");
    entry.display_name = spec.name.unwrap_or(entry.display_name);
    let pricing: Option<pricing::VenicePrices> = spec.pricing.and_then(|raw| raw.read().ok());
    entry.price = match pricing {
        None => None,
        Some(pricing) => {
            pricing.check()?;
            pricing.price(&entry.vendor)
        }
    };
    let capabilities = Arc::make_mut(&mut entry.capabilities);
    capabilities.context_tokens = spec
        .available_context_tokens
        .unwrap_or(capabilities.context_tokens);
    capabilities.max_output_tokens = spec
        .max_completion_tokens
        .unwrap_or(capabilities.max_output_tokens);
    entry.security = security(spec.privacy.as_deref(), spec.capabilities.as_ref());
    if let Some(flags) = spec.capabilities {
        flags.change(capabilities, entry.security);
    }
    Ok(entry)
}

/// The protection that the list promises. Only the word `private` is a promise. A model with
/// encrypted requests runs in hardware that attests itself; the encryption itself is up to the
/// client and not a property of the model.
fn security(privacy: Option<&str>, flags: Option<&Flags>) -> SecurityClass {
    if flags.is_some_and(|flags| flags.supports_tee_attestation || flags.supports_e2ee) {
        SecurityClass::Tee
    } else if privacy == Some("private") {
        SecurityClass::Private
    } else {
        SecurityClass::Standard
    }
}

impl Flags {
    fn change(self, capabilities: &mut Capabilities, security: SecurityClass) {
        capabilities.images = self.supports_vision;
        capabilities.audio = self.supports_audio_input;
        capabilities.structured_output = self.supports_response_schema;
        match self.supports_function_calling {
            // Venice turns what the model writes into calls, however it writes them.
            Some(true) => capabilities.tool_format = ToolFormat::Native,
            Some(false) => capabilities.tool_format = ToolFormat::Unsupported,
            None => {}
        }
        capabilities.efforts = self
            .reasoning_effort_options
            .iter()
            .filter_map(|name| Effort::parse(name))
            .collect();
        capabilities.efforts.sort_unstable();
        if self.supports_reasoning {
            capabilities.thinking.adaptive = true;
            // What Venice runs itself shows all that it thinks; what it passes on to others shows
            // what they show.
            capabilities.features = capabilities
                .features
                .with_if(security >= SecurityClass::Private, Feature::VisibleThinking);
        } else {
            capabilities.thinking = ThinkingModes::default();
        }
        capabilities.features = capabilities
            .features
            .without(Feature::WebSearch)
            .with_if(self.supports_web_search, Feature::WebSearch)
            .with_if(self.supports_e2ee, Feature::E2ee);
    }
}
