//! Changes every member of the content of messages.

use bardo_types::chat::{
    Audio, Citation, CitationSource, Document, DocumentSource, Image, MediaSource, Opaque, Part,
    Reasoning, SearchResult, ServerBlock, Text, ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;

use super::{Change, next_dialect};

impl Change {
    pub(super) fn part(&mut self, part: &mut Part) {
        match part {
            Part::Text(text) => self.text_part(text),
            Part::Image(Image {
                source,
                detail,
                cache,
            }) => {
                self.media(source);
                self.option_text("image.detail", detail);
                self.mark("image.cache", cache);
            }
            Part::Document(document) => self.document(document),
            Part::Audio(Audio { data, format, id }) => {
                self.text("audio.data", data);
                self.text("audio.format", format);
                self.option_text("audio.id", id);
            }
            Part::SearchResult(SearchResult {
                source,
                title,
                content,
                citations,
                cache,
            }) => {
                self.text("search.source", source);
                self.text("search.title", title);
                self.list("search.content", content, Text::default, Self::text_part);
                self.flag("search.citations", citations);
                self.mark("search.cache", cache);
            }
            Part::Reasoning(Reasoning {
                text,
                summary,
                opaque,
            }) => {
                self.text("reasoning.text", text);
                self.flag("reasoning.is_summary", summary);
                self.option(
                    "reasoning.opaque",
                    opaque,
                    || Opaque::ReasoningContent,
                    Self::opaque,
                );
            }
            Part::ToolCall(call) => self.tool_call(call),
            Part::ToolResult(ToolResult {
                call_id,
                parts,
                is_error,
                custom,
                cache,
            }) => {
                self.text("result.call_id", call_id);
                self.list(
                    "result.parts",
                    parts,
                    || Part::Refusal(String::new()),
                    Self::part,
                );
                self.flag("result.is_error", is_error);
                self.flag("result.custom", custom);
                self.mark("result.cache", cache);
            }
            Part::Refusal(text) => self.text("refusal", text),
            Part::Server(ServerBlock { dialect, kind, raw }) => {
                let other = next_dialect(*dialect);
                self.at("block.dialect", false, || *dialect = other);
                self.text("block.kind", kind);
                self.json("block.raw", raw);
            }
        }
        self.at("part", false, || *part = Part::Refusal("other".to_owned()));
    }

    fn text_part(&mut self, part: &mut Text) {
        let Text {
            text,
            citations,
            cache,
            opaque,
        } = part;
        self.text("text", text);
        let citation = || Citation {
            source: CitationSource::Other,
            cited_text: None,
            raw: None,
        };
        self.list("text.citations", citations, citation, Self::citation);
        self.mark("text.cache", cache);
        self.option(
            "text.opaque",
            opaque,
            || Opaque::ReasoningContent,
            Self::opaque,
        );
    }

    fn citation(&mut self, citation: &mut Citation) {
        let Citation {
            source,
            cited_text,
            raw,
        } = citation;
        match source {
            CitationSource::Url {
                url,
                title,
                start,
                end,
            } => {
                self.text("citation.url", url);
                self.text("citation.title", title);
                self.option_number("citation.start", start);
                self.option_number("citation.end", end);
            }
            CitationSource::Document { index, title } => {
                self.number("citation.index", index);
                self.option_text("citation.document", title);
            }
            CitationSource::Other => {}
        }
        self.option_text("citation.text", cited_text);
        let new = || (Dialect::Chat, RawJson::empty_object());
        self.option("citation.raw", raw, new, |change, (dialect, raw)| {
            let other = next_dialect(*dialect);
            change.at("citation.dialect", false, || *dialect = other);
            change.json("citation.raw", raw);
        });
    }

    fn opaque(&mut self, opaque: &mut Opaque) {
        let other = match opaque {
            Opaque::AnthropicSignature(text) => Opaque::AnthropicRedacted(text.clone()),
            Opaque::AnthropicRedacted(text) => Opaque::GeminiSignature(text.clone()),
            Opaque::GeminiSignature(text) => Opaque::AnthropicSignature(text.clone()),
            Opaque::OpenAiReasoning(raw) => Opaque::ReasoningDetail(raw.clone()),
            Opaque::ReasoningDetail(raw) => Opaque::OpenAiReasoning(raw.clone()),
            Opaque::ReasoningContent => Opaque::GeminiSignature(String::new()),
        };
        match opaque {
            Opaque::AnthropicSignature(text)
            | Opaque::AnthropicRedacted(text)
            | Opaque::GeminiSignature(text) => self.text("opaque", text),
            Opaque::OpenAiReasoning(raw) | Opaque::ReasoningDetail(raw) => {
                self.json("opaque", raw);
            }
            Opaque::ReasoningContent => {}
        }
        self.at("opaque", false, || *opaque = other);
    }

    fn media(&mut self, media: &mut MediaSource) {
        let other = match media {
            MediaSource::Base64 { media_type, data } => {
                self.text("media.type", media_type);
                self.text("media.data", data);
                MediaSource::Url(data.clone())
            }
            MediaSource::Url(url) => {
                self.text("media.url", url);
                MediaSource::File(url.clone())
            }
            MediaSource::File(id) => {
                self.text("media.file", id);
                MediaSource::Url(id.clone())
            }
        };
        self.at("media", false, || *media = other);
    }

    fn document(&mut self, document: &mut Document) {
        let Document {
            source,
            title,
            context,
            citations,
            cache,
        } = document;
        match source {
            DocumentSource::Media(media) => self.media(media),
            DocumentSource::Text(text) => self.text("document.text", text),
            DocumentSource::Parts(parts) => {
                let new = || Part::Refusal(String::new());
                self.list("document.parts", parts, new, Self::part);
            }
        }
        self.at("document.source", false, || {
            *source = DocumentSource::Text("other".to_owned());
        });
        self.option_text("document.title", title);
        self.option_text("document.context", context);
        self.flag("document.citations", citations);
        self.mark("document.cache", cache);
    }

    fn tool_call(&mut self, call: &mut ToolCall) {
        let ToolCall {
            id,
            name,
            input,
            opaque,
            cache,
            extra,
        } = call;
        self.text("call.id", id);
        self.text("call.name", name);
        let other = match input {
            ToolInput::Json(text) => {
                self.text("call.json", text);
                ToolInput::Text(text.clone())
            }
            ToolInput::Text(text) => {
                self.text("call.text", text);
                ToolInput::Json(text.clone())
            }
        };
        self.at("call.input", false, || *input = other);
        self.option(
            "call.opaque",
            opaque,
            || Opaque::ReasoningContent,
            Self::opaque,
        );
        self.mark("call.cache", cache);
        self.members("call.extra", extra);
    }
}
