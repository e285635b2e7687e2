//! The request for a provider.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{
    CacheTtl, ChatRequest, MarkPlan, OutputFormat, Part, ToolChoice, Verbosity,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use crate::anthropic::conversation::{Conversation, write_blocks};
use crate::anthropic::tools::{SentTool, SentToolChoice};
use crate::anthropic::{conversation, sampling, schema, thinking, tools};
use crate::codec::{BadRequest, Encoded, Target};
use crate::json::{Object, object};
use crate::kit::size;
use crate::kit::tool_names::{NameRule, ToolNames};
use crate::quirks::Quirks;

/// Limit of the answer where neither the caller nor the catalog names one.
const MAX_TOKENS_UNKNOWN: u64 = 32_000;

/// Members of a count request that only the beta knows and that still change the count.
const COUNTED_EXTRA: [&str; 2] = ["context_management", "mcp_servers"];

/// The endpoint that the request is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::anthropic) enum Purpose {
    Answer,
    Count,
}

/// Writes a request to `/v1/messages`.
///
/// # Errors
/// When something that the caller demands cannot be had: several answers, sound, a part that the
/// model cannot read.
pub fn encode_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    encode(request, target, Purpose::Answer, MarkPlan::USUAL)
}

/// Writes a request with the cache marks of a plan, where the caller sets none.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_marked(
    request: &ChatRequest,
    target: &Target,
    marks: MarkPlan,
) -> Result<Encoded, BadRequest> {
    encode(request, target, Purpose::Answer, marks)
}

pub(in crate::anthropic) fn encode(
    request: &ChatRequest,
    target: &Target,
    purpose: Purpose,
    marks: MarkPlan,
) -> Result<Encoded, BadRequest> {
    refuse_impossible(request)?;
    let mut lost = Losses::default();
    let names = ToolNames::plan(request, NameRule::of(Dialect::Anthropic));
    let format = AnswerFormat::plan(request, target, &mut lost);
    let mut talk = conversation::build(
        request,
        &target.capabilities,
        &names,
        format.schema.is_none(),
        &mut lost,
    )?;
    let max_tokens = max_tokens(request, target, &mut lost);
    let mut thinking = thinking::plan(
        &thinking::ThinkingContext {
            reasoning: &request.reasoning,
            effort: talk.effort.or(request.reasoning.effort),
            native: request.dialect == Dialect::Anthropic,
            max_tokens,
            loop_lost_thinking: talk.loop_lost_thinking(),
        },
        &target.capabilities,
        &mut lost,
    );
    if request.dialect == Dialect::Anthropic && has_extra(request, "thinking.type") {
        // A mode that is not known here is the caller's to spell.
        thinking.mode = None;
    }
    let mut tools = tool_definitions(request, target, &names, &talk, &mut lost);
    let choice = if tools.is_empty() {
        SentToolChoice::default()
    } else {
        let may_force = target.capabilities.forced_tool_choice && !thinking.is_manual();
        SentToolChoice::plan(request, &names, may_force, &mut lost)
    };
    cache_marks(request, target, marks, &mut talk, &mut tools, &mut lost);
    let bound = target.capabilities.bound_thinking;
    for instruction in [&choice.instruction, &format.instruction]
        .into_iter()
        .flatten()
    {
        talk.instruct(instruction.clone(), bound);
    }
    let plan = RequestPlan {
        request,
        target,
        purpose,
        talk,
        tools,
        choice,
        thinking,
        format,
        max_tokens,
    };
    let body = plan.write(&mut lost);
    Ok(Encoded {
        body,
        degraded: lost.into_list(),
        renamed_tools: names.into_renamed(),
    })
}

fn refuse_impossible(request: &ChatRequest) -> Result<(), BadRequest> {
    if request.n.is_some_and(|n| n > 1) {
        return Err(BadRequest::new(
            "n",
            "n: this provider gives one answer per request; send n = 1, or send several requests",
        ));
    }
    let wants_sound = request
        .modalities
        .as_ref()
        .is_some_and(|kinds| kinds.as_str().contains("\"audio\""));
    if wants_sound {
        return Err(BadRequest::new(
            "modalities",
            "modalities: this provider answers only in text",
        ));
    }
    Ok(())
}

fn has_extra(request: &ChatRequest, prefix: &str) -> bool {
    request
        .extra
        .iter()
        .any(|(name, _)| name.starts_with(prefix))
}

fn max_tokens(request: &ChatRequest, target: &Target, lost: &mut Losses) -> u64 {
    let most = target.capabilities.max_output_tokens;
    match request.max_output_tokens {
        Some(wanted) if most > 0 && wanted > most => {
            lost.lose(
                "max_tokens",
                "the limit is above the output limit of the model",
            );
            most
        }
        Some(wanted) => wanted,
        None if most > 0 => most,
        None => MAX_TOKENS_UNKNOWN,
    }
}

