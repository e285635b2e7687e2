//! The backends that the two requests of a verification use. At no time do both use one backend, or
//! models of one maker, however often either fails over.

use std::sync::{Arc, Mutex, PoisonError};

use bardo_router::Roster;

use crate::leg::Leg;

/// One of the two requests of a verification, and the backend that it uses.
#[derive(Clone)]
pub(crate) struct BackendClaim {
    claims: Arc<Mutex<[Option<Arc<Leg>>; 2]>>,
    /// Which of the two requests this is.
    side: usize,
}

impl BackendClaim {
    /// The claims of two requests that use no backend yet.
    pub(crate) fn pair() -> (Self, Self) {
        let claims = Arc::default();
        let first = Self {
            claims: Arc::clone(&claims),
            side: 0,
        };
        (first, Self { claims, side: 1 })
    }

    /// Claims the backend of a leg in place of the one before. Answers whether it may be used: the
    /// other request uses another backend and a model of another maker.
    pub(crate) fn take(&self, leg: &Arc<Leg>, roster: &Roster) -> bool {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = |other: &Arc<Leg>| {
            leg.candidate.backend != other.candidate.backend
                && roster.has_other_maker(&leg.candidate, &other.candidate)
        };
        let is_free = claims[1 - self.side].as_ref().is_none_or(differs);
        if is_free {
            claims[self.side] = Some(Arc::clone(leg));
        }
        is_free
    }

    /// The claimed backend gave no answer: the other request may use it.
    pub(crate) fn give_back(&self) {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims[self.side] = None;
    }
}
