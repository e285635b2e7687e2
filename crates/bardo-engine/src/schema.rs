//! Answers that are held to a schema: which of them nobody may get unchecked, and the check.
//!
//! A whole answer is checked before it is handed over. A stream is handed on as it comes, checked at
//! its end, and its receipt says what came of it; but where an answer in another form does harm
//! ([`crate::leg::Leg::holds_back`]) a stream is read to its end first, and one that misses its schema
//! becomes an error.

use std::sync::Arc;

use bardo_profile::{SchemaCheck, SchemaMode};
use bardo_types::chat::{ChatRequest, ChatResponse, Choice, OutputFormat, Part, Text};
use bardo_types::profile::ResponseSchema;

use crate::answer_notes::AnswerNotes;
use crate::call::Call;
use crate::shape::{AnswerMode, Shaped};

/// The name of a schema to which its caller gave none.
const NAMELESS: &str = "response";

/// The schema that an answer has to keep.
pub(crate) struct SchemaContract {
    pub(crate) check: SchemaCheck,
    /// Nobody may get an answer that misses it.
    pub(crate) is_strict: bool,
}

/// The result of checking an answer against its schema.
#[derive(Debug, PartialEq)]
pub(crate) enum SchemaVerdict {
    Kept,
    Missed(Vec<String>),
    /// The answer calls a tool and is not final, or it cannot be read and nothing depends on that.
    Unchecked,
}

impl SchemaContract {
    pub(crate) fn of(call: &Call, shaped: &Shaped) -> Option<Self> {
        let applied = shaped.leg.settings.applied()?;
        let is_strict = shaped.leg.holds_back(call);
        let unenforced = || is_strict.then(|| unenforced(call, shaped)).flatten();
        Some(Self {
            check: applied.schema.clone().or_else(unenforced)?,
            is_strict,
        })
    }

    /// Checks an answer; `None` is one that could not be read.
    pub(crate) fn judge(&self, answer: Option<&ChatResponse>) -> SchemaVerdict {
        let Some(answer) = answer else {
            return match self.is_strict {
                true => SchemaVerdict::Missed(vec!["the answer cannot be read".to_owned()]),
                false => SchemaVerdict::Unchecked,
            };
        };
        if answer.choices.iter().any(Choice::has_tool_calls) {
            return SchemaVerdict::Unchecked;
        }
        let checked = if self.is_strict {
            self.check_strictly(answer)
        } else {
            self.check.check(&text(answer))
        };
        checked.map_or_else(SchemaVerdict::Missed, |()| SchemaVerdict::Kept)
    }

    /// Every answer has to be the JSON alone: nothing is picked out of words.
    fn check_strictly(&self, answer: &ChatResponse) -> Result<(), Vec<String>> {
        if answer.choices.is_empty() {
            return Err(vec!["the answer is empty".to_owned()]);
        }
        for choice in &answer.choices {
            let said = text_of(choice);
            if !self
                .check
                .json(&said)
                .is_some_and(|json| is_alone(json, &said))
            {
                return Err(vec!["the answer is not JSON alone".to_owned()]);
            }
            self.check.check(&said)?;
        }
        Ok(())
    }
}

/// Whether nothing stands around the JSON but the fence of a code block.
fn is_alone(json: &str, said: &str) -> bool {
    let Some((before, after)) = said.split_once(json) else {
        return false;
    };
    let before = before.trim();
    let opened = before.strip_prefix("```").map(str::trim_end);
    before.is_empty() && after.trim().is_empty()
        || opened.is_some_and(|language| language.is_empty() || language == "json")
            && after.trim() == "```"
}

/// The schema of an answer that neither a provider nor a tool nor words hold to it: that of the
/// request itself, or that of the profile where the history lets nothing be added.
fn unenforced(call: &Call, shaped: &Shaped) -> Option<SchemaCheck> {
    let request = asked(call, shaped);
    let schema = match request.as_ref().map(|request| &request.output) {
        Some(OutputFormat::JsonSchema { name, schema, .. }) => ResponseSchema {
            name: name.clone().unwrap_or_else(|| NAMELESS.to_owned()),
            schema: schema.clone(),
            strict: false,
        },
        Some(OutputFormat::JsonObject) => return None,
        Some(OutputFormat::Text) | None => shaped.leg.wanted()?.profile.response_schema.clone()?,
    };
    let mode = SchemaMode::Native;
    Some(SchemaCheck { schema, mode })
}

/// Notes whether a streamed answer matches its schema; it is out, so it is not repaired.
pub(crate) fn note(check: &SchemaCheck, answer: &ChatResponse, notes: &mut dyn AnswerNotes) {
    if !answer.choices.iter().any(Choice::has_tool_calls) {
        notes.matched(check, check.check(&text(answer)).is_ok());
    }
}

/// The request as it was sent, in neutral form.
pub(crate) fn asked(call: &Call, shaped: &Shaped) -> Option<Arc<ChatRequest>> {
    match &shaped.mode {
        AnswerMode::Transcode(translation) => Some(Arc::clone(&translation.decode.request)),
        AnswerMode::Relay { .. } => call.request_body().known_neutral().cloned(),
    }
}

/// Where the model was told its schema in words, the JSON is handed over without the words around
/// it.
pub(crate) fn plain(check: &SchemaCheck, response: &mut ChatResponse) {
    if check.mode != SchemaMode::Prompt {
        return;
    }
    for choice in &mut response.choices {
        let said = text_of(choice);
        let Some(json) = check.json(&said).filter(|json| json.len() < said.len()) else {
            continue;
        };
        if check.check(json).is_err() {
            continue;
        }
        choice.parts.retain(|part| words(part).is_none());
        choice.parts.push(Text::new(json).into());
    }
}

fn words(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    }
}

fn text_of(choice: &Choice) -> String {
    choice.parts.iter().filter_map(words).collect()
}

/// The text of an answer's first choice.
pub(crate) fn text(answer: &ChatResponse) -> String {
    answer.choices.first().map(text_of).unwrap_or_default()
}
