//! What a body says at its top level, and what its caller tells beside it.

use std::sync::OnceLock;

use bardo_access::Tier;
use bardo_router::Facts;
use bardo_types::chat::ChatRequest;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::BadRequest;
use bardo_wire::json::{Member, TopLevel, scan};
use bardo_wire::responses;

use crate::error::EngineError;
use crate::hints::Hints;
use crate::memory::Memory;
use crate::received::{Payer, Received, Task};
use crate::routing::{self, Question};
use crate::size::Size;
use crate::world::World;

/// A received request of which the top level was read.
pub(crate) struct Read {
    pub(crate) received: Received,
    pub(crate) members: Vec<Member>,
    pub(crate) hints: Hints,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) size: OnceLock<Size>,
}

impl Read {
    /// Reads it in one pass.
    pub(crate) fn of(mut received: Received) -> Result<Self, EngineError> {
        let top = scan(&received.body)?;
        let mut hints = std::mem::take(&mut received.hints);
        if let Some(json) = top.get("bardo") {
            hints.body(json)?;
        }
        hints.name_cache();
        let is_agent = matches!(
            &received.principal.payer,
            Payer::Prepaid(key) if key.tier == Some(Tier::Golem)
        );
        hints.check(is_agent)?;
        let model = read_model(&top)?;
        if received.dialect == Dialect::Anthropic && received.task == Task::Generate {
            require_limit(&top)?;
        }
        let stream = read_flag(&top, "stream")?;
        let include_usage = stream && includes_usage(&top)?;
        if stream && received.task == Task::Generate {
            hints.streamed();
        }
        let members = top.into_members();
        Ok(Self {
            stream: stream && received.task == Task::Generate,
            received,
            members,
            hints,
            model,
            include_usage,
            size: OnceLock::new(),
        })
    }

    /// Raises the floor of a request that goes on with what the gateway remembers to the class of
    /// that: a stored response, thinking beside tool calls.
    pub(crate) fn go_on(&mut self, memory: &Memory) {
        let account = self.received.principal.account.as_str();
        let top = TopLevel::over(&self.received.body, &self.members);
        let stored = if self.received.dialect == Dialect::Responses {
            responses::previous_response_id(&top)
        } else {
            None
        };
        let stored = stored.and_then(|id| memory.class_of_items(account, &id));
        let of_calls = if memory.guards(account) {
            let request = self.neutral();
            request.map(|request| memory.class_of_calls(account, &request))
        } else {
            None
        };
        let class = stored.max(of_calls).unwrap_or_default();
        if class > SecurityClass::Standard {
            let route = self.hints.route.get_or_insert_default();
            route.remembered_class = Some(class);
        }
    }

    /// Refuses a part of an agent whose name is nearly that of one which the router knows.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn check_subsystem(&self, world: &World) -> Result<(), BadRequest> {
        let name = self.hints.subsystem.as_deref().unwrap_or_default();
        if name.is_empty() || world.router.subsystem(name).is_some() {
            return Ok(());
        }
        match world.router.subsystem_like(name) {
            None => Ok(()),
            Some(right) => {
                let message =
                    format!("`subsystem` is `{name}`, which is unknown; did you mean `{right}`?");
                Err(BadRequest::new("bardo.subsystem", message))
            }
        }
    }

    /// Whether the caller leaves anything to the router.
    pub(crate) fn is_open(&self) -> bool {
        Question::is_open(&self.model, self.hints.route.as_deref())
    }

    /// The request in neutral form, where it can be read.
    pub(crate) fn neutral(&self) -> Option<ChatRequest> {
        let received = &self.received;
        routing::neutral(received.task, received.dialect, &received.body)
    }

    /// What the router is asked about it.
    pub(crate) fn question<'a>(
        &'a self,
        world: &'a World,
        neutral: Option<&ChatRequest>,
    ) -> Question<'a> {
        let received = &self.received;
        let size = self.size.get_or_init(|| {
            let top = TopLevel::over(&received.body, &self.members);
            Size::of(received.dialect, &top)
        });
        Question {
            principal: &received.principal,
            world,
            task: received.task,
            model: &self.model,
            hints: self.hints.route.as_deref(),
            facts: Facts {
                embeddings: received.task == Task::Embeddings,
                ..routing::shown(neutral, received.dialect, size, self.stream)
            },
        }
    }
}

fn read_model(top: &TopLevel<'_>) -> Result<String, BadRequest> {
    let Some(json) = top.get("model") else {
        return Err(BadRequest::new(
            "model",
            "`model` is required; list the models with `GET /v1/models`",
        ));
    };
    match serde_json::from_str::<String>(json) {
        Ok(model) if !model.trim().is_empty() && model.len() <= 256 => Ok(model),
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
        BadRequest::new(
            "stream_options",
            format!("`stream_options` is malformed: {error}"),
        )
    })?;
    Ok(options.unwrap_or_default().include_usage.unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{ChatResponse, Choice, Opaque, Part, ToolCall};
    use bardo_types::ids::RequestId;
    use bardo_types::json::RawJson;

    use super::*;
    use crate::received::Principal;

    fn received(dialect: Dialect, body: &'static str) -> Received {
        Received {
            request_id: RequestId::parse("req_1").unwrap(),
            client_request_id: None,
            task: Task::Generate,
            dialect,
            body: body.into(),
            forward: http::HeaderMap::new(),
            hints: Hints::default(),
            principal: Principal::owner("owner").unwrap(),
        }
    }

    #[track_caller]
    fn floor(memory: &Memory, dialect: Dialect, body: &'static str) -> Option<SecurityClass> {
        let mut read = Read::of(received(dialect, body)).unwrap();
        read.go_on(memory);
        read.hints.route.and_then(|route| route.remembered_class)
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
