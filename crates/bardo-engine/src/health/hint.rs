//! Hints between processes of one gateway: what one has seen of a backend lets the others call
//! another one first.
//!
//! A hint pauses a backend with a model: others are called first, and it is called where there is no
//! other. It opens no circuit, and ends with the first answer here.

use std::time::Duration;

/// The longest pause that a hint brings about.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// A reason to call other backends first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthHint {
    /// The backend's name.
    pub backend: String,
    /// The model, by the backend's name for it.
    pub model: String,
    /// Time that is left of the open circuit or of the pause.
    pub left: Duration,
}
