//! What OpenAI's chat completions refuse.

mod messages;
mod tools;

use serde_json::Value;

use crate::openai::error::Problem;
use crate::openai::models::Card;
use crate::openai::strict;

pub(super) use tools::{function as tool_function, only_with_tools};

/// Fields of the request, as documented.
const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_completion_tokens",
    "max_tokens",
    "n",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "seed",
    "stop",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "modalities",
    "audio",
    "prediction",
    "service_tier",
    "store",
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
    "moderation",
    "web_search_options",
    "functions",
    "function_call",
];

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const TIERS: &[&str] = &["auto", "default", "flex", "scale", "priority", "fast"];

/// Refuses a chat request that the service would refuse.
pub(super) fn chat(body: &Value, card: &Card) -> Result<(), Problem> {
    known_fields(body)?;
    if card.dimensions.is_some() {
        return Err(Problem::new(
            404,
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
        )
        .param("model"));
    }
    sampling(body, card)?;
    limits(body, card)?;
    words(body)?;
    messages::check(body, card)?;
    tools::check(body)?;
    format(body)?;
    prediction(body)
}

/// A required text field.
pub(crate) fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, Problem> {
    match body.get(name) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => Err(missing(name)),
        Some(other) => Err(wrong_type(name, "a string", other)),
    }
}

pub(super) fn missing(name: &str) -> Problem {
    Problem::new(400, &format!("Missing required parameter: '{name}'."))
        .param(name)
        .code("missing_required_parameter")
}

pub(super) fn wrong_type(name: &str, wanted: &str, got: &Value) -> Problem {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Problem::new(
        400,
        &format!("Invalid type for '{name}': expected {wanted}, but got {got} instead."),
    )
    .param(name)
    .code("invalid_type")
}

pub(super) fn unknown_parameter(path: &str) -> Problem {
    Problem::new(400, &format!("Unknown parameter: '{path}'."))
        .param(path)
        .code("unknown_parameter")
}

fn unsupported_parameter(name: &str, hint: &str) -> Problem {
    let message =
        format!("Unsupported parameter: '{name}' is not supported with this model.{hint}");
    Problem::new(400, &message)
        .param(name)
        .code("unsupported_parameter")
}

pub(super) fn given<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}

fn known_fields(body: &Value) -> Result<(), Problem> {
    let fields = body.as_object().into_iter().flatten();
    match fields
        .map(|(name, _)| name)
        .find(|name| !FIELDS.contains(&name.as_str()))
    {
        Some(name) => Err(unknown_parameter(name)),
        None => Ok(()),
    }
}

fn sampling(body: &Value, card: &Card) -> Result<(), Problem> {
    if !card.reasoning {
        if given(body, "reasoning_effort").is_some() {
            return Err(Problem::new(
                400,
                "Unrecognized request argument supplied: reasoning_effort",
            ));
        }
        range(body, "temperature", 0.0, 2.0)?;
        range(body, "top_p", 0.0, 1.0)?;
        range(body, "presence_penalty", -2.0, 2.0)?;
        range(body, "frequency_penalty", -2.0, 2.0)?;
        return range(body, "top_logprobs", 0.0, 20.0);
    }
    if given(body, "max_tokens").is_some() {
        return Err(unsupported_parameter(
            "max_tokens",
            " Use 'max_completion_tokens' instead.",
        ));
    }
    for (name, default) in [
        ("temperature", 1.0),
        ("top_p", 1.0),
        ("presence_penalty", 0.0),
        ("frequency_penalty", 0.0),
    ] {
        if let Some(value) = given(body, name).filter(|value| value.as_f64() != Some(default)) {
            return Err(Problem::new(
                400,
                &format!(
                    "Unsupported value: '{name}' does not support {value} with this model. \
                     Only the default ({default}) value is supported."
                ),
            )
            .param(name)
            .code("unsupported_value"));
        }
    }
    for name in ["logit_bias", "logprobs", "top_logprobs"] {
        let harmless = |value: &&Value| **value != Value::Bool(false);
        if given(body, name).filter(harmless).is_some() {
            return Err(unsupported_parameter(name, ""));
        }
    }
    Ok(())
}

fn range(body: &Value, name: &str, least: f64, most: f64) -> Result<(), Problem> {
    let Some(value) = given(body, name) else {
        return Ok(());
    };
    let Some(number) = value.as_f64() else {
        return Err(wrong_type(name, "a number", value));
    };
    if (least..=most).contains(&number) {
        return Ok(());
    }
    let (bound, side) = if number < least {
        (least, "min")
    } else {
        (most, "max")
    };
    let compare = if side == "min" { ">=" } else { "<=" };
    Err(Problem::new(
        400,
        &format!("Invalid '{name}': decimal {side}imum value violated. Expected a value {compare} {bound}, but got {number} instead."),
    )
    .param(name)
    .code(&format!("decimal_{}_{side}_value", if side == "min" { "below" } else { "above" })))
}

