//! Answers that are held to a schema, where one that misses it does harm.

use bardo_engine::EngineError;
use bardo_ledger::Receipts as _;
use bardo_types::model::Dialect;
use bardo_types::receipt::{Outcome, Receipt};
use serde_json::{Value, json};

use crate::purse::{Purse, charge};
use crate::world::{Read, prompt, script};

const CALLERS: [Dialect; 3] = [Dialect::Chat, Dialect::Responses, Dialect::Anthropic];
/// One of each provider's dialects, so that every caller is relayed once and translated twice.
const MODELS: [&str; 4] = [
    "gpt-5.5",
    "gpt-6-sol",
    "claude-sonnet-5-5",
    "gemini-3-flash",
];
const BROKEN: &str = "Swap all of it, and quickly.";

/// An answer that keeps the schema of `risk`.
pub(crate) fn assessment() -> String {
    let layer = json!({ "score": 0.2, "finding": "calm", "evidence": [] });
    let layers = [
        "market",
        "protocol",
        "counterparty",
        "execution",
        "portfolio",
    ];
    let layers: serde_json::Map<String, Value> = layers
        .iter()
        .map(|name| ((*name).to_owned(), layer.clone()))
        .collect();
    json!({
        "layers": layers, "overall": 0.2, "recommendation": "Defer", "size_factor": 0.5,
        "conditions": [], "rationale": "wait", "confidence": 0.9, "sources": [],
    })
    .to_string()
}

/// A question of the risk check to a model that answers with these texts, one after the other.
fn risk(dialect: Dialect, model: &str, texts: &[&str], stream: bool) -> Value {
    let steps: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
    let mut body = prompt(dialect, model, &script(Value::Array(steps)));
    body["bardo"] = json!({ "subsystem": "risk" });
    body["stream"] = json!(stream);
    body
}

/// The words of an answer in a caller's dialect.
fn words(dialect: Dialect, read: &Read, stream: bool) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !stream {
        let answer = read.json();
        return match dialect {
            Dialect::Anthropic => of_list(&answer["content"], "text"),
            Dialect::Responses => answer["output"]
                .as_array()
                .expect("items")
                .iter()
                .map(|item| of_list(&item["content"], "text"))
                .collect(),
            _ => text(&answer["choices"][0]["message"]["content"]),
        };
    }
    let data = read
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    events
        .map(|event| match dialect {
            Dialect::Anthropic => text(&event["delta"]["text"]),
            Dialect::Responses if event["type"] == "response.output_text.delta" => {
                text(&event["delta"])
            }
            Dialect::Responses => String::new(),
            _ => text(&event["choices"][0]["delta"]["content"]),
        })
        .collect()
}

fn of_list(list: &Value, member: &str) -> String {
    let parts = list.as_array().into_iter().flatten();
    parts.filter_map(|part| part[member].as_str()).collect()
}

#[track_caller]
fn outcome(receipt: &Receipt) -> (Option<bool>, bool) {
    let routing = receipt.routing.as_ref().expect("it was routed");
    let schema = routing.schema.as_ref().expect("a schema was checked");
    (schema.valid, schema.repaired)
}

/// Every way in which an answer gets to a caller.
fn ways() -> impl Iterator<Item = (Dialect, &'static str, bool)> {
    let pairs = CALLERS
        .iter()
        .flat_map(|caller| MODELS.map(|model| (*caller, model)));
    pairs.flat_map(|(caller, model)| [(caller, model, false), (caller, model, true)])
}

#[tokio::test]
async fn an_answer_that_keeps_its_schema_is_handed_over_as_it_would_have_come() {
    let good = assessment();
    for (caller, model, stream) in ways() {
        let place = format!("{caller:?} {model} {stream}");
        let purse = Purse::with("100").await;
        let read = purse
            .ask(caller, &risk(caller, model, &[&good], stream))
            .await
            .expect(&place);
        assert_eq!(words(caller, &read, stream), good, "{place}: {}", read.text);
        let receipt = purse.receipt().await;
        assert_eq!(outcome(&receipt), (Some(true), false), "{place}");
        assert_eq!(receipt.outcome, Outcome::Finished, "{place}");
        assert_eq!(receipt.attempts.len(), 1, "{place}");
        let usage = receipt.usage.expect("the provider counts");
        assert!(!receipt.estimated, "{place}");
        let spent = purse.balance().await.spent;
        assert_eq!(spent, charge(usage.prompt(), usage.output), "{place}");
    }
}

