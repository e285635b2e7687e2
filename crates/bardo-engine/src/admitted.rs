//! A request that is known to be well formed and to have somewhere to go.

use std::sync::{Arc, OnceLock};

use bardo_router::Candidate;
use bardo_types::Degradation;
use bardo_types::chat::ChatRequest;
use bardo_types::ids::RequestId;
use bardo_types::model::Dialect;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_wire::json::{Member, TopLevel};
use tokio::time::Instant;

use crate::header_lists::warnings_list;
use crate::hints::Hints;
use crate::received::{Principal, Task};
use crate::routed::Routed;
use crate::seeds::SeedTaken;
use crate::size::Size;
use crate::world::World;

/// A request that is known to be well formed and to have somewhere to go.
pub struct Admitted {
    pub(crate) request_id: RequestId,
    pub(crate) client_request_id: Option<Arc<str>>,
    pub(crate) principal: Principal,
    pub(crate) task: Task,
    pub(crate) dialect: Dialect,
    pub(crate) body: bytes::Bytes,
    pub(crate) members: Vec<Member>,
    pub(crate) forward: http::HeaderMap,
    pub(crate) hints: Hints,
    pub(crate) model: Arc<str>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) candidates: Vec<Candidate>,
    /// What the router decided, where the caller left anything to it.
    pub(crate) routed: Option<Box<Routed>>,
    /// The request in neutral form, where the router had to see it.
    pub(crate) neutral: Option<Arc<ChatRequest>>,
    pub(crate) world: Arc<World>,
    pub(crate) received_at: Instant,
    pub(crate) received_at_ms: u64,
    /// Money is held in slices as the answer flows.
    pub(crate) sliced: bool,
    /// Tokens of output that the caller's money pays for, where it set no limit of its own.
    pub(crate) output_cap: Option<u64>,
    /// Said where backends or models were left out because the caller cannot pay for them.
    pub(crate) unfunded: Vec<Degradation>,
    /// The part of its agent's seed that it has taken.
    pub(crate) seed: Option<Arc<SeedTaken>>,
    pub(crate) size: OnceLock<Size>,
}

impl Admitted {
    /// The class of what is remembered of an answer of one candidate: what the request had to have,
    /// and what it should have had as far as it got it.
    pub(crate) fn effective_class(&self, candidate: &Candidate) -> SecurityClass {
        let Some(routed) = &self.routed else {
            return SecurityClass::Standard;
        };
        let got = routed.choice(candidate).map(|choice| choice.security);
        let got = got.unwrap_or(candidate.entry.security);
        routed.security_class.max(routed.wished_class.min(got))
    }

    /// Whether a candidate has the protection that the request should have.
    pub(crate) fn meets_floor(&self, candidate: &Candidate) -> bool {
        let routed = self.routed.as_ref();
        routed.is_none_or(|routed| {
            let choice = routed.choice(candidate);
            choice.is_none_or(|choice| choice.security >= routed.wished_class)
        })
    }

    /// The protection that a candidate lacks.
    pub(crate) fn lost_protection(&self, candidate: &Candidate) -> Vec<Degradation> {
        let routed = self.routed.as_ref();
        routed.map_or_else(Vec::new, |routed| routed.lost_protection(candidate))
    }

    /// Whether an answer that misses its schema does harm, so that none of it may be handed over
    /// before it was checked: where the profile is locked, and from class `tee` on, which the task
    /// classes of trades have.
    pub(crate) fn holds_back(&self) -> bool {
        let Some(routed) = self.routed.as_ref().filter(|_| self.task == Task::Generate) else {
            return false;
        };
        let Some(wanted) = &routed.wanted else {
            return false;
        };
        let hints = self.hints.route.as_ref();
        let task = hints.and_then(|hints| hints.task_class);
        let class = routed.security_class.max(routed.wished_class);
        let class = class.max(task.map_or(SecurityClass::Standard, TaskClass::floor));
        wanted.profile.response_schema.is_some() && (wanted.locked || class >= SecurityClass::Tee)
    }

    /// What was odd about the hints, as a header value.
    pub(crate) fn warnings(&self) -> String {
        let routed = self.routed.iter();
        let all = routed.flat_map(|routed| routed.all_warnings().cloned());
        warnings_list(&all.collect::<Vec<_>>())
    }

    /// Whether the caller wants the answer piece by piece.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.stream
    }

    pub(crate) fn top(&self) -> TopLevel<'_> {
        TopLevel::over(&self.body, &self.members)
    }

    /// What is known of its size; looked at once.
    pub(crate) fn size(&self) -> Size {
        *self
            .size
            .get_or_init(|| Size::of(self.dialect, &self.top()))
    }
}
