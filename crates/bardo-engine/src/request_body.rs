//! The body of a request and its one owner: the caller's bytes, where their top-level members lie,
//! and the neutral form, which is decoded at most once and only where a stage needs it.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use bardo_ledger::hold::prompt_tokens_upper;
use bardo_profile::longest_mark;
use bardo_types::chat::{CacheTtl, ChatRequest, Message, Role, Text};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use bardo_types::privacy::SecurityClass;
use bardo_wire::codec::{BadRequest, DecodedRequest};
use bardo_wire::json::{JsonError, Member, TopLevel, scan};
use bardo_wire::marks::{self, WrittenMarks};
use bardo_wire::{anthropic, responses, table};
use bytes::Bytes;

use crate::error::EngineError;
use crate::memory::Memory;
use crate::received::Task;
use crate::request_size::Size;

/// The body of a request, as bytes and, once a stage needs it, in neutral form.
#[derive(Clone)]
pub(crate) struct RequestBody {
    task: Task,
    dialect: Dialect,
    body: Bytes,
    members: Vec<Member>,
    account: Arc<str>,
    earlier: Earlier,
    /// How well the items have to be kept that took the place of references.
    referenced: SecurityClass,
    size: OnceLock<Size>,
    marks: OnceLock<WrittenMarks>,
    neutral: OnceLock<Result<NeutralForm, BadRequest>>,
    /// A stage changed the neutral form, so the bytes are not what is sent.
    changed: bool,
}

/// The neutral form of a request.
#[derive(Clone)]
struct NeutralForm {
    request: Arc<ChatRequest>,
    /// The body has members that the neutral form lacks.
    holds_unread_members: bool,
}

/// The stored response that a request builds on.
#[derive(Clone)]
enum Earlier {
    /// The request stands alone.
    None,
    /// The gateway does not have it; its provider may.
    Unknown(String),
    /// Its items, and how well they have to be kept.
    Known(Vec<RawJson>, SecurityClass),
}

impl RequestBody {
    /// A body whose top level was read. Looks up the stored response that it names.
    pub(crate) fn new(
        task: Task,
        dialect: Dialect,
        body: Bytes,
        members: Vec<Member>,
        account: &str,
        memory: &Memory,
    ) -> Self {
        let previous = (dialect == Dialect::Responses)
            .then(|| responses::previous_response_id(&TopLevel::over(&body, &members)));
        let earlier = match previous.flatten() {
            None => Earlier::None,
            Some(id) => match memory.items(account, &id) {
                Some(items) => {
                    let class = memory.class_of_items(account, &id).unwrap_or_default();
                    Earlier::Known(items, class)
                }
                None => Earlier::Unknown(id),
            },
        };
        Self {
            task,
            dialect,
            body,
            members,
            account: account.into(),
            earlier,
            referenced: SecurityClass::default(),
            size: OnceLock::new(),
            marks: OnceLock::new(),
            neutral: OnceLock::new(),
            changed: false,
        }
    }

    /// The body with the items of earlier answers in place of references to them.
    ///
    /// # Errors
    /// When the gateway made an item and does not have it any more.
    pub(crate) fn with_referenced_items(mut self, memory: &Memory) -> Result<Self, BadRequest> {
        if self.dialect != Dialect::Responses {
            return Ok(self);
        }
        let class = Cell::new(SecurityClass::default());
        let stored = |answer: &str| {
            let (items, kept) = memory.output(&self.account, answer)?;
            class.set(class.get().max(kept));
            Some(items)
        };
        let Some(whole) = responses::with_referenced_items(&self.top(), stored)? else {
            return Ok(self);
        };
        self.members = scan(&whole).map_err(unreadable)?.into_members();
        self.body = whole.into();
        self.marks = OnceLock::new();
        self.referenced = class.get();
        Ok(self)
    }

