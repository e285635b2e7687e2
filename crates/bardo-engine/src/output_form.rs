//! The form that a request asks of its answer, and whether a complete answer has it.

use bardo_profile::{SchemaCheck, SchemaMode};
use bardo_types::chat::{OutputFormat, StreamEvent};
use bardo_types::profile::ResponseSchema;
use serde_json::{Map, Value};

/// Whether an answer has the form that its request asks for: the JSON alone, and where a schema is given,
/// JSON that satisfies it. Text has any form.
pub(crate) fn has_form(format: &OutputFormat, events: &[StreamEvent]) -> bool {
    match format {
        OutputFormat::Text => true,
        OutputFormat::JsonObject => {
            serde_json::from_str::<Map<String, Value>>(&text_of(events)).is_ok()
        }
        OutputFormat::JsonSchema { schema, .. } => {
            let schema = ResponseSchema {
                name: String::new(),
                schema: schema.clone(),
                strict: false,
            };
            let mode = SchemaMode::Native;
            SchemaCheck { schema, mode }.check(&text_of(events)).is_ok()
        }
    }
}

fn text_of(events: &[StreamEvent]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        StreamEvent::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
