use std::collections::BTreeMap;

use bardo_types::model::{Capabilities, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use serde::Deserialize;

use crate::name::normalize;

/// A model as the embedded snapshot, or an owner, describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    /// The name it is listed under.
    pub id: String,
    /// A name for people.
    pub display_name: String,
    /// Who made it.
    pub vendor: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The maker's list price, where published.
    pub price: Option<Price>,
    /// Its tier, where rated.
    pub tier: Option<Tier>,
    /// Whether it makes embeddings.
    pub embeddings: bool,
}

/// What is known of models, by spelling-free name.
#[derive(Debug, Clone)]
pub struct Catalog {
    dated: String,
    models: BTreeMap<String, KnownModel>,
    families: BTreeMap<String, Capabilities>,
    guesses: Vec<(String, String)>,
    resellers: BTreeMap<Service, Vec<(String, String)>>,
}

/// Why catalog data was refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Not TOML, or members it should not have.
    #[error("catalog data is malformed: {0}")]
    Malformed(#[from] toml::de::Error),
    /// A row names a family that is not there.
    #[error("model `{model}` names the unknown family `{family}`")]
    UnknownFamily {
        /// The row.
        model: String,
        /// The name.
        family: String,
    },
    /// A price that is no exact decimal.
    #[error("model `{model}` has a price that is not an exact decimal")]
    Price {
        /// The row.
        model: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    dated: String,
    family: BTreeMap<String, Capabilities>,
    guesses: Rows<Guess>,
    models: Rows<Row>,
    backend: BTreeMap<Service, Reseller>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows<T> {
    rows: Vec<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guess {
    prefix: String,
    family: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    name: String,
    vendor: String,
    family: String,
    tier: Option<Tier>,
    price: Option<PriceRow>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    embeddings: bool,
    mid_system: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
    cache_write_1h: Option<String>,
    web_search: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reseller {
    models: Vec<ResellerRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResellerRow {
    id: String,
    upstream: String,
}

impl PriceRow {
    fn read(&self) -> Option<Price> {
        let read = |text: &String| PricePerMillion::from_usd_per_million(text).ok();
        let optional = |text: &Option<String>| match text {
            None => Some(None),
            Some(text) => read(text).map(Some),
        };
        Some(Price {
            input: read(&self.input)?,
            output: read(&self.output)?,
            cache_read: optional(&self.cache_read)?,
            cache_write_5m: optional(&self.cache_write)?,
            cache_write_1h: optional(&self.cache_write_1h)?,
            web_search: match &self.web_search {
                None => None,
                Some(text) => Some(MicroUsd::from_usd(text).ok()?),
            },
            ..Price::default()
        })
    }
}

impl Catalog {
    /// The snapshot in this binary.
    #[must_use]
    pub fn embedded() -> Self {
        Self::parse(include_str!("../data/catalog.toml")).expect("the embedded catalog is tested")
    }

    /// Reads catalog data.
    ///
    /// # Errors
    /// See [`CatalogError`].
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        let file: File = toml::from_str(text)?;
        let mut models = BTreeMap::new();
        for row in &file.models.rows {
            let unknown = || CatalogError::UnknownFamily {
                model: row.id.clone(),
                family: row.family.clone(),
            };
            let mut capabilities = file.family.get(&row.family).ok_or_else(unknown)?.clone();
            capabilities.mid_system = row.mid_system.unwrap_or(capabilities.mid_system);
            let price = match &row.price {
                None => None,
                Some(price) => Some(price.read().ok_or_else(|| CatalogError::Price {
                    model: row.id.clone(),
                })?),
            };
            let known = KnownModel {
                id: row.id.clone(),
                display_name: row.name.clone(),
                vendor: row.vendor.clone(),
                capabilities,
                price,
                tier: row.tier,
                embeddings: row.embeddings,
            };
            for name in row.aliases.iter().chain([&row.id]) {
                models.insert(normalize(name), known.clone());
            }
        }
        for guess in &file.guesses.rows {
            if !file.family.contains_key(&guess.family) {
                return Err(CatalogError::UnknownFamily {
                    model: guess.prefix.clone(),
                    family: guess.family.clone(),
                });
            }
        }
        Ok(Self {
            dated: file.dated,
            models,
            guesses: file
                .guesses
                .rows
                .into_iter()
                .map(|guess| (guess.prefix, guess.family))
                .collect(),
            families: file.family,
            resellers: file
                .backend
                .into_iter()
                .map(|(service, rows)| {
                    (
                        service,
                        rows.models
                            .into_iter()
                            .map(|row| (row.id, row.upstream))
                            .collect(),
                    )
                })
                .collect(),
        })
    }

    /// The day the snapshot was made.
    #[must_use]
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// The model of that name in any spelling, aliases included.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&KnownModel> {
        self.models.get(&normalize(name))
    }

    /// Every model once, by id.
    pub fn models(&self) -> impl Iterator<Item = &KnownModel> {
        self.models
            .iter()
            .filter(|(name, model)| **name == normalize(&model.id))
            .map(|(_, model)| model)
    }

    /// (listed id, upstream name) of what a reselling service is known to serve.
    #[must_use]
    pub fn resold_by(&self, service: Service) -> &[(String, String)] {
        self.resellers.get(&service).map_or(&[], Vec::as_slice)
    }

    /// What is known of `name`, or what models of its kind are like.
    #[must_use]
    pub fn describe(&self, name: &str) -> KnownModel {
        if let Some(known) = self.find(name) {
            return known.clone();
        }
        let normal = normalize(name);
        let family = self
            .guesses
            .iter()
            .find(|(prefix, _)| normal.starts_with(prefix.as_str()));
        let capabilities = family
            .and_then(|(_, family)| self.families.get(family))
            .cloned()
            .unwrap_or_default();
        KnownModel {
            id: name.to_owned(),
            display_name: name.to_owned(),
            vendor: name
                .split_once('/')
                .map_or_else(String::new, |(vendor, _)| vendor.to_owned()),
            capabilities,
            price: None,
            tier: None,
            embeddings: normal.contains("embed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snapshot_parses_and_resellers_name_known_models_or_describe_them() {
        let catalog = Catalog::embedded();
        assert!(catalog.models().count() > 40);
        for service in [
            Service::OpenRouter,
            Service::BlockRun,
            Service::Bankr,
            Service::Venice,
        ] {
            assert!(!catalog.resold_by(service).is_empty());
            for (id, upstream) in catalog.resold_by(service) {
                assert!(!upstream.is_empty(), "{id}");
            }
        }
    }

    #[test]
    fn bug_32_unknown_newer_models_are_like_the_newest_of_their_family() {
        let catalog = Catalog::embedded();
        let newer = catalog.describe("claude-opus-6-1");
        assert_eq!(
            newer.capabilities,
            catalog.find("claude-opus-5-5").unwrap().capabilities
        );
        assert!(!newer.capabilities.thinking.budget);
        let old = catalog.describe("claude-opus-4-7");
        assert!(old.capabilities.thinking.adaptive && !old.capabilities.thinking.budget);
    }

    #[test]
    fn aliases_and_spellings_find_the_same_model() {
        let catalog = Catalog::embedded();
        assert_eq!(
            catalog.find("anthropic/claude-opus-4.6").unwrap().id,
            "claude-opus-4-6"
        );
        assert_eq!(catalog.find("sonnet").unwrap().id, "claude-sonnet-5-5");
        assert!(catalog.find("gpt-9").is_none());
    }
}
