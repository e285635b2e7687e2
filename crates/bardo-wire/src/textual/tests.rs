mod calls;
mod filter;
mod lower;
mod think;

use std::sync::Arc;

use bardo_types::chat::{ChatRequest, Tool};
use bardo_types::json::RawJson;
use bardo_types::model::{
    Capabilities, Dialect, ReasoningFormat, Service, ThinkingModes, ToolFormat,
};
use proptest::prelude::*;

use crate::codec::{DecodeContext, Target};

fn function(name: &str, schema: &str) -> Tool {
    Tool::Function {
        name: name.into(),
        description: Some(format!("Does {name}")),
        schema: RawJson::parse(schema).ok(),
        strict: None,
        cache: None,
        extra: Vec::new(),
    }
}

/// A request with a tool that has parameters of every kind, and a custom one.
fn request() -> ChatRequest {
    let mut request = ChatRequest::new(Dialect::Chat, "qwen");
    request.tools = vec![
        function(
            "weather",
            r##"{"type":"object","properties":{
                "city":{"type":"string"},
                "days":{"type":"integer"},
                "scale":{"type":"number"},
                "hourly":{"type":"boolean"},
                "tags":{"type":"array","items":{"type":"string"}},
                "place":{"type":"object"},
                "note":{"type":["string","null"]},
                "either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
                "pick":{"enum":["5","six"]},
                "point":{"$ref":"#/$defs/point"}},
              "$defs":{"point":{"type":"object"}}}"##,
        ),
        Tool::Custom {
            name: "patch".into(),
            description: None,
            format: None,
        },
    ];
    request
}

fn context(
    request: ChatRequest,
    tool_format: ToolFormat,
    reasoning_format: ReasoningFormat,
) -> DecodeContext {
    DecodeContext {
        target: Target {
            model: "qwen".into(),
            service: Service::Local,
            capabilities: Arc::new(Capabilities {
                tool_format,
                reasoning_format,
                thinking: ThinkingModes {
                    disabled: true,
                    by_default: reasoning_format == ReasoningFormat::ThinkTags,
                    ..ThinkingModes::default()
                },
                ..Capabilities::default()
            }),
        },
        request: Arc::new(request),
        renamed_tools: Vec::new(),
        id_seed: "01J".into(),
    }
}

/// A text and places to cut it.
fn cut_text(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    (
        proptest::collection::vec(proptest::sample::select(texts), 0..8),
        proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    )
        .prop_map(|(fragments, cuts)| pieces(&fragments.concat(), &cuts))
}

fn pieces(text: &str, cuts: &[proptest::sample::Index]) -> Vec<String> {
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let mut places: Vec<usize> = match places.len() {
        0 => Vec::new(),
        count => cuts.iter().map(|cut| places[cut.index(count)]).collect(),
    };
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in places {
        pieces.push(text[from..place].to_owned());
        from = place;
    }
    pieces.push(text[from..].to_owned());
    pieces
}
