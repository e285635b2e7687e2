use serde_json::json;

use crate::world::{World, chat};

#[tokio::test]
async fn requests_are_kept_byte_exact() {
    let world = World::start().await;
    world
        .post("/openai/v1/chat/completions?beta=true", &chat(true))
        .await;
    let entry = world.last_closed().await;
    assert_eq!(entry["service"], "openai");
    assert_eq!(entry["path"], "/openai/v1/chat/completions");
    assert_eq!(entry["query"], "beta=true");
    assert_eq!(entry["body"], chat(true).to_string());
    assert_eq!(
        (&entry["status"], &entry["outcome"]),
        (&json!(200), &json!("finished"))
    );
    assert!(entry["events_sent"].as_u64() > Some(3));
    assert!(entry["closed_ms"].as_u64() >= entry["received_ms"].as_u64());
    let headers = entry["headers"].as_array().expect("headers");
    assert!(headers.contains(&json!(["authorization", "Bearer sk-test"])));
    world.stop().await;
}

#[tokio::test]
async fn a_body_that_is_no_text_is_kept_as_base64() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let world = World::start().await;
    let mut stream = tokio::net::TcpStream::connect(world.addr)
        .await
        .expect("listening");
    let head = b"POST /openai/v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\n\r\n\xff\x00\x01";
    stream.write_all(head).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("answered");
    let entry = world.last_closed().await;
    assert_eq!(
        (&entry["body"], &entry["body_base64"]),
        (&json!(null), &json!("/wAB"))
    );
    assert_eq!(entry["status"], 401);
    world.stop().await;
}

#[tokio::test]
async fn the_journal_can_be_read_from_a_place_and_cleared() {
    let world = World::start().await;
    for _ in 0..3 {
        world.get("/openai/v1/models").await;
    }
    let later = world.get("/_sandbox/journal?since=2").await.json();
    assert_eq!(later["entries"].as_array().map(Vec::len), Some(1));
    assert_eq!(later["entries"][0]["seq"], 3);
    world.get("/openai/v1/models").await;
    assert_eq!(world.entries().await.len(), 4);
    world.post("/_sandbox/reset", &json!({})).await;
    assert!(world.entries().await.is_empty());
    world.get("/openai/v1/models").await;
    assert_eq!(world.entries().await[0]["seq"], 5);
    world.stop().await;
}
