use bardo_types::Degradation;
use bardo_types::chat::ChatRequest;
use bardo_types::model::{Capabilities, Dialect, Effort, Service};
use bardo_types::profile::ResponseSchema;

use crate::wanted::Wanted;

/// The model that a request is set up for.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    /// What it can do.
    pub capabilities: &'a Capabilities,
    /// Who serves it.
    pub service: Service,
    /// The dialect that it is spoken to in.
    pub dialect: Dialect,
    /// Its name there.
    pub name: &'a str,
}

/// What was done to a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Applied {
    /// What was wanted and is not sent, or not as it was wanted.
    pub degraded: Vec<Degradation>,
    /// The temperature that is sent.
    pub temperature: Option<f64>,
    /// The effort that is sent.
    pub effort: Option<Effort>,
    /// How the answer is held to a schema, where it is by the profile.
    pub schema: Option<SchemaCheck>,
    /// The reasoning is wanted with the answer.
    pub visible_thinking: bool,
    /// Messages or tools were changed too, not the settings alone.
    pub touched_conversation: bool,
}

/// What an answer is checked against.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaCheck {
    /// The schema.
    pub schema: ResponseSchema,
    /// Who holds the model to it.
    pub mode: SchemaMode,
}

/// How a model is held to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// By the provider.
    Native,
    /// By a tool whose arguments are the answer.
    Tool,
    /// By words alone.
    Prompt,
}

impl SchemaMode {
    /// The name in receipts and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }
}

/// Sets up a request for a model.
pub fn apply(wanted: &Wanted, request: &mut ChatRequest, model: &Model<'_>) -> Applied {
    let _ = (wanted, request, model);
    Applied::default()
}
