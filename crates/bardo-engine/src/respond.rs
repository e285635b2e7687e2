//! From a provider's successful head to the caller's answer.

use std::sync::Arc;
use std::time::Duration;

use bardo_ledger::StoreError;
use bardo_providers::transport::UpstreamBody;
use bardo_types::fault::Fault;
use bardo_types::model::Dialect;
use bardo_wire::splice::{Edit, splice};
use bardo_wire::{json, responses, table};
use bytes::Bytes;
use http::Response;
use tokio::time::Instant;

use crate::answer::{Answer, AnswerBody, Unanswered};
use crate::arriving::{Arriving, is_framed, read_whole, unreadable};
use crate::call::Call;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::head::AnswerHead;
use crate::lifecycle::{Lifecycle, Sent};
use crate::meter::Meter;
use crate::record::RequestRecord;
use crate::relay::{Keep, Passthrough, Pipeline, ReplyStream, Transcode};
use crate::schema::Bond;
use crate::scrub::scrub;
use crate::shape::{Mode, Shaped, Translation};
use crate::transform::Transforms;

/// The books get so long to confirm what has to be on disk before the caller gets anything.
pub(crate) const BOOKS_WAIT: Duration = Duration::from_secs(5);

impl Engine {
    pub(crate) async fn respond(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        response: Response<UpstreamBody>,
        mut sent: Lifecycle<Sent>,
        started: Instant,
    ) -> Result<Answer, Unanswered> {
        let (parts, body) = response.into_parts();
        if let Some(fault) = unreadable(&parts.headers) {
            return Err(Unanswered::Failed(Failure::reported(fault), sent));
        }
        let upstream_request_id = ["x-request-id", "request-id", "x-generation-id", "cf-ray"]
            .iter()
            .find_map(|name| parts.headers.get(*name)?.to_str().ok())
            .map(|id| &id[..id.len().min(128)]);
        let record = sent.record_mut();
        record.head();
        record.answered_as(upstream_request_id, &shaped.degraded);
        let arriving = Arriving {
            source: body.into(),
            started,
            framed: is_framed(&parts),
        };
        let bond = Bond::of(call, &shaped);
        if let Some(bond) = bond.filter(|bond| bond.is_strict || !call.stream()) {
            Box::pin(self.bound(call, shaped, &bond, arriving, sent)).await
        } else if call.stream() {
            self.stream(call, shaped, arriving, sent).await
        } else {
            self.whole(call, shaped, arriving, sent).await
        }
    }

