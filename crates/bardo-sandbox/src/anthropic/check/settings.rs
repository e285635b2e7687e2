//! Everything beside messages and tools: thinking, sampling, output format, limits.

use serde_json::Value;

use super::fields::{
    self, Fields, array, integer, join, object, one_of, present, required, string,
};
use super::{Subject, json_schema};
use crate::anthropic::access::Version;
use crate::anthropic::error::ApiError;
use crate::anthropic::model::{Display, WhenOmitted};
use crate::anthropic::thinking::{MismatchPolicy, Mode, ThinkingPlan};

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// Checks `max_tokens`, which only counting may leave out.
pub(super) fn max_tokens(body: &Fields, subject: &Subject<'_>) -> Result<Option<u64>, ApiError> {
    if subject.counting {
        return Ok(None);
    }
    let limit = integer("max_tokens", required("", body, "max_tokens")?)?;
    let most = subject.model.max_tokens;
    if limit > most {
        return Err(ApiError::at(
            "max_tokens",
            format!(
                "{limit} > {most}, which is the maximum allowed number of output tokens for {}",
                subject.model.id
            ),
        ));
    }
    if limit == 0 {
        warm_up_only(body)?;
    }
    Ok(Some(limit))
}

/// `max_tokens: 0` fills the prompt cache and does nothing else.
fn warm_up_only(body: &Fields) -> Result<(), ApiError> {
    let forced = matches!(
        body.get("tool_choice")
            .and_then(|choice| choice["type"].as_str()),
        Some("any" | "tool")
    );
    let formatted = body
        .get("output_config")
        .is_some_and(|config| !config["format"].is_null());
    let conflict = [
        (body.get("stream") == Some(&Value::Bool(true)), "`stream`"),
        (formatted, "`output_config.format`"),
        (forced, "a forced `tool_choice`"),
    ];
    match conflict.iter().find(|(present, _)| *present) {
        None => Ok(()),
        Some((_, what)) => Err(ApiError::at(
            "max_tokens",
            format!("0 cannot be combined with {what}"),
        )),
    }
}

/// Checks `temperature`, `top_p` and `top_k`.
pub(super) fn sampling(
    body: &Fields,
    plan: &ThinkingPlan,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    for name in ["temperature", "top_p", "top_k"] {
        let Some(value) = body.get(name) else {
            continue;
        };
        if subject.access.version == Version::V2026 {
            return Err(ApiError::at(name, "Extra inputs are not permitted"));
        }
        if value.is_null() {
            continue;
        }
        let number = value
            .as_f64()
            .ok_or_else(|| ApiError::at(name, "Input should be a valid number"))?;
        let most = if name == "top_k" { f64::MAX } else { 1.0 };
        if number > most {
            return Err(ApiError::at(
                name,
                "Input should be less than or equal to 1",
            ));
        }
        if number < 0.0 {
            return Err(ApiError::at(
                name,
                "Input should be greater than or equal to 0",
            ));
        }
        let default = name != "top_k" && number == 1.0;
        if !subject.model.sampling && !default {
            return Err(ApiError::invalid(format!(
                "`{name}` is deprecated for this model."
            )));
        }
        if plan.mode.is_on() && name == "temperature" && !default {
            return Err(ApiError::invalid(
                "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
            ));
        }
        if plan.mode.is_on() && name == "top_k" {
            return Err(ApiError::invalid(
                "`top_k` must be unset when thinking is enabled or in adaptive mode.",
            ));
        }
    }
    let both = ["temperature", "top_p"].map(|name| present(body, name).is_some());
    if both == [true, true] {
        return Err(ApiError::invalid(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only \
             one.",
        ));
    }
    Ok(())
}

