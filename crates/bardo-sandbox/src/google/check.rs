//! What `generateContent` refuses once the JSON has the right shape.

mod signatures;
mod turns;

use serde_json::Value;

use super::cached;
use super::error::ApiError;
use super::model::Model;
use super::shape;
use crate::world::World;

/// A request that the service would serve.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) model: &'static Model,
    /// The body with camelCase names, and with the cached content put in front.
    pub(super) body: Value,
    pub(super) cached_tokens: Option<u64>,
    /// Whether the model thinks for this request.
    pub(super) thinking: bool,
}

/// Checks a body for one of the generating methods.
pub(super) fn check(
    body: &Value,
    model: &'static Model,
    world: &World,
) -> Result<Checked, ApiError> {
    let mut body = shape::read("GenerateContentRequest", body)?;
    if body["contents"].as_array().is_none_or(Vec::is_empty) {
        return Err(ApiError::invalid(
            "* GenerateContentRequest.contents: contents is not specified\n",
        ));
    }
    let cached_tokens = cached::expand(&mut body, model, world)?;
    tools(&body, model)?;
    let thinking = generation(&body, model)?;
    turns::check(&body)?;
    signatures::check(&body, model, world)?;
    Ok(Checked {
        model,
        body,
        cached_tokens,
        thinking,
    })
}

/// Every function declaration of a request.
pub(super) fn declarations(body: &Value) -> impl Iterator<Item = &Value> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.flat_map(|tool| {
        tool["functionDeclarations"]
            .as_array()
            .into_iter()
            .flatten()
    })
}

/// Whether one of the tools is the built-in `name`.
pub(super) fn has_tool(body: &Value, name: &str) -> bool {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.into_iter().any(|tool| !tool[name].is_null())
}

fn tools(body: &Value, model: &Model) -> Result<(), ApiError> {
    for (index, declared) in declarations(body).enumerate() {
        let path = format!("GenerateContentRequest.tools[0].function_declarations[{index}]");
        let name = declared["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(ApiError::invalid(format!(
                "* {path}.name: Invalid function name. Must start with a letter or an underscore. \
                 Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or \
                 dashes (-), with a maximum length of 64.\n"
            )));
        }
        if !declared["parameters"].is_null() && !declared["parametersJsonSchema"].is_null() {
            return Err(ApiError::invalid(format!(
                "* {path}: only one of `parameters` and `parameters_json_schema` may be set.\n"
            )));
        }
        let kind = &declared["parameters"]["type"];
        if !kind.is_null() && kind != "OBJECT" {
            return Err(ApiError::invalid(format!(
                "* {path}.parameters.type: schema at top-level must be of type OBJECT\n"
            )));
        }
    }
    let built_in = ["googleSearch", "codeExecution", "urlContext"];
    let mixed =
        built_in.iter().any(|name| has_tool(body, name)) && declarations(body).next().is_some();
    if mixed && model.generation < 3 {
        return Err(ApiError::invalid(
            "Built-in tools ({google_search, code_execution}) and Function Calling cannot be \
             combined in the same request. Please choose one type of tool.",
        ));
    }
    calling(body)
}

fn is_name(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-'))
}

fn calling(body: &Value) -> Result<(), ApiError> {
    let config = &body["toolConfig"]["functionCallingConfig"];
    if config.is_null() {
        return Ok(());
    }
    let mode = config["mode"].as_str().unwrap_or("AUTO");
    if mode == "ANY" && declarations(body).next().is_none() {
        return Err(ApiError::invalid(
            "Function calling config is set without function_declarations.",
        ));
    }
    let allowed: Vec<&str> = config["allowedFunctionNames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !allowed.is_empty() && !matches!(mode, "ANY" | "VALIDATED") {
        return Err(ApiError::invalid(
            "* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: \
             allowed_function_names should only be set when function calling mode is ANY.\n",
        ));
    }
    let unknown = allowed
        .iter()
        .find(|name| !declarations(body).any(|declared| declared["name"] == **name));
    match unknown {
        None => Ok(()),
        Some(name) => Err(ApiError::invalid(format!(
            "* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: \
             allowed_function_names contains the name '{name}', which is not declared.\n"
        ))),
    }
}

