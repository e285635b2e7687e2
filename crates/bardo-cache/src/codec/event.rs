//! The events of an answer as bytes.

use bardo_types::chat::{Citation, CitationSource, Finish, Opaque, ServerBlock, StreamEvent};
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;

use super::bytes::{ByteReader, ByteWriter, Corrupt};

/// What an event usually takes beside its text.
const EVENT_BYTES: usize = 24;

/// The events as bytes, without a version: memory alone holds them so.
///
/// [`StreamEvent::Failed`] ends the bytes without [`StreamEvent::Done`]; such bytes read as
/// [`Corrupt`], for an answer that failed is never served.
#[must_use]
pub fn write_events(events: &[StreamEvent]) -> Vec<u8> {
    let texts = events.iter().map(|event| match event {
        StreamEvent::Text { text, .. } | StreamEvent::Reasoning { text, .. } => text.len(),
        _ => 0,
    });
    let room = texts.sum::<usize>() + events.len() * EVENT_BYTES;
    let mut out = ByteWriter(Vec::with_capacity(room));
    for event in events {
        write_event(&mut out, event);
    }
    out.0
}

/// The events of a complete answer.
///
/// # Errors
/// When the bytes are no answer, or one that did not end.
pub fn read_events(bytes: &[u8]) -> Result<Vec<StreamEvent>, Corrupt> {
    let mut input = ByteReader(bytes);
    let mut events = Vec::with_capacity(bytes.len() / EVENT_BYTES + 4);
    while !input.0.is_empty() {
        events.push(read_event(&mut input)?);
    }
    match events.last() {
        Some(StreamEvent::Done) => Ok(events),
        _ => Err(Corrupt),
    }
}

fn write_event(out: &mut ByteWriter, event: &StreamEvent) {
    match event {
        StreamEvent::Start {
            id,
            model,
            created,
            service_tier,
        } => {
            out.byte(0);
            out.option(id.as_deref(), ByteWriter::text);
            out.option(model.as_deref(), ByteWriter::text);
            out.option(*created, ByteWriter::number);
            out.option(service_tier.as_deref(), ByteWriter::text);
        }
        StreamEvent::Reasoning {
            choice,
            text,
            summary,
        } => {
            of_choice(out, 1, *choice);
            out.text(text);
            out.flag(*summary);
        }
        StreamEvent::ReasoningEnd { choice, opaque } => {
            of_choice(out, 2, *choice);
            out.option(opaque.as_ref(), write_opaque);
        }
        StreamEvent::Text { choice, text } => {
            of_choice(out, 3, *choice);
            out.text(text);
        }
        StreamEvent::TextEnd { choice, opaque } => {
            of_choice(out, 4, *choice);
            out.option(opaque.as_ref(), write_opaque);
        }
        StreamEvent::Citation { choice, citation } => {
            of_choice(out, 5, *choice);
            write_citation(out, citation);
        }
        StreamEvent::Refusal { choice, text } => {
            of_choice(out, 6, *choice);
            out.text(text);
        }
        event => write_rest(out, event),
    }
}

fn write_rest(out: &mut ByteWriter, event: &StreamEvent) {
    match event {
        StreamEvent::ToolStart {
            choice,
            call,
            id,
            name,
            custom,
            opaque,
        } => {
            of_choice(out, 7, *choice);
            out.number(u64::from(*call));
            out.text(id);
            out.text(name);
            out.flag(*custom);
            out.option(opaque.as_ref(), write_opaque);
        }
        StreamEvent::ToolInput {
            choice,
            call,
            fragment,
        } => {
            of_choice(out, 8, *choice);
            out.number(u64::from(*call));
            out.text(fragment);
        }
        StreamEvent::ToolEnd { choice, call } => {
            of_choice(out, 9, *choice);
            out.number(u64::from(*call));
        }
        StreamEvent::Server {
            choice,
            block: ServerBlock { dialect, kind, raw },
        } => {
            of_choice(out, 10, *choice);
            out.byte(dialect_number(*dialect));
            out.text(kind);
            out.json(raw);
        }
        StreamEvent::Logprobs { choice, raw } => {
            of_choice(out, 11, *choice);
            out.json(raw);
        }
        StreamEvent::Usage(usage) => {
            out.byte(12);
            write_usage(out, usage);
        }
        StreamEvent::Finish {
            choice,
            reason,
            stop_sequence,
            details,
        } => {
            of_choice(out, 13, *choice);
            out.byte(finish_number(*reason));
            out.option(stop_sequence.as_deref(), ByteWriter::text);
            out.option(details.as_ref(), ByteWriter::json);
        }
        StreamEvent::Done => out.byte(14),
        // No event has this number: the bytes are corrupt from here on.
        _ => out.byte(u8::MAX),
    }
}

