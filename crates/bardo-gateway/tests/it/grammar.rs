//! Every stream has the grammar of its caller's dialect, wherever it comes from: relayed,
//! translated, checked before it was handed over, or replayed.

use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, makers};
use crate::sse::{Block, Caller, blocks};

/// One of each provider's dialects: relayed for one caller, translated for the others.
const MODELS: [&str; 3] = ["gpt-5.5", "claude-sonnet-5-5", "gemini-3-flash"];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks a stream that ended well, and answers its text.
#[track_caller]
fn check(caller: Caller, stream: &[u8]) -> String {
    let all = blocks(stream);
    let figures =
        |block: &&Block| matches!(block, Block::Comment(text) if text.starts_with("bardo {"));
    assert_eq!(all.iter().filter(figures).count(), 1, "{all:?}");
    let place = all.iter().position(|block| figures(&block));
    assert_eq!(place, Some(all.len() - 2), "figures are second to last");
    let events: Vec<(&str, &str)> = all
        .iter()
        .filter_map(|block| match block {
            Block::Event { name, data } => Some((name.as_str(), data.as_str())),
            Block::Comment(_) => None,
        })
        .collect();
    match caller {
        Caller::Chat => chat(&events),
        Caller::Anthropic => anthropic(&events),
        Caller::Responses => responses(&events),
    }
}

#[track_caller]
fn json_of((name, data): &(&str, &str)) -> Value {
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {name} {data}"))
}

#[track_caller]
fn chat(events: &[(&str, &str)]) -> String {
    let (last, chunks) = events.split_last().expect("events");
    assert_eq!(*last, ("", "[DONE]"));
    let chunks: Vec<Value> = chunks.iter().map(json_of).collect();
    let (mut said, mut finished) = (String::new(), false);
    for chunk in &chunks {
        assert_eq!(chunk["object"], "chat.completion.chunk", "{chunk}");
        for member in ["id", "model", "created"] {
            assert_eq!(chunk[member], chunks[0][member], "{member} of {chunk}");
        }
        let choice = &chunk["choices"][0];
        if choice.is_null() {
            assert!(finished && chunk["usage"].is_object(), "{chunk}");
            continue;
        }
        assert!(!finished, "it goes on after its finish: {chunk}");
        said.push_str(text(&choice["delta"]["content"]));
        finished = choice["finish_reason"].is_string();
    }
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    assert!(finished, "it has no finish");
    said
}

#[track_caller]
fn anthropic(events: &[(&str, &str)]) -> String {
    let mut said = String::new();
    let mut open: Option<u64> = None;
    let mut next = 0;
    let kinds: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(kinds.first(), Some(&"message_start"), "{kinds:?}");
    assert!(
        kinds.ends_with(&["message_delta", "message_stop"]),
        "{kinds:?}"
    );
    for event in events {
        let data = json_of(event);
        assert_eq!(data["type"], event.0, "the name is the type");
        match event.0 {
            "content_block_start" => {
                assert_eq!((open, data["index"].as_u64()), (None, Some(next)));
                open = Some(next);
                next += 1;
            }
            "content_block_delta" => {
                assert_eq!(data["index"].as_u64(), open, "{data}");
                said.push_str(text(&data["delta"]["text"]));
            }
            "content_block_stop" => {
                assert_eq!(data["index"].as_u64(), open.take(), "{data}");
            }
            "message_delta" => {
                assert_eq!(open, None, "a block is open: {kinds:?}");
                assert!(data["delta"]["stop_reason"].is_string(), "{data}");
                assert!(data["usage"]["output_tokens"].is_u64(), "{data}");
            }
            "message_start" | "message_stop" | "ping" => {}
            other => panic!("no such event: {other}"),
        }
    }
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == "message_start")
            .count(),
        1
    );
    said
}

#[track_caller]
fn responses(events: &[(&str, &str)]) -> String {
    let (mut said, mut done) = (String::new(), String::new());
    let kinds: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(kinds.first(), Some(&"response.created"), "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"response.completed"), "{kinds:?}");
    let mut items = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let data = json_of(event);
        assert_eq!(data["type"], event.0, "the name is the type");
        assert_eq!(data["sequence_number"], number, "{data}");
        match event.0 {
            "response.output_item.added" => {
                assert_eq!(data["output_index"], items.len(), "{data}");
                items.push(data["item"]["id"].clone());
            }
            "response.output_item.done" => {
                let index = data["output_index"].as_u64().expect("an index");
                let index = usize::try_from(index).expect("a small one");
                assert_eq!(data["item"]["id"], items[index], "{data}");
            }
            "response.output_text.delta" => said.push_str(text(&data["delta"])),
            "response.output_text.done" => done.push_str(text(&data["text"])),
            _ => {}
        }
    }
    assert_eq!(said, done, "the deltas are not the text");
    let last = json_of(events.last().expect("events"));
    assert_eq!(last["response"]["status"], "completed", "{last}");
    let output = last["response"]["output"].as_array().expect("items");
    assert_eq!(output.len(), items.len(), "{last}");
    said
}

fn ask(gateway: &Gateway, caller: Caller, body: &Value, key: &str) -> Answer {
    let request = Request::json(caller.path(), body).with("Idempotency-Key", key);
    let answer = gateway.send(&request);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer
}

/// A request whose answer is `said`; with hints it is held to a schema and checked first.
fn body(caller: Caller, model: &str, said: &str, hints: Option<&Value>, stream: bool) -> Value {
    let script = format!(
        "Go. bardo-script: {}",
        json!({ "steps": [{ "text": said }] })
    );
    let mut body = caller.request(model, &script, stream);
    if let Some(hints) = hints {
        body["bardo"] = hints.clone();
    }
    body
}

#[test]
fn live_checked_and_replayed_streams_have_one_grammar_and_replays_their_bytes() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    let assessment = crate::routing::bound::assessment();
    let risk = json!({ "subsystem": "risk" });
    for caller in Caller::ALL {
        for model in MODELS {
            for (said, hints) in [("Hello, world.", None), (&*assessment, Some(&risk))] {
                let key = |stream: bool| format!("{caller:?}-{model}-{}-{stream}", hints.is_some());
                let place = key(true);
                let streamed = body(caller, model, said, hints, true);
                let live = ask(&gateway, caller, &streamed, &key(true));
                assert_eq!(check(caller, &live.body), said, "{place}");
                let replay = ask(&gateway, caller, &streamed, &key(true));
                assert_eq!(
                    replay.header("idempotent-replayed"),
                    Some("true"),
                    "{place}"
                );
                assert_eq!(replay.text(), live.text(), "{place}");
                assert_eq!(check(caller, &replay.body), said, "{place}");

                let whole = body(caller, model, said, hints, false);
                let live = ask(&gateway, caller, &whole, &key(false));
                assert_eq!(caller.text(&live.json()), said, "{place}");
                let replay = ask(&gateway, caller, &whole, &key(false));
                assert_eq!(
                    replay.header("idempotent-replayed"),
                    Some("true"),
                    "{place}"
                );
                assert_eq!(replay.text(), live.text(), "{place}");
            }
        }
    }
}
