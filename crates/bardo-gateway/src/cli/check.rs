//! `check`: whether `serve` starts with this configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bardo_providers::transport::Transport;
use bardo_router::Catalog;
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::near;
use clap::Args;
use serde_json::{Value, json};

use super::{CliFailure, Common, environment, say};
use crate::assemble::{self, LiveLists, names};
use crate::auth::Privy;
use crate::config::{self, Config};
use crate::stores::DataFolderKind;
use crate::{embedding, serve, stores, unbilled, vector_store, wallet};

/// Options of `check`.
#[derive(Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    common: Common,
    /// Check the configuration of `serve --sandbox`, which reads no file.
    #[arg(long, conflicts_with = "config")]
    sandbox: bool,
}

/// What `serve` refuses of settings whose values are right one by one.
fn refused(config: &Config) -> Vec<String> {
    let privy = config.auth.privy.as_ref().and_then(|privy| {
        let transport = Transport::new(config.upstream.connect_timeout.0);
        Privy::new(privy, transport, Instant::now()).err()
    });
    [
        assemble::backends(config).err(),
        stores::check(&config.store).err(),
        stores::limits(&config.limits).err(),
        stores::shared_answers(&config.cache).err(),
        stores::shared_values(&config.shared).err(),
        wallet::open(config.providers.blockrun.as_ref(), None).err(),
        vector_store::shared_questions(
            &config.cache,
            &Transport::new(config.upstream.connect_timeout.0),
        )
        .err(),
        privy,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Refuses what `serve` refuses, and names what it ignores.
pub(super) fn check(args: &CheckArgs) -> Result<(), CliFailure> {
    let common = &args.common;
    let loaded = match args.sandbox {
        true => super::load(common, true)?,
        false => config::load_with(common.config.as_deref(), &environment(), refused)?,
    };
    if !loaded.config.has_providers() {
        return Err(serve::no_provider(&loaded));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let config = &loaded.config;
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
    notices.extend(embedding::notices(&config.cache.semantic));
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
    let unserved = names::unserved(config, snapshot.roster());
    notices.extend(names::odd_fallbacks(config, snapshot.roster()));
    notices.extend(names::unlisted(config, snapshot.roster()));
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

/// Notes on models of a new key's scopes that no backend of the configuration is known to serve.
/// Without a readable configuration with backends, models that no maker is known to have are noted
/// if their names are nearly those of known models.
pub(super) fn unserved_scopes(flag: Option<&Path>, models: &Value) -> Vec<String> {
    let known = config::peek(flag, &environment()).and_then(|config| {
        let backends = assemble::backends(&config).ok()?;
        (!backends.is_empty()).then_some((config, backends))
    });
    let models: Vec<&str> = models
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|model| !model.starts_with("bardo/"))
        .collect();
    let Some((config, backends)) = known else {
        return unknown_scopes(&models);
    };
    let catalog = Arc::new(Catalog::embedded());
    let snapshot = assemble::snapshot(&config, &backends, &catalog, &LiveLists::new(), false);
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
        .into_iter()
        .filter(|model| !is_known(model))
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

/// Notes on scopes that nearly have the name of a known model.
fn unknown_scopes(models: &[&str]) -> Vec<String> {
    let catalog = Catalog::embedded();
    let noted = models.iter().filter_map(|model| {
        let is_known = model.ends_with('*') || catalog.find(model).is_some();
        let ids = catalog.models().map(|known| known.id.as_str());
        let name = (!is_known)
            .then(|| near::nearest(model, ids, 2))
            .flatten()?;
        Some(format!(
            "the scope `model={model}` names a model that is not known; did you mean `{name}`?"
        ))
    });
    noted.collect()
}

/// Refuses scopes of a new key that name no backend which is configured or can be configured.
/// Without a configuration with backends, only a name that is nearly a known one is refused.
pub(super) fn check_backend_scopes(flag: Option<&Path>, scopes: &[String]) -> Result<(), String> {
    let Some(config) = config::peek(flag, &environment()) else {
        return Ok(());
    };
    let backends = assemble::backends(&config).unwrap_or_default();
    let configured = backends.iter().map(|one| one.endpoint.name.as_str());
    let unknown = names::unknown_backend_scope(configured, scopes);
    match unknown {
        Some((part, reason)) if !backends.is_empty() || reason.contains("did you mean") => {
            Err(format!("`--scope {part}`: {reason}"))
        }
        _ => Ok(()),
    }
}
