//! From a provider's successful head to the caller's answer.

use std::sync::Arc;
use std::time::Instant;

use bardo_providers::transport::UpstreamBody;
use bardo_router::Candidate;
use bardo_types::chat::ChatResponse;
use bardo_types::fault::{Fault, FaultClass};
use bardo_types::model::Dialect;
use bardo_wire::{responses, table, textual};
use bytes::{Bytes, BytesMut};
use http::Response;
use http_body_util::BodyExt as _;

use crate::attempt::Failure;
use crate::receipt::{Outcome, Receipt, degraded_list};
use crate::relay::{Pass, Pump, ReplyStream, Settlement, Translate};
use crate::run::{Admitted, Engine};
use crate::scrub::scrub;
use crate::shape::{Mode, Shaped, Translation};
use crate::world::Deadlines;

/// A provider's whole answer may have this size.
pub(crate) const ANSWER_MAX: usize = 128 << 20;
pub(crate) const TOO_LARGE: &str = "the provider's answer is larger than 128 MiB";

/// What the caller gets.
pub struct Answer {
    /// What headers say of it.
    pub head: AnswerHead,
    /// The answer itself.
    pub body: AnswerBody,
}

/// What the headers of an answer say.
#[derive(Debug, Clone, Default)]
pub struct AnswerHead {
    /// The model as the caller named it.
    pub model_requested: String,
    /// The model that answers.
    pub model: String,
    /// The backend that answers.
    pub backend: String,
    /// What was lost, as a header value; empty when nothing.
    pub degraded: String,
    /// The provider's own request id.
    pub upstream_request_id: Option<String>,
    /// The cost, where it is known at the start.
    pub cost: Option<String>,
}

/// The answer itself.
pub enum AnswerBody {
    /// All at once, as JSON.
    Whole(Bytes),
    /// Piece by piece, as server-sent events.
    Stream(Box<ReplyStream>),
}

impl Engine {
    pub(crate) async fn respond(
        self: &Arc<Self>,
        admitted: &Admitted,
        candidate: &Candidate,
        shaped: Shaped,
        response: Response<UpstreamBody>,
        attempts: u32,
        started: Instant,
    ) -> Result<Answer, Failure> {
        let (parts, body) = response.into_parts();
        if parts
            .headers
            .get(http::header::CONTENT_ENCODING)
            .is_some_and(|encoding| encoding != "identity")
        {
            return Err(Failure::told(Fault::new(
                FaultClass::Malformed,
                "the provider compressed its answer, which nobody asked for",
            )));
        }
        if is_page(&parts.headers) {
            // Something before the provider speaks; no model has answered.
            return Err(Failure::told(Fault::new(
                FaultClass::Server,
                "the provider's side answered with a web page",
            )));
        }
        let upstream_request_id = ["x-request-id", "request-id", "x-generation-id", "cf-ray"]
            .iter()
            .find_map(|name| parts.headers.get(*name)?.to_str().ok())
            .map(|id| id.chars().take(128).collect());
        let receipt = receipt(admitted, candidate, &shaped, upstream_request_id, attempts);
        let head = AnswerHead {
            model_requested: admitted.model.clone(),
            model: receipt.model.clone(),
            backend: receipt.backend.clone(),
            degraded: degraded_list(&receipt.degraded),
            upstream_request_id: receipt.upstream_request_id.clone(),
            cost: None,
        };
        let settlement = Settlement::new(
            Arc::clone(self),
            receipt,
            admitted.received_at,
            shaped.endpoint.key.clone(),
        );
        let arriving = Arriving { body, started };
        if admitted.stream {
            self.stream(admitted, shaped, arriving, settlement, head)
                .await
        } else {
            self.whole(admitted, shaped, arriving, settlement, head)
                .await
        }
    }

    async fn stream(
        self: &Arc<Self>,
        admitted: &Admitted,
        shaped: Shaped,
        arriving: Arriving,
        mut settlement: Settlement,
        head: AnswerHead,
    ) -> Result<Answer, Failure> {
        let pump = match &shaped.mode {
            Mode::Relay { hide_usage } => Pump::Pass(Box::new(Pass::new(
                admitted.dialect,
                shaped.endpoint.service,
                *hide_usage,
            ))),
            Mode::Translate(translation) => {
                settlement.keep_with(self.keeper(admitted, translation));
                Pump::Translate(Box::new(Translate::new(
                    shaped.dialect,
                    admitted.dialect,
                    translation,
                    true,
                )))
            }
        };
        let mut reply = ReplyStream::new(arriving, pump, admitted.world.deadlines, settlement);
        reply.prime().await.map_err(|mut failure| {
            scrub(&mut failure.fault, shaped.endpoint.key.expose());
            failure
        })?;
        Ok(Answer {
            head,
            body: AnswerBody::Stream(Box::new(reply)),
        })
    }

