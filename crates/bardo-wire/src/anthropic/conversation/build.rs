//! From neutral messages to turns.

use std::borrow::Cow;

use bardo_types::Losses;
use bardo_types::chat::{
    CacheMark, ChatRequest, Document, DocumentSource, Message, Opaque, Part, Reasoning, Role, Text,
    ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::{Capabilities, Dialect};

use super::marks::sent_mark;
use super::{BlockBody, Conversation, Sent, Turn, answers, is_object};
use crate::anthropic::call_ids::CallIds;
use crate::anthropic::citation;
use crate::anthropic::media::{self, PartPlace};
use crate::codec::BadRequest;
use crate::envelope;
use crate::kit::effort;
use crate::kit::tool_names::ToolNames;

/// Makes the conversation, repairing what has one right form.
///
/// # Errors
/// When a part cannot be sent at all, or nothing is left to answer.
pub(in crate::anthropic) fn build<'a>(
    request: &'a ChatRequest,
    caps: &'a Capabilities,
    names: &'a ToolNames,
    cites: bool,
    lost: &mut Losses,
) -> Result<Conversation<'a>, BadRequest> {
    let mut builder = ConversationBuilder {
        request,
        caps,
        names,
        cites,
        lost,
        ids: CallIds::default(),
        offset: 0,
        conversation: Conversation::default(),
    };
    let (system, turns) = builder.split();
    let is_alone = system.len() < request.leading_system().len();
    if request.dialect != Dialect::Anthropic {
        builder.offset = system.len();
    }
    for message in system {
        builder.leading_system(message);
    }
    let following = following_roles(turns);
    for (index, message) in turns.iter().enumerate() {
        match message.role {
            Role::System if !is_alone => builder.mid_system(message, following[index]),
            role => builder.turn(role, index, message)?,
        }
    }
    let mut conversation = builder.conversation;
    answers::settle(&mut conversation.turns, lost);
    end_properly(request, caps, &mut conversation, lost)?;
    Ok(conversation)
}

/// For each message the role of the next one that is not the system's.
fn following_roles(messages: &[Message]) -> Vec<Option<Role>> {
    let mut roles = vec![None; messages.len()];
    let mut next = None;
    for (place, message) in messages.iter().enumerate().rev() {
        roles[place] = next;
        if message.role != Role::System {
            next = Some(message.role);
        }
    }
    roles
}

struct ConversationBuilder<'a, 'l> {
    request: &'a ChatRequest,
    caps: &'a Capabilities,
    names: &'a ToolNames,
    /// Whether documents may be cited.
    cites: bool,
    lost: &'l mut Losses,
    ids: CallIds<'a>,
    /// Messages before the first turn, where the caller counts those of the system too.
    offset: usize,
    conversation: Conversation<'a>,
}

/// The API wants a user's words to answer.
fn end_properly(
    request: &ChatRequest,
    caps: &Capabilities,
    conversation: &mut Conversation<'_>,
    lost: &mut Losses,
) -> Result<(), BadRequest> {
    let native = request.dialect == Dialect::Anthropic;
    let turns = &mut conversation.turns;
    match turns.first() {
        None => {
            return Err(BadRequest::new(
                "messages",
                "messages must have at least one message that is not empty",
            ));
        }
        Some(first) if first.role == Role::Assistant && !native => {
            let mut opening = Turn::new(Role::User);
            opening
                .blocks
                .push(Sent::text("(The conversation begins.)"));
            turns.insert(0, opening);
        }
        Some(_) => {}
    }
    let Some(last) = turns.last_mut().filter(|last| last.role == Role::Assistant) else {
        return Ok(());
    };
    match last.blocks.last_mut().map(|block| &mut block.body) {
        // A paused turn of server tools is sent back as it came.
        Some(BlockBody::Raw(_)) => {}
        _ if !caps.prefill => {
            lost.lose(
                "prefill",
                "this model cannot continue a partial answer; it was instructed to go on",
            );
            let mut nudge = Turn::new(Role::User);
            nudge.blocks.push(Sent::text(
                "Continue exactly where your last message stops.",
            ));
            turns.push(nudge);
        }
        Some(BlockBody::Text { text, .. }) => *text = Cow::Owned(text.trim_end().to_owned()),
        _ => {}
    }
    Ok(())
}

