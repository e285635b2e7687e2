//! `generationConfig`: how words are drawn, how hard to think, what shape the answer has.

use bardo_types::Losses;
use bardo_types::chat::{ChatRequest, OutputFormat, Part, ThinkingDisplay, ThinkingMode};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect, Effort};

use crate::gemini::request::encode::thinks;
use crate::json::written_object;
use crate::kit::effort;

/// Gemini takes no more stop texts than this.
const MAX_STOPS: usize = 5;
/// The largest budget that every model with budgets accepts.
const MAX_BUDGET: i64 = 24_576;
/// What a model thinks at least that cannot stop thinking.
const MIN_BUDGET: i64 = 128;

written_object! {
    #[derive(Default)]
    pub(in crate::gemini) struct GenerationConfig<'a> {
        "temperature" => temperature: Option<&'a RawJson>,
        "topP" => top_p: Option<&'a RawJson>,
        "topK" => top_k: Option<&'a RawJson>,
        "maxOutputTokens" => max_output_tokens: Option<u64>,
        "stopSequences" => stop_sequences: Vec<&'a str>,
        "candidateCount" => candidate_count: Option<u32>,
        "seed" => seed: Option<&'a RawJson>,
        "presencePenalty" => presence_penalty: Option<&'a RawJson>,
        "frequencyPenalty" => frequency_penalty: Option<&'a RawJson>,
        "responseLogprobs" => response_logprobs: Option<bool>,
        "logprobs" => logprobs: Option<u32>,
        "responseMimeType" => response_mime_type: Option<&'static str>,
        "responseJsonSchema" => response_json_schema: Option<&'a RawJson>,
        "thinkingConfig" => thinking_config: ThinkingConfig<'a>,
        "mediaResolution" => media_resolution: Option<&'static str>,
    }

    #[derive(Default)]
    pub(in crate::gemini) struct ThinkingConfig<'a> {
        "thinkingLevel" => thinking_level: Option<&'a str>,
        "thinkingBudget" => thinking_budget: Option<i64>,
        "includeThoughts" => include_thoughts: Option<bool>,
    }
}

pub(in crate::gemini) fn encode<'a>(
    request: &'a ChatRequest,
    capabilities: &Capabilities,
    notes: &mut Vec<String>,
    losses: &mut Losses,
) -> GenerationConfig<'a> {
    let mut config = GenerationConfig {
        thinking_config: thinking(request, capabilities, losses),
        media_resolution: resolution(request, losses),
        ..GenerationConfig::default()
    };
    sampling(request, capabilities, &mut config, losses);
    shape(request, capabilities, &mut config, notes, losses);
    config.max_output_tokens = request.max_output_tokens.map(|limit| {
        // More than the model can write means the same as all it can write.
        match capabilities.max_output_tokens {
            0 => limit,
            most => limit.min(most),
        }
    });
    let stops = request.stop.iter().filter(|stop| !stop.is_empty());
    config.stop_sequences = stops.map(String::as_str).collect();
    if config.stop_sequences.len() > MAX_STOPS {
        config.stop_sequences.truncate(MAX_STOPS);
        losses.lose(
            "stop",
            "Gemini accepts five stop texts; the others were removed",
        );
    }
    config.candidate_count = request.n.filter(|&n| n > 1);
    if let Some(wanted) = request.logprobs {
        config.response_logprobs = Some(true);
        config.logprobs = wanted.top.filter(|&top| top > 0).map(u32::from);
    }
    config
}

/// The resolution of all images, if the caller wants the same of each: Gemini has one setting for
/// them.
fn resolution(request: &ChatRequest, losses: &mut Losses) -> Option<&'static str> {
    let mut wanted = None;
    for message in &request.messages {
        if !agree(&message.parts, &mut wanted) {
            losses.lose(
                "image_detail",
                "Gemini has one resolution for all images; it chooses it itself",
            );
            return None;
        }
    }
    match wanted? {
        "low" => Some("MEDIA_RESOLUTION_LOW"),
        "high" | "original" => Some("MEDIA_RESOLUTION_HIGH"),
        _ => None,
    }
}

