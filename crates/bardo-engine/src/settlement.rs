//! Messages to the settler.

use tokio::sync::oneshot;

use crate::record::RequestRecord;

/// A message to the settler.
pub(crate) enum Message {
    /// This is over; settle it.
    Settle(Box<RequestRecord>),
    /// Tell when nothing is left.
    Drained(oneshot::Sender<()>),
}
