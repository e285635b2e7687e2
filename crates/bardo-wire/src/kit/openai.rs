//! Shapes that the dialects of OpenAI's family share.

use bardo_types::chat::{Audio, MediaSource};
use bardo_types::json::RawJson;
use serde_json::value::RawValue;

use crate::codec::BadRequest;
use crate::json::{Object, Str, lenient_object, wire_object};

/// Declares a request body: members that every endpoint for answers has, and those given.
macro_rules! openai_body {
    ($(#[$meta:meta])* $vis:vis struct $name:ident<$life:lifetime> { $($own:tt)* }) => {
        $crate::json::wire_object! {
            $(#[$meta])*
            $vis struct $name<$life> {
                "model" => model: Option<$crate::json::Str<$life>>,
                "max_tokens" => max_tokens: Option<i64>,
                "n" => n: Option<u32>,
                "stream" => stream: Option<bool>,
                "stream_options" => stream_options: Option<$crate::kit::openai::StreamOptions<$life>>,
                "temperature" => temperature: Option<&$life serde_json::value::RawValue>,
                "top_p" => top_p: Option<&$life serde_json::value::RawValue>,
                "top_k" => top_k: Option<&$life serde_json::value::RawValue>,
                "min_p" => min_p: Option<&$life serde_json::value::RawValue>,
                "presence_penalty" => presence_penalty: Option<&$life serde_json::value::RawValue>,
                "frequency_penalty" => frequency_penalty: Option<&$life serde_json::value::RawValue>,
                "repetition_penalty" => repetition_penalty: Option<&$life serde_json::value::RawValue>,
                "seed" => seed: Option<&$life serde_json::value::RawValue>,
                "logit_bias" => logit_bias: Option<&$life serde_json::value::RawValue>,
                "stop" => stop: Option<$crate::kit::text_or_list::TextOrList<$life, String>>,
                "user" => user: Option<$crate::json::Str<$life>>,
                $($own)*
            }
        }

        impl $name<'_> {
            /// Reads the members that both endpoints mean alike.
            pub(in crate::chat) fn read_shared(
                &mut self,
                request: &mut bardo_types::chat::ChatRequest,
            ) -> Result<(), $crate::codec::BadRequest> {
                use $crate::kit::openai::{logit_bias, number, read_n};
                request.sampling = bardo_types::chat::Sampling {
                    temperature: number("temperature", self.temperature)?,
                    top_p: number("top_p", self.top_p)?,
                    top_k: number("top_k", self.top_k)?,
                    min_p: number("min_p", self.min_p)?,
                    presence_penalty: number("presence_penalty", self.presence_penalty)?,
                    frequency_penalty: number("frequency_penalty", self.frequency_penalty)?,
                    repetition_penalty: number("repetition_penalty", self.repetition_penalty)?,
                    seed: number("seed", self.seed)?,
                    logit_bias: logit_bias(self.logit_bias)?,
                };
                let stop = self.stop.take();
                request.stop = stop.map(|stop| stop.into_texts()).unwrap_or_default();
                request.n = read_n(self.n)?;
                request.stream = self.stream.unwrap_or(false);
                let options = self.stream_options.take();
                request.include_usage = options
                    .and_then(|options| options.include_usage)
                    .unwrap_or(false);
                Ok(())
            }
        }
    };
}
pub(crate) use openai_body;

wire_object! {
    /// The member `stream_options`.
    pub(crate) struct StreamOptions<'a> {
        "include_usage" => include_usage: Option<bool>,
    }

    /// A function as a tool defines it.
    pub(crate) struct ToolFunction<'a> {
        "name" => name: Option<Str<'a>>,
        "description" => description: Option<Str<'a>>,
        "parameters" => parameters: Option<&'a RawValue>,
        "strict" => strict: Option<bool>,
    }

    /// Sound in a message.
    pub(crate) struct InputAudio<'a> {
        "data" => data: Option<Str<'a>>,
        "format" => format: Option<Str<'a>>,
    }
}

impl InputAudio<'_> {
    /// Writes the member for `audio`.
    pub(crate) fn write(audio: &Audio, part: &mut Object<'_>) {
        part.set("type", "input_audio");
        part.object("input_audio")
            .set("data", &audio.data)
            .set("format", &audio.format);
    }
}

lenient_object! {
    /// Details of the tokens of a prompt, in every spelling that services use.
    pub(crate) struct InputDetails {
        "cached_tokens" => cached: u64,
        "cache_write_tokens" => written: u64,
        "cached_creation_tokens" => cached_creation: u64,
        "cache_creation_input_tokens" => cache_creation: u64,
        "audio_tokens" => audio: u64,
    }

    /// Details of the tokens of an answer.
    pub(crate) struct OutputDetails {
        "reasoning_tokens" => reasoning: u64,
        "audio_tokens" => audio: u64,
        "accepted_prediction_tokens" => accepted: u64,
        "rejected_prediction_tokens" => rejected: u64,
    }
}

wire_object! {
    /// Token probabilities as Chat Completions writes them.
    pub(crate) struct Logprobs<'a> {
        "content" => content: Option<Vec<&'a RawValue>>,
    }
}

/// Takes a `data:` URL in base64 apart; any other text is an address.
pub(crate) fn media_source(url: String) -> MediaSource {
    let inline = url.strip_prefix("data:").and_then(|rest| {
        let (head, data) = rest.split_once(',')?;
        let media_type = head.strip_suffix(";base64")?;
        // Parameters such as a charset belong to no other dialect's media type.
        let media_type = media_type.split(';').next().unwrap_or(media_type);
        Some(MediaSource::Base64 {
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        })
    });
    inline.unwrap_or(MediaSource::Url(url))
}

/// Whether [`media_source`] drops parameters of a `data:` URL, such as a charset.
pub(crate) fn has_media_parameters(url: &str) -> bool {
    let rest = url.strip_prefix("data:");
    let head = rest.and_then(|rest| rest.split_once(',')?.0.strip_suffix(";base64"));
    head.is_some_and(|head| head.contains(';'))
}

/// Reads how many answers are wanted.
pub(crate) fn read_n(n: Option<u32>) -> Result<Option<u32>, BadRequest> {
    match n {
        Some(0) => Err(BadRequest::new("n", "`n` is 0; it must be at least 1")),
        Some(n) if n > 128 => Err(BadRequest::new(
            "n",
            "`n` is too large; it must be at most 128",
        )),
        n => Ok(n),
    }
}

/// Keeps a number as written.
pub(crate) fn number(param: &str, value: Option<&RawValue>) -> Result<Option<RawJson>, BadRequest> {
    let is_number = |raw: &RawValue| {
        raw.get()
            .starts_with(|c: char| c == '-' || c.is_ascii_digit())
    };
    match value {
        Some(raw) if !is_number(raw) => Err(BadRequest::new(
            param,
            format!("`{param}` must be a number"),
        )),
        value => Ok(value.map(RawJson::from)),
    }
}

/// Keeps the map from tokens to numbers as written.
pub(crate) fn logit_bias(value: Option<&RawValue>) -> Result<Option<RawJson>, BadRequest> {
    match value {
        Some(raw) if !raw.get().starts_with('{') => Err(BadRequest::new(
            "logit_bias",
            "`logit_bias` must be an object of token ids and numbers",
        )),
        value => Ok(value.map(RawJson::from)),
    }
}
