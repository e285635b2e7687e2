//! Refuses requests that contain a phrase of the configuration, per key or for all callers.
//!
//! Letter case and runs of white space do not count. The screen reads the whole conversation:
//! system prompt, turns, tool results, documents in text and the arguments of tool calls.

use std::borrow::Cow;

use bardo_access::BoxFuture;
use bardo_engine::{Payer, Principal, Prompt, Screen, ScreenRefusal};
use bardo_types::chat::{ChatRequest, DocumentSource, Message, Part, Role, ToolInput};
use bardo_types::model::Dialect;
use serde_json::Value;

use crate::config::RefusedPhrasesConfig;

/// The screen `screening.refused_phrases`.
pub(crate) struct RefusedPhrases(Vec<Rule>);

/// Phrases, and the keys that they are refused to.
struct Rule {
    /// Each as it is written and as it is compared.
    phrases: Vec<(String, String)>,
    /// Ids of keys; empty: every caller.
    keys: Vec<String>,
}

impl RefusedPhrases {
    /// The screen of these rules; `None` without a phrase.
    pub(crate) fn of(config: &[RefusedPhrasesConfig]) -> Option<Self> {
        let rules = config.iter().map(|rule| Rule {
            phrases: rule
                .phrases
                .iter()
                .map(|phrase| (phrase.clone(), folded(phrase)))
                .filter(|(_, folded)| !folded.is_empty())
                .collect(),
            keys: rule.keys.clone(),
        });
        let rules: Vec<Rule> = rules.filter(|rule| !rule.phrases.is_empty()).collect();
        (!rules.is_empty()).then_some(Self(rules))
    }

    fn rules_of<'a>(&'a self, principal: &'a Principal) -> impl Iterator<Item = &'a Rule> {
        self.0.iter().filter(|rule| rule.covers(principal))
    }

    fn refusal(&self, prompt: Prompt<'_>) -> Option<ScreenRefusal> {
        let rules: Vec<&Rule> = self.rules_of(prompt.principal).collect();
        prompt
            .request
            .messages
            .iter()
            .enumerate()
            .find_map(|(index, message)| {
                let phrase = found_in(&message.parts, &rules)?;
                let place = place(prompt.request, index);
                Some(ScreenRefusal {
                    message: format!(
                        "{place} contains `{phrase}`, which the operator of this gateway refuses; remove it and send the request again"
                    ),
                    param: place,
                })
            })
    }
}

/// The place of a message in the client's request: dialects with a member of its own for the system
/// prompt do not count it among the messages.
fn place(request: &ChatRequest, index: usize) -> String {
    let is_system = |message: &&Message| message.role == Role::System;
    let apart = match request.dialect {
        Dialect::Anthropic => "system",
        Dialect::Responses => "instructions",
        _ => return format!("messages[{index}]"),
    };
    let before = request.messages.iter().take_while(is_system).count();
    match index.checked_sub(before) {
        None => apart.to_owned(),
        Some(_) if request.dialect == Dialect::Responses => "input".to_owned(),
        Some(index) => format!("messages[{index}]"),
    }
}

impl Rule {
    fn covers(&self, principal: &Principal) -> bool {
        let key = match &principal.payer {
            Payer::Owner => None,
            Payer::Prepaid(terms) => Some(terms.counted_as.as_str()),
        };
        self.keys.is_empty() || key.is_some_and(|key| self.keys.iter().any(|one| one == key))
    }
}

impl Screen for RefusedPhrases {
    fn covers(&self, principal: &Principal) -> bool {
        self.rules_of(principal).next().is_some()
    }

    fn check<'a>(&'a self, prompt: Prompt<'a>) -> BoxFuture<'a, Result<(), ScreenRefusal>> {
        let refusal = self.refusal(prompt);
        Box::pin(std::future::ready(refusal.map_or(Ok(()), Err)))
    }
}

