//! Questions that gateways share through Qdrant, by its REST interface.
//!
//! Qdrant holds vectors, keyed digests, times, and values that are encrypted with
//! `cache.redis_key`. Whatever goes wrong is a miss and a count within 20 ms: after a failure it is
//! not searched for a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bardo_cache::entry::CachedAnswer;
use bardo_cache::key::Key;
use bardo_cache::second::{LevelFuture, Loss};
use bardo_cache::semantic::{SearchSpace, SharedQuestion, SharedQuestions};
use bardo_cache::store::Flush;
use bardo_cache::vault::{SALT_BYTES, Vault};
use bardo_engine::AnswerCache;
use bardo_providers::BaseUrl;
use bardo_providers::transport::{Origin, Outgoing, SendError, Transport};
use bardo_types::clock::{Clock as _, SystemClock};
use bardo_types::privacy::SecurityClass;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::config::{CacheConfig, VectorsConfig, WRONG_COLLECTION, is_collection};

/// Longest time of a search, for which a request waits.
const SEARCH: Duration = Duration::from_millis(20);
/// Longest time of a change, for which no request waits.
const CHANGE: Duration = Duration::from_secs(1);
/// Time without a search after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// Time between two removals of what has expired.
const SWEEP: Duration = Duration::from_secs(60);
/// Questions that one search returns.
const FOUND_MAX: usize = 8;
/// Bytes of an answer that are read.
const ANSWER_MAX: usize = 1 << 20;
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// The store of vectors that these settings name; `None`: this gateway has its own questions alone.
///
/// # Errors
/// What is wrong with the settings. Connects to nothing.
pub(crate) fn shared_questions(
    config: &CacheConfig,
    transport: &Transport,
) -> Result<Option<Arc<dyn SharedQuestions>>, String> {
    let Some(vectors) = &config.semantic.vectors else {
        return Ok(None);
    };
    if config.redis_url.is_empty() {
        return Err(
            "`cache.semantic.vectors` needs `cache.redis_url`: the answers are shared there".into(),
        );
    }
    let vault = Vault::new(config.redis_key.expose().as_bytes())
        .ok_or("`cache.redis_key` must have 32 characters or more for `cache.semantic.vectors`")?;
    Ok(Some(Arc::new(Qdrant::new(vectors, vault, transport)?)))
}

/// Lets a cache share its questions through the store that these settings name, if any.
///
/// # Errors
/// What is wrong with the settings.
pub(crate) fn share(
    cache: &AnswerCache,
    config: &CacheConfig,
    transport: &Transport,
) -> Result<(), String> {
    if let Some(shared) = shared_questions(config, transport)? {
        cache.meaning().share_with(shared);
    }
    Ok(())
}

struct Qdrant {
    transport: Transport,
    origin: Arc<Origin>,
    host: HeaderValue,
    /// Path of the collection.
    path: String,
    api_key: Option<HeaderValue>,
    vault: Vault,
    times: QdrantTimes,
}

/// When something may be done again. The clock of the machine may be set, so these times go by
/// another one.
struct QdrantTimes {
    made: Instant,
    /// Milliseconds since `made` until which it is not searched.
    rests_until_ms: AtomicU64,
    /// Milliseconds since `made` from which expired questions may be removed.
    sweeps_from_ms: AtomicU64,
}

impl QdrantTimes {
    fn new() -> Self {
        Self {
            made: Instant::now(),
            rests_until_ms: AtomicU64::new(0),
            sweeps_from_ms: AtomicU64::new(0),
        }
    }

    /// Milliseconds since it was made, and some time more.
    fn in_ms(&self, more: Duration) -> u64 {
        let time = self.made.elapsed().saturating_add(more);
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }

    fn rest(&self) {
        self.rests_until_ms
            .store(self.in_ms(PAUSE), Ordering::Relaxed);
    }

    fn rests(&self) -> bool {
        self.in_ms(Duration::ZERO) < self.rests_until_ms.load(Ordering::Relaxed)
    }

    /// Whether expired questions are to be removed now, by this caller alone.
    fn takes_sweep(&self) -> bool {
        let order = Ordering::Relaxed;
        let from = self.sweeps_from_ms.load(order);
        self.in_ms(Duration::ZERO) >= from
            && self
                .sweeps_from_ms
                .compare_exchange(from, self.in_ms(SWEEP), order, order)
                .is_ok()
    }
}

