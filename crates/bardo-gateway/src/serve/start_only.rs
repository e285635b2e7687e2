//! Settings that are read only at the start of a server, and which of them a reload found changed.

use bardo_types::secret::Secret;

use crate::config::{CacheConfig, Config, Loaded};

/// The values of these settings, compared and never shown.
pub(super) struct StartOnly(Vec<(&'static str, Secret)>);

impl StartOnly {
    pub(super) fn of(loaded: &Loaded) -> Self {
        let (config, written) = (&loaded.config, loaded.layers.merged());
        let Config {
            server,
            store,
            limits,
            upstream,
            cache,
            shared,
            ..
        } = config;
        // The command line overrides these two in `config`, so their written values are compared.
        let address = |name: &str| shown(&written["server"][name]);
        Self(vec![
            ("server.listen", address("listen")),
            ("server.admin_listen", address("admin_listen")),
            ("server.admin_token", server.admin_token.clone()),
            ("server.admin_read_token", server.admin_read_token.clone()),
            ("server.workers", shown(server.workers)),
            ("store.url", store.url.clone()),
            ("store.durability", debug(&store.durability)),
            ("store.keep_receipts", debug(&store.keep_receipts.0)),
            ("store.keep_minutes", debug(&store.keep_minutes.0)),
            ("store.keep_hours", debug(&store.keep_hours.0)),
            ("limits.redis_url", limits.redis_url.clone()),
            ("shared.redis_url", shared.redis_url.clone()),
            ("shared.redis_key", shared.redis_key.clone()),
            ("cache.redis_url", cache.redis_url.clone()),
            ("cache.redis_key", cache.redis_key.clone()),
            ("cache.semantic.vectors", vectors(cache)),
            ("cache.semantic.model", debug(&cache.semantic.model)),
            ("cache.semantic.warm", shown(cache.semantic.warm)),
            ("limits.instances", shown(limits.instances)),
            ("telemetry.enabled", shown(&written["telemetry"]["enabled"])),
            ("telemetry.otlp", shown(&written["telemetry"]["otlp"])),
            (
                "telemetry.langfuse",
                shown(&written["telemetry"]["langfuse"]),
            ),
            (
                "telemetry.clickhouse",
                shown(&written["telemetry"]["clickhouse"]),
            ),
            ("alerts", shown(&written["alerts"])),
            ("payments", shown(&written["payments"])),
            (
                "providers.blockrun.wallet_key",
                shown(&written["providers"]["blockrun"]["wallet_key"]),
            ),
            (
                "providers.blockrun.wallet_passphrase",
                shown(&written["providers"]["blockrun"]["wallet_passphrase"]),
            ),
            (
                "providers.blockrun.wallet_network",
                shown(&written["providers"]["blockrun"]["wallet_network"]),
            ),
            (
                "providers.blockrun.wallet_scheme",
                shown(&written["providers"]["blockrun"]["wallet_scheme"]),
            ),
            (
                "providers.blockrun.wallet_max_per_call_usd",
                shown(&written["providers"]["blockrun"]["wallet_max_per_call_usd"]),
            ),
            (
                "providers.blockrun.wallet_max_per_day_usd",
                shown(&written["providers"]["blockrun"]["wallet_max_per_day_usd"]),
            ),
            (
                "upstream.connect_timeout",
                debug(&upstream.connect_timeout.0),
            ),
        ])
    }

    /// The settings whose value in `newer` is another than at the start.
    pub(super) fn changed(&self, newer: &Loaded) -> Vec<&'static str> {
        let newer = Self::of(newer);
        let pairs = self.0.iter().zip(&newer.0);
        pairs
            .filter(|((_, old), (_, new))| old != new)
            .map(|((name, _), _)| *name)
            .collect()
    }
}

fn vectors(cache: &CacheConfig) -> Secret {
    let vectors = cache.semantic.vectors.as_ref();
    let told =
        vectors.map(|one| [&one.url, " ", &one.collection, " ", one.api_key.expose()].concat());
    Secret::new(told.unwrap_or_default())
}

fn shown(value: impl std::fmt::Display) -> Secret {
    Secret::new(value.to_string())
}

fn debug(value: &impl std::fmt::Debug) -> Secret {
    Secret::new(format!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config;

    #[test]
    fn settings_that_need_a_restart_are_named_and_others_are_not() {
        let loaded = |value| config::embedded("test", value).unwrap();
        let started = StartOnly::of(&loaded(json!({ "server": { "admin_token": "one" } })));
        let newer = json!({
            "server": { "admin_token": "two", "listen": "127.0.0.1:9999", "drain": "1s" },
            "store": { "keep_receipts": "1days" },
            "limits": { "requests_per_minute": 7, "instances": 2 },
            "cache": { "semantic": { "warm": true, "deadline": "9ms" } },
        });
        assert_eq!(
            started.changed(&loaded(newer)),
            [
                "server.listen",
                "server.admin_token",
                "store.keep_receipts",
                "cache.semantic.warm",
                "limits.instances"
            ]
        );
        let same =
            json!({ "server": { "admin_token": "one" }, "limits": { "requests_per_minute": 7 } });
        assert!(started.changed(&loaded(same)).is_empty());
    }
}
