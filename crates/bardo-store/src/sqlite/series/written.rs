//! Receipts that the writer adds up while it writes them, so that nobody has to read them again.

use bardo_ledger::ReceiptRecord;
use bardo_ledger::series::{ReceiptColumns, SeriesKeep};
use rusqlite::Connection;

use super::step::{self, SeriesState, SeriesStep};
use super::sums::StepSums;

/// Sums of receipts that follow the watermark without a gap. They are in memory alone: what is lost
/// of them, a step reads from the tables.
#[derive(Default)]
pub(in crate::sqlite) struct WrittenSums {
    /// Largest number of receipts, as the last caller asked for them; 0 before anybody did.
    room: u32,
    step: Option<WrittenStep>,
}

/// Receipts from the watermark of a state to the last one of them.
struct WrittenStep {
    state: SeriesState,
    last: i64,
    sums: StepSums,
    /// A receipt is missing, or there is no room: later ones are left to steps that read.
    is_closed: bool,
}

impl WrittenSums {
    /// Prepares for the receipts of a transaction. What was added up stays only if nobody moved the
    /// watermark or changed a receipt since.
    pub(in crate::sqlite) fn begin(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.room == 0 {
            return Ok(());
        }
        let state = SeriesState::read(connection)?;
        let known = self.step.as_ref().map(|step| step.state.generation);
        if known != Some(state.generation) {
            self.step = Some(WrittenStep {
                last: state.done,
                state,
                sums: StepSums::default(),
                is_closed: false,
            });
        }
        Ok(())
    }

    /// Adds a receipt that was written under this number.
    pub(in crate::sqlite) fn add(&mut self, no: i64, record: &ReceiptRecord) {
        let Some(step) = self.step.as_mut().filter(|step| !step.is_closed) else {
            return;
        };
        if step.last + 1 != no || step.sums.is_full(u64::from(self.room)) {
            step.is_closed = true;
            return;
        }
        step.sums.add(no, &ReceiptColumns::of(record));
        step.last = no;
    }

    /// Forgets all sums: the transaction of some of them did not happen.
    pub(in crate::sqlite) fn forget(&mut self) {
        self.step = None;
    }

    /// Takes the most receipts that the sums of the next step may have. Answers whether there are
    /// sums to write.
    pub(in crate::sqlite) fn ask(&mut self, room: u32) -> bool {
        self.room = room;
        let step = self.step.as_ref();
        step.is_some_and(|step| step.sums.count() > 0)
    }

    /// Writes the sums and the watermark after them within the caller's transaction, and begins
    /// anew. Answers how many receipts were added: none where the watermark moved or a receipt
    /// changed since they were added up, or where they are more than was asked for.
    pub(in crate::sqlite) fn write(
        &mut self,
        connection: &Connection,
        keep: SeriesKeep,
    ) -> rusqlite::Result<u64> {
        let step = self.step.take();
        let Some(step) =
            step.filter(|step| (1..=u64::from(self.room)).contains(&step.sums.count()))
        else {
            return Ok(0);
        };
        let count = step.sums.count();
        let after = (step.last, step.state.back);
        let step = SeriesStep::new(&step.state, after, step.sums, keep);
        let is_written = step::write(connection, &step)?;
        Ok(if is_written { count } else { 0 })
    }
}
