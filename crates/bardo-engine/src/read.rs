//! What a body says at its top level, and what its caller tells beside it.

use std::sync::Arc;

use bardo_access::KeyTier;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;
use bardo_wire::content_form;
use bardo_wire::json::{Str, TopLevel, scan};

use crate::call::{Call, Top};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hints::Hints;
use crate::memory::Memory;
use crate::received::{Payer, Received, Task};
use crate::request_body::RequestBody;
use crate::snapshot::Snapshot;
use tokio::time::Instant;

impl Engine {
    /// Reads a request and refuses it where it is malformed. Does no I/O.
    ///
    /// # Errors
    /// When the body or the hints are malformed.
    pub fn read(&self, received: Received) -> Result<Call, EngineError> {
        let now = (Instant::now(), self.services.clock.now_ms());
        read(received, self.snapshot(), &self.memory, now)
    }
}

fn read(
    mut received: Received,
    snapshot: Arc<Snapshot>,
    memory: &Memory,
    now: (Instant, u64),
) -> Result<Call, EngineError> {
    let top = scan(&received.body)?;
    let hints = &mut received.hints;
    if let Some(json) = top.get("bardo") {
        hints.body(json)?;
    }
    hints.name_cache();
    hints.compare_counts();
    let is_agent = matches!(
        &received.principal.payer,
        Payer::Prepaid(terms) if terms.tier == Some(KeyTier::Golem)
    );
    hints.check(is_agent)?;
    let model = read_model(&top)?;
    if received.task == Task::Generate {
        if received.dialect == Dialect::Anthropic {
            require_limit(&top)?;
        }
        check_numbers(received.dialect, &top)?;
    }
    if received.task != Task::Embeddings {
        check_conversation(received.dialect, &top)?;
    }
    if received.task == Task::Embeddings && top.get("input").is_none() {
        let message = "`input` is required: a text or a list of texts";
        return Err(BadRequest::new("input", message).into());
    }
    let stream = read_flag(&top, "stream")?;
    let include_usage = stream && includes_usage(&top)?;
    let members = top.into_members();
    check_subsystem(hints.subsystem.as_deref().unwrap_or_default(), &snapshot)?;
    let request_body = RequestBody::new(
        received.task,
        received.dialect,
        received.body.clone(),
        members,
        received.principal.account.as_str(),
        memory,
    )
    .with_referenced_items(memory)?;
    go_on(&mut received.hints, &request_body, memory);
    let top = Top {
        request_body,
        model,
        stream: stream && received.task == Task::Generate,
        include_usage,
    };
    Ok(Call::new(received, top, snapshot, now))
}

/// Raises the floor of a request that goes on with what the gateway remembers to the class of that:
/// a stored response, thinking beside tool calls.
fn go_on(hints: &mut Hints, request_body: &RequestBody, memory: &Memory) {
    let class = request_body.remembered_class(memory);
    if class > SecurityClass::Standard {
        let route = hints.route.get_or_insert_default();
        route.remembered_class = Some(class);
    }
}

/// Refuses a part of an agent whose name is nearly that of one which the router knows.
fn check_subsystem(name: &str, snapshot: &Snapshot) -> Result<(), BadRequest> {
    if name.is_empty() || snapshot.router.subsystem(name).is_some() {
        return Ok(());
    }
    match snapshot.router.subsystem_like(name) {
        None => Ok(()),
        Some(right) => {
            let message =
                format!("`subsystem` is `{name}`, which is unknown; did you mean `{right}`?");
            Err(BadRequest::new("bardo.subsystem", message))
        }
    }
}

fn read_model(top: &TopLevel<'_>) -> Result<Arc<str>, BadRequest> {
    let Some(json) = top.get("model") else {
        return Err(BadRequest::new(
            "model",
            "`model` is required; list the models with `GET /v1/models`",
        ));
    };
    match serde_json::from_str::<Str<'_>>(json) {
        Ok(model) if !model.trim().is_empty() && model.len() <= 256 => Ok(Arc::from(&*model)),
        Ok(_) => Err(BadRequest::new("model", "`model` must have 1 to 256 bytes")),
        Err(_) => Err(BadRequest::new("model", "`model` must be a string")),
    }
}

/// Refuses a Messages request without its limit, which the dialect requires, before some backend
/// is asked that happens to do without.
fn require_limit(top: &TopLevel<'_>) -> Result<(), BadRequest> {
    match top.get("max_tokens").map(str::trim) {
        None | Some("null") => Err(BadRequest::new(
            "max_tokens",
            "`max_tokens` is required in Messages requests",
        )),
        Some(_) => Ok(()),
    }
}

/// Longest list of messages or items whose content parts are checked before a relay, in bytes. In a
/// longer one the ends of the list alone are looked at; the rest is read where it is translated.
const CHECKED_MAX: usize = 16 << 10;

