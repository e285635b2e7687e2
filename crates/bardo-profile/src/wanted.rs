use bardo_types::hints::RouteHints;
use bardo_types::intent::Quality;
use bardo_types::profile::InferenceProfile;
use bardo_types::subsystem::Subsystem;

/// Who says how a call's model is to be set up.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The part of the agent that asks.
    pub subsystem: Option<&'a Subsystem>,
    /// What the caller and the state of its agent say.
    pub hints: &'a RouteHints,
    /// What the owner's configuration says for this subsystem.
    pub owner: Option<&'a InferenceProfile>,
    /// How good the answer has to be; an effort where nobody names one.
    pub quality: Quality,
}

/// How a call's model is to be set up, whichever model it will be.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The parameters.
    pub profile: InferenceProfile,
    /// The row of the table that they come from.
    pub row: Option<String>,
    /// The caller's own parameters do not count (C-105).
    pub locked: bool,
    /// Where thinking and sampling exclude each other, thinking stays (C-088).
    pub reasoning_first: bool,
    /// What was ignored, in words.
    pub warnings: Vec<String>,
}

/// Puts together what everybody says; `None` where nobody says anything.
#[must_use]
pub fn wanted(sources: &Sources<'_>) -> Option<Wanted> {
    let _ = sources;
    None
}
