//! The request body as it is on the wire, borrowed in one pass.
//!
//! An item's `content` and `output` are typed while they are read, because they hold nearly all
//! bytes of a conversation; every other member stays raw, so that items of kinds that nobody here
//! knows can be put together again.

use std::collections::HashSet;
use std::fmt;

use bardo_types::json::RawJson;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{Str, kept_object, wire_object};
use crate::kit::openai::InputAudio;
use crate::kit::text_or_list::{Listed, TextOrList};

wire_object! {
    /// The body of `POST /v1/responses`.
    pub(super) struct ResponsesBody<'a> {
        "model" => model: Option<Str<'a>>,
        "input" => input: Option<Input<'a>>,
        "instructions" => instructions: Option<Str<'a>>,
        "tools" => tools: Option<Vec<&'a RawValue>>,
        "tool_choice" => tool_choice: Option<&'a RawValue>,
        "parallel_tool_calls" => parallel_tool_calls: Option<bool>,
        "max_output_tokens" => max_output_tokens: Option<u64>,
        "temperature" => temperature: Option<&'a RawValue>,
        "top_p" => top_p: Option<&'a RawValue>,
        "top_logprobs" => top_logprobs: Option<u8>,
        "reasoning" => reasoning: Option<ReasoningConfig<'a>>,
        "text" => text: Option<TextConfig<'a>>,
        "include" => include: Option<Vec<Str<'a>>>,
        "stream" => stream: Option<bool>,
        "store" => store: Option<bool>,
        "metadata" => metadata: Option<&'a RawValue>,
        "service_tier" => service_tier: Option<Str<'a>>,
        "safety_identifier" => safety_identifier: Option<Str<'a>>,
        "prompt_cache_key" => prompt_cache_key: Option<Str<'a>>,
        "prompt_cache_options" => prompt_cache_options: Option<&'a RawValue>,
    }

    /// The member `reasoning`.
    pub(super) struct ReasoningConfig<'a> {
        "effort" => effort: Option<Str<'a>>,
        "summary" => summary: Option<Str<'a>>,
        "generate_summary" => generate_summary: Option<Str<'a>>,
    }

    /// The member `text`.
    pub(super) struct TextConfig<'a> {
        "format" => format: Option<FormatConfig<'a>>,
        "verbosity" => verbosity: Option<Str<'a>>,
    }

    /// The member `text.format`.
    pub(super) struct FormatConfig<'a> {
        "type" => kind: Option<Str<'a>>,
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "schema" => schema: Option<&'a RawValue>,
        "strict" => strict: Option<bool>,
    }

    /// One entry of a `content` or `output` list.
    pub(super) struct ContentPart<'a> {
        "type" => kind: Option<Str<'a>>,
        "text" => text: Option<Str<'a>>,
        "refusal" => refusal: Option<Str<'a>>,
        "image_url" => image_url: Option<Str<'a>>,
        "detail" => detail: Option<Str<'a>>,
        "file_id" => file_id: Option<Str<'a>>,
        "file_url" => file_url: Option<Str<'a>>,
        "file_data" => file_data: Option<Str<'a>>,
        "filename" => filename: Option<Str<'a>>,
        "input_audio" => input_audio: Option<InputAudio<'a>>,
        "annotations" => annotations: Option<Vec<&'a RawValue>>,
        "prompt_cache_breakpoint" => prompt_cache_breakpoint: Option<&'a RawValue>,
    }
}

impl ContentPart<'_> {
    /// A part of a kind that has no neutral meaning, put together again.
    pub(super) fn rebuilt(&self) -> RawJson {
        kept_object(|object| {
            object.set_some("type", self.kind.as_deref());
            object.set_some("text", self.text.as_deref());
            object.set_some("refusal", self.refusal.as_deref());
            object.set_some("image_url", self.image_url.as_deref());
            object.set_some("detail", self.detail.as_deref());
            object.set_some("file_id", self.file_id.as_deref());
            object.set_some("file_url", self.file_url.as_deref());
            object.set_some("file_data", self.file_data.as_deref());
            object.set_some("filename", self.filename.as_deref());
            for (key, raw) in &self.extra {
                object.foreign(key, raw.get());
            }
        })
    }
}

/// `input`: a question, or items.
pub(super) type Input<'a> = TextOrList<'a, Item<'a>>;

/// `content` or `output`: words, or parts.
pub(super) type Content<'a> = TextOrList<'a, ContentPart<'a>>;

impl Listed for Item<'_> {
    const NAME: &'static str = "input items";
}

impl Listed for ContentPart<'_> {
    const NAME: &'static str = "content parts";
}

/// Number of members up to which they are compared one by one; an item seldom has more.
const FEW_MEMBERS: usize = 32;

/// One input item.
#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    pub(super) kind: Option<Str<'a>>,
    pub(super) role: Option<Str<'a>>,
    /// Of messages only.
    pub(super) content: Option<Content<'a>>,
    /// Of function and custom tool outputs only.
    pub(super) output: Option<Content<'a>>,
    /// Every other member, as written, `type` and `role` among them.
    members: Vec<(Str<'a>, &'a RawValue)>,
    /// The names of `members`, once there are more than a few.
    names: HashSet<String>,
}