    /// The caller's bytes, where no items took the place of references.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The caller's top-level members.
    pub(crate) fn top(&self) -> TopLevel<'_> {
        TopLevel::over(&self.body, &self.members)
    }

    /// The tokens and answers that the request tells of; worked out once. A stored response that it
    /// builds on is part of its prompt.
    pub(crate) fn size(&self) -> Size {
        *self.size.get_or_init(|| {
            let mut size = Size::of(self.dialect, &self.top());
            if let Earlier::Known(items, _) = &self.earlier {
                let items = items.iter().map(|item| item.as_str().as_bytes());
                let earlier: u64 = items.map(prompt_tokens_upper).sum();
                size.prompt = size.prompt.saturating_add(earlier);
            }
            size
        })
    }

    /// Whether the request builds on an answer that only the gateway stored.
    pub(crate) fn goes_on_from_here(&self) -> bool {
        matches!(self.earlier, Earlier::Known(..))
    }

    /// Whether a stage changed what is asked, so that the caller's bytes must not be relayed.
    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    /// The class of what the request goes on with: a stored response, thinking beside tool calls.
    pub(crate) fn remembered_class(&self, memory: &Memory) -> SecurityClass {
        let stored = match &self.earlier {
            Earlier::Known(_, class) => self.referenced.max(*class),
            Earlier::None | Earlier::Unknown(_) => self.referenced,
        };
        if !memory.guards(&self.account) {
            return stored;
        }
        let request = self.neutral(memory);
        let of_calls = request.map(|request| memory.class_of_calls(&self.account, request));
        stored.max(of_calls.unwrap_or_default())
    }

    /// The request in neutral form; `None` where it cannot be read. Then the backend that it is
    /// relayed to may refuse it.
    pub(crate) fn neutral(&self, memory: &Memory) -> Option<&Arc<ChatRequest>> {
        match self.task {
            Task::Embeddings => None,
            Task::Generate | Task::CountTokens => self.readable(memory).ok(),
        }
    }

    /// The request in neutral form, for stages that must not let pass what they cannot read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn readable(&self, memory: &Memory) -> Result<&Arc<ChatRequest>, EngineError> {
        match self.decoded(memory) {
            Ok(neutral) => Ok(&neutral.request),
            Err(refusal) => Err(refusal.clone().into()),
        }
    }

    /// Whether the body has members that the neutral form lacks. A body that cannot be read may.
    pub(crate) fn holds_unread_members(&self, memory: &Memory) -> bool {
        let neutral = self.decoded(memory).as_ref();
        neutral.map_or(true, |neutral| neutral.holds_unread_members)
    }

    /// The members of the body as they came, each with its length, where the neutral form lacks some
    /// of what they hold ([`bardo_wire::codec::DecodedRequest`]); a body that cannot be read may. The
    /// hints to the gateway are left out, and whether the answer is streamed.
    pub(crate) fn unread(&self, memory: &Memory) -> Option<Vec<u8>> {
        if !self.holds_unread_members(memory) {
            return None;
        }
        let mut held = self.dialect.as_str().as_bytes().to_vec();
        let top = self.top();
        for member in top.members() {
            let name = top.name(member);
            if matches!(&*name, "bardo" | "stream") {
                continue;
            }
            for bytes in [name.as_bytes(), &self.body[member.value.clone()]] {
                held.extend_from_slice(&bytes.len().to_le_bytes());
                held.extend_from_slice(bytes);
            }
        }
        Some(held)
    }

    /// The neutral form where an earlier stage has needed it.
    pub(crate) fn known_neutral(&self) -> Option<&Arc<ChatRequest>> {
        let neutral = self.neutral.get()?.as_ref().ok()?;
        Some(&neutral.request)
    }

    /// The longest lifetime of the caller's own marks for the provider's cache; `None`: there are no
    /// marks, or the body cannot be read. Decodes the body only where its bytes do not tell.
    pub(crate) fn longest_mark(&self, memory: &Memory) -> Option<CacheTtl> {
        if self.known_neutral().is_none() && !self.goes_on_from_here() {
            match self.marks.get_or_init(|| marks::written(&self.body)) {
                WrittenMarks::None => return None,
                WrittenMarks::Longest(lifetime) => return Some(*lifetime),
                WrittenMarks::Unknown => {}
            }
        }
        longest_mark(self.neutral(memory)?)
    }

    /// The whole request in neutral form, to be written anew.
    ///
    /// # Errors
    /// When it cannot be read, or builds on a response that is not stored here.
    pub(crate) fn request(&self, memory: &Memory) -> Result<Arc<ChatRequest>, EngineError> {
        if let Earlier::Unknown(id) = &self.earlier {
            return Err(EngineError::UnknownResponse(id.clone()));
        }
        self.readable(memory).map(Arc::clone)
    }

    /// The request as a stage changed it. It is translated from now on, never relayed.
    pub(crate) fn replaced(self, request: ChatRequest) -> Self {
        let earlier = self.neutral.get().and_then(|read| read.as_ref().ok());
        let neutral = NeutralForm {
            request: Arc::new(request),
            holds_unread_members: earlier.is_some_and(|earlier| earlier.holds_unread_members),
        };
        Self {
            neutral: OnceLock::from(Ok(neutral)),
            changed: true,
            ..self
        }
    }

    /// A body for another request of the account, in neutral form alone.
    pub(crate) fn alone(&self, request: ChatRequest, account: &str, memory: &Memory) -> Self {
        let empty = Bytes::from_static(b"{}");
        Self::new(self.task, self.dialect, empty, Vec::new(), account, memory).replaced(request)
    }

    fn decoded(&self, memory: &Memory) -> &Result<NeutralForm, BadRequest> {
        self.neutral.get_or_init(|| {
            let DecodedRequest {
                mut request,
                holds_unread_members,
            } = self.decode().map_err(BadRequest::unreadable)?;
            request.extra.retain(|(name, _)| name != "bardo");
            memory.restore_calls(&self.account, &mut request);
            Ok(NeutralForm {
                request: Arc::new(request),
                holds_unread_members,
            })
        })
    }

    fn decode(&self) -> Result<DecodedRequest, BadRequest> {
        // Their answers are never stored, so nobody asks what they hold.
        let never_stored = |request| DecodedRequest {
            request,
            holds_unread_members: true,
        };
        match (&self.earlier, self.task) {
            (Earlier::Known(items, _), _) => {
                let body = responses::prepend_items(&self.body, items)?;
                table::read_request(self.dialect, &body)
            }
            (_, Task::Embeddings) => texts_to_embed(self.dialect, &self.top()).map(never_stored),
            (_, Task::CountTokens) if self.dialect == Dialect::Anthropic => {
                anthropic::decode_count_request(&self.body).map(never_stored)
            }
            _ => table::read_request(self.dialect, &self.body),
        }
    }
}

