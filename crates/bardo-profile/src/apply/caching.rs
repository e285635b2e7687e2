//! Prompt caches, and what only some providers offer: their search, a predicted answer.

use bardo_types::chat::{CacheMark, CacheTtl, ChatRequest, DocumentSource, Part, Role, Tool};
use bardo_types::feature::Feature;
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use serde_json::json;

use super::ProfileApplication;
use crate::members::Marks;

/// Whether a request marks something for the provider's cache.
#[must_use]
pub fn is_marked(request: &ChatRequest) -> bool {
    let marked = |part: &Part| match part {
        Part::Text(text) => text.cache.is_some(),
        Part::Image(image) => image.cache.is_some(),
        Part::Document(document) => document.cache.is_some(),
        Part::SearchResult(result) => result.cache.is_some(),
        Part::ToolCall(call) => call.cache.is_some(),
        Part::ToolResult(result) => result.cache.is_some(),
        Part::Audio(_) | Part::Reasoning(_) | Part::Refusal(_) | Part::Server(_) => false,
    };
    let tool = |tool: &Tool| matches!(tool, Tool::Function { cache: Some(_), .. });
    request.cache.automatic.is_some() || request.any_part(marked) || request.tools.iter().any(tool)
}

impl ProfileApplication<'_> {
    /// Costs more where it is not taken, and changes nothing else, so nothing is recorded.
    pub(super) fn cache_key(&mut self, wanted: Option<&str>) {
        if let Some(key) = wanted
            && self.members.prompt_cache_key
            && self.request.cache.key.is_none()
        {
            self.request.cache.key = Some(key.to_owned());
        }
    }

    /// Marks what stays the same from call to call: the tools and the system prompt, where they
    /// reach the model's minimum and a mark pays. Encoders mark by themselves for callers of dialects without marks;
    /// a caller of the Messages dialect that sets none gets them here.
    pub(super) fn mark(&mut self, wanted: Option<bool>) {
        if wanted != Some(true) || !self.caps.cache_marks || is_marked(self.request) {
            return;
        }
        match self.members.cache {
            // One mark for the whole prompt; it moves with its end.
            Some(Marks::Request) if self.caps.caches(self.request.prompt_tokens()) => {
                let ttl = self.model.marks.turns.or(self.model.marks.stable);
                self.request.cache.automatic = ttl.map(CacheTtl::mark);
            }
            Some(Marks::Caller) if self.request.dialect == Dialect::Anthropic => self.mark_static(),
            _ => {}
        }
    }

    fn mark_static(&mut self) {
        let caps = self.caps;
        let Some(ttl) = self.model.marks.stable else {
            return;
        };
        let marks_tools = caps.caches(self.request.tools_tokens());
        let marks_system = caps.caches(self.request.system_tokens());
        let system = self.request.leading_system().len();
        let last = self.request.messages[..system]
            .iter_mut()
            .rev()
            .flat_map(|message| message.parts.iter_mut().rev())
            .find_map(|part| match part {
                Part::Text(text) if !text.text.is_empty() => Some(&mut text.cache),
                _ => None,
            });
        let tool = self
            .request
            .tools
            .iter_mut()
            .rev()
            .find_map(|tool| match tool {
                Tool::Function { cache, .. } => Some(cache),
                _ => None,
            });
        let last = last.filter(|_| marks_system);
        let tool = tool.filter(|_| marks_tools);
        for slot in [last, tool].into_iter().flatten() {
            *slot = Some(CacheMark(ttl.mark()));
            self.applied.touched_conversation = true;
        }
    }

    pub(super) fn search(&mut self, wanted: Option<bool>) {
        if wanted != Some(true) || self.request.web_search.is_some() {
            return;
        }
        let sealed = match self.model.security {
            SecurityClass::Standard | SecurityClass::Private => false,
            SecurityClass::Tee => !self.wanted.search_at_tee,
            SecurityClass::E2ee => true,
        };
        if sealed {
            let why = "a search would reveal the protected conversation";
            self.record("web_search", "on", "off", why);
        } else if self.members.web_search {
            self.request.web_search = Some(true);
            self.applied.searches = true;
        } else {
            let why = "this provider does not support web search from a profile";
            self.record("web_search", "on", "unsupported", why);
        }
    }

    /// Hands in the likely answer. It makes the answer faster, not cheaper: what of it does not
    /// come true is paid for.
    pub(super) fn predict(&mut self, wanted: Option<&str>) {
        if self.request.prediction.is_some() {
            return;
        }
        let named = wanted.is_some();
        let document = self.wanted.predicts.as_deref();
        let Some(text) = wanted.or_else(|| document_text(self.request, document?)) else {
            return;
        };
        let offered = self.members.prediction && self.caps.features.has(Feature::PredictedOutputs);
        let alone = self.request.tools.is_empty()
            && self.request.n.unwrap_or(1) <= 1
            && self.request.logprobs.is_none()
            && self.request.audio.is_none();
        if offered && alone {
            let prediction = json!({ "type": "content", "content": text });
            self.request.prediction = RawJson::of(&prediction).ok();
        } else if named || document.is_some() {
            let why = if offered {
                "not possible together with tools, several answers, probabilities or audio"
            } else {
                "the model does not support predictions"
            };
            self.record("predicted_output", "given", "unsupported", why);
        }
    }
}

/// The text of the document of that title, the latest one where there are several.
fn document_text<'a>(request: &'a ChatRequest, title: &str) -> Option<&'a str> {
    let turns = request.messages.iter().rev();
    let parts = turns
        .filter(|message| message.role == Role::User)
        .flat_map(|message| message.parts.iter().rev());
    parts.into_iter().find_map(|part| match part {
        Part::Document(document) if document.title.as_deref() == Some(title) => {
            match &document.source {
                DocumentSource::Text(text) => Some(text.as_str()),
                _ => None,
            }
        }
        _ => None,
    })
}
