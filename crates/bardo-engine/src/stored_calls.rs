//! Calls to a provider about the prefixes that it stores, apart from their price: how one is sent,
//! and which stored prefixes are not wanted any more.

use std::time::Duration;

use bardo_cache::prefix::PrefixId;
use bardo_cache::store::Flush;
use bardo_providers::Endpoint;
use bardo_providers::transport::{SendError, Transport};
use bardo_types::fault::FaultClass;
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_wire::table;
use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::failure::{Failure, ProviderRefusal};
use crate::services::{Services, StoredPrefixCall};
use crate::stored_prefixes::StoredPrefix;

/// Longest time for one call.
const CALL_MAX: Duration = Duration::from_secs(20);
/// Longest answer, in bytes.
const ANSWER_MAX: usize = 1 << 20;

/// What is known of a call that failed.
pub(crate) struct StoreFailure {
    /// What is told of it.
    pub(crate) failure: Failure,
    /// The provider may have carried it out.
    pub(crate) is_unknown: bool,
}

impl StoreFailure {
    fn unknown(class: FaultClass, message: &'static str) -> Self {
        Self {
            failure: Failure::unknown(class, message),
            is_unknown: true,
        }
    }
}

/// Sends a call about stored prefixes and reads the answer.
pub(crate) async fn ask_store(
    transport: &Transport,
    endpoint: &Endpoint,
    method: Method,
    target: Uri,
    body: Bytes,
) -> Result<Bytes, StoreFailure> {
    let asked = asked(transport, endpoint, method, target, body);
    tokio::time::timeout(CALL_MAX, asked)
        .await
        .unwrap_or_else(|_| {
            Err(StoreFailure::unknown(
                FaultClass::Timeout,
                "the provider did not answer in time",
            ))
        })
}

async fn asked(
    transport: &Transport,
    endpoint: &Endpoint,
    method: Method,
    target: Uri,
    body: Bytes,
) -> Result<Bytes, StoreFailure> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = target;
    *request.headers_mut() = endpoint.headers().clone();
    let broken =
        || StoreFailure::unknown(FaultClass::Connection, "the provider closed the connection");
    let response = match transport.send(&endpoint.origin, request).await {
        Ok(response) => response,
        Err(SendError::NotSent(error)) => {
            return Err(StoreFailure {
                failure: Failure::unsent(&error, None),
                is_unknown: false,
            });
        }
        Err(SendError::Stale(_) | SendError::Unknown(_)) => return Err(broken()),
    };
    let status = response.status().as_u16();
    let read = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await;
    let body = read.map_err(|_| broken())?.to_bytes();
    match status {
        200..300 => Ok(body),
        // A failure of its own says nothing of what it did before.
        500.. => Err(StoreFailure::unknown(
            FaultClass::Server,
            "the provider failed",
        )),
        _ => {
            let mut fault = table::decode_error(Dialect::Gemini, status, &body, endpoint.service);
            fault.status = Some(status);
            let refusal = ProviderRefusal {
                status,
                page: false,
                service: endpoint.service,
                account: !endpoint.key.is_empty(),
            };
            Err(StoreFailure {
                failure: Failure::refused(fault, refusal),
                is_unknown: false,
            })
        }
    }
}

/// Whether a refusal speaks of the stored prefix.
pub(crate) fn names_the_prefix(failure: &Failure) -> bool {
    let told = failure.fault.message.to_ascii_lowercase();
    let names = [
        "cachedcontent",
        "cached_content",
        "cached content",
        "cache content",
    ];
    names.iter().any(|name| told.contains(name))
}

/// Tells what became of a stored prefix: with the lifetime, the cost and the expected saving.
pub(crate) fn tell(
    services: &Services,
    stored: &StoredPrefix,
    result: &'static str,
    (ttl_s, cost, expected_saving): (u64, Option<MicroUsd>, MicroUsd),
) {
    services.sink.prefix_stored(&StoredPrefixCall {
        account: &stored.owner.account,
        agent: stored.owner.agent.as_deref(),
        backend: &stored.endpoint.name,
        model: &stored.model,
        result,
        tokens: stored.tokens,
        ttl_s,
        cost,
        expected_saving,
        at_ms: services.clock.now_ms(),
    });
}

impl Engine {
    /// The provider does not have a stored prefix any more. Of many calls that find this out at the
    /// same time, the first one tells it.
    pub(crate) fn prefix_lost(&self, id: PrefixId, stored: &StoredPrefix) {
        if !self.prompt_caches.stored.lost(id, stored) {
            return;
        }
        tell(&self.services, stored, "lost", (0, None, MicroUsd::ZERO));
        // It may still be there: for another key, or for requests that it fits.
        self.delete_prefixes(vec![stored.clone()]);
    }

    /// Deletes the stored prefixes that a flush means, without being waited for.
    pub(crate) fn drop_stored_prefixes(&self, flush: &Flush) {
        self.delete_prefixes(self.prompt_caches.stored.take(flush));
    }

    /// Deletes the stored prefixes that the configuration of now has no use for: nothing is stored any
    /// more, or not with their key.
    pub(crate) fn drop_unwanted_prefixes(&self) {
        let world = self.snapshot();
        let is_unwanted = |stored: &StoredPrefix| !world.stores_at(&stored.endpoint);
        self.delete_prefixes(self.prompt_caches.stored.take_where(is_unwanted));
    }

    /// Prefixes that are stored at providers now.
    #[must_use]
    pub fn prefixes_stored(&self) -> usize {
        let now = self.prompt_caches.millis(Instant::now());
        self.prompt_caches.stored.len_at(now)
    }
}
