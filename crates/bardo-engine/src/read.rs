//! What a body says at its top level, and what its caller tells beside it.

use std::sync::OnceLock;

use bardo_types::chat::ChatRequest;
use bardo_wire::codec::BadRequest;
use bardo_wire::json::{Member, TopLevel, scan};

use crate::error::EngineError;
use crate::hints::Hints;
use crate::received::{Received, Task};
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
        hints.check()?;
        let model = read_model(&top)?;
        let stream = read_flag(&top, "stream")?;
        let include_usage = stream && includes_usage(&top)?;
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
            facts: routing::shown(neutral, received.dialect, size, self.stream),
        }
    }
}

fn read_model(top: &TopLevel<'_>) -> Result<String, BadRequest> {
    let Some(json) = top.get("model") else {
        return Err(BadRequest::new(
            "model",
            "`model` is required; `GET /v1/models` lists what is served",
        ));
    };
    match serde_json::from_str::<String>(json) {
        Ok(model) if !model.trim().is_empty() && model.len() <= 256 => Ok(model),
        Ok(_) => Err(BadRequest::new(
            "model",
            "`model` must be a name of 1 to 256 bytes",
        )),
        Err(_) => Err(BadRequest::new("model", "`model` must be a string")),
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
