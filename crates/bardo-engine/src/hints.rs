//! Hints of the caller to the gateway: the body object `bardo` and the `X-Bardo-*` headers.

use std::sync::Arc;

use bardo_wire::codec::BadRequest;
use serde::Deserialize;

/// The hints that this part of the gateway acts on. Others are accepted for the parts that will.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Features whose loss is an error and not a degradation.
    pub require: Vec<String>,
    /// The caller wants the final figures inside the answer.
    pub metadata: bool,
    /// The caller's SDK says that it has sent this request before.
    pub is_repeated: bool,
    /// The caller's name for its session; budgets may be set for one.
    pub session: Option<Arc<str>>,
    /// The part of the caller that asks.
    pub subsystem: Option<Arc<str>>,
}

/// Longer names are cut; they are names, not places to keep things.
const NAME_MAX: usize = 128;

fn bounded(text: &str) -> Option<Arc<str>> {
    let text = text.trim();
    let end = text.floor_char_boundary(NAME_MAX);
    Some(text[..end].into()).filter(|text: &Arc<str>| !text.is_empty())
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BodyHints {
    session_id: Option<String>,
    subsystem: Option<String>,
    intent: Option<IntentHints>,
    metadata: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct IntentHints {
    require: Option<Vec<String>>,
}

impl Hints {
    /// Takes one `X-Bardo-*` header, by its name without the prefix.
    pub fn header(&mut self, name: &str, value: &str) {
        match name {
            "require" | "intent-require" => {
                self.require = value
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .filter(|name| !name.is_empty())
                    .collect();
            }
            "session-id" => self.session = bounded(value),
            "subsystem" => self.subsystem = bounded(value),
            "metadata" => self.metadata = value == "true",
            _ => {}
        }
    }

    /// Takes the body object, whose members win over headers.
    ///
    /// # Errors
    /// When a member has the wrong type.
    pub fn body(&mut self, json: &str) -> Result<(), BadRequest> {
        let hints: BodyHints = serde_json::from_str(json).map_err(|error| {
            BadRequest::new(
                "bardo",
                format!("`bardo` must be an object of hints: {error}"),
            )
        })?;
        if let Some(require) = hints.intent.and_then(|intent| intent.require) {
            self.require = require;
        }
        if let Some(metadata) = hints.metadata {
            self.metadata = metadata;
        }
        if let Some(session) = hints.session_id {
            self.session = bounded(&session);
        }
        if let Some(subsystem) = hints.subsystem {
            self.subsystem = bounded(&subsystem);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Hints;

    #[test]
    fn the_body_wins_over_headers() {
        let mut hints = Hints::default();
        hints.header("require", "vision, tools");
        assert_eq!(hints.require, ["vision", "tools"]);
        hints
            .body(r#"{"intent":{"require":["citations"]},"metadata":true,"vitality":0.3,"session_id":" s1 "}"#)
            .unwrap();
        assert_eq!(
            hints,
            Hints {
                require: vec!["citations".into()],
                metadata: true,
                is_repeated: false,
                session: Some("s1".into()),
                subsystem: None,
            }
        );
        assert_eq!(
            hints.body(r#"{"metadata":"yes"}"#).unwrap_err().param,
            "bardo"
        );
    }
}
