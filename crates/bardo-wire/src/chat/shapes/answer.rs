//! An answer as it stands on the wire, whole or as one chunk of a stream.

use std::borrow::Cow;
use std::fmt;

use bardo_types::fault::Fault;
use bardo_types::json::RawJson;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

use crate::chat::usage::decode::Counts;
use crate::error_in_200::{Extent, fault_in};
use crate::json::{FilledList, Str, wire_object};

wire_object! {
    /// A chunk of a stream, or a whole answer. Members beyond these are not looked at.
    pub(in crate::chat) struct Chunk<'a> {
        "id" => id: Loose<'a>,
        "model" => model: Loose<'a>,
        "object" => object: Loose<'a>,
        "created" => created: Option<&'a RawValue>,
        "service_tier" => service_tier: Loose<'a>,
        "choices" => choices: Option<FilledList<WireChoice<'a>>>,
        "usage" => usage: Option<&'a RawValue>,
        "error" => error: Option<&'a RawValue>,
        "cost" => cost: Option<&'a RawValue>,
        /// Timings of llama.cpp.
        "timings" => timings: Option<&'a RawValue>,
        /// Beside no choices, these two tell of a failure (small servers).
        "message" => message: Option<&'a RawValue>,
        "detail" => detail: Option<&'a RawValue>,
        "venice_parameters" => venice_parameters: Option<&'a RawValue>,
        /// Perplexity: the results of its search, and their addresses.
        "search_results" => search_results: Option<&'a RawValue>,
        "citations" => citations: Option<&'a RawValue>,
        ..
    }

    /// One choice: `delta` in chunks, `message` in whole answers; some servers mix them up.
    pub(in crate::chat) struct WireChoice<'a> {
        "index" => index: Option<u32>,
        "delta" => delta: Option<Delta<'a>>,
        "message" => message: Option<Delta<'a>>,
        "finish_reason" => finish_reason: Loose<'a>,
        /// vLLM and Venice: the stop text that came up.
        "stop_reason" => stop_reason: Loose<'a>,
        "logprobs" => logprobs: Option<&'a RawValue>,
        "error" => error: Option<&'a RawValue>,
        /// Moonshot counts in the last choice of a stream.
        "usage" => usage: Option<&'a RawValue>,
        ..
    }
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
            let choices = self.choices.as_deref().unwrap_or_default();
            choices.iter().find_map(|choice| choice.usage)
        };
        Counts {
            usage: self.usage.or_else(within).map(RawValue::get),
            cost: self.cost.map(RawValue::get),
            timings: self.timings.map(RawValue::get),
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

wire_object! {
    /// The content of a message, or the addition of a chunk to it.
    pub(in crate::chat) struct Delta<'a> {
        "content" => content: DeltaText<'a>,
        "reasoning_content" => reasoning_content: Loose<'a>,
        "reasoning" => reasoning: Loose<'a>,
        "reasoning_details" => reasoning_details: Option<Vec<&'a RawValue>>,
        /// Venice: state of the provider behind it, bound to the message.
        "thought_signature" => thought_signature: Loose<'a>,
        "refusal" => refusal: Loose<'a>,
        "tool_calls" => tool_calls: Option<Vec<ToolDelta<'a>>>,
        "function_call" => function_call: Option<FunctionDelta<'a>>,
        "annotations" => annotations: Option<Vec<&'a RawValue>>,
        "audio" => audio: Option<&'a RawValue>,
        "images" => images: Option<&'a RawValue>,
        ..
    }
}

impl Delta<'_> {
    /// Whether something is in it that a reader would miss.
    pub(in crate::chat) fn has_content(&self) -> bool {
        !self.content.get().is_empty() || self.says_more_than_words()
    }

    fn says_more_than_words(&self) -> bool {
        let filled = |list: Option<usize>| list.is_some_and(|length| length > 0);
        self.content.thinking().is_some()
            || !self.content.others.is_empty()
            || self.reasoning_content.get().is_some()
            || self.reasoning.get().is_some()
            || self.refusal.get().is_some()
            || self.function_call.is_some()
            || self.audio.is_some()
            || self.images.is_some()
            || filled(self.tool_calls.as_ref().map(Vec::len))
            || filled(self.reasoning_details.as_ref().map(Vec::len))
    }
}

