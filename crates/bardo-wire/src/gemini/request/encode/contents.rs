//! Turns of a conversation as `contents`.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use bardo_types::Losses;
use bardo_types::chat::{
    CacheMark, ChatRequest, Message, Opaque, Part as Said, Role, Text, ToolCall, ToolInput,
    ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect};

use crate::codec::BadRequest;
use crate::gemini::media;
use crate::gemini::media::PartPath;
use crate::gemini::request::encode::thinks;
use crate::gemini::shapes::request::{
    Content, FunctionCall, FunctionResponse, Outcome, Part, Plain, Speaker,
};
use crate::kit::tool_names::ToolNames;

/// What Gemini documents for calls that another model made.
const FOREIGN_CALL_SIGNATURE: &str = "skip_thought_signature_validator";

pub(in crate::gemini) struct Contents<'a> {
    pub(in crate::gemini) system: Vec<Part<'a>>,
    pub(in crate::gemini) turns: Vec<Content<'a>>,
}

struct ContentsBuilder<'a, 'b> {
    request: &'a ChatRequest,
    capabilities: &'b Capabilities,
    names: &'a ToolNames,
    losses: &'b mut Losses,
    turns: Vec<Content<'a>>,
    /// System messages in front of the turns.
    leading: usize,
    /// Calls of the latest model turn, with their results.
    calls: AwaitedCalls<'a>,
}

#[derive(Default)]
struct AwaitedCalls<'a> {
    list: Vec<Awaited<'a>>,
    /// Places of the calls of each id, those with a result in front of the others.
    by_id: HashMap<&'a str, VecDeque<usize>>,
    /// No call before this place waits for its result.
    first_open: usize,
}

impl<'a> AwaitedCalls<'a> {
    fn push(&mut self, call: Awaited<'a>) {
        let places = self.by_id.entry(call.id).or_default();
        places.push_back(self.list.len());
        self.list.push(call);
    }

    /// The call that a result answers. Ids are unique only within a turn for some servers, so the
    /// first open call wins.
    fn answered_by(&mut self, id: &str) -> Option<&mut Awaited<'a>> {
        let mut place = self.open(id);
        if place.is_none() && id.is_empty() {
            let waits = |call: &Awaited<'_>| call.result.is_none();
            let after = self.list[self.first_open..].iter().position(waits);
            self.first_open = after.map_or(self.list.len(), |after| self.first_open + after);
            place = after.map(|_| self.first_open);
        } else if place.is_none() {
            place = self.open("");
        }
        place.map(|place| &mut self.list[place])
    }

    /// The first open call of an id.
    fn open(&mut self, id: &str) -> Option<usize> {
        let places = self.by_id.get_mut(id)?;
        while places
            .front()
            .is_some_and(|&place| self.list[place].result.is_some())
        {
            places.pop_front();
        }
        places.front().copied()
    }
}

struct Awaited<'a> {
    id: &'a str,
    name: &'a str,
    result: Option<Outcome<'a>>,
}

/// One user turn while it is gathered: results have to come first and together.
#[derive(Default)]
struct UserTurn<'a> {
    attached: Vec<Part<'a>>,
    words: Vec<Part<'a>>,
}

