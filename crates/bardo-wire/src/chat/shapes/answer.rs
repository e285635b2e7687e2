//! An answer as it stands on the wire, whole or as one chunk of a stream.

use std::borrow::Cow;

use bardo_types::fault::Fault;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use crate::chat::usage::decode::Counts;
use crate::error_in_200::{Extent, fault_in};
use crate::json::Str;

/// A chunk of a stream, or a whole answer. Members beyond these are not looked at.
#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(in crate::chat) id: Loose<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) model: Loose<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) object: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) created: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(in crate::chat) service_tier: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) choices: Option<Vec<WireChoice<'a>>>,
    #[serde(borrow)]
    pub(in crate::chat) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) cost: Option<&'a RawValue>,
    /// Timings of llama.cpp.
    #[serde(borrow)]
    pub(in crate::chat) timings: Option<&'a RawValue>,
    /// Beside no choices, these two tell of a failure (small servers).
    #[serde(borrow)]
    pub(in crate::chat) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) detail: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) venice_parameters: Option<&'a RawValue>,
}

/// One choice: `delta` in chunks, `message` in whole answers; some servers mix them up.
#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct WireChoice<'a> {
    #[serde(default)]
    pub(in crate::chat) index: Option<u32>,
    #[serde(borrow)]
    pub(in crate::chat) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(in crate::chat) message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(in crate::chat) finish_reason: Loose<'a>,
    /// vLLM and Venice: the stop text that came up.
    #[serde(borrow, default)]
    pub(in crate::chat) stop_reason: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) logprobs: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) error: Option<&'a RawValue>,
    /// Moonshot counts in the last choice of a stream.
    #[serde(borrow)]
    pub(in crate::chat) usage: Option<&'a RawValue>,
}

impl WireChoice<'_> {
    pub(in crate::chat) fn has_content(&self) -> bool {
        let said = [&self.delta, &self.message];
        said.into_iter().flatten().any(Delta::has_content)
    }
}

impl<'a> Chunk<'a> {
    /// Where this chunk counts, if it does.
    pub(in crate::chat) fn counts(&self) -> Counts<'a> {
        let within = || {
            self.choices
                .iter()
                .flatten()
                .find_map(|choice| choice.usage)
        };
        Counts {
            usage: self.usage.or_else(within),
            cost: self.cost,
            timings: self.timings,
        }
    }

    /// The failure that this tells of in words, in place of an answer, as far as `extent`.
    pub(in crate::chat) fn error_in_words(&self, extent: Extent) -> Option<Fault> {
        let [choice] = self.choices.as_deref()? else {
            return None;
        };
        let delta = choice.message.as_ref().or(choice.delta.as_ref())?;
        let counted = || {
            crate::chat::usage::decode::read(&self.counts()).is_some_and(|usage| usage.output > 0)
        };
        if delta.says_more_than_words() {
            return None;
        }
        fault_in(delta.content.get(), extent).filter(|_| !counted())
    }
}

/// What a message holds, or what a chunk adds to it.
#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(in crate::chat) content: DeltaText<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) reasoning_content: Loose<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) reasoning: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) reasoning_details: Option<Vec<&'a RawValue>>,
    /// Venice: state of the provider behind it, bound to the message.
    #[serde(borrow, default)]
    pub(in crate::chat) thought_signature: Loose<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) refusal: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) tool_calls: Option<Vec<ToolDelta<'a>>>,
    #[serde(borrow)]
    pub(in crate::chat) function_call: Option<FunctionDelta<'a>>,
    #[serde(borrow)]
    pub(in crate::chat) annotations: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(in crate::chat) audio: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::chat) images: Option<&'a RawValue>,
}

impl Delta<'_> {
    /// Whether something is in it that a reader would miss.
    pub(in crate::chat) fn has_content(&self) -> bool {
        !self.content.get().is_empty() || self.says_more_than_words()
    }

    fn says_more_than_words(&self) -> bool {
        let filled = |list: Option<usize>| list.is_some_and(|length| length > 0);
        self.reasoning_content.get().is_some()
            || self.reasoning.get().is_some()
            || self.refusal.get().is_some()
            || self.function_call.is_some()
            || self.audio.is_some()
            || self.images.is_some()
            || filled(self.tool_calls.as_ref().map(Vec::len))
            || filled(self.reasoning_details.as_ref().map(Vec::len))
    }
}

/// A call, or a fragment of one.
#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct ToolDelta<'a> {
    pub(in crate::chat) index: Option<u64>,
    #[serde(borrow, default)]
    pub(in crate::chat) id: Loose<'a>,
    #[serde(borrow)]
    pub(in crate::chat) function: Option<FunctionDelta<'a>>,
    #[serde(borrow)]
    pub(in crate::chat) custom: Option<CustomDelta<'a>>,
    #[serde(borrow)]
    pub(in crate::chat) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(in crate::chat) name: Loose<'a>,
    /// A string, or (small servers) the object itself.
    #[serde(borrow)]
    pub(in crate::chat) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(in crate::chat) struct CustomDelta<'a> {
    #[serde(borrow, default)]
    pub(in crate::chat) name: Loose<'a>,
    #[serde(borrow, default)]
    pub(in crate::chat) input: Loose<'a>,
}

/// A string where there is one; a value of any other type counts as absent.
#[derive(Debug, Default)]
pub(in crate::chat) struct Loose<'a>(Option<Cow<'a, str>>);

impl Loose<'_> {
    /// The text, where there is any.
    pub(in crate::chat) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub(in crate::chat) fn to_owned_text(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Self(text_of(raw)))
    }
}

/// The text of a JSON string, borrowed where it has no escapes; `None` for other values.
pub(in crate::chat) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let text: Str<'_> = serde_json::from_str(json).ok()?;
    Some(Cow::Owned(text.into_string()))
}

/// Content: a string, or an array of text parts (some servers).
#[derive(Debug, Default)]
pub(in crate::chat) struct DeltaText<'a>(Cow<'a, str>);

impl DeltaText<'_> {
    pub(in crate::chat) fn get(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for DeltaText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct TextPart<'a> {
            #[serde(borrow, default)]
            text: Loose<'a>,
        }
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        if let Some(text) = text_of(raw) {
            return Ok(Self(text));
        }
        let parts: Vec<TextPart<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
        let text: String = parts.iter().filter_map(|part| part.text.get()).collect();
        Ok(Self(Cow::Owned(text)))
    }
}
