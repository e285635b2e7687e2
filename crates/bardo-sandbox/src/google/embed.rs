//! `embedContent` and `batchEmbedContents`.

use serde_json::{Value, json};

use super::error::ApiError;
use super::model::Model;
use super::shape;
use crate::openai::embeddings::vector;
use crate::world::World;

const DIMENSIONS: usize = 3_072;

pub(super) fn one(body: &Value, model: &Model, world: &World) -> Result<Value, ApiError> {
    let body = shape::read("EmbedContentRequest", body)?;
    Ok(json!({"embedding": embedding(&body, model, world)?}))
}

pub(super) fn batch(body: &Value, model: &Model, world: &World) -> Result<Value, ApiError> {
    let body = shape::read("BatchEmbedContentsRequest", body)?;
    let requests = body["requests"].as_array().map_or(&[][..], Vec::as_slice);
    if requests.is_empty() || requests.len() > 100 {
        return Err(ApiError::invalid(
            "* BatchEmbedContentsRequest.requests: between 1 and 100 requests can be in one batch\n",
        ));
    }
    let expected = format!("models/{}", model.id);
    if let Some(other) = requests
        .iter()
        .find(|request| request["model"] != expected.as_str())
    {
        return Err(ApiError::invalid(format!(
            "* BatchEmbedContentsRequest.requests: model {} does not match the batch's {expected}\n",
            other["model"]
        )));
    }
    let embeddings = requests
        .iter()
        .map(|request| embedding(request, model, world))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"embeddings": embeddings}))
}

fn embedding(body: &Value, model: &Model, world: &World) -> Result<Value, ApiError> {
    let parts = body["content"]["parts"].as_array();
    let text: Vec<&str> = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect();
    if text.is_empty() {
        return Err(ApiError::invalid(
            "* EmbedContentRequest.content: content is empty\n",
        ));
    }
    let asked = body["outputDimensionality"]
        .as_u64()
        .or(body["embedContentConfig"]["outputDimensionality"].as_u64());
    let dimensions = asked.map_or(Ok(DIMENSIONS), |asked| {
        usize::try_from(asked)
            .ok()
            .filter(|asked| (1..=DIMENSIONS).contains(asked))
            .ok_or_else(|| {
                ApiError::invalid(format!(
                    "* EmbedContentRequest.output_dimensionality: must be between 1 and {DIMENSIONS}\n"
                ))
            })
    })?;
    Ok(json!({"values": vector(world, &model.id, &text.join("\n"), dimensions)}))
}