/// Reads `thinking` and says what it means for this model.
pub(super) fn thinking(
    body: &Fields,
    max_tokens: Option<u64>,
    subject: &Subject<'_>,
) -> Result<ThinkingPlan, ApiError> {
    let model = subject.model;
    let Some(value) = present(body, "thinking") else {
        let mode = match model.thinking.when_omitted {
            WhenOmitted::Adaptive => Mode::Adaptive,
            WhenOmitted::Off => Mode::Off,
        };
        return Ok(ThinkingPlan {
            mode,
            display: model.thinking.display,
            on_mismatch: MismatchPolicy::Error,
        });
    };
    let fields = object("thinking", value)?;
    let kind = fields::tag("thinking", fields)?;
    let path = format!("thinking.{kind}");
    let mut known = match kind {
        "adaptive" => vec!["display"],
        "enabled" => vec!["display", "budget_tokens"],
        "disabled" | "between_tools" => Vec::new(),
        _ => {
            return Err(ApiError::at(
                "thinking",
                format!(
                    "Input tag '{kind}' found using 'type' does not match any of the expected \
                     tags: 'enabled', 'disabled', 'between_tools', 'adaptive'"
                ),
            ));
        }
    };
    if subject.access.has_beta("thinking-binding-controls-") {
        known.push("block_binding");
    }
    if fields.contains_key("block_binding") && !known.contains(&"block_binding") {
        return Err(ApiError::at(
            join(&path, "block_binding"),
            "Extra inputs are not permitted",
        ));
    }
    fields::only(&path, fields, known)?;
    if !model.takes_thinking(kind) {
        return Err(unsupported_thinking(kind, subject));
    }
    let mode = match kind {
        "adaptive" => Mode::Adaptive,
        "enabled" => manual(&path, fields, max_tokens)?,
        "between_tools" => Mode::BetweenTools,
        _ => Mode::Off,
    };
    Ok(ThinkingPlan {
        mode,
        display: display(&path, fields, subject)?,
        on_mismatch: on_mismatch(&path, fields)?,
    })
}

fn unsupported_thinking(kind: &str, subject: &Subject<'_>) -> ApiError {
    let advice = match kind {
        "enabled" => {
            "Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking \
             behavior."
        }
        "disabled" if subject.model.takes_thinking("between_tools") => {
            "Use \"thinking.type.between_tools\" instead."
        }
        "disabled" => "Thinking is always on for this model.",
        _ => "See the model's capabilities for the supported types.",
    };
    ApiError::invalid(format!(
        "\"thinking.type.{kind}\" is not supported for this model. {advice}"
    ))
}

fn manual(path: &str, fields: &Fields, max_tokens: Option<u64>) -> Result<Mode, ApiError> {
    let budget = required(path, fields, "budget_tokens")?;
    let budget = integer(&join(path, "budget_tokens"), budget)?;
    if budget < 1024 {
        return Err(ApiError::at(
            join(path, "budget_tokens"),
            "Input should be greater than or equal to 1024",
        ));
    }
    if max_tokens.is_some_and(|limit| limit <= budget) {
        return Err(ApiError::invalid(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our \
             documentation at \
             https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        ));
    }
    Ok(Mode::Manual)
}

fn display(path: &str, fields: &Fields, subject: &Subject<'_>) -> Result<Display, ApiError> {
    let Some(value) = present(fields, "display") else {
        return Ok(subject.model.thinking.display);
    };
    let updates = subject.access.has_beta("thinking-display-updates-");
    let allowed: &[&str] = if updates {
        &["summarized", "omitted", "updates"]
    } else {
        &["summarized", "omitted"]
    };
    Ok(match one_of(&join(path, "display"), value, allowed)? {
        "omitted" => Display::Omitted,
        _ => Display::Summarized,
    })
}

fn on_mismatch(path: &str, fields: &Fields) -> Result<MismatchPolicy, ApiError> {
    let Some(binding) = present(fields, "block_binding") else {
        return Ok(MismatchPolicy::Error);
    };
    let path = join(path, "block_binding");
    let binding = object(&path, binding)?;
    fields::only(&path, binding, ["prefix_mismatch_behavior"])?;
    let Some(value) = present(binding, "prefix_mismatch_behavior") else {
        return Ok(MismatchPolicy::Error);
    };
    let path = join(&path, "prefix_mismatch_behavior");
    Ok(match one_of(&path, value, &["error", "drop_block"])? {
        "drop_block" => MismatchPolicy::DropBlock,
        _ => MismatchPolicy::Error,
    })
}

