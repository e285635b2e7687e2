//! Reasoning, and the shape of the answer.

use bardo_types::chat::{ChatRequest, OutputFormat, ThinkingDisplay, ThinkingMode, Verbosity};
use bardo_types::json::RawJson;
use bardo_types::model::Effort;
use serde_json::value::RawValue;

use crate::chat::shapes::request::ChatBody;
use crate::codec::BadRequest;
use crate::json::{Str, wire_object};

/// Reads every spelling of "how to think". Values that are not known here are kept for an
/// upstream of the same dialect, which may know them.
pub(super) fn read_reasoning(wire: &mut ChatBody<'_>, request: &mut ChatRequest) {
    let reasoning = &mut request.reasoning;
    if let Some(thinking) = wire.thinking.take() {
        reasoning.mode = match (thinking.kind.as_deref(), thinking.budget_tokens) {
            (Some("disabled"), _) => Some(ThinkingMode::Disabled),
            (Some("between_tools"), _) => Some(ThinkingMode::BetweenTools),
            (_, Some(budget)) => Some(ThinkingMode::Budget(budget)),
            _ => Some(ThinkingMode::Adaptive),
        };
    }
    if let Some(wanted) = wire.reasoning.take() {
        if let Some(effort) = &wanted.effort {
            match Effort::parse(effort) {
                Some(effort) => reasoning.effort = Some(effort),
                None => request
                    .extra
                    .push(("reasoning_effort".into(), RawJson::string(effort))),
            }
        }
        match (wanted.enabled, wanted.max_tokens) {
            (Some(false), _) => reasoning.mode = Some(ThinkingMode::Disabled),
            (_, Some(budget)) => reasoning.mode = Some(ThinkingMode::Budget(budget)),
            (Some(true), None) => reasoning.mode = Some(ThinkingMode::Adaptive),
            (None, None) => {}
        }
        if wanted.exclude == Some(true) {
            reasoning.display = Some(ThinkingDisplay::Omitted);
        }
        reasoning.summary = wanted.summary.map(Str::into_string);
    }
    if let Some(name) = wire.reasoning_effort.take() {
        match Effort::parse(&name) {
            Some(effort) => reasoning.effort = Some(effort),
            None => request
                .extra
                .push(("reasoning_effort".into(), RawJson::string(&name))),
        }
    }
    if let Some(name) = wire.verbosity.take() {
        match &*name {
            "low" => request.verbosity = Some(Verbosity::Low),
            "medium" => request.verbosity = Some(Verbosity::Medium),
            "high" => request.verbosity = Some(Verbosity::High),
            _ => request
                .extra
                .push(("verbosity".into(), RawJson::string(&name))),
        }
    }
}

wire_object! {
    pub(in crate::chat) struct ResponseFormat<'a> {
        "type" => kind: Option<Str<'a>>,
        "json_schema" => json_schema: Option<Schema<'a>>,
    }

    pub(in crate::chat) struct Schema<'a> {
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "schema" => schema: Option<&'a RawValue>,
        "strict" => strict: Option<bool>,
    }
}

pub(super) fn read_format(
    wire: &mut ChatBody<'_>,
    request: &mut ChatRequest,
) -> Result<(), BadRequest> {
    let Some(raw) = wire.response_format.take() else {
        return Ok(());
    };
    let refuse = |message: &str| Err(BadRequest::new("response_format", message));
    let Ok(format) = serde_json::from_str::<ResponseFormat<'_>>(raw.get()) else {
        return refuse(
            "`response_format` is invalid; send \
            {\"type\":\"json_schema\",\"json_schema\":{\"name\":…,\"schema\":{…}}}, {\"type\":\"json_object\"} \
            or {\"type\":\"text\"}",
        );
    };
    request.output = match (format.kind.as_deref(), format.json_schema) {
        (Some("text"), _) => OutputFormat::Text,
        (Some("json_object"), _) => OutputFormat::JsonObject,
        (Some("json_schema"), Some(schema)) => OutputFormat::JsonSchema {
            name: schema.name.map(Str::into_string),
            description: schema.description.map(Str::into_string),
            schema: schema
                .schema
                .map_or_else(RawJson::empty_object, RawJson::from),
            strict: schema.strict,
        },
        (Some("json_schema"), None) => {
            return Err(BadRequest::new(
                "response_format.json_schema",
                "`json_schema` is missing; put name and schema inside it",
            ));
        }
        (Some(_), _) => {
            request.extra.push(("response_format".into(), raw.into()));
            OutputFormat::Text
        }
        (None, _) => {
            return Err(BadRequest::new(
                "response_format.type",
                "`type` is missing; use `text`, `json_object` or `json_schema`",
            ));
        }
    };
    Ok(())
}
