//! What the Messages API refuses, in the order in which it looks.

mod blocks;
mod caching;
mod context;
mod conversation;
mod fields;
mod json_schema;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use serde_json::{Map, Value};

use super::access::Access;
use super::error::ApiError;
use super::model::{self, Model};
use super::rules::{self, rules};
use super::thinking::{self, Mode, ThinkingPlan, Transformation};
use super::threads;
use super::turns::{self, Role, Turn};
use crate::world::World;

pub(crate) use context::Edit;

/// What a check needs to know beside the field it looks at.
struct Subject<'a> {
    model: &'static Model,
    access: &'a Access,
    /// Whether tokens are counted, which needs no limit.
    counting: bool,
}

/// A request that the service would serve.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) model: &'static Model,
    /// The model as the client spelled it.
    pub(crate) asked_model: String,
    pub(crate) body: Map<String, Value>,
    /// The conversation, without thinking that this model cannot read.
    pub(crate) turns: Vec<Turn>,
    pub(crate) plan: ThinkingPlan,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) stream: bool,
    pub(crate) transformations: Vec<Transformation>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) access: Access,
}

/// Checks a body for `POST /v1/messages`, or for counting its tokens.
pub(crate) fn check(
    body: &[u8],
    access: Access,
    counting: bool,
    find: fn(&str) -> Option<&'static Model>,
    world: &World,
) -> Result<Checked, ApiError> {
    let body = parsed(body)?;
    let access = with_body_betas(access, &body)?;
    known_fields(&body, &access)?;
    for name in ["model", "messages"] {
        fields::required("", &body, name)?;
    }
    let body = threads::expanded(body, world)?;
    let asked_model = fields::string("model", &body["model"])?.to_owned();
    let model =
        find(&asked_model).ok_or_else(|| ApiError::not_found(format!("model: {asked_model}")))?;
    let subject = Subject {
        model,
        access: &access,
        counting,
    };
    let max_tokens = settings::max_tokens(&body, &subject)?;
    settings::small(&body)?;
    settings::system(&body, &subject)?;
    conversation::shape(&body["messages"], &subject)?;
    tools::check(&body, &subject)?;
    let plan = settings::thinking(&body, max_tokens, &subject)?;
    settings::sampling(&body, &plan, &subject)?;
    settings::output(&body, &plan, &subject)?;
    tools::choice(&body, &subject)?;
    forced_while_thinking(&body, &plan)?;
    let edits = context::edits(&body, &subject)?;
    caching::check(&body)?;
    let mut turns = turns::merged(body["messages"].as_array().map_or(&[][..], Vec::as_slice));
    conversation::order(&turns, &subject)?;
    manual_tool_loop(&turns, &plan)?;
    let transformations = thinking::verify(&mut turns, &body, model, &plan, &access, world)?;
    Ok(Checked {
        model,
        asked_model,
        stream: body.get("stream") == Some(&Value::Bool(true)),
        turns,
        plan,
        max_tokens,
        transformations,
        edits,
        body,
        access,
    })
}

/// Looks up the models that Anthropic itself serves, under its own spelling.
pub(crate) fn own_model(id: &str) -> Option<&'static Model> {
    model::find(id).filter(|_| !id.contains(['.', '/', ':']))
}

/// Looks up models by any of their spellings; a reseller also serves models that are not Claude.
pub(crate) fn any_model(id: &str) -> Option<&'static Model> {
    Some(model::find(id).unwrap_or_else(|| model::foreign()))
}

fn parsed(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ApiError::invalid("Input should be an object")),
        Err(error) => Err(ApiError::invalid(format!(
            "The request body is not valid JSON: {error}"
        ))),
    }
}

/// The `betas` field counts like the header.
fn with_body_betas(mut access: Access, body: &Map<String, Value>) -> Result<Access, ApiError> {
    let betas = body.get("betas").and_then(Value::as_array);
    for beta in betas.into_iter().flatten().filter_map(Value::as_str) {
        if !rules::is_beta(beta) {
            return Err(ApiError::invalid(format!(
                "Unexpected value(s) `{beta}` for the `anthropic-beta` header."
            )));
        }
        access.betas.push(beta.to_owned());
    }
    Ok(access)
}

fn known_fields(body: &Map<String, Value>, access: &Access) -> Result<(), ApiError> {
    let known = |name: &str| match rules().fields.get(name) {
        None => false,
        Some(None) => true,
        Some(Some(beta)) => access.has_beta(beta),
    };
    match body.keys().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(ApiError::at(name, "Extra inputs are not permitted")),
    }
}

fn forced_while_thinking(body: &Map<String, Value>, plan: &ThinkingPlan) -> Result<(), ApiError> {
    let forced = matches!(
        body.get("tool_choice")
            .and_then(|choice| choice["type"].as_str()),
        Some("any" | "tool")
    );
    if forced && plan.mode == Mode::Manual {
        return Err(ApiError::invalid(
            "Thinking may not be enabled when tool_choice forces tool use.",
        ));
    }
    Ok(())
}

/// With a manual budget, the assistant turn of an open tool loop starts with its thinking.
fn manual_tool_loop(turns: &[Turn], plan: &ThinkingPlan) -> Result<(), ApiError> {
    if plan.mode != Mode::Manual {
        return Ok(());
    }
    let [.., assistant, answer] = turns else {
        return Ok(());
    };
    let open = answer.role == Role::User
        && answer
            .blocks
            .first()
            .is_some_and(|b| b.kind() == "tool_result");
    match assistant.blocks.first() {
        Some(first) if open && !first.is_thinking() => Err(ApiError::at(
            format!("{}.type", first.path()),
            format!(
                "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is \
                 enabled, a final `assistant` message must start with a thinking block (preceeding \
                 the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include \
                 thinking blocks from previous turns. To avoid this requirement, disable \
                 `thinking`.",
                first.kind()
            ),
        )),
        _ => Ok(()),
    }
}
