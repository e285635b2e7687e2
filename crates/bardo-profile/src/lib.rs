//! Profiles: the settings of a call, and their form for each model.
//!
//! Pure: no I/O, no clock. [`wanted()`] puts together what the subsystem's row, the owner, the
//! agent's state and the caller say; [`apply()`] writes it into a request for one model, changing the
//! fewest fields that make the model accept it, and says what it changed. [`SchemaCheck`] then
//! holds the answer to its schema, and [`repair_request`] asks once more where it does not.
//!
//! The crate does not translate dialects: encoders translate the caller's own members, and this crate
//! adds only the settings of a profile.

mod apply;
mod effort;
mod members;
mod overlay;
mod schedule;
mod schema;
mod table;
mod wanted;

pub use apply::{Applied, Model, apply, longest_mark, placed};
pub use schedule::{CallPosition, Schedule, Temperature, reanneal};
pub use schema::{AnswerLift, SchemaCheck, SchemaMode, repair_request};
pub use table::{ProfileRow, ProfileTable, TableError, named_schema};
pub use wanted::{CACHE_KEY_PREFIX, MinPFallback, Sources, Wanted, golem_cache_key, wanted};
