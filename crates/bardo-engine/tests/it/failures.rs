//! Answers that break off.

use bardo_types::model::Dialect;
use serde_json::json;

use crate::world::{Bench, prompt, script};

const CALLERS: [Dialect; 3] = [Dialect::Chat, Dialect::Responses, Dialect::Anthropic];
const MODELS: [&str; 5] = [
    "gpt-5.5",
    "gpt-6-sol",
    "claude-sonnet-5-5",
    "gemini-3-flash",
    "deepseek-v4-pro",
];

/// What only a complete answer has, and what a failed one must have.
fn marks(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Responses => ("response.completed", "response.failed"),
        Dialect::Anthropic => ("message_stop", "event: error"),
        _ => ("[DONE]", "\"error\""),
    }
}

#[tokio::test]
async fn an_answer_that_ends_without_its_end_is_shown_as_failed() {
    let bench = Bench::start();
    let long = "One sentence after another keeps the stream going. ".repeat(4);
    let ends = [
        json!({ "kind": "eof_after", "events": 6 }),
        json!({ "kind": "cut_after", "events": 6 }),
    ];
    for dialect in CALLERS {
        let (complete, failed) = marks(dialect);
        for model in MODELS {
            for end in &ends {
                let steps = json!([{ "text": long, "fault": end }]);
                let mut body = prompt(dialect, model, &script(steps));
                body["stream"] = json!(true);
                let place = format!("{dialect:?} {model} {end}");
                let read = bench.ask(dialect, &body).await.expect(&place);
                assert!(!read.text.contains(complete), "{place}: {}", read.text);
                // A relayed error event of the Responses dialect is plain.
                let told = read.text.contains(failed) || read.text.contains("event: error");
                assert!(told, "{place}: {}", read.text);
            }
        }
    }
}

/// A relayed Responses stream that breaks off is ended as the answer that it began as.
#[tokio::test]
async fn the_end_of_a_broken_relay_belongs_to_its_answer() {
    let bench = Bench::start();
    let long = "One sentence after another keeps the stream going. ".repeat(4);
    for kind in ["eof_after", "cut_after", "error_event_after"] {
        let end = json!({ "kind": kind, "events": 8 });
        let steps = json!([{ "text": long, "fault": end }]);
        let mut body = prompt(Dialect::Responses, "gpt-6-sol", &script(steps));
        body["stream"] = json!(true);
        let read = bench.ask(Dialect::Responses, &body).await.expect(kind);
        let events: Vec<serde_json::Value> = read
            .text
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect();
        let (begun, last) = (&events[0]["response"], &events[events.len() - 1]);
        assert_eq!(last["type"], "response.failed", "{kind}: {}", read.text);
        for member in ["id", "created_at", "model"] {
            assert_eq!(last["response"][member], begun[member], "{kind} {member}");
        }
        let numbers: Vec<u64> = events
            .iter()
            .filter_map(|event| event["sequence_number"].as_u64())
            .collect();
        let counted: Vec<u64> = (0..).take(events.len()).collect();
        assert_eq!(numbers, counted, "{kind}");
    }
}