/// Checks `output_config` and its deprecated ancestor, against the thinking plan.
pub(super) fn output(
    body: &Fields,
    plan: &ThinkingPlan,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    let mut effort = "high";
    if let Some(config) = present(body, "output_config") {
        let config = object("output_config", config)?;
        let mut known = vec!["effort", "format"];
        if subject.access.has_beta("task-budgets-") {
            known.push("task_budget");
        }
        fields::only("output_config", config, known)?;
        if let Some(value) = present(config, "effort") {
            effort = one_of("output_config.effort", value, &EFFORTS)?;
            let levels = &subject.model.effort;
            if !levels.iter().any(|level| level == effort) {
                return Err(ApiError::invalid(if levels.is_empty() {
                    "This model does not support the effort parameter.".to_owned()
                } else {
                    format!(
                        "This model does not support effort level '{effort}'. Supported levels: \
                         {}.",
                        levels.join(", ")
                    )
                }));
            }
        }
        if let Some(format) = present(config, "format") {
            output_format("output_config.format", format, body)?;
        }
    }
    if let Some(format) = present(body, "output_format") {
        output_format("output_format", format, body)?;
    }
    off_with_high_effort(effort, plan, subject)
}

fn output_format(path: &str, format: &Value, body: &Fields) -> Result<(), ApiError> {
    let fields = object(path, format)?;
    let kind = required(path, fields, "type")?;
    one_of(&join(path, "type"), kind, &["json_schema"])?;
    fields::only(path, fields, ["schema"])?;
    let schema = required(path, fields, "schema")?;
    object(&join(path, "schema"), schema)?;
    json_schema::supported(schema).map_err(|why| ApiError::at(join(path, "schema"), why))?;
    let messages = body.get("messages").and_then(Value::as_array);
    let cited = messages.into_iter().flatten().any(|message| {
        let blocks = message["content"].as_array();
        blocks
            .into_iter()
            .flatten()
            .any(|block| block["citations"]["enabled"] == true)
    });
    if cited {
        return Err(ApiError::invalid(
            "Citations and structured outputs cannot be used together.",
        ));
    }
    Ok(())
}

fn off_with_high_effort(
    effort: &str,
    plan: &ThinkingPlan,
    subject: &Subject<'_>,
) -> Result<(), ApiError> {
    let Some(most) = &subject.model.thinking.off_needs_effort_at_most else {
        return Ok(());
    };
    let rank = |name: &str| EFFORTS.iter().position(|level| *level == name);
    if matches!(plan.mode, Mode::Off | Mode::BetweenTools) && rank(effort) > rank(most) {
        return Err(ApiError::invalid(format!(
            "Thinking may only be turned off at effort `{most}` or below on this model."
        )));
    }
    Ok(())
}

/// Checks the small fields: metadata, tiers, stop sequences, and the betas' own objects.
pub(super) fn small(body: &Fields) -> Result<(), ApiError> {
    if let Some(metadata) = present(body, "metadata") {
        let metadata = object("metadata", metadata)?;
        fields::only("metadata", metadata, ["user_id"])?;
        if let Some(user) = present(metadata, "user_id") {
            string("metadata.user_id", user)?;
        }
    }
    let closed: [(&str, &[&str]); 2] = [
        ("service_tier", &["auto", "standard_only"]),
        ("speed", &["standard", "fast"]),
    ];
    for (name, allowed) in closed {
        if let Some(value) = present(body, name) {
            one_of(name, value, allowed)?;
        }
    }
    if let Some(stream) = present(body, "stream") {
        fields::boolean("stream", stream)?;
    }
    stop_sequences(body)
}

fn stop_sequences(body: &Fields) -> Result<(), ApiError> {
    let Some(stops) = present(body, "stop_sequences") else {
        return Ok(());
    };
    for (index, stop) in array("stop_sequences", stops)?.iter().enumerate() {
        let path = format!("stop_sequences.{index}");
        if string(&path, stop)?.trim().is_empty() {
            return Err(ApiError::at(
                "stop_sequences",
                "each stop sequence must contain non-whitespace",
            ));
        }
    }
    Ok(())
}

/// Checks `system`: a string, or text blocks.
pub(super) fn system(body: &Fields, subject: &Subject<'_>) -> Result<(), ApiError> {
    match present(body, "system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(value) => {
            for (index, block) in array("system", value)?.iter().enumerate() {
                let path = format!("system.{index}");
                super::blocks::system(&path, block, subject.access)?;
            }
            Ok(())
        }
    }
}
