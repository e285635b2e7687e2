//! Requests with an `Idempotency-Key`: carried out once, and what they came to is kept.

use std::sync::Arc;

use bardo_types::privacy::SecurityClass;

use crate::answer::{Answer, AnswerBody, AnswerStream};
use crate::call::Call;
use crate::engine::Engine;
use crate::engine_future::{EngineFuture, boxed_future};
use crate::error::EngineError;
use crate::head::AnswerHead;
use crate::idempotency::{ANSWER_MAX, Claimed, Idempotency, Kept, KeptBody, Recorder};
use crate::reply_stream::ReplyStream;
use crate::routing::wished_class;

/// An answer, and for a stream that may be asked for again, what records it.
pub type RecordedAnswer = (Answer, Option<Box<Recorder>>);

impl Engine {
    /// The table of requests that came with an `Idempotency-Key`.
    #[must_use]
    pub fn idempotency(&self) -> &Idempotency {
        &self.idempotency
    }

    /// Carries out a request that may have a key. A stream comes with what records it.
    ///
    /// # Errors
    /// See [`EngineError`].
    pub fn answer_once(
        self: Arc<Self>,
        call: Call,
        claimed: Option<Claimed>,
    ) -> EngineFuture<'static, Result<RecordedAnswer, EngineError>> {
        boxed_future(|| self.work_once(call, claimed))
    }

    async fn work_once(
        self: Arc<Self>,
        mut call: Call,
        mut claimed: Option<Claimed>,
    ) -> Result<RecordedAnswer, EngineError> {
        if let Some(claimed) = &mut claimed {
            if is_guarded(&call) {
                claimed.withhold();
            }
            claimed.begin(call.stream(), call.watch_sent());
        }
        let answered = self.work(call).await;
        let Some(claimed) = claimed else {
            return Ok((answered?, None));
        };
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => {
                match is_unknown(&error) {
                    true => claimed.keep(None),
                    false => claimed.free(),
                }
                return Err(error);
            }
        };
        let head = AnswerHead::clone(&answer.head);
        let recorder = match &answer.body {
            AnswerBody::Whole(body) => {
                let kept = (body.len() <= ANSWER_MAX).then(|| Kept {
                    head,
                    body: KeptBody::Whole(body.clone()),
                });
                claimed.keep(kept);
                None
            }
            AnswerBody::Stream(_) => Some(Box::new(Recorder::new(claimed, head))),
        };
        Ok((answer, recorder))
    }

    /// An answer that was given before, byte for byte, with the pieces of a stream as they were.
    #[must_use]
    pub fn replay(&self, kept: &Kept) -> Answer {
        let body = match &kept.body {
            KeptBody::Whole(body) => AnswerBody::Whole(body.clone()),
            KeptBody::Stream(stream) => {
                let deadlines = self.snapshot().deadlines;
                let replay = ReplyStream::replay(stream.pieces(), stream.figures, deadlines);
                AnswerBody::Stream(AnswerStream::Own(Box::new(replay)))
            }
        };
        Answer {
            head: Box::new(kept.head.clone()),
            body,
        }
    }
}

/// Whether a request, its subsystem or what it goes on with asks for more protection than the usual
/// one.
fn is_guarded(call: &Call) -> bool {
    let hints = call.hints().route.as_deref();
    hints.is_some_and(|hints| wished_class(call.snapshot(), hints) > SecurityClass::Standard)
}

/// Whether a provider may have carried out a request that ended like this.
fn is_unknown(error: &EngineError) -> bool {
    match error {
        EngineError::Upstream(failure) => failure.unknown_outcome,
        // It was carried out and charged.
        EngineError::SchemaViolated { .. } => true,
        EngineError::Unverified { is_sent, .. } => *is_sent,
        EngineError::Json(_)
        | EngineError::Invalid(_)
        | EngineError::Screened { .. }
        | EngineError::NoRoute(_)
        | EngineError::Refused { .. }
        | EngineError::Tier { .. }
        | EngineError::NoOperation { .. }
        | EngineError::Required { .. }
        | EngineError::CircuitOpen { .. }
        | EngineError::UnknownResponse(_)
        | EngineError::Throttled { .. }
        | EngineError::Scope { .. }
        | EngineError::Unpriced { .. }
        | EngineError::Funds { .. }
        | EngineError::Unpaid(_)
        | EngineError::Budget { .. }
        | EngineError::Store(_)
        | EngineError::NotCached { .. }
        | EngineError::Busy => false,
    }
}
