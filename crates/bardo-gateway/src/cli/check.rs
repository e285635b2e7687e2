//! `check`: whether `serve` starts with this configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bardo_providers::transport::Transport;
use bardo_router::{Catalog, NoRoute, Roster};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::near;
use clap::Args;
use serde_json::{Value, json};

use super::{CliFailure, Common, environment, say};
use crate::assemble::{self, LiveLists};
use crate::auth::Privy;
use crate::config::{self, Config};
use crate::stores::DataFolderKind;
use crate::{serve, stores, unbilled};

/// Options of `check`.
#[derive(Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    common: Common,
    /// Check the configuration of `serve --sandbox`, which reads no file.
    #[arg(long, conflicts_with = "config")]
    sandbox: bool,
}

/// Refuses what `serve` refuses, and names what it ignores.
pub(super) fn check(args: &CheckArgs) -> Result<(), CliFailure> {
    let common = &args.common;
    let loaded = super::load(common, args.sandbox)?;
    if !loaded.config.has_providers() {
        return Err(serve::no_provider(&loaded));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let config = &loaded.config;
    stores::check(&config.store).map_err(|reason| loaded.refuse(&reason))?;
    stores::limits(&config.limits).map_err(|reason| loaded.refuse(&reason))?;
    if let Some(privy) = &config.auth.privy {
        let transport = Transport::new(config.upstream.connect_timeout.0);
        Privy::new(privy, transport, Instant::now()).map_err(|reason| loaded.refuse(&reason))?;
    }
    if !args.sandbox
        && let Ok(folder) = stores::data_folder(common.data_dir.as_deref())
    {
        DataFolderKind::Real.check(&folder)?;
    }
    serve::known_clients(config, || stores::any_key(common, &config.store))?;
    let file = loaded.file.as_ref().map_or_else(
        || match args.sandbox {
            true => "the configuration of `serve --sandbox`".into(),
            false => "no file; defaults and environment".into(),
        },
        |file| file.display().to_string(),
    );
    let names: Vec<&str> = backends
        .iter()
        .map(|backend| backend.endpoint.name.as_str())
        .collect();
    let mut notices = assemble::notices(config);
    let keys = match args.sandbox {
        true => Vec::new(),
        false => stores::all_keys(common, &config.store),
    };
    notices.extend(unbilled::of_keys(
        &keys,
        SystemClock.now_ms(),
        &unbilled::names(&backends),
    ));
    let catalog = Arc::new(Catalog::embedded());
    let snapshot = assemble::snapshot(config, &backends, &catalog, &LiveLists::new(), false);
    let unserved = unserved(config, snapshot.roster());
    notices.extend(odd_fallbacks(config, snapshot.roster()));
    if config.catalog.live {
        notices.extend(unserved);
    } else if let Some(first) = unserved.first() {
        // Without live lists no model is added later.
        return Err(loaded.refuse(first).into());
    }
    if common.json {
        let mut told = json!({ "ok": true, "file": file, "providers": names });
        if !notices.is_empty() {
            told["notices"] = json!(notices);
        }
        say(told.to_string());
    } else {
        say(format!(
            "ok: {file}\nbackends, in the order in which they are tried: {}",
            names.join(", ")
        ));
        notices
            .iter()
            .for_each(|notice| say(format!("note: {notice}")));
    }
    Ok(())
}

/// Models that aliases and fallbacks name and that no backend is known to serve.
fn unserved(config: &Config, roster: &Roster) -> Vec<String> {
    let inference = &config.inference;
    let aliases = inference.aliases.iter().map(|(alias, model)| {
        let place = format!("inference.aliases.{alias}");
        (place, model)
    });
    let fallbacks = inference.fallbacks.iter().flat_map(|(model, others)| {
        let place = format!("inference.fallbacks.{model}");
        others.iter().map(move |other| (place.clone(), other))
    });
    aliases
        .chain(fallbacks)
        .filter_map(|(place, model)| {
            let missing = roster.resolve(model).err()?;
            let hint = nearest(&missing);
            Some(format!(
                "`{place}` names `{model}`, which no configured backend is known to serve{hint}"
            ))
        })
        .collect()
}

/// Entries of fallbacks that match nothing, or other names than their owner may think.
fn odd_fallbacks(config: &Config, roster: &Roster) -> Vec<String> {
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

/// Notes on models of a new key's scopes that no backend of the configuration is known to serve.
/// Without a readable configuration with backends, nothing is known and nothing is noted.
pub(super) fn unserved_scopes(flag: Option<&Path>, models: &Value) -> Vec<String> {
    let known = config::peek(flag, &environment()).and_then(|config| {
        let backends = assemble::backends(&config).ok()?;
        (!backends.is_empty()).then_some((config, backends))
    });
    let Some((config, backends)) = known else {
        return Vec::new();
    };
    let catalog = Arc::new(Catalog::embedded());
    let snapshot = assemble::snapshot(&config, &backends, &catalog, &LiveLists::new(), false);
    let models = models
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let roster = snapshot.roster();
    let is_known = |scope: &str| {
        roster.shown().any(|entry| {
            let candidates = roster.resolve(&entry.id).unwrap_or_default();
            candidates
                .iter()
                .any(|candidate| roster.is_in_scope(scope, &entry.id, candidate))
        })
    };
    models
        .filter(|model| !model.starts_with("bardo/") && !is_known(model))
        .map(|model| {
            let names = roster.shown().map(|entry| entry.id.as_str());
            let hint = near::nearest(model, names, 2)
                .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            format!(
                "the scope `model={model}` names a model that no configured backend is known to serve{hint}"
            )
        })
        .collect()
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