impl Qdrant {
    fn new(config: &VectorsConfig, vault: Vault, transport: &Transport) -> Result<Self, String> {
        let base = BaseUrl::parse(&config.url)
            .map_err(|error| format!("`cache.semantic.vectors.url`: {error}"))?;
        let name = &config.collection;
        if !is_collection(name) {
            return Err(WRONG_COLLECTION.to_owned());
        }
        let api_key = match config.api_key.is_empty() {
            true => None,
            false => {
                let key = HeaderValue::from_str(config.api_key.expose());
                let mut key = key.map_err(
                    |_| "`cache.semantic.vectors.api_key` has characters that no header can have",
                )?;
                key.set_sensitive(true);
                Some(key)
            }
        };
        let origin = Origin::new(&base, true);
        let host = HeaderValue::from_str(&origin.authority());
        Ok(Self {
            host: host.map_err(|error| format!("`cache.semantic.vectors.url`: {error}"))?,
            path: format!("{}/collections/{name}", base.path),
            transport: transport.clone(),
            origin,
            api_key,
            vault,
            times: QdrantTimes::new(),
        })
    }

    /// Sends one request, and waits at most so long for the whole answer.
    async fn ask(
        &self,
        method: Method,
        place: &str,
        body: &Value,
        at_most: Duration,
    ) -> Result<(StatusCode, Value), Loss> {
        let body = Bytes::from(body.to_string());
        let asked = tokio::time::timeout(at_most, self.exchange(&method, place, &body)).await;
        let done = asked.unwrap_or(Err(Loss::Slow));
        if let Err(Loss::Down | Loss::Slow) = done {
            self.times.rest();
        }
        done
    }

    async fn exchange(
        &self,
        method: &Method,
        place: &str,
        body: &Bytes,
    ) -> Result<(StatusCode, Value), Loss> {
        let mut answer = self.send(method, place, body).await;
        if let Err(SendError::Stale(_)) = answer {
            // Every request here may be repeated.
            answer = self.send(method, place, body).await;
        }
        let answer = answer.map_err(|_| Loss::Down)?;
        let status = answer.status();
        let bytes = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let bytes = bytes.map_err(|_| Loss::Down)?.to_bytes();
        match status.is_success() || status == StatusCode::NOT_FOUND {
            true => Ok((status, serde_json::from_slice(&bytes).unwrap_or_default())),
            false => Err(Loss::Refused),
        }
    }

    async fn send(
        &self,
        method: &Method,
        place: &str,
        body: &Bytes,
    ) -> Result<http::Response<bardo_providers::transport::UpstreamBody>, SendError> {
        let mut request = Outgoing::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        // Made of a checked path and constants.
        *request.uri_mut() = format!("{}{place}", self.path).parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(HOST, self.host.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.api_key {
            headers.insert(API_KEY, key.clone());
        }
        self.transport.send(&self.origin, request).await
    }

    async fn search(
        &self,
        space: &SearchSpace,
        vector: &[i8],
    ) -> Result<Vec<SharedQuestion>, Loss> {
        if self.times.rests() {
            return Err(Loss::Down);
        }
        let body = json!({
            "query": vector,
            "filter": { "must": [
                { "key": "space", "match": { "value": self.vault.space(space) } },
                { "key": "expires_ms", "range": { "gt": SystemClock.now_ms() } },
            ] },
            "limit": FOUND_MAX,
            "with_payload": ["sealed"],
        });
        let (_, answer) = self
            .ask(Method::POST, "/points/query", &body, SEARCH)
            .await?;
        let points = answer["result"]["points"].as_array();
        // A point that cannot be read hides no other.
        let mut loss = Ok(());
        let opened = points.into_iter().flatten().filter_map(|point| {
            let sealed = point["payload"]["sealed"].as_str().unwrap_or_default();
            let sealed = STANDARD.decode(sealed).map_err(|_| Loss::Foreign);
            let opened = sealed.and_then(|sealed| self.vault.open_question(space, &sealed));
            opened.map_err(|lost| loss = Err(lost)).ok()
        });
        let opened: Vec<SharedQuestion> = opened.collect();
        if opened.is_empty() {
            loss?
        }
        Ok(opened)
    }

    async fn keep(
        &self,
        space: &SearchSpace,
        question: &SharedQuestion,
        entry: &CachedAnswer,
    ) -> Result<(), Loss> {
        if entry.class > SecurityClass::Standard {
            return Err(Loss::Withheld);
        }
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| Loss::Withheld)?;
        let sealed = self.vault.close_question(space, question, salt)?;
        let body = json!({ "points": [{
            "id": self.vault.question_id(&entry.key),
            "vector": question.vector,
            "payload": {
                "space": self.vault.space(space),
                "sets": self.vault.sets(entry),
                "expires_ms": entry.created_ms.saturating_add(entry.ttl_ms),
                "sealed": STANDARD.encode(sealed),
            },
        }] });
        let (mut status, _) = self.ask(Method::PUT, "/points", &body, CHANGE).await?;
        if status == StatusCode::NOT_FOUND {
            self.create(question.vector.len()).await?;
            (status, _) = self.ask(Method::PUT, "/points", &body, CHANGE).await?;
        }
        self.sweep().await;
        match status.is_success() {
            true => Ok(()),
            false => Err(Loss::Refused),
        }
    }

