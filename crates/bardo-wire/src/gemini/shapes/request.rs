//! The shape of requests, written from borrowed values.

use std::borrow::Cow;

use bardo_types::json::RawJson;

use crate::gemini::request::encode::generation::GenerationConfig;
use crate::json::{Object, ToJson, write_text, written_object};

written_object! {
    /// A whole `generateContent` body, but for the members of Gemini's own that a caller wrote.
    pub(in crate::gemini) struct GenerateBody<'a> {
        "systemInstruction" => system: System<'a>,
        "contents" => contents: Vec<Content<'a>>,
        "tools" => tools: Vec<ToolSet<'a>>,
        "toolConfig" => tool_config: Option<ToolConfig<'a>>,
        "generationConfig" => generation: GenerationConfig<'a>,
        "serviceTier" => service_tier: Option<&'a str>,
    }

    pub(in crate::gemini) struct System<'a> {
        "parts" => parts: Vec<Part<'a>>,
    }

    pub(in crate::gemini) struct Content<'a> {
        "role" => role: Speaker,
        "parts" => parts: Vec<Part<'a>>,
    }

    #[derive(Default)]
    pub(in crate::gemini) struct Plain<'a> {
        "text" => text: Option<Cow<'a, str>>,
        "thought" => thought: Option<bool>,
        "inlineData" => inline_data: Option<Blob<'a>>,
        "fileData" => file_data: Option<FileData<'a>>,
        "functionCall" => function_call: Option<FunctionCall<'a>>,
        "functionResponse" => function_response: Option<FunctionResponse<'a>>,
        "thoughtSignature" => thought_signature: Option<&'a str>,
    }

    pub(in crate::gemini) struct Blob<'a> {
        "mimeType" => mime_type: Cow<'a, str>,
        "data" => data: &'a str,
    }

    pub(in crate::gemini) struct FileData<'a> {
        "mimeType" => mime_type: Option<&'static str>,
        "fileUri" => file_uri: Cow<'a, str>,
    }

    pub(in crate::gemini) struct FunctionCall<'a> {
        "id" => id: Option<&'a str>,
        "name" => name: &'a str,
        "args" => args: RawJson,
    }

    pub(in crate::gemini) struct FunctionResponse<'a> {
        "id" => id: Option<&'a str>,
        "name" => name: &'a str,
        "response" => response: Outcome<'a>,
    }

    pub(in crate::gemini) struct Declaration<'a> {
        "name" => name: &'a str,
        "description" => description: Option<&'a str>,
        /// The full JSON schema; the older `parameters` member takes only a subset of it.
        "parametersJsonSchema" => parameters_json_schema: Option<Cow<'a, RawJson>>,
    }

    pub(in crate::gemini) struct ToolConfig<'a> {
        "functionCallingConfig" => function_calling_config: CallingConfig<'a>,
    }

    pub(in crate::gemini) struct CallingConfig<'a> {
        "mode" => mode: &'static str,
        "allowedFunctionNames" => allowed_function_names: Vec<&'a str>,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gemini) enum Speaker {
    User,
    Model,
}

impl ToJson for Speaker {
    fn write(&self, out: &mut Vec<u8>) {
        let name = match self {
            Self::User => "user",
            Self::Model => "model",
        };
        write_text(out, name);
    }
}

pub(in crate::gemini) enum Part<'a> {
    Plain(Box<Plain<'a>>),
    /// A part that Gemini wrote and gets back as it was.
    Raw(&'a RawJson),
}

impl ToJson for Part<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain(plain) => plain.write(out),
            Self::Raw(raw) => raw.write(out),
        }
    }
}

/// The result of a tool; Gemini wants an object.
pub(in crate::gemini) enum Outcome<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

impl ToJson for Outcome<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Output(text) => Object::new(out).set("output", text),
            Self::Error(text) => Object::new(out).set("error", text),
        };
    }
}

pub(in crate::gemini) enum ToolSet<'a> {
    FunctionDeclarations(Vec<Declaration<'a>>),
    Raw(Cow<'a, RawJson>),
}

impl ToJson for ToolSet<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::FunctionDeclarations(all) => {
                Object::new(out).set("functionDeclarations", all);
            }
            Self::Raw(raw) => raw.write(out),
        }
    }
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
