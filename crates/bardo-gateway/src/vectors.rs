//! The embedding model in this program, as a backend: `local/all-MiniLM-L6-v2`.

use std::sync::Arc;
use std::time::Duration;

use bardo_access::BoxFuture;
use bardo_embed::{Embedded, Embedder, ModelSpec, Skip};
use bardo_engine::{Engine, OwnVectors, SentenceVector, SentenceVectors};
use bardo_providers::{BUILT_IN, Endpoint};
use bardo_router::{BackendModels, BackendSpec, ModelFilter, RosterBuilder, Terms};
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::{Capabilities, ModelEntry, Price, Service};
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;
use bardo_wire::embeddings::EmbeddingsRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::config::SemanticCacheConfig;

/// Name of the model in requests and lists.
const MODEL: &str = "local/all-MiniLM-L6-v2";
/// Texts in one request.
const INPUTS_MAX: usize = 256;
/// Requests whose texts are read at the same time; further ones are refused.
const REQUESTS_MAX: usize = 8;
/// Texts that wait for the thread of the model. Each request has one of them there at a time.
const QUEUE_MAX: usize = 32;
/// Longest time for the texts of one request.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// Pause that a refused caller is told.
const RETRY_AFTER_MS: u64 = 1_000;

/// Adds the backend to a roster. Its place in the list of endpoints has to be the same.
pub(crate) fn backend(roster: &mut RosterBuilder) -> Arc<Endpoint> {
    let entry = ModelEntry {
        id: MODEL.to_owned(),
        upstream_id: MODEL.to_owned(),
        display_name: "all-MiniLM-L6-v2".to_owned(),
        vendor: "sentence-transformers".to_owned(),
        tier: None,
        capabilities: Arc::new(Capabilities {
            context_tokens: ModelSpec::minilm().tokens_max as u64,
            ..Capabilities::default()
        }),
        price: Some(Price::default()),
        // The day of its first release.
        created: 1_630_281_600,
        embeddings: true,
        rating: 0,
        security: SecurityClass::Private,
    };
    let spec = BackendSpec {
        name: BUILT_IN.to_owned(),
        service: Service::Local,
        filter: ModelFilter::new(vec![MODEL.to_owned()]),
    };
    roster.backend(
        spec,
        BackendModels::Live(vec![entry]),
        Some(Price::default()),
    );
    roster.terms(Terms {
        billed: Some(true),
        security: Some(SecurityClass::Private),
        ..Terms::default()
    });
    Arc::new(Endpoint::built_in())
}

/// The model in this program, loaded when a first text comes. `/v1/embeddings` and the semantic
/// cache share it.
pub(crate) fn embedder() -> Arc<Embedder> {
    Arc::new(Embedder::new(ModelSpec::minilm(), QUEUE_MAX))
}

/// Gives an engine its models: `embedder` for the backend in this program, and `sentences` for the
/// semantic cache.
pub(crate) fn share(
    embedder: &Arc<Embedder>,
    sentences: &Arc<Embedder>,
    engine: Engine,
    semantic: &SemanticCacheConfig,
) -> Engine {
    if semantic.enabled && semantic.warm {
        sentences.warm();
    }
    let sentences = Sentences(Arc::clone(sentences));
    engine.cache().meaning().embed_with(Arc::new(sentences));
    engine.with_vectors(Arc::new(BuiltIn::new(Arc::clone(embedder))))
}

/// Vectors for the semantic cache.
struct Sentences(Arc<Embedder>);

impl SentenceVectors for Sentences {
    fn vector<'a>(
        &'a self,
        text: &'a str,
        tokens_max: usize,
        at_most: Duration,
    ) -> BoxFuture<'a, Result<SentenceVector, &'static str>> {
        Box::pin(async move {
            let made = self.0.embed(text.to_owned(), tokens_max, at_most).await;
            let made = made.map_err(|skip| skip.label())?;
            Ok(SentenceVector {
                vector: made.vector.quantized().into_boxed_slice(),
                namespace: made.namespace,
            })
        })
    }
}

/// The model in this program as a backend.
struct BuiltIn {
    embedder: Arc<Embedder>,
    permits: Semaphore,
}

impl BuiltIn {
    fn new(embedder: Arc<Embedder>) -> Self {
        Self {
            embedder,
            permits: Semaphore::new(REQUESTS_MAX),
        }
    }

    async fn vectors(&self, body: &[u8], at_most: Duration) -> Result<Bytes, Fault> {
        let wanted = VectorRequest::read(body)?;
        let permit = self.permits.try_acquire();
        let _permit = permit.map_err(|_| skipped(&Skip::Busy))?;
        let tokens_max = self.embedder.spec().tokens_max;
        let all = self
            .embedder
            .embed_all(wanted.texts, tokens_max, at_most.min(WAIT_MAX))
            .await
            .map_err(|skip| skipped(&skip))?;
        if let Some(index) = all.iter().position(|one| one.cut) {
            return Err(refused(
                "input",
                format!(
                    "text {index} of `input`, counted from 0, has more than {tokens_max} tokens; {MODEL} reads no \
                    more. Send it in parts"
                ),
            ));
        }
        Ok(answer(&all, wanted.base64))
    }
}

