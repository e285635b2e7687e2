//! What an answer that a profile holds to a schema comes to.

use bardo_profile::{Applied, SchemaCheck, SchemaMode};
use bardo_types::chat::{ChatResponse, Choice, Part, Text};

use crate::tab::Tab;

/// Takes note whether a streamed answer keeps its schema; it is out, so nobody is asked again.
pub(crate) fn note(check: &SchemaCheck, answer: &ChatResponse, tab: &mut Tab) {
    if !answer.choices.iter().any(Choice::has_tool_calls) {
        tab.schema(check, Some(check.check(&text(answer)).is_ok()), false);
    }
}

/// Where the model was told its schema in words, the JSON is handed over without the words around
/// it.
pub(crate) fn plain(applied: &Applied, response: &mut ChatResponse) {
    let told = applied.schema.as_ref();
    let Some(check) = told.filter(|check| check.mode == SchemaMode::Prompt) else {
        return;
    };
    for choice in &mut response.choices {
        let said: String = choice.parts.iter().filter_map(words).collect();
        let Some(json) = check.json(&said).filter(|json| json.len() < said.len()) else {
            continue;
        };
        if check.check(json).is_err() {
            continue;
        }
        choice.parts.retain(|part| words(part).is_none());
        choice.parts.push(Text::new(json).into());
    }
}

fn words(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    }
}

pub(crate) fn text(answer: &ChatResponse) -> String {
    let parts = answer
        .choices
        .iter()
        .take(1)
        .flat_map(|choice| &choice.parts);
    parts.filter_map(words).collect()
}