wire_object! {
    /// A call, or a fragment of one.
    pub(in crate::chat) struct ToolDelta<'a> {
        "index" => index: Option<u64>,
        "id" => id: Loose<'a>,
        "function" => function: Option<FunctionDelta<'a>>,
        "custom" => custom: Option<CustomDelta<'a>>,
        "extra_content" => extra_content: Option<&'a RawValue>,
        ..
    }

    pub(in crate::chat) struct FunctionDelta<'a> {
        "name" => name: Loose<'a>,
        /// A string, or (small servers) the object itself.
        "arguments" => arguments: Option<&'a RawValue>,
        ..
    }

    pub(in crate::chat) struct CustomDelta<'a> {
        "name" => name: Loose<'a>,
        "input" => input: Loose<'a>,
        ..
    }
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
    /// Not inlined: an answer has a dozen, and each would be half a kilobyte of code.
    #[inline(never)]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        Ok(Self(text_of(raw)))
    }
}

/// The text of a JSON string, borrowed where it has no escapes; `None` for other values. Half of a
/// surrogate pair, which no text can have, becomes U+FFFD.
pub(in crate::chat) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let json = raw.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let text = match serde_json::from_str::<Str<'_>>(json) {
        Ok(text) => text.into_string(),
        Err(_) => serde_json::from_str::<HalfText>(json).ok()?.0,
    };
    Some(Cow::Owned(text))
}

/// A text in which halves of surrogate pairs are replaced.
struct HalfText(String);

impl<'de> Deserialize<'de> for HalfText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(HalfTextVisitor)
    }
}

struct HalfTextVisitor;

impl Visitor<'_> for HalfTextVisitor {
    type Value = HalfText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    /// Takes the bytes of a JSON string, in which `serde_json` writes each half in three bytes: ED,
    /// A0 to BF, 80 to BF (WTF-8). No character of UTF-8 begins so.
    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<HalfText, E> {
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() {
            let half = (0..rest.len())
                .find(|&at| rest[at] == 0xED && rest.get(at + 1).is_some_and(|next| *next >= 0xA0));
            let (whole, behind) = rest.split_at(half.unwrap_or(rest.len()));
            text.push_str(&String::from_utf8_lossy(whole));
            if half.is_some() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            rest = behind.get(3..).unwrap_or_default();
        }
        Ok(HalfText(text))
    }
}

/// Content: a string, or a list of parts (some servers).
#[derive(Debug, Default)]
pub(in crate::chat) struct DeltaText<'a> {
    text: Cow<'a, str>,
    /// Thinking within a list (Mistral).
    thinking: String,
    /// Parts of other types.
    others: Vec<&'a RawValue>,
}

impl<'a> DeltaText<'a> {
    pub(in crate::chat) fn get(&self) -> &str {
        &self.text
    }

    /// The thinking, where there is any.
    pub(in crate::chat) fn thinking(&self) -> Option<&str> {
        (!self.thinking.is_empty()).then_some(&*self.thinking)
    }

    /// The list of parts that are neither text nor thinking, such as images and references to
    /// documents, where there are any.
    pub(in crate::chat) fn others(&self) -> Option<RawJson> {
        if self.others.is_empty() {
            return None;
        }
        RawJson::of(&self.others).ok()
    }

    fn add(&mut self, raw: &'a RawValue) {
        let part: ContentPart<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        if let Some(thinking) = part.thinking {
            let words: Self = serde_json::from_str(thinking.get()).unwrap_or_default();
            self.thinking.push_str(words.get());
        } else if let Some(text) = part.text.get() {
            self.text.to_mut().push_str(text);
        } else if !matches!(part.kind.get(), Some("text" | "output_text")) {
            self.others.push(raw);
        }
    }
}

wire_object! {
    struct ContentPart<'a> {
        "type" => kind: Loose<'a>,
        "text" => text: Loose<'a>,
        /// A list of text parts.
        "thinking" => thinking: Option<&'a RawValue>,
        ..
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for DeltaText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        let mut content = Self::default();
        if let Some(text) = text_of(raw) {
            content.text = text;
            return Ok(content);
        }
        let parts: Vec<&'a RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        for part in parts {
            content.add(part);
        }
        Ok(content)
    }
}