/// Checks `generationConfig`, and says whether the model thinks.
fn generation(body: &Value, model: &Model) -> Result<bool, ApiError> {
    let config = &body["generationConfig"];
    let path = "GenerateContentRequest.generation_config";
    let bounds = [("temperature", 0.0, 2.0), ("topP", 0.0, 1.0)];
    for (name, least, most) in bounds {
        let number = config[name].as_f64();
        if number.is_some_and(|number| !(least..=most).contains(&number)) {
            return Err(ApiError::invalid(format!(
                "* {path}.{name}: {name} must be in the range [{least:.1}, {most:.1}].\n"
            )));
        }
    }
    if config["stopSequences"]
        .as_array()
        .is_some_and(|stops| stops.len() > 5)
    {
        return Err(ApiError::invalid(format!(
            "* {path}.stop_sequences: the number of stop sequences must not exceed 5\n"
        )));
    }
    if config["candidateCount"]
        .as_i64()
        .is_some_and(|count| count != 1)
    {
        return Err(ApiError::invalid(
            "Multiple candidates is not enabled for this model",
        ));
    }
    let limit = config["maxOutputTokens"].as_i64();
    let most = model.output_tokens;
    if limit.is_some_and(|limit| limit < 1 || limit.unsigned_abs() > most) {
        return Err(ApiError::invalid(format!(
            "Unable to submit request because it has a maxOutputTokens value of {} but the \
             supported range is from 1 (inclusive) to {} (exclusive). Update the value and try \
             again.",
            limit.unwrap_or_default(),
            most + 1
        )));
    }
    formats(config, body, model)?;
    thinking(&config["thinkingConfig"], model)
}

fn formats(config: &Value, body: &Value, model: &Model) -> Result<(), ApiError> {
    let mime = config["responseMimeType"].as_str().unwrap_or("text/plain");
    let known = ["text/plain", "application/json", "text/x.enum"];
    if !known.contains(&mime) {
        return Err(ApiError::invalid(format!(
            "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are \
             `text/plain`, `application/json`, `application/xml`, `application/yaml` and \
             `text/x.enum`. Got: {mime}\n"
        )));
    }
    let schemas = ["responseSchema", "responseJsonSchema"].map(|name| !config[name].is_null());
    if schemas == [true, true] {
        return Err(ApiError::invalid(
            "Only one of response_schema and response_json_schema may be set.",
        ));
    }
    if schemas != [false, false] && mime == "text/plain" {
        return Err(ApiError::invalid(
            "Response schema is only supported with a response mime type of `application/json` \
             or `text/x.enum`.",
        ));
    }
    if mime == "application/json" && model.generation < 3 && declarations(body).next().is_some() {
        return Err(ApiError::invalid(
            "Function calling with a response mime type: 'application/json' is unsupported",
        ));
    }
    Ok(())
}

fn thinking(config: &Value, model: &Model) -> Result<bool, ApiError> {
    let level = config["thinkingLevel"].as_str();
    let budget = config["thinkingBudget"].as_i64();
    match (level, budget) {
        (Some(_), Some(_)) => Err(ApiError::invalid(
            "You can only set only one of thinking budget and thinking level.",
        )),
        (Some(_), None) if model.thinking_levels.is_empty() => Err(ApiError::invalid(
            "Thinking level is not supported for this model.",
        )),
        (Some(level), None) if !model.thinking_levels.iter().any(|known| known == level) => {
            Err(ApiError::invalid(format!(
                "Thinking level {level} is not supported for this model. Please retry with other \
                 thinking level."
            )))
        }
        (None, Some(budget)) => in_budget(budget, model),
        _ => Ok(true),
    }
}

fn in_budget(budget: i64, model: &Model) -> Result<bool, ApiError> {
    let Some(bounds) = &model.thinking_budget else {
        return Err(ApiError::invalid(
            "Thinking is not supported for this model.",
        ));
    };
    match budget {
        -1 => Ok(true),
        0 if bounds.can_be_off => Ok(false),
        0 => Err(ApiError::invalid(
            "Budget 0 is invalid. This model only works in thinking mode.",
        )),
        budget if (bounds.least..=bounds.most).contains(&budget) => Ok(true),
        budget => Err(ApiError::invalid(format!(
            "The thinking budget {budget} is invalid. Please choose a value between {} and {}.",
            bounds.least, bounds.most
        ))),
    }
}
