//! The end of a stream that succeeded: its figures and its terminal event.

use bardo_types::receipt::Receipt;
use bardo_wire::receipt;

use crate::head::Figures;
use crate::usage_figures::UsageFigures;

/// The figures that are written at the end of a stream.
pub(super) struct Closing {
    /// The comment before the terminal event, as complete lines; empty where there is none.
    pub(super) comment: String,
    /// The figures for the final usage, as JSON, where the caller wants them there.
    pub(super) in_usage: Option<String>,
    /// The final figures; `None` where the books have not confirmed them.
    pub(super) figures: Option<Figures>,
}

impl Closing {
    /// The end of a stream that is settled.
    pub(super) fn settled(receipt: &Receipt, placed: UsageFigures) -> Self {
        Self {
            comment: receipt::comment(receipt, false),
            in_usage: (placed == UsageFigures::Added).then(|| receipt::figures(receipt)),
            figures: Some(Figures::of(receipt)),
        }
    }

    /// The end of a stream whose books did not answer in time.
    pub(super) fn pending(receipt: &Receipt) -> Self {
        Self {
            comment: receipt::comment(receipt, true),
            in_usage: None,
            figures: None,
        }
    }

    /// The end of bytes that hold their closing comment already.
    pub(super) fn replayed(figures: Option<Figures>) -> Self {
        Self {
            comment: String::new(),
            in_usage: None,
            figures,
        }
    }
}
