//! What the tests set up: subsystems, callers, models.

use bardo_profile::{Model, ProfileTable, Sources, Wanted, wanted};
use bardo_types::chat::{ChatRequest, MarkPlan, Message, Part, Role, Text};
use bardo_types::hints::RouteHints;
use bardo_types::intent::{Intent, Quality};
use bardo_types::model::{Capabilities, Dialect, Service};
use bardo_types::privacy::SecurityClass;
use bardo_types::subsystem::Subsystem;

/// A part of an agent with a row of its own name and the attributes of its row in the table of subsystems.
pub(crate) fn subsystem(name: &str) -> Subsystem {
    Subsystem {
        name: name.to_owned(),
        group: name.split('_').next().unwrap_or(name).to_owned(),
        intent: Intent::default(),
        profile: Some(name.to_owned()),
        floor: SecurityClass::Standard,
        protected: matches!(name, "risk" | "operator") || name.starts_with("death"),
        locked: matches!(name, "risk" | "operator" | "death_reflect"),
        creative: name.starts_with("hypnagogic"),
        interactive: name == "operator",
        heartbeat: name.starts_with("heartbeat"),
        route: Vec::new(),
    }
}

pub(crate) fn wish(name: &str, hints: &RouteHints) -> Wanted {
    wanted(&Sources {
        subsystem: Some(&subsystem(name)),
        hints,
        owner: None,
        quality: Quality::Medium,
    })
    .expect("a row was named")
}

pub(crate) fn rows() -> Vec<&'static str> {
    ProfileTable::embedded()
        .rows()
        .map(|(name, _)| name)
        .collect()
}

pub(crate) fn message(role: Role, text: &str) -> Message {
    Message::new(role, vec![Part::Text(Text::new(text))])
}

/// A plain request: a system prompt and a question.
pub(crate) fn question(dialect: Dialect) -> ChatRequest {
    let mut request = ChatRequest::new(dialect, "m");
    request.messages = vec![
        message(Role::System, "You are an agent."),
        message(Role::User, "What now?"),
    ];
    request
}

pub(crate) fn model<'a>(
    capabilities: &'a Capabilities,
    service: Service,
    dialect: Dialect,
    name: &'a str,
) -> Model<'a> {
    Model {
        capabilities,
        service,
        dialect,
        name,
        security: SecurityClass::Standard,
        takes_sampling: true,
        marks: MarkPlan::USUAL,
    }
}
