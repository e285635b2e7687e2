//! The response object: what was asked is echoed, what came is added.

use bardo_types::chat::{ChatRequest, ChatResponse, Choice, Finish, Part, Role};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use bardo_types::usage::Usage;

use super::writer::ObjectWriter;
use super::{encode, output, tools, usage};
use crate::codec::ReplyContext;

/// How an answer stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Status<'a> {
    InProgress,
    Completed,
    Incomplete { reason: &'static str },
    Failed { code: &'a str, message: &'a str },
}

/// What stays the same in every response object of one answer.
pub(super) struct Frame {
    pub(super) id: String,
    created: u64,
    model: String,
    service_tier: Option<String>,
    /// Members that echo the request, written once.
    echo: String,
}

/// The id a caller gets: the provider's where it is of this dialect, else one of our own.
#[must_use]
pub fn response_id(given: Option<&str>, context: &ReplyContext) -> String {
    match given {
        Some(id) if id.starts_with("resp_") => id.to_owned(),
        _ => format!("resp_{}", context.id_seed),
    }
}

impl Frame {
    pub(super) fn new(
        id: Option<&str>,
        model: Option<String>,
        created: Option<u64>,
        service_tier: Option<String>,
        context: &ReplyContext,
    ) -> Self {
        Self {
            id: response_id(id, context),
            created: created.unwrap_or(context.created),
            model: model.unwrap_or_else(|| context.model.clone()),
            service_tier,
            echo: echo(&context.request),
        }
    }

    /// A frame for an answer of which nothing but the id is known.
    pub(super) fn bare(id: String) -> Self {
        Self {
            id,
            created: 0,
            model: String::new(),
            service_tier: None,
            echo: echo(&ChatRequest::new(Dialect::Responses, "")),
        }
    }

    /// With when the answer began, and whose it is.
    pub(super) fn at(self, created: u64, model: Option<String>) -> Self {
        Self {
            created,
            model: model.unwrap_or_default(),
            ..self
        }
    }

    /// Writes the object.
    pub(super) fn write(
        &self,
        status: Status<'_>,
        items: &[RawJson],
        counted: Option<&Usage>,
        out: &mut Vec<u8>,
    ) {
        let mut object = ObjectWriter::new(out);
        object.string("id", &self.id);
        object.string("object", "response");
        object.number("created_at", self.created);
        object.string(
            "status",
            match status {
                Status::InProgress => "in_progress",
                Status::Completed => "completed",
                Status::Incomplete { .. } => "incomplete",
                Status::Failed { .. } => "failed",
            },
        );
        object.string("model", &self.model);
        if let Status::Failed { code, message } = status {
            let mut error = ObjectWriter::new(object.value("error"));
            error.string("code", code);
            error.string("message", message);
            error.end();
        } else {
            object.null("error");
        }
        if let Status::Incomplete { reason } = status {
            let mut details = ObjectWriter::new(object.value("incomplete_details"));
            details.string("reason", reason);
            details.end();
        } else {
            object.null("incomplete_details");
        }
        output::write_items(items, object.value("output"));
        match counted {
            Some(counted) => usage::write(counted, object.value("usage")),
            None => object.null("usage"),
        }
        object.string(
            "service_tier",
            self.service_tier.as_deref().map_or("default", known_tier),
        );
        // The echo is a run of members without braces.
        out.push(b',');
        out.extend_from_slice(self.echo.as_bytes());
        out.push(b'}');
    }
}

/// Tiers of other dialects have names that this one's clients do not know.
fn known_tier(tier: &str) -> &str {
    match tier {
        "auto" | "default" | "flex" | "scale" | "priority" | "fast" | "ultrafast" => tier,
        _ => "default",
    }
}

