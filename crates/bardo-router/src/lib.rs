//! Which backend and model may answer a request: the catalog and the walk over it.
//!
//! Pure: no I/O, no clock. [`Catalog`] knows models as data; [`Roster`] is the catalog as the
//! owner's configured backends serve it; [`Roster::resolve`] turns the name in a request into an
//! ordered list of [`Candidate`]s.

mod catalog;
mod name;
mod roster;
mod variant;

pub use catalog::{Catalog, CatalogError, KnownModel};
pub use name::normalize;
pub use roster::{
    BackendModels, BackendSpec, Candidate, ModelFilter, NoRoute, Roster, RosterBuilder,
};
pub use variant::{Variant, VariantFacts, variant};
