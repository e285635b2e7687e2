//! Receipts that the writer adds up while it writes them, so that nobody has to read them again.

use bardo_ledger::ReceiptRecord;
use bardo_ledger::series::{ReceiptColumns, RolledUp, SeriesKeep};
use rusqlite::Connection;

use super::step::{self, SeriesState, SeriesStep};
use super::sums::StepSums;

/// Largest number of receipts that are added up before they are written.
const ROOM: u64 = 65_536;

/// Sums of receipts that follow the watermark without a gap. They are in memory alone: what is lost
/// of them, a step reads from the tables.
#[derive(Default)]
pub(in crate::sqlite) struct WrittenSums {
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
        if step.last + 1 != no || step.sums.is_full(ROOM) {
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

    /// Whether there are sums to write.
    pub(in crate::sqlite) fn is_some(&self) -> bool {
        let step = self.step.as_ref();
        step.is_some_and(|step| step.sums.count() > 0)
    }

    /// Writes the sums and the watermark after them within the caller's transaction, and begins
    /// anew. Adds nothing where the watermark moved or a receipt changed since they were added up.
    /// There are more where receipts have to be read: no sums had them, they changed, or they are
    /// from before there were series.
    pub(in crate::sqlite) fn write(
        &mut self,
        connection: &Connection,
        keep: SeriesKeep,
    ) -> rusqlite::Result<RolledUp> {
        let unread = RolledUp {
            receipts: 0,
            has_more: true,
        };
        let step = self.step.take();
        let Some(written) = step.filter(|step| step.sums.count() > 0) else {
            return Ok(unread);
        };
        let (count, back) = (written.sums.count(), written.state.back);
        let is_closed = written.is_closed;
        let step = SeriesStep::new(&written.state, (written.last, back), written.sums, keep);
        if !step::write(connection, &step)? {
            return Ok(unread);
        }
        Ok(RolledUp {
            receipts: count,
            has_more: is_closed || back > 0 || step::has_changes(connection)?,
        })
    }
}
