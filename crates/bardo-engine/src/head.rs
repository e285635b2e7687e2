//! What the headers of an answer say.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use bardo_access::Admission;
use bardo_types::Degradation;
use bardo_types::money::MicroUsd;
use bardo_types::privacy::TeeEvidence;
use bardo_types::receipt::{PaymentMode, Receipt};

use crate::tab::Tab;

/// What the headers of an answer say.
#[derive(Debug, Clone, Default)]
pub struct AnswerHead {
    /// The model as the caller named it.
    pub model_requested: Arc<str>,
    /// The model that answers.
    pub model: Arc<str>,
    /// The backend that answers.
    pub backend: Arc<str>,
    /// What was lost, as a header value; empty when nothing.
    pub degraded: String,
    /// What was not understood of the hints, or has no effect, as a header value; empty when nothing.
    pub warnings: String,
    /// What the claim of attested hardware rests on; `None` where none is made.
    pub tee: Option<TeeEvidence>,
    /// The provider's own request id.
    pub upstream_request_id: Option<Arc<str>>,
    /// `hash`, `semantic`, `miss` or `bypass`.
    pub cache: Cow<'static, str>,
    /// What was done to make it cheaper.
    pub optimizations: Vec<Cow<'static, str>>,
    /// What it can cost, where it can cost anything and the final figures are not known yet.
    pub estimate: Option<MicroUsd>,
    /// The final figures, where they are known at the start.
    pub figures: Option<Figures>,
    /// The account is not charged.
    pub unbilled: bool,
    /// No price is known, so that no cost can be.
    pub unpriced: bool,
    /// What the account had at least, when that was last told; holds are not taken off.
    pub funds: Option<MicroUsd>,
    /// What is left of the caller's limits.
    pub limits: Option<Admission>,
}

/// What an answer came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Who pays.
    pub mode: PaymentMode,
    /// What it costs, whoever pays; `None` where that is not known.
    pub cost: Option<MicroUsd>,
    /// What was saved against the list price.
    pub savings: Option<MicroUsd>,
    /// What was added to the provider's cost.
    pub spread: MicroUsd,
    /// Of the account, afterwards.
    pub balance: Option<MicroUsd>,
}

impl Figures {
    pub(crate) fn of(receipt: &Receipt) -> Self {
        Self {
            mode: receipt.mode,
            cost: receipt.cost(),
            savings: receipt.savings(),
            spread: receipt.amounts.spread,
            balance: receipt.amounts.balance,
        }
    }
}

impl AnswerHead {
    /// Of an answer that has begun.
    pub(crate) fn begun(tab: &Tab) -> Self {
        let receipt = &tab.receipt;
        let routing = receipt.routing.as_deref();
        let funds = match (tab.available, tab.hold) {
            (Some(available), Some(held)) => available.checked_add(held),
            (available, _) => available,
        };
        Self {
            model_requested: Arc::clone(&receipt.model_requested),
            model: Arc::clone(&receipt.model),
            backend: Arc::clone(&receipt.backend),
            degraded: degraded_list(&receipt.degraded),
            warnings: warnings_list(routing.map_or(&[], |routing| &routing.warnings)),
            tee: routing.and_then(|routing| routing.tee),
            upstream_request_id: receipt.upstream_request_id.clone(),
            cache: receipt.cache.clone(),
            optimizations: receipt.optimizations.clone(),
            estimate: tab.estimate.filter(|_| receipt.mode != PaymentMode::Direct),
            figures: None,
            unbilled: !receipt.is_billed(),
            unpriced: tab.is_unpriced(),
            funds,
            limits: tab.admission.clone(),
        }
    }

    /// Of a whole answer, with the figures that are known.
    pub(crate) fn whole(tab: &Tab) -> Self {
        let receipt = &tab.receipt;
        Self {
            figures: Some(Figures::of(receipt)),
            estimate: None,
            funds: receipt.amounts.balance,
            ..Self::begun(tab)
        }
    }
}

/// As much of the warnings as a header holds.
const WARNINGS_BYTES: usize = 1_024;

/// Warnings as one header value, within bounds; those that do not fit are counted.
pub(crate) fn warnings_list(warnings: &[String]) -> String {
    let mut list = String::new();
    for (index, warning) in warnings.iter().enumerate() {
        let more = warnings.len() - index;
        if list.len() + warning.len() > WARNINGS_BYTES {
            let _ = write!(
                list,
                "{}{more} more",
                if list.is_empty() { "" } else { "; " }
            );
            break;
        }
        if !list.is_empty() {
            list.push_str("; ");
        }
        // A caller's word may hold what a header must not.
        list.extend(warning.chars().map(|c| match c {
            ' '..='~' => c,
            _ => '?',
        }));
    }
    list
}

/// The features lost, once each, in order, as one header value.
pub(crate) fn degraded_list(degraded: &[Degradation]) -> String {
    let mut list = String::new();
    let mut known = HashSet::new();
    for lost in degraded {
        if !known.insert(&*lost.feature) {
            continue;
        }
        if !list.is_empty() {
            list.push(',');
        }
        // A caller's field name may hold bytes that a header must not.
        list.extend(
            lost.feature
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "._-[]".contains(*c)),
        );
    }
    list
}