impl OwnVectors for BuiltIn {
    fn answer<'a>(
        &'a self,
        body: &'a [u8],
        at_most: Duration,
    ) -> BoxFuture<'a, Result<Bytes, Fault>> {
        Box::pin(self.vectors(body, at_most))
    }
}

/// A request that this model can answer.
#[derive(Debug)]
struct VectorRequest {
    texts: Vec<String>,
    base64: bool,
}

impl VectorRequest {
    fn read(body: &[u8]) -> Result<Self, Fault> {
        let EmbeddingsRequest {
            texts,
            dimensions,
            base64,
        } = EmbeddingsRequest::read(body).map_err(unreadable)?;
        if texts.is_empty() || texts.len() > INPUTS_MAX {
            return Err(refused(
                "input",
                format!(
                    "{MODEL} accepts 1 to {INPUTS_MAX} texts in one request, not {}",
                    texts.len()
                ),
            ));
        }
        if let Some(index) = texts.iter().position(String::is_empty) {
            return Err(refused(
                "input",
                format!("text {index} of `input`, counted from 0, is empty; remove it"),
            ));
        }
        let dimension = ModelSpec::minilm().dimension;
        if dimensions.is_some_and(|wanted| wanted != dimension as u64) {
            return Err(refused(
                "dimensions",
                format!("{MODEL} makes vectors of {dimension} numbers only; remove `dimensions`"),
            ));
        }
        Ok(Self { texts, base64 })
    }
}

fn answer(all: &[Embedded], base64: bool) -> Bytes {
    let rows: Vec<Value> = all
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let values = one.vector.values();
            let embedding = if base64 {
                let bytes: Vec<u8> = values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(values)
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    let tokens: usize = all.iter().map(|one| one.tokens).sum();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    json!({ "object": "list", "data": rows, "model": MODEL, "usage": usage })
        .to_string()
        .into()
}

fn unreadable(refusal: BadRequest) -> Fault {
    Fault::new(FaultClass::BadRequest, refusal.message).with_param(refusal.param)
}

fn refused(param: &'static str, message: String) -> Fault {
    Fault::new(FaultClass::BadRequest, message).with_param(param)
}

/// A busy model passes; a model that cannot run does not.
fn skipped(skip: &Skip) -> Fault {
    match skip {
        Skip::Busy | Skip::Late | Skip::Loading | Skip::Crashed => Fault {
            retry_after_ms: Some(RETRY_AFTER_MS),
            ..Fault::new(
                FaultClass::RateLimit,
                format!("{MODEL}: {skip}. Retry later"),
            )
        },
        Skip::NoModel | Skip::Failed(_) => {
            Fault::new(FaultClass::Server, format!("{MODEL}: {skip}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &Value) -> (String, Option<String>) {
        let fault = VectorRequest::read(body.to_string().as_bytes()).expect_err("it is refused");
        (fault.message.into_owned(), fault.param)
    }

    #[test]
    fn what_the_model_cannot_do_is_refused_in_words() {
        let too_many = vec!["x"; INPUTS_MAX + 1];
        for (body, param, part) in [
            (
                json!({ "input": [[1, 2]] }),
                "input",
                "does not accept token ids",
            ),
            (
                json!({ "input": [1, 2] }),
                "input",
                "does not accept token ids",
            ),
            (
                json!({ "input": [] }),
                "input",
                "accepts 1 to 256 texts in one request, not 0",
            ),
            (json!({ "input": too_many }), "input", "not 257"),
            (
                json!({ "input": "x", "dimensions": 256 }),
                "dimensions",
                "384 numbers only",
            ),
            (
                json!({ "input": "x", "encoding_format": "hex" }),
                "encoding_format",
                "float or base64",
            ),
        ] {
            let (message, place) = refusal(&body);
            assert_eq!(place.as_deref(), Some(param), "{message}");
            assert!(message.contains(part), "{message}");
        }
        let good = json!({ "input": ["a", "b"], "dimensions": 384, "encoding_format": "base64" });
        let wanted = VectorRequest::read(good.to_string().as_bytes()).expect("it is accepted");
        assert_eq!((wanted.texts.len(), wanted.base64), (2, true));
    }

    #[tokio::test]
    async fn a_busy_model_is_a_refusal_with_a_time_to_retry() {
        let built_in = BuiltIn::new(embedder());
        let _all = built_in.permits.acquire_many(8).await.expect("permits");
        let refused = built_in.vectors(br#"{"input":"x"}"#, WAIT_MAX).await;
        let fault = refused.expect_err("no permit is left");
        assert_eq!(fault.class, FaultClass::RateLimit);
        assert_eq!(fault.retry_after_ms, Some(RETRY_AFTER_MS));
    }
}
