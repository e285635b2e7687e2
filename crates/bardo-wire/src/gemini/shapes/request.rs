//! The shape of requests, written from borrowed values.

use std::borrow::Cow;

use bardo_types::json::RawJson;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::gemini::request::encode::generation::GenerationConfig;

/// A whole `generateContent` body.
pub(in crate::gemini) struct GenerateBody<'a> {
    pub(in crate::gemini) system: Vec<Part<'a>>,
    pub(in crate::gemini) contents: Vec<Content<'a>>,
    pub(in crate::gemini) tools: Vec<ToolSet<'a>>,
    pub(in crate::gemini) tool_config: Option<ToolConfig<'a>>,
    pub(in crate::gemini) generation: GenerationConfig<'a>,
    pub(in crate::gemini) service_tier: Option<&'static str>,
    /// Members of Gemini's own that the caller wrote.
    pub(in crate::gemini) own: Vec<(&'a str, &'a RawJson)>,
}

impl Serialize for GenerateBody<'_> {
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
pub(in crate::gemini) struct Content<'a> {
    pub(in crate::gemini) role: Speaker,
    pub(in crate::gemini) parts: Vec<Part<'a>>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(in crate::gemini) enum Speaker {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::gemini) enum Part<'a> {
    Plain(Box<Plain<'a>>),
    /// A part that Gemini wrote and gets back as it was.
    Raw(&'a RawJson),
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct Plain<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) thought_signature: Option<&'a str>,
}

impl<'a> From<Plain<'a>> for Part<'a> {
    fn from(plain: Plain<'a>) -> Self {
        Self::Plain(Box::new(plain))
    }
}

impl<'a> Part<'a> {
    pub(in crate::gemini) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Plain {
            text: Some(text.into()),
            ..Plain::default()
        }
        .into()
    }

    /// The members of a part that is a call.
    pub(in crate::gemini) fn as_call(&mut self) -> Option<&mut Plain<'a>> {
        match self {
            Self::Plain(plain) if plain.function_call.is_some() => Some(plain),
            _ => None,
        }
    }

    pub(in crate::gemini) fn is_response(&self) -> bool {
        matches!(self, Self::Plain(plain) if plain.function_response.is_some())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct Blob<'a> {
    pub(in crate::gemini) mime_type: Cow<'a, str>,
    pub(in crate::gemini) data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) mime_type: Option<&'static str>,
    pub(in crate::gemini) file_uri: Cow<'a, str>,
}

#[derive(Serialize)]
pub(in crate::gemini) struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(in crate::gemini) id: &'a str,
    pub(in crate::gemini) name: &'a str,
    pub(in crate::gemini) args: RawJson,
}

#[derive(Serialize)]
pub(in crate::gemini) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(in crate::gemini) id: &'a str,
    pub(in crate::gemini) name: &'a str,
    pub(in crate::gemini) response: Outcome<'a>,
}

/// What a tool answered; Gemini wants an object.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::gemini) enum Outcome<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) enum ToolSet<'a> {
    FunctionDeclarations(Vec<Declaration<'a>>),
    #[serde(untagged)]
    Raw(Cow<'a, RawJson>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct Declaration<'a> {
    pub(in crate::gemini) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) description: Option<&'a str>,
    /// The full JSON schema; the older `parameters` member takes only a subset of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::gemini) parameters_json_schema: Option<Cow<'a, RawJson>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct ToolConfig<'a> {
    pub(in crate::gemini) function_calling_config: CallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::gemini) struct CallingConfig<'a> {
    pub(in crate::gemini) mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::gemini) allowed_function_names: Vec<&'a str>,
}
