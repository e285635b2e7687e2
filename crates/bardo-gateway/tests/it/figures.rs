//! The figures of a stream behind it, for callers who take trailers.

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use serde_json::json;

use crate::http::{PATIENCE, Request, connect};
use crate::rig::{Gateway, Sandbox, config, direct, everything, with};
use crate::scripted::Scripted;
use crate::sse::Caller;

/// A streamed answer byte by byte, its transfer coding included.
fn raw(gateway: &Gateway, headers: &[(&str, &str)]) -> String {
    let caller = Caller::ALL[0];
    let body = caller.request("openrouter/gpt-5.5", "Hello", true);
    let mut request = Request::json(caller.path(), &body);
    for (name, value) in headers {
        request = request.with(name, value);
    }
    let mut stream = connect(gateway.address);
    let head = request.head(gateway.address);
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&request.body))
        .expect("the gateway reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text to the end");
    answer
}

#[test]
fn final_figures_come_as_trailers_where_the_caller_takes_them() {
    let mut settings = everything(&Sandbox::start());
    settings["providers"]["openrouter"]["price"] =
        json!({ "input_per_million": 1.25, "output_per_million": 10 });
    let gateway = Gateway::start(&settings);
    let answer = raw(&gateway, &[("te", "trailers")]);
    let (head, rest) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("trailer: x-bardo-cost"), "{head}");
    assert!(!head.contains("x-bardo-cost:"), "{head}");
    let (_, trailers) = rest.split_once("\r\n0\r\n").expect("a last chunk");
    let cost = trailers
        .lines()
        .find_map(|line| line.strip_prefix("x-bardo-cost: "))
        .expect(trailers);
    assert!(rest.contains(&format!("\"cost\":\"{cost}\"")), "{rest}");
    let plain = raw(&gateway, &[]);
    assert!(plain.ends_with("\r\n0\r\n\r\n"), "{plain}");
    assert!(!plain.contains("trailer:"), "{plain}");
}

/// The trailers of an answer that was read with its transfer coding.
#[track_caller]
fn trailers(answer: &str) -> Vec<(&str, &str)> {
    let (_, trailers) = answer.split_once("\r\n0\r\n").expect("a last chunk");
    let lines = trailers.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| line.split_once(": ").expect("a name and a value"))
        .collect()
}

#[test]
fn a_keyed_stream_and_its_replay_have_the_same_trailers() {
    let mut settings = everything(&Sandbox::start());
    settings["providers"]["openrouter"]["price"] =
        json!({ "input_per_million": 1.25, "output_per_million": 10 });
    let gateway = Gateway::start(&settings);
    let headers = [("te", "trailers"), ("Idempotency-Key", "k")];
    let first = raw(&gateway, &headers);
    assert!(!first.contains("idempotent-replayed"), "{first}");
    let shown = trailers(&first);
    assert!(
        shown.iter().any(|(name, _)| *name == "x-bardo-cost"),
        "{first}"
    );
    let again = raw(&gateway, &headers);
    assert!(again.contains("idempotent-replayed: true"), "{again}");
    assert_eq!(trailers(&again), shown);
    // A caller who takes none gets none.
    let plain = raw(&gateway, &[("Idempotency-Key", "k")]);
    assert!(plain.contains("idempotent-replayed: true"), "{plain}");
    assert!(!plain.contains("trailer:"), "{plain}");
}

#[test]
fn a_stream_whose_head_came_early_says_behind_it_what_its_head_could_not() {
    let (go, gone_on) = channel::<()>();
    let gone_on = Mutex::new(gone_on);
    let upstream = Scripted::start(move |mut turn| {
        let waits = gone_on.lock().expect("one request at a time");
        let _ = waits.recv_timeout(PATIENCE);
        turn.stream_head();
        let delta = json!({ "role": "assistant", "content": "Hi" });
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": "stop" });
        let chunk = json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice],
            "usage": { "prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4 },
        });
        turn.chunk(format!("data: {chunk}\n\ndata: [DONE]\n\n"));
        turn.end();
    });
    let keys = config(&[direct("openai", &upstream.at("/v1"), &["m"])]);
    let gateway = Gateway::start(&with(keys, "server", json!({ "heartbeat": "100ms" })));
    let caller = Caller::Chat;
    let request =
        Request::json(caller.path(), &caller.request("m", "Hello", true)).with("te", "trailers");
    let mut stream = connect(gateway.address);
    let head = request.head(gateway.address);
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&request.body))
        .expect("the gateway reads");
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while !crate::http::contains(&answer, b": heartbeat") {
        let read = stream.read(&mut piece).expect("the gateway writes");
        assert!(read > 0, "it ended early");
        answer.extend_from_slice(&piece[..read]);
    }
    go.send(()).expect("the provider waits");
    stream.read_to_end(&mut answer).expect("it ends");
    let answer = String::from_utf8(answer).expect("text");
    let (head, _) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(!head.contains("x-bardo-provider:"), "{head}");
    let shown = trailers(&answer);
    let value = |wanted: &str| {
        let found = shown.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    };
    assert_eq!(value("x-bardo-model"), Some("m"), "{answer}");
    assert_eq!(value("x-bardo-provider"), Some("direct/openai"), "{answer}");
}
