//! One candidate of a plan, with all that is decided about it before anything is held or sent.

use std::sync::{Arc, OnceLock};

use bardo_ledger::hold;
use bardo_profile::{Applied, Wanted};
use bardo_providers::Endpoint;
use bardo_router::{Candidate, RoutedCandidate};
use bardo_types::Degradation;
use bardo_types::chat::{CacheTtl, ChatRequest, MarkPlan};
use bardo_types::model::{Dialect, Price};
use bardo_types::money::MicroUsd;
use bardo_types::privacy::{SecurityClass, TaskClass};
use bardo_types::usage::Usage;
use bardo_wire::splice::Edit;

use crate::call::Call;
use crate::health::CircuitKey;
use crate::price::rate;
use crate::prompt_cache::LegCache;
use crate::received::Task;
use crate::routed::Routed;

/// A candidate as it will be called.
pub(crate) struct Leg {
    pub(crate) candidate: Candidate,
    pub(crate) endpoint: Arc<Endpoint>,
    /// The dialect that is spoken there.
    pub(crate) dialect: Dialect,
    /// The decision of the router; `None` where the caller named a model and left nothing to it.
    pub(crate) routed: Option<Arc<Routed>>,
    pub(crate) settings: Settings,
    /// Tokens of the prompt with all that the settings add; rather too many than too few.
    pub(crate) prompt_bound: u64,
    /// Tokens of one answer at most, where the request carries a limit there.
    pub(crate) output_bound: Option<u64>,
    /// The price; `None` where the leg must not be billed.
    pub(crate) price: Option<Price>,
    /// The lifetime for which the provider may be asked to keep the prompt, where the price does not
    /// list all such writes.
    pub(crate) unlisted_write: Option<CacheTtl>,
    /// The provider may be asked to keep the prompt for an hour, and does not tell such writes from
    /// those for five minutes.
    pub(crate) untold_hour: bool,
    /// The model is known to think about this request without showing it.
    pub(crate) reasons_unseen: bool,
    /// What is known and decided of the provider's prompt cache there; `None` where nothing is.
    pub(crate) prompt_cache: Option<Arc<LegCache>>,
    /// The key of its health record, once it is needed.
    pub(crate) circuit: OnceLock<CircuitKey>,
}

/// How the model is set up.
pub(crate) enum Settings {
    /// As the caller wrote it.
    Untouched,
    /// By edits of the caller's bytes, which are relayed.
    Edits(Vec<Edit>, Box<Applied>),
    /// In the neutral form, which is written in the dialect of the backend.
    Rewritten(Arc<ChatRequest>, Box<Applied>),
}

impl Settings {
    /// The settings after the profile and the limits on costs; `None` where neither applies.
    pub(crate) fn applied(&self) -> Option<&Applied> {
        match self {
            Self::Untouched => None,
            Self::Edits(_, applied) | Self::Rewritten(_, applied) => Some(applied),
        }
    }
}

/// How far the hold of a request lets its answer go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    /// More is held in slices as the answer flows.
    pub(crate) sliced: bool,
    /// A cap of the caller may end the answer early, while the money of its account lasts.
    pub(crate) is_capped: bool,
    /// Tokens of one answer that the money pays for, where the request carries no limit.
    pub(crate) output_cap: Option<u64>,
}

impl Leg {
    /// The key of its health record.
    pub(crate) fn circuit(&self) -> &CircuitKey {
        let key = || CircuitKey::new(&self.endpoint, &self.candidate.entry);
        self.circuit.get_or_init(key)
    }

    /// The marks for the provider's prompt cache that are set where the caller sets none.
    pub(crate) fn marks(&self) -> MarkPlan {
        let cache = self.prompt_cache.as_ref();
        cache.map_or(MarkPlan::USUAL, |cache| cache.plan())
    }

    /// The router's choice of this candidate.
    pub(crate) fn choice(&self) -> Option<&RoutedCandidate> {
        self.routed.as_ref()?.choice(&self.candidate)
    }

    /// The profile that is wanted of the model.
    pub(crate) fn wanted(&self) -> Option<&Wanted> {
        self.routed.as_ref()?.wanted.as_ref()
    }

    /// Whether another leg calls the same model at the same backend.
    pub(crate) fn is_at_same_backend(&self, other: &Self) -> bool {
        self.candidate.backend == other.candidate.backend
            && self.candidate.entry.upstream_id == other.candidate.entry.upstream_id
    }

    /// The class of what is remembered of an answer: what the request had to have, and what it
    /// should have had as far as it got it.
    pub(crate) fn effective_class(&self) -> SecurityClass {
        let Some(routed) = &self.routed else {
            return SecurityClass::Standard;
        };
        let got = self.choice().map(|choice| choice.security);
        let got = got.unwrap_or(self.candidate.entry.security);
        routed.security_class.max(routed.wished_class.min(got))
    }

