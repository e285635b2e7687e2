//! DeepSeek: chat completions with visible reasoning that tool turns must bring back.

use http::Method;
use serde_json::{Value, json};

use crate::chat::order::{self, Broken};
use crate::chat::{self, Asked, Caching, Counts, Flavor, Thoughts, UsageChunk};
use crate::recorded::Recorded;
use crate::reply::{Content, Reply};
use crate::script::Turn;
use crate::world::{KeyProblem, World};

const FLAVOR: Flavor = Flavor {
    id_prefix: "",
    call_prefix: "call_00_",
    thoughts: Thoughts::Field {
        name: "reasoning_content",
        null_other: true,
    },
    usage_chunk: UsageChunk::WithFinish,
    usage,
    comment: Some("keep-alive"),
    index_zero: false,
    reshape: reason_before_calls,
    decorate: |object, _| {
        object.insert("system_fingerprint".to_owned(), json!("fp_sandbox_prod"));
    },
};

const MODELS: &str = include_str!("../data/deepseek.json");

/// Answers below `/deepseek`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    let trimmed = ["/v1/", "/beta/"]
        .iter()
        .find_map(|base| request.path.strip_prefix(base));
    let path = trimmed.unwrap_or_else(|| request.path.trim_start_matches('/'));
    let reply = match (&request.method, path) {
        _ if world
            .check_key(request.bearer().or(request.header("x-api-key")))
            .is_err() =>
        {
            unauthorized(request, world)
        }
        (&Method::POST, "chat/completions") => {
            chat_completions(request, world).unwrap_or_else(|message| error(400, &message))
        }
        (&Method::POST, "anthropic/v1/messages") => {
            return crate::anthropic::resold_messages(request, world);
        }
        (&Method::GET, "models") => Reply::whole(200, "application/json", MODELS.into()),
        (&Method::GET, "user/balance") => Reply::json(
            200,
            &json!({ "is_available": true, "balance_infos": [{ "currency": "USD",
                "total_balance": "110.00", "granted_balance": "10.00",
                "topped_up_balance": "100.00" }] }),
        ),
        _ => refuse(404, request),
    };
    reply
        .with_header(
            "x-ds-trace-id",
            world.hex_id("", 32, &[&request.seq.to_be_bytes()]),
        )
        .with_header("server", "CloudWAF")
        .with_header("set-cookie", "HWWAFSESID=sandbox-canary; path=/")
}

fn chat_completions(request: &Recorded, world: &World) -> Result<Reply, String> {
    let body = request
        .json()
        .map_err(|error| format!("Failed to parse the request body as JSON: {error}"))?;
    let model = match body.get("model").and_then(Value::as_str) {
        Some("deepseek-flash") => "deepseek-v4-flash",
        Some(model @ ("deepseek-v4-flash" | "deepseek-v4-pro")) => model,
        Some(_) => return Err("Model Not Exist".to_owned()),
        None => return Err(unread("missing field `model`")),
    };
    let thinking = body.pointer("/thinking/type").and_then(Value::as_str) != Some("disabled");
    validate(&body, thinking)?;
    let asked = Asked {
        request,
        body: &body,
        model: model.to_owned(),
        can_think: thinking,
        thinking,
        caching: Caching::Automatic,
    };
    let mut reply = chat::answer(&asked, &FLAVOR, world)?;
    if let Content::Whole(bytes) = &mut reply.content {
        // While a request waits in the queue, the service keeps the line warm with blank lines.
        *bytes = [b"\n", &bytes[..]].concat().into();
    }
    Ok(reply)
}

/// A model that thinks never calls a tool without a thought, whatever a script leaves out.
fn reason_before_calls(turn: &mut Turn, asked: &Asked<'_>) {
    if asked.thinking && turn.think.is_none() && !turn.tools.is_empty() {
        turn.think = Some("A tool can tell.".to_owned());
    }
}

fn unread(reason: &str) -> String {
    format!("Failed to deserialize the JSON body into the target type: {reason}")
}

