//! The response object: what was asked is echoed, what came is added.

use bardo_types::chat::{ChatRequest, ChatResponse, Choice, Finish, Part, Role};
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Effort};
use bardo_types::usage::Usage;

use crate::codec::ReplyContext;
use crate::json::Object;
use crate::responses::request::encode;
use crate::responses::{output, tools, usage};

/// How an answer stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::responses) enum Status<'a> {
    InProgress,
    Completed,
    Incomplete { reason: &'static str },
    Failed { code: &'a str, message: &'a str },
}

/// The values that stay the same in every response object of one answer.
pub(in crate::responses) struct Frame {
    pub(in crate::responses) id: String,
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
        _ => own_response_id(context),
    }
}

/// The id of an answer in the ids of the items that the gateway made for it.
#[must_use]
pub fn own_response_id(context: &ReplyContext) -> String {
    output::own_response_id(&context.id_seed)
}

impl Frame {
    pub(in crate::responses) fn new(
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
    pub(in crate::responses) fn bare(id: String) -> Self {
        Self {
            id,
            created: 0,
            model: String::new(),
            service_tier: None,
            echo: echo(&ChatRequest::new(Dialect::Responses, "")),
        }
    }

    /// With when the answer began, and whose it is.
    pub(in crate::responses) fn at(self, created: u64, model: Option<String>) -> Self {
        Self {
            created,
            model: model.unwrap_or_default(),
            ..self
        }
    }

    /// Writes the object.
    pub(in crate::responses) fn write(
        &self,
        status: Status<'_>,
        items: &[RawJson],
        counted: Option<&Usage>,
        out: &mut Vec<u8>,
    ) {
        let mut object = Object::new(out);
        object.set("id", &self.id);
        object.set("object", "response");
        object.set("created_at", self.created);
        object.set(
            "status",
            match status {
                Status::InProgress => "in_progress",
                Status::Completed => "completed",
                Status::Incomplete { .. } => "incomplete",
                Status::Failed { .. } => "failed",
            },
        );
        object.set("model", &self.model);
        if let Status::Failed { code, message } = status {
            let mut error = object.object("error");
            error.set("code", code).set("message", message);
        } else {
            object.set("error", ());
        }
        if let Status::Incomplete { reason } = status {
            object.object("incomplete_details").set("reason", reason);
        } else {
            object.set("incomplete_details", ());
        }
        output::write_items(items, object.key("output"));
        match counted {
            Some(counted) => usage::write(counted, object.key("usage")),
            None => {
                object.set("usage", ());
            }
        }
        object.set(
            "service_tier",
            self.service_tier.as_deref().map_or("default", known_tier),
        );
        object.spread(&self.echo);
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
    let mut object = Object::new(&mut out);
    let kept = |key: &str| {
        let found = request.extra.iter().find(|(name, _)| name == key);
        found.map(|(_, raw)| raw)
    };
    object.set("instructions", instructions(request));
    let or = |raw: Option<&RawJson>, default: &'static str| -> String {
        raw.map_or(default, RawJson::as_str).to_owned()
    };
    object.raw("background", &or(kept("background"), "false"));
    object.set("max_output_tokens", request.max_output_tokens);
    object.raw("max_tool_calls", &or(kept("max_tool_calls"), "null"));
    object.raw("metadata", &or(request.metadata.as_ref(), "{}"));
    object.set(
        "parallel_tool_calls",
        request.parallel_tool_calls.unwrap_or(true),
    );
    let previous = kept("previous_response_id");
    object.raw("previous_response_id", &or(previous, "null"));
    object.set("prompt_cache_key", &request.cache.key);
    object.raw(
        "prompt_cache_options",
        &or(request.cache.options.as_ref(), "null"),
    );
    let mut reasoning = object.object("reasoning");
    reasoning.set("effort", request.reasoning.effort.map(Effort::as_str));
    reasoning.set("summary", &request.reasoning.summary);
    reasoning.end();
    object.set("safety_identifier", &request.end_user);
    object.set("store", request.store.unwrap_or(true));
    object.raw(
        "temperature",
        &or(request.sampling.temperature.as_ref(), "1.0"),
    );
    let mut text = object.object("text");
    if request.output == bardo_types::chat::OutputFormat::Text {
        text.raw("format", r#"{"type":"text"}"#);
    } else {
        encode::format(&request.output, &mut text);
    }
    text.set(
        "verbosity",
        request.verbosity.map_or("medium", |level| level.as_str()),
    );
    text.end();
    match kept("tool_choice") {
        Some(raw) => {
            object.set("tool_choice", raw);
        }
        None => tools::echo_choice(request, object.key("tool_choice")),
    }
    tools::echo(request, object.key("tools"));
    let top = request.logprobs.and_then(|wanted| wanted.top).unwrap_or(0);
    object.set("top_logprobs", u64::from(top));
    object.raw("top_p", &or(request.sampling.top_p.as_ref(), "1.0"));
    object.raw("truncation", &or(kept("truncation"), "\"disabled\""));
    object.set("user", ());
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
pub(in crate::responses) fn status(
    finish: Option<Finish>,
    refused_in_words: bool,
) -> Status<'static> {
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
