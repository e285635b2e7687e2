mod contents;
pub(in crate::gemini) mod generation;

use bardo_types::chat::ChatRequest;
use bardo_types::model::{Capabilities, Dialect};
use bardo_types::{Losses, json::RawJson};

use crate::codec::{BadRequest, Encoded, Target};
use crate::gemini::shapes::request::{GenerateBody, Part, System};
use crate::gemini::tools;
use crate::json::{ToJson, write_text};
use crate::kit::size;
use crate::kit::tool_names::{NameRule, ToolNames};

/// Whether a model thinks at all.
pub(in crate::gemini) fn thinks(capabilities: &Capabilities) -> bool {
    capabilities.thinking.any() || !capabilities.efforts.is_empty()
}

/// Encodes a body for `generateContent` and `streamGenerateContent`; the model and whether to
/// stream are in the URL.
///
/// # Errors
/// Where a part cannot be sent at all: media that Gemini would have to fetch, results of tools
/// that nobody called.
pub fn encode_request(request: &ChatRequest, target: &Target) -> Result<Encoded, BadRequest> {
    let capabilities = &*target.capabilities;
    let mut losses = Losses::default();
    let names = ToolNames::plan(request, NameRule::of(Dialect::Gemini));
    let contents = contents::encode(request, capabilities, &names, &mut losses)?;
    let mut notes = Vec::new();
    let (tools, tool_config) =
        tools::encode(request, capabilities, &names, &mut notes, &mut losses);
    let generation = generation::encode(request, capabilities, &mut notes, &mut losses);
    let own = own_members(request, &mut losses);
    let mut body = GenerateBody {
        system: System {
            parts: contents.system,
        },
        contents: contents.turns,
        tools,
        tool_config,
        generation,
        service_tier: service_tier(request, &mut losses),
    };
    body.system.parts.extend(notes.into_iter().map(Part::text));
    if own.iter().any(|(name, _)| *name == "cachedContent") {
        // Gemini refuses these beside it. It may hold others.
        let is_empty =
            body.system.parts.is_empty() && body.tools.is_empty() && body.tool_config.is_none();
        if !is_empty {
            losses.lose("cached_content", CACHED_CONTENT);
        }
        body.system.parts.clear();
        body.tools.clear();
        body.tool_config = None;
    }
    note_unsupported(request, &mut losses);
    let mut bytes = Vec::with_capacity(size::of_request(request));
    body.write(&mut bytes);
    // The object goes on with the caller's own members.
    bytes.pop();
    for (name, value) in own {
        bytes.push(b',');
        write_text(&mut bytes, name);
        bytes.push(b':');
        value.write(&mut bytes);
    }
    bytes.push(b'}');
    Ok(Encoded {
        body: bytes,
        degraded: losses.into_list(),
        renamed_tools: names.into_renamed(),
    })
}

const CACHED_CONTENT: &str = "Gemini does not accept system prompt, tools or tool choice beside `cachedContent`; those of the \
    request were removed, and those of the stored content are used";

/// Members that Gemini alone has. Their names mean nothing in other dialects, so a caller who
/// writes them means Gemini's.
fn own_members<'a>(request: &'a ChatRequest, losses: &mut Losses) -> Vec<(&'a str, &'a RawJson)> {
    let mut own = Vec::new();
    for (name, value) in &request.extra {
        match name.as_str() {
            "safetySettings" | "safety_settings" => own.push(("safetySettings", value)),
            "cachedContent" | "cached_content" => own.push(("cachedContent", value)),
            name if request.dialect == Dialect::Gemini => own.push((name, value)),
            name if tools::is_web_search_member(name) => {}
            _ if value.is_null() => {}
            name => losses.lose_field(name, "Gemini does not have this member; it was removed"),
        }
    }
    own
}

fn service_tier(request: &ChatRequest, losses: &mut Losses) -> Option<&'static str> {
    match request.service_tier.as_deref()? {
        "auto" => None,
        "default" | "standard" | "standard_only" => Some("standard"),
        "flex" => Some("flex"),
        "priority" => Some("priority"),
        _ => {
            losses.lose(
                "service_tier",
                "Gemini does not have this tier; its default tier is used",
            );
            None
        }
    }
}

fn note_unsupported(request: &ChatRequest, losses: &mut Losses) {
    let absent = [
        (request.end_user.is_some(), "end_user"),
        (request.metadata.is_some(), "metadata"),
        (request.prediction.is_some(), "prediction"),
        (request.verbosity.is_some(), "verbosity"),
        (request.audio.is_some(), "audio"),
        (request.store == Some(true), "store"),
        (request.web_search == Some(true), "web_search"),
        (request.cache.key.is_some(), "prompt_cache_key"),
        (request.cache.options.is_some(), "prompt_cache_options"),
        (request.cache.automatic.is_some(), "cache_control"),
        (
            request
                .modalities
                .as_ref()
                .is_some_and(|kinds| kinds.read::<Vec<&str>>().ok() != Some(vec!["text"])),
            "modalities",
        ),
    ];
    for (asked, feature) in absent {
        if asked {
            losses.lose(feature, "Gemini does not have this setting; it was removed");
        }
    }
}
