//! The embedding model in this program, as a backend: `local/all-MiniLM-L6-v2`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bardo_access::BoxFuture;
use bardo_embed::{Embedded, Embedder, ModelSpec, Skip};
use bardo_engine::{Engine, OwnVectors, SentenceVector, SentenceVectors};
use bardo_providers::{BUILT_IN, Endpoint};
use bardo_router::{BackendModels, BackendSpec, ModelFilter, RosterBuilder, Terms};
use bardo_types::error_code::ErrorCode;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::ids::AccountId;
use bardo_types::model::{Capabilities, ModelEntry, Price, Service};
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;
use bardo_wire::embeddings::EmbeddingsRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::config::SemanticCacheConfig;

/// Name of the model in requests and lists.
const MODEL: &str = "local/all-MiniLM-L6-v2";
/// Texts in one request.
const INPUTS_MAX: usize = 256;
/// Bytes of one text: far more than the model reads, and little time for the one thread that reads
/// the texts of all accounts.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of all texts of one request.
const INPUT_BYTES_MAX: usize = 1 << 20;
/// Requests whose texts are read at the same time; further ones are refused.
const REQUESTS_MAX: usize = 16;
/// Those of one account, so that no account keeps all others out.
const REQUESTS_PER_ACCOUNT_MAX: usize = 8;
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
    /// Number of requests whose texts are read, by account.
    reading: Mutex<HashMap<AccountId, usize>>,
}

/// The right of one request to have its texts read.
struct Seat<'a> {
    model: &'a BuiltIn,
    account: &'a AccountId,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut reading = self.model.reading();
        if let Some(own) = reading.get_mut(self.account) {
            *own -= 1;
            if *own == 0 {
                reading.remove(self.account);
            }
        }
    }
}

impl BuiltIn {
    fn new(embedder: Arc<Embedder>) -> Self {
        Self {
            embedder,
            reading: Mutex::default(),
        }
    }

    fn reading(&self) -> MutexGuard<'_, HashMap<AccountId, usize>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a request of an account; `None` where the account or all accounts have too many.
    fn seat<'a>(&'a self, account: &'a AccountId) -> Option<Seat<'a>> {
        let mut reading = self.reading();
        let all: usize = reading.values().sum();
        let own = reading.get(account).copied().unwrap_or(0);
        if all >= REQUESTS_MAX || own >= REQUESTS_PER_ACCOUNT_MAX {
            return None;
        }
        reading.insert(account.clone(), own + 1);
        Some(Seat {
            model: self,
            account,
        })
    }

    async fn vectors(
        &self,
        account: &AccountId,
        body: &[u8],
        at_most: Duration,
    ) -> Result<Bytes, Fault> {
        let wanted = VectorRequest::read(body).map_err(invalid)?;
        let _seat = self.seat(account).ok_or_else(|| skipped(&Skip::Busy))?;
        let tokens_max = self.embedder.spec().tokens_max;
        let all = self
            .embedder
            .embed_all(wanted.texts, tokens_max, at_most.min(WAIT_MAX))
            .await
            .map_err(|skip| skipped(&skip))?;
        if let Some(index) = all.iter().position(|one| one.cut) {
            return Err(invalid(BadRequest::new(
                "input",
                format!(
                    "text {index} of `input`, counted from 0, has more than {tokens_max} tokens; {MODEL} reads no \
                    more. Send it in parts"
                ),
            )));
        }
        Ok(answer(&all, wanted.base64))
    }
}

impl OwnVectors for BuiltIn {
    fn check(&self, body: &[u8]) -> Result<(), BadRequest> {
        VectorRequest::read(body).map(|_| ())
    }

    fn answer<'a>(
        &'a self,
        account: &'a AccountId,
        body: &'a [u8],
        at_most: Duration,
    ) -> BoxFuture<'a, Result<Bytes, Fault>> {
        Box::pin(self.vectors(account, body, at_most))
    }
}

/// A request that this model can answer.
#[derive(Debug)]
struct VectorRequest {
    texts: Vec<String>,
    base64: bool,
}

