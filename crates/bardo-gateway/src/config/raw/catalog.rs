//! The list of models, and what the owner says of them.

use bardo_types::feature::Feature;
use bardo_types::model::Tier;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::PriceConfig;
use super::privacy::Class;
use crate::config::units::Span;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CatalogConfig {
    /// Ask each provider for its list of models.
    pub(crate) live: bool,
    /// How often.
    pub(crate) refresh: Span,
    /// What you know of models; it wins over the snapshot and over what backends list.
    #[serde(default)]
    pub(crate) models: Vec<OwnerModelConfig>,
}

/// A model as its owner describes it; what is left out stays as it is known otherwise.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnerModelConfig {
    /// The model, in any spelling.
    pub(crate) id: String,
    /// The backend of which this is said; of all of them if absent. It is taken to serve the model
    /// whether or not it lists it.
    pub(crate) backend: Option<String>,
    /// The model whose abilities it has, where nobody knows the name.
    pub(crate) like: Option<String>,
    /// Its tier: `small`, `strong` or `frontier`.
    #[schemars(with = "Option<String>")]
    pub(crate) tier: Option<Tier>,
    /// How good it is, from 0 to 100.
    #[schemars(range(max = 100))]
    pub(crate) rating: Option<u8>,
    /// What it offers beside what is known.
    #[serde(default)]
    pub(crate) features: Vec<FeatureName>,
    /// What it does not offer, whatever is known.
    #[serde(default)]
    pub(crate) without: Vec<FeatureName>,
    /// What it costs.
    pub(crate) price: Option<PriceConfig>,
    /// What whoever runs it can learn and keep, at most: `standard`, `private`, `tee` or `e2ee`.
    pub(crate) security: Option<Class>,
}

/// A feature, in any of its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeatureName(pub(crate) Feature);

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
