//! JSON without copies: one pass over a body, borrowing where the text allows it.

mod object;
mod scan;
mod write;

pub use object::{Str, explain};
pub(crate) use object::{told, wire_object};
pub use scan::{JsonError, Member, TopLevel, scan};
pub(crate) use write::write_json;
