//! The resolver: hard filters, the walk along the owner's order, the score.

use crate::decision::{Explanation, Refusal, Route};
use crate::policy::Policy;
use crate::request::RouteRequest;
use crate::roster::Roster;

/// Chooses who answers. Immutable, as the [`Roster`] that it holds; no I/O, no clock.
#[derive(Debug)]
pub struct Router {
    roster: Roster,
    policy: Policy,
}

impl Router {
    /// A router over the models that are served.
    #[must_use]
    pub fn new(roster: Roster, policy: Policy) -> Self {
        Self { roster, policy }
    }

    /// Who serves which model.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// What the owner decided.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Who answers a request, in order.
    ///
    /// # Errors
    /// When nobody may; the refusal names what is missing and what would mend it.
    pub fn route(&self, request: &RouteRequest<'_>) -> Result<Route, Refusal> {
        self.explain(request).outcome
    }

    /// The same decision, with all that was looked at.
    #[must_use]
    pub fn explain(&self, request: &RouteRequest<'_>) -> Explanation {
        let _ = (request, &self.policy);
        unimplemented!("resolver")
    }
}
