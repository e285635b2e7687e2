//! Hints of the caller to the gateway: the body object `bardo` and the `X-Bardo-*` headers.

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
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BodyHints {
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
            .body(r#"{"intent":{"require":["citations"]},"metadata":true,"vitality":0.3}"#)
            .unwrap();
        assert_eq!(
            hints,
            Hints {
                require: vec!["citations".into()],
                metadata: true,
                is_repeated: false,
            }
        );
        assert_eq!(
            hints.body(r#"{"metadata":"yes"}"#).unwrap_err().param,
            "bardo"
        );
    }
}
