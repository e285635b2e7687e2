//! The requests, models and services that inputs meet.

use std::sync::{Arc, LazyLock};

use bardo_types::chat::{ChatRequest, OutputFormat, ReasoningRequest, Tool};
use bardo_types::json::RawJson;
use bardo_types::model::{
    Capabilities, Dialect, Effort, ReasoningFormat, Service, ThinkingModes, ToolFormat,
};
use bardo_wire::codec::{DecodeContext, ReplyContext, Target};

use crate::Knobs;

/// Dialects that callers speak.
pub(crate) const CLIENTS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Completions,
];

/// Dialects that upstreams speak.
pub(crate) const UPSTREAMS: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Responses,
    Dialect::Gemini,
];

const MODELS: [&str; 3] = ["gpt-5.5", "claude-opus-5-5", "gemini-3-pro"];

/// A target: service, model name and capabilities as the third knob says.
pub(crate) fn target(knobs: Knobs) -> Target {
    let knob = usize::from(knobs.0[2]);
    let sets = &*CAPABILITIES;
    Target {
        model: MODELS[knob % MODELS.len()].to_owned(),
        service: Service::ALL[knob % Service::ALL.len()],
        capabilities: sets[knob / Service::ALL.len() % sets.len()].clone(),
    }
}

static CAPABILITIES: LazyLock<Vec<Arc<Capabilities>>> = LazyLock::new(|| {
    let open = Capabilities::default();
    let all = [
        open.clone(),
        nothing(),
        newest_claude(),
        Capabilities {
            thinking: ThinkingModes {
                budget: true,
                disabled: true,
                ..ThinkingModes::default()
            },
            cache_marks: true,
            ..open.clone()
        },
        Capabilities {
            efforts: vec![Effort::Minimal, Effort::Low, Effort::Medium, Effort::High],
            sampling: false,
            max_completion_tokens: true,
            max_output_tokens: 4_096,
            ..open.clone()
        },
        Capabilities {
            tool_format: ToolFormat::Hermes,
            reasoning_format: ReasoningFormat::ThinkTags,
            ..open.clone()
        },
        Capabilities {
            tool_format: ToolFormat::QwenXml,
            ..open.clone()
        },
        Capabilities {
            tool_format: ToolFormat::Anthropic,
            ..open.clone()
        },
        Capabilities {
            tool_format: ToolFormat::Json,
            ..open
        },
    ];
    all.into_iter().map(Arc::new).collect()
});

fn nothing() -> Capabilities {
    Capabilities {
        sampling: false,
        forced_tool_choice: false,
        prefill: false,
        images: false,
        documents: false,
        audio: false,
        structured_output: false,
        tool_format: ToolFormat::Unsupported,
        ..Capabilities::default()
    }
}

fn newest_claude() -> Capabilities {
    Capabilities {
        thinking: ThinkingModes {
            adaptive: true,
            disabled: true,
            between_tools: true,
            by_default: true,
            budget: false,
        },
        efforts: vec![Effort::Low, Effort::Medium, Effort::High, Effort::Max],
        sampling: false,
        forced_tool_choice: false,
        mid_system: true,
        bound_thinking: true,
        prefill: false,
        cache_marks: true,
        ..Capabilities::default()
    }
}

/// What an answer belongs to: one of the requests below, in the caller's `dialect`.
pub(crate) fn decode_context(knobs: Knobs, dialect: Dialect) -> DecodeContext {
    let target = target(knobs);
    let requests = &*REQUESTS;
    let place = usize::from(knobs.0[1] >> 4) % REQUESTS_PER_DIALECT;
    let first = CLIENTS
        .iter()
        .position(|client| *client == dialect)
        .unwrap_or(0)
        * REQUESTS_PER_DIALECT;
    DecodeContext {
        target,
        request: requests[first + place].clone(),
        renamed_tools: vec![("get_weather_1".to_owned(), "get weather".to_owned())],
        id_seed: "seed".to_owned(),
    }
}

/// How the caller of that request is answered.
pub(crate) fn reply_context(context: &DecodeContext) -> ReplyContext {
    ReplyContext {
        request: context.request.clone(),
        id_seed: "seed".to_owned(),
        created: 1_790_000_000,
        model: "model".to_owned(),
        original: None,
    }
}

const REQUESTS_PER_DIALECT: usize = 4;

static REQUESTS: LazyLock<Vec<Arc<ChatRequest>>> = LazyLock::new(|| {
    CLIENTS
        .into_iter()
        .flat_map(|dialect| {
            let plain = ChatRequest::new(dialect, "model");
            let streamed = ChatRequest {
                stream: true,
                include_usage: true,
                stop: vec!["STOP".to_owned()],
                output: OutputFormat::JsonObject,
                ..plain.clone()
            };
            let agent = ChatRequest {
                tools: tools(),
                n: Some(2),
                ..streamed.clone()
            };
            let thinking = ChatRequest {
                tools: tools(),
                reasoning: ReasoningRequest {
                    effort: Some(Effort::High),
                    summary: Some("auto".to_owned()),
                    encrypted: true,
                    ..ReasoningRequest::default()
                },
                ..plain.clone()
            };
            [plain, streamed, agent, thinking]
        })
        .map(Arc::new)
        .collect()
});

/// A function whose name no provider takes, one with typed arguments, and a tool of free text.
pub(crate) fn tools() -> Vec<Tool> {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"deep":{"type":"object"},"list":{"type":"array"}}}"#;
    let function = |name: &str| Tool::Function {
        name: name.to_owned(),
        description: Some("Tells something.".to_owned()),
        schema: RawJson::parse(schema).ok(),
        strict: None,
        cache: None,
        extra: Vec::new(),
    };
    vec![
        function("get weather"),
        function("get_weather"),
        Tool::Custom {
            name: "apply_patch".to_owned(),
            description: None,
            format: None,
        },
    ]
}
