//! Answers that are held to a schema, from the provider's head to the caller: read to their end,
//! checked, asked for once more where they miss it, and handed over or withheld.

use std::sync::Arc;

use bardo_profile::repair_request;
use bardo_types::Degradation;
use bardo_types::chat::{ChatRequest, ChatResponse};
use bardo_types::usage::Usage;
use bardo_wire::codec::{DecodeContext, Target};
use bardo_wire::table;
use bytes::Bytes;
use tokio::time::Instant;

use crate::answer::{BOOKS_WAIT, Delivering, Unanswered};
use crate::arriving::{Arriving, is_framed, read_whole};
use crate::call::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::failure::Failure;
use crate::lifecycle::{Lifecycle, Sent};
use crate::meter::Meter;
use crate::relay::{Collected, Passthrough, Pipeline, Transcode, collect};
use crate::respond::whole_answer;
use crate::schema::{Bond, Verdict, asked, plain, text};
use crate::scrub::scrub;
use crate::shape::{Mode, Shaped};
use crate::source::Source;
use crate::steps::steps;
use crate::transform::Transforms;

/// Number of faults of an answer that an error names.
const FAULTS_SHOWN: usize = 3;

/// An answer that is there, all of it, and that the caller has nothing of yet.
struct CompleteAnswer {
    /// The provider's bytes, in the pieces in which they came.
    bytes: Vec<Bytes>,
    /// `None` where a relayed answer could not be read.
    response: Option<ChatResponse>,
    usage: Option<Usage>,
    model: Option<String>,
    /// Of a stream.
    meter: Option<Meter>,
}

/// What came of the second try.
struct Second {
    /// The request as it was sent.
    shaped: Shaped,
    taken: CompleteAnswer,
    verdict: Verdict,
}

impl Engine {
    /// Answers with what keeps its schema. An answer that misses it is asked for once more, where
    /// the hold pays for that. Where the second one misses it too the caller gets the first, named
    /// as degraded; or an error, where nobody may get it.
    pub(crate) async fn bound(
        self: &Arc<Self>,
        call: &Call,
        shaped: Shaped,
        bond: &Bond,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let started = arriving.started;
        let mut first = match taken(call, &shaped, arriving).await {
            Ok(first) => first,
            Err(mut failure) => {
                scrub(&mut failure.fault, shaped.endpoint.key.expose());
                return Err(Unanswered::Failed(failure, sent));
            }
        };
        let record = sent.record_mut();
        first.usage.iter().for_each(|usage| record.count(usage));
        first
            .model
            .iter()
            .for_each(|model| record.answered_by(model));
        let mut meter = first.meter.take();
        let errors = match bond.judge(first.response.as_ref()) {
            Verdict::Missed(errors) => errors,
            verdict => {
                if verdict == Verdict::Kept {
                    record.schema(&bond.check, Some(true), false);
                }
                let (shaped, meter) = (&shaped, meter);
                return self.hand_over(call, shaped, bond, first, meter, sent).await;
            }
        };
        let pays = sent.record().pays_for_another();
        let second = match first.response.as_ref().filter(|_| pays) {
            Some(answer) => self.again(call, &shaped, (answer, &errors), started).await,
            None => None,
        };
        let second = second.map(|(shaped, taken)| Second {
            verdict: bond.judge(taken.response.as_ref()),
            shaped,
            taken,
        });
        let record = sent.record_mut();
        if let Some(Second { taken, .. }) = &second {
            taken.usage.iter().for_each(|usage| record.add(usage));
        }
        match second {
            Some(mut second) if second.verdict == Verdict::Kept => {
                record.schema(&bond.check, Some(true), true);
                if !record.has_usage() {
                    meter = second.taken.meter.take();
                }
                self.hand_over(call, &second.shaped, bond, second.taken, meter, sent)
                    .await
            }
            second if bond.is_strict => {
                record.schema(&bond.check, Some(false), second.is_some());
                record.meter_with(meter);
                record.keep_for_count(|| first.bytes.concat().into());
                let error = violated(bond, second, errors);
                Err(Unanswered::Withheld(withhold(sent, error).await))
            }
            second => {
                record.schema(&bond.check, Some(false), second.is_some());
                record.degrade(Degradation::new(
                    "response_schema",
                    "the answer does not match the schema",
                ));
                self.hand_over(call, &shaped, bond, first, meter, sent)
                    .await
            }
        }
    }

    /// Asks the same model to mend its answer. A failure is no failure of the request: there is an
    /// answer already.
    async fn again(
        &self,
        call: &Call,
        shaped: &Shaped,
        (answer, errors): (&ChatResponse, &[String]),
        started: Instant,
    ) -> Option<(Shaped, CompleteAnswer)> {
        let request = asked(call, shaped)?;
        let repaired = repair_request(&request, &text(answer), errors);
        let mut mended = crate::shape::mended(call, shaped, repaired).ok()?;
        let deadlines = call.snapshot().deadlines;
        let left = deadlines.total.saturating_sub(started.elapsed());
        let response = self.attempt(call, &mut mended, left).await.ok()?;
        let (head, body) = response.into_parts();
        let arriving = Arriving {
            source: body.into(),
            started,
            framed: is_framed(&head),
        };
        let taken = taken(call, &mended, arriving).await.ok()?;
        Some((mended, taken))
    }

