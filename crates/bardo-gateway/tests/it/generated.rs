//! A corpus of broken requests: each gets a refusal that its SDK can read, and none hurts.

use serde_json::{Value, json};

use crate::http::Request;
use crate::rig::{Gateway, Sandbox, everything, with};
use crate::sse::Caller;

/// A generator of numbers; the same seed gives the same corpus.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("small")
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())].clone()
    }
}

/// A good request with tools, images and structure, to break.
fn rich(caller: Caller, model: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    match caller {
        Caller::Chat => json!({
            "model": model, "temperature": 0.5, "max_completion_tokens": 100, "stop": ["x"],
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [{ "type": "text", "text": "Hi" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] },
                { "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "c1", "content": "done" },
            ],
            "tools": [{ "type": "function", "function": { "name": "f", "description": "d", "parameters": schema } }],
            "tool_choice": "auto", "response_format": { "type": "text" },
        }),
        Caller::Anthropic => json!({
            "model": model, "max_tokens": 100, "system": [{ "type": "text", "text": "Be brief." }], "stop_sequences": ["x"],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Hi" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }] },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "f", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "done" }] },
            ],
            "tools": [{ "name": "f", "description": "d", "input_schema": schema }], "tool_choice": { "type": "auto" },
        }),
        Caller::Responses => json!({
            "model": model, "max_output_tokens": 100, "instructions": "Be brief.", "store": false,
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Hi" }, { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] },
                { "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": "done" },
            ],
            "tools": [{ "type": "function", "name": "f", "description": "d", "parameters": schema, "strict": false }],
            "tool_choice": "auto",
        }),
    }
}

/// Every place in a value, as a pointer.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut descend = |key: &str, inner: &Value| {
        let place = format!("{at}/{key}");
        all.push(place.clone());
        places(inner, &place, all);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, inner)| descend(key, inner)),
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                descend(&index.to_string(), inner);
            }
        }
        _ => {}
    }
}

fn broken(dice: &mut Dice, mut body: Value) -> Vec<u8> {
    let mut all = Vec::new();
    places(&body, "", &mut all);
    let junk = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e308),
        json!(""),
        json!("\u{0}\u{feff}"),
        json!([]),
        json!({}),
        json!([[[[[]]]]]),
        json!({ "type": "nonsense" }),
        json!("x".repeat(3000)),
    ];
    for _ in 0..=dice.roll(3) {
        let place = dice.pick(&all);
        let value = dice.pick(&junk);
        if let Some(spot) = body.pointer_mut(&place) {
            *spot = value;
        }
    }
    let mut bytes = body.to_string().into_bytes();
    match dice.roll(8) {
        0 => bytes.truncate(dice.roll(bytes.len())),
        1 => {
            let at = dice.roll(bytes.len());
            bytes[at] = dice.pick(&[0, 0xff, b'{', b'"', b'\\', 0xc3]);
        }
        2 => {
            let at = dice.roll(bytes.len());
            let again = bytes[..at].to_vec();
            bytes.extend(again);
        }
        _ => {}
    }
    bytes
}

#[test]
fn two_hundred_broken_requests() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&with(
        everything(&sandbox),
        "server",
        json!({ "max_body": "64KiB" }),
    ));
    let mut dice = Dice(0x5eed_cafe_f00d_0001);
    let models = [
        "gpt-5.5",
        "claude-sonnet-5-5",
        "gemini-3-flash",
        "deepseek-v4-flash",
        "local-x",
    ];
    let (mut refused, mut taken) = (0, 0);
    while refused < 200 {
        let caller = dice.pick(&Caller::ALL);
        let model = dice.pick(&models);
        let mut body = rich(caller, model);
        body["stream"] = dice.pick(&[json!(false), json!(true)]);
        let bytes = broken(&mut dice, body);
        let request = Request::post(caller.path(), bytes.clone());
        let answer = gateway.send(&request);
        let what = || {
            format!(
                "{caller:?} {}\n{}",
                String::from_utf8_lossy(&bytes),
                answer.text()
            )
        };
        // Some breaks are none: the rest of the request is good enough.
        if answer.status() == 200 {
            taken += 1;
            assert!(taken < 400, "most requests are broken");
            continue;
        }
        refused += 1;
        assert!(
            (400..500).contains(&answer.status()),
            "{} {}",
            answer.status(),
            what()
        );
        let body: Value =
            serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{}", what()));
        caller.check_error(&body);
        assert!(answer.complete, "{}", what());
    }
    let health = gateway.send(&Request::get("/health/ready"));
    assert_eq!(health.json()["status"], "ok");
    assert!(!gateway.log().contains("panicked"), "{}", gateway.log());
}
