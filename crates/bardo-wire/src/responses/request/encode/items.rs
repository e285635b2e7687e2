//! Neutral messages to input items.

use std::collections::HashMap;

use bardo_types::Losses;
use bardo_types::chat::{
    Audio, CacheMark, ChatRequest, Citation, Document, DocumentSource, Image, MediaSource, Message,
    Opaque, Part, Reasoning, Role, SearchResult, Text, ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use crate::codec::BadRequest;
use crate::json::{Array, DataUrl, Object};
use crate::kit::namespaces;
use crate::kit::openai::InputAudio;
use crate::kit::tool_names::ToolNames;
use crate::responses::ids;
use crate::responses::output::OWN_ID;
use crate::responses::request::encode::CACHE_MARKS;

/// Why thinking that is not OpenAI's own is left out.
const FOREIGN_STATE: &str = "earlier thinking of another provider's model was removed";

/// Whether a cache mark is OpenAI's breakpoint rather than Anthropic's `cache_control`.
pub(in crate::responses) fn is_breakpoint(mark: &CacheMark) -> bool {
    mark.0.as_str().contains("\"mode\"")
}

/// Writes the `input` list: everything after the first `skip` messages.
pub(in crate::responses) fn encode(
    request: &ChatRequest,
    skip: usize,
    names: &ToolNames,
    out: &mut Vec<u8>,
    degraded: &mut Losses,
) -> Result<(), BadRequest> {
    let mut encoder = ItemsEncoder {
        same: request.dialect == Dialect::Responses,
        own_files: matches!(request.dialect, Dialect::Responses | Dialect::Chat),
        names,
        items: Array::new(out),
        degraded,
    };
    for message in &request.messages[..skip] {
        encoder.note_marks(message);
    }
    let messages = &request.messages[skip..];
    let answered = if encoder.same {
        HashMap::new()
    } else {
        last_results(messages)
    };
    for (index, message) in messages.iter().enumerate() {
        let path = format!("messages[{}]", skip + index);
        match message.role {
            Role::System => encoder.system(message, &path)?,
            Role::User => encoder.user(message, &path)?,
            Role::Assistant => {
                encoder.assistant(message);
                if !encoder.same && index + 1 < messages.len() {
                    encoder.answer_open_calls(message, index, &answered);
                }
            }
        }
    }
    if !encoder.same
        && messages
            .last()
            .is_some_and(|last| last.role == Role::Assistant && !last.parts.iter().any(is_call))
    {
        encoder.degraded.lose(
            "prefill",
            "this API cannot continue a partial answer; it starts a new one",
        );
    }
    encoder.items.end();
    Ok(())
}

/// For each call id the place of the last message with a result for it.
fn last_results(messages: &[Message]) -> HashMap<&str, usize> {
    let mut last = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        for part in &message.parts {
            if let Part::ToolResult(result) = part {
                last.insert(result.call_id.as_str(), index);
            }
        }
    }
    last
}

fn is_call(part: &Part) -> bool {
    matches!(part, Part::ToolCall(_))
}

struct ItemsEncoder<'a> {
    same: bool,
    /// File ids of the request are OpenAI's.
    own_files: bool,
    names: &'a ToolNames,
    items: Array<'a>,
    degraded: &'a mut Losses,
}