    async fn stream(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Answer, Unanswered> {
        let pump = match &shaped.mode {
            Mode::Relay { hide_usage } => {
                sent.record_mut()
                    .meter_with(Some(Meter::new(call.dialect())));
                Pipeline::Passthrough(Box::new(Passthrough::new(
                    call.dialect(),
                    shaped.endpoint.service,
                    call.size().choices,
                    *hide_usage,
                )))
            }
            Mode::Transcode(translation) => {
                sent.record_mut()
                    .meter_with(Some(Meter::new(shaped.dialect)));
                Pipeline::Transcode(Box::new(Transcode::new(
                    shaped.dialect,
                    call.dialect(),
                    translation,
                    self.keeper(call, translation),
                )))
            }
        };
        self.begun(call, &shaped, arriving, pump, sent).await
    }

    /// Hands over a stream once its first content is there and its hold is on disk.
    pub(crate) async fn begun(
        &self,
        call: &Call,
        shaped: &Shaped,
        arriving: Arriving,
        pump: Pipeline,
        sent: Lifecycle<Sent>,
    ) -> Result<Answer, Unanswered> {
        let begun = ReplyStream::begin(arriving, pump, call, shaped, sent).await;
        let mut reply = match begun {
            Ok(reply) => reply,
            Err((mut failure, sent)) => {
                scrub(&mut failure.fault, shaped.endpoint.key.expose());
                return Err(Unanswered::Failed(failure, sent));
            }
        };
        // No content may reach the caller before its hold is on disk.
        if let Some(persisting) = reply.persisting() {
            let persisted = tokio::time::timeout(BOOKS_WAIT, persisting).await;
            let late = || StoreError::Unavailable("the hold was not stored in time".to_owned());
            if let Err(error) = persisted.unwrap_or_else(|_| Err(late())) {
                reply.give_up();
                return Err(Unanswered::Store(error));
            }
        }
        Ok(Answer {
            head: AnswerHead::begun(reply.record()),
            body: AnswerBody::Stream(Box::new(reply)),
        })
    }

    async fn whole(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Answer, Unanswered> {
        let bytes = match read_whole(arriving, call.snapshot().deadlines).await {
            Ok(bytes) => bytes,
            Err(failure) => return Err(Unanswered::Failed(failure, sent)),
        };
        let record = sent.record_mut();
        let answered = match &shaped.mode {
            Mode::Relay { .. } => relayed(&bytes, call.dialect(), record),
            Mode::Transcode(translation) => {
                self.translated(&bytes, call, &shaped, translation, record)
            }
        };
        match answered {
            Ok(body) => {
                let body = body.unwrap_or_else(|| bytes.clone());
                let within = call.hints().metadata;
                settle_and_build(sent, bytes, body, within)
                    .await
                    .map_err(Unanswered::Store)
            }
            Err(mut fault) => {
                scrub(&mut fault, shaped.endpoint.key.expose());
                Err(Unanswered::Failed(Failure::reported(fault), sent))
            }
        }
    }

    fn translated(
        self: &Arc<Self>,
        bytes: &[u8],
        call: &Call,
        shaped: &Shaped,
        translation: &Translation,
        record: &mut RequestRecord,
    ) -> Result<Option<Bytes>, Fault> {
        let response = table::decode_response(shaped.dialect, bytes, &translation.decode)?;
        let response = Transforms::of(translation).whole(response);
        if let Some(usage) = &response.usage {
            record.count(usage);
        }
        if let Some(model) = &response.model {
            record.answered_by(model);
        }
        self.keeper(call, translation)(&response);
        Ok(Some(
            table::encode_response(call.dialect(), &response, &translation.reply).into(),
        ))
    }

    /// What remembers the answer's state for the caller's next request.
    pub(crate) fn keeper(self: &Arc<Self>, call: &Call, translation: &Translation) -> Keep {
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
        Box::new(move |response| {
            engine.memory.keep_calls(&principal, response, class);
            if let Some((body, previous, reply)) = stored {
                let mut items = previous
                    .and_then(|id| engine.memory.items(&principal, &id))
                    .unwrap_or_default();
                items.extend(responses::input_items(&body).unwrap_or_default());
                items.extend(responses::output_items_of(response, &reply));
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

/// Settles a whole answer, then hands it over: its figures are final and on disk. `upstream` is what
/// the provider sent, for the case that it has to be counted; `within`: the caller wants the figures
/// in the answer too.
pub(crate) async fn settle_and_build(
    mut sent: Lifecycle<Sent>,
    upstream: Bytes,
    body: Bytes,
    within: bool,
) -> Result<Answer, StoreError> {
    sent.record_mut().keep_for_count(|| upstream);
    let answer = |record: &RequestRecord| Answer {
        head: AnswerHead::whole(record),
        body: AnswerBody::Whole(if within {
            with_figures(body, record)
        } else {
            body
        }),
    };
    let ended = match sent.answered().at_once() {
        Ok(over) => return Ok(answer(over.record())),
        Err(ended) => ended,
    };
    match ended.within(BOOKS_WAIT).await {
        Ok(over) => Ok(answer(over.record())),
        Err((ended, error)) => {
            ended.waive();
            Err(error)
        }
    }
}

/// The answer with its figures as the member `bardo` of its usage.
fn with_figures(body: Bytes, record: &RequestRecord) -> Bytes {
    let figures = bardo_wire::receipt::figures(record.receipt());
    let Ok(top) = json::scan(&body) else {
        return body;
    };
    let usage = top.get("usage").map_or("", str::trim);
    let usage = match usage.strip_suffix('}').map(str::trim_end) {
        Some(members) if members.len() > 1 => format!("{members},\"bardo\":{figures}}}"),
        _ => format!("{{\"bardo\":{figures}}}"),
    };
    splice(&top, &[Edit::set("usage", usage)]).into()
}

/// Looks at a body that is handed on as it came.
fn relayed(
    bytes: &[u8],
    dialect: Dialect,
    record: &mut RequestRecord,
) -> Result<Option<Bytes>, Fault> {
    let mut seen = table::observe_response(dialect, bytes);
    if let Some(fault) = seen.fault.take() {
        return Err(fault);
    }
    record.observe(&seen);
    Ok(None)
}
