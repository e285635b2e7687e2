//! The target for changes of settings in a relayed body.

use bardo_types::chat::{ChatRequest, OutputFormat, ThinkingMode, ToolChoice};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use bardo_wire::json::scan;
use bardo_wire::settings::settings_edits;
use bardo_wire::splice::splice;

use crate::{Knobs, world};

/// Members that no change of settings may touch.
const PROMPT: [&str; 6] = [
    "messages",
    "system",
    "instructions",
    "input",
    "tools",
    "functions",
];

/// A change of settings leaves the conversation as it was, byte for byte, and a body that is still
/// one; no change leaves everything.
pub fn settings(data: &[u8]) {
    let Some((knobs, payload)) = Knobs::part(data) else {
        return;
    };
    let dialect = knobs.pick(0, &[Dialect::Chat, Dialect::Anthropic, Dialect::Responses]);
    let Ok(top) = scan(payload) else { return };
    let target = world::target(knobs);
    if let Ok(edits) = settings_edits(dialect, &top, &target, |_| {}) {
        assert!(edits.is_empty(), "{edits:?}");
    }
    let Ok(edits) = settings_edits(dialect, &top, &target, |request| change(knobs, request)) else {
        return;
    };
    let body = splice(&top, &edits);
    let again = scan(&body).expect("an edited body is still a body");
    for key in PROMPT {
        assert_eq!(again.get(key), top.get(key), "{key}");
    }
}

fn change(knobs: Knobs, request: &mut ChatRequest) {
    let number = |text: &str| RawJson::parse(text).ok();
    let changes: [fn(&mut ChatRequest, Option<RawJson>); 8] = [
        |request, number| request.sampling.temperature = number,
        |request, _| request.reasoning.effort = Some(Effort::Low),
        |request, _| request.reasoning.mode = Some(ThinkingMode::Budget(2_048)),
        |request, _| request.output = OutputFormat::JsonObject,
        |request, _| request.max_output_tokens = Some(9),
        |request, _| request.tool_choice = Some(ToolChoice::Auto),
        |request, _| request.stop = vec!["x".to_owned()],
        |request, _| request.extra.clear(),
    ];
    for (place, change) in (0..).zip(changes) {
        if knobs.bit(1, place) {
            change(request, number("0.5"));
        }
    }
}
