//! The states of a request, as types: admitted, reserved, sent, flowing, then unsettled and concluded.
//!
//! Each transition consumes the state before, so nothing is sent that was not reserved for and
//! nothing is charged twice. Any `await` may be the last: dropping a state is what happens when the
//! caller leaves in it, and it does not wait. What needs the books to answer goes to the settler,
//! whose queue has had room for it since the request was received.

use std::marker::PhantomData;
use std::time::Duration;

use bardo_ledger::StoreError;
use bardo_types::receipt::Outcome;
use tokio::sync::mpsc::OwnedPermit;
use tokio::time::Instant;

use crate::call::Call;
use crate::engine_future::boxed;
use crate::failure::Failure;
use crate::receipt_builder::{Passed, Served};
use crate::record::RequestRecord;
use crate::settlement::Message;
use crate::shape::Shaped;
use crate::spawn_count::spawn_count;

/// The pause after the first time the books did not answer; doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Time that the caller of a request with an unknown outcome waits for the ledger.
const UNKNOWN_WAIT: Duration = Duration::from_millis(500);

/// A state before the end.
pub(crate) trait LifecycleState {
    /// Ends a request that is dropped in this state.
    fn abandoned(kept: QueuedRecord);
}

/// Known to be well formed; the limits may have been asked.
pub(crate) enum Admitted {}
/// The most that the request can cost is held, where it costs anything. Nothing was sent, or
/// nothing that was sent has been carried out.
pub(crate) enum Reserved {}
/// A provider has it, and the caller has nothing yet.
pub(crate) enum Sent {}
/// The first content is there.
pub(crate) enum Flowing {}

impl LifecycleState for Admitted {
    fn abandoned(mut kept: QueuedRecord) {
        kept.record.give_back();
    }
}

impl LifecycleState for Reserved {
    fn abandoned(mut kept: QueuedRecord) {
        if kept.record.receipt().attempts.is_empty() {
            kept.record.give_back();
        } else {
            drop(Unsettled::new(kept, Outcome::Aborted));
        }
    }
}

impl LifecycleState for Sent {
    fn abandoned(kept: QueuedRecord) {
        drop(Unsettled::new(kept, Outcome::Aborted));
    }
}

impl LifecycleState for Flowing {
    fn abandoned(kept: QueuedRecord) {
        drop(Unsettled::new(kept, Outcome::Aborted));
    }
}

/// A request with its place in the queue of the settler.
pub(crate) struct QueuedRecord {
    record: Box<RequestRecord>,
    /// Room to settle it, set aside when it was received; `None` once the settler has it.
    permit: Option<OwnedPermit<Message>>,
}

/// A request in one of its states.
#[must_use = "dropping it gives the request up"]
pub(crate) struct Lifecycle<S: LifecycleState> {
    kept: Option<QueuedRecord>,
    stage: PhantomData<fn() -> S>,
}

impl<S: LifecycleState> Lifecycle<S> {
    fn at(kept: QueuedRecord) -> Self {
        Self {
            kept: Some(kept),
            stage: PhantomData,
        }
    }

    fn take(mut self) -> QueuedRecord {
        self.kept.take().expect("only the end of a state takes it")
    }

    pub(crate) fn record(&self) -> &RequestRecord {
        let kept = self.kept.as_ref();
        &kept.expect("only the end of a state takes it").record
    }

    pub(crate) fn record_mut(&mut self) -> &mut RequestRecord {
        let kept = self.kept.as_mut();
        &mut kept.expect("only the end of a state takes it").record
    }
}

impl<S: LifecycleState> Drop for Lifecycle<S> {
    fn drop(&mut self) {
        if let Some(kept) = self.kept.take() {
            S::abandoned(kept);
        }
    }
}

impl Lifecycle<Admitted> {
    /// A request that was read; with the permit it can always be handed to the settler.
    pub(crate) fn new(
        record: impl FnOnce() -> RequestRecord,
        permit: OwnedPermit<Message>,
    ) -> Self {
        Self::at(QueuedRecord {
            record: boxed(record),
            permit: Some(permit),
        })
    }

    /// Money is held, or none is needed.
    pub(crate) fn reserved(self) -> Lifecycle<Reserved> {
        let mut kept = self.take();
        kept.record.passed(Passed::Reserve);
        Lifecycle::at(kept)
    }
}

impl Lifecycle<Admitted> {
    /// A stored answer goes to the caller, and no provider has the request. What it costs is held.
    pub(crate) fn served(self, call: &Call, served: &Served) -> Lifecycle<Flowing> {
        let mut kept = self.take();
        call.sent_mark().set();
        kept.record.serve(call, served);
        kept.record.first_content();
        Lifecycle::at(kept)
    }
}

impl Lifecycle<Reserved> {
    /// No backend answers, and a stored answer goes to the caller. Those that follow are free.
    pub(crate) fn served(self, call: &Call, served: &Served) -> Lifecycle<Flowing> {
        let mut kept = self.take();
        kept.record.stop_recording();
        call.sent_mark().set();
        kept.record.serve(call, served);
        kept.record.first_content();
        Lifecycle::at(kept)
    }

    /// A backend is about to be asked.
    pub(crate) fn sent(self, call: &Call, shaped: &Shaped) -> Lifecycle<Sent> {
        let mut kept = self.take();
        call.sent_mark().set();
        kept.record.ask(call, shaped);
        Lifecycle::at(kept)
    }

    /// Nobody carried it out.
    pub(crate) fn failed(self) {
        let kept = self.take();
        if kept.record.receipt().attempts.is_empty() {
            Reserved::abandoned(kept);
        } else {
            drop(Unsettled::new(kept, Outcome::Failed));
        }
    }
}

