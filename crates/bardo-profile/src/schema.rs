//! Answers held to a schema: the check, one more question where it fails, and answers that came as
//! the arguments of a tool.

mod checker;
mod extract;
mod lift;
mod repair;

use bardo_types::profile::ResponseSchema;
use serde_json::Value;

pub use lift::AnswerLift;
pub use repair::repair_request;

/// The schema that an answer is checked against.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaCheck {
    /// The schema to check against.
    pub schema: ResponseSchema,
    /// The side that enforces it.
    pub mode: SchemaMode,
}

/// The way a schema is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// By the provider.
    Native,
    /// By a tool whose arguments are the answer; [`AnswerLift`] makes them the answer again.
    Tool,
    /// By words alone.
    Prompt,
}

impl SchemaMode {
    /// The name in receipts and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }
}

impl SchemaCheck {
    /// Checks an answer.
    ///
    /// The checked keywords: `type`, `enum`, `const`, `properties`, `required`,
    /// `additionalProperties`, `items`, `prefixItems`, the bounds of numbers, texts, lists and
    /// objects, `multipleOf`, `uniqueItems`, `anyOf`, `oneOf`, `allOf`, `not`, and `$ref` within the
    /// schema. Other keywords, `pattern` and `format` among them, are not checked.
    ///
    /// # Errors
    /// With what is wrong and where, in words that a model can act on.
    pub fn check(&self, text: &str) -> Result<(), Vec<String>> {
        let Some(json) = self.json(text) else {
            return Err(vec!["the answer is not JSON".to_owned()]);
        };
        let answer: Value =
            serde_json::from_str(json).map_err(|error| vec![format!("not JSON: {error}")])?;
        let schema: Value = self
            .schema
            .schema
            .read()
            .map_err(|_| vec!["the schema itself is not JSON".to_owned()])?;
        let wrong = checker::check(&schema, &answer);
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// The JSON of an answer. A model that was asked in words may put it in a code fence, or other
    /// words around it; an answer that the provider shaped is taken as it is.
    #[must_use]
    pub fn json<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self.mode {
            SchemaMode::Native => Some(text.trim()).filter(|text| !text.is_empty()),
            SchemaMode::Tool | SchemaMode::Prompt => extract::json(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::named_schema;

    fn check(mode: SchemaMode, text: &str) -> Result<(), Vec<String>> {
        SchemaCheck {
            schema: named_schema("heartbeat_decision").unwrap(),
            mode,
        }
        .check(text)
    }

    const GOOD: &str = r#"{"action":"hold","severity":"low","target":"","reasoning":"calm","confidence":0.9,"sources":[]}"#;

    #[test]
    fn a_good_answer_passes_in_any_wrapping_that_words_allow() {
        assert_eq!(check(SchemaMode::Native, GOOD), Ok(()));
        for wrapped in [
            GOOD.to_owned(),
            format!("```json\n{GOOD}\n```"),
            format!("Here is my decision:\n\n```\n{GOOD}\n```\nDone."),
            format!("Sure {{as asked}}: {GOOD} — that is all."),
        ] {
            assert_eq!(check(SchemaMode::Prompt, &wrapped), Ok(()), "{wrapped}");
        }
        assert!(check(SchemaMode::Native, &format!("```\n{GOOD}\n```")).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let wrong = GOOD.replace("hold", "panic").replace("0.9", "\"high\"");
        let told = check(SchemaMode::Native, &wrong).unwrap_err();
        assert_eq!(
            told,
            [
                "/action is \"panic\" and must be one of \"observe\", \"hold\", \"act\", \
                 \"escalate\", \"rest\"",
                "/confidence is a string and must be a number",
            ]
        );
        let told = check(SchemaMode::Prompt, "I would hold.").unwrap_err();
        assert_eq!(told, ["the answer is not JSON"]);
        let told = check(SchemaMode::Native, r#"{"more":1}"#).unwrap_err();
        assert_eq!(told.len(), 7, "{told:?}");
        assert_eq!(told[0], "/action is missing");
        assert_eq!(told[6], "/more is not allowed");
    }
}