impl ItemsEncoder<'_> {
    fn lose(&mut self, feature: &'static str, why: &'static str) {
        self.degraded.lose(feature, why);
    }

    /// Names marks on text whose place takes none.
    fn note_marks(&mut self, message: &Message) {
        let marked = |part: &Part| matches!(part, Part::Text(Text { cache: Some(_), .. }));
        if message.parts.iter().any(marked) {
            self.lose("cache_control", CACHE_MARKS);
        }
    }

    fn system(&mut self, message: &Message, path: &str) -> Result<(), BadRequest> {
        let role = if message.developer {
            "developer"
        } else {
            "system"
        };
        self.message(role, message.parts.iter(), path)
    }

    fn user(&mut self, message: &Message, path: &str) -> Result<(), BadRequest> {
        // Outputs first and together, then what the person says, wherever it stood.
        for (index, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolResult(result) => {
                    self.output(result, &format!("{path}.content[{index}]"))?;
                }
                Part::Server(block) if !is_content_kind(&block.kind) => {
                    self.server(block.dialect, &block.raw);
                }
                _ => {}
            }
        }
        let spoken = || {
            message.parts.iter().filter(|part| match part {
                Part::ToolResult(_) => false,
                Part::Server(block) => is_content_kind(&block.kind),
                _ => true,
            })
        };
        if spoken().next().is_some() || message.parts.is_empty() {
            self.message("user", spoken(), path)?;
        }
        Ok(())
    }

    fn server(&mut self, dialect: Dialect, raw: &RawJson) {
        if dialect == Dialect::Responses {
            self.items.raw(raw.as_str());
        } else {
            self.lose("server_tools", "blocks of another provider were removed");
        }
    }

    fn message<'p>(
        &mut self,
        role: &str,
        parts: impl Iterator<Item = &'p Part>,
        path: &str,
    ) -> Result<(), BadRequest> {
        let Self {
            own_files,
            items,
            degraded,
            ..
        } = self;
        let mut message = items.object();
        message.set("type", "message");
        message.set("role", role);
        let mut content = ContentWriter {
            own_files: *own_files,
            list: message.array("content"),
            degraded,
        };
        for part in parts {
            content.part(part, path)?;
        }
        Ok(())
    }

    fn output(&mut self, result: &ToolResult, path: &str) -> Result<(), BadRequest> {
        let mut item = self.items.object();
        let kind = if result.custom {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        item.set("type", kind);
        item.set("call_id", ids::call_id(&result.call_id));
        match result.parts.as_slice() {
            [] => write_output(&mut item, result.is_error, ""),
            [Part::Text(text)] if text.cache.is_none() => {
                write_output(&mut item, result.is_error, &text.text);
            }
            parts => {
                let mut content = ContentWriter {
                    own_files: self.own_files,
                    list: item.array("output"),
                    degraded: self.degraded,
                };
                if result.is_error {
                    content.text("Error:", None);
                }
                for part in parts {
                    content.part(part, path)?;
                }
            }
        }
        item.end();
        if result.cache.is_some() {
            self.lose("cache_control", CACHE_MARKS);
        }
        Ok(())
    }

    fn assistant(&mut self, message: &Message) {
        let mut words: Vec<&Part> = Vec::new();
        for part in &message.parts {
            if matches!(part, Part::Text(_) | Part::Refusal(_)) {
                words.push(part);
                continue;
            }
            self.words(&mut words);
            match part {
                Part::Reasoning(reasoning) => self.reasoning(reasoning),
                Part::ToolCall(call) => self.call(call),
                Part::Server(block) => self.server(block.dialect, &block.raw),
                Part::Audio(_) => self.lose("audio", "earlier audio of the model was removed"),
                Part::Image(_) | Part::Document(_) | Part::SearchResult(_) => {
                    self.lose(
                        "assistant_media",
                        "media in assistant messages were removed",
                    );
                }
                Part::Text(_) | Part::Refusal(_) | Part::ToolResult(_) => {}
            }
        }
        self.words(&mut words);
    }

    fn words(&mut self, words: &mut Vec<&Part>) {
        words.retain(|part| !matches!(part, Part::Text(text) if text.text.is_empty()));
        if words.is_empty() {
            return;
        }
        let (mut marked, mut signed) = (false, false);
        let mut message = self.items.object();
        message.set("type", "message");
        message.set("role", "assistant");
        let mut content = message.array("content");
        for part in words.drain(..) {
            let mut object = content.object();
            match part {
                Part::Text(text) => {
                    marked |= text.cache.is_some();
                    signed |= text.opaque.is_some();
                    object.set("type", "output_text");
                    object.set("text", &text.text);
                    let own = |citation: &Citation| match &citation.raw {
                        Some((Dialect::Responses, raw)) => Some(raw.clone()),
                        _ => None,
                    };
                    let annotations: Vec<RawJson> = text.citations.iter().filter_map(own).collect();
                    if !annotations.is_empty() {
                        object.set("annotations", &annotations);
                    }
                }
                Part::Refusal(refusal) => {
                    object.set("type", "refusal");
                    object.set("refusal", refusal);
                }
                _ => {}
            }
            object.end();
        }
        content.end();
        message.end();
        if marked {
            self.lose("cache_control", CACHE_MARKS);
        }
        if signed {
            self.lose("thinking_state", FOREIGN_STATE);
        }
    }

    fn reasoning(&mut self, reasoning: &Reasoning) {
        match &reasoning.opaque {
            Some(Opaque::OpenAiReasoning(raw)) => self.items.raw(raw.as_str()),
            // Thinking without OpenAI's own state means nothing to it, words included.
            _ => self.lose("thinking_state", FOREIGN_STATE),
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let mut item = self.items.object();
        let (kind, key, input) = match &call.input {
            ToolInput::Json(text) if text.trim().is_empty() => ("function_call", "arguments", "{}"),
            ToolInput::Json(text) => ("function_call", "arguments", text.as_str()),
            ToolInput::Text(text) => ("custom_tool_call", "input", text.as_str()),
        };
        item.set("type", kind);
        item.set("call_id", ids::call_id(&call.id));
        let namespace = namespaces::of_call(call).filter(|_| self.same);
        let own = namespace.and_then(|namespace| namespaces::within(&namespace, &call.name));
        item.set("name", own.unwrap_or_else(|| self.names.sent(&call.name)));
        item.set(key, input);
        if self.same {
            for (key, raw) in &call.extra {
                if key != "id" || !raw.as_str().contains(OWN_ID) {
                    item.foreign(key, raw.as_str());
                }
            }
        }
        item.end();
        if call.cache.is_some() {
            self.lose("cache_control", CACHE_MARKS);
        }
        // A signature that came here by way of this dialect is another provider's all the same.
        if call.opaque.is_some() {
            self.lose("thinking_state", FOREIGN_STATE);
        }
    }

    /// OpenAI refuses a call without an output; a caller that cut its history gets one that says so.
    fn answer_open_calls(
        &mut self,
        message: &Message,
        index: usize,
        answered: &HashMap<&str, usize>,
    ) {
        for part in &message.parts {
            let Part::ToolCall(call) = part else { continue };
            if answered
                .get(call.id.as_str())
                .is_some_and(|&last| last > index)
            {
                continue;
            }
            let custom = matches!(call.input, ToolInput::Text(_));
            let mut item = self.items.object();
            let kind = if custom {
                "custom_tool_call_output"
            } else {
                "function_call_output"
            };
            item.set("type", kind);
            item.set("call_id", ids::call_id(&call.id));
            item.set("output", "Error: the tool gave no result.");
            item.end();
            self.lose(
                "missing_tool_result",
                "a tool call without a result was answered with an error",
            );
        }
    }
}

/// Writes the text of a tool output; this API has no flag for failures.
fn write_output(item: &mut Object<'_>, is_error: bool, text: &str) {
    if is_error {
        item.set("output", format_args!("Error: {text}"));
    } else {
        item.set("output", text);
    }
}

/// Whether a block of our own dialect is a content part, not an item.
fn is_content_kind(kind: &str) -> bool {
    kind.starts_with("input_") || kind.starts_with("output_") || kind == "computer_screenshot"
}

/// Writes content parts of a message or of a tool's output.
struct ContentWriter<'a> {
    own_files: bool,
    list: Array<'a>,
    degraded: &'a mut Losses,
}