    /// Whether it has the protection that the request should have.
    pub(crate) fn meets_floor(&self) -> bool {
        let wished = self.routed.as_ref().map(|routed| routed.wished_class);
        let got = self.choice().map(|choice| choice.security);
        wished.zip(got).is_none_or(|(wished, got)| got >= wished)
    }

    /// The required or preferred features that the leg lacks.
    pub(crate) fn lost(&self) -> Vec<Degradation> {
        let routed = self.routed.as_ref();
        routed.map_or_else(Vec::new, |routed| routed.lost(&self.candidate))
    }

    /// The protection that it lacks, for answers that are no conversation.
    pub(crate) fn lost_protection(&self) -> Vec<Degradation> {
        let routed = self.routed.as_ref();
        routed.map_or_else(Vec::new, |routed| routed.lost_protection(&self.candidate))
    }

    /// Whether an answer that misses its schema does harm, so that none of it may be handed over
    /// before it was checked: where the profile is locked, and from class `tee` on, which the task
    /// classes of trades have.
    pub(crate) fn holds_back(&self, call: &Call) -> bool {
        let (Some(routed), Some(wanted), Task::Generate) =
            (&self.routed, self.wanted(), call.task())
        else {
            return false;
        };
        let hints = call.hints().route.as_ref();
        let task = hints.and_then(|hints| hints.task_class);
        let class = routed.security_class.max(routed.wished_class);
        let class = class.max(task.map_or(SecurityClass::Standard, TaskClass::floor));
        wanted.profile.response_schema.is_some() && (wanted.locked || class >= SecurityClass::Tee)
    }

    /// Whether its answers cost the caller nothing.
    pub(crate) fn is_free(&self) -> bool {
        self.endpoint.direct || self.price == Some(Price::default())
    }

    /// The leg as far as money goes; `None` where it has no price.
    pub(crate) fn reckoned(&self, call: &Call) -> Option<hold::HoldCandidate> {
        let (size, capabilities) = (call.size(), &self.candidate.entry.capabilities);
        let longest = match capabilities.max_output_tokens {
            0 => size
                .output
                .unwrap_or(call.snapshot().billing.unknown_output),
            known => known,
        };
        // A limit that the request carries there is all that can come.
        let longest = match (self.output_bound, capabilities.max_output_tokens) {
            (Some(own), 0) => own,
            (Some(own), known) => own.min(known),
            (None, _) => longest,
        };
        Some(hold::HoldCandidate {
            price: self.dearest_price()?,
            spread: rate(call.principal(), call.snapshot()),
            max_output: longest.saturating_mul(size.choices),
            context_window: Some(capabilities.context_tokens).filter(|&tokens| tokens > 0),
            unseen: self.reasons_unseen,
        })
    }

    /// The price of the prompt and of its answer, with the writes into the provider's cache that may
    /// come and that the list does not have. They are charged in the same way.
    fn dearest_price(&self) -> Option<Price> {
        let mut price = self.price?.for_prompt(self.prompt_bound);
        match self.unlisted_write {
            None => {}
            Some(CacheTtl::FiveMinutes) => price.cache_write_5m = price.cache_write_5m_or_more(),
            Some(CacheTtl::OneHour) => price.cache_write_1h = price.cache_write_1h_or_more(),
        }
        Some(price)
    }

    /// The largest cost of the request here, without the spread; `None` where the price is unknown.
    pub(crate) fn most(&self, call: &Call) -> Option<MicroUsd> {
        let reckoned = self.reckoned(call)?;
        let searches = self.routed.as_ref().is_some_and(|routed| routed.searches());
        let usage = Usage {
            fresh_input: self.prompt_bound,
            output: reckoned.max_output,
            // The dearer rate, as where the model thinks all the time.
            reasoning: Some(reckoned.max_output),
            web_searches: Some(call.size().searches.max(u64::from(searches))),
            ..Usage::default()
        };
        usage.cost(&reckoned.price)?.charge()
    }

    /// The limit of output that the request is given for want of money, and what is said of it.
    pub(crate) fn output_cap(&self, grant: Grant) -> Option<(u64, Degradation)> {
        if self.endpoint.direct {
            return None;
        }
        // A limit beyond what the model can do is refused by some, and the leg's own may be lower.
        let longest = self.candidate.entry.capabilities.max_output_tokens;
        let is_below = |cap: &u64| {
            (longest == 0 || *cap < longest) && self.output_bound.is_none_or(|own| *cap < own)
        };
        grant.output_cap.filter(is_below).map(|cap| {
            let detail = format!(
                "the balance is enough for {cap} output tokens; set a lower limit, or add money"
            );
            (cap, Degradation::told("max_tokens", detail))
        })
    }
}
