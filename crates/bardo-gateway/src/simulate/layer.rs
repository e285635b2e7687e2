//! The layers of caches, each on top of the ones before.

use serde_json::{Value, json};

/// One more layer of the gateway.
#[derive(Debug)]
pub(super) struct CacheLayer {
    /// Name in JSON.
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    pub(super) marks: MarksBy,
    is_hash_on: bool,
    is_shared: bool,
    /// Requests that want the cache want answers to the same question in other words, too.
    pub(super) is_semantic: bool,
}

/// The side that sets marks for the provider's prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarksBy {
    /// Neither side. Clients speak the provider's dialect, and the gateway relays.
    Absent,
    /// Clients, of five minutes. The gateway relays them.
    Client,
    /// The gateway. Clients speak Chat Completions, so it translates.
    Gateway,
}

/// All of them. A further layer is a further row.
pub(super) const LAYERS: &[CacheLayer] = &[
    CacheLayer {
        id: "relay",
        label: "gateway, relay alone",
        marks: MarksBy::Absent,
        is_hash_on: false,
        is_shared: false,
        is_semantic: false,
    },
    CacheLayer {
        id: "hash",
        label: "+ answers to identical requests",
        marks: MarksBy::Absent,
        is_hash_on: true,
        is_shared: false,
        is_semantic: false,
    },
    CacheLayer {
        id: "single_flight",
        label: "+ one call for identical requests at once",
        marks: MarksBy::Absent,
        is_hash_on: true,
        is_shared: true,
        is_semantic: false,
    },
    CacheLayer {
        id: "own_marks",
        label: "+ the client's own marks, relayed",
        marks: MarksBy::Client,
        is_hash_on: true,
        is_shared: true,
        is_semantic: false,
    },
    CacheLayer {
        id: "prefix",
        label: "+ the gateway's marks in place of them",
        marks: MarksBy::Gateway,
        is_hash_on: true,
        is_shared: true,
        is_semantic: false,
    },
    #[cfg(feature = "embedder")]
    CacheLayer {
        id: "semantic",
        label: "+ answers to the same question in other words",
        marks: MarksBy::Gateway,
        is_hash_on: true,
        is_shared: true,
        is_semantic: true,
    },
];

impl CacheLayer {
    /// The settings that differ from the defaults.
    pub(super) fn settings(&self) -> Value {
        json!({
            "cache": {
                "hash": { "enabled": self.is_hash_on, "single_flight": self.is_shared },
                // On a busy machine a vector takes its time, and the results must not depend on that.
                "semantic": { "enabled": self.is_semantic, "deadline": "10m" },
            },
            "inference": { "caching": { "auto_cache_control": self.marks == MarksBy::Gateway } },
        })
    }
}