fn unreadable(error: JsonError) -> BadRequest {
    BadRequest::new("input", error.to_string())
}

/// The texts of a request for vectors as user turns, for stages that read what is asked.
fn texts_to_embed(dialect: Dialect, top: &TopLevel<'_>) -> Result<ChatRequest, BadRequest> {
    let unreadable = || {
        BadRequest::new(
            "input",
            "the input cannot be read; send a string or an array of strings",
        )
    };
    let input = top.get("input").ok_or_else(unreadable)?;
    let texts: Vec<String> = serde_json::from_str(input)
        .or_else(|_| serde_json::from_str(input).map(|text| vec![text]))
        .map_err(|_| unreadable())?;
    let mut request = ChatRequest::new(dialect, String::new());
    request.messages = texts
        .into_iter()
        .map(|text| Message::new(Role::User, vec![Text::new(text).into()]))
        .collect();
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest mark by the bytes alone and by the decoded body, and whether the first needed that.
    fn marks(dialect: Dialect, body: &str) -> (Option<CacheTtl>, Option<CacheTtl>, bool) {
        let memory = Memory::default();
        let members = scan(body.as_bytes()).unwrap().into_members();
        let body = Bytes::from(body.to_owned());
        let body = RequestBody::new(Task::Generate, dialect, body, members, "", &memory);
        let by_bytes = body.longest_mark(&memory);
        let decodes = body.known_neutral().is_some();
        body.neutral(&memory).expect("it can be read");
        (by_bytes, body.longest_mark(&memory), decodes)
    }

    #[test]
    fn marks_are_found_without_decoding_and_are_those_of_the_decoded_body() {
        let hour = r#"{"type":"ephemeral","ttl":"1h"}"#;
        for mark in ["null", r#"{"type":"ephemeral"}"#, hour] {
            let text = format!(r#"[{{"type":"text","text":"é \"ttl\"","cache_control":{mark}}}]"#);
            let anthropic = format!(
                r#"{{"model":"m","max_tokens":5,"system":{text},"messages":[{{"role":"user","content":"Hi"}}]}}"#
            );
            let chat =
                format!(r#"{{"model":"m","messages":[{{"role":"user","content":{text}}}]}}"#);
            for (dialect, body) in [(Dialect::Anthropic, anthropic), (Dialect::Chat, chat)] {
                let (by_bytes, decoded, decodes) = marks(dialect, &body);
                assert_eq!(by_bytes, decoded, "{body}");
                assert_eq!(by_bytes.is_some(), mark != "null", "{body}");
                assert!(!decodes, "{body}");
            }
        }
        let escaped = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi","\u0063ache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#;
        let (by_bytes, decoded, decodes) = marks(Dialect::Chat, escaped);
        assert_eq!((by_bytes, decoded), (Some(CacheTtl::OneHour), by_bytes));
        assert!(decodes);
    }
}
