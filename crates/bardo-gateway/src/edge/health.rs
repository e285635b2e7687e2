//! Whether the gateway is alive and ready.

use std::sync::atomic::Ordering;

use http::StatusCode;

use super::{ApiReply, Edge, json_reply};

impl Edge {
    /// Whether new requests are welcome, in a status and a word. A store that was never reached is
    /// most likely a wrong setting, so the server is not ready before; one that is lost later leaves
    /// it ready for all that needs no store.
    pub(crate) fn readiness(&self) -> (StatusCode, &'static str) {
        if self.draining.load(Ordering::Relaxed) {
            (StatusCode::SERVICE_UNAVAILABLE, "draining")
        } else if !self.store_reached.load(Ordering::Relaxed) {
            (StatusCode::SERVICE_UNAVAILABLE, "store_not_reached")
        } else {
            (StatusCode::OK, "ok")
        }
    }

    /// The embedding model of the semantic cache, and whether it is in memory.
    pub(crate) fn embedding(&self) -> serde_json::Value {
        #[cfg(feature = "embedder")]
        return crate::embedding::state(&self.embedder);
        #[cfg(not(feature = "embedder"))]
        crate::embedding::absent()
    }

    pub(super) fn health(&self) -> ApiReply {
        let (status, word) = self.readiness();
        json_reply(
            status,
            serde_json::json!({ "status": word, "version": env!("CARGO_PKG_VERSION") }),
        )
    }
}