fn of_choice(out: &mut ByteWriter, number: u8, choice: u32) {
    out.byte(number);
    out.number(u64::from(choice));
}

fn read_event(input: &mut ByteReader<'_>) -> Result<StreamEvent, Corrupt> {
    Ok(match input.byte()? {
        0 => StreamEvent::Start {
            id: input.option(ByteReader::text)?,
            model: input.option(ByteReader::text)?,
            created: input.option(ByteReader::number)?,
            service_tier: input.option(ByteReader::text)?,
        },
        12 => StreamEvent::Usage(read_usage(input)?),
        14 => StreamEvent::Done,
        number => {
            let choice = input.small()?;
            read_of_choice(input, number, choice)?
        }
    })
}

fn read_of_choice(
    input: &mut ByteReader<'_>,
    number: u8,
    choice: u32,
) -> Result<StreamEvent, Corrupt> {
    Ok(match number {
        1 => StreamEvent::Reasoning {
            choice,
            text: input.text()?,
            summary: input.flag()?,
        },
        2 => StreamEvent::ReasoningEnd {
            choice,
            opaque: input.option(read_opaque)?,
        },
        3 => StreamEvent::Text {
            choice,
            text: input.text()?,
        },
        4 => StreamEvent::TextEnd {
            choice,
            opaque: input.option(read_opaque)?,
        },
        5 => StreamEvent::Citation {
            choice,
            citation: read_citation(input)?,
        },
        6 => StreamEvent::Refusal {
            choice,
            text: input.text()?,
        },
        7 => StreamEvent::ToolStart {
            choice,
            call: input.small()?,
            id: input.text()?,
            name: input.text()?,
            custom: input.flag()?,
            opaque: input.option(read_opaque)?,
        },
        8 => StreamEvent::ToolInput {
            choice,
            call: input.small()?,
            fragment: input.text()?,
        },
        9 => StreamEvent::ToolEnd {
            choice,
            call: input.small()?,
        },
        10 => StreamEvent::Server {
            choice,
            block: ServerBlock {
                dialect: read_dialect(input)?,
                kind: input.text()?,
                raw: input.json()?,
            },
        },
        11 => StreamEvent::Logprobs {
            choice,
            raw: input.json()?,
        },
        13 => StreamEvent::Finish {
            choice,
            reason: read_finish(input)?,
            stop_sequence: input.option(ByteReader::text)?,
            details: input.option(ByteReader::json)?,
        },
        _ => return Err(Corrupt),
    })
}

fn write_opaque(out: &mut ByteWriter, opaque: &Opaque) {
    match opaque {
        Opaque::AnthropicSignature(text) => {
            out.byte(0);
            out.text(text);
        }
        Opaque::AnthropicRedacted(text) => {
            out.byte(1);
            out.text(text);
        }
        Opaque::OpenAiReasoning(raw) => {
            out.byte(2);
            out.json(raw);
        }
        Opaque::GeminiSignature(text) => {
            out.byte(3);
            out.text(text);
        }
        Opaque::ReasoningContent => out.byte(4),
        Opaque::ReasoningDetail(raw) => {
            out.byte(5);
            out.json(raw);
        }
    }
}

fn read_opaque(input: &mut ByteReader<'_>) -> Result<Opaque, Corrupt> {
    Ok(match input.byte()? {
        0 => Opaque::AnthropicSignature(input.text()?),
        1 => Opaque::AnthropicRedacted(input.text()?),
        2 => Opaque::OpenAiReasoning(input.json()?),
        3 => Opaque::GeminiSignature(input.text()?),
        4 => Opaque::ReasoningContent,
        5 => Opaque::ReasoningDetail(input.json()?),
        _ => return Err(Corrupt),
    })
}