    /// Makes the collection, with indexes of the members that are searched. Another gateway may
    /// have made it at the same time.
    async fn create(&self, dimension: usize) -> Result<(), Loss> {
        let body = json!({ "vectors": { "size": dimension, "distance": "Cosine" } });
        match self.ask(Method::PUT, "", &body, CHANGE).await {
            Ok(_) | Err(Loss::Refused) => {}
            Err(loss) => return Err(loss),
        }
        for (field, kind) in [
            ("space", "keyword"),
            ("sets", "keyword"),
            ("expires_ms", "integer"),
        ] {
            let body = json!({ "field_name": field, "field_schema": kind });
            // It finds without an index too.
            let _ = self.ask(Method::PUT, "/index", &body, CHANGE).await;
        }
        Ok(())
    }

    /// Removes what has expired, once a minute.
    async fn sweep(&self) {
        if self.times.takes_sweep() {
            let now_ms = SystemClock.now_ms();
            let expired = json!({ "key": "expires_ms", "range": { "lte": now_ms } });
            // A failure is made up for by the next one.
            let _ = self
                .delete(&json!({ "filter": { "must": [expired] } }))
                .await;
        }
    }

    async fn delete(&self, chosen: &Value) -> Result<(), Loss> {
        let done = self.ask(Method::POST, "/points/delete", chosen, CHANGE);
        done.await.map(drop)
    }
}

impl SharedQuestions for Qdrant {
    fn nearest<'a>(
        &'a self,
        space: &'a SearchSpace,
        vector: &'a [i8],
    ) -> LevelFuture<'a, Result<Vec<SharedQuestion>, Loss>> {
        Box::pin(self.search(space, vector))
    }

    fn put<'a>(
        &'a self,
        space: &'a SearchSpace,
        question: &'a SharedQuestion,
        entry: &'a CachedAnswer,
    ) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(self.keep(space, question, entry))
    }

    fn remove<'a>(&'a self, key: &'a Key) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            let id = self.vault.question_id(key);
            self.delete(&json!({ "points": [id] })).await
        })
    }

    fn flush<'a>(&'a self, flush: &'a Flush) -> LevelFuture<'a, Result<(), Loss>> {
        Box::pin(async move {
            let sets = self.vault.flushed_sets(flush);
            let chosen = json!({ "key": "sets", "match": { "any": sets } });
            self.delete(&json!({ "filter": { "must": [chosen] } }))
                .await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_and_a_sweep_go_by_a_clock_that_nobody_sets() {
        let times = QdrantTimes::new();
        assert!(!times.rests());
        assert!(times.takes_sweep() && !times.takes_sweep());
        times.rest();
        assert!(times.rests());
        tokio::time::advance(PAUSE).await;
        assert!(!times.rests() && !times.takes_sweep());
        tokio::time::advance(SWEEP).await;
        assert!(times.takes_sweep());
    }
}
