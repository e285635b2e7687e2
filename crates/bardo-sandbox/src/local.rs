//! A local server in the manner of Ollama and vLLM: lenient, with the habits of its models.
//!
//! The model's name decides the habit: `hermes` writes tool calls as text, `qwen3-coder` writes
//! them as XML, `qwen-think` thinks inline without an opening tag, `ollama` gives every call the
//! index 0. Other reasoning models use the `reasoning` field.

use http::Method;
use serde_json::{Value, json};

use crate::chat::{self, Asked, Caching, Counts, Flavor, Thoughts, UsageChunk};
use crate::openai::error::{Problem, json_body};
use crate::openai::{completions, embeddings};
use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::script::{Input, Stop, Turn};
use crate::world::World;

const FLAVOR: Flavor = Flavor {
    id_prefix: "chatcmpl-",
    call_prefix: "call_",
    thoughts: Thoughts::Field {
        name: "reasoning",
        null_other: false,
    },
    usage_chunk: UsageChunk::OnRequest,
    usage,
    comment: None,
    index_zero: false,
    reshape,
    decorate: |object, _| {
        object.insert("system_fingerprint".to_owned(), json!("fp_local"));
    },
};

const MODELS: &str = include_str!("../data/local.json");

/// Names that mark a reasoning model.
const THINKERS: &[&str] = &[
    "think",
    "qwen",
    "deepseek-r1",
    "gpt-oss",
    "reason",
    "hermes-4",
];

/// Answers below `/local`.
pub(crate) fn handle(request: &Recorded, world: &World) -> Reply {
    route(request, world).unwrap_or_else(|problem| problem.reply())
}

fn route(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    // A local server asks for no key, but refuses a wrong one.
    if request
        .bearer()
        .is_some_and(|key| world.check_key(Some(key)).is_err())
    {
        return Err(Problem::new(401, "Unauthorized"));
    }
    match (&request.method, request.path.as_str()) {
        (&Method::POST, "/v1/chat/completions") => chat_completions(request, world),
        (&Method::POST, "/v1/completions") => {
            let body = json_body(request)?;
            completions::of_body(request, &body, model(&body)?, world)
        }
        (&Method::POST, "/v1/embeddings") => {
            let body = json_body(request)?;
            embeddings::of_body(&body, model(&body)?, 768, world)
        }
        (&Method::GET, "/v1/models") => Ok(Reply::whole(200, "application/json", MODELS.into())),
        (&Method::GET, "/health") => Ok(Reply::whole(200, "text/plain", "".into())),
        _ => Err(Problem::new(404, "Not Found")),
    }
}

fn model(body: &Value) -> Result<&str, Problem> {
    let model = body
        .get("model")
        .and_then(Value::as_str)
        .filter(|model| !model.is_empty());
    model.ok_or_else(|| Problem::new(400, "model is required"))
}

fn chat_completions(request: &Recorded, world: &World) -> Result<Reply, Problem> {
    let body = json_body(request)?;
    let model = model(&body)?;
    let messages = body.get("messages").and_then(Value::as_array);
    if messages.is_none_or(|messages| messages.is_empty()) {
        return Err(Problem::new(400, "[] is too short - 'messages'"));
    }
    let thinks = THINKERS.iter().any(|name| model.contains(name));
    let asked = Asked {
        request,
        body: &body,
        model: model.to_owned(),
        can_think: thinks,
        thinking: thinks && wants_thinking(&body),
        caching: Caching::Off,
    };
    let flavor = Flavor {
        index_zero: model.contains("ollama"),
        ..FLAVOR
    };
    chat::answer(&asked, &flavor, world).map_err(|error| Problem::new(400, &error))
}

/// Thinking is on unless the template or the last soft switch turns it off.
fn wants_thinking(body: &Value) -> bool {
    let hard = body
        .pointer("/chat_template_kwargs/enable_thinking")
        .or(body.get("enable_thinking"))
        .and_then(Value::as_bool);
    if let Some(hard) = hard {
        return hard;
    }
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let switches = messages.iter().rev().filter_map(|message| {
        let text = message["content"].as_str()?.trim_end();
        match () {
            () if text.ends_with("/no_think") => Some(false),
            () if text.ends_with("/think") => Some(true),
            () => None,
        }
    });
    switches.into_iter().next().unwrap_or(true)
}

