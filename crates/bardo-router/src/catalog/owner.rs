//! The owner's rows of models (`catalog.models`). They win over the snapshot and over the lists of
//! backends, ratings included.

use std::sync::Arc;

use bardo_types::feature::FeatureSet;
use bardo_types::model::{ModelEntry, Price, Tier};
use bardo_types::privacy::SecurityClass;

use super::file::RATING_MAX;
use super::{Catalog, CatalogError, KnownModel};
use crate::name::normalize;

/// A model as its owner describes it; what is `None` stays as it is known otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerModel {
    /// The model, in any spelling.
    pub id: String,
    /// The backend of which this is said; of all of them if absent. A backend that does not list
    /// the model is taken to serve it all the same, by this name: some serve models that they do
    /// not list.
    pub backend: Option<String>,
    /// The model whose abilities it has, where nobody knows the name.
    pub like: Option<String>,
    /// Tier of the model.
    pub tier: Option<Tier>,
    /// Rating from 0 to 100.
    pub rating: Option<u8>,
    /// Features to add to the known ones.
    pub features: FeatureSet,
    /// Features to remove from the known ones.
    pub without: FeatureSet,
    /// Price of the model.
    pub price: Option<Price>,
    /// Best protection class that its operator grants.
    pub security: Option<SecurityClass>,
}

impl OwnerModel {
    fn is_of(&self, backend: &str) -> bool {
        self.backend.as_deref().is_none_or(|of| of == backend)
    }

    fn change(&self, entry: &mut ModelEntry) {
        entry.tier = self.tier.or(entry.tier);
        entry.rating = self.rating.unwrap_or(entry.rating);
        entry.price = self.price.or(entry.price);
        entry.security = self.security.unwrap_or(entry.security);
        let capabilities = Arc::make_mut(&mut entry.capabilities);
        capabilities.change_features(self.features, self.without);
    }

    fn change_known(&self, known: &mut KnownModel) {
        known.tier = self.tier.or(known.tier);
        known.rating = self.rating.unwrap_or(known.rating);
        known.price = self.price.or(known.price);
        known.security = self.security.unwrap_or(known.security);
        known
            .capabilities
            .change_features(self.features, self.without);
    }
}

impl Catalog {
    /// The catalog with what its owner says of models. A later row wins over an earlier one.
    ///
    /// # Errors
    /// When a row has no name, or a rating above 100.
    pub fn with_owner(mut self, rows: Vec<OwnerModel>) -> Result<Self, CatalogError> {
        for row in &rows {
            if row.id.trim().is_empty() {
                return Err(CatalogError::NoName);
            }
            if row.rating.is_some_and(|rating| rating > RATING_MAX) {
                return Err(CatalogError::Rating {
                    model: row.id.clone(),
                });
            }
            // What is said of one backend is no fact about the model elsewhere.
            if row.backend.is_none() {
                let mut known = self.described(row);
                row.change_known(&mut known);
                let id = normalize(&known.id);
                for (_, same) in self
                    .models
                    .iter_mut()
                    .filter(|(_, other)| normalize(&other.id) == id)
                {
                    same.clone_from(&known);
                }
                self.models.insert(normalize(&row.id), known);
            }
        }
        self.owners.extend(rows);
        Ok(self)
    }

    /// The known model of a row, by its own name or by the name in `like`.
    fn described(&self, row: &OwnerModel) -> KnownModel {
        match &row.like {
            Some(like) if self.find(&row.id).is_none() => KnownModel {
                id: row.id.clone(),
                display_name: row.id.clone(),
                price: None,
                ..self.describe(like)
            },
            _ => self.describe(&row.id),
        }
    }

    /// The name under which the snapshot knows a model, spelling-free; of an unknown one its own.
    fn plain_name(&self, name: &str) -> String {
        let normal = normalize(name);
        match self.models.get(&normal) {
            Some(known) => normalize(&known.id),
            None => normal,
        }
    }

    /// Changes a model of a backend to what its owner says of it.
    pub fn overrule(&self, backend: &str, entry: &mut ModelEntry) {
        for row in self.owners.iter().filter(|row| row.is_of(backend)) {
            let name = self.plain_name(&row.id);
            if name == self.plain_name(&entry.id) || name == self.plain_name(&entry.upstream_id) {
                row.change(entry);
            }
        }
    }

    /// Models that the owner says a backend serves, whether or not it lists them.
    pub fn declared(&self, backend: &str) -> impl Iterator<Item = ModelEntry> {
        self.owners
            .iter()
            .filter(move |row| row.backend.as_deref() == Some(backend))
            .map(|row| {
                let known = self.described(row);
                let mut entry = ModelEntry {
                    // The maker's price is not this backend's.
                    price: None,
                    ..known.entry(&row.id)
                };
                row.change(&mut entry);
                entry
            })
    }
}
