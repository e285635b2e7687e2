//! From backend to backend until one answers, before the caller has seen a byte.

use bardo_types::fault::{Fault, FaultClass};
use tokio::time::Instant;

use crate::attempt::{Failure, Next};
use crate::error::{EngineError, UpstreamFailure};
use crate::lifecycle::{Life, Reserved};
use crate::respond::{Answer, Unanswered};
use crate::run::{Admitted, Engine};
use crate::shape::{Decoded, shape};

impl Engine {
    /// Asks the candidates in order. Another backend is asked only where the one before surely did
    /// not carry the request out (decisions §3, stage 10).
    pub(crate) async fn dispatch(
        self: &std::sync::Arc<Self>,
        admitted: &Admitted,
        reserved: Life<Reserved>,
    ) -> Result<Answer, EngineError> {
        let mut life = Some(reserved);
        let mut decoded = Decoded::default();
        let mut refusal: Option<EngineError> = None;
        let mut last: Option<UpstreamFailure> = None;
        let mut attempts = 0;
        // The total limit is the request's: an attempt has what earlier ones have left.
        let started = Instant::now();
        for candidate in &admitted.candidates {
            if attempts as usize >= admitted.world.max_attempts {
                break;
            }
            let mut shaped = match shape(admitted, candidate, &mut decoded, &self.memory) {
                Ok(shaped) => shaped,
                // Another backend may take what this one cannot.
                Err(error) => {
                    refusal.get_or_insert(error);
                    continue;
                }
            };
            let Some(reserved) = life.take() else {
                break;
            };
            attempts += 1;
            let sent = reserved.sent(admitted, candidate, &shaped);
            let (failure, sent) = match self.attempt(admitted, &mut shaped).await {
                Ok(response) => {
                    match self
                        .respond(admitted, shaped, response, sent, started)
                        .await
                    {
                        Ok(answer) => return Ok(answer),
                        Err(Unanswered::Failed(failure, sent)) => (failure, sent),
                        Err(Unanswered::Store(error)) => return Err(error.into()),
                    }
                }
                Err(failure) => (failure, sent),
            };
            life = sent.failed(&failure);
            let backend = admitted.world.endpoints[candidate.backend].name.clone();
            self.note_failure(admitted, &backend, &failure.fault);
            let Failure { fault, next } = failure;
            let unknown_outcome = next == Next::Unknown;
            last = Some(UpstreamFailure {
                backend,
                fault,
                attempts,
                unknown_outcome,
            });
            if next != Next::Other {
                break;
            }
        }
        if let Some(reserved) = life {
            reserved.failed();
        }
        match (last, refusal) {
            (Some(failure), _) => Err(EngineError::Upstream(Box::new(failure))),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Err(EngineError::Upstream(Box::new(UpstreamFailure {
                backend: String::new(),
                fault: Fault::new(FaultClass::Server, "no backend was tried"),
                attempts: 0,
                unknown_outcome: false,
            }))),
        }
    }
}
