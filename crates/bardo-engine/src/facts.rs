//! Facts of a request for the choice of its backend: cheap, local, no model.

use bardo_router::{Facts, Kind, Shape};
use bardo_types::chat::{ChatRequest, OutputFormat, Part, Role, Tool};
use bardo_types::feature::{Feature, FeatureSet};
use bardo_types::model::Effort;

use crate::request_size::Size;

/// Facts of a request in neutral form.
pub(crate) fn facts(request: &ChatRequest, size: &Size, stream: bool) -> Facts {
    let uses = FeatureSet::EMPTY
        .with_if(!request.tools.is_empty(), Feature::Tools)
        .with_if(
            shows(request, |part| matches!(part, Part::Image(_))),
            Feature::Vision,
        )
        .with_if(
            shows(request, |part| matches!(part, Part::Document(_))),
            Feature::Documents,
        )
        .with_if(
            shows(request, |part| matches!(part, Part::Audio(_))),
            Feature::Audio,
        )
        .with_if(
            matches!(request.output, OutputFormat::JsonSchema { .. }),
            Feature::StructuredOutputs,
        )
        .with_if(searches(request), Feature::WebSearch)
        .with_if(request.prediction.is_some(), Feature::PredictedOutputs);
    Facts {
        dialect: request.dialect,
        uses,
        prompt_tokens: size.prompt,
        max_output_tokens: size.output_of_all(),
        several: request.n.is_some_and(|n| n > 1),
        effort: wanted_effort(request),
        embeddings: false,
        turns: u32::try_from(request.turns().len()).unwrap_or(u32::MAX),
        stream,
        kind: Kind::of(&shape(request)),
    }
}

/// Whether the caller's own request asks the provider to search the web.
fn searches(request: &ChatRequest) -> bool {
    let is_search = |tool: &Tool| match tool {
        Tool::Server { kind, .. } => kind.starts_with("web_search"),
        Tool::Function { .. } | Tool::Custom { .. } => false,
    };
    request.web_search == Some(true) || request.tools.iter().any(is_search)
}

/// Reasoning effort that the caller names, from `high` on.
fn wanted_effort(request: &ChatRequest) -> Option<Effort> {
    let effort = request.reasoning.effort;
    effort.filter(|effort| *effort >= Effort::High)
}

/// Whether the caller itself shows such a part; what tools return is not its doing.
fn shows(request: &ChatRequest, wanted: impl Fn(&Part) -> bool) -> bool {
    request
        .messages
        .iter()
        .filter(|message| message.role == Role::User)
        .any(|message| message.parts.iter().any(&wanted))
}

/// Counts text, code and tools.
fn shape(request: &ChatRequest) -> Shape {
    let mut shape = Shape {
        tools: count(request.tools.len()),
        ..Shape::default()
    };
    for message in request.turns() {
        let mut said = 0;
        for part in &message.parts {
            match part {
                Part::Text(text) => {
                    said += text.text.len() as u64;
                    shape.code_chars += Kind::code_chars(&text.text);
                }
                Part::ToolResult(_) => shape.tool_results = shape.tool_results.saturating_add(1),
                _ => {}
            }
        }
        shape.prompt_chars += said;
        if message.role == Role::User && said > 0 {
            shape.last_chars = said;
            let texts = message.parts.iter();
            shape.asks = texts
                .filter_map(|part| match part {
                    Part::Text(text) => Some(text.text.as_str()),
                    _ => None,
                })
                .next_back()
                .is_some_and(Kind::asks);
        }
    }
    shape
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
