use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::world::{World, chat};

const CHAT: &str = "/openai/v1/chat/completions";

#[tokio::test]
async fn a_status_comes_in_the_services_shape_and_only_as_often_as_asked() {
    let world = World::start().await;
    world
        .queue(
            "openai",
            json!({ "kind": "status", "status": 429, "retry_after": 2 }),
        )
        .await;
    let refused = world.post(CHAT, &chat(false)).await;
    assert_eq!(refused.status, 429);
    assert!(refused.head.contains("retry-after: 2"));
    assert_eq!(refused.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(world.post(CHAT, &chat(false)).await.status, 200);
    world.stop().await;
}

#[tokio::test]
async fn cuts_lose_the_end_and_nothing_before() {
    let world = World::start().await;
    let clean = world.post(CHAT, &chat(true)).await;
    world
        .queue("openai", json!({ "kind": "cut_after", "events": 3 }))
        .await;
    let cut = world.post(CHAT, &chat(true)).await;
    assert!(!cut.complete);
    assert_eq!(cut.text().matches("data: ").count(), 3);
    assert!(clean.body.starts_with(&cut.body));
    world
        .queue("openai", json!({ "kind": "cut_at_byte", "n": 100 }))
        .await;
    let cut = world.post(CHAT, &chat(true)).await;
    assert_eq!((cut.complete, cut.body.len()), (false, 100));
    world
        .queue("openai", json!({ "kind": "cut_at_byte", "n": 10 }))
        .await;
    let whole = world.post(CHAT, &chat(false)).await;
    assert_eq!((whole.complete, whole.body.len()), (false, 10));
    assert_eq!(world.last_closed().await["outcome"], "fault");
    world.stop().await;
}

#[tokio::test]
async fn a_clean_end_without_a_terminal_is_complete_http() {
    let world = World::start().await;
    world
        .queue("openai", json!({ "kind": "eof_after", "events": 2 }))
        .await;
    let ended = world.post(CHAT, &chat(true)).await;
    assert!(ended.complete);
    assert!(!ended.text().contains("[DONE]"));
    world.stop().await;
}

#[tokio::test]
async fn split_writes_change_no_byte() {
    let world = World::start().await;
    let clean = world.post(CHAT, &chat(true)).await;
    for n in [1, 7] {
        world
            .queue("openai", json!({ "kind": "split_bytes", "n": n }))
            .await;
        assert_eq!(world.post(CHAT, &chat(true)).await.body, clean.body);
    }
    world.stop().await;
}

#[tokio::test]
async fn a_reset_answers_nothing() {
    let world = World::start().await;
    world
        .queue("openai", json!({ "kind": "reset_on_connect" }))
        .await;
    assert_eq!(world.post(CHAT, &chat(false)).await.status, 0);
    assert_eq!(world.last_closed().await["outcome"], "fault");
    world.stop().await;
}

#[tokio::test]
async fn a_stalled_stream_stays_open_until_the_client_leaves() {
    let world = World::start().await;
    world
        .queue("openai", json!({ "kind": "stall_after", "events": 2 }))
        .await;
    let mut stream = world.connect("POST", CHAT, &chat(true).to_string()).await;
    let mut seen = Vec::new();
    while String::from_utf8_lossy(&seen).matches("data: ").count() < 2 {
        assert!(
            stream.read_buf(&mut seen).await.expect("open") > 0,
            "closed too early"
        );
    }
    assert!(world.entries().await[0]["outcome"].is_null());
    drop(stream);
    let entry = world.last_closed().await;
    assert_eq!(
        (&entry["outcome"], &entry["events_sent"]),
        (&json!("client_closed"), &json!(2))
    );
    world.stop().await;
}

#[tokio::test]
async fn pings_alone_go_on_and_on() {
    let world = World::start().await;
    let body = json!({ "model": "claude-opus-4-8", "max_tokens": 100, "stream": true,
        "messages": [{ "role": "user", "content": "x" }] });
    world
        .queue("anthropic", json!({ "kind": "pings_only", "every_ms": 1 }))
        .await;
    let mut stream = world
        .connect("POST", "/anthropic/v1/messages", &body.to_string())
        .await;
    let mut seen = Vec::new();
    while String::from_utf8_lossy(&seen)
        .matches("event: ping")
        .count()
        < 5
    {
        assert!(
            stream.read_buf(&mut seen).await.expect("open") > 0,
            "closed too early"
        );
    }
    assert!(!String::from_utf8_lossy(&seen).contains("message_start"));
    world.stop().await;
}

#[tokio::test]
async fn bodies_can_be_wrong_in_every_way() {
    let world = World::start().await;
    let ask = async |fault: serde_json::Value, stream: bool| {
        world.queue("openai", fault).await;
        world.post(CHAT, &chat(stream)).await
    };
    let empty = ask(json!({ "kind": "empty_body" }), false).await;
    assert_eq!((empty.status, empty.body.len()), (200, 0));
    let html = ask(json!({ "kind": "html_body" }), false).await;
    assert_eq!(html.status, 502);
    assert!(html.head.contains("text/html") && html.text().contains("Bad Gateway"));
    let wrong = ask(json!({ "kind": "wrong_content_type" }), true).await;
    assert!(wrong.head.contains("content-type: text/plain"));
    let error = ask(json!({ "kind": "error_in_200" }), false).await;
    assert_eq!(
        (error.status, error.json()["error"].is_object()),
        (200, true)
    );
    let streamed = ask(json!({ "kind": "error_event_after", "events": 2 }), true).await;
    assert!(streamed.text().contains("\"error\"") && !streamed.text().contains("[DONE]"));
    let gzip = ask(json!({ "kind": "gzip_unasked" }), false).await;
    assert!(gzip.head.contains("content-encoding: gzip"));
    assert_eq!(gzip.body[..2], [0x1f, 0x8b]);
    let moved = ask(
        json!({ "kind": "redirect", "location": "http://127.0.0.1:1/" }),
        false,
    )
    .await;
    assert_eq!(moved.status, 307);
    assert!(moved.head.contains("location: http://127.0.0.1:1/"));
    world.stop().await;
}

#[tokio::test]
async fn a_script_can_ask_for_a_fault() {
    let world = World::start().await;
    let script =
        r#"bardo-script: {"steps":[{"fault":{"kind":"status","status":503}},{"text":"fine"}]}"#;
    let mut body = chat(false);
    body["messages"][0]["content"] = json!(script);
    assert_eq!(world.post(CHAT, &body).await.status, 503);
    world.stop().await;
}