/// The tools to send. A limited choice is kept by sending no others, unless the set of tools is
/// bound to signed thinking.
fn tool_definitions<'a>(
    request: &'a ChatRequest,
    target: &Target,
    names: &'a ToolNames,
    talk: &Conversation<'_>,
    lost: &mut Losses,
) -> Vec<SentTool<'a>> {
    let mut only = match &request.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) => Some(names.as_slice()),
        _ => None,
    };
    if only.is_some() && target.capabilities.bound_thinking && talk.is_signed() {
        lost.lose(
            "allowed_tools",
            "signed thinking is valid only with the whole set of tools, so all tools were sent",
        );
        only = None;
    }
    tools::definitions(request, &target.capabilities, names, only, lost)
}

/// Keeps the caller's cache marks within the limit. Where there are none, marks by the plan what
/// reaches the model's minimum.
fn cache_marks(
    request: &ChatRequest,
    target: &Target,
    plan: MarkPlan,
    talk: &mut Conversation<'_>,
    tools: &mut [SentTool<'_>],
    lost: &mut Losses,
) {
    let of_tools = tools.iter().filter(|tool| tool.is_marked()).count();
    let automatic = usize::from(request.cache.automatic.is_some());
    // A caller of this dialect who sets no marks wants none.
    if request.dialect != Dialect::Anthropic
        && target.capabilities.cache_marks
        && talk.marks() + of_tools + automatic == 0
    {
        let caps = &*target.capabilities;
        talk.mark_automatically(plan, request.system_tokens(), caps);
        let marks_tools = caps.caches(request.tools_tokens());
        let last = tools.iter_mut().rev().find_map(SentTool::cache);
        if let Some((cache, mark)) = last
            .zip(plan.stable.map(CacheTtl::mark))
            .filter(|_| marks_tools)
        {
            *cache = Some(Cow::Owned(mark));
        }
    } else {
        let excess = talk.limit_marks(of_tools + automatic, lost);
        // The last one covers those before it.
        let marks = tools.iter_mut().filter_map(SentTool::cache);
        for mark in marks.filter(|mark| mark.is_some()).take(excess) {
            *mark = None;
        }
    }
    if request.cache.options.is_some() {
        lost.lose(
            "prompt_cache_options",
            "this provider uses cache marks instead of options",
        );
    }
}

/// How the shape of the answer is asked for.
#[derive(Default)]
struct AnswerFormat<'a> {
    schema: Option<Cow<'a, RawJson>>,
    instruction: Option<String>,
}

impl<'a> AnswerFormat<'a> {
    fn plan(request: &'a ChatRequest, target: &Target, lost: &mut Losses) -> Self {
        match &request.output {
            OutputFormat::Text => Self::default(),
            OutputFormat::JsonObject => {
                lost.lose(
                    "json_object",
                    "JSON without a schema cannot be enforced; the model was instructed",
                );
                Self {
                    instruction: Some(
                        "Answer with one valid JSON object and nothing else: no code fence, no words around it."
                            .to_owned(),
                    ),
                    ..Self::default()
                }
            }
            OutputFormat::JsonSchema { schema, .. } if target.capabilities.structured_output => {
                let limited = request.dialect != Dialect::Anthropic;
                let (schema, turned) = schema::for_output(schema, limited);
                if turned {
                    lost.lose(
                        "schema_constraints",
                        "constraints that are not enforced were added to the descriptions of the schema",
                    );
                }
                let cites = |part: &Part| match part {
                    Part::Document(document) => document.citations,
                    Part::SearchResult(result) => result.citations,
                    _ => false,
                };
                if request.any_part(cites) {
                    lost.lose(
                        "citations",
                        "structured output and citations cannot be combined",
                    );
                }
                Self {
                    schema: Some(schema),
                    instruction: None,
                }
            }
            OutputFormat::JsonSchema { schema, .. } => {
                lost.lose(
                    "structured_output",
                    "the model does not support a schema for its answer; it was instructed",
                );
                Self {
                    schema: None,
                    instruction: Some(format!(
                        "Answer with one valid JSON value and nothing else: no code fence, no words around it. It must satisfy this JSON schema:\n{}",
                        schema.as_str()
                    )),
                }
            }
        }
    }
}

struct RequestPlan<'a> {
    request: &'a ChatRequest,
    target: &'a Target,
    purpose: Purpose,
    talk: Conversation<'a>,
    tools: Vec<SentTool<'a>>,
    choice: SentToolChoice<'a>,
    thinking: thinking::ThinkingPlan,
    format: AnswerFormat<'a>,
    max_tokens: u64,
}

