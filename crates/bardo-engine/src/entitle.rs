//! Which of the candidates a caller may use: the scopes of its key, its tier, and prices.

use bardo_access::{KeyKind, KeyRecord, Tier, TierRow, tiers};
use bardo_router::Candidate;
use bardo_types::privacy::SecurityClass;

use crate::error::EngineError;
use crate::received::{Payer, Principal};
use crate::world::World;

/// The tier's row of a key.
pub(crate) fn tier_row(key: &KeyRecord) -> Option<&'static TierRow> {
    tiers().iter().find(|row| row.tier == key.tier)
}

/// Refuses a class of protection that the tier of a key does not come with.
pub(crate) fn protection(principal: &Principal, class: SecurityClass) -> Result<(), EngineError> {
    let Payer::Prepaid(key) = &principal.payer else {
        return Ok(());
    };
    let Some(row) = tier_row(key).filter(|row| !row.security_routing) else {
        return Ok(());
    };
    if class == SecurityClass::Standard {
        return Ok(());
    }
    Err(EngineError::Tier {
        class,
        tier: row.tier.map_or("none", Tier::as_str),
    })
}

/// Keeps the candidates that the caller may use for a model that it calls `name`.
pub(crate) fn within_scopes(
    principal: &Principal,
    world: &World,
    name: &str,
    candidates: &mut Vec<Candidate>,
) {
    if let Payer::Prepaid(key) = &principal.payer {
        candidates.retain(|candidate| is_within(key, world, name, candidate));
    }
}

fn is_within(key: &KeyRecord, world: &World, name: &str, candidate: &Candidate) -> bool {
    let tier_backends = tier_row(key).map_or(&[][..], |row| &row.backends);
    let backend = &world.endpoint(candidate).name;
    names_model(&key.scopes.models, world, name, candidate)
        && names_backend(&key.scopes.backends, backend)
        && names_backend(tier_backends, backend)
}

/// Whether a candidate can be billed to a caller who pays.
fn is_payable(world: &World, candidate: &Candidate) -> bool {
    world.endpoint(candidate).direct || world.price(candidate).is_some()
}

/// Whether the caller may use a candidate for a model that it calls `name`, and can be billed for
/// it.
pub(crate) fn may_use(
    principal: &Principal,
    world: &World,
    name: &str,
    candidate: &Candidate,
) -> bool {
    match &principal.payer {
        Payer::Owner => true,
        Payer::Prepaid(key) => {
            key.kind != KeyKind::ReadOnly
                && is_within(key, world, name, candidate)
                && is_payable(world, candidate)
        }
    }
}

/// Why the caller may use none of the candidates of a model; `None` where that is not why.
pub(crate) fn why_not(principal: &Principal, world: &World, name: &str) -> Option<EngineError> {
    let mut candidates = world.roster().resolve(name).ok()?;
    within_scopes(principal, world, name, &mut candidates);
    payable(principal, world, name, &mut candidates).err()
}

/// Refuses what the key is not for, and takes out what cannot be billed to a caller who pays.
pub(crate) fn payable(
    principal: &Principal,
    world: &World,
    name: &str,
    candidates: &mut Vec<Candidate>,
) -> Result<(), EngineError> {
    let Payer::Prepaid(key) = &principal.payer else {
        return Ok(());
    };
    if key.kind == KeyKind::ReadOnly || candidates.is_empty() {
        return Err(EngineError::Scope {
            model: name.to_owned(),
            reads_only: key.kind == KeyKind::ReadOnly,
        });
    }
    candidates.retain(|candidate| is_payable(world, candidate));
    if candidates.is_empty() {
        return Err(EngineError::Unpriced {
            model: name.to_owned(),
        });
    }
    Ok(())
}

/// Scopes are matched with what the name came to, never with how the caller wrote it.
fn names_model(patterns: &[String], world: &World, name: &str, candidate: &Candidate) -> bool {
    let roster = world.roster();
    patterns.is_empty()
        || patterns
            .iter()
            .any(|pattern| roster.is_in_scope(pattern, name, candidate))
}

fn names_backend(list: &[String], backend: &str) -> bool {
    // Several keys of one provider are told apart by `#2`; they are one backend to callers.
    let name = backend.split_once('#').map_or(backend, |(name, _)| name);
    let head = name.split_once('/').map_or(name, |(head, _)| head);
    list.is_empty()
        || list
            .iter()
            .any(|known| [backend, name, head].contains(&known.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_name_backends() {
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        assert!(names_backend(&list(&["direct"]), "direct/openai#2"));
        assert!(names_backend(&list(&["direct/openai"]), "direct/openai#2"));
        assert!(!names_backend(&list(&["direct/openai"]), "direct/local"));
        assert!(names_backend(&[], "openrouter"));
    }
}