    async fn whole(
        self: &Arc<Self>,
        admitted: &Admitted,
        shaped: Shaped,
        arriving: Arriving,
        mut settlement: Settlement,
        mut head: AnswerHead,
    ) -> Result<Answer, Failure> {
        let bytes = match read_whole(arriving, admitted.world.deadlines).await {
            Ok(bytes) => bytes,
            Err(failure) => {
                settlement.hand_over();
                return Err(failure);
            }
        };
        let answered = match &shaped.mode {
            Mode::Relay { .. } => relayed(&bytes, admitted.dialect, &mut settlement),
            Mode::Translate(translation) => {
                self.translated(&bytes, admitted, &shaped, translation, &mut settlement)
            }
        };
        match answered {
            Ok(body) => {
                settlement.finish();
                head.cost = settlement.cost_text();
                Ok(Answer {
                    head,
                    body: AnswerBody::Whole(body.unwrap_or(bytes)),
                })
            }
            Err(mut fault) => {
                settlement.hand_over();
                scrub(&mut fault, shaped.endpoint.key.expose());
                Err(Failure::told(fault))
            }
        }
    }

    fn translated(
        self: &Arc<Self>,
        bytes: &[u8],
        admitted: &Admitted,
        shaped: &Shaped,
        translation: &Translation,
        settlement: &mut Settlement,
    ) -> Result<Option<Bytes>, Fault> {
        let mut response = table::decode_response(shaped.dialect, bytes, &translation.decode)?;
        if translation.textual {
            response = textual::filter_response(response, &translation.decode);
        }
        if let Some(usage) = &response.usage {
            settlement.count(usage);
        }
        self.keeper(admitted, translation)(&response);
        Ok(Some(
            table::encode_response(admitted.dialect, &response, &translation.reply).into(),
        ))
    }

    /// What remembers the answer's state for the caller's next request.
    fn keeper(
        self: &Arc<Self>,
        admitted: &Admitted,
        translation: &Translation,
    ) -> Box<dyn FnOnce(&ChatResponse) + Send> {
        let engine = Arc::clone(self);
        let principal = admitted.principal.account.as_str().to_owned();
        let stores = admitted.dialect == Dialect::Responses
            && translation.reply.request.store != Some(false);
        let stored = stores.then(|| {
            (
                admitted.body.clone(),
                responses::previous_response_id(&admitted.top()),
                translation.reply.clone(),
            )
        });
        Box::new(move |response| {
            engine.memory.keep_calls(&principal, response);
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
                );
            }
        })
    }
}

pub(crate) fn is_page(headers: &http::HeaderMap) -> bool {
    headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

fn receipt(
    admitted: &Admitted,
    candidate: &Candidate,
    shaped: &Shaped,
    upstream_request_id: Option<String>,
    attempts: u32,
) -> Receipt {
    Receipt {
        request_id: admitted.request_id.clone(),
        principal: admitted.principal.account.as_str().to_owned(),
        dialect: admitted.dialect,
        upstream_dialect: shaped.dialect,
        model_requested: admitted.model.clone(),
        model: candidate.entry.id.clone(),
        backend: shaped.endpoint.name.clone(),
        upstream_request_id,
        attempts,
        streamed: admitted.stream,
        usage: None,
        direct: shaped.endpoint.direct,
        price: candidate.entry.price,
        degraded: shaped.degraded.clone(),
        outcome: Outcome::Aborted,
        duration: std::time::Duration::ZERO,
        first_content: None,
    }
}

/// Looks at a body that is handed on as it came.
fn relayed(
    bytes: &[u8],
    dialect: Dialect,
    settlement: &mut Settlement,
) -> Result<Option<Bytes>, Fault> {
    let mut seen = table::observe_response(dialect, bytes);
    if let Some(fault) = seen.fault.take() {
        return Err(fault);
    }
    settlement.observe(&seen);
    Ok(None)
}

/// A body on its way, with the time when its call began.
pub(crate) struct Arriving {
    pub(crate) body: UpstreamBody,
    pub(crate) started: Instant,
}

/// Reads a body to its end. Some providers send a head at once and think then, so silence counts
/// from the first data on.
pub(crate) async fn read_whole(arriving: Arriving, deadlines: Deadlines) -> Result<Bytes, Failure> {
    let Arriving { mut body, started } = arriving;
    let end = started + deadlines.total;
    let mut until = end;
    let late = |_| Failure::unknown(FaultClass::Timeout, "the answer did not arrive in time");
    let cut = |error: <UpstreamBody as http_body::Body>::Error| {
        tracing::debug!(%error, "answer cut");
        Failure::unknown(FaultClass::Connection, "the provider's answer was cut")
    };
    let mut whole = BytesMut::new();
    let mut first = Bytes::new();
    while let Some(frame) = tokio::time::timeout_at(until.into(), body.frame())
        .await
        .map_err(late)?
    {
        let Ok(data) = frame.map_err(cut)?.into_data() else {
            continue;
        };
        until = end.min(Instant::now() + deadlines.idle);
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
        if whole.len() > ANSWER_MAX {
            return Err(Failure::told(Fault::new(FaultClass::Malformed, TOO_LARGE)));
        }
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}