/// Whether all images want the same detail; `wanted` is that of the first.
fn agree<'a>(parts: &'a [Part], wanted: &mut Option<&'a str>) -> bool {
    parts.iter().all(|part| match part {
        Part::Image(image) => {
            let detail = image.detail.as_deref().unwrap_or("auto");
            *wanted.get_or_insert(detail) == detail
        }
        Part::ToolResult(result) => agree(&result.parts, wanted),
        _ => true,
    })
}

fn sampling<'a>(
    request: &'a ChatRequest,
    capabilities: &Capabilities,
    config: &mut GenerationConfig<'a>,
    losses: &mut Losses,
) {
    let sampling = &request.sampling;
    let adjustable = [
        (&sampling.temperature, "temperature"),
        (&sampling.top_p, "top_p"),
        (&sampling.top_k, "top_k"),
    ];
    if capabilities.sampling {
        config.temperature = sampling.temperature.as_ref();
        config.top_p = sampling.top_p.as_ref();
        config.top_k = sampling.top_k.as_ref();
    } else {
        for (value, name) in adjustable {
            if value.is_some() {
                losses.lose(name, "this model does not support sampling settings");
            }
        }
    }
    config.presence_penalty = sampling.presence_penalty.as_ref();
    config.frequency_penalty = sampling.frequency_penalty.as_ref();
    config.seed = sampling
        .seed
        .as_ref()
        .filter(|seed| seed.read::<i32>().is_ok());
    if sampling.seed.is_some() && config.seed.is_none() {
        losses.lose("seed", "Gemini accepts seeds of 32 bits");
    }
    let biased = |bias: &RawJson| !matches!(bias.as_str(), "{}" | "null");
    let absent = [
        (sampling.min_p.is_some(), "min_p"),
        (sampling.repetition_penalty.is_some(), "repetition_penalty"),
        (
            sampling.logit_bias.as_ref().is_some_and(biased),
            "logit_bias",
        ),
    ];
    for (asked, feature) in absent {
        if asked {
            losses.lose(feature, "Gemini does not have this setting; it was removed");
        }
    }
}

fn shape<'a>(
    request: &'a ChatRequest,
    capabilities: &Capabilities,
    config: &mut GenerationConfig<'a>,
    notes: &mut Vec<String>,
    losses: &mut Losses,
) {
    match &request.output {
        OutputFormat::Text => {}
        OutputFormat::JsonObject => config.response_mime_type = Some("application/json"),
        OutputFormat::JsonSchema { schema, .. } if capabilities.structured_output => {
            config.response_mime_type = Some("application/json");
            config.response_json_schema = Some(schema);
        }
        OutputFormat::JsonSchema { schema, .. } => {
            losses.lose(
                "structured_output",
                "this model does not support a schema for its answer; it was instructed",
            );
            notes.push(format!(
                "Answer with one JSON value and nothing else. It must satisfy this JSON schema:\n{}",
                schema.as_str()
            ));
        }
    }
}

/// What the request amounts to: off, a budget, an effort, or nothing said.
#[derive(PartialEq)]
enum RequestedThinking {
    Unsaid,
    Off,
    Budget(u64),
    Effort(Effort),
    Free,
}

fn wish(
    request: &ChatRequest,
    capabilities: &Capabilities,
    losses: &mut Losses,
) -> RequestedThinking {
    let effort = latest_effort(request).or(request.reasoning.effort);
    match (request.reasoning.mode, effort) {
        (Some(ThinkingMode::Disabled), _) | (_, Some(Effort::None)) => RequestedThinking::Off,
        (Some(ThinkingMode::Budget(0)), None) => RequestedThinking::Off,
        (Some(ThinkingMode::Budget(_)), Some(effort)) if !capabilities.thinking.budget => {
            RequestedThinking::Effort(effort)
        }
        (Some(ThinkingMode::Budget(tokens)), _) => RequestedThinking::Budget(tokens),
        (Some(ThinkingMode::BetweenTools), effort) => {
            losses.lose(
                "thinking_mode",
                "Gemini cannot limit thinking to the time between tool calls",
            );
            effort.map_or(RequestedThinking::Free, RequestedThinking::Effort)
        }
        (_, Some(effort)) => RequestedThinking::Effort(effort),
        (Some(ThinkingMode::Adaptive), None) => RequestedThinking::Free,
        (None, None) => RequestedThinking::Unsaid,
    }
}

