//! Calls to a provider about the prefixes that it stores, apart from their price: how one is sent,
//! and how a stored prefix is deleted.

use std::sync::Arc;
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
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::engine::Engine;
use crate::engine_future::EngineFuture;
use crate::failure::{Failure, ProviderRefusal};
use crate::services::{Services, StoredPrefixCall};
use crate::stored_prefixes::StoredPrefix;

/// Longest time for one call.
const CALL_MAX: Duration = Duration::from_secs(20);
/// Longest time for the deletions of a process that ends.
const DELETIONS_MAX: Duration = Duration::from_secs(5);
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

/// Deletes a stored prefix, as far as the provider answers; it ends at its time in any case.
pub(crate) async fn delete(transport: &Transport, services: &Services, stored: &StoredPrefix) {
    let Some(target) = stored.endpoint.stored_prefix(Some(&stored.name), "") else {
        return;
    };
    let asked = ask_store(
        transport,
        &stored.endpoint,
        Method::DELETE,
        target,
        Bytes::new(),
    )
    .await;
    match asked {
        Ok(_) => tell(services, stored, "deleted", (0, None, MicroUsd::ZERO)),
        Err(_) => {
            tracing::debug!(
                backend = stored.endpoint.name,
                "a stored prefix was not deleted; it ends at its time"
            );
        }
    }
}

/// Deletes what a call without an answer may have stored, found by its display name.
pub(crate) async fn delete_named(
    transport: &Transport,
    services: &Services,
    stored: StoredPrefix,
    display_name: &str,
) {
    let Some(target) = stored.endpoint.stored_prefix(None, "?pageSize=1000") else {
        return;
    };
    let listed = ask_store(
        transport,
        &stored.endpoint,
        Method::GET,
        target,
        Bytes::new(),
    )
    .await;
    let Ok(listed) = listed else { return };
    let listed: Value = serde_json::from_slice(&listed).unwrap_or_default();
    let all = listed["cachedContents"].as_array().into_iter().flatten();
    for one in all.filter(|one| one["displayName"] == display_name) {
        let Some(name) = one["name"].as_str() else {
            continue;
        };
        let stored = StoredPrefix {
            name: name.into(),
            ..stored.clone()
        };
        delete(transport, services, &stored).await;
    }
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

    fn delete_prefixes(&self, taken: Vec<StoredPrefix>) {
        if taken.is_empty() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (transport, services) = (self.transport.clone(), Arc::clone(&self.services));
        let deleting = async move {
            for stored in &taken {
                delete(&transport, &services, stored).await;
            }
        };
        let stored = &self.prompt_caches.stored;
        stored.carry_out_deletion(&runtime, deleting);
    }

    /// Deletes the prefixes that are stored at providers, and those that are being stored, as far as
    /// the providers answer within five seconds. Answers how many were stored.
    pub fn delete_stored_prefixes(&self) -> EngineFuture<'_, usize> {
        Box::pin(async move {
            let stored = &self.prompt_caches.stored;
            stored.stop();
            let taken = stored.take(&Flush::All);
            let count = taken.len();
            // One that is created from now on is deleted by its own order.
            let mut orders = stored.take_orders();
            for stored in taken {
                let (transport, services) = (self.transport.clone(), Arc::clone(&self.services));
                orders.spawn(async move { delete(&transport, &services, &stored).await });
            }
            let all = async { while orders.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(DELETIONS_MAX, all).await;
            count
        })
    }

    /// Prefixes that are stored at providers now.
    #[must_use]
    pub fn prefixes_stored(&self) -> usize {
        let now = self.prompt_caches.millis(Instant::now());
        self.prompt_caches.stored.len_at(now)
    }
}
