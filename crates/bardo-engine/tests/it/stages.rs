//! Stores of answers, screens and preparers around the plan.

use std::sync::Arc;

use bardo_access::BoxFuture;
use bardo_engine::{
    AnswerStore, Asked, EngineError, Preparer, Principal, Prompt, Screen, ScreenRefusal, Snapshot,
    Stages, StoredAnswer, StoredBody, Stores,
};
use bardo_types::chat::{ChatRequest, Finish, Part, StreamEvent};
use bardo_types::model::Dialect;
use bardo_types::money::MicroUsd;
use bardo_types::receipt::Outcome;
use bardo_types::usage::Usage;
use serde_json::json;

use crate::purse::Purse;

use crate::world::{Bench, prompt, world};

/// Refuses requests that hold a word.
struct Refuses(&'static str);

impl Screen for Refuses {
    fn covers(&self, _principal: &Principal) -> bool {
        true
    }

    fn check<'a>(&'a self, prompt: Prompt<'a>) -> BoxFuture<'a, Result<(), ScreenRefusal>> {
        let mut parts = prompt.request.messages.iter().flat_map(|one| &one.parts);
        let holds = |part: &Part| matches!(part, Part::Text(text) if text.text.contains(self.0));
        let refused = parts.any(holds).then(|| ScreenRefusal {
            param: "messages".to_owned(),
            message: "the request holds a refused word; leave it out".to_owned(),
        });
        Box::pin(async { refused.map_or(Ok(()), Err) })
    }
}

/// Puts a word in the place of another.
struct Replaces(&'static str, &'static str);

impl Preparer for Replaces {
    fn covers(&self, _principal: &Principal) -> bool {
        true
    }

    fn prepare<'a>(&'a self, prompt: Prompt<'a>) -> BoxFuture<'a, Option<ChatRequest>> {
        let mut request = prompt.request.clone();
        for part in request.messages.iter_mut().flat_map(|one| &mut one.parts) {
            if let Part::Text(text) = part {
                text.text = text.text.replace(self.0, self.1);
            }
        }
        Box::pin(async { Some(request) })
    }
}

fn bench(stages: &Stages) -> Bench {
    let bench = Bench::start();
    bench.swap(|address| Snapshot {
        stages: stages.clone(),
        ..world(address, true, None)
    });
    bench
}

#[tokio::test]
async fn a_screen_refuses_before_anything_is_sent_relayed_and_translated_streamed_and_whole() {
    let screens: Vec<Arc<dyn Screen>> = vec![Arc::new(Refuses("forbidden"))];
    let bench = bench(&Stages {
        screens,
        ..Stages::default()
    });
    for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
        for model in ["gpt-5.5", "claude-sonnet-5-5"] {
            for stream in [false, true] {
                let mut body = prompt(dialect, model, "Say the forbidden word.");
                body["stream"] = json!(stream);
                let refused = bench.ask(dialect, &body).await.unwrap_err();
                assert!(matches!(refused, EngineError::Screened { .. }), "{refused}");
                assert!(bench.received().await.is_empty(), "{dialect:?} {model}");
            }
        }
    }
    let body = prompt(Dialect::Chat, "gpt-5.5", "Say a word.");
    bench.ask(Dialect::Chat, &body).await.expect("an answer");
    let sent = bench.received().await;
    assert!(sent[0].contains("Say a word."), "{sent:?}");
}

#[tokio::test]
async fn a_request_that_a_preparer_changed_is_sent_as_it_was_changed() {
    let preparers: Vec<Arc<dyn Preparer>> = vec![Arc::new(Replaces("Alice", "<name>"))];
    let bench = bench(&Stages {
        preparers,
        ..Stages::default()
    });
    // Relayed and translated without the preparer.
    for model in ["gpt-5.5", "claude-sonnet-5-5"] {
        let body = prompt(Dialect::Chat, model, "Greet Alice.");
        bench.ask(Dialect::Chat, &body).await.expect("an answer");
        let sent = bench.received().await;
        let last = sent.last().expect("a request");
        assert!(
            last.contains("Greet <name>.") && !last.contains("Alice"),
            "{last}"
        );
    }
}

/// Has an answer for everything.
struct Has(StoredBody, MicroUsd);

impl AnswerStore for Has {
    fn find<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Option<StoredAnswer>> {
        let answer = StoredAnswer {
            model: "gpt-5.5".to_owned(),
            usage: Some(Usage {
                fresh_input: 1_000,
                output: 2_000,
                ..Usage::default()
            }),
            degraded: Vec::new(),
            body: self.0.clone(),
        };
        Box::pin(async { Some(answer) })
    }

    fn charge(&self, _asked: Asked<'_>, _answer: &StoredAnswer) -> MicroUsd {
        self.1
    }
}

