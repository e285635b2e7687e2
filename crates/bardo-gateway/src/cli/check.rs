//! `check`: whether `serve` would start with this configuration.

use serde_json::json;

use super::{Common, Failure, environment, say};
use crate::{assemble, config, serve, stores};

/// Refuses what `serve` refuses, and names what it ignores.
pub(super) fn check(common: &Common) -> Result<(), Failure> {
    let loaded = config::load(common.config.as_deref(), &environment())?;
    if !loaded.config.has_providers() {
        return Err(serve::no_provider(&loaded));
    }
    let backends = assemble::backends(&loaded.config).map_err(|reason| loaded.refuse(&reason))?;
    serve::known_clients(&loaded.config, || {
        stores::any_key(common, &loaded.config.store)
    })?;
    let file = loaded.file.as_ref().map_or_else(
        || "no file; defaults and environment".into(),
        |file| file.display().to_string(),
    );
    let names: Vec<&str> = backends
        .iter()
        .map(|backend| backend.endpoint.name.as_str())
        .collect();
    let notices = assemble::notices(&loaded.config);
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