impl ContentWriter<'_> {
    fn lose(&mut self, feature: &'static str, why: &'static str) {
        self.degraded.lose(feature, why);
    }

    fn part(&mut self, part: &Part, path: &str) -> Result<(), BadRequest> {
        match part {
            Part::Text(text) => self.text(&text.text, text.cache.as_ref()),
            Part::Refusal(text) => self.text(text, None),
            Part::Image(image) => self.image(image, path)?,
            Part::Document(document) => self.document(document, path)?,
            Part::Audio(audio) => self.audio(audio),
            Part::SearchResult(result) => self.search_result(result),
            Part::Server(block) if block.dialect == Dialect::Responses => {
                self.list.raw(block.raw.as_str());
            }
            Part::Server(block) => {
                // Something must stand where the block stood, or the result would be empty.
                self.text(&format!("[{}]", block.kind), None);
                self.lose("server_tools", "blocks of another provider were removed");
            }
            Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, mark: Option<&CacheMark>) {
        let mut object = self.list.object();
        object.set("type", "input_text");
        object.set("text", text);
        let lost = write_mark(&mut object, mark);
        object.end();
        self.note(lost);
    }

    fn note(&mut self, mark_lost: bool) {
        if mark_lost {
            self.lose("cache_control", CACHE_MARKS);
        }
    }

    /// A file id means something only to the provider that gave it.
    fn own_file(&self, path: &str) -> Result<(), BadRequest> {
        if self.own_files {
            return Ok(());
        }
        Err(BadRequest::new(
            path,
            format!("`{path}` refers to a file of another provider; send its content inline"),
        ))
    }

    fn image(&mut self, image: &Image, path: &str) -> Result<(), BadRequest> {
        if matches!(image.source, MediaSource::File(_)) {
            self.own_file(path)?;
        }
        let mut object = self.list.object();
        object.set("type", "input_image");
        object.set("detail", image.detail.as_deref().unwrap_or("auto"));
        match &image.source {
            MediaSource::File(id) => {
                object.set("file_id", id);
            }
            MediaSource::Url(url) => {
                object.set("image_url", url);
            }
            MediaSource::Base64 { media_type, data } => {
                object.set("image_url", DataUrl { media_type, data });
            }
        }
        let lost = write_mark(&mut object, image.cache.as_ref());
        object.end();
        self.note(lost);
        Ok(())
    }

    fn document(&mut self, document: &Document, path: &str) -> Result<(), BadRequest> {
        if document.citations {
            self.lose(
                "citations",
                "this API does not cite documents of the request",
            );
        }
        if let Some(context) = &document.context {
            self.text(context, None);
        }
        let source = match &document.source {
            DocumentSource::Media(source) => source,
            DocumentSource::Text(text) => {
                self.titled(document.title.as_deref(), text, document.cache.as_ref());
                return Ok(());
            }
            DocumentSource::Parts(parts) => {
                if let Some(title) = &document.title {
                    self.text(title, None);
                }
                for part in parts {
                    self.part(part, path)?;
                }
                self.note(document.cache.is_some());
                return Ok(());
            }
        };
        if matches!(source, MediaSource::File(_)) {
            self.own_file(path)?;
        }
        let mut object = self.list.object();
        object.set("type", "input_file");
        match source {
            MediaSource::File(id) => {
                object.set("file_id", id);
            }
            MediaSource::Url(url) => {
                object.set("file_url", url);
            }
            MediaSource::Base64 { media_type, data } => {
                let name = document.title.as_deref().unwrap_or("document.pdf");
                object.set("filename", name);
                object.set("file_data", DataUrl { media_type, data });
            }
        }
        let lost = write_mark(&mut object, document.cache.as_ref());
        object.end();
        self.note(lost);
        Ok(())
    }

    fn titled(&mut self, title: Option<&str>, text: &str, mark: Option<&CacheMark>) {
        match title {
            Some(title) => self.text(&format!("{title}\n\n{text}"), mark),
            None => self.text(text, mark),
        }
    }

    fn audio(&mut self, audio: &Audio) {
        let mut object = self.list.object();
        InputAudio::write(audio, &mut object);
        object.end();
    }

    fn search_result(&mut self, result: &SearchResult) {
        if result.citations {
            self.lose(
                "citations",
                "this API does not cite documents of the request",
            );
        }
        let body: Vec<&str> = result
            .content
            .iter()
            .map(|text| text.text.as_str())
            .collect();
        let text = format!("{}\n{}\n\n{}", result.title, result.source, body.join("\n"));
        self.text(&text, result.cache.as_ref());
    }
}

/// Writes a breakpoint; answers whether a mark of another kind was left out.
fn write_mark(object: &mut Object<'_>, mark: Option<&CacheMark>) -> bool {
    match mark {
        Some(mark) if is_breakpoint(mark) => {
            object.raw("prompt_cache_breakpoint", mark.0.as_str());
            false
        }
        mark => mark.is_some(),
    }
}
