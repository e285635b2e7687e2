//! Notes on names of models in a configuration that lead nowhere, or elsewhere than they seem to.

use bardo_router::{Candidate, Catalog, NoRoute, Roster};
use bardo_types::backend::BackendName;
use bardo_types::near;
use std::sync::Arc;

use super::{AssembledBackend, LiveLists, snapshot};
use crate::config::{Config, known_backend_beside};

/// Logs the names of models that are probably misspelt, as warnings.
pub(crate) fn tell_misspelt(
    config: &Config,
    backends: &[AssembledBackend],
    catalog: &Arc<Catalog>,
) {
    let inference = &config.inference;
    if inference.aliases.is_empty() && inference.fallbacks.is_empty() {
        return;
    }
    let snapshot = snapshot(config, backends, catalog, &LiveLists::new(), false);
    let roster = snapshot.roster();
    let noted = [unserved, odd_fallbacks, unlisted].map(|notes| notes(config, roster));
    for note in noted.iter().flatten() {
        // Without a suggestion the name may be of a list that is not fetched yet.
        if note.contains("did you mean") {
            tracing::warn!("{note}");
        }
    }
}

/// The first scope of a key that names no backend which is configured or can be configured, and why.
pub(crate) fn unknown_backend_scope<'a>(
    configured: impl Iterator<Item = &'a str> + Clone,
    scopes: &[String],
) -> Option<(String, String)> {
    let parts = scopes
        .iter()
        .flat_map(|text| text.split(','))
        .map(str::trim);
    let named = parts.filter_map(|part| {
        let (kind, name) = part.split_once('=')?;
        let is_backend = matches!(kind.trim(), "backend" | "backends" | "provider");
        (is_backend && !name.trim().is_empty()).then(|| (part, name.trim()))
    });
    for (part, name) in named {
        let is_meant = |backend: &str| BackendName::parse(backend).is_meant_by(name);
        let keys = || {
            configured
                .clone()
                .filter_map(|one| one.strip_prefix("direct/"))
        };
        let of_key = format!("direct/{name}");
        if configured.clone().any(is_meant) || known_backend_beside(keys(), "", &of_key).is_ok() {
            continue;
        }
        if let Err(reason) = known_backend_beside(keys(), "", name) {
            let reason = reason.trim_start_matches("``: ").to_owned();
            return Some((part.to_owned(), reason));
        }
    }
    None
}

/// Models that aliases and fallbacks name and that no backend is known to serve.
pub(crate) fn unserved(config: &Config, roster: &Roster) -> Vec<String> {
    targets(config)
        .filter_map(|(place, model)| {
            let missing = roster.resolve(model).err()?;
            let hint = nearest(&missing);
            Some(format!(
                "`{place}` names `{model}`, which no configured backend is known to serve{hint}"
            ))
        })
        .collect()
}

/// Targets that a backend without a complete list would be asked for, and that nearly have the name
/// of a listed model.
pub(crate) fn unlisted(config: &Config, roster: &Roster) -> Vec<String> {
    let ids = || roster.listed().iter().map(|entry| entry.id.as_str());
    let is_listed = |candidate: &Candidate| ids().any(|id| id == candidate.entry.id);
    targets(config)
        .filter_map(|(place, model)| {
            let candidates = roster.resolve(model).ok()?;
            let asked = &candidates.first()?.entry.id;
            if roster.list_price(asked).is_some() || candidates.iter().any(is_listed) {
                return None;
            }
            let meant = near::nearest(asked, ids(), 2)?;
            Some(format!(
                "`{place}` names `{model}`, which is in no known list of models; did you mean `{meant}`?"
            ))
        })
        .collect()
}

/// Each model that an alias or a fallback leads to, behind the name of its setting.
fn targets(config: &Config) -> impl Iterator<Item = (String, &String)> {
    let inference = &config.inference;
    let aliases = inference.aliases.iter().map(|(alias, model)| {
        let place = format!("inference.aliases.{alias}");
        (place, model)
    });
    let fallbacks = inference.fallbacks.iter().flat_map(|(model, others)| {
        let place = format!("inference.fallbacks.{model}");
        others.iter().map(move |other| (place.clone(), other))
    });
    aliases.chain(fallbacks)
}

/// Entries of fallbacks that match nothing, or other names than their owner may think.
pub(crate) fn odd_fallbacks(config: &Config, roster: &Roster) -> Vec<String> {
    let fallbacks = &config.inference.fallbacks;
    let mut notices = Vec::new();
    for (model, others) in fallbacks {
        let place = format!("inference.fallbacks.{model}");
        match roster.resolve(model) {
            Ok(_) => {}
            Err(missing @ NoRoute::UnknownModel { .. }) => {
                let hint = nearest(&missing);
                notices.push(format!(
                    "`{place}`: no configured backend is known to serve `{model}`, so its requests go to the fallbacks at once{hint}"
                ));
            }
            Err(missing) => notices.push(format!("`{place}` can never match: {missing}")),
        }
        let meaning = roster.meaning(model);
        for other in others
            .iter()
            .filter(|other| roster.meaning(other) == meaning)
        {
            notices.push(format!(
                "`{place}` names `{other}`, which is the same model by another name"
            ));
        }
    }
    notices
}

fn nearest(missing: &NoRoute) -> String {
    match missing {
        NoRoute::UnknownModel {
            nearest: Some(nearest),
            ..
        } => format!("; did you mean `{nearest}`?"),
        _ => String::new(),
    }
}