fn validate(body: &Value, thinking: bool) -> Result<(), String> {
    let messages = match body.get("messages").and_then(Value::as_array) {
        Some(messages) if !messages.is_empty() => messages,
        Some(_) => return Err("Empty input messages".to_owned()),
        None => return Err(unread("missing field `messages`")),
    };
    for (at, message) in messages.iter().enumerate() {
        self::message(at, message)?;
    }
    match order::check(messages) {
        Ok(()) => {}
        Err(Broken::Unanswered { .. }) => {
            return Err(
                "An assistant message with 'tool_calls' must be followed by tool messages \
                 responding to each 'tool_call_id'. (insufficient tool messages following \
                 tool_calls message)"
                    .to_owned(),
            );
        }
        Err(Broken::Orphan { .. } | Broken::Twice { .. }) => {
            return Err(
                "Messages with role 'tool' must be a response to a preceding message with \
                 'tool_calls'"
                    .to_owned(),
            );
        }
    }
    let forgot = |message: &Value| {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        calls.is_some_and(|calls| !calls.is_empty())
            && message
                .get("reasoning_content")
                .and_then(Value::as_str)
                .is_none()
    };
    if thinking && messages.iter().any(forgot) {
        return Err(
            "The reasoning_content in the thinking mode must be passed back to the API".to_owned(),
        );
    }
    settings(body)
}

fn message(at: usize, message: &Value) -> Result<(), String> {
    let role = message
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !matches!(
        role,
        "system" | "user" | "assistant" | "tool" | "latest_reminder"
    ) {
        return Err(unread(&format!(
            "messages[{at}].role: unknown variant `{role}`, expected one of `system`, `user`, \
             `assistant`, `tool`, `latest_reminder`"
        )));
    }
    match message.get("content") {
        Some(Value::Array(parts)) => {
            for part in parts {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                if kind != "text" {
                    return Err(unread(&format!(
                        "messages[{at}]: unknown variant `{kind}`, expected `text`"
                    )));
                }
            }
            Ok(())
        }
        Some(Value::String(_)) => Ok(()),
        None | Some(Value::Null) if role == "assistant" => Ok(()),
        _ => Err(unread(&format!("messages[{at}]: missing field `content`"))),
    }
}

fn settings(body: &Value) -> Result<(), String> {
    let tools = body.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind != "function" {
            return Err(unread(&format!(
                "tools[0].type: unknown variant `{kind}`, expected `function`"
            )));
        }
    }
    match body
        .pointer("/response_format/type")
        .and_then(Value::as_str)
    {
        None | Some("text") => {}
        Some("json_object") => {
            if !body["messages"].to_string().to_lowercase().contains("json") {
                return Err("Prompt must contain the word 'json' in some form to use \
                     'response_format' of type 'json_object'."
                    .to_owned());
            }
        }
        Some(_) => return Err("This response_format type is unavailable now".to_owned()),
    }
    let efforts = ["minimal", "low", "medium", "high", "xhigh", "max", "ultra"];
    match body.get("reasoning_effort") {
        Some(Value::String(effort)) if !efforts.contains(&effort.as_str()) => {
            Err(unread(&format!(
                "reasoning_effort: unknown variant `{effort}`, expected one of `low`, `high`, `max`"
            )))
        }
        _ => Ok(()),
    }
}

fn usage(counts: &Counts) -> Value {
    let (input, output, read) = (counts.input, counts.output, counts.cache_read);
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": read },
        "completion_tokens_details": { "reasoning_tokens": counts.reasoning },
        "prompt_cache_hit_tokens": read,
        "prompt_cache_miss_tokens": input.saturating_sub(read),
    })
}

fn unauthorized(request: &Recorded, world: &World) -> Reply {
    match world.check_key(request.bearer()) {
        Err(KeyProblem::Missing) => error(
            401,
            "Authentication Fails (auth header format should be Bearer sk-...)",
        ),
        _ => error(401, "Authentication Fails, Your api key: ****is invalid"),
    }
}