impl<'a> ConversationBuilder<'a, '_> {
    /// The system prompt and the turns. Where there is nothing but a system prompt, its last
    /// message is what gets answered.
    fn split(&mut self) -> (&'a [Message], &'a [Message]) {
        let (system, turns) = (self.request.leading_system(), self.request.turns());
        if turns.is_empty()
            && self.request.dialect != Dialect::Anthropic
            && let Some((_, rest)) = system.split_last()
        {
            self.lost.lose(
                "system_role",
                "the conversation has only system messages; the last one was sent as a user message",
            );
            return (rest, &system[rest.len()..]);
        }
        (system, turns)
    }

    fn note_name(&mut self, message: &Message) {
        if message.name.is_some() {
            self.lost.lose(
                "name",
                "the Messages API does not support names of speakers",
            );
        }
    }

    fn leading_system(&mut self, message: &'a Message) {
        self.note_name(message);
        let blocks = self.system_blocks(message);
        self.conversation.system.extend(blocks);
    }

    fn system_blocks(&mut self, message: &'a Message) -> Vec<Sent<'a>> {
        let mut blocks = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                Part::Text(text) => blocks.extend(self.text(text, false)),
                Part::Server(block) if block.dialect == Dialect::Anthropic => {
                    blocks.push(plain(BlockBody::Raw(&block.raw)));
                }
                _ => self
                    .lost
                    .lose("system_media", "a system prompt can only have text"),
            }
        }
        blocks
    }

    /// An instruction in mid-conversation: as it is where the model takes it and the position is
    /// legal, else as text of the adjacent user turn.
    fn mid_system(&mut self, message: &'a Message, following: Option<Role>) {
        self.note_name(message);
        let last = self.conversation.turns.last();
        let follows_properly = last.is_some_and(|turn| match turn.role {
            Role::Assistant => {
                matches!(
                    turn.blocks.last(),
                    Some(Sent {
                        body: BlockBody::Raw(_),
                        ..
                    })
                )
            }
            _ => true,
        });
        let is_legal = follows_properly && following.is_none_or(|role| role == Role::Assistant);
        let blocks = self.system_blocks(message);
        if self.caps.mid_system && is_legal {
            if let Some(turn) = self.open(Role::System) {
                turn.blocks.extend(blocks);
                turn.output_config = message.output_config.as_ref().or(turn.output_config);
            }
            return;
        }
        self.lost.lose(
            "mid_system",
            "system messages within the conversation were sent as text of a user message",
        );
        if let Some(effort) = message.output_config.as_ref().and_then(effort::of_config) {
            self.conversation.effort = Some(effort);
        }
        let words: Vec<Sent<'a>> = blocks
            .into_iter()
            .filter_map(|block| match block.body {
                BlockBody::Text { text, .. } => {
                    Some(Sent::text(format!("<system>\n{text}\n</system>")))
                }
                _ => None,
            })
            .collect();
        if let Some(turn) = self.open(Role::User) {
            turn.blocks.extend(words);
        }
    }

    /// The turn that blocks of `role` go to: the last one where it is of that role.
    fn open(&mut self, role: Role) -> Option<&mut Turn<'a>> {
        let turns = &mut self.conversation.turns;
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(Turn::new(role));
        }
        turns.last_mut()
    }

    fn turn(&mut self, role: Role, index: usize, message: &'a Message) -> Result<(), BadRequest> {
        self.note_name(message);
        let mut blocks = Vec::with_capacity(message.parts.len());
        for (part_index, part) in message.parts.iter().enumerate() {
            let place = PartPlace {
                message: self.offset + index,
                part: part_index,
            };
            if role == Role::Assistant {
                self.assistant_part(part, &mut blocks);
            } else {
                blocks.extend(self.user_part(part, place)?);
            }
        }
        if !blocks.is_empty()
            && let Some(turn) = self.open(if role == Role::System {
                Role::User
            } else {
                role
            })
        {
            turn.blocks.extend(blocks);
        }
        Ok(())
    }

    fn mark(&self, cache: Option<&'a CacheMark>) -> Option<Cow<'a, RawJson>> {
        cache.map(|mark| sent_mark(self.request.dialect, mark))
    }

    /// A text block, unless there is nothing in it.
    fn text(&mut self, text: &'a Text, cited: bool) -> Option<Sent<'a>> {
        if text.opaque.is_some() {
            self.foreign_state();
        }
        if text.text.trim().is_empty() {
            return None;
        }
        let mut citations = Vec::new();
        if cited {
            citations.extend(text.citations.iter().filter_map(citation::to_replay));
        }
        if citations.len() < text.citations.len() {
            self.lost.lose(
                "citations",
                "only citations that this provider wrote can be sent back to it",
            );
        }
        Some(Sent {
            body: BlockBody::Text {
                text: Cow::Borrowed(&text.text),
                citations,
            },
            cache: self.mark(text.cache.as_ref()),
        })
    }

    fn foreign_state(&mut self) {
        self.lost.lose(
            "thinking_state",
            "only thinking that this provider signed can be sent back to it",
        );
    }

    fn assistant_part(&mut self, part: &'a Part, blocks: &mut Vec<Sent<'a>>) {
        match part {
            Part::Text(text) => blocks.extend(self.text(text, true)),
            Part::Refusal(words) if !words.trim().is_empty() => {
                blocks.push(Sent::text(words.as_str()));
            }
            Part::Refusal(_) => {}
            Part::Reasoning(reasoning) => blocks.extend(self.reasoning(reasoning)),
            Part::ToolCall(call) => {
                let block = self.call(call);
                blocks.push(block);
            }
            Part::Server(block) if block.dialect == Dialect::Anthropic => {
                blocks.push(plain(BlockBody::Raw(&block.raw)));
            }
            Part::Server(block) => self
                .lost
                .lose_field(&block.kind, "the block belongs to another provider"),
            Part::Document(Document {
                source: DocumentSource::Text(text),
                ..
            }) => blocks.push(Sent::text(text.as_str())),
            Part::Audio(_) => self
                .lost
                .lose("audio", "this provider does not accept audio"),
            Part::Image(_) | Part::Document(_) | Part::SearchResult(_) | Part::ToolResult(_) => {
                self.lost.lose(
                    "assistant_media",
                    "assistant messages can only have text and tool calls",
                );
            }
        }
    }

    fn reasoning(&mut self, reasoning: &'a Reasoning) -> Option<Sent<'a>> {
        match &reasoning.opaque {
            Some(Opaque::AnthropicSignature(signature))
                if !signature.is_empty() && !envelope::is_envelope(signature) =>
            {
                Some(plain(BlockBody::Thinking {
                    text: &reasoning.text,
                    signature,
                }))
            }
            Some(Opaque::AnthropicRedacted(data)) if !envelope::is_envelope(data) => {
                Some(plain(BlockBody::Redacted(data)))
            }
            None if reasoning.text.is_empty() => None,
            _ => {
                self.foreign_state();
                None
            }
        }
    }

    fn call(&mut self, call: &'a ToolCall) -> Sent<'a> {
        if call.opaque.is_some() {
            self.foreign_state();
        }
        if let ToolInput::Json(json) = &call.input
            && !json.trim().is_empty()
            && !is_object(json.trim())
        {
            self.lost.lose(
                "tool_input",
                "the arguments of an earlier call are not a JSON object and were sent as text",
            );
        }
        let own = self.request.dialect == Dialect::Anthropic;
        Sent {
            body: BlockBody::Call {
                id: self.ids.call(&call.id),
                name: self.names.sent(&call.name),
                call,
                extra: if own { &call.extra } else { &[] },
            },
            cache: self.mark(call.cache.as_ref()),
        }
    }

    fn user_part(
        &mut self,
        part: &'a Part,
        place: PartPlace,
    ) -> Result<Option<Sent<'a>>, BadRequest> {
        let from = self.request.dialect;
        let (body, cache) = match part {
            Part::Text(text) => return Ok(self.text(text, false)),
            Part::Image(image) => {
                media::check_image(image, from, self.caps, place, self.lost)?;
                (BlockBody::Image(image), image.cache.as_ref())
            }
            Part::Document(document) => (self.document(document, place)?, document.cache.as_ref()),
            Part::SearchResult(result) => (
                BlockBody::Search {
                    result,
                    cites: result.citations && self.cites,
                },
                result.cache.as_ref(),
            ),
            Part::ToolResult(result) => (self.result(result, place)?, result.cache.as_ref()),
            Part::Server(block) if block.dialect == Dialect::Anthropic => {
                (BlockBody::Raw(&block.raw), None)
            }
            Part::Server(block) => {
                self.lost
                    .lose_field(&block.kind, "the block belongs to another provider");
                return Ok(None);
            }
            Part::Audio(_) => {
                return Err(media::refuse(
                    place,
                    "this provider does not accept audio; send a transcript instead",
                ));
            }
            Part::Refusal(words) => (Sent::text(words.as_str()).body, None),
            Part::Reasoning(_) | Part::ToolCall(_) => return Ok(None),
        };
        Ok(Some(Sent {
            body,
            cache: self.mark(cache),
        }))
    }

    fn document(
        &mut self,
        document: &'a Document,
        place: PartPlace,
    ) -> Result<BlockBody<'a>, BadRequest> {
        let text = media::check_document(document, self.request.dialect, self.caps, place)?;
        let mut parts = Vec::new();
        if let DocumentSource::Parts(inner) = &document.source {
            for part in inner {
                parts.extend(self.user_part(part, place)?);
            }
        }
        Ok(BlockBody::Document {
            document,
            text,
            parts,
            cites: document.citations && self.cites,
        })
    }

    fn result(
        &mut self,
        result: &'a ToolResult,
        place: PartPlace,
    ) -> Result<BlockBody<'a>, BadRequest> {
        let mut parts = Vec::with_capacity(result.parts.len());
        for part in &result.parts {
            parts.extend(self.user_part(part, place)?);
        }
        Ok(BlockBody::Result {
            id: self
                .ids
                .result(&result.call_id)
                .unwrap_or(Cow::Borrowed(&result.call_id)),
            parts,
            is_error: result.is_error,
        })
    }
}

fn plain(body: BlockBody<'_>) -> Sent<'_> {
    Sent { body, cache: None }
}
