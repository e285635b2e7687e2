//! `data/catalog.toml` as it is written, and how it is read.

use std::collections::BTreeMap;

use bardo_types::feature::FeatureSet;
use bardo_types::model::{Capabilities, Effort, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::privacy::SecurityClass;
use serde::Deserialize;

use super::{Catalog, CatalogError, KnownModel, Resold};
use crate::name::normalize;

/// The best that a model can be rated.
pub(super) const RATING_MAX: u8 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    dated: String,
    family: BTreeMap<String, Capabilities>,
    guesses: Rows<Guess>,
    models: Rows<Row>,
    #[serde(default)]
    successors: Rows<Successor>,
    backend: BTreeMap<Service, Reseller>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows<T> {
    rows: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guess {
    prefix: String,
    family: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Successor {
    id: String,
    now: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    name: String,
    vendor: String,
    family: String,
    tier: Option<Tier>,
    #[serde(default)]
    rating: u8,
    price: Option<PriceRow>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    embeddings: bool,
    #[serde(default)]
    features: FeatureSet,
    #[serde(default)]
    security: SecurityClass,
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
    #[serde(default)]
    security: SecurityClass,
    #[serde(default)]
    features: FeatureSet,
    #[serde(default)]
    without: FeatureSet,
    efforts: Option<Vec<Effort>>,
}

impl From<ResellerRow> for Resold {
    fn from(row: ResellerRow) -> Self {
        Self {
            id: row.id,
            upstream: row.upstream,
            security: row.security,
            with: row.features,
            without: row.without,
            efforts: row.efforts,
        }
    }
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

impl Row {
    fn read(&self, families: &BTreeMap<String, Capabilities>) -> Result<KnownModel, CatalogError> {
        let model = || self.id.clone();
        let mut capabilities = families
            .get(&self.family)
            .ok_or_else(|| CatalogError::UnknownFamily {
                model: model(),
                family: self.family.clone(),
            })?
            .clone();
        capabilities.mid_system = self.mid_system.unwrap_or(capabilities.mid_system);
        capabilities.change_features(self.features, FeatureSet::EMPTY);
        if self.rating > RATING_MAX {
            return Err(CatalogError::Rating { model: model() });
        }
        let price = match &self.price {
            None => None,
            Some(price) => Some(
                price
                    .read()
                    .ok_or_else(|| CatalogError::Price { model: model() })?,
            ),
        };
        Ok(KnownModel {
            id: self.id.clone(),
            display_name: self.name.clone(),
            vendor: self.vendor.clone(),
            capabilities,
            price,
            tier: self.tier,
            embeddings: self.embeddings,
            rating: self.rating,
            security: self.security,
        })
    }
}

impl Catalog {
    /// Reads catalog data.
    ///
    /// # Errors
    /// See [`CatalogError`].
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        let file: File = toml::from_str(text)?;
        let mut models = BTreeMap::new();
        for row in &file.models.rows {
            let known = row.read(&file.family)?;
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
        let guesses = file.guesses.rows.into_iter();
        let successors = file.successors.rows.into_iter();
        let resold = |rows: Reseller| rows.models.into_iter().map(Resold::from).collect();
        Ok(Self {
            dated: file.dated,
            models,
            guesses: guesses.map(|row| (row.prefix, row.family)).collect(),
            families: file.family,
            resellers: file
                .backend
                .into_iter()
                .map(|(service, rows)| (service, resold(rows)))
                .collect(),
            successors: successors.map(|row| (row.id, row.now)).collect(),
            owners: Vec::new(),
        })
    }
}
