//! The catalog of models: the snapshot in this binary, with the owner's changes.

mod file;
mod owner;

use std::collections::BTreeMap;
use std::sync::Arc;

use bardo_types::calendar::{DAY_MS, Date};
use bardo_types::feature::FeatureSet;
use bardo_types::model::{Capabilities, Effort, ModelEntry, Price, Service, Tier};
use bardo_types::privacy::SecurityClass;

pub use self::owner::OwnerModel;
use crate::name::{normal_form, normalize};
use crate::vendors;

/// A model as the embedded snapshot, or an owner, describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    /// The name it is listed under.
    pub id: String,
    /// A name for people.
    pub display_name: String,
    /// Maker of the model.
    pub vendor: String,
    /// Capabilities of the model.
    pub capabilities: Capabilities,
    /// The maker's list price, where published.
    pub price: Option<Price>,
    /// Its tier, where rated.
    pub tier: Option<Tier>,
    /// Whether it makes embeddings.
    pub embeddings: bool,
    /// Rating from 0 to 100; 0 means unrated.
    pub rating: u8,
    /// Best protection class of the model, if it depends on the model.
    pub security: SecurityClass,
    /// The day of the snapshot that describes it, in Unix seconds: no later than that it was there.
    pub created: u64,
}

/// One model of a service that sells those of others, as the snapshot knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resold {
    /// The name it is listed under.
    pub id: String,
    /// The name the service wants.
    pub upstream: String,
    /// Protection class that the service promises.
    pub security: SecurityClass,
    with: FeatureSet,
    without: FeatureSet,
    efforts: Option<Vec<Effort>>,
    price: Option<Price>,
}

/// Models by normalized name.
#[derive(Debug, Clone)]
pub struct Catalog {
    dated: String,
    models: BTreeMap<String, KnownModel>,
    families: BTreeMap<String, Capabilities>,
    guesses: Vec<(String, String)>,
    resellers: BTreeMap<Service, Vec<Resold>>,
    successors: Vec<(String, String)>,
    owners: Vec<OwnerModel>,
}

/// Why catalog data was refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Not TOML, or members it should not have.
    #[error("the catalog is malformed: {0}")]
    Malformed(#[from] toml::de::Error),
    /// A row names a family that is not there.
    #[error("model `{model}` names the unknown family `{family}`")]
    UnknownFamily {
        /// Name of the model.
        model: String,
        /// Name of the family.
        family: String,
    },
    /// A rating above 100.
    #[error("model `{model}` has a rating outside of 0 to 100")]
    Rating {
        /// Name of the model.
        model: String,
    },
    /// A row without a name.
    #[error("a model has no name")]
    NoName,
    /// A price that is no exact decimal.
    #[error("model `{model}` has a price that is not an exact decimal")]
    Price {
        /// Name of the model.
        model: String,
    },
}

impl Catalog {
    /// The snapshot in this binary.
    #[must_use]
    pub fn embedded() -> Self {
        Self::parse(include_str!("../data/catalog.toml")).expect("the embedded catalog is tested")
    }

    /// The day the snapshot was made.
    #[must_use]
    pub fn dated(&self) -> &str {
        &self.dated
    }

    /// The date of the catalog, in Unix seconds.
    pub(crate) fn dated_s(&self) -> u64 {
        Date::parse(&self.dated).map_or(0, |date| date.days() * DAY_MS / 1_000)
    }

    /// The model of that name in any spelling, aliases included.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&KnownModel> {
        self.models.get(&*normal_form(name))
    }

    /// Whether a model's `vendor`, in any spelling, is the maker of that name.
    #[must_use]
    pub fn is_made_by(&self, vendor: &str, maker: &str) -> bool {
        vendors::maker(vendor).is_some_and(|vendor| Some(vendor) == vendors::maker(maker))
    }

    /// Every model once, by id.
    pub fn models(&self) -> impl Iterator<Item = &KnownModel> {
        self.models
            .iter()
            .filter(|(name, model)| **name == normalize(&model.id))
            .map(|(_, model)| model)
    }

    /// Known models of a reselling service.
    #[must_use]
    pub fn resold_by(&self, service: Service) -> &[Resold] {
        self.resellers.get(&service).map_or(&[], Vec::as_slice)
    }

    /// A resold model as the roster lists it, before anybody has listed it live.
    #[must_use]
    pub fn resold_entry(&self, resold: &Resold) -> ModelEntry {
        let mut entry = self.describe(&resold.id).entry(&resold.upstream);
        entry.id.clone_from(&resold.id);
        entry.security = entry.security.max(resold.security);
        entry.price = resold.price.or(entry.price);
        let capabilities = Arc::make_mut(&mut entry.capabilities);
        capabilities.change_features(resold.with, resold.without);
        if let Some(efforts) = &resold.efforts {
            capabilities.efforts.clone_from(efforts);
        }
        entry
    }

    /// (name that may be gone, what its maker recommends today).
    #[must_use]
    pub fn successors(&self) -> &[(String, String)] {
        &self.successors
    }

    /// Describes `name`, or a typical model of its family if it is unknown.
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
        let mut capabilities = family
            .and_then(|(_, family)| self.families.get(family))
            .cloned()
            .unwrap_or_default();
        capabilities.settle_features();
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
            rating: 0,
            security: SecurityClass::Standard,
            created: self.dated_s(),
        }
    }
}

impl KnownModel {
    /// The model as a backend serves it that wants it called `upstream` and says no more of it.
    #[must_use]
    pub fn entry(&self, upstream: &str) -> ModelEntry {
        ModelEntry {
            id: self.id.clone(),
            upstream_id: upstream.to_owned(),
            display_name: self.display_name.clone(),
            vendor: self.vendor.clone(),
            tier: self.tier,
            capabilities: Arc::new(self.capabilities.clone()),
            price: self.price,
            created: self.created,
            embeddings: self.embeddings,
            rating: self.rating,
            security: self.security,
        }
    }
}

#[cfg(test)]
mod tests;
