//! Requests for vectors in OpenAI's form, for models that do not speak it themselves
//! (<https://platform.openai.com/docs/api-reference/embeddings/create>).

use crate::codec::BadRequest;
use crate::json::wire_object;
use serde_json::value::RawValue;

/// What a request asks of an embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingsRequest {
    /// The texts, in their order. Possibly empty.
    pub texts: Vec<String>,
    /// Numbers of each vector; `None`: as many as the model makes.
    pub dimensions: Option<u64>,
    /// The vectors are wanted as base64 of little-endian 32-bit floats, not as lists of numbers.
    pub base64: bool,
}

wire_object! {
    struct Body<'a> {
        "input" => input: Option<&'a RawValue>,
        "dimensions" => dimensions: Option<&'a RawValue>,
        "encoding_format" => encoding_format: Option<&'a RawValue>,
        ..
    }
}

impl EmbeddingsRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// With the name of the member that has no readable value: `input` must be a text or a list of
    /// texts (not of token ids), `dimensions` a whole number above 0, and `encoding_format` `float` or
    /// `base64`.
    pub fn read(body: &[u8]) -> Result<Self, BadRequest> {
        let body: Body<'_> = serde_json::from_slice(body)
            .map_err(|error| crate::json::explain(&error).unreadable())?;
        Ok(Self {
            texts: texts(body.input)?,
            dimensions: body.dimensions.map(dimensions).transpose()?,
            base64: is_base64(body.encoding_format)?,
        })
    }
}

fn texts(input: Option<&RawValue>) -> Result<Vec<String>, BadRequest> {
    let input = input.map_or("null", RawValue::get);
    if let Ok(text) = serde_json::from_str(input) {
        return Ok(vec![text]);
    }
    serde_json::from_str(input).map_err(|_| {
        let is_token_ids = serde_json::from_str::<Vec<u64>>(input).is_ok()
            || serde_json::from_str::<Vec<Vec<u64>>>(input).is_ok();
        let message = if is_token_ids {
            "this model does not accept token ids; send `input` as a text or a list of texts"
        } else {
            "`input` must be a text or a list of texts"
        };
        BadRequest::new("input", message).unreadable()
    })
}

fn dimensions(wanted: &RawValue) -> Result<u64, BadRequest> {
    let number = serde_json::from_str(wanted.get()).ok();
    number.filter(|number| *number > 0).ok_or_else(|| {
        BadRequest::new("dimensions", "`dimensions` must be a whole number above 0").unreadable()
    })
}

fn is_base64(format: Option<&RawValue>) -> Result<bool, BadRequest> {
    match format.map(RawValue::get) {
        None | Some("\"float\"") => Ok(false),
        Some("\"base64\"") => Ok(true),
        Some(_) => Err(BadRequest::new(
            "encoding_format",
            "`encoding_format` must be float or base64",
        )
        .unreadable()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_a_list_of_texts_are_read() {
        let read = |body: &str| EmbeddingsRequest::read(body.as_bytes()).unwrap();
        let one = read(r#"{"model":"m","input":"a","encoding_format":"base64","user":7}"#);
        assert_eq!((one.texts, one.base64), (vec!["a".to_owned()], true));
        let two = read(r#"{"input":["a","b"],"dimensions":256,"encoding_format":null}"#);
        assert_eq!((two.texts.len(), two.dimensions), (2, Some(256)));
        assert_eq!(read(r#"{"input":[]}"#).texts.len(), 0);
    }

    #[test]
    fn a_member_that_cannot_be_read_is_named() {
        for (body, param, part) in [
            (r#"{"input":[[1,2]]}"#, "input", "token ids"),
            (r#"{"input":[1,2]}"#, "input", "token ids"),
            (r#"{"input":5}"#, "input", "must be a text"),
            (r#"{"input":{"text":"a"}}"#, "input", "must be a text"),
            (r#"{"input":["a",1]}"#, "input", "must be a text"),
            (r#"{"input":null}"#, "input", "must be a text"),
            ("{}", "input", "must be a text"),
            (
                r#"{"input":"a","dimensions":"256"}"#,
                "dimensions",
                "a whole number",
            ),
            (
                r#"{"input":"a","dimensions":0}"#,
                "dimensions",
                "a whole number",
            ),
            (
                r#"{"input":"a","encoding_format":"hex"}"#,
                "encoding_format",
                "float or base64",
            ),
            (
                r#"{"input":"a","encoding_format":1}"#,
                "encoding_format",
                "float or base64",
            ),
            ("[1]", "", ""),
        ] {
            let refusal = EmbeddingsRequest::read(body.as_bytes()).expect_err("it is refused");
            assert_eq!(refusal.param, param, "{body}");
            assert!(
                refusal.message.contains(part),
                "{body}: {}",
                refusal.message
            );
            assert!(refusal.is_unreadable, "{body}");
        }
    }
}
