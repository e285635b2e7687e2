//! Checks what types alone cannot.

mod routing;

use bardo_types::ids::AccountId;
use bardo_types::unit::UnitInterval;

use super::{Config, Providers, SemanticCacheConfig};

pub(crate) use self::routing::{BACKENDS, known_backend, usd};

/// Whether a text is an origin as browsers send it.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        !scheme.is_empty()
            && !host.is_empty()
            && !host.contains(['/', '*', ' ', '?', '#', '@'])
            && *text == text.to_ascii_lowercase()
    })
}

/// Checks the settings of the semantic cache.
fn semantic(semantic: &SemanticCacheConfig) -> Result<(), String> {
    for (key, share) in [
        ("min_similarity", semantic.min_similarity),
        ("audit_share", semantic.audit_share),
        ("baseline_share", semantic.baseline_share),
    ] {
        UnitInterval::try_from(share)
            .map_err(|error| format!("`cache.semantic.{key}`: {error}"))?;
    }
    if !(0.0001..=0.5).contains(&semantic.max_error) {
        return Err("`cache.semantic.max_error` must be from 0.0001 to 0.5".into());
    }
    Ok(())
}

impl Config {
    /// Checks what types alone cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.upstream.max_attempts == 0 {
            return Err("`upstream.max_attempts` must be at least 1".into());
        }
        self.inference.spread()?;
        let url = self.store.url.expose();
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !matches!(url, "" | "sqlite") && !is_postgres {
            return Err("`store.url` must be \"sqlite\" or begin with postgres://".into());
        }
        if self.limits.instances == 0 {
            return Err("`limits.instances` must be at least 1".into());
        }
        let breaker = &self.upstream.breaker;
        for (key, share) in [
            ("retry_budget", self.upstream.retry_budget),
            ("breaker.error_rate", breaker.error_rate),
        ] {
            UnitInterval::try_from(share).map_err(|error| format!("`upstream.{key}`: {error}"))?;
        }
        for (key, count) in [
            ("failures", breaker.failures),
            ("connect_failures", breaker.connect_failures),
            ("min_samples", breaker.min_samples),
        ] {
            if count == 0 {
                return Err(format!(
                    "`upstream.breaker.{key}` must be at least 1; to disable the circuit breaker, set `upstream.breaker.enabled: false`"
                ));
            }
        }
        if self.server.max_bodies.0 < self.server.max_body.0 {
            return Err("`server.max_bodies` must be at least `server.max_body`".into());
        }
        for origin in &self.server.cors.origins {
            if origin != "*" && !is_origin(origin) {
                return Err(format!(
                    "`server.cors.origins`: `{origin}` is not an origin; write scheme, host and port without a path, such as \
                     `https://app.example.com`"
                ));
            }
        }
        if self.server.max_header.0 > 1 << 20 {
            return Err("`server.max_header` must be at most 1MiB".into());
        }
        if !self.server.admin_listen.ip().is_loopback() && self.server.admin_token.is_empty() {
            return Err(format!(
                "`server.admin_listen` is {}, which other machines can reach; set `server.admin_token`, or listen on \
                 127.0.0.1",
                self.server.admin_listen
            ));
        }
        if let Some(privy) = &self.auth.privy {
            if privy.app_id.is_empty()
                || !privy
                    .app_id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            {
                return Err("`auth.privy.app_id` must be the id of an application: letters, digits, `-` and `_`".into());
            }
            if privy.jwks_url.is_some() && privy.jwks_file.is_some() {
                return Err("`auth.privy` has both `jwks_url` and `jwks_file`; remove one".into());
            }
        }
        for (index, key) in self.auth.keys.iter().enumerate() {
            if let Err(error) = AccountId::parse(&key.id) {
                return Err(format!("`auth.keys[{index}].id`: {error}"));
            }
            if key.key.expose().len() < 16 {
                return Err(format!(
                    "`auth.keys[{index}].key` must have at least 16 characters"
                ));
            }
            if self.auth.keys[..index]
                .iter()
                .any(|earlier| earlier.id == key.id)
            {
                return Err(format!(
                    "`auth.keys[{index}].id`: `{}` is used twice",
                    key.id
                ));
            }
        }
        semantic(&self.cache.semantic)?;
        routing::check(self)?;
        Ok(())
    }

    /// Whether any backend is configured.
    pub(crate) fn has_providers(&self) -> bool {
        let Providers {
            blockrun,
            openrouter,
            venice,
            bankr,
            local,
            direct,
        } = &self.providers;
        blockrun.is_some()
            || openrouter.is_some()
            || venice.is_some()
            || bankr.is_some()
            || local.is_some()
            || direct
                .as_ref()
                .is_some_and(|direct| !direct.keys.is_empty())
    }
}