impl RequestPlan<'_> {
    fn write(&self, lost: &mut Losses) -> Vec<u8> {
        let mut out = Vec::with_capacity(size::of_request(self.request));
        object(&mut out, |body| {
            body.set("model", &self.target.model);
            if self.purpose == Purpose::Answer {
                body.set("max_tokens", self.max_tokens);
            }
            if !self.talk.system.is_empty() {
                write_blocks(&mut body.array("system"), &self.talk.system);
            }
            self.talk.write_turns(&mut body.array("messages"));
            if !self.tools.is_empty() {
                tools::write(&mut body.array("tools"), &self.tools);
            }
            if self.choice.is_some() {
                body.nest("tool_choice", |choice| {
                    self.choice.write(choice);
                    self.extra_of("tool_choice.", choice);
                });
            }
            if self.writes_thinking() {
                body.nest("thinking", |thinking| {
                    self.thinking.write(thinking);
                    self.extra_of("thinking.", thinking);
                });
            }
            self.output_config(body);
            body.set_some("cache_control", self.request.cache.automatic.as_ref());
            if self.purpose == Purpose::Answer {
                self.settings(body, lost);
            }
            self.extra(body, lost);
        });
        out
    }

    fn is_native(&self) -> bool {
        self.request.dialect == Dialect::Anthropic
    }

    fn has_extra(&self, prefix: &str) -> bool {
        self.is_native() && has_extra(self.request, prefix)
    }

    fn writes_thinking(&self) -> bool {
        self.thinking.mode.is_some() || self.has_extra("thinking.type")
    }

    /// Puts members of a member back in their place.
    fn extra_of(&self, prefix: &str, object: &mut Object<'_>) {
        if self.is_native() {
            for (name, raw) in &self.request.extra {
                if let Some(name) = name.strip_prefix(prefix) {
                    object.foreign(name, raw.as_str());
                }
            }
        }
    }

    fn output_config(&self, body: &mut Object<'_>) {
        // An effort that only a newer version knows was asked for by the caller; it stands alone.
        let effort = self
            .thinking
            .effort
            .filter(|_| !self.has_extra("output_config.effort"));
        if effort.is_none() && self.format.schema.is_none() && !self.has_extra("output_config.") {
            return;
        }
        body.nest("output_config", |config| {
            config.set_some("effort", effort.map(|effort| effort.as_str()));
            if let Some(schema) = &self.format.schema {
                config.nest("format", |format| {
                    format.set("type", "json_schema");
                    format.raw("schema", schema.as_str());
                });
            }
            self.extra_of("output_config.", config);
        });
    }

    /// Everything that does not change what the prompt is.
    fn settings(&self, body: &mut Object<'_>, lost: &mut Losses) {
        let request = self.request;
        let sampling = sampling::plan(request, self.target, self.thinking.is_on(), lost);
        body.set_some("temperature", sampling.temperature.as_ref());
        body.set_some("top_p", sampling.top_p.as_ref());
        body.set_some("top_k", sampling.top_k.as_ref());
        let stop: Vec<&String> = request
            .stop
            .iter()
            .filter(|text| !text.trim().is_empty())
            .collect();
        if stop.len() < request.stop.len() {
            lost.lose(
                "stop",
                "stop texts that have only white space are not accepted",
            );
        }
        if !stop.is_empty() {
            body.set("stop_sequences", &stop);
        }
        if request.end_user.is_some() || self.has_extra("metadata.") {
            body.nest("metadata", |metadata| {
                metadata.set_some("user_id", request.end_user.as_ref());
                self.extra_of("metadata.", metadata);
            });
        }
        let tier = match (request.service_tier.as_deref(), self.is_native()) {
            (tier, true) => tier,
            (Some("auto"), false) => Some("auto"),
            (Some("default"), false) => Some("standard_only"),
            (Some(_), false) => {
                lost.lose("service_tier", "this provider does not have this tier");
                None
            }
            (None, false) => None,
        };
        body.set_some("service_tier", tier);
        if request.stream {
            body.set("stream", true);
        }
        self.note_unknown(lost);
    }

    /// Notes what this dialect has no word for.
    fn note_unknown(&self, lost: &mut Losses) {
        let request = self.request;
        let unknown = [
            (request.logprobs.is_some(), "logprobs"),
            (
                request
                    .verbosity
                    .is_some_and(|verbosity| verbosity != Verbosity::Medium),
                "verbosity",
            ),
            (request.prediction.is_some(), "prediction"),
            (request.metadata.is_some(), "metadata"),
            (request.store == Some(true), "store"),
            (request.web_search == Some(true), "web_search"),
        ];
        for (is_set, name) in unknown {
            if is_set {
                lost.lose(name, "the Messages API does not have this member");
            }
        }
    }

    /// Members without a neutral meaning: this dialect's own go back, others are named as lost.
    fn extra(&self, body: &mut Object<'_>, lost: &mut Losses) {
        let writes_thinking = self.writes_thinking();
        let own = Quirks::of(self.target.service).messages_members;
        for (name, raw) in &self.request.extra {
            let known = self.is_native() || own.contains(&name.as_str());
            let nested = name.split_once('.').map(|(outer, _)| outer);
            match nested {
                Some("output_config" | "metadata") if self.is_native() => {}
                Some("thinking") if self.is_native() && writes_thinking => {}
                Some("tool_choice") if self.is_native() && self.choice.is_some() => {}
                None if known
                    && (self.purpose == Purpose::Answer
                        || COUNTED_EXTRA.contains(&name.as_str())) =>
                {
                    body.foreign(name, raw.as_str());
                }
                _ if self.purpose == Purpose::Count => {}
                _ => lost.lose_field(name, "the provider's API does not have this member"),
            }
        }
    }
}
