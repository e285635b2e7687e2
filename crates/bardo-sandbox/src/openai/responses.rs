//! The Responses API: items in, items out, with server-side state and a stream of named events.

mod input;
mod object;
mod output;
mod stream;
mod validate;

use http::Method;
use serde_json::{Value, json};

use crate::cache::{self, CacheUse};
use crate::chat::{Caching, Counts, flag, scope_of, settle};
use crate::fault::Faults;
use crate::openai::error::{Problem, json_body};
use crate::openai::models;
use crate::recorded::Recorded;
use crate::reply::{Part, Piece, Reply};
use crate::script::{self, Facts, Turn};
use crate::tokens;
use crate::world::World;

/// How a service's Responses endpoint differs.
pub(crate) struct Variant {
    /// Whether responses are stored and can be continued by id.
    pub(crate) stateful: bool,
    /// Finds the model, or refuses it.
    pub(crate) card: fn(&str) -> Result<Card, Problem>,
}

/// What the endpoint needs to know about a model.
pub(crate) struct Card {
    pub(crate) reasoning: bool,
    pub(crate) caching: Caching,
}

/// OpenAI's own endpoint.
pub(crate) const OPENAI: Variant = Variant {
    stateful: true,
    card: |model| {
        models::find(model).map(|card| Card {
            reasoning: card.reasoning,
            caching: if card.cache_writes {
                Caching::Breakpoints
            } else {
                Caching::Automatic
            },
        })
    },
};

/// A validated request with its whole context.
struct Asked<'a> {
    request: &'a Recorded,
    body: &'a Value,
    model: &'a str,
    card: Card,
    /// Earlier items of the chain, then the items of this request.
    context: Vec<Value>,
    stores: bool,
}

/// What one response consists of.
struct Made {
    id: String,
    created: u64,
    output: Vec<Value>,
    turn: Turn,
    counts: Counts,
    faults: Faults,
}

/// Answers `/responses` and everything below it.
pub(crate) fn answer(
    request: &Recorded,
    path: &str,
    variant: &Variant,
    world: &World,
) -> Result<Reply, Problem> {
    let below = path
        .strip_prefix("/responses")
        .unwrap_or(path)
        .trim_start_matches('/');
    match (&request.method, below) {
        (&Method::POST, "") => create(request, variant, world),
        (&Method::POST, "input_tokens") => input_tokens(request, variant, world),
        (method, below) if variant.stateful => stored(request, method, below, world),
        (method, _) => Err(Problem::unknown_url(method, request)),
    }
}

fn create(request: &Recorded, variant: &Variant, world: &World) -> Result<Reply, Problem> {
    let body = json_body(request)?;
    let asked = asked(request, &body, variant, world)?;
    let prompt = prompt(&asked);
    let facts = Facts {
        input_tokens: Some(tokens::count(&prompt).max(1)),
        ..input::facts(&asked)
    };
    let turn = script::play(&facts, world).map_err(|error| Problem::new(400, &error))?;
    let counts = count(&asked, &prompt, &turn, world);
    let id = world.hex_id("resp_", 48, &[request.service.as_bytes(), &request.body]);
    let made = Made {
        output: output::items(&asked, &turn, &id, world),
        created: world.created(request),
        faults: request.faults.clone().and(&turn.faults),
        id,
        turn,
        counts,
    };
    let whole = object::finished(&asked, &made);
    if asked.stores {
        keep(&asked, &made, &whole, world);
    }
    let reply = if flag(&body, "stream") {
        stream::render(&asked, &made, &whole, world).paced(made.turn.delay_ms)
    } else {
        Reply::json(200, &whole)
    };
    Ok(reply.with_faults(&made.turn.faults))
}

