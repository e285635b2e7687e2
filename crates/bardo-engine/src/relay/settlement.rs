use std::sync::Arc;

use bardo_types::chat::ChatResponse;
use bardo_types::fault::Fault;
use bardo_types::secret::Secret;
use bardo_types::usage::Usage;
use bardo_wire::codec::Observed;
use tokio::time::Instant;

use crate::receipt::{Outcome, Receipt};
use crate::run::Engine;
use crate::scrub::scrub;

/// What is done with a whole answer when it is there, e.g. remembering its thinking state.
pub(crate) type Keep = Box<dyn FnOnce(&ChatResponse) + Send>;

/// The open end of a request: gathers what its receipt will say and emits that exactly once, when
/// the stream is over or when whoever reads it has gone.
pub(crate) struct Settlement {
    engine: Arc<Engine>,
    receipt: Option<Box<Receipt>>,
    started: Instant,
    /// The key that the provider knows.
    secret: Secret,
    keep: Option<Keep>,
}

impl Settlement {
    pub(crate) fn new(
        engine: Arc<Engine>,
        receipt: Receipt,
        started: Instant,
        secret: Secret,
    ) -> Self {
        Self {
            engine,
            receipt: Some(Box::new(receipt)),
            started,
            secret,
            keep: None,
        }
    }

    pub(crate) fn keep_with(&mut self, keep: Keep) {
        self.keep = Some(keep);
    }

    pub(super) fn keep(&mut self, answer: Option<ChatResponse>) {
        if let (Some(keep), Some(answer)) = (self.keep.take(), answer) {
            keep(&answer);
        }
    }

    pub(super) fn request_id(&self) -> &str {
        self.receipt
            .as_ref()
            .map_or("", |receipt| &receipt.request_id)
    }

    pub(super) fn first_content(&mut self) {
        let elapsed = self.started.elapsed();
        if let Some(receipt) = &mut self.receipt {
            receipt.first_content = Some(elapsed);
        }
    }

    pub(crate) fn observe(&mut self, seen: &Observed) {
        if let (Some(receipt), Some(usage)) = (&mut self.receipt, &seen.usage)
            && receipt.usage.as_ref() != Some(usage)
        {
            receipt.usage = Some(usage.clone());
        }
    }

    pub(crate) fn count(&mut self, usage: &Usage) {
        if let Some(receipt) = &mut self.receipt {
            match &mut receipt.usage {
                Some(known) => known.supersede(usage),
                empty => *empty = Some(usage.clone()),
            }
        }
    }

    pub(super) fn answered_by(&mut self, model: &str) {
        tracing::trace!(model, "answering");
    }

    /// The answer is complete; the comment that closes the stream.
    pub(super) fn finished(&mut self) -> String {
        let Some(receipt) = &mut self.receipt else {
            return String::new();
        };
        receipt.outcome = Outcome::Finished;
        receipt.stream_comment()
    }

    /// The answer was complete from the start.
    pub(crate) fn finish(&mut self) {
        if let Some(receipt) = &mut self.receipt {
            receipt.outcome = Outcome::Finished;
        }
    }

    /// The cost as headers show it.
    pub(crate) fn cost_text(&self) -> Option<String> {
        self.receipt.as_ref()?.cost_text()
    }

    /// The answer failed; the fault as the caller may see it.
    pub(super) fn failed(&mut self, mut fault: Fault) -> Fault {
        scrub(&mut fault, self.secret.expose());
        if let Some(receipt) = &mut self.receipt {
            receipt.outcome = Outcome::Failed;
            self.engine
                .sink
                .attempt_failed(&receipt.request_id, &receipt.backend, &fault);
        }
        fault
    }

    /// Another backend will be tried; this one leaves no receipt.
    pub(crate) fn hand_over(&mut self) {
        self.receipt = None;
    }

    /// Emits the receipt, once.
    pub(crate) fn settle(&mut self) {
        if let Some(mut receipt) = self.receipt.take() {
            receipt.duration = self.started.elapsed();
            self.engine.sink.settled(&receipt);
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        self.settle();
    }
}