/// Refuses a conversation that is no list of objects, or has a part without a text `type`, before a
/// backend is chosen: no provider can read it. A part of an unknown type passes: it may be new.
fn check_conversation(dialect: Dialect, top: &TopLevel<'_>) -> Result<(), BadRequest> {
    let (key, forms) = match dialect {
        Dialect::Chat | Dialect::Anthropic => (
            "messages",
            r#"a list of messages, such as [{"role":"user","content":"Hello"}]"#,
        ),
        Dialect::Responses => (
            "input",
            r#"a text, or a list of items such as [{"role":"user","content":"Hello"}]"#,
        ),
        Dialect::Completions | Dialect::Gemini => return Ok(()),
    };
    let wrong = |what: &str| {
        let refusal = BadRequest::new(key, format!("{what} must be {forms}"));
        Err(refusal.unreadable())
    };
    let is_list_alone = key == "messages";
    let json = match top.raw(key).map(<[u8]>::trim_ascii) {
        // OpenRouter takes a `prompt` in place of messages.
        None if !is_list_alone || top.member("prompt").is_some() => return Ok(()),
        None => {
            let refusal = BadRequest::new(key, format!("`{key}` is required: {forms}"));
            return Err(refusal.unreadable());
        }
        Some(b"null") if !is_list_alone => return Ok(()),
        Some([b'"', ..]) if !is_list_alone => return Ok(()),
        Some(json) => json,
    };
    let Some(inner) = json
        .strip_prefix(b"[")
        .and_then(|json| json.strip_suffix(b"]"))
    else {
        return wrong(&format!("`{key}`"));
    };
    match inner.trim_ascii() {
        [] if is_list_alone => {
            let message = format!("`{key}` is empty; send at least one message");
            Err(BadRequest::new(key, message).unreadable())
        }
        [] => Ok(()),
        // A second pass over a long history would cost as much as the scan of the body.
        [b'{', .., b'}'] if inner.len() > CHECKED_MAX => Ok(()),
        _ => {
            content_form::check(dialect, key, json)?;
            match top.raw("system") {
                Some(system) if dialect == Dialect::Anthropic => {
                    content_form::check(dialect, "system", system.trim_ascii())
                }
                _ => Ok(()),
            }
        }
    }
}

/// Refuses limits and counts that are no numbers. The hold and the choice of a backend depend on
/// them, so that a mistake must not send the request elsewhere. Which numbers are in range, the
/// provider says.
fn check_numbers(dialect: Dialect, top: &TopLevel<'_>) -> Result<(), BadRequest> {
    let keys: &[&'static str] = match dialect {
        Dialect::Chat => &["max_completion_tokens", "max_tokens", "n"],
        Dialect::Completions => &["max_tokens", "n", "best_of"],
        Dialect::Responses => &["max_output_tokens"],
        Dialect::Anthropic | Dialect::Gemini => &["max_tokens"],
    };
    let is_number =
        |json: &str| json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    for &key in keys {
        let json = top.get(key).map_or("null", str::trim);
        if json != "null" && !is_number(json) {
            return Err(BadRequest::new(key, format!("`{key}` must be a number")));
        }
    }
    Ok(())
}

fn read_flag(top: &TopLevel<'_>, key: &'static str) -> Result<bool, BadRequest> {
    match top.get(key) {
        None | Some("null" | "false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(BadRequest::new(
            key,
            format!("`{key}` must be true or false"),
        )),
    }
}

fn includes_usage(top: &TopLevel<'_>) -> Result<bool, BadRequest> {
    #[derive(serde::Deserialize, Default)]
    struct StreamOptions {
        #[serde(default)]
        include_usage: Option<bool>,
    }
    let Some(json) = top.get("stream_options") else {
        return Ok(false);
    };
    let options: Option<StreamOptions> = serde_json::from_str(json).map_err(|error| {
        let message = bardo_wire::json::told(&error, "stream_options");
        BadRequest::new("stream_options", message)
    })?;
    Ok(options.unwrap_or_default().include_usage.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{ChatResponse, Choice, Opaque, Part, ToolCall};
    use bardo_types::json::RawJson;

    use super::*;

    #[track_caller]
    fn floor(memory: &Memory, dialect: Dialect, body: &'static str) -> Option<SecurityClass> {
        let members = scan(body.as_bytes()).unwrap().into_members();
        let request_body = RequestBody::new(
            Task::Generate,
            dialect,
            body.into(),
            members,
            "owner",
            memory,
        )
        .with_referenced_items(memory)
        .unwrap();
        let mut hints = Hints::default();
        go_on(&mut hints, &request_body, memory);
        hints.route.and_then(|route| route.remembered_class)
    }

    #[test]
    fn a_request_that_goes_on_has_the_floor_of_what_is_remembered() {
        let memory = Memory::default();
        let item = RawJson::empty_object();
        let tee = SecurityClass::Tee;
        memory.keep_items("owner", "resp_1", vec![item.clone()], tee);
        memory.keep_items("owner", "resp_2", vec![item], SecurityClass::Standard);
        memory.keep_items("other", "resp_3", Vec::new(), tee);
        let of = |body| floor(&memory, Dialect::Responses, body);
        let secret = r#"{"model":"m","input":"x","previous_response_id":"resp_1"}"#;
        assert_eq!(of(secret), Some(tee));
        let open = r#"{"model":"m","input":"x","previous_response_id":"resp_2"}"#;
        assert_eq!(of(open), None);
        let others = r#"{"model":"m","input":"x","previous_response_id":"resp_3"}"#;
        assert_eq!(of(others), None);
        memory.keep_output("owner", "resp_ab", vec![RawJson::empty_object()], tee);
        let referring = r#"{"model":"m","input":[{"type":"item_reference","id":"m_bardo_ab_0"}]}"#;
        assert_eq!(of(referring), Some(tee));

        let mut call = ToolCall::new("call_1", "f", "{}");
        call.opaque = Some(Opaque::GeminiSignature("s".into()));
        let answer = ChatResponse {
            choices: vec![Choice {
                parts: vec![Part::ToolCall(call)],
                ..Choice::default()
            }],
            ..ChatResponse::default()
        };
        let body = r#"{"model":"m","messages":[{"role":"user","content":"x"},
            {"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_1","content":"y"}]}"#;
        assert_eq!(floor(&memory, Dialect::Chat, body), None);
        memory.keep_calls("owner", &answer, SecurityClass::Private);
        let expected = Some(SecurityClass::Private);
        assert_eq!(floor(&memory, Dialect::Chat, body), expected);
    }
}
