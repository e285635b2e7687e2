//! Legacy text completions.

use serde_json::{Value, json};

use crate::chat::facts;
use crate::dialect::Dialect;
use crate::openai::error::{Problem, json_body};
use crate::openai::{models, validate};
use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
use crate::script::{self, Facts, Said, Stop};
use crate::tokens;
use crate::world::World;

/// `POST /v1/completions` of OpenAI itself.
pub(crate) fn answer(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    let body = json_body(request)?;
    let model = validate::text(&body, "model")?;
    let card = models::find(model)?;
    if card.reasoning || card.dimensions.is_some() {
        return Err(Problem::new(
            404,
            "This is a chat model and not supported in the v1/completions endpoint. \
             Did you mean to use v1/chat/completions?",
        )
        .param("model"));
    }
    of_body(request, &body, model, world)
}

/// Completes the `prompt` of a body that already names a fitting model.
pub(crate) fn of_body(
    request: &Recorded,
    body: &Value,
    model: &str,
    world: &World,
) -> Result<Reply, Problem> {
    let prompt = match body.get("prompt") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(texts)) => texts
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join("\n"),
        _ => return Err(Problem::invalid("prompt", "you must provide a prompt")),
    };
    let turn = script::play(
        &Facts {
            service: request.service,
            dialect: Dialect::Completions,
            from: Dialect::of_caller(request),
            model: model.to_owned(),
            input_tokens: Some(tokens::count(&prompt)),
            max_tokens: body.get("max_tokens").and_then(Value::as_u64),
            stop: facts::stop(body.get("stop").unwrap_or(&Value::Null)),
            said: vec![Said::User(prompt.clone())],
            ..Facts::default()
        },
        world,
    )
    .map_err(|error| Problem::new(400, &error))?;
    let text = turn.text.clone().unwrap_or_default();
    let (input, output) = (
        turn.usage.input.unwrap_or_else(|| tokens::count(&prompt)),
        turn.output_tokens(),
    );
    let usage = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    let finish = if turn.stop == Stop::MaxTokens {
        "length"
    } else {
        "stop"
    };
    let id = world.id("cmpl-", 29, &[&request.body]);
    let object = |text: &str, finish: Value| {
        json!({ "id": id, "object": "text_completion", "created": world.created(request), "model": model,
            "choices": [{ "text": text, "index": 0, "logprobs": null, "finish_reason": finish }] })
    };
    let reply = if crate::chat::flag(body, "stream") {
        let mut pieces: Vec<Piece> = tokens::pieces(&text, turn.chunk)
            .into_iter()
            .map(|piece| Piece::data(Part::Content, &object(piece, Value::Null)))
            .collect();
        pieces.push(Piece::data(Part::Close, &object("", json!(finish))));
        if body.pointer("/stream_options/include_usage") == Some(&json!(true)) {
            let mut last = object("", Value::Null);
            last["choices"] = json!([]);
            last["usage"] = usage;
            pieces.push(Piece::data(Part::Close, &last));
        }
        pieces.push(Piece::done());
        Reply::stream(pieces).paced(turn.delay_ms)
    } else {
        let mut whole = object(&text, json!(finish));
        whole["usage"] = usage;
        Reply::json(200, &whole)
    };
    Ok(reply.with_faults(&turn.faults))
}
