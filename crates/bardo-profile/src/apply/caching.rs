//! Prompt caches, and what only some providers offer: their search, a predicted answer.

use bardo_types::chat::{
    CacheMark, CacheTtl, ChatRequest, DocumentSource, MarkPlan, Part, Role, Tool,
};
use bardo_types::feature::Feature;
use bardo_types::json::RawJson;
use bardo_types::model::{Dialect, Service};
use bardo_types::privacy::SecurityClass;
use serde_json::json;

use super::ProfileApplication;
use crate::members::{Marks, Members};

/// The longest lifetime of the marks that a request has for the provider's cache; `None`: it has no
/// mark. What is kept as it was written counts as marked where it names a mark anywhere.
#[must_use]
pub fn longest_mark(request: &ChatRequest) -> Option<CacheTtl> {
    let tools = request.tools.iter().map(|tool| match tool {
        Tool::Function { cache, .. } => lifetime(cache.as_ref()),
        Tool::Server { raw, .. } => named_lifetime(raw),
        Tool::Custom { .. } => None,
    });
    let whole = request.cache.automatic.as_ref().map(CacheTtl::of_mark);
    let parts = request.messages.iter();
    let parts = parts.map(|message| longest_in(&message.parts));
    tools.chain(parts).fold(whole, Option::max)
}

fn longest_in(parts: &[Part]) -> Option<CacheTtl> {
    parts.iter().filter_map(lifetime_in).max()
}

fn lifetime_in(part: &Part) -> Option<CacheTtl> {
    match part {
        Part::Text(text) => lifetime(text.cache.as_ref()),
        Part::Image(image) => lifetime(image.cache.as_ref()),
        Part::Document(document) => {
            let within = match &document.source {
                DocumentSource::Parts(parts) => longest_in(parts),
                DocumentSource::Media(_) | DocumentSource::Text(_) => None,
            };
            lifetime(document.cache.as_ref()).max(within)
        }
        Part::SearchResult(result) => lifetime(result.cache.as_ref()),
        Part::ToolCall(call) => lifetime(call.cache.as_ref()),
        Part::ToolResult(result) => lifetime(result.cache.as_ref()).max(longest_in(&result.parts)),
        Part::Server(block) => named_lifetime(&block.raw),
        Part::Audio(_) | Part::Reasoning(_) | Part::Refusal(_) => None,
    }
}

fn lifetime(mark: Option<&CacheMark>) -> Option<CacheTtl> {
    mark.map(|CacheMark(raw)| CacheTtl::of_mark(raw))
}

fn named_lifetime(raw: &RawJson) -> Option<CacheTtl> {
    raw.as_str()
        .contains("\"cache_control\"")
        .then(|| CacheTtl::of_mark(raw))
}

/// The marks of a plan that a profile has a place for, in a request of a caller of the dialect
/// `from` to a service that is spoken to in `dialect`.
#[must_use]
pub fn placed(from: Dialect, dialect: Dialect, service: Service, plan: MarkPlan) -> MarkPlan {
    let MarkPlan { stable, turns } = plan;
    let (stable, turns) = match Members::of(dialect, service).cache {
        // One mark for the whole prompt; it moves with its end. For conversations that do not come
        // back it would be written each time and never read.
        Some(Marks::Request) => (None, turns),
        Some(Marks::Caller) if from == Dialect::Anthropic => (stable, None),
        Some(Marks::Caller) | None => (None, None),
    };
    MarkPlan { stable, turns }
}

fn is_deferred(extra: &[(String, RawJson)]) -> bool {
    extra
        .iter()
        .any(|(name, value)| name == "defer_loading" && value.as_str() == "true")
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
        if wanted != Some(true) || !self.caps.cache_marks || longest_mark(self.request).is_some() {
            return;
        }
        match self.members.cache {
            Some(Marks::Request) if self.caps.caches(self.request.prompt_tokens()) => {
                let ttl = self.model.marks.turns;
                self.request.cache.automatic = ttl.map(CacheTtl::mark);
                self.applied.touched_conversation |= ttl.is_some();
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
                // Anthropic refuses a mark on a tool whose definition is loaded later.
                Tool::Function { cache, extra, .. } if !is_deferred(extra) => Some(cache),
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
