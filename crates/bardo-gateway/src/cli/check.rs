//! `check`: whether `serve` starts with this configuration.

use std::sync::Arc;
use std::time::Instant;

use bardo_providers::transport::Transport;
use bardo_router::{Catalog, NoRoute};
use serde_json::json;

use super::{Common, Failure, environment, say};
use crate::assemble::{self, Backend, LiveLists};
use crate::auth::Privy;
use crate::config::{self, Config};
use crate::stores::Kind;
use crate::{serve, stores};

/// Refuses what `serve` refuses, and names what it ignores.
pub(super) fn check(common: &Common) -> Result<(), Failure> {
    let loaded = config::load(common.config.as_deref(), &environment())?;
    if !loaded.config.has_providers() {
        return Err(serve::no_provider(&loaded));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    let config = &loaded.config;
    stores::limits(&config.limits).map_err(|reason| loaded.refuse(&reason))?;
    if let Some(privy) = &config.auth.privy {
        let transport = Transport::new(config.upstream.connect_timeout.0);
        Privy::new(privy, transport, Instant::now()).map_err(|reason| loaded.refuse(&reason))?;
    }
    if let Ok(folder) = stores::data_folder(common.data_dir.as_deref()) {
        Kind::Real.check(&folder)?;
    }
    serve::known_clients(config, || stores::any_key(common, &config.store))?;
    let file = loaded.file.as_ref().map_or_else(
        || "no file; defaults and environment".into(),
        |file| file.display().to_string(),
    );
    let names: Vec<&str> = backends
        .iter()
        .map(|backend| backend.endpoint.name.as_str())
        .collect();
    let mut notices = assemble::notices(config);
    let unserved = unserved(config, &backends);
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
fn unserved(config: &Config, backends: &[Backend]) -> Vec<String> {
    let catalog = Arc::new(Catalog::embedded());
    let world = assemble::world(config, backends, &catalog, &LiveLists::new(), false);
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
            let missing = world.roster().resolve(model).err()?;
            let hint = match &missing {
                NoRoute::UnknownModel {
                    nearest: Some(nearest),
                    ..
                } => format!("; did you mean `{nearest}`?"),
                _ => String::new(),
            };
            Some(format!(
                "`{place}` names `{model}`, which no configured backend is known to serve{hint}"
            ))
        })
        .collect()
}
