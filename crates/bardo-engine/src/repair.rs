//! Answers that are held to a schema, from the provider's head to the caller: read to their end,
//! checked, asked for once more where they miss it, and handed over or withheld.

use std::sync::Arc;

use bardo_profile::repair_request;
use bardo_types::Degradation;
use bardo_types::chat::{ChatResponse, Choice};
use tokio::time::Instant;

use crate::answer::{BOOKS_WAIT, Delivering, Unanswered};
use crate::answer_notes::{AnswerNotes, NoNotes};
use crate::answer_stages::AnswerStages;
use crate::arriving::{Arriving, is_framed};
use crate::call::Call;
use crate::complete_answer::{CompleteAnswer, Reading};
use crate::decision::{self, Decision};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::failure::Failure;
use crate::lifecycle::{Lifecycle, Sent};
use crate::respond::failed;
use crate::schema::{SchemaContract, SchemaVerdict, asked, text};
use crate::shape::{AnswerMode, Shaped};

/// Number of faults of an answer that an error names.
const FAULTS_SHOWN: usize = 3;

/// The result of the second attempt to keep a schema.
struct Second {
    /// The request as it was sent.
    shaped: Shaped,
    taken: CompleteAnswer,
    verdict: SchemaVerdict,
}

impl Engine {
    /// Answers with what keeps its schema. An answer that misses it is asked for once more, where
    /// the hold pays for that. Where the second one misses it too the caller gets the first, named
    /// as degraded; or an error, where nobody may get it.
    pub(crate) async fn bound(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        contract: &SchemaContract,
        arriving: Arriving,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        let started = arriving.started;
        let first = match taken(call, shaped, arriving, sent.record_mut()).await {
            Ok(first) => first,
            Err(failure) => return Err(failed(failure, shaped, sent)),
        };
        let record = sent.record_mut();
        let errors = match contract.judge(first.response.as_ref()) {
            SchemaVerdict::Missed(errors) => errors,
            verdict => {
                if verdict == SchemaVerdict::Kept {
                    record.schema(&contract.check, Some(true), false);
                }
                return self.checked(call, shaped, contract, first, sent).await;
            }
        };
        let pays = sent.record().pays_for_another();
        let second = match first.response.as_ref().filter(|_| pays) {
            Some(answer) => self.again(call, shaped, (answer, &errors), started).await,
            None => None,
        };
        let second = second.map(|(shaped, taken)| Second {
            verdict: contract.judge(taken.response.as_ref()),
            shaped,
            taken,
        });
        let record = sent.record_mut();
        if let Some(Second { taken, .. }) = &second {
            taken.usage.iter().for_each(|usage| record.add(usage));
        }
        match second {
            Some(mut second) if second.verdict == SchemaVerdict::Kept => {
                record.schema(&contract.check, Some(true), true);
                if record.has_usage() {
                    second.taken.meter = first.meter;
                }
                self.checked(call, &second.shaped, contract, second.taken, sent)
                    .await
            }
            second if contract.is_strict => {
                record.schema(&contract.check, Some(false), second.is_some());
                record.meter_with(first.meter);
                record.keep_for_count(|| first.bytes.concat().into());
                let error = violated(contract, second, errors);
                Err(Unanswered::Withheld(withhold(sent, error).await))
            }
            second => {
                record.schema(&contract.check, Some(false), second.is_some());
                record.degrade(Degradation::new(
                    "response_schema",
                    "the answer does not match the schema",
                ));
                self.checked(call, shaped, contract, first, sent).await
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
        let taken = taken(call, &mended, arriving, &mut NoNotes).await.ok()?;
        Some((mended, taken))
    }

    /// Hands over an answer that was checked.
    async fn checked(
        self: &Arc<Self>,
        call: &Call,
        shaped: &Shaped,
        contract: &SchemaContract,
        complete: CompleteAnswer,
        mut sent: Lifecycle<Sent>,
    ) -> Result<Delivering, Unanswered> {
        if decision::is_verified(call) {
            let decision = decision_of(contract, complete.response.as_ref());
            sent.record_mut().decide(decision);
        }
        let stages = match &shaped.mode {
            AnswerMode::Relay { .. } => AnswerStages::default(),
            AnswerMode::Transcode(translation) => {
                AnswerStages::once_checked(&contract.check, self.remember(call, translation))
            }
        };
        if call.stream() {
            self.hand_over_as_stream(call, shaped, complete, stages, sent)
                .await
        } else {
            Ok(self.hand_over(call, shaped, complete, stages, sent))
        }
    }
}

/// The decision in an answer that was checked.
fn decision_of(contract: &SchemaContract, answer: Option<&ChatResponse>) -> Decision {
    let Some(answer) = answer else {
        return Decision::Missing;
    };
    if answer.choices.iter().any(Choice::has_tool_calls) {
        return Decision::Open;
    }
    let said = text(answer);
    let json = contract.check.json(&said);
    json.map_or(Decision::Missing, Decision::read)
}

/// Reads an answer to its end, up to its check.
async fn taken(
    call: &Call,
    shaped: &Shaped,
    arriving: Arriving,
    notes: &mut dyn AnswerNotes,
) -> Result<CompleteAnswer, Failure> {
    let mut complete = CompleteAnswer::read(arriving, call, shaped, Reading::Decoded).await?;
    complete.note(notes);
    if let (AnswerMode::Transcode(translation), Some(response)) =
        (&shaped.mode, &mut complete.response)
    {
        AnswerStages::before_check(translation).whole(response, notes);
    }
    Ok(complete)
}

/// Ends a request whose answer nobody may get. What the provider made is charged; where the books
/// do not answer, the settler goes on asking them.
async fn withhold(sent: Lifecycle<Sent>, error: EngineError) -> EngineError {
    if let Err(ended) = sent.withheld().at_once() {
        drop(ended.within(BOOKS_WAIT).await);
    }
    error
}

fn violated(contract: &SchemaContract, second: Option<Second>, first: Vec<String>) -> EngineError {
    let tries = if second.is_some() { 2 } else { 1 };
    let mut errors = match second.map(|second| second.verdict) {
        Some(SchemaVerdict::Missed(errors)) => errors,
        Some(SchemaVerdict::Unchecked) => vec!["the second answer calls a tool".to_owned()],
        Some(SchemaVerdict::Kept) | None => first,
    };
    errors.truncate(FAULTS_SHOWN);
    EngineError::SchemaViolated {
        schema: contract.check.schema.name.clone(),
        tries,
        errors,
    }
}