fn limits(body: &Value, card: &Card) -> Result<(), Problem> {
    for name in ["max_completion_tokens", "max_tokens"] {
        let Some(value) = given(body, name) else {
            continue;
        };
        let most = card.max_output.unwrap_or(u64::MAX);
        match value.as_u64() {
            Some(limit) if (1..=most).contains(&limit) => {}
            Some(0) | None if value.is_number() => {
                return Err(Problem::invalid(
                    name,
                    &format!("Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {value} instead."),
                )
                .code("integer_below_min_value"));
            }
            Some(_) => {
                return Err(Problem::invalid(
                    name,
                    &format!(
                        "max_tokens is too large: {value}. This model supports at most {most} completion tokens, whereas you provided {value}."
                    ),
                ));
            }
            None => return Err(wrong_type(name, "an integer", value)),
        }
    }
    if let Some(n) =
        given(body, "n").filter(|n| !n.as_u64().is_some_and(|n| (1..=128).contains(&n)))
    {
        return Err(Problem::invalid(
            "n",
            &format!("Invalid 'n': expected 1 to 128, but got {n}."),
        ));
    }
    if let Some(Value::Array(stops)) = given(body, "stop")
        && stops.len() > 4
    {
        return Err(Problem::invalid(
            "stop",
            "Invalid 'stop': array too long. Expected an array with maximum length 4.",
        )
        .code("array_above_max_length"));
    }
    if given(body, "stream_options").is_some() && !crate::chat::flag(body, "stream") {
        return Err(Problem::invalid(
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    if given(body, "top_logprobs").is_some() && !crate::chat::flag(body, "logprobs") {
        return Err(Problem::invalid(
            "top_logprobs",
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
        ));
    }
    match given(body, "metadata") {
        None => Ok(()),
        Some(Value::Object(pairs)) if pairs.len() <= 16 && pairs.values().all(Value::is_string) => {
            Ok(())
        }
        Some(_) => Err(Problem::invalid(
            "metadata",
            "Invalid 'metadata': expected at most 16 pairs of strings.",
        )),
    }
}

fn words(body: &Value) -> Result<(), Problem> {
    for (name, allowed) in [
        ("reasoning_effort", EFFORTS),
        ("verbosity", &["low", "medium", "high"]),
        ("service_tier", TIERS),
    ] {
        let Some(value) = given(body, name) else {
            continue;
        };
        if !value.as_str().is_some_and(|word| allowed.contains(&word)) {
            return Err(Problem::invalid(
                name,
                &format!(
                    "Invalid value: {value}. Supported values are: '{}'.",
                    allowed.join("', '")
                ),
            ));
        }
    }
    Ok(())
}

fn format(body: &Value) -> Result<(), Problem> {
    let Some(format) = given(body, "response_format") else {
        return Ok(());
    };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(()),
        Some("json_object") => {
            let said = body["messages"].to_string().to_lowercase();
            if said.contains("json") {
                return Ok(());
            }
            Err(Problem::new(
                400,
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            )
            .param("messages"))
        }
        Some("json_schema") => {
            let inner = format
                .get("json_schema")
                .ok_or_else(|| missing("response_format.json_schema"))?;
            schema_format(inner, "response_format.json_schema")
        }
        _ => Err(Problem::invalid(
            "response_format.type",
            "Invalid value for 'response_format.type'. Supported values are: 'json_object', 'json_schema', and 'text'.",
        )),
    }
}

/// Checks `{name, schema, strict}` wherever it sits.
pub(super) fn schema_format(inner: &Value, path: &str) -> Result<(), Problem> {
    let name = match inner.get("name") {
        Some(Value::String(name)) => name,
        _ => return Err(missing(&format!("{path}.name"))),
    };
    if !is_name(name) {
        return Err(Problem::invalid(
            &format!("{path}.name"),
            &format!(
                "Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            ),
        ));
    }
    let Some(schema) = inner.get("schema") else {
        return Err(missing(&format!("{path}.schema")));
    };
    if inner.get("strict") == Some(&Value::Bool(true))
        && let Err(reason) = strict::check(schema)
    {
        return Err(Problem::new(
            400,
            &format!("Invalid schema for response_format '{name}': {reason}"),
        )
        .param(path.split('.').next().unwrap_or(path)));
    }
    Ok(())
}

/// Names of tools and schemas.
pub(super) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn prediction(body: &Value) -> Result<(), Problem> {
    let Some(prediction) = given(body, "prediction") else {
        return Ok(());
    };
    if prediction.get("type").and_then(Value::as_str) != Some("content") {
        return Err(Problem::invalid(
            "prediction.type",
            "Invalid value for 'prediction.type'. Supported value is: 'content'.",
        ));
    }
    let clash = if body.get("n").and_then(Value::as_u64).unwrap_or(1) > 1 {
        Some("n")
    } else {
        ["logprobs", "tools", "audio"]
            .into_iter()
            .find(|name| given(body, name).is_some())
    };
    match clash {
        None => Ok(()),
        Some(name) => Err(Problem::new(
            400,
            &format!("'prediction' is not supported together with '{name}'."),
        )
        .param("prediction")
        .code("unsupported_parameter")),
    }
}