impl VectorRequest {
    fn read(body: &[u8]) -> Result<Self, BadRequest> {
        let EmbeddingsRequest {
            texts,
            dimensions,
            base64,
        } = EmbeddingsRequest::read(body)?;
        if texts.is_empty() || texts.len() > INPUTS_MAX {
            let told = format!(
                "{MODEL} accepts 1 to {INPUTS_MAX} texts in one request, not {}",
                texts.len()
            );
            return Err(refused("input", told));
        }
        let mut total = 0;
        for (index, text) in texts.iter().enumerate() {
            total += text.len();
            let told = match text.len() {
                0 => format!("text {index} of `input`, counted from 0, is empty; remove it"),
                bytes if bytes > TEXT_BYTES_MAX => format!(
                    "text {index} of `input`, counted from 0, has {bytes} bytes; {MODEL} accepts texts of at most \
                     {TEXT_BYTES_MAX} bytes. Send it in parts"
                ),
                _ if total > INPUT_BYTES_MAX => format!(
                    "the texts of `input` up to text {index}, counted from 0, have {total} bytes; {MODEL} accepts at \
                     most {INPUT_BYTES_MAX} bytes in one request. Send the texts in several requests"
                ),
                _ => continue,
            };
            return Err(refused("input", told));
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

/// The refusal of a request that no other backend is to be asked for either.
fn refused(param: &'static str, message: String) -> BadRequest {
    BadRequest::new(param, message).unreadable()
}

/// A refusal as a fault with the gateway's own code.
fn invalid(refusal: BadRequest) -> Fault {
    let fault = Fault::new(FaultClass::BadRequest, refusal.message).with_param(refusal.param);
    Fault {
        own_code: Some(ErrorCode::InvalidRequest),
        ..fault
    }
}

/// A busy model passes; a model that cannot run does not.
fn skipped(skip: &Skip) -> Fault {
    match skip {
        Skip::Busy | Skip::Late | Skip::Loading | Skip::Crashed => Fault {
            retry_after_ms: Some(RETRY_AFTER_MS),
            own_code: Some(ErrorCode::Busy),
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

    fn refusal(body: &Value) -> (String, String) {
        let refusal = VectorRequest::read(body.to_string().as_bytes()).expect_err("it is refused");
        assert!(refusal.is_unreadable, "{}", refusal.message);
        (refusal.message, refusal.param)
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
            assert_eq!(place, param, "{message}");
            assert!(message.contains(part), "{message}");
        }
        let good = json!({ "input": ["a", "b"], "dimensions": 384, "encoding_format": "base64" });
        let wanted = VectorRequest::read(good.to_string().as_bytes()).expect("it is accepted");
        assert_eq!((wanted.texts.len(), wanted.base64), (2, true));
    }

    #[test]
    fn a_text_that_would_keep_the_thread_of_the_model_is_refused() {
        let longest = "x".repeat(TEXT_BYTES_MAX);
        let read = |texts: &[&str]| {
            let body = json!({ "input": texts });
            VectorRequest::read(body.to_string().as_bytes())
        };
        assert!(read(&[longest.as_str(); 16]).is_ok());
        let longer = format!("{longest}x");
        let (message, place) = refusal(&json!({ "input": ["a", longer] }));
        assert_eq!(place, "input");
        assert!(message.contains("text 1 of `input`"), "{message}");
        assert!(message.contains("at most 65536 bytes"), "{message}");
        let mut many = vec![longest.as_str(); 16];
        many.push("x");
        let (message, place) = refusal(&json!({ "input": many }));
        assert_eq!(place, "input");
        assert!(message.contains("up to text 16"), "{message}");
        assert!(
            message.contains("1048576 bytes in one request"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn a_busy_model_is_a_refusal_with_a_time_to_retry() {
        let built_in = BuiltIn::new(embedder());
        let [one, two, three] = ["a", "b", "c"].map(|name| AccountId::parse(name).expect("an id"));
        let ask = |account| built_in.vectors(account, br#"{"input":"x"}"#, Duration::ZERO);
        let seats: Vec<Seat<'_>> = (0..8).filter_map(|_| built_in.seat(&one)).collect();
        assert_eq!(seats.len(), 8);
        let fault = ask(&one).await.expect_err("the account has too many");
        assert_eq!(fault.error_code(), ErrorCode::Busy);
        assert_eq!(fault.retry_after_ms, Some(RETRY_AFTER_MS));
        // Another account has room, until all have too many.
        let more: Vec<Seat<'_>> = (0..9).filter_map(|_| built_in.seat(&two)).collect();
        assert_eq!(more.len(), 8);
        assert!(built_in.seat(&three).is_none());
        drop((seats, more));
        drop(built_in.seat(&three).expect("there is room again"));
        assert!(built_in.reading().is_empty());
    }
}
