//! How a call wants its model set up, and what a model can do of it.
//!
//! Pure: no I/O, no clock. [`wanted`] puts together what the subsystem's row, the owner, the agent's
//! state and the caller say (C-106); [`apply`] writes it into a request for one model, changing the
//! fewest fields that make the model accept it, and says what it changed.

mod apply;
mod check;
mod wanted;

pub use apply::{Applied, Model, SchemaCheck, SchemaMode, apply};
pub use check::repair_request;
pub use wanted::{Sources, Wanted, wanted};
