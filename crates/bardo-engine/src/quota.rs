//! The part of a caller's limits that a request has taken, and its correction afterwards.

use bardo_access::{Admission, LimitRequest, LimitStore};

/// A provider's count of tokens is believed up to so many times what the request can come to.
const TIMES_BELIEVED: u64 = 4;

/// The part of a caller's rate limits that a request has taken; empty where no limits apply.
#[derive(Default)]
pub(crate) struct Quota {
    taken: Option<Taken>,
    admission: Option<Admission>,
}

/// Tokens taken on account.
struct Taken {
    request: LimitRequest,
    tokens: u64,
    /// Tokens that the request can come to.
    most: u64,
}

impl Quota {
    /// Notes what the limits took for a request that they let in.
    pub(crate) fn admitted(&mut self, request: LimitRequest, admission: Admission) {
        self.taken = Some(Taken {
            most: request.tokens,
            request,
            tokens: admission.reserved_tokens,
        });
        self.admission = Some(admission);
    }

    /// Notes the largest number of tokens that the request can come to.
    pub(crate) fn bound(&mut self, most: u64) {
        if let Some(taken) = &mut self.taken {
            taken.most = most;
        }
    }

    /// The state of the limits when they let the request in.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// The state of the limits after an answer that used so many tokens in all: the allowance gets
    /// back the rest of what the request took on account. An allowance that was used up at the start
    /// stays at 0, since the part that the request found in it is not known.
    pub(crate) fn admission_after(&self, used: u64) -> Option<Admission> {
        let mut admission = self.admission.clone()?;
        let left = admission.allowance.as_mut().filter(|left| **left > 0);
        if let Some(left) = left {
            let before = left.saturating_add(admission.reserved_tokens);
            *left = before.saturating_sub(used);
        }
        Some(admission)
    }

    /// Corrects what was taken to the tokens that were used; the first call alone has an effect.
    pub(crate) fn correct(&mut self, limits: &dyn LimitStore, used: u64, now_ms: u64) {
        if let Some(taken) = self.taken.take() {
            let used = used.min(taken.most.saturating_mul(TIMES_BELIEVED));
            limits.correct(&taken.request, taken.tokens, used, now_ms);
        }
    }
}
