//! From a provider's successful head to the caller's answer.

use std::pin::pin;
use std::sync::Arc;

use bardo_providers::transport::UpstreamBody;
use bardo_types::chat::ChatResponse;
use bardo_types::model::Dialect;
use bardo_types::receipt::Receipt;
use bardo_wire::{responses, table};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response};
use tokio::time::Instant;

use crate::answer::{Delivering, Unanswered, Whole};
use crate::answer_stages::{AnswerStages, OnComplete};
use crate::arriving::{Arriving, is_framed, unreadable};
use crate::call::Call;
use crate::complete_answer::{CompleteAnswer, Reading, context};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::lifecycle::{Lifecycle, Sent};
use crate::live::AnswerOrigin;
use crate::meter::Meter;
use crate::reply_stream::{Conversion, Passthrough, ReplyStream, Tap, Transcode};
use crate::schema::SchemaContract;
use crate::scrub::scrub;
use crate::shape::{AnswerMode, Shaped, Translation};
use crate::source::AnswerSource;
use crate::usage_figures::UsageFigures;

/// Headers in which providers name a request, the most usual one first.
const REQUEST_IDS: [HeaderName; 4] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-generation-id"),
    HeaderName::from_static("cf-ray"),
];

/// The provider's own id of a request, from the headers of its answer; at most 128 bytes.
pub(crate) fn upstream_request_id(headers: &HeaderMap) -> Option<&str> {
    let id = REQUEST_IDS
        .iter()
        .find_map(|name| headers.get(name)?.to_str().ok())?;
    Some(&id[..id.len().min(128)])
}

impl Engine {
    pub(crate) async fn respond(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        response: Response<UpstreamBody>,
        mut sent: Lifecycle<Sent>,
        started: Instant,
    ) -> Result<Delivering, Unanswered> {
        let (parts, body) = response.into_parts();
        if let Some(fault) = unreadable(&parts.headers) {
            return Err(Unanswered::Failed(Failure::reported(fault), sent));
        }
        let record = sent.record_mut();
        record.head();
        record.answered_as(upstream_request_id(&parts.headers), &shaped.degraded);
        if let Some(recording) = record.recording() {
            recording.comes_from(origin(shaped, record.receipt()));
        }
        let arriving = Arriving {
            source: body.into(),
            started,
            framed: is_framed(&parts),
        };
        let contract = SchemaContract::of(call, shaped);
        if let Some(contract) = contract.filter(|one| one.is_strict || !call.stream()) {
            Box::pin(self.bound(call, shaped, &contract, arriving, sent)).await
        } else if call.stream() {
            pin!(self.stream(call, shaped, arriving, sent)).await
        } else {
            pin!(self.whole(call, shaped, arriving, sent)).await
        }
    }

    async fn stream(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let recording = sent.record().recording().cloned();
        let conversion = match &shaped.mode {
            AnswerMode::Relay { .. } => {
                let meter = Meter::new(call.dialect());
                sent.record_mut().meter_with(Some(meter));
                let context = || context(call, shaped);
                let tap = recording.map(|recording| Tap::new(shaped.dialect, context(), recording));
                Conversion::Passthrough(Box::new(passthrough(call, shaped).tapped(tap)))
            }
            AnswerMode::Transcode(translation) => {
                let meter = Meter::new(shaped.dialect);
                sent.record_mut().meter_with(Some(meter));
                let remember = self.remember(call, translation);
                let stages = AnswerStages::live(translation, remember).recorded(recording);
                transcode(call, shaped, translation, stages)
            }
        };
        self.begun(call, shaped, arriving, conversion, sent).await
    }

    /// A stream that will be delivered: its first content is there.
    pub(crate) async fn begun(
        &self,
        call: &Call,
        shaped: &Shaped,
        arriving: Arriving,
        conversion: Conversion,
        sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let begun = ReplyStream::begin(arriving, conversion, call, shaped, sent).await;
        match begun {
            Ok(reply) => Ok(Delivering::Stream(Box::new(reply))),
            Err((failure, sent)) => Err(failed(failure, shaped, sent)),
        }
    }

    async fn whole(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let reading = match sent.record().recording() {
            Some(_) => Reading::Recorded,
            None => Reading::AsRelayed,
        };
        let complete = match CompleteAnswer::read(arriving, call, shaped, reading).await {
            Ok(complete) => complete,
            Err(failure) => return Err(failed(failure, shaped, sent)),
        };
        let stages = match &shaped.mode {
            AnswerMode::Relay { .. } => {
                complete.note(sent.record_mut());
                AnswerStages::default()
            }
            AnswerMode::Transcode(translation) => {
                AnswerStages::live(translation, self.remember(call, translation))
            }
        };
        Ok(self.hand_over(call, shaped, complete, stages, sent))
    }

    /// Finishes an answer that is there, all of it: passes it through the stages that are left and
    /// hands it over as one.
    pub(crate) fn hand_over(
        &self,
        call: &Call,
        shaped: &Shaped,
        mut complete: CompleteAnswer,
        stages: AnswerStages,
        mut sent: Lifecycle<Sent>,
    ) -> Delivering {
        let translated = finished(shaped, &mut complete, stages, &mut sent);
        if let Some(recording) = sent.record().recording() {
            recording.finish();
        }
        let upstream = complete.joined();
        let body = match translated {
            None => upstream.clone(),
            Some((translation, response)) => {
                table::encode_response(call.dialect(), &response, &translation.reply).into()
            }
        };
        whole_answer(sent, upstream, body, UsageFigures::of(call))
    }