/// Turns calls and thoughts into text where the model has no better way.
fn reshape(turn: &mut Turn, asked: &Asked<'_>) {
    let model = asked.model.as_str();
    if model.contains("hermes") || model.contains("qwen3-coder") {
        let write = if model.contains("hermes") {
            hermes
        } else {
            xml
        };
        let calls: Vec<String> = turn
            .tools
            .drain(..)
            .map(|call| write(&call.name, &call.input))
            .collect();
        if !calls.is_empty() {
            let spoken = turn.text.take().map(|text| text + "\n").unwrap_or_default();
            turn.text = Some(spoken + &calls.join("\n"));
            if turn.stop == Stop::Tools {
                turn.stop = Stop::End;
            }
        }
    }
    if model.contains("qwen-think")
        && let Some(think) = turn.think.take()
    {
        turn.usage.reasoning = turn.usage.reasoning.or(Some(0));
        let text = turn.text.take().unwrap_or_default();
        turn.text = Some(format!("{think}\n</think>\n\n{text}"));
    }
}

fn hermes(name: &str, input: &Input) -> String {
    let arguments = match input {
        Input::Json(value) => value.to_string(),
        Input::Text(text) => json!({ "input": text }).to_string(),
        Input::Raw(text) => text.clone(),
    };
    format!(
        "<tool_call>\n{{\"name\": {}, \"arguments\": {arguments}}}\n</tool_call>",
        json!(name)
    )
}

fn xml(name: &str, input: &Input) -> String {
    let mut text = format!("<tool_call>\n<function={name}>\n");
    if let Input::Json(Value::Object(fields)) = input {
        for (key, value) in fields {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            text.push_str(&format!("<parameter={key}>\n{value}\n</parameter>\n"));
        }
    }
    text + "</function>\n</tool_call>"
}

fn usage(counts: &Counts) -> Value {
    let (input, output) = (counts.input, counts.output);
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

/// A refusal with this status in the shape of the service.
pub(crate) fn refuse(status: u16, _request: &Recorded) -> Reply {
    Problem::of_status(status).reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(model: &str, steps: Value, stream: bool) -> Reply {
        let text = format!("bardo-script: {}", json!({ "steps": steps }));
        let body = json!({ "model": model, "stream": stream, "unknown_field": 1,
            "messages": [{ "role": "user", "content": text }] });
        handle(
            &Recorded::test("local", "/v1/chat/completions", &body),
            &World::new(7, Vec::new()),
        )
    }

    #[test]
    fn hermes_writes_calls_as_text() {
        let steps = json!([{ "text": "I look.", "tools": [{ "name": "f", "args": { "a": 1 } }] }]);
        let choice = ask("hermes-4-70b", steps, false).body()["choices"][0].clone();
        assert_eq!(choice["finish_reason"], "stop");
        assert_eq!(
            choice["message"]["content"],
            "I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>"
        );
        assert_eq!(choice["message"].get("tool_calls"), None);
    }

    #[test]
    fn qwen_thinks_inline_without_an_opener_and_others_in_a_field() {
        let steps = json!([{ "think": "hm", "text": "yes" }]);
        let inline = ask("qwen-think-8b", steps.clone(), false).body();
        assert_eq!(
            inline["choices"][0]["message"]["content"],
            "hm\n</think>\n\nyes"
        );
        let field = ask("qwen3-8b", steps.clone(), false).body();
        assert_eq!(field["choices"][0]["message"]["reasoning"], "hm");
        let never = ask("llama3.2", steps, false).body();
        assert_eq!(never["choices"][0]["message"].get("reasoning"), None);
    }

    #[test]
    fn ollama_gives_every_call_the_same_index() {
        let steps = json!([{ "tools": [{ "name": "f", "args": { "a": 1 } }, { "name": "g", "args": {} }] }]);
        let events = ask("ollama-llama3.2", steps, true).events();
        let calls: Vec<Value> = events
            .iter()
            .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0").cloned())
            .collect();
        assert_eq!(calls.len(), 2);
        assert!(calls.iter().all(|call| call["index"] == 0));
        assert_eq!(calls[0]["function"]["arguments"], r#"{"a":1}"#);
    }

    #[test]
    fn the_last_soft_switch_wins() {
        let body = |texts: [&str; 2]| json!({ "messages": texts.map(|text| json!({ "role": "user", "content": text })) });
        assert!(!wants_thinking(&body(["a /think", "b /no_think"])));
        assert!(wants_thinking(&body(["a /no_think", "b /think"])));
        let mut hard = body(["a", "b /think"]);
        hard["chat_template_kwargs"] = json!({ "enable_thinking": false });
        assert!(!wants_thinking(&hard));
    }
}
