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
pub(super) const LAYERS: &[Layer] = &[
    CacheLayer {
        id: "relay",
        label: "gateway, relay alone",
        marks: MarksBy::Absent,
        is_hash_on: false,
        is_shared: false,
    },
    CacheLayer {
        id: "hash",
        label: "+ answers to identical requests",
        marks: MarksBy::Absent,
        is_hash_on: true,
        is_shared: false,
    },
    CacheLayer {
        id: "single_flight",
        label: "+ one call for identical requests at once",
        marks: MarksBy::Absent,
        is_hash_on: true,
        is_shared: true,
    },
    CacheLayer {
        id: "own_marks",
        label: "+ the client's own marks, relayed",
        marks: MarksBy::Client,
        is_hash_on: true,
        is_shared: true,
    },
    CacheLayer {
        id: "prefix",
        label: "+ the gateway's marks in place of them",
        marks: MarksBy::Gateway,
        is_hash_on: true,
        is_shared: true,
    },
];

impl CacheLayer {
    /// The settings that differ from the defaults.
    pub(super) fn settings(&self) -> Value {
        json!({
            "cache": { "hash": { "enabled": self.is_hash_on, "single_flight": self.is_shared } },
            "inference": { "caching": { "auto_cache_control": self.marks == MarksBy::Gateway } },
        })
    }
}