    /// As [`Engine::hand_over`], as a stream of the caller's dialect.
    pub(crate) async fn hand_over_as_stream(
        &self,
        call: &Call,
        shaped: &Shaped,
        mut complete: CompleteAnswer,
        stages: AnswerStages,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let translated = finished(shaped, &mut complete, stages, &mut sent);
        sent.record_mut().complete(complete.meter.take());
        let (source, conversion) = match translated {
            Some((translation, response)) => (
                AnswerSource::of_events(response.into_events()),
                transcode(call, shaped, translation, AnswerStages::default()),
            ),
            None => (
                AnswerSource::of_bytes(complete.bytes),
                Conversion::Passthrough(Box::new(passthrough(call, shaped))),
            ),
        };
        let arriving = Arriving {
            source,
            started: Instant::now(),
            framed: true,
        };
        self.begun(call, shaped, arriving, conversion, sent).await
    }

    /// The callback that keeps the state of an answer for the caller's next request.
    pub(crate) fn remember(self: &Arc<Self>, call: &Call, translation: &Translation) -> OnComplete {
        let engine = Arc::clone(self);
        let principal = call.principal().account.as_str().to_owned();
        let stores =
            call.dialect() == Dialect::Responses && translation.reply.request.store != Some(false);
        let stored = stores.then(|| {
            (
                call.body().clone(),
                responses::previous_response_id(&call.top()),
                translation.reply.clone(),
            )
        });
        let class = translation.class;
        Box::new(move |response, _notes| {
            engine.memory.keep_calls(&principal, response, class);
            if let Some((body, previous, reply)) = stored {
                let mut items = previous
                    .and_then(|id| engine.memory.items(&principal, &id))
                    .unwrap_or_default();
                items.extend(responses::input_items(&body).unwrap_or_default());
                let output = responses::output_items_of(response, &reply);
                items.extend_from_slice(&output);
                let answer = responses::own_response_id(&reply);
                engine
                    .memory
                    .keep_output(&principal, &answer, output, class);
                engine.memory.keep_items(
                    &principal,
                    &responses::response_id(response.id.as_deref(), &reply),
                    items,
                    class,
                );
            }
        })
    }
}

/// Passes a complete answer through the stages that are left, and notes it for the cache. Answers
/// what is to be written in the caller's dialect; `None` for the provider's bytes as they are.
fn finished<'a>(
    shaped: &'a Shaped,
    complete: &mut CompleteAnswer,
    stages: AnswerStages,
    sent: &mut Lifecycle<Sent>,
) -> Option<(&'a Translation, ChatResponse)> {
    let recording = sent.record().recording().cloned();
    match (&shaped.mode, complete.response.take()) {
        (AnswerMode::Transcode(translation), Some(mut response)) => {
            stages.whole(&mut response, sent.record_mut());
            if let Some(recording) = recording {
                recording.push(&mut response.clone().into_events());
            }
            Some((translation, response))
        }
        (AnswerMode::Relay { .. }, Some(response)) => {
            if let Some(recording) = recording {
                recording.push(&mut response.into_events());
            }
            None
        }
        (_, None) => {
            if let Some(recording) = recording {
                recording.push(&mut complete.events);
            }
            None
        }
    }
}

/// The provider's events as they are.
fn passthrough(call: &Call, shaped: &Shaped) -> Passthrough {
    let hide_usage = matches!(shaped.mode, AnswerMode::Relay { hide_usage: true });
    Passthrough::new(
        call.dialect(),
        shaped.leg.endpoint.service,
        call.size().choices,
        hide_usage,
        UsageFigures::of(call),
    )
}

/// Where the answer of a backend comes from, for the cache. `receipt`: that of the attempt.
fn origin(shaped: &Shaped, receipt: &Receipt) -> AnswerOrigin {
    AnswerOrigin {
        model: Arc::clone(&receipt.model),
        backend: Arc::clone(&receipt.backend),
        class: shaped.leg.effective_class(),
        degraded: shaped.degraded.clone(),
        price: shaped.leg.price,
        is_capped: shaped.grant.is_capped,
    }
}

/// The provider's events in the caller's dialect.
fn transcode(
    call: &Call,
    shaped: &Shaped,
    translation: &Translation,
    stages: AnswerStages,
) -> Conversion {
    Conversion::Transcode(Box::new(Transcode::new(
        shaped.dialect,
        call.dialect(),
        translation,
        stages,
        UsageFigures::of(call),
    )))
}

/// A failure of the backend, without what it must not say.
pub(crate) fn failed(mut failure: Failure, shaped: &Shaped, sent: Lifecycle<Sent>) -> Unanswered {
    scrub(&mut failure.fault, shaped.leg.endpoint.key.expose());
    Unanswered::Failed(failure, sent)
}

/// A whole answer that will be delivered. `upstream` is what the provider sent, for the case that it
/// has to be counted.
pub(crate) fn whole_answer(
    mut sent: Lifecycle<Sent>,
    upstream: Bytes,
    body: Bytes,
    figures: UsageFigures,
) -> Delivering {
    sent.record_mut().keep_for_count(|| upstream);
    Delivering::Whole(Whole {
        ended: sent.answered(),
        body,
        figures,
    })
}
