//! Which of the candidates a caller may use: the scopes of its terms, its tier, and prices.

use bardo_access::{KeyTier, PayerTerms};
use bardo_router::Candidate;
use bardo_types::privacy::SecurityClass;

use crate::error::EngineError;
use crate::received::{Payer, Principal};
use crate::snapshot::Snapshot;

/// Refuses a class of protection that the tier of a caller does not come with.
pub(crate) fn protection(principal: &Principal, class: SecurityClass) -> Result<(), EngineError> {
    match &principal.payer {
        Payer::Prepaid(terms) if !terms.may_ask_for(class) => Err(EngineError::Tier {
            class,
            tier: terms.tier.map_or("none", KeyTier::as_str),
        }),
        Payer::Owner | Payer::Prepaid(_) => Ok(()),
    }
}

/// Keeps the candidates that the caller may use for a model that it calls `name`.
pub(crate) fn within_scopes(
    principal: &Principal,
    snapshot: &Snapshot,
    name: &str,
    candidates: &mut Vec<Candidate>,
) {
    if let Payer::Prepaid(terms) = &principal.payer {
        candidates.retain(|candidate| is_within(terms, snapshot, name, candidate));
    }
}

/// Scopes are matched with the model that a name resolves to, never with the name in the request.
fn is_within(terms: &PayerTerms, snapshot: &Snapshot, name: &str, candidate: &Candidate) -> bool {
    let roster = snapshot.roster();
    terms.may_use(&snapshot.endpoint(candidate).name, |pattern| {
        roster.is_in_scope(pattern, name, candidate)
    })
}

/// Whether a candidate can be billed to a caller who pays, or may serve it without a bill.
fn is_payable(terms: &PayerTerms, snapshot: &Snapshot, candidate: &Candidate) -> bool {
    let is_unbilled = snapshot.endpoint(candidate).direct;
    is_unbilled && terms.may_be_unbilled() || !is_unbilled && snapshot.price(candidate).is_some()
}

/// Whether the caller may use a candidate for a model that it calls `name`, and can be billed for
/// it.
pub(crate) fn may_use(
    principal: &Principal,
    snapshot: &Snapshot,
    name: &str,
    candidate: &Candidate,
) -> bool {
    match &principal.payer {
        Payer::Owner => true,
        Payer::Prepaid(terms) => {
            terms.may_spend()
                && is_within(terms, snapshot, name, candidate)
                && is_payable(terms, snapshot, candidate)
        }
    }
}

/// Why the caller may use none of the candidates of a model; `None` where that is not why.
pub(crate) fn why_not(
    principal: &Principal,
    snapshot: &Snapshot,
    name: &str,
) -> Option<EngineError> {
    let mut candidates = snapshot.roster().resolve(name).ok()?;
    within_scopes(principal, snapshot, name, &mut candidates);
    payable(principal, snapshot, name, &mut candidates).err()
}

/// The tier of a payer, if its scopes allow a backend of the model and only the tier excludes it.
fn excluding_tier(terms: &PayerTerms, snapshot: &Snapshot, name: &str) -> Option<&'static str> {
    let tier = terms.tier?.as_str();
    let mut without_tier = terms.clone();
    without_tier.tier = None;
    let candidates = snapshot.roster().resolve(name).ok()?;
    let mut candidates = candidates.iter();
    candidates
        .any(|candidate| is_within(&without_tier, snapshot, name, candidate))
        .then_some(tier)
}

/// Refuses what the key is not for, and takes out what cannot be billed to a caller who pays.
pub(crate) fn payable(
    principal: &Principal,
    snapshot: &Snapshot,
    name: &str,
    candidates: &mut Vec<Candidate>,
) -> Result<(), EngineError> {
    let Payer::Prepaid(terms) = &principal.payer else {
        return Ok(());
    };
    if !terms.may_spend() || candidates.is_empty() {
        return Err(EngineError::Scope {
            model: name.to_owned(),
            reads_only: !terms.may_spend(),
            tier: excluding_tier(terms, snapshot, name),
        });
    }
    candidates.retain(|candidate| is_payable(terms, snapshot, candidate));
    if candidates.is_empty() {
        return Err(EngineError::Unpriced {
            model: name.to_owned(),
        });
    }
    Ok(())
}