/// The first refused phrase in some parts of a message, as the configuration writes it.
fn found_in<'a>(parts: &[Part], rules: &[&'a Rule]) -> Option<&'a str> {
    parts.iter().find_map(|part| match part {
        Part::Text(text) => found(&text.text, rules),
        Part::Refusal(text) => found(text, rules),
        Part::Reasoning(thinking) => found(&thinking.text, rules),
        Part::ToolCall(call) => match &call.input {
            ToolInput::Text(text) => found(text, rules),
            ToolInput::Json(json) => found(&unescaped(json), rules),
        },
        Part::ToolResult(result) => found_in(&result.parts, rules),
        Part::SearchResult(result) => {
            let mut texts = result.content.iter().map(|text| text.text.as_str());
            texts.find_map(|text| found(text, rules))
        }
        Part::Document(document) => match &document.source {
            DocumentSource::Text(text) => found(text, rules),
            DocumentSource::Parts(parts) => found_in(parts, rules),
            DocumentSource::Media(_) => None,
        },
        Part::Server(block) => found(&unescaped(block.raw.as_str()), rules),
        Part::Image(_) | Part::Audio(_) => None,
    })
}

fn found<'a>(text: &str, rules: &[&'a Rule]) -> Option<&'a str> {
    let text = folded(text);
    let mut phrases = rules.iter().flat_map(|rule| &rule.phrases);
    let hit = phrases.find(|(_, folded)| text.contains(folded))?;
    Some(&hit.0)
}

/// All strings of a JSON text, without their escapes; the text itself where it is not JSON.
fn unescaped(json: &str) -> Cow<'_, str> {
    fn collect(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push(' ');
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, all)),
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                all.push_str(name);
                all.push(' ');
                collect(value, all);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    match serde_json::from_str(json) {
        Ok(value) => {
            let mut all = String::with_capacity(json.len());
            collect(&value, &mut all);
            all.into()
        }
        Err(_) => json.into(),
    }
}

/// A text in small letters with single spaces.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}

#[cfg(test)]
mod tests {
    use bardo_types::chat::{ChatRequest, Document, Message, Role, Text, ToolCall};
    use bardo_types::model::Dialect;

    use super::*;

    fn screen(phrases: &[&str], keys: &[&str]) -> Option<RefusedPhrases> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        RefusedPhrases::of(&[RefusedPhrasesConfig {
            phrases: owned(phrases),
            keys: owned(keys),
        }])
    }

    #[track_caller]
    fn check(part: Part, refused: bool) {
        let screen = screen(&["Project  Aurora"], &[]).unwrap();
        let principal = Principal::owner("acct_owner").unwrap();
        let mut request = ChatRequest::new(Dialect::Chat, "m");
        request.messages = vec![Message::new(Role::User, vec![part])];
        let prompt = Prompt {
            principal: &principal,
            dialect: Dialect::Chat,
            request: &request,
        };
        let refusal = screen.refusal(prompt);
        assert_eq!(refusal.is_some(), refused, "{refusal:?}");
        if let Some(refusal) = refusal {
            assert_eq!(refusal.param, "messages[0]");
            assert!(refusal.message.contains("`Project  Aurora`"));
        }
    }

    #[test]
    fn case_and_white_space_do_not_hide_a_phrase() {
        check(Text::new("Tell me about PROJECT\n  aurora.").into(), true);
        check(Text::new("Tell me about the aurora project.").into(), false);
    }

    #[test]
    fn escapes_in_the_arguments_of_a_call_do_not_hide_a_phrase() {
        let call = |json: &str| Part::ToolCall(ToolCall::new("c1", "search", json));
        check(call(r#"{"query":"project \u0061urora"}"#), true);
        check(call(r#"{"query":"project"}"#), false);
    }

    #[test]
    fn documents_are_read() {
        let document = |text: &str| Document {
            source: DocumentSource::Text(text.to_owned()),
            title: None,
            context: None,
            citations: false,
            cache: None,
        };
        check(Part::Document(document("project aurora: the plan")), true);
        check(Part::Document(document("the plan")), false);
    }

    #[test]
    fn a_rule_for_a_key_leaves_other_callers_alone() {
        let owner = Principal::owner("acct_owner").unwrap();
        assert!(screen(&["x"], &[]).unwrap().covers(&owner));
        assert!(!screen(&["x"], &["k1"]).unwrap().covers(&owner));
        assert!(screen(&["  "], &[]).is_none(), "nothing would be refused");
    }
}