    /// Hands over an answer that is there: as one, or as a stream of the caller's dialect.
    async fn hand_over(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        bond: &Bond,
        taken: CompleteAnswer,
        meter: Option<Meter>,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let CompleteAnswer {
            bytes, response, ..
        } = taken;
        let translated = match (&shaped.mode, response) {
            (Mode::Transcode(translation), Some(mut response)) => {
                plain(&bond.check, &mut response);
                self.keeper(call, translation)(&response);
                Some((translation, response))
            }
            _ => None,
        };
        if !call.stream() {
            let upstream: Bytes = match <[Bytes; 1]>::try_from(bytes) {
                Ok([one]) => one,
                Err(many) => many.concat().into(),
            };
            let body = match translated {
                None => upstream.clone(),
                Some((translation, response)) => {
                    table::encode_response(call.dialect(), &response, &translation.reply).into()
                }
            };
            let within = call.hints().metadata;
            return Ok(whole_answer(sent, upstream, body, within));
        }
        sent.record_mut().complete(meter);
        let (source, pump) = match translated {
            Some((translation, response)) => {
                let pump = Transcode::replay(shaped.dialect, call.dialect(), translation);
                let source = Source::of_steps(steps(response));
                (source, Pipeline::Transcode(Box::new(pump)))
            }
            None => {
                let hide_usage = matches!(shaped.mode, Mode::Relay { hide_usage: true });
                let pass = Passthrough::new(
                    call.dialect(),
                    shaped.endpoint.service,
                    call.size().choices,
                    hide_usage,
                );
                (
                    Source::of_bytes(bytes),
                    Pipeline::Passthrough(Box::new(pass)),
                )
            }
        };
        let arriving = Arriving {
            source,
            started: Instant::now(),
            framed: true,
        };
        self.begun(call, shaped, arriving, pump, sent).await
    }
}

/// Reads an answer to its end.
async fn taken(
    call: &Call,
    shaped: &Shaped,
    arriving: Arriving,
) -> Result<CompleteAnswer, Failure> {
    let deadlines = call.snapshot().deadlines;
    let context = context(call, shaped);
    let finish = |response| match &shaped.mode {
        Mode::Transcode(translation) => Transforms::of(translation).whole(response),
        Mode::Relay { .. } => response,
    };
    if call.stream() {
        let collected = collect(arriving, shaped.dialect, context, deadlines).await?;
        let Collected {
            bytes,
            response,
            meter,
        } = collected;
        return Ok(CompleteAnswer {
            bytes,
            usage: response.usage.clone(),
            model: response.model.clone(),
            response: Some(finish(response)),
            meter: Some(meter),
        });
    }
    let bytes = read_whole(arriving, deadlines).await?;
    let decoded = table::decode_response(shaped.dialect, &bytes, &context);
    let (usage, model, response) = match &shaped.mode {
        Mode::Relay { .. } => {
            let mut seen = table::observe_response(shaped.dialect, &bytes);
            if let Some(fault) = seen.fault.take() {
                return Err(Failure::reported(fault));
            }
            (seen.usage, seen.model, decoded.ok())
        }
        Mode::Transcode(_) => {
            let response = decoded.map_err(Failure::reported)?;
            let (usage, model) = (response.usage.clone(), response.model.clone());
            (usage, model, Some(finish(response)))
        }
    };
    Ok(CompleteAnswer {
        bytes: vec![bytes],
        response,
        usage,
        model,
        meter: None,
    })
}

/// What a decoder has to know of the request.
fn context(call: &Call, shaped: &Shaped) -> DecodeContext {
    if let Mode::Transcode(translation) = &shaped.mode {
        return translation.decode.clone();
    }
    let entry = &shaped.leg.candidate.entry;
    let unread = || Arc::new(ChatRequest::new(call.dialect(), String::new()));
    DecodeContext {
        target: Target {
            model: entry.upstream_id.clone(),
            service: shaped.endpoint.service,
            capabilities: Arc::new(entry.capabilities.clone()),
        },
        request: call
            .request_body()
            .known_neutral()
            .cloned()
            .unwrap_or_else(unread),
        renamed_tools: Vec::new(),
        id_seed: String::new(),
    }
}

/// Ends a request whose answer nobody may get. What the provider made is charged; where the books
/// do not answer, the settler goes on asking them.
async fn withhold(sent: Lifecycle<Sent>, error: EngineError) -> EngineError {
    if let Err(ended) = sent.withheld().at_once() {
        drop(ended.within(BOOKS_WAIT).await);
    }
    error
}

fn violated(bond: &Bond, second: Option<Second>, first: Vec<String>) -> EngineError {
    let tries = if second.is_some() { 2 } else { 1 };
    let mut errors = match second.map(|second| second.verdict) {
        Some(Verdict::Missed(errors)) => errors,
        Some(Verdict::Unchecked) => vec!["the second answer calls a tool".to_owned()],
        Some(Verdict::Kept) | None => first,
    };
    errors.truncate(FAULTS_SHOWN);
    EngineError::SchemaViolated {
        schema: bond.check.schema.name.clone(),
        tries,
        errors,
    }
}