fn asked<'a>(
    request: &'a Recorded,
    body: &'a Value,
    variant: &Variant,
    world: &World,
) -> Result<Asked<'a>, Problem> {
    let model = crate::openai::validate::text(body, "model")?;
    let card = (variant.card)(model)?;
    validate::fields(body, &card, variant.stateful)?;
    let context = input::context(body, world)?;
    validate::context(&context, world)?;
    validate::tool_choice(body, &context)?;
    let stores = variant.stateful && body.get("store") != Some(&Value::Bool(false));
    Ok(Asked {
        request,
        body,
        model,
        card,
        context,
        stores,
    })
}

fn input_tokens(request: &Recorded, variant: &Variant, world: &World) -> Result<Reply, Problem> {
    let body = json_body(request)?;
    let asked = asked(request, &body, variant, world)?;
    let count = tokens::count(&prompt(&asked)).max(1);
    Ok(Reply::json(
        200,
        &json!({ "object": "response.input_tokens", "input_tokens": count }),
    ))
}

fn prompt(asked: &Asked<'_>) -> String {
    let mut prompt = String::new();
    for name in ["tools", "instructions"] {
        prompt.push_str(&tokens::render(
            asked.body.get(name).unwrap_or(&Value::Null),
        ));
    }
    asked
        .context
        .iter()
        .for_each(|item| prompt.push_str(&tokens::render(item)));
    prompt
}

fn count(asked: &Asked<'_>, prompt: &str, turn: &Turn, world: &World) -> Counts {
    let scope = scope_of(asked.request, asked.model, asked.body);
    let used = match asked.card.caching {
        Caching::Off | Caching::Markers => CacheUse::default(),
        Caching::Automatic | Caching::Breakpoints => {
            let used = world
                .cache
                .automatic(cache::COMMON, &scope, prompt, world.now_ms());
            let reports = asked.card.caching == Caching::Breakpoints;
            CacheUse {
                written: if reports { used.written } else { 0 },
                ..used
            }
        }
    };
    settle(
        tokens::count(prompt).max(1),
        used,
        std::slice::from_ref(turn),
    )
}

/// Stores a response with the context that a successor continues.
fn keep(asked: &Asked<'_>, made: &Made, whole: &Value, world: &World) {
    let mut context = asked.context.clone();
    context.extend(made.output.iter().cloned());
    for item in &made.output {
        if let Some(id) = item["id"].as_str() {
            world.shelf.put(&format!("item:{id}"), item.clone());
        }
    }
    let input = input::own_items(asked.body);
    let held = json!({ "response": whole, "context": context, "input": input });
    world.shelf.put(&made.id, held);
}

fn stored(
    request: &Recorded,
    method: &Method,
    below: &str,
    world: &World,
) -> Result<Reply, Problem> {
    let (id, rest) = below.split_once('/').unwrap_or((below, ""));
    let held = world.shelf.get(id).filter(|_| id.starts_with("resp_"));
    let held = held.ok_or_else(|| {
        Problem::new(404, &format!("Response with id '{id}' not found.")).param("response_id")
    })?;
    match (method, rest) {
        (&Method::GET, "") => Ok(Reply::json(200, &held["response"])),
        (&Method::DELETE, "") => {
            world.shelf.take(id);
            Ok(Reply::json(
                200,
                &json!({ "id": id, "object": "response", "deleted": true }),
            ))
        }
        (&Method::GET, "input_items") => Ok(Reply::json(
            200,
            &json!({ "object": "list", "data": held["input"], "has_more": false,
                "first_id": held["input"][0]["id"], "last_id": null }),
        )),
        (&Method::POST, "cancel") => Err(Problem::new(
            400,
            "Cannot cancel a synchronous response. Only responses created with `background` set \
             to true can be cancelled.",
        )),
        (method, _) => Err(Problem::unknown_url(method, request)),
    }
}

/// The `error` event of a stream that already began.
pub(crate) fn stream_error() -> Piece {
    let error = json!({
        "type": "error", "code": "server_error", "param": null, "sequence_number": 99,
        "message": "The server had an error while processing your request. Sorry about that!",
    });
    Piece::event(Part::Content, "error", &error)
}

#[cfg(test)]
mod tests;