impl Lifecycle<Sent> {
    /// The provider failed before the caller had anything. Where it surely did not carry the
    /// request out, another may be asked; else it is over, and what is held stays held until
    /// somebody knows.
    pub(crate) async fn failed(self, failure: &Failure) -> Option<Lifecycle<Reserved>> {
        let mut kept = self.take();
        kept.record.refused(failure);
        if failure.retry.is_unknown() {
            // Whoever reads of it shall find it in the books. Where they do not answer, the settler
            // goes on asking them.
            drop(
                Unsettled::new(kept, Outcome::Unknown)
                    .within(UNKNOWN_WAIT)
                    .await,
            );
            return None;
        }
        Some(Lifecycle::at(kept))
    }

    /// The first content is there.
    pub(crate) fn flowing(self) -> Lifecycle<Flowing> {
        let mut kept = self.take();
        kept.record.first_content();
        Lifecycle::at(kept)
    }

    /// The answer is there, all of it, and none of it is handed over: it misses its schema. What
    /// the provider made is owed.
    pub(crate) fn withheld(self) -> Unsettled {
        let mut kept = self.take();
        kept.record.complete_as_metered();
        Unsettled::new(kept, Outcome::Failed)
    }

    /// The answer is there, all of it.
    pub(crate) fn answered(self) -> Unsettled {
        let mut kept = self.take();
        kept.record.ended_well();
        kept.record.first_content();
        Unsettled::new(kept, Outcome::Finished)
    }
}

impl Lifecycle<Flowing> {
    /// The provider said its last word.
    pub(crate) fn finished(self) -> Unsettled {
        let mut kept = self.take();
        kept.record.ended_well();
        Unsettled::new(kept, Outcome::Finished)
    }

    /// The provider failed, or the money ended.
    pub(crate) fn failed(self) {
        drop(Unsettled::new(self.take(), Outcome::Failed));
    }
}

/// A request that is over and not settled. Dropping it hands it to the settler, or closes it at
/// once where nobody has to be waited for.
#[must_use = "dropping it leaves settling to the settler"]
pub(crate) struct Unsettled(Option<QueuedRecord>);

/// A request whose figures are final.
pub(crate) struct Concluded(QueuedRecord);

impl Unsettled {
    fn new(mut kept: QueuedRecord, outcome: Outcome) -> Self {
        kept.record.end(outcome);
        Self(Some(kept))
    }

    /// Takes up what was handed over.
    pub(crate) fn resume(record: Box<RequestRecord>) -> Self {
        Self(Some(QueuedRecord {
            record,
            permit: None,
        }))
    }

    pub(crate) fn record_mut(&mut self) -> &mut RequestRecord {
        &mut self.0.as_mut().expect("only settling takes it").record
    }

    pub(crate) fn record(&self) -> &RequestRecord {
        &self.0.as_ref().expect("only settling takes it").record
    }

    fn take(mut self) -> QueuedRecord {
        self.0.take().expect("only settling takes it")
    }

    /// Settles what needs nobody to be waited for.
    pub(crate) fn at_once(self) -> Result<Concluded, Self> {
        if self.record().moves_money() {
            return Err(self);
        }
        let mut kept = self.take();
        kept.record.close();
        Ok(Concluded(kept))
    }

    /// Counts where that is needed. Whoever stops waiting leaves the request to the settler.
    pub(crate) async fn counted(mut self) -> Self {
        if !self.record().moves_money() || !self.record().needs_count() {
            return self;
        }
        spawn_count(move || {
            self.record_mut().count_usage();
            self
        })
        .await
    }

    /// Settles within `patience`, asking the books again where they do not answer; else gives the
    /// request back, with what the books said last.
    pub(crate) async fn within(self, patience: Duration) -> Result<Concluded, (Self, StoreError)> {
        let end = Instant::now() + patience;
        let mut ended = self.counted().await;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match tokio::time::timeout_at(end, ended.settle()).await {
                Ok(Ok(())) => return Ok(Concluded(ended.take())),
                Ok(Err(error)) => error,
                Err(_) => {
                    let late = StoreError::Unavailable("no answer in time".to_owned());
                    return Err((ended, late));
                }
            };
            if Instant::now() + pause >= end {
                return Err((ended, error));
            }
            tracing::warn!(%error, "the charge is not stored yet");
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Asks the books once. What is dropped here unanswered can be asked again.
    pub(crate) async fn settle(&mut self) -> Result<(), StoreError> {
        let record = self.record_mut();
        if !record.moves_money() && !record.is_commanded() {
            record.close();
            return Ok(());
        }
        let command = record.command().clone();
        let Some(ledger) = record.services().ledger.clone() else {
            record.close();
            return Ok(());
        };
        let settled = ledger.settle(command).await?;
        self.record_mut().settled(&settled);
        Ok(())
    }

    /// Ends it without a charge: the answer cannot be handed over.
    pub(crate) fn waive(mut self) {
        self.record_mut().waive();
    }

    /// Ends a request that is settled already.
    pub(crate) fn forget(self) {
        drop(self.take());
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let Some(QueuedRecord { mut record, permit }) = self.0.take() else {
            return;
        };
        if !record.is_commanded() && !record.moves_money() {
            record.close();
            return;
        }
        match permit {
            Some(permit) => {
                permit.send(Message::Settle(record));
            }
            None => {
                tracing::error!(id = %record.receipt().request_id, "the charge is not stored; the hold stays until an operator decides");
            }
        }
    }
}

impl Concluded {
    pub(crate) fn record(&self) -> &RequestRecord {
        &self.0.record
    }
}
