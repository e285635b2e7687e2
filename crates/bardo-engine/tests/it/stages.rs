//! Stores of answers, screens and preparers around the plan.

use std::sync::Arc;

use bardo_access::BoxFuture;
use bardo_engine::{
    Answer, AnswerBody, AnswerHead, AnswerStore, Asked, EngineError, Preparer, Principal, Prompt,
    Screen, ScreenRefusal, Snapshot, Stages, Stores,
};
use bardo_types::chat::{ChatRequest, Part};
use bardo_types::model::Dialect;
use serde_json::json;

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
struct Has(&'static str);

impl AnswerStore for Has {
    fn find<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Option<Answer>> {
        let answer = Answer {
            head: AnswerHead::default(),
            body: AnswerBody::Whole(self.0.into()),
        };
        Box::pin(async { Some(answer) })
    }
}

#[tokio::test]
async fn a_stored_answer_is_served_and_no_provider_is_called() {
    let stores = [
        Stores {
            by_hash: vec![Box::new(Has("stored"))],
            ..Stores::default()
        },
        Stores {
            by_meaning: vec![Box::new(Has("stored"))],
            ..Stores::default()
        },
    ];
    for stores in stores {
        let mut bench = Bench::start();
        let engine = Arc::into_inner(bench.engine).expect("no request holds it");
        bench.engine = Arc::new(engine.with_stores(stores));
        let body = prompt(Dialect::Chat, "gpt-5.5", "Hello");
        let answer = bench.ask(Dialect::Chat, &body).await.expect("an answer");
        assert_eq!(answer.text, "stored");
        assert!(bench.received().await.is_empty());
    }
}