fn error(status: u16, message: &str) -> Reply {
    let kind = match status {
        401 => "authentication_error",
        402 => "unknown_error",
        429 => "rate_limit_reached_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    Reply::json(
        status,
        &json!({ "error": { "message": message, "type": kind, "param": null,
            "code": "invalid_request_error" } }),
    )
}

/// A refusal with this status in the shape of the service.
pub(crate) fn refuse(status: u16, _request: &Recorded) -> Reply {
    let message = match status {
        401 => "Authentication Fails, Your api key: ****is invalid",
        402 => "Insufficient Balance",
        404 => "Not Found",
        429 => "Rate limit reached",
        503 => {
            "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers."
        }
        500.. => "Internal server error",
        _ => "Invalid request",
    };
    error(status, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(more: Value) -> Reply {
        let mut body = json!({ "model": "deepseek-v4-flash",
            "messages": [{ "role": "user", "content": "hi" }] });
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        handle(
            &Recorded::test("deepseek", "/chat/completions", &body),
            &World::new(7, Vec::new()),
        )
    }

    #[test]
    fn reasoning_comes_before_content_and_null_marks_the_other() {
        let events = ask(json!({ "stream": true })).events();
        let delta = |at: usize| events[at]["choices"][0]["delta"].clone();
        assert_eq!(
            delta(0),
            json!({ "role": "assistant", "content": null, "reasoning_content": "" })
        );
        assert_eq!(delta(1)["content"], Value::Null);
        assert!(delta(1)["reasoning_content"].is_string());
        let last = events.last().expect("one");
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        assert_eq!(last["usage"]["prompt_cache_hit_tokens"], 0);
        let off = ask(json!({ "thinking": { "type": "disabled" } })).body();
        assert_eq!(off["choices"][0]["message"].get("reasoning_content"), None);
    }

    #[test]
    fn a_tool_turn_needs_its_reasoning() {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } });
        let turn = |reasoning: Value| {
            let mut assistant = json!({ "role": "assistant", "content": "", "tool_calls": [call] });
            if !reasoning.is_null() {
                assistant["reasoning_content"] = reasoning;
            }
            json!({ "messages": [{ "role": "user", "content": "x" }, assistant,
                { "role": "tool", "tool_call_id": "a", "content": "1" }] })
        };
        assert_eq!(ask(turn(json!("thought"))).status, 200);
        let refused = ask(turn(Value::Null));
        assert_eq!(refused.status, 400);
        assert!(refused.body().to_string().contains("must be passed back"));
        let mut off = turn(Value::Null);
        off["thinking"] = json!({ "type": "disabled" });
        assert_eq!(ask(off).status, 200);
    }

    #[test]
    fn a_call_comes_with_a_thought_even_where_the_script_has_none() {
        let text = r#"bardo-script: {"steps":[{"tools":[{"name":"f"}]}]}"#;
        let scripted = json!({ "messages": [{ "role": "user", "content": text }] });
        let message = |body: Value| ask(body).body()["choices"][0]["message"].clone();
        assert!(message(scripted.clone())["reasoning_content"].is_string());
        let mut off = scripted;
        off["thinking"] = json!({ "type": "disabled" });
        assert_eq!(message(off).get("reasoning_content"), None);
    }

    #[test]
    fn what_the_service_cannot_read_is_refused() {
        for more in [
            json!({ "model": "deepseek-reasoner" }),
            json!({ "messages": [{ "role": "developer", "content": "x" }] }),
            json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }),
            json!({ "response_format": { "type": "json_schema" } }),
        ] {
            assert_eq!(ask(more.clone()).status, 400, "{more}");
        }
    }

    #[test]
    fn a_whole_answer_may_start_with_a_blank_line() {
        let reply = ask(json!({}));
        assert!(matches!(&reply.content, Content::Whole(bytes) if bytes.starts_with(b"\n")));
        assert_eq!(reply.body()["object"], "chat.completion");
    }
}
