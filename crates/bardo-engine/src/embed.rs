//! Embeddings, in OpenAI's form at the caller's side.

use std::sync::Arc;
use std::time::Duration;

use bardo_providers::{self as providers, Operation};
use bardo_types::Degradation;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use bardo_wire::codec::BadRequest;
use bardo_wire::embeddings::EmbeddingsRequest;
use bardo_wire::splice::{Edit, splice};
use bardo_wire::{gemini, table};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::answer::{Delivering, Unanswered};
use crate::arriving::{Arriving, read_whole};
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::failure::Failure;
use crate::leg::{Grant, Leg};
use crate::lifecycle::{Lifecycle, Sent};
use crate::operation;
use crate::payments::Payments;
use crate::respond::{upstream_request_id, whole_answer};
use crate::scrub::scrub;
use crate::shape::{AnswerMode, Shaped};
use crate::unseen::Accepted;
use crate::usage_figures::UsageFigures;

impl Engine {
    pub(crate) async fn embed_at(
        &self,
        call: &Call,
        shaped: &mut Shaped,
        mut sent: Lifecycle<Sent>,
        left: Duration,
    ) -> Result<Delivering, Unanswered> {
        let vectors = match self.vectors(call, shaped, left).await {
            Ok(vectors) => vectors,
            Err(failure) => return Err(Unanswered::Failed(failure, sent)),
        };
        let record = sent.record_mut();
        record.head();
        record.answered_as(vectors.request_id.as_deref(), &shaped.degraded);
        if let Some(fresh_input) = vectors.prompt {
            record.count(&Usage {
                fresh_input,
                ..Usage::default()
            });
        }
        let placed = UsageFigures::of(call);
        Ok(whole_answer(sent, vectors.upstream, vectors.body, placed))
    }

    async fn vectors(
        &self,
        call: &Call,
        shaped: &mut Shaped,
        left: Duration,
    ) -> Result<Vectors, Failure> {
        if shaped.leg.endpoint.is_built_in() {
            return self.own_vectors(call, shaped, left).await;
        }
        let started = Instant::now();
        let response = self.attempt(call, shaped, left).await?;
        let request_id = upstream_request_id(response.headers()).map(str::to_owned);
        let body = response.into_body();
        let arriving = Arriving {
            source: body.into(),
            started,
            framed: true,
        };
        let bytes = read_whole(arriving, call.snapshot().deadlines).await?;
        let told = |mut fault| {
            scrub(&mut fault, shaped.leg.endpoint.key.expose());
            Failure::reported(fault)
        };
        if shaped.dialect == Dialect::Chat {
            return match table::observe_response(Dialect::Chat, &bytes)
                .fault
                .map(told)
            {
                // A list of vectors is no chat answer; only a failure in words counts here.
                Some(failure)
                    if !bytes
                        .trim_ascii_start()
                        .starts_with(b"{\"object\":\"list\"")
                        && is_error(&bytes) =>
                {
                    Err(failure)
                }
                _ => Ok(Vectors {
                    prompt: prompt_tokens(&bytes),
                    body: bytes.clone(),
                    upstream: bytes,
                    request_id,
                }),
            };
        }
        let vectors = gemini::decode_embeddings(&bytes).map_err(told)?;
        Ok(Vectors {
            body: encode(call, &vectors),
            // This provider's answer has no counts.
            prompt: None,
            upstream: bytes,
            request_id,
        })
    }
}

impl Engine {
    /// Refuses what the model in this program cannot answer, before it is asked: the request is at
    /// fault then, and no backend.
    pub(crate) fn check_vectors(&self, call: &Call, leg: &Leg) -> Result<(), EngineError> {
        match &self.vectors {
            Some(vectors) if leg.endpoint.is_built_in() => Ok(vectors.check(call.body())?),
            _ => Ok(()),
        }
    }

    async fn own_vectors(
        &self,
        call: &Call,
        shaped: &Shaped,
        left: Duration,
    ) -> Result<Vectors, Failure> {
        let Some(vectors) = &self.vectors else {
            let missing = "this build carries no embedding model";
            return Err(Failure::reported(Fault::new(FaultClass::NotFound, missing)));
        };
        shaped.accepted.set(Some(Instant::now()));
        let account = &call.principal().account;
        let answer = vectors.answer(account, &shaped.body, left).await;
        let body = answer.map_err(Failure::reported)?;
        Ok(Vectors {
            prompt: prompt_tokens(&body),
            body: body.clone(),
            upstream: body,
            request_id: None,
        })
    }
}

/// Renders a leg: the request as its backend gets it.
///
/// # Errors
/// When the backend cannot take it.
pub(crate) fn shape(
    call: &Call,
    leg: &Arc<Leg>,
    said: &[Degradation],
) -> Result<Shaped, EngineError> {
    let (endpoint, candidate) = (&leg.endpoint, &leg.candidate);
    let dialect = if endpoint.dialect_for(Dialect::Chat, &candidate.entry) == Dialect::Gemini {
        Dialect::Gemini
    } else {
        Dialect::Chat
    };
    let operation = providers::UpstreamCall {
        operation: Operation::Embeddings,
        dialect,
        model: &candidate.entry.upstream_id,
    };
    let target = endpoint
        .target(&operation)
        .ok_or_else(|| operation::unavailable(call, candidate, true))?;
    Ok(Shaped {
        dialect,
        target,
        body: body(call, dialect, &candidate.entry.upstream_id)?,
        degraded: [&leg.lost_protection(), said].concat(),
        mode: AnswerMode::Relay { hide_usage: false },
        leg: Arc::clone(leg),
        grant: Grant::default(),
        accepted: Accepted::default(),
        payments: Payments::to(endpoint),
    })
}

/// An answer of a provider, and as its caller gets it.
struct Vectors {
    upstream: Bytes,
    body: Bytes,
    /// Tokens of the prompt, where the provider counted.
    prompt: Option<u64>,
    /// The provider's own id of the request.
    request_id: Option<String>,
}

fn prompt_tokens(body: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Shape {
        usage: Option<Counts>,
    }
    #[derive(Deserialize)]
    struct Counts {
        prompt_tokens: Option<u64>,
    }
    serde_json::from_slice::<Shape>(body)
        .ok()?
        .usage?
        .prompt_tokens
}

fn is_error(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Shape {
        data: Option<serde::de::IgnoredAny>,
    }
    !serde_json::from_slice::<Shape>(body).is_ok_and(|shape| shape.data.is_some())
}

fn body(call: &Call, dialect: Dialect, model: &str) -> Result<Bytes, BadRequest> {
    let top = call.top();
    if dialect == Dialect::Chat {
        let mut edits = vec![Edit::set_string("model", model)];
        if top.member("bardo").is_some() {
            edits.push(Edit::Remove { key: "bardo" });
        }
        return Ok(splice(&top, &edits).into());
    }
    let wanted = EmbeddingsRequest::read(call.body())?;
    Ok(gemini::encode_embeddings(model, &wanted.texts, wanted.dimensions).into())
}

fn encode(call: &Call, vectors: &[Vec<f32>]) -> Bytes {
    let base64 = EmbeddingsRequest::read(call.body()).is_ok_and(|wanted| wanted.base64);
    let data: Vec<serde_json::Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = if base64 {
                let bytes: Vec<u8> = vector
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    // The Gemini answer has no counts; a quarter of the bytes is the usual rough measure.
    let tokens = call.top().get("input").map_or(0, str::len) / 4;
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    json!({ "object": "list", "data": data, "model": &**call.model(), "usage": usage })
        .to_string()
        .into()
}
