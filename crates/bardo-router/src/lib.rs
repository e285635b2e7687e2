//! Which backend and model may answer a request: the catalog and the walk over it.
//!
//! Pure: no I/O, no clock. [`Catalog`] knows models as data; [`Roster`] is the catalog as the
//! owner's configured backends serve it; [`Router::route`] turns a request's model and hints into
//! an ordered list of [`Choice`]s, and [`Router::explain`] says why.

mod catalog;
mod decision;
mod name;
mod policy;
mod request;
mod roster;
mod router;
mod subsystems;

pub use catalog::{Catalog, CatalogError, KnownModel, OwnerModel, Resold};
pub use decision::{Choice, Considered, Explanation, Refusal, RefusalKind, Route, Score};
pub use name::normalize;
pub use policy::{BankrPolicy, Mode, Policy, Weights};
pub use request::{Facts, HealthView, Kind, NoHealth, Observation, RouteRequest, State};
pub use roster::{
    BackendModels, BackendSpec, Candidate, ModelFilter, NoRoute, Roster, RosterBuilder,
};
pub use router::Router;
pub use subsystems::{Subsystems, SubsystemsError};