fn write_citation(out: &mut ByteWriter, citation: &Citation) {
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
            out.byte(0);
            out.text(url);
            out.text(title);
            out.option(*start, ByteWriter::number);
            out.option(*end, ByteWriter::number);
        }
        CitationSource::Document { index, title } => {
            out.byte(1);
            out.number(*index);
            out.option(title.as_deref(), ByteWriter::text);
        }
        CitationSource::Other => out.byte(2),
    }
    out.option(cited_text.as_deref(), ByteWriter::text);
    out.option(raw.as_ref(), |out, (dialect, raw)| {
        out.byte(dialect_number(*dialect));
        out.json(raw);
    });
}

fn read_citation(input: &mut ByteReader<'_>) -> Result<Citation, Corrupt> {
    let source = match input.byte()? {
        0 => CitationSource::Url {
            url: input.text()?,
            title: input.text()?,
            start: input.option(ByteReader::number)?,
            end: input.option(ByteReader::number)?,
        },
        1 => CitationSource::Document {
            index: input.number()?,
            title: input.option(ByteReader::text)?,
        },
        2 => CitationSource::Other,
        _ => return Err(Corrupt),
    };
    Ok(Citation {
        source,
        cited_text: input.option(ByteReader::text)?,
        raw: input.option(|input| Ok((read_dialect(input)?, input.json()?)))?,
    })
}

fn dialect_number(dialect: Dialect) -> u8 {
    match dialect {
        Dialect::Chat => 0,
        Dialect::Responses => 1,
        Dialect::Anthropic => 2,
        Dialect::Gemini => 3,
        Dialect::Completions => 4,
    }
}

fn read_dialect(input: &mut ByteReader<'_>) -> Result<Dialect, Corrupt> {
    Ok(match input.byte()? {
        0 => Dialect::Chat,
        1 => Dialect::Responses,
        2 => Dialect::Anthropic,
        3 => Dialect::Gemini,
        4 => Dialect::Completions,
        _ => return Err(Corrupt),
    })
}

fn finish_number(reason: Finish) -> u8 {
    match reason {
        Finish::Stop => 0,
        Finish::StopSequence => 1,
        Finish::Length => 2,
        Finish::ContextWindow => 3,
        Finish::ToolCalls => 4,
        Finish::Refusal => 5,
        Finish::Pause => 6,
        Finish::Unknown => 7,
    }
}

fn read_finish(input: &mut ByteReader<'_>) -> Result<Finish, Corrupt> {
    Ok(match input.byte()? {
        0 => Finish::Stop,
        1 => Finish::StopSequence,
        2 => Finish::Length,
        3 => Finish::ContextWindow,
        4 => Finish::ToolCalls,
        5 => Finish::Refusal,
        6 => Finish::Pause,
        7 => Finish::Unknown,
        _ => return Err(Corrupt),
    })
}

pub(super) fn write_usage(out: &mut ByteWriter, usage: &Usage) {
    let Usage {
        fresh_input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
        reasoning,
        audio_input,
        audio_output,
        accepted_prediction,
        rejected_prediction,
        web_searches,
        provider_cost_usd,
        byok_fee,
    } = usage;
    for count in [
        fresh_input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
    ] {
        out.number(*count);
    }
    for count in [
        reasoning,
        audio_input,
        audio_output,
        accepted_prediction,
        rejected_prediction,
        web_searches,
    ] {
        out.option(*count, ByteWriter::number);
    }
    out.option(provider_cost_usd.as_deref(), ByteWriter::text);
    out.option(
        byok_fee.map(bardo_types::money::MicroUsd::get),
        ByteWriter::number,
    );
}

pub(super) fn read_usage(input: &mut ByteReader<'_>) -> Result<Usage, Corrupt> {
    Ok(Usage {
        fresh_input: input.number()?,
        cache_read: input.number()?,
        cache_write_5m: input.number()?,
        cache_write_1h: input.number()?,
        output: input.number()?,
        reasoning: input.option(ByteReader::number)?,
        audio_input: input.option(ByteReader::number)?,
        audio_output: input.option(ByteReader::number)?,
        accepted_prediction: input.option(ByteReader::number)?,
        rejected_prediction: input.option(ByteReader::number)?,
        web_searches: input.option(ByteReader::number)?,
        provider_cost_usd: input.option(ByteReader::text)?,
        byok_fee: input.option(super::entry::read_money)?,
    })
}
