//! Answers that were paid for once, and the rules of when they may be served again.
//!
//! The crate is pure: it opens no socket, reads no clock and starts no task. Times come in as Unix
//! milliseconds, and second levels sit behind the port [`second::SecondLevel`].
//!
//! Start from [`policy`], which says whether a request may be looked up and its answer stored, then
//! [`key::key_of`], then [`store::Store`].

pub mod codec;
pub mod entry;
mod generations;
pub mod guard;
pub mod key;
pub mod policy;
pub mod prefix;
mod reference;
pub mod scope;
pub mod sealed;
pub mod second;
pub mod semantic;
pub mod shared;
pub mod store;
pub mod tags;
pub mod ttl;
pub mod vault;
pub mod watch;
