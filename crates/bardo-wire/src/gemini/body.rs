//! The shape of requests, written from borrowed values.

use std::borrow::Cow;

use bardo_types::json::RawJson;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::generation::GenerationConfig;

/// A whole `generateContent` body.
pub(super) struct Body<'a> {
    pub(super) system: Vec<Part<'a>>,
    pub(super) contents: Vec<Content<'a>>,
    pub(super) tools: Vec<ToolSet<'a>>,
    pub(super) tool_config: Option<ToolConfig<'a>>,
    pub(super) generation: GenerationConfig<'a>,
    pub(super) service_tier: Option<&'static str>,
    /// Members of Gemini's own that the caller wrote.
    pub(super) own: Vec<(&'a str, &'a RawJson)>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct System<'a> {
            parts: &'a [Part<'a>],
        }
        let mut map = serializer.serialize_map(None)?;
        if !self.system.is_empty() {
            map.serialize_entry(
                "systemInstruction",
                &System {
                    parts: &self.system,
                },
            )?;
        }
        map.serialize_entry("contents", &self.contents)?;
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        if let Some(config) = &self.tool_config {
            map.serialize_entry("toolConfig", config)?;
        }
        if !self.generation.is_empty() {
            map.serialize_entry("generationConfig", &self.generation)?;
        }
        if let Some(tier) = self.service_tier {
            map.serialize_entry("serviceTier", tier)?;
        }
        for (name, value) in &self.own {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Speaker,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Plain(Box<Plain<'a>>),
    /// A part that Gemini wrote and gets back as it was.
    Raw(&'a RawJson),
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plain<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a str>,
}

impl<'a> From<Plain<'a>> for Part<'a> {
    fn from(plain: Plain<'a>) -> Self {
        Self::Plain(Box::new(plain))
    }
}

impl<'a> Part<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Plain {
            text: Some(text.into()),
            ..Plain::default()
        }
        .into()
    }

    /// The members of a part that is a call.
    pub(super) fn as_call(&mut self) -> Option<&mut Plain<'a>> {
        match self {
            Self::Plain(plain) if plain.function_call.is_some() => Some(plain),
            _ => None,
        }
    }

    pub(super) fn is_response(&self) -> bool {
        matches!(self, Self::Plain(plain) if plain.function_response.is_some())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub(super) mime_type: Cow<'a, str>,
    pub(super) data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<&'static str>,
    pub(super) file_uri: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) args: RawJson,
}

#[derive(Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) response: Outcome<'a>,
}

/// What a tool answered; Gemini wants an object.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ToolSet<'a> {
    FunctionDeclarations(Vec<Declaration<'a>>),
    #[serde(untagged)]
    Raw(Cow<'a, RawJson>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    /// The full JSON schema; the older `parameters` member takes only a subset of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters_json_schema: Option<Cow<'a, RawJson>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig<'a> {
    pub(super) function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallingConfig<'a> {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed_function_names: Vec<&'a str>,
}
