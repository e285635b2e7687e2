//! From a provider's successful head to the caller's answer.

use std::sync::Arc;

use bardo_providers::transport::UpstreamBody;
use bardo_types::fault::Fault;
use bardo_types::model::Dialect;
use bardo_wire::{responses, table};
use bytes::Bytes;
use http::Response;
use tokio::time::Instant;

use crate::answer::{Delivering, Unanswered, Whole};
use crate::arriving::{Arriving, is_framed, read_whole, unreadable};
use crate::call::Call;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::lifecycle::{Lifecycle, Sent};
use crate::meter::Meter;
use crate::record::RequestRecord;
use crate::relay::{Keep, Passthrough, Pipeline, ReplyStream, Transcode};
use crate::schema::Bond;
use crate::scrub::scrub;
use crate::shape::{Mode, Shaped, Translation};
use crate::transform::Transforms;

impl Engine {
    pub(crate) async fn respond(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        response: Response<UpstreamBody>,
        mut sent: Lifecycle<Sent>,
        started: Instant,
    ) -> Result<Delivering, Unanswered> {
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
    ) -> Result<Delivering, Unanswered> {
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

    /// A stream that will be delivered: its first content is there.
    pub(crate) async fn begun(
        &self,
        call: &Call,
        shaped: &Shaped,
        arriving: Arriving,
        pump: Pipeline,
        sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let begun = ReplyStream::begin(arriving, pump, call, shaped, sent).await;
        match begun {
            Ok(reply) => Ok(Delivering::Stream(Box::new(reply))),
            Err((mut failure, sent)) => {
                scrub(&mut failure.fault, shaped.endpoint.key.expose());
                Err(Unanswered::Failed(failure, sent))
            }
        }
    }

    async fn whole(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
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
                Ok(whole_answer(sent, bytes, body, within))
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

/// A whole answer that will be delivered. `upstream` is what the provider sent, for the case that it
/// has to be counted; `within`: the caller wants the figures in the answer too.
pub(crate) fn whole_answer(
    mut sent: Lifecycle<Sent>,
    upstream: Bytes,
    body: Bytes,
    within: bool,
) -> Delivering {
    sent.record_mut().keep_for_count(|| upstream);
    Delivering::Whole(Whole { sent, body, within })
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
