//! Which backend and model may answer a request: the catalog, the hard filter and the ranking.
//!
//! Pure: no I/O, no clock. [`Catalog`] knows models as data; [`Roster`] is the catalog as the
//! owner's configured backends serve it; [`Router::route`] turns a request's model and hints into
//! an ordered list of [`RoutedCandidate`]s, and [`Router::explain`] says why.

mod advice;
mod catalog;
mod classes;
mod cost;
mod data;
mod decision;
mod degraded;
mod explain;
mod filter;
mod kind;
mod mortality;
mod name;
mod own_keys;
mod pareto;
mod policy;
mod ranking;
mod rated;
mod reason;
mod refusal;
mod request;
mod requirements;
mod resolution;
mod roster;
mod router;
mod score;
mod services;
mod subsystems;
mod variant;
mod vendors;
mod words;

pub use advice::owner_message;
pub use catalog::{Catalog, CatalogError, KnownModel, OwnerModel, Resold};
pub use decision::{Considered, Explanation, Refusal, RefusalKind, Route, RoutedCandidate, Score};
pub use kind::Shape;
pub use mortality::{Band, SEED_OF_A_DAY};
pub use name::normalize;
pub use policy::{BankrPolicy, Mode, Policy, Weights};
pub use rated::Terms;
pub use request::{
    BankrFunds, Facts, HealthState, HealthView, Kind, NoHealth, ObservedHealth, RouteRequest,
};
pub use roster::{
    BackendModels, BackendSpec, Candidate, ModelFilter, NoRoute, Roster, RosterBuilder,
};
pub use router::Router;
pub use subsystems::{Subsystems, SubsystemsError};
pub use variant::{Variant, VariantFacts, variant};
pub use vendors::{Vendor, vendor, vendors};
