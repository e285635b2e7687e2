//! The part of the key that comes from the request.

use bardo_types::chat::{
    CacheHints, ChatRequest, Logprobs, Message, OutputFormat, ReasoningRequest, Role, Sampling,
    ThinkingDisplay, ThinkingMode, Tool, ToolChoice, Verbosity,
};
use bardo_types::model::Effort;

use super::parts;
use super::writer::KeyWriter;

pub(super) fn write(writer: &mut KeyWriter<'_>, request: &ChatRequest) {
    let ChatRequest {
        dialect,
        model,
        messages,
        tools,
        tool_choice,
        parallel_tool_calls,
        max_output_tokens,
        sampling,
        stop,
        n,
        logprobs,
        reasoning,
        output,
        verbosity,
        // One answer, in pieces or whole.
        stream: _,
        include_usage: _,
        end_user,
        metadata,
        service_tier,
        prediction,
        modalities,
        audio,
        // What a provider charges for the prompt, and not what it answers.
        cache:
            CacheHints {
                key: _,
                options: _,
                automatic: _,
            },
        store,
        web_search,
        extra,
    } = request;
    writer.text(model);
    writer.list(messages.iter(), write_message);
    writer.list(tools.iter(), write_tool);
    writer.option(tool_choice.as_ref(), write_tool_choice);
    writer.option(*parallel_tool_calls, KeyWriter::flag);
    writer.option(*max_output_tokens, KeyWriter::number);
    write_sampling(writer, sampling);
    writer.list(stop.iter(), |writer, text| writer.text(text));
    writer.option(n.map(u64::from), KeyWriter::number);
    writer.option(*logprobs, |writer, Logprobs { top }| {
        writer.option(top, KeyWriter::choice);
    });
    write_reasoning(writer, reasoning);
    write_output(writer, output);
    writer.option_text(verbosity.map(Verbosity::as_str));
    writer.option(end_user.as_deref(), KeyWriter::declarable);
    writer.option(metadata.as_ref(), parts::write_metadata);
    for raw in [prediction, modalities, audio] {
        writer.option_json(raw.as_ref());
    }
    writer.option_text(service_tier.as_deref());
    writer.option(*store, KeyWriter::flag);
    writer.option(*web_search, KeyWriter::flag);
    writer.members(extra);
    let speaks_its_dialect = service_tier.is_some() || !extra.is_empty() || has_own_words(request);
    writer.option_text(speaks_its_dialect.then(|| dialect.as_str()));
}

/// Whether a message or a tool carries members that only the dialect of the request understands.
fn has_own_words(request: &ChatRequest) -> bool {
    let in_tools = |tool: &Tool| match tool {
        Tool::Function { extra, .. } => !extra.is_empty(),
        Tool::Custom { .. } => false,
        Tool::Server { .. } => true,
    };
    request.tools.iter().any(in_tools)
        || request
            .messages
            .iter()
            .any(|message| message.output_config.is_some())
        || request.any_part(parts::has_own_words)
}

fn write_message(writer: &mut KeyWriter<'_>, message: &Message) {
    let Message {
        role,
        parts,
        name,
        developer,
        output_config,
    } = message;
    writer.choice(match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
    });
    let is_system = *role == Role::System;
    writer.list(parts.iter(), |writer, part| {
        parts::write(writer, part, is_system);
    });
    writer.option_text(name.as_deref());
    writer.flag(*developer);
    writer.option_json(output_config.as_ref());
}

fn write_tool(writer: &mut KeyWriter<'_>, tool: &Tool) {
    match tool {
        Tool::Function {
            name,
            description,
            schema,
            strict,
            cache: _,
            extra,
        } => {
            writer.choice(0);
            writer.text(name);
            writer.option_text(description.as_deref());
            writer.option_json(schema.as_ref());
            writer.option(*strict, KeyWriter::flag);
            writer.members(extra);
        }
        Tool::Custom {
            name,
            description,
            format,
        } => {
            writer.choice(1);
            writer.text(name);
            writer.option_text(description.as_deref());
            writer.option_json(format.as_ref());
        }
        Tool::Server {
            dialect,
            kind,
            name,
            raw,
        } => {
            writer.choice(2);
            writer.text(dialect.as_str());
            writer.text(kind);
            writer.option_text(name.as_deref());
            writer.json(raw);
        }
    }
}

fn write_tool_choice(writer: &mut KeyWriter<'_>, choice: &ToolChoice) {
    match choice {
        ToolChoice::Auto => writer.choice(0),
        ToolChoice::None => writer.choice(1),
        ToolChoice::Required => writer.choice(2),
        ToolChoice::Named(name) => {
            writer.choice(3);
            writer.text(name);
        }
        ToolChoice::Allowed { required, names } => {
            writer.choice(4);
            writer.flag(*required);
            writer.list(names.iter(), |writer, name| writer.text(name));
        }
    }
}

fn write_sampling(writer: &mut KeyWriter<'_>, sampling: &Sampling) {
    let Sampling {
        temperature,
        top_p,
        top_k,
        min_p,
        presence_penalty,
        frequency_penalty,
        repetition_penalty,
        seed,
        logit_bias,
    } = sampling;
    for number in [
        temperature,
        top_p,
        top_k,
        min_p,
        presence_penalty,
        frequency_penalty,
        repetition_penalty,
        seed,
        logit_bias,
    ] {
        writer.option(number.as_ref(), KeyWriter::json_number);
    }
}

fn write_reasoning(writer: &mut KeyWriter<'_>, reasoning: &ReasoningRequest) {
    let ReasoningRequest {
        mode,
        effort,
        display,
        summary,
        encrypted,
    } = reasoning;
    writer.option(*mode, |writer, mode| match mode {
        ThinkingMode::Adaptive => writer.choice(0),
        ThinkingMode::Budget(tokens) => {
            writer.choice(1);
            writer.number(tokens);
        }
        ThinkingMode::Disabled => writer.choice(2),
        ThinkingMode::BetweenTools => writer.choice(3),
    });
    writer.option_text(effort.map(Effort::as_str));
    writer.option(*display, |writer, display| {
        writer.choice(match display {
            ThinkingDisplay::Summarized => 0,
            ThinkingDisplay::Omitted => 1,
        });
    });
    writer.option_text(summary.as_deref());
    writer.flag(*encrypted);
}

fn write_output(writer: &mut KeyWriter<'_>, output: &OutputFormat) {
    match output {
        OutputFormat::Text => writer.choice(0),
        OutputFormat::JsonObject => writer.choice(1),
        OutputFormat::JsonSchema {
            name,
            description,
            schema,
            strict,
        } => {
            writer.choice(2);
            writer.option_text(name.as_deref());
            writer.option_text(description.as_deref());
            writer.json(schema);
            writer.option(*strict, KeyWriter::flag);
        }
    }
}
