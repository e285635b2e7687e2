//! What could be found in an error body, whatever its shape.

/// The parts of an error body before it is judged.
#[derive(Default)]
pub(crate) struct ErrorDetails {
    /// The words, empty where there are none.
    pub(crate) message: String,
    pub(crate) code: Option<String>,
    /// The broader `type`, where there is one beside the code.
    pub(crate) kind: Option<String>,
    /// The member of the request that is at fault.
    pub(crate) param: Option<String>,
    /// A status in the body, which may be another than that of the answer.
    pub(crate) status: Option<u16>,
    pub(crate) retry_after_ms: Option<u64>,
}

impl ErrorDetails {
    /// Nothing but words.
    pub(crate) fn of_message(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }
}