#[tokio::test]
async fn nothing_of_an_answer_that_misses_its_schema_gets_out_and_the_mended_one_does() {
    let good = assessment();
    for (caller, model, stream) in ways() {
        let place = format!("{caller:?} {model} {stream}");
        let purse = Purse::with("100").await;
        let read = purse
            .ask(caller, &risk(caller, model, &[BROKEN, &good], stream))
            .await
            .expect(&place);
        assert_eq!(words(caller, &read, stream), good, "{place}: {}", read.text);
        assert!(!read.text.contains("quickly"), "{place}: {}", read.text);
        let receipt = purse.receipt().await;
        assert_eq!(outcome(&receipt), (Some(true), true), "{place}");
        assert_eq!(receipt.attempts.len(), 2, "{place}");
        // Both tries are paid for.
        let usage = receipt.usage.expect("the provider counts");
        let spent = purse.balance().await.spent;
        assert_eq!(spent, charge(usage.prompt(), usage.output), "{place}");
        let sent = purse.bench.received().await;
        assert_eq!(sent.len(), 2, "{place}");
        assert!(usage.output as usize > good.len() / 8, "{place}: {usage:?}");
    }
}

#[tokio::test]
async fn an_answer_that_misses_its_schema_twice_is_an_error_that_is_paid_for() {
    for (caller, model, stream) in ways() {
        let place = format!("{caller:?} {model} {stream}");
        let purse = Purse::with("100").await;
        let begun = purse
            .begin(caller, &risk(caller, model, &[BROKEN, BROKEN], stream))
            .await;
        let Err(EngineError::SchemaViolated {
            schema,
            tries,
            errors,
        }) = begun
        else {
            panic!("{place}: it was answered, or failed otherwise");
        };
        assert_eq!((schema.as_str(), tries), ("risk_assessment", 2), "{place}");
        assert!(!errors.is_empty() && errors.len() <= 3, "{place}");
        let receipt = purse.receipt().await;
        assert_eq!(outcome(&receipt), (Some(false), true), "{place}");
        assert_eq!(receipt.outcome, Outcome::Failed, "{place}");
        assert_eq!(receipt.attempts.len(), 2, "{place}");
        let usage = receipt.usage.expect("the provider counts");
        assert!(usage.output > 0, "{place}");
        let balance = purse.balance().await;
        let due = charge(usage.prompt(), usage.output);
        assert_eq!(balance.spent, due, "{place}");
        let id = receipt.request_id.as_str();
        let kept = purse
            .books
            .inner
            .receipt(&purse.account, id)
            .await
            .expect("books");
        let kept: Value = serde_json::from_str(&kept.expect("a receipt")).expect("JSON");
        assert_eq!(kept["routing"]["schema"]["valid"], false, "{kept}");
        assert_eq!(kept["cost"]["charge"], due.to_string(), "{kept}");
    }
}

#[tokio::test]
async fn json_is_not_picked_out_of_words_where_a_mistake_does_harm() {
    let good = assessment();
    let wordy = format!("Here it is: {good}. Act on it!");
    for stream in [false, true] {
        let purse = Purse::with("100").await;
        let body = risk(
            Dialect::Chat,
            "claude-sonnet-5-5",
            &[&wordy, &wordy],
            stream,
        );
        let refused = purse.begin(Dialect::Chat, &body).await.err();
        let refused = refused.expect("words around an answer are no answer");
        assert!(
            matches!(refused, EngineError::SchemaViolated { .. }),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_caller_who_leaves_a_checked_answer_half_read_pays_for_all_of_it() {
    let good = assessment();
    for model in MODELS {
        let purse = Purse::with("100").await;
        let body = risk(Dialect::Chat, model, &[&good], true);
        let answer = purse.begin(Dialect::Chat, &body).await.expect("an answer");
        drop(answer);
        let receipt = purse.receipt().await;
        assert_eq!(receipt.outcome, Outcome::Aborted, "{model}");
        assert!(!receipt.estimated, "{model}");
        let usage = receipt.usage.expect("the provider counted");
        let spent = purse.balance().await.spent;
        assert_eq!(spent, charge(usage.prompt(), usage.output), "{model}");
    }
}

#[tokio::test]
async fn other_streams_are_handed_on_as_they_come_and_checked_at_their_end() {
    let purse = Purse::with("100").await;
    let mut body = risk(Dialect::Chat, "gemini-3-flash", &[BROKEN], true);
    body["bardo"] = json!({ "subsystem": "curator" });
    let read = purse.ask(Dialect::Chat, &body).await.expect("an answer");
    assert!(read.text.contains("quickly"), "{}", read.text);
    let receipt = purse.receipt().await;
    assert_eq!(outcome(&receipt), (Some(false), false));
    assert_eq!(receipt.attempts.len(), 1);
}
