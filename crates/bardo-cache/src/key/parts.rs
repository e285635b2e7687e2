//! The part of the key that comes from the content of messages.

use std::collections::BTreeMap;

use bardo_types::chat::{
    Audio, Citation, CitationSource, Document, DocumentSource, Image, MediaSource, Opaque, Part,
    Reasoning, SearchResult, ServerBlock, Text, ToolCall, ToolInput, ToolResult,
};
use bardo_types::json::RawJson;

use super::writer::KeyWriter;

/// Whether a part carries members that only the dialect of the request understands.
pub(super) fn has_own_words(part: &Part) -> bool {
    match part {
        Part::ToolCall(call) => !call.extra.is_empty(),
        _ => false,
    }
}

/// Writes one part. Texts of a system message lose what the caller declared ephemeral.
pub(super) fn write(writer: &mut KeyWriter<'_>, part: &Part, is_system: bool) {
    match part {
        Part::Text(text) => {
            writer.choice(0);
            write_text(writer, text, is_system);
        }
        Part::Image(image) => {
            writer.choice(1);
            write_image(writer, image);
        }
        Part::Document(document) => {
            writer.choice(2);
            write_document(writer, document);
        }
        Part::Audio(Audio { data, format, id }) => {
            writer.choice(3);
            writer.text(data);
            writer.text(format);
            writer.option_text(id.as_deref());
        }
        Part::SearchResult(result) => {
            writer.choice(4);
            write_search_result(writer, result);
        }
        Part::Reasoning(reasoning) => {
            writer.choice(5);
            write_reasoning(writer, reasoning);
        }
        Part::ToolCall(call) => {
            writer.choice(6);
            write_tool_call(writer, call);
        }
        Part::ToolResult(result) => {
            writer.choice(7);
            write_tool_result(writer, result);
        }
        Part::Refusal(text) => {
            writer.choice(8);
            writer.text(text);
        }
        Part::Server(ServerBlock { dialect, kind, raw }) => {
            writer.choice(9);
            writer.text(dialect.as_str());
            writer.text(kind);
            writer.json(raw);
        }
    }
}

fn write_text(writer: &mut KeyWriter<'_>, text: &Text, is_system: bool) {
    let Text {
        text,
        citations,
        cache: _,
        opaque,
    } = text;
    if is_system {
        writer.system_text(text);
    } else {
        writer.text(text);
    }
    writer.list(citations.iter(), write_citation);
    writer.option(opaque.as_ref(), write_opaque);
}

fn write_citation(writer: &mut KeyWriter<'_>, citation: &Citation) {
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
            writer.choice(0);
            writer.text(url);
            writer.text(title);
            writer.option(*start, KeyWriter::number);
            writer.option(*end, KeyWriter::number);
        }
        CitationSource::Document { index, title } => {
            writer.choice(1);
            writer.number(*index);
            writer.option_text(title.as_deref());
        }
        CitationSource::Other => writer.choice(2),
    }
    writer.option_text(cited_text.as_deref());
    writer.option(raw.as_ref(), |writer, (dialect, raw)| {
        writer.text(dialect.as_str());
        writer.json(raw);
    });
}

fn write_media(writer: &mut KeyWriter<'_>, source: &MediaSource) {
    match source {
        MediaSource::Base64 { media_type, data } => {
            writer.choice(0);
            writer.text(media_type);
            writer.text(data);
        }
        MediaSource::Url(url) => {
            writer.choice(1);
            writer.text(url);
        }
        MediaSource::File(id) => {
            writer.choice(2);
            writer.text(id);
        }
    }
}

fn write_image(writer: &mut KeyWriter<'_>, image: &Image) {
    let Image {
        source,
        detail,
        cache: _,
    } = image;
    write_media(writer, source);
    writer.option_text(detail.as_deref());
}

fn write_document(writer: &mut KeyWriter<'_>, document: &Document) {
    let Document {
        source,
        title,
        context,
        citations,
        cache: _,
    } = document;
    match source {
        DocumentSource::Media(media) => {
            writer.choice(0);
            write_media(writer, media);
        }
        DocumentSource::Text(text) => {
            writer.choice(1);
            writer.text(text);
        }
        DocumentSource::Parts(parts) => {
            writer.choice(2);
            writer.list(parts.iter(), |writer, part| write(writer, part, false));
        }
    }
    writer.option_text(title.as_deref());
    writer.option_text(context.as_deref());
    writer.flag(*citations);
}

fn write_search_result(writer: &mut KeyWriter<'_>, result: &SearchResult) {
    let SearchResult {
        source,
        title,
        content,
        citations,
        cache: _,
    } = result;
    writer.text(source);
    writer.text(title);
    writer.list(content.iter(), |writer, text| {
        write_text(writer, text, false)
    });
    writer.flag(*citations);
}

fn write_reasoning(writer: &mut KeyWriter<'_>, reasoning: &Reasoning) {
    let Reasoning {
        text,
        summary,
        opaque,
    } = reasoning;
    writer.text(text);
    writer.flag(*summary);
    writer.option(opaque.as_ref(), write_opaque);
}

fn write_opaque(writer: &mut KeyWriter<'_>, opaque: &Opaque) {
    match opaque {
        Opaque::AnthropicSignature(text) => {
            writer.choice(0);
            writer.text(text);
        }
        Opaque::AnthropicRedacted(text) => {
            writer.choice(1);
            writer.text(text);
        }
        Opaque::OpenAiReasoning(raw) => {
            writer.choice(2);
            writer.json(raw);
        }
        Opaque::GeminiSignature(text) => {
            writer.choice(3);
            writer.text(text);
        }
        Opaque::ReasoningContent => writer.choice(4),
        Opaque::ReasoningDetail(raw) => {
            writer.choice(5);
            writer.json(raw);
        }
    }
}

fn write_tool_call(writer: &mut KeyWriter<'_>, call: &ToolCall) {
    let ToolCall {
        id,
        name,
        input,
        opaque,
        cache: _,
        extra,
    } = call;
    writer.text(id);
    writer.text(name);
    match input {
        ToolInput::Json(text) => {
            writer.choice(0);
            writer.text(text);
        }
        ToolInput::Text(text) => {
            writer.choice(1);
            writer.text(text);
        }
    }
    writer.option(opaque.as_ref(), write_opaque);
    writer.members(extra);
}

fn write_tool_result(writer: &mut KeyWriter<'_>, result: &ToolResult) {
    let ToolResult {
        call_id,
        parts,
        is_error,
        custom,
        cache: _,
    } = result;
    writer.text(call_id);
    writer.list(parts.iter(), |writer, part| write(writer, part, false));
    writer.flag(*is_error);
    writer.flag(*custom);
}

/// Notes of the caller, without the members whose whole value was declared ephemeral.
pub(super) fn write_metadata(writer: &mut KeyWriter<'_>, metadata: &RawJson) {
    let is_declared = |value: &RawJson| {
        value
            .read::<String>()
            .is_ok_and(|text| writer.ephemeral.contains(&text))
    };
    let members = metadata.read::<BTreeMap<String, RawJson>>();
    match members {
        Ok(members) if members.values().any(is_declared) => {
            let kept: Vec<_> = members
                .iter()
                .filter(|(_, value)| !is_declared(value))
                .collect();
            writer.choice(1);
            writer.list(kept.into_iter(), |writer, (name, value)| {
                writer.text(name);
                writer.json(value);
            });
        }
        _ => {
            writer.choice(0);
            writer.json(metadata);
        }
    }
}