/// The kinds of items whose members get a type while they are read.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Neither `type` nor `role` came yet.
    Unclear,
    Message,
    Output,
    Other,
}

fn known(kind: &str) -> Known {
    match kind {
        "message" => Known::Message,
        "function_call_output" | "custom_tool_call_output" => Known::Output,
        _ => Known::Other,
    }
}

impl<'a> Item<'a> {
    /// The `type`; a message may leave it out.
    pub(super) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(if self.role.is_some() {
            "message"
        } else {
            "item_reference"
        })
    }

    /// A member as written.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members
            .iter()
            .find(|(name, _)| &**name == key)
            .map(|(_, raw)| *raw)
    }

    /// A string member; `Err` names one that is something else.
    pub(super) fn string(&self, key: &'static str) -> Result<Option<Str<'a>>, &'static str> {
        match self.get(key) {
            None => Ok(None),
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| key),
        }
    }

    /// Members other than `known`, kept.
    pub(super) fn others(&self, known: &[&str]) -> Vec<(String, RawJson)> {
        self.members
            .iter()
            .filter(|(key, raw)| {
                !matches!(&**key, "type" | "role")
                    && !known.contains(&&**key)
                    && raw.get() != "null"
            })
            .map(|(key, raw)| (key.to_string(), RawJson::from(*raw)))
            .collect()
    }

    /// Whether a member is given beside `type`, `role` and `known`.
    pub(super) fn holds_other_than(&self, known: &[&str]) -> bool {
        self.members.iter().any(|(key, raw)| {
            !matches!(&**key, "type" | "role") && !known.contains(&&**key) && raw.get() != "null"
        })
    }

    /// The whole item put together again, its members in their order.
    pub(super) fn rebuilt(&self) -> RawJson {
        kept_object(|object| {
            for (key, raw) in &self.members {
                object.foreign(key, raw.get());
            }
        })
    }

    fn keep<A: MapAccess<'a>>(
        &mut self,
        key: Str<'a>,
        map: &mut A,
    ) -> Result<&'a RawValue, A::Error> {
        if self.has(&key) {
            return Err(A::Error::custom(format_args!(
                "duplicate field `{}`",
                &*key
            )));
        }
        let raw: &'a RawValue = map.next_value()?;
        if self.members.len() >= FEW_MEMBERS {
            if self.names.is_empty() {
                let names = self.members.iter().map(|(name, _)| name.to_string());
                self.names.extend(names);
            }
            self.names.insert(key.to_string());
        }
        self.members.push((key, raw));
        Ok(raw)
    }

    fn has(&self, key: &str) -> bool {
        if self.names.is_empty() {
            self.members.iter().any(|(seen, _)| **seen == *key)
        } else {
            self.names.contains(key)
        }
    }

    /// Keeps a member whose text decides how the rest is read.
    fn keep_word<A: MapAccess<'a>>(
        &mut self,
        key: Str<'a>,
        map: &mut A,
    ) -> Result<Option<Str<'a>>, A::Error> {
        let raw = self.keep(key, map)?;
        serde_json::from_str(raw.get()).map_err(A::Error::custom)
    }

    /// Types a member that came before the kind was clear.
    fn settle<E: Error>(&mut self, key: &str) -> Result<Option<Content<'a>>, E> {
        let Some(place) = self.members.iter().position(|(name, _)| &**name == key) else {
            return Ok(None);
        };
        let (_, raw) = self.members.remove(place);
        serde_json::from_str(raw.get()).map_err(|error| E::custom(format_args!("{key}: {error}")))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemVisitor;
        impl<'de> Visitor<'de> for ItemVisitor {
            type Value = Item<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an input item (an object)")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item<'de>, A::Error> {
                let mut item = Item::default();
                let mut state = Known::Unclear;
                while let Some(key) = map.next_key::<Str<'de>>()? {
                    match (&*key, state) {
                        ("type", _) => {
                            item.kind = item.keep_word(key, &mut map)?;
                            if let Some(kind) = item.kind.as_deref() {
                                state = known(kind);
                            }
                        }
                        ("role", _) => {
                            item.role = item.keep_word(key, &mut map)?;
                            if state == Known::Unclear && item.role.is_some() {
                                state = Known::Message;
                            }
                        }
                        ("content", Known::Message) if item.content.is_none() => {
                            item.content = map.next_value_seed(Typed)?;
                        }
                        ("output", Known::Output) if item.output.is_none() => {
                            item.output = map.next_value_seed(Typed)?;
                        }
                        _ => {
                            item.keep(key, &mut map)?;
                        }
                    }
                }
                if item.kind() == "message" && item.content.is_none() {
                    item.content = item.settle("content")?;
                } else if known(item.kind()) == Known::Output && item.output.is_none() {
                    item.output = item.settle("output")?;
                }
                Ok(item)
            }
        }
        deserializer.deserialize_map(ItemVisitor)
    }
}

/// Reads `content`, `null` being the same as absent.
struct Typed;

impl<'de> DeserializeSeed<'de> for Typed {
    type Value = Option<Content<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Option::<Content<'de>>::deserialize(deserializer)
    }
}
