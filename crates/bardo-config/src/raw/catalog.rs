//! The list of models, and corrections to it.

use bardo_types::feature::Feature;
use bardo_types::model::Tier;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::PriceConfig;
use super::privacy::RawSecurityClass;
use crate::units::Span;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogConfig {
    /// Fetch the list of models from each provider.
    pub live: bool,
    /// Fetch it this often.
    pub refresh: Span,
    /// Corrections. They win over the embedded catalog and over the lists of backends.
    #[serde(default)]
    pub models: Vec<OwnerModelConfig>,
}

/// A correction of one model. Fields that are absent stay as they are known.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerModelConfig {
    /// Name of the model, in any spelling.
    pub id: String,
    /// Backend to correct; all backends if absent. The backend serves the model from then on, even
    /// if its list does not have it.
    pub backend: Option<String>,
    /// Known model with the same abilities, if the name itself is unknown.
    pub like: Option<String>,
    /// Tier: `small`, `strong` or `frontier`.
    #[schemars(with = "Option<String>")]
    pub tier: Option<Tier>,
    /// Quality rating from 0 to 100.
    #[schemars(range(max = 100))]
    pub rating: Option<u8>,
    /// Additional features of the model.
    #[serde(default)]
    pub features: Vec<FeatureName>,
    /// Features that the model lacks.
    #[serde(default)]
    pub without: Vec<FeatureName>,
    /// Price of the model.
    pub price: Option<PriceConfig>,
    /// Security class that the backend offers for it: `standard`, `private`, `tee` or `e2ee`.
    pub security: Option<RawSecurityClass>,
}

/// A feature, in any of its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureName(pub Feature);

impl<'de> Deserialize<'de> for FeatureName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Feature::parse(&name).map(Self).ok_or_else(|| {
            let known: Vec<String> = Feature::all().map(|known| format!("`{known}`")).collect();
            D::Error::custom(format!(
                "unknown variant `{name}`, expected one of {}",
                known.join(", ")
            ))
        })
    }
}

impl JsonSchema for FeatureName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Feature".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Feature::all().map(Feature::as_str).collect();
        schemars::json_schema!({ "enum": names })
    }
}
