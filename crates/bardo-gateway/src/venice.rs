//! Facts about the models of Venice: what its list promises, and what the gateway does not verify;
//! and the latest calls of Venice, which `feed.rs` remembers.

mod feed;
pub(crate) mod page;
mod record;
pub(crate) mod summary;
pub(crate) mod tokens;

pub(crate) use self::feed::{RECORDS_MAX, VeniceFeed};

use bardo_router::Roster;
use bardo_types::feature::Feature;
use bardo_types::model::{ModelEntry, Service};
use bardo_types::privacy::SecurityClass;
use serde_json::{Value, json};

/// What this version lacks, in a sentence.
pub(crate) const UNVERIFIED: &str = "Every claim is from the list of the provider. This version verifies no attestation of a TEE, sends no end-to-end encrypted request to a hosted provider, and does not read the balance at Venice.";

/// The protection of a model, by the list of the provider.
pub(crate) fn privacy(entry: &ModelEntry) -> &'static str {
    match entry.security {
        _ if entry.capabilities.features.has(Feature::E2ee) => "e2ee_listed",
        SecurityClass::Tee | SecurityClass::E2ee => "tee_listed",
        SecurityClass::Private => "private",
        SecurityClass::Standard => "anonymized",
    }
}

/// The tier of a model of Venice in its telemetry: `anonymized`, `private`, `tee` or `e2e`; `None`
/// where Venice does not list the model any more.
pub(crate) fn tier_of(roster: &Roster, model: &str) -> Option<&'static str> {
    let candidates = roster.resolve(model).unwrap_or_default();
    let of_venice = candidates.iter().find(|one| {
        let backend = roster.backends().get(one.backend);
        backend.is_some_and(|backend| backend.service == Service::Venice)
    })?;
    Some(match privacy(&of_venice.entry) {
        "e2ee_listed" => "e2e",
        "tee_listed" => "tee",
        other => other,
    })
}

/// Whether attested hardware is claimed for a tier.
pub(crate) fn is_attested(tier: &str) -> bool {
    matches!(tier, "tee" | "e2e")
}

/// The names of the backends of Venice.
pub(crate) fn backends(roster: &Roster) -> Vec<&str> {
    let ours = roster.backends().iter();
    ours.filter(|backend| backend.service == Service::Venice)
        .map(|backend| backend.name.as_str())
        .collect()
}

/// The models that a backend of Venice would serve, each once.
pub(crate) fn models(roster: &Roster) -> Vec<std::sync::Arc<ModelEntry>> {
    let mut found: Vec<std::sync::Arc<ModelEntry>> = Vec::new();
    for listed in roster.shown() {
        let candidates = roster.resolve(&listed.id).unwrap_or_default();
        let of_venice = candidates.into_iter().find(|one| {
            let backend = roster.backends().get(one.backend);
            backend.is_some_and(|backend| backend.service == Service::Venice)
        });
        let Some(entry) = of_venice.map(|one| one.entry) else {
            continue;
        };
        // Names of other lists can resolve to a model that Venice lists under its own name.
        if !found.iter().any(|known| known.id == entry.id) {
            found.push(entry);
        }
    }
    found
}

/// The facts, as `GET /venice/status` and the console show them.
pub(crate) fn status(roster: &Roster) -> Value {
    let backends = backends(roster);
    let models = models(roster);
    let count = |name: &str| models.iter().filter(|model| privacy(model) == name).count();
    json!({
        "configured": !backends.is_empty(),
        "backends": backends,
        "models": {
            "total": models.len(),
            "anonymized": count("anonymized"),
            "private": count("private"),
            "tee_listed": count("tee_listed"),
            "e2ee_listed": count("e2ee_listed"),
        },
        "evidence": "listed",
        "attestation_verified": false,
        "balance": null,
        "note": UNVERIFIED,
    })
}
