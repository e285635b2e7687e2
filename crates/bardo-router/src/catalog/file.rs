//! `data/catalog.toml` as it is written, and how it is read.

use std::collections::BTreeMap;

use bardo_types::feature::FeatureSet;
use bardo_types::model::{Capabilities, Effort, LongContext, Price, Service, Tier};
use bardo_types::money::{MicroUsd, PricePerMillion};
use bardo_types::privacy::SecurityClass;
use serde::Deserialize;

use super::{Catalog, CatalogError, KnownModel, Resold};
use crate::name::normalize;

/// The best that a model can be rated.
pub(super) const RATING_MAX: u8 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogFile {
    dated: String,
    family: BTreeMap<String, Capabilities>,
    guesses: Rows<Guess>,
    models: Rows<CatalogRow>,
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
struct CatalogRow {
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
    context: Option<u64>,
    max_output: Option<u64>,
    cache_minimum: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
    cache_write_1h: Option<String>,
    audio_input: Option<String>,
    web_search: Option<String>,
    request: Option<String>,
    long_context: Option<LongRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    above: u64,
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
    cache_write_1h: Option<String>,
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
    price: Option<PriceRow>,
}

impl ResellerRow {
    fn read(self) -> Result<Resold, CatalogError> {
        let row = self;
        let price = match &row.price {
            None => None,
            Some(price) => Some(price.read().ok_or_else(|| CatalogError::Price {
                model: row.id.clone(),
            })?),
        };
        Ok(Resold {
            price,
            id: row.id,
            upstream: row.upstream,
            security: row.security,
            with: row.features,
            without: row.without,
            efforts: row.efforts,
        })
    }
}

fn tokens(text: &str) -> Option<PricePerMillion> {
    PricePerMillion::from_usd_per_million(text).ok()
}

fn tokens_if(text: &Option<String>) -> Option<Option<PricePerMillion>> {
    match text {
        None => Some(None),
        Some(text) => tokens(text).map(Some),
    }
}

fn flat_if(text: &Option<String>) -> Option<Option<MicroUsd>> {
    match text {
        None => Some(None),
        Some(text) => MicroUsd::from_usd(text).ok().map(Some),
    }
}

impl LongRow {
    fn read(&self) -> Option<LongContext> {
        Some(LongContext {
            above: self.above,
            input: tokens(&self.input)?,
            output: tokens(&self.output)?,
            cache_read: tokens_if(&self.cache_read)?,
            cache_write_5m: tokens_if(&self.cache_write)?,
            cache_write_1h: tokens_if(&self.cache_write_1h)?,
        })
    }
}

impl PriceRow {
    fn read(&self) -> Option<Price> {
        Some(Price {
            input: tokens(&self.input)?,
            output: tokens(&self.output)?,
            cache_read: tokens_if(&self.cache_read)?,
            cache_write_5m: tokens_if(&self.cache_write)?,
            cache_write_1h: tokens_if(&self.cache_write_1h)?,
            audio_input: tokens_if(&self.audio_input)?,
            web_search: flat_if(&self.web_search)?,
            request: flat_if(&self.request)?,
            long_context: match &self.long_context {
                None => None,
                Some(long) => Some(long.read()?),
            },
            ..Price::default()
        })
    }
}

impl CatalogRow {
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
        capabilities.context_tokens = self.context.unwrap_or(capabilities.context_tokens);
        capabilities.max_output_tokens = self.max_output.unwrap_or(capabilities.max_output_tokens);
        capabilities.cache_minimum_tokens = self
            .cache_minimum
            .unwrap_or(capabilities.cache_minimum_tokens);
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
            created: 0,
        })
    }
}

impl Catalog {
    /// Reads catalog data.
    ///
    /// # Errors
    /// See [`CatalogError`].
    pub fn parse(text: &str) -> Result<Self, CatalogError> {
        let file: CatalogFile = crate::data::read(text)?;
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
        let mut resellers = BTreeMap::new();
        for (service, rows) in file.backend {
            let rows: Result<Vec<Resold>, _> =
                rows.models.into_iter().map(ResellerRow::read).collect();
            resellers.insert(service, rows?);
        }
        let mut catalog = Self {
            dated: file.dated,
            models,
            guesses: guesses.map(|row| (row.prefix, row.family)).collect(),
            families: file.family,
            resellers,
            successors: successors.map(|row| (row.id, row.now)).collect(),
            owners: Vec::new(),
        };
        let dated = catalog.dated_s();
        for known in catalog.models.values_mut() {
            known.created = dated;
        }
        Ok(catalog)
    }
}