/// Events of an answer with one word.
fn events() -> StoredBody {
    StoredBody::Events(vec![
        StreamEvent::Start {
            id: Some("a1".to_owned()),
            model: Some("gpt-5.5".to_owned()),
            created: None,
            service_tier: None,
        },
        StreamEvent::Text {
            choice: 0,
            text: "stored".to_owned(),
        },
        StreamEvent::Finish {
            choice: 0,
            reason: Finish::Stop,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ])
}

fn stores(layer: &str, has: Has) -> Stores {
    let all: Vec<Box<dyn AnswerStore>> = vec![Box::new(has)];
    let mut stores = Stores::default();
    match layer {
        "hash" => stores.by_hash = all,
        _ => stores.by_meaning = all,
    }
    stores
}

async fn purse(usd: &str, stores: Stores) -> Purse {
    let mut purse = Purse::with(usd).await;
    let engine = Arc::into_inner(purse.bench.engine).expect("no request holds it");
    purse.bench.engine = Arc::new(engine.with_stores(stores));
    purse
}

#[tokio::test]
async fn a_stored_answer_is_served_with_a_receipt_and_no_provider_is_called() {
    for layer in ["hash", "semantic"] {
        let bytes = || StoredBody::Bytes("stored".into());
        let purse = purse("1", stores(layer, Has(bytes(), MicroUsd::ZERO))).await;
        let body = prompt(Dialect::Chat, "gpt-5.5", "Hello");
        let answer = purse.ask(Dialect::Chat, &body).await.expect("an answer");
        assert_eq!(answer.text, "stored");
        assert_eq!(answer.head.cache, layer);
        assert!(purse.bench.received().await.is_empty());
        let receipt = purse.receipt().await;
        assert_eq!(receipt.outcome, Outcome::Finished);
        assert_eq!(&*receipt.cache, layer);
        assert!(receipt.backend.is_empty() && receipt.attempts.is_empty());
        assert_eq!(receipt.usage, Some(Usage::default()));
        assert_eq!(receipt.saved_usage.map(|saved| saved.output), Some(2_000));
        assert_eq!(receipt.amounts.charge, MicroUsd::ZERO);
        assert_eq!(receipt.timings.planned.is_some(), layer == "semantic");
        let balance = purse.balance().await;
        assert_eq!(
            (balance.spent, balance.held),
            (MicroUsd::ZERO, MicroUsd::ZERO)
        );
        // What the limits took is given back.
        assert_eq!(*purse.gate.used.lock().unwrap(), [0]);
    }
}

#[tokio::test]
async fn a_stored_answer_goes_to_each_dialect_streamed_and_whole() {
    for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Responses] {
        for stream in [false, true] {
            let purse = purse("1", stores("hash", Has(events(), MicroUsd::ZERO))).await;
            let mut body = prompt(dialect, "gpt-5.5", "Hello");
            body["stream"] = json!(stream);
            let answer = purse.ask(dialect, &body).await.expect("an answer");
            assert!(answer.text.contains("stored"), "{}", answer.text);
            assert_eq!(answer.text.contains("\"cache\":\"hash\""), stream);
            let receipt = purse.receipt().await;
            assert_eq!(receipt.outcome, Outcome::Finished, "{dialect:?} {stream}");
        }
    }
}

#[tokio::test]
async fn the_charge_of_a_stored_answer_is_held_and_captured_once() {
    let charge = MicroUsd::new(1_200);
    for stream in [false, true] {
        let purse = purse("1", stores("semantic", Has(events(), charge))).await;
        let mut body = prompt(Dialect::Chat, "gpt-5.5", "Hello");
        body["stream"] = json!(stream);
        purse.ask(Dialect::Chat, &body).await.expect("an answer");
        let balance = purse.balance().await;
        assert_eq!((balance.spent, balance.held), (charge, MicroUsd::ZERO));
        let receipt = purse.receipt().await;
        assert_eq!(receipt.amounts.charge, charge);
        assert_eq!(receipt.amounts.spread, charge);
        assert_eq!(receipt.amounts.provider_cost, Some(MicroUsd::ZERO));
        assert_eq!(receipt.amounts.balance, Some(balance.available));
    }
}

#[tokio::test]
async fn a_stored_answer_that_cannot_be_paid_is_refused_and_leaves_nothing_held() {
    let dear = Has(events(), MicroUsd::new(2_000_000));
    let purse = purse("1", stores("hash", dear)).await;
    let body = prompt(Dialect::Chat, "gpt-5.5", "Hello");
    let refused = purse.ask(Dialect::Chat, &body).await.unwrap_err();
    assert!(matches!(refused, EngineError::Funds { .. }), "{refused}");
    let balance = purse.balance().await;
    assert_eq!(
        (balance.spent, balance.held),
        (MicroUsd::ZERO, MicroUsd::ZERO)
    );
}