/// Members of a response object that repeat the request, without braces.
fn echo(request: &ChatRequest) -> String {
    let mut out = Vec::with_capacity(1024);
    let mut object = ObjectWriter::new(&mut out);
    let kept = |key: &str| {
        let found = request.extra.iter().find(|(name, _)| name == key);
        found.map(|(_, raw)| raw)
    };
    match instructions(request) {
        Some(text) => object.string("instructions", &text),
        None => object.null("instructions"),
    }
    let or = |raw: Option<&RawJson>, default: &'static str| -> String {
        raw.map_or(default, RawJson::as_str).to_owned()
    };
    object.raw("background", &or(kept("background"), "false"));
    match request.max_output_tokens {
        Some(limit) => object.number("max_output_tokens", limit),
        None => object.null("max_output_tokens"),
    }
    object.raw("max_tool_calls", &or(kept("max_tool_calls"), "null"));
    object.raw("metadata", &or(request.metadata.as_ref(), "{}"));
    object.bool(
        "parallel_tool_calls",
        request.parallel_tool_calls.unwrap_or(true),
    );
    let previous = kept("previous_response_id");
    object.raw("previous_response_id", &or(previous, "null"));
    object.serialize("prompt_cache_key", &request.cache.key);
    object.raw(
        "prompt_cache_options",
        &or(request.cache.options.as_ref(), "null"),
    );
    let mut reasoning = ObjectWriter::new(object.value("reasoning"));
    reasoning.serialize("effort", &request.reasoning.effort.map(Effort::as_str));
    reasoning.serialize("summary", &request.reasoning.summary);
    reasoning.end();
    object.serialize("safety_identifier", &request.end_user);
    object.bool("store", request.store.unwrap_or(true));
    object.raw(
        "temperature",
        &or(request.sampling.temperature.as_ref(), "1.0"),
    );
    let mut text = ObjectWriter::new(object.value("text"));
    if request.output == bardo_types::chat::OutputFormat::Text {
        text.raw("format", r#"{"type":"text"}"#);
    } else {
        encode::format(&request.output, &mut text);
    }
    text.string(
        "verbosity",
        request.verbosity.map_or("medium", |level| level.as_str()),
    );
    text.end();
    match kept("tool_choice") {
        Some(raw) => object.raw("tool_choice", raw.as_str()),
        None => tools::echo_choice(request, object.value("tool_choice")),
    }
    tools::echo(request, object.value("tools"));
    let top = request.logprobs.and_then(|wanted| wanted.top).unwrap_or(0);
    object.number("top_logprobs", u64::from(top));
    object.raw("top_p", &or(request.sampling.top_p.as_ref(), "1.0"));
    object.raw("truncation", &or(kept("truncation"), "\"disabled\""));
    object.null("user");
    object.end();
    let text = String::from_utf8(out).expect("the writers write UTF-8");
    text[1..text.len() - 1].to_owned()
}

/// The `instructions` of a request of this dialect are its first system message.
fn instructions(request: &ChatRequest) -> Option<String> {
    let first = request.messages.first()?;
    let own = request.dialect == Dialect::Responses
        && first.role == Role::System
        && !first.developer
        && first.parts.len() == 1;
    own.then(|| first.text())
}

/// How a finished answer stands.
pub(super) fn status(finish: Option<Finish>, refused_in_words: bool) -> Status<'static> {
    match finish {
        Some(Finish::Length | Finish::ContextWindow) => Status::Incomplete {
            reason: "max_output_tokens",
        },
        Some(Finish::Refusal) if !refused_in_words => Status::Incomplete {
            reason: "content_filter",
        },
        _ => Status::Completed,
    }
}

fn refused_in_words(choice: &Choice) -> bool {
    choice
        .parts
        .iter()
        .any(|part| matches!(part, Part::Refusal(_)))
}

/// Writes a whole answer as a response object.
#[must_use]
pub fn encode_response(response: &ChatResponse, context: &ReplyContext) -> Vec<u8> {
    let frame = Frame::new(
        response.id.as_deref(),
        response.model.clone(),
        response.created,
        response.service_tier.clone(),
        context,
    );
    let items = output::items(response, context);
    let status = response
        .choices
        .first()
        .map_or(Status::Completed, |choice| {
            status(choice.finish, refused_in_words(choice))
        });
    let mut out = Vec::with_capacity(2048);
    frame.write(status, &items, response.usage.as_ref(), &mut out);
    out
}
