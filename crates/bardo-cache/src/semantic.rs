//! The semantic cache: answers to requests that ask the same in other words.
//!
//! Three conditions decide in this order, and similarity never decides alone:
//!
//! 1. **Context**: everything but the last turn of the user is equal, by digest ([`context()`]).
//! 2. **Similarity**: the vectors of both turns are at least as close as the domain demands
//!    ([`Domain::threshold`]); the search is an exact scan ([`VectorBlock`]).
//! 3. **Guard**: both turns say the same ([`crate::guard`]).
//!
//! On top the cache measures its own error: [`HitAuditor`] has a share of would-be hits answered
//! live, compares both answers ([`answers::agree`]) and stops a domain whose error is too high.
//!
//! Nothing here does I/O, reads a clock or draws a random number: vectors, days and draws come in
//! as arguments. Start from [`Index`].

pub mod answers;
mod context;
mod domain;
mod index;
mod scan;
mod shared;
mod verified;

pub use context::context;
pub use domain::Domain;
pub use index::{EmbeddedTurn, Index, Nearest, SearchSpace};
pub use scan::{DIMENSIONS, VectorBlock};
pub use shared::{SharedQuestion, SharedQuestions};
pub use verified::{
    AuditDecision, AuditMode, AuditOutcome, AuditReport, AuditRules, DomainChange, HitAuditor,
};
