//! What a request shows of itself, for choosing who answers it: cheap, local, no model.

use bardo_router::{Facts, Kind};
use bardo_types::chat::{ChatRequest, OutputFormat, Part, Role};
use bardo_types::feature::{Feature, FeatureSet};

use crate::size::Size;

/// Of a request in neutral form.
pub(crate) fn facts(request: &ChatRequest, size: &Size, stream: bool) -> Facts {
    let uses = FeatureSet::EMPTY
        .with_if(!request.tools.is_empty(), Feature::Tools)
        .with_if(shows(request, |part| matches!(part, Part::Image(_))), Feature::Vision)
        .with_if(
            shows(request, |part| matches!(part, Part::Document(_))),
            Feature::Documents,
        )
        .with_if(shows(request, |part| matches!(part, Part::Audio(_))), Feature::Audio)
        .with_if(
            matches!(request.output, OutputFormat::JsonSchema { .. }),
            Feature::StructuredOutputs,
        );
    Facts {
        dialect: request.dialect,
        uses,
        prompt_tokens: size.prompt,
        max_output_tokens: size.output_of_all(),
        turns: u32::try_from(request.turns().len()).unwrap_or(u32::MAX),
        stream,
        kind: Kind::default(),
    }
}

/// Whether the caller itself shows such a part; what tools return is not its doing.
fn shows(request: &ChatRequest, wanted: impl Fn(&Part) -> bool) -> bool {
    request
        .messages
        .iter()
        .filter(|message| message.role == Role::User)
        .any(|message| message.parts.iter().any(&wanted))
}
