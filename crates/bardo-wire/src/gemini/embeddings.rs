use std::borrow::Cow;

use bardo_types::fault::Fault;
use serde::Deserialize;

use crate::json::Object;
use crate::kit::messages::malformed;

/// Encodes a `batchEmbedContents` body.
#[must_use]
pub fn encode_embeddings(model: &str, inputs: &[String], dimensions: Option<u64>) -> Vec<u8> {
    let model = resource_name(model);
    let mut out = Vec::new();
    Object::new(&mut out).list("requests", inputs, |text, out| {
        let mut request = Object::new(out);
        request.set("model", &model);
        let mut content = request.object("content");
        content.array("parts").object().set("text", text);
        content.end();
        request.set_some("outputDimensionality", dimensions);
    });
    out
}

/// Reads a `batchEmbedContents` answer, or that of a single `embedContent`.
///
/// # Errors
/// The fault that the body tells of, or a malformed answer.
pub fn decode_embeddings(body: &[u8]) -> Result<Vec<Vec<f32>>, Fault> {
    #[derive(Deserialize)]
    struct EmbeddingsAnswer {
        embeddings: Option<Vec<Embedding>>,
        embedding: Option<Embedding>,
    }
    #[derive(Deserialize)]
    struct Embedding {
        #[serde(default)]
        values: Vec<f32>,
    }
    let answer = serde_json::from_slice::<EmbeddingsAnswer>(body)
        .map_err(|_| malformed("the provider's embeddings are malformed"))?;
    let list = answer
        .embeddings
        .or_else(|| answer.embedding.map(|one| vec![one]))
        .ok_or_else(|| super::error::told_in_200(body))?;
    Ok(list.into_iter().map(|embedding| embedding.values).collect())
}

/// `models/x`, as bodies name models.
pub(super) fn resource_name(model: &str) -> Cow<'_, str> {
    if model.contains('/') {
        Cow::Borrowed(model)
    } else {
        Cow::Owned(format!("models/{model}"))
    }
}
