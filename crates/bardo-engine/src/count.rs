//! How many tokens a prompt has: the provider's own count where it answers one, else ours.
//!
//! Our count is an estimate by a public tokenizer; money never rests on it.

use std::sync::Arc;

use bardo_providers::{self as providers, Operation};
use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;
use bardo_wire::codec::Target;
use bardo_wire::{anthropic, gemini, responses, table};
use bytes::Bytes;
use tokio::time::Instant;

use crate::answer::{Answer, AnswerBody};
use crate::arriving::{Arriving, read_whole};
use crate::call::Call;
use crate::engine::Engine;
use crate::error::{EngineError, UpstreamFailure};
use crate::fit::{holds_own_marks, refuse_stored_content, refuse_stored_history};
use crate::head::AnswerHead;
use crate::header_lists::degraded_list;
use crate::leg::{Grant, Leg};
use crate::payments::Payments;
use crate::plan::{Plan, Planned};
use crate::shape::{AnswerMode, Shaped};
use crate::tokenizer;
use crate::unseen::Accepted;

impl Engine {
    /// Counts the tokens of a prompt. Nothing is held or charged for it.
    ///
    /// # Errors
    /// When the request is malformed.
    pub(crate) async fn count(self: &Arc<Self>, planned: Planned) -> Result<Answer, EngineError> {
        let (limited, plan) = planned.into_parts();
        let (call, life) = limited.into_parts();
        let mut answer = self.counted(&call, &plan).await?;
        answer.head.limits = life.record().admission().cloned();
        Ok(answer)
    }

    async fn counted(self: &Arc<Self>, call: &Call, plan: &Plan) -> Result<Answer, EngineError> {
        // Malformed requests are refused here, whoever counts.
        let request = call.request_body().request(&self.memory)?;
        let leg = plan.first();
        refuse_stored_history(call, &leg.endpoint, leg.dialect)?;
        refuse_stored_content(call, leg.dialect)?;
        let mut head = Box::new(AnswerHead {
            model_requested: Arc::clone(call.model()),
            model: leg.candidate.entry.id.as_str().into(),
            backend: leg.endpoint.name.as_str().into(),
            cache: "bypass".into(),
            warnings: plan.warnings(),
            ..AnswerHead::default()
        });
        let lost = leg.lost_protection();
        head.degraded = degraded_list(&lost);
        if let Some(shaped) = shape_count(call, leg, &request)? {
            match self.provider_count(call, shaped, &mut head).await {
                Ok(body) => {
                    return Ok(Answer {
                        head,
                        body: AnswerBody::Whole(body),
                    });
                }
                // A provider that says the prompt is wrong is right; one that cannot count is not
                // needed.
                Err(failure) if failure.fault.status == Some(400) => {
                    return Err(failure.into());
                }
                Err(failure) => {
                    tracing::debug!(failure = %failure.to_string().escape_debug(), "the gateway counted the \
                        tokens instead")
                }
            }
        }
        let tokens = tokenizer::estimate(&request);
        let estimated =
            bardo_types::Degradation::new("token_count", "estimated with a public tokenizer");
        head.degraded = degraded_list(&[lost, vec![estimated]].concat());
        Ok(Answer {
            head,
            body: AnswerBody::Whole(encode(call.dialect(), tokens)),
        })
    }

    async fn provider_count(
        self: &Arc<Self>,
        call: &Call,
        mut shaped: Shaped,
        head: &mut AnswerHead,
    ) -> Result<Bytes, Box<UpstreamFailure>> {
        let backend = shaped.leg.endpoint.name.clone();
        let failed = |fault| {
            Box::new(UpstreamFailure {
                backend: backend.clone(),
                fault,
                attempts: 1,
                earlier: Vec::new(),
                unknown_outcome: false,
                may_repeat: false,
            })
        };
        let started = Instant::now();
        let response = self
            .attempt(call, &mut shaped, call.snapshot().deadlines.total)
            .await
            .map_err(|failure| failed(failure.fault))?;
        head.upstream_request_id = response
            .headers()
            .get("request-id")
            .and_then(|id| id.to_str().ok())
            .map(Arc::from);
        let body = response.into_body();
        let arriving = Arriving {
            source: body.into(),
            started,
            framed: true,
        };
        let bytes = read_whole(arriving, call.snapshot().deadlines)
            .await
            .map_err(|failure| failed(failure.fault))?;
        if shaped.dialect == call.dialect() {
            let fault = table::observe_response(shaped.dialect, &bytes).fault;
            return fault.map_or(Ok(bytes), |fault| Err(failed(fault)));
        }
        let tokens = match shaped.dialect {
            Dialect::Gemini => gemini::decode_count(&bytes).map_err(failed)?,
            _ => read_count(&bytes).ok_or_else(|| {
                failed(bardo_types::fault::Fault::new(
                    bardo_types::fault::FaultClass::Malformed,
                    "no count in the answer",
                ))
            })?,
        };
        Ok(encode(call.dialect(), tokens))
    }
}

/// The count as the provider of a leg is asked for it; `None` where it answers none.
fn shape_count(
    call: &Call,
    leg: &Arc<Leg>,
    request: &ChatRequest,
) -> Result<Option<Shaped>, EngineError> {
    let (endpoint, candidate, dialect) = (&leg.endpoint, &leg.candidate, leg.dialect);
    let operation = providers::UpstreamCall {
        operation: Operation::CountTokens,
        dialect,
        model: &candidate.entry.upstream_id,
    };
    let Some(target) = endpoint.target(&operation) else {
        return Ok(None);
    };
    let body: Bytes = if dialect == call.dialect() && !holds_own_marks(call, endpoint.service) {
        let top = call.top();
        let mut edits = vec![bardo_wire::splice::Edit::set_string(
            "model",
            &candidate.entry.upstream_id,
        )];
        if top.member("bardo").is_some() {
            edits.push(bardo_wire::splice::Edit::Remove { key: "bardo" });
        }
        bardo_wire::splice::splice(&top, &edits).into()
    } else {
        let target = Target {
            model: candidate.entry.upstream_id.clone(),
            service: endpoint.service,
            capabilities: Arc::clone(&candidate.entry.capabilities),
        };
        match dialect {
            Dialect::Anthropic => anthropic::encode_count_request(request, &target)?
                .body
                .into(),
            Dialect::Gemini => gemini::encode_count_request(request, &target)?.body.into(),
            Dialect::Chat | Dialect::Completions | Dialect::Responses => return Ok(None),
        }
    };
    let mode = AnswerMode::Relay { hide_usage: false };
    Ok(Some(Shaped {
        dialect,
        target,
        body,
        degraded: Vec::new(),
        mode,
        leg: Arc::clone(leg),
        grant: Grant::default(),
        accepted: Accepted::default(),
        payments: Payments::to(endpoint),
    }))
}

fn read_count(body: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Count {
        input_tokens: u64,
    }
    serde_json::from_slice::<Count>(body)
        .ok()
        .map(|count| count.input_tokens)
}

fn encode(dialect: Dialect, tokens: u64) -> Bytes {
    match dialect {
        Dialect::Responses => responses::input_tokens(tokens).into(),
        _ => anthropic::encode_count(tokens).into(),
    }
}