pub(in crate::gemini) fn encode<'a>(
    request: &'a ChatRequest,
    capabilities: &Capabilities,
    names: &'a ToolNames,
    losses: &mut Losses,
) -> Result<Contents<'a>, BadRequest> {
    let leading = request.leading_system();
    let mut system: Vec<Part<'a>> = Vec::new();
    for part in leading.iter().flat_map(|message| &message.parts) {
        match part {
            Said::Text(text) => {
                note_mark(text.cache.as_ref(), losses);
                if !text.text.is_empty() {
                    system.push(Part::text(text.text.as_str()));
                }
            }
            _ => losses.lose("system_media", "Gemini accepts only text as system prompt"),
        }
    }
    let mut builder = ContentsBuilder {
        request,
        capabilities,
        names,
        losses,
        turns: Vec::new(),
        leading: leading.len(),
        calls: AwaitedCalls::default(),
    };
    builder.turns(leading.len())?;
    let mut turns = builder.turns;
    if turns.is_empty() {
        if system.is_empty() {
            return Err(BadRequest::new(
                "messages",
                "the conversation has no user message; add one",
            ));
        }
        losses.lose(
            "system",
            "the conversation has no user message; the system prompt was sent as one",
        );
        turns.push(Content {
            role: Speaker::User,
            parts: std::mem::take(&mut system),
        });
    }
    if thinks(capabilities) {
        sign_foreign_calls(&mut turns);
    }
    if !capabilities.prefill && turns.last().is_some_and(|turn| turn.role == Speaker::Model) {
        losses.lose(
            "prefill",
            "this model cannot continue a partial answer; it was instructed to go on",
        );
        turns.push(Content {
            role: Speaker::User,
            parts: vec![Part::text(
                "Continue your last message exactly where it stops, without repeating it.",
            )],
        });
    }
    Ok(Contents { system, turns })
}

