//! Answers from a store have the grammar of live ones in every dialect of callers.

use std::sync::Arc;

use bardo_access::BoxFuture;
use bardo_engine::{AnswerStore, Asked, StoredAnswer, StoredBody, Stores};
use bardo_testkit::answer::Answer;
use bardo_testkit::client::grammar::{self, Content};
use bardo_testkit::client::{Ending, Wish, name_of};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::Fault;
use bardo_testkit::upstream::Upstream;
use bardo_testkit::world::{Backend, End, Scene, Visit};
use bardo_types::chat::{Finish, StreamEvent};
use bardo_types::model::Dialect;
use bardo_types::usage::Usage;
use serde_json::json;

use crate::matrix::CALLERS;

const ALL: [Dialect; 4] = [
    Dialect::Chat,
    Dialect::Completions,
    Dialect::Anthropic,
    Dialect::Responses,
];

/// Has one answer for every request.
struct Shelf(StoredBody);

impl AnswerStore for Shelf {
    fn find<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Option<StoredAnswer>> {
        let answer = StoredAnswer {
            model: "m".to_owned(),
            usage: Some(usage()),
            degraded: Vec::new(),
            body: self.0.clone(),
        };
        Box::pin(std::future::ready(Some(answer)))
    }
}

fn usage() -> Usage {
    Usage {
        fresh_input: 40,
        output: 7,
        ..Usage::default()
    }
}

/// A provider that speaks a dialect and serves the model `m`.
fn backend(provider: Dialect) -> Backend {
    let upstream = Upstream::new("live.test", provider, move |asked| {
        let answer = Answer::new(provider, "m", 0, asked.case, 3);
        Fault::Healthy.script(&answer, asked, &mut Dice::new(1))
    });
    Backend {
        upstream: Arc::new(upstream),
        models: vec!["m".to_owned()],
    }
}

fn stored(layer: &str, body: StoredBody) -> Scene {
    let shelf: Vec<Box<dyn AnswerStore>> = vec![Box::new(Shelf(body))];
    let mut stores = Stores::default();
    match layer {
        "hash" => stores.by_hash = shelf,
        _ => stores.by_meaning = shelf,
    }
    Scene::new(&[backend(Dialect::Chat)]).with_stores(stores)
}

fn start() -> StreamEvent {
    StreamEvent::Start {
        id: Some("a1".to_owned()),
        model: Some("m".to_owned()),
        created: Some(1_790_000_000),
        service_tier: None,
    }
}

fn end(reason: Finish) -> [StreamEvent; 3] {
    [
        StreamEvent::Usage(usage()),
        StreamEvent::Finish {
            choice: 0,
            reason,
            stop_sequence: None,
            details: None,
        },
        StreamEvent::Done,
    ]
}

fn piece(text: &str) -> StreamEvent {
    StreamEvent::Text {
        choice: 0,
        text: text.to_owned(),
    }
}

/// Words in two pieces.
fn words() -> Vec<StreamEvent> {
    let mut events = vec![start(), piece("Kept"), piece(" words.")];
    events.extend(end(Finish::Stop));
    events
}

/// Words and two calls, the second without input.
fn calls() -> Vec<StreamEvent> {
    let begin = |call: u32| StreamEvent::ToolStart {
        choice: 0,
        call,
        id: format!("call_{call}"),
        name: "weather".to_owned(),
        custom: false,
        opaque: None,
    };
    let input = |call: u32, fragment: &str| StreamEvent::ToolInput {
        choice: 0,
        call,
        fragment: fragment.to_owned(),
    };
    let over = |call: u32| StreamEvent::ToolEnd { choice: 0, call };
    let mut events = vec![start(), piece("I look.")];
    events.extend([begin(0), input(0, "{\"place\":"), input(0, "\"Rome\"}")]);
    events.extend([over(0), begin(1), input(1, "{}"), over(1)]);
    events.extend(end(Finish::ToolCalls));
    events
}

