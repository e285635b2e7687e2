//! How hard a model is to think, where a message says it.

use bardo_types::json::RawJson;
use bardo_types::model::Effort;

use crate::json::{Str, wire_object};

wire_object! {
    /// The member `output_config` of a message.
    struct OutputConfig<'a> {
        "effort" => effort: Option<Str<'a>>,
        ..
    }
}

/// The effort within an `output_config`.
pub(crate) fn of_config(config: &RawJson) -> Option<Effort> {
    Effort::parse(&config.read::<OutputConfig<'_>>().ok()?.effort?)
}
