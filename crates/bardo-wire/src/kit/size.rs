//! How long a request gets.

use bardo_types::chat::{ChatRequest, DocumentSource, MediaSource, Message, Part};

/// Bytes of the members around a part or a tool.
const AROUND: usize = 160;

/// About how many bytes a request has as JSON of any dialect, rather too many than too few, so that
/// its body is not moved while it is written.
pub(crate) fn of_request(request: &ChatRequest) -> usize {
    let messages: usize = request.messages.iter().map(message).sum();
    let tools: usize = request.tools.iter().map(|tool| tool.bytes() + AROUND).sum();
    // The words of tools and schemas have few escapes, those of messages some.
    2048 + messages + tools + tools / 32
}

fn message(message: &Message) -> usize {
    message.parts.iter().map(part).sum()
}

fn part(part: &Part) -> usize {
    let escaped = |bytes: usize| bytes + bytes / 8;
    AROUND
        + match part {
            Part::Image(image) => media(&image.source),
            Part::Audio(audio) => audio.data.len(),
            Part::Document(document) => match &document.source {
                DocumentSource::Media(source) => media(source),
                DocumentSource::Text(text) => escaped(text.len()),
                DocumentSource::Parts(parts) => parts.iter().map(self::part).sum(),
            },
            Part::ToolResult(result) => result.parts.iter().map(self::part).sum(),
            part => escaped(part.bytes()),
        }
}

fn media(source: &MediaSource) -> usize {
    match source {
        MediaSource::Base64 { data: text, .. }
        | MediaSource::Url(text)
        | MediaSource::File(text) => text.len(),
    }
}
