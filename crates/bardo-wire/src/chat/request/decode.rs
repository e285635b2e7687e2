//! A caller's body into a neutral request.

pub(in crate::chat) mod content;
pub(in crate::chat) mod messages;
pub(in crate::chat) mod options;

pub(in crate::chat) use messages::thought_signature;

use bardo_types::chat::{ChatRequest, Logprobs};
use bardo_types::json::RawJson;
use bardo_types::model::Dialect;
use serde_json::value::RawValue;

use crate::chat::place;
use crate::chat::shapes::request::ChatBody;
use crate::chat::tools::decode as tools;
use crate::chat::unread;
use crate::codec::{BadRequest, DecodedRequest};
use crate::json::{Str, fill_from_str, wire_object};

/// Members that are never passed on: the gateway's own hints, and names of endpoints and keys,
/// which must not act (and a key must not travel).
const NEVER_PASSED_ON: [&str; 5] = ["bardo", "api_base", "base_url", "api_key", "extra_headers"];

/// Reads a body of `POST /v1/chat/completions`.
///
/// # Errors
/// When the body is not JSON of the right types; the refusal names the member.
pub fn decode_request(body: &[u8]) -> Result<ChatRequest, BadRequest> {
    Ok(read_request(body)?.request)
}

/// Reads a body of `POST /v1/chat/completions`, and says whether its neutral form lacks members.
///
/// # Errors
/// As [`decode_request`].
pub fn read_request(body: &[u8]) -> Result<DecodedRequest, BadRequest> {
    let text = utf8(body)?;
    let mut wire = ChatBody::default();
    fill_from_str(text, &mut wire).map_err(|error| place::refuse(text, &error))?;
    let holds_unread_members = unread::holds_unread_members(&wire);
    Ok(DecodedRequest {
        request: request(wire)?,
        holds_unread_members,
    })
}

pub(in crate::chat) fn utf8(body: &[u8]) -> Result<&str, BadRequest> {
    std::str::from_utf8(body).map_err(|error| {
        BadRequest::new(
            "",
            format!(
                "the request body is not UTF-8 (byte {}); send JSON in UTF-8",
                error.valid_up_to()
            ),
        )
    })
}

fn request(mut wire: ChatBody<'_>) -> Result<ChatRequest, BadRequest> {
    let model = required_model(wire.model.take())?;
    let mut request = ChatRequest::new(Dialect::Chat, model);
    options::read_reasoning(&mut wire, &mut request);
    options::read_format(&mut wire, &mut request)?;
    tools::read(&mut wire, &mut request)?;
    let Some(messages) = wire.messages.take().filter(|list| !list.is_empty()) else {
        return Err(BadRequest::new(
            "messages",
            "`messages` is missing or empty; send at least one message",
        ));
    };
    request.messages = messages::read(messages.into_vec())?;
    request.max_output_tokens = match wire.max_completion_tokens {
        Some(limit) => token_limit("max_completion_tokens", limit)?,
        None => match wire.max_tokens {
            Some(limit) => token_limit("max_tokens", limit)?,
            None => None,
        },
    };
    wire.read_shared(&mut request)?;
    request.logprobs = wire.logprobs.unwrap_or(false).then_some(Logprobs {
        top: wire.top_logprobs,
    });
    request.metadata = raw(wire.metadata);
    request.service_tier = wire.service_tier.map(Str::into_string);
    request.prediction = raw(wire.prediction);
    request.modalities = raw(wire.modalities);
    request.audio = raw(wire.audio);
    request.cache.key = wire.prompt_cache_key.map(Str::into_string);
    request.cache.options = raw(wire.prompt_cache_options);
    request.cache.automatic = raw(wire.cache_control);
    request.store = wire.store;
    request.end_user = match (wire.safety_identifier, wire.user) {
        (Some(identifier), user) => {
            if let Some(user) = user {
                request.extra.push(("user".into(), RawJson::string(&user)));
            }
            Some(identifier.into_string())
        }
        (None, user) => user.map(Str::into_string),
    };
    request.extra.extend(extra(wire.extra));
    request.include_usage |= wants_usage(&request.extra);
    Ok(request)
}

pub(in crate::chat) fn required_model(model: Option<Str<'_>>) -> Result<String, BadRequest> {
    model
        .map(Str::into_string)
        .filter(|model| !model.is_empty())
        .ok_or_else(|| BadRequest::new("model", "`model` is missing; send the name of a model"))
}

/// Reads a limit; −1 is how some clients say "no limit".
pub(in crate::chat) fn token_limit(param: &str, limit: i64) -> Result<Option<u64>, BadRequest> {
    match u64::try_from(limit) {
        Ok(0) => Err(BadRequest::new(
            param,
            format!("`{param}` is 0; it must be at least 1"),
        )),
        Ok(limit) => Ok(Some(limit)),
        Err(_) => Ok(None),
    }
}

/// Keeps an optional member as written; `null` is as good as absent.
pub(in crate::chat) fn raw(value: Option<&RawValue>) -> Option<RawJson> {
    value.map(RawJson::from)
}

wire_object! {
    /// OpenRouter's member `usage` of a request.
    struct UsageOptions<'a> {
        "include" => include: Option<bool>,
        ..
    }
}

/// Whether the caller wants usage in the words of OpenRouter: `"usage": {"include": true}`.
fn wants_usage(extra: &[(String, RawJson)]) -> bool {
    let options = extra.iter().find(|(name, _)| name == "usage");
    let options = options.and_then(|(_, raw)| raw.read::<UsageOptions<'_>>().ok());
    options.and_then(|options| options.include) == Some(true)
}

/// Members that no slot was made for.
pub(in crate::chat) fn extra<'a>(
    members: Vec<(Str<'a>, &'a RawValue)>,
) -> impl Iterator<Item = (String, RawJson)> + use<'a> {
    members
        .into_iter()
        .filter(|(name, value)| !NEVER_PASSED_ON.contains(&&**name) && value.get() != "null")
        .map(|(name, value)| (name.into_string(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_members_of_another_type_are_refused_by_name() {
        let read = |member: &str| {
            let body = format!(
                r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],{member}}}"#
            );
            decode_request(body.as_bytes())
        };
        for (member, param) in [
            (r#""temperature":[]"#, "temperature"),
            (r#""top_k":{"a":1}"#, "top_k"),
            (r#""seed":"7""#, "seed"),
            (r#""logit_bias":[1]"#, "logit_bias"),
        ] {
            assert_eq!(read(member).unwrap_err().param, param);
        }
        let sampling = read(r#""temperature":1.0,"seed":-1,"top_p":null,"logit_bias":{"1":-5}"#)
            .unwrap()
            .sampling;
        assert_eq!(sampling.temperature, RawJson::parse("1.0").ok());
        assert_eq!(sampling.seed, RawJson::parse("-1").ok());
        assert_eq!((sampling.top_p, sampling.top_k), (None, None));
    }
}
