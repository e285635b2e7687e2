//! Embeddings: repeatable unit vectors, as floats or base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::openai::error::{Problem, json_body};
use crate::openai::{models, validate};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::tokens;
use crate::world::World;

/// `POST /v1/embeddings` of OpenAI itself.
pub(crate) fn answer(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    let body = json_body(request)?;
    let model = validate::text(&body, "model")?;
    let card = models::find(model)?;
    let Some(dimensions) = card.dimensions else {
        return Err(Problem::new(
            403,
            &format!("You are not allowed to generate embeddings from {model}."),
        ));
    };
    of_body(&body, model, dimensions, world)
}

/// Embeds the `input` of a body that already names a fitting model.
pub(crate) fn of_body(
    body: &Value,
    model: &str,
    dimensions: usize,
    world: &World,
) -> Result<Reply, Problem> {
    let inputs = inputs(body.get("input").unwrap_or(&Value::Null))?;
    let wanted = match body.get("dimensions") {
        None | Some(Value::Null) => dimensions,
        Some(wanted) => wanted
            .as_u64()
            .and_then(|wanted| usize::try_from(wanted).ok())
            .filter(|wanted| (1..=dimensions).contains(wanted))
            .ok_or_else(|| {
                Problem::invalid(
                    "dimensions",
                    &format!("Invalid value for 'dimensions': must be between 1 and {dimensions}."),
                )
            })?,
    };
    let base64 = match body.get("encoding_format").and_then(Value::as_str) {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::invalid(
                "encoding_format",
                &format!("Invalid value: '{other}'. Supported values are: 'float' and 'base64'."),
            ));
        }
    };
    let prompt_tokens: u64 = inputs.iter().map(|input| tokens::count(input).max(1)).sum();
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let vector = vector(world, model, input, wanted);
            let embedding = if base64 {
                let bytes: Vec<u8> = vector
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect();
                json!(STANDARD.encode(bytes))
            } else {
                json!(vector)
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    Ok(Reply::json(
        200,
        &json!({ "object": "list", "data": data, "model": model,
            "usage": { "prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens } }),
    ))
}

/// The texts to embed; token lists count as the text of their numbers.
fn inputs(input: &Value) -> Result<Vec<String>, Problem> {
    let missing = || {
        Problem::invalid(
            "input",
            "'$.input' is invalid. Please check the API reference.",
        )
    };
    let one = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Array(ids) if !ids.is_empty() && ids.iter().all(Value::is_u64) => Ok(ids
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" ")),
        _ => Err(missing()),
    };
    match input {
        Value::Array(items) if items.len() > 2_048 => Err(Problem::invalid(
            "input",
            "Invalid 'input': array too long.",
        )),
        Value::Array(items) if items.iter().any(|item| !item.is_u64()) => {
            items.iter().map(one).collect()
        }
        value => one(value).map(|text| vec![text]),
    }
}

/// A unit vector that depends on the words, so that similar texts are near each other.
pub(crate) fn vector(world: &World, model: &str, text: &str, dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0_f32; dimensions];
    let lowered = text.to_lowercase();
    let words = lowered
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    for word in words.chain([""]) {
        let digest = world.digest(&[b"embedding", model.as_bytes(), word.as_bytes()]);
        let mut state = u64::from_le_bytes([
            digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
        ]);
        for value in &mut sum {
            // A linear congruential step is plenty for test vectors.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *value += ((state >> 40) as f32 / 8_388_608.0) - 1.0;
        }
    }
    let norm = sum
        .iter()
        .map(|value| value * value)
        .sum::<f32>()
        .sqrt()
        .max(f32::MIN_POSITIVE);
    sum.iter_mut().for_each(|value| *value /= norm);
    sum
}
