//! Members of a receipt that series use beyond its columns.

use std::borrow::Cow;
use std::sync::Arc;

use bardo_types::money::MicroUsd;

/// Members of a receipt as whoever writes it knows them, so that nobody reads them from its text.
/// They say the same as the text.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiptDetails {
    /// Part of the answer cache: `hash`, `semantic`, `miss` or `bypass`.
    pub layer: Cow<'static, str>,
    /// Id of the agent.
    pub golem: Option<Arc<str>>,
    /// Phase that the agent said it was in.
    pub phase: Option<&'static str>,
    /// How alive the agent said that it was.
    pub vitality: Option<f64>,
    /// How long the agent said that its money lasts.
    pub sustainability: Option<f64>,
    /// Class of the last attempt that failed.
    pub class: Option<&'static str>,
    /// Attempts at backends.
    pub attempts: u64,
    /// Those that failed.
    pub failed_attempts: u64,
    /// Tokens of the answer that the model thought with.
    pub reasoning_tokens: u64,
    /// Whether an account paid.
    pub is_prepaid: bool,
    /// Addition to the cost of the backend.
    pub spread: MicroUsd,
    /// Amount that could not be charged.
    pub shortfall: MicroUsd,
    /// Time of the whole request, in milliseconds.
    pub total_ms: u64,
    /// Time to the first content of the answer, in milliseconds; `None` where there was none.
    pub first_content_ms: Option<u64>,
}
