//! Keys and prompts appear in nothing that the gateway writes, at the most talkative level.

use std::path::Path;

use serde_json::json;

use crate::http::{Request, contains};
use crate::money::shop::{Shop, answer, billed};
use crate::scripted::Scripted;

const PROVIDER_KEY: &str = "sk-canary-provider-4b1dfeed";
const PROMPT: &str = "canary-prompt-9c4fe1 about my secret plans";
const SAID: &str = "canary-answer-77ab02";

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

#[test]
fn keys_and_prompts_are_written_nowhere() {
    let upstream = Scripted::start(|mut turn| {
        let text = turn.got.text().to_owned();
        if text.contains("fail") {
            // Some providers repeat what they were sent.
            let said = format!("Incorrect API key provided: {PROVIDER_KEY}. You said: {text}");
            let error =
                json!({ "error": { "message": said, "type": "x", "code": "invalid_api_key" } });
            turn.answer(401, "application/json", &error.to_string());
        } else if text.contains("break") {
            turn.stream_head();
            turn.chunk(format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{SAID}\"}}}}]}}\n\n"
            ));
            turn.chunk(format!(
                "data: {{\"error\":{{\"message\":\"{PROVIDER_KEY} failed\"}}}}\n\n"
            ));
            turn.end();
        } else {
            answer(&mut turn);
        }
    });
    let price = json!({ "input_per_million": 2, "output_per_million": 10 });
    let mut config = billed(&upstream.at("/v1"), &price);
    config["providers"]["direct"]["keys"][0]["api_key"] = json!(PROVIDER_KEY);
    let shop = Shop::with(config);
    let key = shop.key("10");
    let secret = key
        .key
        .rsplit('_')
        .next()
        .expect("a secret part")
        .to_owned();
    let mut gateway = shop.open(&[("RUST_LOG", "trace")]);
    let mut seen = Vec::new();
    for (extra, stream) in [
        ("", false),
        ("", true),
        ("fail", false),
        ("fail", true),
        ("break", true),
    ] {
        let body = json!({ "model": "m", "stream": stream, "max_tokens": 50, "user": PROMPT,
            "messages": [{ "role": "user", "content": format!("{PROMPT} {extra}") }] });
        for request in [
            Request::json("/v1/chat/completions", &body),
            Request::json("/v1/messages", &body),
        ] {
            let answer =
                gateway.send(&request.with("authorization", &format!("Bearer {}", key.key)));
            if answer.status() != 200 {
                seen.push(("an error".to_owned(), answer.body.clone()));
            }
            if let Some(id) = answer.header("x-request-id") {
                let receipt =
                    Request::get(&format!("/v1/receipts/{id}")).with("x-api-key", &key.key);
                seen.push(("a receipt".to_owned(), gateway.send(&receipt).body));
            }
        }
    }
    // Wrong in one character, so it is somebody else's; and one that was never one.
    for wrong in [format!("{}x", key.key), format!("bardo_sk_{secret}")] {
        let refused = Request::get("/v1/balance").with("x-api-key", &wrong);
        seen.push(("a refusal".to_owned(), gateway.send(&refused).body));
    }
    for path in ["/metrics", "/status"] {
        seen.push((path.to_owned(), Request::get(path).send(gateway.admin).body));
    }
    gateway.signal("TERM");
    gateway.wait();
    let mut written = Vec::new();
    files(&shop.data().0, &mut written);
    assert!(!written.is_empty(), "the books are somewhere");
    written.push(gateway.folder.0.join("log"));
    for path in written {
        seen.push((
            path.display().to_string(),
            std::fs::read(&path).expect("a file"),
        ));
    }
    for (place, bytes) in &seen {
        for canary in [PROVIDER_KEY, "canary-prompt", SAID, &secret] {
            assert!(!contains(bytes, canary.as_bytes()), "{canary} in {place}");
        }
    }
}
