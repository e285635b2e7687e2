//! The embedding model in the program, through the endpoint of OpenAI.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::rig::{Gateway, Sandbox, makers};
use crate::sse::Caller;

const MODEL: &str = "local/all-MiniLM-L6-v2";

fn ask(gateway: &Gateway, body: &Value) -> Answer {
    gateway.send(&Request::json("/v1/embeddings", body))
}

#[track_caller]
fn vectors(answer: &Answer) -> Vec<Vec<f64>> {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["object"], "list");
    assert_eq!(body["model"], MODEL);
    let rows = body["data"].as_array().expect("rows").iter().enumerate();
    rows.map(|(index, row)| {
        assert_eq!(row["object"], "embedding");
        assert_eq!(row["index"], index);
        let values = row["embedding"].as_array().expect("numbers").iter();
        values
            .map(|value| value.as_f64().expect("a number"))
            .collect()
    })
    .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_model_in_the_program_serves_vectors_for_nothing_and_calls_no_provider() {
    let sandbox = Sandbox::start();
    let gateway = Gateway::start(&makers(&sandbox));
    sandbox.reset();
    let texts = [
        "How do I reset my password?",
        "I forgot my password, how can I change it?",
        "What is the capital of France?",
    ];
    let answer = ask(&gateway, &json!({ "model": MODEL, "input": texts }));
    let floats = vectors(&answer);
    assert_eq!(floats.len(), 3);
    for vector in &floats {
        assert_eq!(vector.len(), 384);
        assert!((dot(vector, vector) - 1.0).abs() < 1e-4);
    }
    assert!(dot(&floats[0], &floats[1]) > 0.6);
    assert!(dot(&floats[0], &floats[2]) < 0.3);
    assert_eq!(answer.header("x-bardo-provider"), Some("built-in"));
    assert_eq!(answer.header("x-bardo-cost"), Some("0.000000"));
    let tokens = answer.json()["usage"]["prompt_tokens"].clone();
    assert!(tokens.as_u64() > Some(20), "{tokens}");
    assert_eq!(answer.json()["usage"]["total_tokens"], tokens);
    let id = answer.header("x-request-id").expect("an id");
    let receipt = gateway
        .send(&Request::get(&format!("/v1/receipts/{id}")))
        .json();
    assert_eq!(receipt["cost"]["charge"], "0.000000", "{receipt}");
    // No cache of prompts had a part in it.
    let prompts = Request::get("/admin/cache").send(gateway.admin).json()["prompt_caches"].clone();
    assert_eq!(prompts["prompt_tokens"], 0, "{prompts}");
    assert_eq!(prompts["backends"], json!([]), "{prompts}");

    let body = json!({ "model": MODEL, "input": texts[0], "encoding_format": "base64" });
    let packed = ask(&gateway, &body).json();
    let text = packed["data"][0]["embedding"].as_str().expect("base64");
    let bytes = STANDARD.decode(text).expect("base64");
    let unpacked: Vec<f64> = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().expect("four")).into())
        .collect();
    assert_eq!(unpacked.len(), 384);
    assert!(dot(&unpacked, &floats[0]) > 0.9999);
    assert_eq!(sandbox.journal(), [json!(null); 0]);
}

#[test]
fn the_model_in_the_program_is_listed_and_makes_no_answers() {
    let gateway = Gateway::start(&makers(&Sandbox::start()));
    let list = gateway.send(&Request::get("/v1/models")).json();
    let rows = list["data"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["id"] == MODEL), "{list}");
    let one = gateway.send(&Request::get(&format!("/v1/models/{MODEL}")));
    assert_eq!(one.json()["owned_by"], "sentence-transformers");
    let body = Caller::Chat.request(MODEL, "Hello", false);
    let answer = gateway.send(&Request::json(Caller::Chat.path(), &body));
    assert_eq!(answer.status(), 400, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["bardo_code"], "operation_unavailable", "{error}");
}

#[test]
fn what_the_model_in_the_program_cannot_do_is_refused_in_words() {
    let gateway = Gateway::start(&makers(&Sandbox::start()));
    let long = "word ".repeat(600);
    let huge = "word ".repeat(20_000);
    for (input, extra, part) in [
        (json!(["short", huge]), json!({}), "at most 65536 bytes"),
        (json!([[1, 2]]), json!({}), "token ids"),
        (json!([]), json!({}), "1 to 256 texts"),
        (json!(["x", ""]), json!({}), "text 1 of `input`"),
        (json!("x"), json!({ "dimensions": 256 }), "384 numbers only"),
        (
            json!("x"),
            json!({ "encoding_format": "hex" }),
            "float or base64",
        ),
        (json!(["short", long]), json!({}), "text 1 of `input`"),
    ] {
        let mut body = extra;
        body["model"] = json!(MODEL);
        body["input"] = input;
        let answer = ask(&gateway, &body);
        assert_eq!(answer.status(), 400, "{}", answer.text());
        let told = answer.json();
        Caller::Chat.check_error(&told);
        let message = told["error"]["message"].as_str().expect("words");
        assert!(message.contains(part), "{message}");
        assert_eq!(told["error"]["bardo_code"], "invalid_request", "{message}");
    }
    // The requests are at fault, and no provider.
    let metrics = Request::get("/metrics").send(gateway.admin).text();
    let failed = "bardo_attempts_failed_total{provider=\"built-in\"";
    assert!(!metrics.contains(failed), "{metrics}");
    let refused = "bardo_refused_requests_total{code=\"invalid_request\"} 7";
    assert!(metrics.contains(refused), "{metrics}");
}