/// The content of an answer that keeps the grammar of its dialect.
#[track_caller]
fn content(visit: &Visit, what: &str) -> Content {
    let dialect = visit.wish.dialect;
    let read = match &visit.end {
        End::Whole => grammar::whole(dialect, &visit.bytes),
        End::Stream(Ending::Clean) => grammar::stream(dialect, &visit.bytes),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(visit.damage, [""; 0], "{what}");
    read.unwrap_or_else(|broken| panic!("{what}: {broken}"))
}

fn wish(dialect: Dialect, stream: bool, tools: bool) -> Wish {
    Wish {
        tools,
        ..Wish::new(1, dialect, "m", stream)
    }
}

#[tokio::test(start_paused = true)]
async fn live_and_stored_answers_have_one_grammar_in_every_dialect() {
    let text = |text: &str| Content {
        text: text.to_owned(),
        calls: Vec::new(),
    };
    for dialect in ALL {
        for stream in [false, true] {
            for tools in [false, true] {
                let wish = wish(dialect, stream, tools);
                let what = format!("{} {stream} {tools}", name_of(dialect));
                for provider in CALLERS {
                    let scene = Scene::new(&[backend(provider)]);
                    let live = content(&scene.visit(&wish).await, &what);
                    let said = Answer::new(provider, "m", 0, 1, 3).text();
                    assert_eq!(live, text(&said), "{what} from {}", name_of(provider));
                }
                for layer in ["hash", "semantic"] {
                    let scene = stored(layer, StoredBody::Events(words()));
                    let kept = content(&scene.visit(&wish).await, &what);
                    assert_eq!(kept, text("Kept words."), "{what} {layer}");
                    assert!(scene.upstreams[0].calls().is_empty(), "{what} {layer}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stored_calls_of_tools_have_the_grammar_of_each_dialect() {
    let expected = Content {
        text: "I look.".to_owned(),
        calls: vec![
            ("weather".to_owned(), json!({ "place": "Rome" })),
            ("weather".to_owned(), json!({})),
        ],
    };
    for dialect in CALLERS {
        for stream in [false, true] {
            let scene = stored("hash", StoredBody::Events(calls()));
            let visit = scene.visit(&wish(dialect, stream, true)).await;
            let what = format!("{} {stream}", name_of(dialect));
            assert_eq!(content(&visit, &what), expected, "{what}");
        }
    }
}

/// The bytes that a live answer had are stored and served again.
#[tokio::test(start_paused = true)]
async fn stored_bytes_are_served_with_the_grammar_of_a_live_answer() {
    for dialect in CALLERS {
        let answer = Answer::new(dialect, "m", 0, 1, 3);
        for stream in [false, true] {
            let bytes: Vec<u8> = match stream {
                true => answer
                    .events()
                    .iter()
                    .flat_map(|event| event.bytes.to_vec())
                    .collect(),
                false => answer.whole().to_vec(),
            };
            let scene = stored("hash", StoredBody::Bytes(bytes.into()));
            let visit = scene.visit(&wish(dialect, stream, false)).await;
            let what = format!("{} {stream}", name_of(dialect));
            assert_eq!(content(&visit, &what).text, answer.text(), "{what}");
        }
    }
}

/// Each event of a stream matters: without it the stream breaks a rule or says something else.
#[tokio::test(start_paused = true)]
async fn a_stream_without_one_of_its_events_does_not_read_the_same() {
    for dialect in CALLERS {
        let scene = stored("hash", StoredBody::Events(calls()));
        let visit = scene.visit(&wish(dialect, true, true)).await;
        let whole = content(&visit, name_of(dialect));
        let stream = String::from_utf8(visit.bytes.to_vec()).expect("text");
        let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
        assert!(events.len() > 5, "{stream}");
        for without in 0..events.len() {
            let mut rest = events.clone();
            let event = rest.remove(without);
            let read = grammar::stream(dialect, rest.concat().as_bytes());
            assert_ne!(read, Ok(whole.clone()), "{dialect:?} without {event}");
        }
    }
}

/// A reader that takes anything proves nothing.
#[test]
fn broken_answers_are_seen() {
    let chunk = |delta: serde_json::Value, finish: Option<&str>| {
        let choice = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        let body = json!({
            "id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": choice,
        });
        format!("data: {body}\n\n")
    };
    let first = chunk(json!({ "role": "assistant", "content": "Hi" }), None);
    let last = chunk(json!({}), Some("stop"));
    let (figures, done) = (": bardo {}\n\n", "data: [DONE]\n\n");
    let sound = format!("{first}{last}{figures}{done}");
    let read = |stream: &str| grammar::stream(Dialect::Chat, stream.as_bytes());
    assert_eq!(
        read(&sound).map(|content| content.text),
        Ok("Hi".to_owned())
    );
    for broken in [
        format!("{first}{last}{figures}"),
        format!("{first}{last}{done}"),
        format!("{first}{figures}{last}{done}"),
        format!("{first}{figures}{done}"),
        format!("{last}{first}{figures}{done}"),
        format!("{first}{last}{last}{figures}{done}"),
        format!("event: chunk\n{first}{last}{figures}{done}"),
        format!("{first}{}{figures}{done}", last.replace("\"a\"", "\"b\"")),
    ] {
        assert!(read(&broken).is_err(), "{broken}");
    }
}