/// The effort that the latest system message with settings asks for.
fn latest_effort(request: &ChatRequest) -> Option<Effort> {
    request
        .messages
        .iter()
        .rev()
        .filter_map(|message| message.output_config.as_ref())
        .find_map(effort::of_config)
}

fn thinking(
    request: &ChatRequest,
    capabilities: &Capabilities,
    losses: &mut Losses,
) -> ThinkingConfig<'static> {
    let wish = wish(request, capabilities, losses);
    if !thinks(capabilities) {
        if !matches!(wish, RequestedThinking::Unsaid | RequestedThinking::Off) {
            losses.lose("thinking", "this model does not think");
        }
        return ThinkingConfig::default();
    }
    let mut config = ThinkingConfig::default();
    if capabilities.thinking.budget {
        config.thinking_budget = budget(&wish, capabilities, losses);
    } else {
        config.thinking_level = level(&wish, capabilities, losses);
    }
    let shown = match (request.reasoning.display, &wish) {
        (Some(ThinkingDisplay::Omitted), _) | (_, RequestedThinking::Off) => false,
        (Some(ThinkingDisplay::Summarized), _) => true,
        (None, RequestedThinking::Unsaid) => match request.dialect {
            // These callers get thinking only when they ask for it.
            Dialect::Anthropic | Dialect::Completions => false,
            Dialect::Responses => request.reasoning.summary.is_some(),
            Dialect::Chat | Dialect::Gemini => true,
        },
        (None, _) => request.dialect != Dialect::Responses || request.reasoning.summary.is_some(),
    };
    config.include_thoughts = shown.then_some(true);
    config
}

fn budget(
    wish: &RequestedThinking,
    capabilities: &Capabilities,
    losses: &mut Losses,
) -> Option<i64> {
    match wish {
        RequestedThinking::Unsaid => None,
        RequestedThinking::Free => Some(-1),
        RequestedThinking::Off if capabilities.thinking.disabled => Some(0),
        RequestedThinking::Off => {
            losses.lose(
                "thinking_off",
                "this model cannot disable thinking; its lowest effort was set",
            );
            Some(MIN_BUDGET)
        }
        RequestedThinking::Budget(tokens) => {
            let wanted = i64::try_from(*tokens).unwrap_or(i64::MAX);
            if wanted > MAX_BUDGET {
                losses.lose(
                    "thinking_budget",
                    "the budget was reduced to the limit of Gemini",
                );
            }
            Some(wanted.min(MAX_BUDGET))
        }
        // The budgets that Google's own OpenAI endpoint gives these efforts.
        RequestedThinking::Effort(Effort::None) => Some(0),
        RequestedThinking::Effort(Effort::Minimal | Effort::Low) => Some(1_024),
        RequestedThinking::Effort(Effort::Medium) => Some(8_192),
        RequestedThinking::Effort(Effort::High | Effort::Xhigh | Effort::Max) => Some(MAX_BUDGET),
    }
}

fn level(
    wish: &RequestedThinking,
    capabilities: &Capabilities,
    losses: &mut Losses,
) -> Option<&'static str> {
    let wanted = match wish {
        RequestedThinking::Unsaid | RequestedThinking::Free => return None,
        RequestedThinking::Off => Effort::None,
        RequestedThinking::Budget(tokens) => {
            losses.lose(
                "thinking_budget",
                "this model has no thinking budget; the nearest level was set",
            );
            Effort::of_budget(*tokens)
        }
        RequestedThinking::Effort(effort) => *effort,
    };
    let Some(nearest) = capabilities.nearest_effort(wanted) else {
        losses.lose("effort", "this model has no settings for thinking");
        return None;
    };
    if wanted == Effort::None {
        losses.lose(
            "thinking_off",
            "this model cannot disable thinking; its lowest effort was set",
        );
    } else if nearest != wanted && !(wanted == Effort::Max && nearest == Effort::Xhigh) {
        losses.lose("effort", "the nearest level of this model was set");
    }
    Some(match nearest {
        Effort::None | Effort::Minimal => "MINIMAL",
        Effort::Low => "LOW",
        Effort::Medium => "MEDIUM",
        Effort::High => "HIGH",
        Effort::Xhigh | Effort::Max => "XHIGH",
    })
}
