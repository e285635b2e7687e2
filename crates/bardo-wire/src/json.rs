//! JSON without copies: one pass over a body, borrowing where the text allows it.

mod lenient;
mod object;
mod scan;
mod special;
mod told;
mod walk;
mod walked;
mod write;

pub(crate) use lenient::{Count, FilledList, Lenient, byok_fee, decimal};
pub use object::Str;
pub(crate) use object::{
    Extra, Filled, Members, NameOnly, Skipped, TypeOnly, Unknown, fill_from_str, wire_object,
};
pub use scan::{JsonError, Member, TopLevel, scan};
pub(crate) use told::found;
pub use told::{explain, told, type_words};
pub(crate) use walk::Walker;
pub(crate) use walked::{Walked, lenient_object};
pub(crate) use write::{
    Array, DataUrl, MemberName, Object, Serde, ToJson, kept_object, member, object, write_text,
    written_object,
};
