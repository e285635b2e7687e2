use serde_json::{Value, json};

use crate::world::{World, chat};

#[tokio::test]
async fn every_service_answers_under_its_prefix() {
    let world = World::start().await;
    let with_model = |model: &str| {
        let mut body = chat(false);
        body["model"] = json!(model);
        body
    };
    for (path, model) in [
        ("/openai/v1/chat/completions", "gpt-5.5"),
        ("/deepseek/chat/completions", "deepseek-v4-pro"),
        ("/openrouter/api/v1/chat/completions", "openai/gpt-5.5"),
        ("/venice/api/v1/chat/completions", "kimi-k3"),
        ("/bankr/v1/chat/completions", "claude-sonnet-4.6"),
        (
            "/blockrun/api/v1/chat/completions",
            "nvidia/llama-3.2-11b-vision",
        ),
        ("/local/v1/chat/completions", "llama3.2"),
    ] {
        let answer = world.post(path, &with_model(model)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let text = answer.json()["choices"][0]["message"]["content"].clone();
        assert!(
            text.as_str()
                .expect("text")
                .contains("Sandbox answer from "),
            "{path}"
        );
    }
    for path in [
        "/openai/v1/models",
        "/openrouter/api/v1/models",
        "/venice/api/v1/models",
        "/bankr/v1/models",
        "/blockrun/api/v1/models",
        "/local/v1/models",
        "/deepseek/models",
        "/facilitator/supported",
        "/anthropic/v1/models",
        "/google/v1beta/models",
    ] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    assert_eq!(world.get("/nobody/v1/models").await.status, 404);
    world.stop().await;
}

#[tokio::test]
async fn resold_messages_speak_anthropic() {
    let world = World::start().await;
    for (path, model) in [
        ("/openrouter/api/v1/messages", "anthropic/claude-opus-5.5"),
        ("/bankr/v1/messages", "claude-sonnet-4.6"),
    ] {
        let body = json!({ "model": model, "max_tokens": 200,
            "messages": [{ "role": "user", "content": "hello there" }] });
        let answer = world.post(path, &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.json()["type"], "message");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_stream_is_chunked_and_ends_with_its_marker() {
    let world = World::start().await;
    let answer = world.post("/openai/v1/chat/completions", &chat(true)).await;
    assert!(answer.complete);
    assert!(answer.head.contains("content-type: text/event-stream"));
    assert!(answer.text().ends_with("data: [DONE]\n\n"));
    let body = json!({ "model": "gpt-6-sol", "input": "hello", "stream": true });
    let responses = world.post("/openai/v1/responses", &body).await;
    assert!(responses.text().contains("event: response.completed\n"));
    world.stop().await;
}

#[tokio::test]
async fn the_same_seed_repeats_the_same_bytes() {
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let world = World::start().await;
        bodies.push(
            world
                .post("/openai/v1/chat/completions", &chat(true))
                .await
                .body,
        );
        world.stop().await;
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn the_control_surface_explains_itself() {
    let world = World::start().await;
    let health = world.get("/_sandbox/health").await.json();
    assert_eq!(health["status"], "ok");
    for body in [
        json!({ "service": "nobody", "fault": { "kind": "crlf" } }),
        json!({ "service": "openai", "fault": { "kind": "explode" } }),
        json!({ "service": "openai" }),
        Value::Null,
    ] {
        assert_eq!(
            world.post("/_sandbox/faults", &body).await.status,
            400,
            "{body}"
        );
    }
    world.stop().await;
}