/// Models that think refuse a call of the running turn without a signature. A batch of parallel
/// calls is signed on its first.
fn sign_foreign_calls(turns: &mut [Content<'_>]) {
    let current = turns
        .iter()
        .rposition(|turn| turn.role == Speaker::User && !turn.parts.iter().any(Part::is_response))
        .map_or(0, |place| place + 1);
    for turn in &mut turns[current..] {
        if let Some(call) = turn.parts.iter_mut().find_map(Part::as_call) {
            call.thought_signature.get_or_insert(FOREIGN_CALL_SIGNATURE);
        }
    }
}

impl<'a> ContentsBuilder<'a, '_> {
    fn turns(&mut self, from: usize) -> Result<(), BadRequest> {
        let messages = &self.request.messages;
        let mut at = from;
        while at < messages.len() {
            let by_model = messages[at].role == Role::Assistant;
            let mut user = UserTurn::default();
            let mut said = Vec::new();
            while at < messages.len() && (messages[at].role == Role::Assistant) == by_model {
                if messages[at].name.is_some() {
                    self.losses
                        .lose("name", "Gemini does not support names of speakers");
                }
                if by_model {
                    self.model_message(at, &mut said)?;
                } else {
                    self.user_message(at, &mut user)?;
                }
                at += 1;
            }
            if by_model {
                self.push(Speaker::Model, said);
            } else {
                self.push_user(user);
            }
        }
        // Calls at the very end were never answered either.
        self.push_user(UserTurn::default());
        Ok(())
    }

    fn push(&mut self, role: Speaker, parts: Vec<Part<'a>>) {
        match self.turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.turns.push(Content { role, parts }),
        }
    }

    fn push_user(&mut self, user: UserTurn<'a>) {
        let mut parts = Vec::with_capacity(self.calls.list.len() + user.words.len());
        for call in std::mem::take(&mut self.calls).list {
            let response = call.result.unwrap_or_else(|| {
                self.losses.lose(
                    "tool_result",
                    "a tool call without a result was answered with an error, because Gemini requires a result",
                );
                Outcome::Error("the tool gave no result".into())
            });
            let response = FunctionResponse {
                id: (!call.id.is_empty()).then_some(call.id),
                name: call.name,
                response,
            };
            parts.push(
                Plain {
                    function_response: Some(response),
                    ..Plain::default()
                }
                .into(),
            );
        }
        parts.extend(user.attached);
        parts.extend(user.words);
        self.push(Speaker::User, parts);
    }

    fn model_message(&mut self, at: usize, out: &mut Vec<Part<'a>>) -> Result<(), BadRequest> {
        let message: &'a Message = &self.request.messages[at];
        // State of a call that a caller's dialect could only carry as a thinking block before it.
        let mut carried: Option<&'a str> = None;
        let is_ours = message.parts.iter().any(is_signed);
        for (place, part) in message.parts.iter().enumerate() {
            match part {
                Said::Reasoning(reasoning) => {
                    let text = reasoning.text.as_str();
                    // Bare words beside a signature of ours are the summary that it belongs to.
                    let state = reasoning
                        .opaque
                        .as_ref()
                        .filter(|state| !(is_ours && **state == Opaque::ReasoningContent));
                    let signature = self.signature(state);
                    if state.is_some() && signature.is_none() {
                        continue;
                    }
                    let unsigned_call = matches!(
                        message.parts.get(place + 1),
                        Some(Said::ToolCall(call)) if call.opaque.is_none()
                    );
                    if signature.is_some() && unsigned_call {
                        carried = signature;
                    }
                    let own = signature.filter(|_| !unsigned_call);
                    if !text.is_empty() || own.is_some() {
                        out.push(thought(text, own));
                    }
                }
                Said::ToolCall(call) => {
                    let own = self.signature(call.opaque.as_ref());
                    out.push(self.call(call, own.or(carried.take())));
                }
                Said::Text(text) => self.words(text, out),
                Said::Refusal(words) => out.push(Part::text(words.as_str())),
                Said::Server(block) if block.dialect == Dialect::Gemini => {
                    out.push(Part::Raw(&block.raw));
                }
                Said::Audio(audio) if audio.data.is_empty() => self.losses.lose(
                    "audio",
                    "audio stored by another provider was removed from the history",
                ),
                other => self.other(
                    other,
                    PartPath::new(self.request, self.leading, at, place),
                    out,
                )?,
            }
        }
        Ok(())
    }

    fn user_message(&mut self, at: usize, turn: &mut UserTurn<'a>) -> Result<(), BadRequest> {
        let message: &'a Message = &self.request.messages[at];
        if message.role == Role::System {
            self.losses.lose(
                "mid_system",
                "system messages within the conversation were sent as text of a user message",
            );
        }
        for (index, part) in message.parts.iter().enumerate() {
            let place = PartPath::new(self.request, self.leading, at, index);
            match part {
                Said::ToolResult(result) => self.result(result, place, turn)?,
                Said::Text(text) => self.words(text, &mut turn.words),
                other => self.other(other, place, &mut turn.words)?,
            }
        }
        Ok(())
    }

    /// Parts that both speakers may say.
    fn other(
        &mut self,
        part: &'a Said,
        place: PartPath,
        out: &mut Vec<Part<'a>>,
    ) -> Result<(), BadRequest> {
        let capabilities = self.capabilities;
        match part {
            Said::Text(text) => self.words(text, out),
            Said::Image(image) => {
                note_mark(image.cache.as_ref(), self.losses);
                out.push(media::image(image, place, capabilities)?);
            }
            Said::Document(document) => {
                note_mark(document.cache.as_ref(), self.losses);
                media::document(document, place, capabilities, self.losses, out)?;
            }
            Said::Audio(audio) => out.push(media::audio(audio, place, capabilities)?),
            Said::SearchResult(result) => {
                note_mark(result.cache.as_ref(), self.losses);
                out.push(Part::text(media::search_result(result, self.losses)));
            }
            Said::Refusal(words) => out.push(Part::text(words.as_str())),
            Said::Server(_) => self.losses.lose(
                "server_tools",
                "blocks of another provider's tools were removed from the history",
            ),
            Said::Reasoning(_) | Said::ToolCall(_) | Said::ToolResult(_) => {
                return Err(BadRequest::new(
                    place.to_string(),
                    "messages of this role cannot have this kind of content",
                ));
            }
        }
        Ok(())
    }

    fn words(&mut self, text: &'a Text, out: &mut Vec<Part<'a>>) {
        note_mark(text.cache.as_ref(), self.losses);
        if !text.citations.is_empty() {
            self.losses.lose(
                "citations",
                "citations of earlier answers were removed from the history",
            );
        }
        let signature = self.signature(text.opaque.as_ref());
        if !text.text.is_empty() || signature.is_some() {
            out.push(
                Plain {
                    text: Some(text.text.as_str().into()),
                    thought_signature: signature,
                    ..Plain::default()
                }
                .into(),
            );
        }
    }

    /// Gemini's own state; that of others is dropped and named.
    fn signature(&mut self, state: Option<&'a Opaque>) -> Option<&'a str> {
        match state? {
            Opaque::GeminiSignature(signature) if !crate::envelope::is_envelope(signature) => {
                Some(signature)
            }
            _ => {
                self.losses.lose(
                    "thinking_state",
                    "thinking of another model cannot be sent to Gemini",
                );
                None
            }
        }
    }

    fn call(&mut self, call: &'a ToolCall, signature: Option<&'a str>) -> Part<'a> {
        note_mark(call.cache.as_ref(), self.losses);
        let name = self.names.sent(&call.name);
        self.calls.push(Awaited {
            id: &call.id,
            name,
            result: None,
        });
        let args = call.input.as_object().unwrap_or_else(|| {
            self.losses.lose(
                "tool_arguments",
                "the arguments of an earlier call are not a JSON object and were sent as a string",
            );
            let (ToolInput::Json(text) | ToolInput::Text(text)) = &call.input;
            RawJson::of(&serde_json::json!({ "arguments": text }))
                .expect("a string always serializes")
        });
        Plain {
            function_call: Some(FunctionCall {
                id: Some(call.id.as_str()).filter(|id| !id.is_empty()),
                name,
                args,
            }),
            thought_signature: signature,
            ..Plain::default()
        }
        .into()
    }

    fn result(
        &mut self,
        result: &'a ToolResult,
        place: PartPath,
        turn: &mut UserTurn<'a>,
    ) -> Result<(), BadRequest> {
        note_mark(result.cache.as_ref(), self.losses);
        let mut text: Cow<'a, str> = Cow::Borrowed("");
        let before = turn.attached.len();
        for (index, part) in result.parts.iter().enumerate() {
            let words: Cow<'a, str> = match part {
                Said::Text(text) => {
                    note_mark(text.cache.as_ref(), self.losses);
                    text.text.as_str().into()
                }
                Said::SearchResult(found) => media::search_result(found, self.losses).into(),
                Said::Server(block) => block.raw.as_str().into(),
                other => {
                    self.other(other, place.inside(index), &mut turn.attached)?;
                    continue;
                }
            };
            if text.is_empty() {
                text = words;
            } else if !words.is_empty() {
                text.to_mut().push('\n');
                text.to_mut().push_str(&words);
            }
        }
        if text.is_empty() && turn.attached.len() > before {
            text = "[attached below]".into();
        }
        let Some(call) = self.calls.answered_by(&result.call_id) else {
            return Err(BadRequest::new(
                place.to_string(),
                format!(
                    "this tool result has no call in the assistant message before it (call id `{}`); send \
                    results right after the message with the calls",
                    result.call_id
                ),
            ));
        };
        call.result = Some(if result.is_error {
            Outcome::Error(text)
        } else {
            Outcome::Output(text)
        });
        Ok(())
    }
}

/// Whether a part carries a signature that Gemini made.
fn is_signed(part: &Said) -> bool {
    let state = match part {
        Said::Reasoning(reasoning) => reasoning.opaque.as_ref(),
        Said::ToolCall(call) => call.opaque.as_ref(),
        Said::Text(text) => text.opaque.as_ref(),
        _ => None,
    };
    matches!(state, Some(Opaque::GeminiSignature(signature)) if !crate::envelope::is_envelope(signature))
}

fn thought<'a>(text: &'a str, signature: Option<&'a str>) -> Part<'a> {
    Plain {
        text: Some(text.into()),
        // State without words belongs to the text before it, and Gemini takes it as an empty
        // text part.
        thought: (!text.is_empty()).then_some(true),
        thought_signature: signature,
        ..Plain::default()
    }
    .into()
}

fn note_mark(mark: Option<&CacheMark>, losses: &mut Losses) {
    if mark.is_some() {
        losses.lose(
            "cache_control",
            "Gemini caches prompts by itself; cache marks are not sent",
        );
    }
}
