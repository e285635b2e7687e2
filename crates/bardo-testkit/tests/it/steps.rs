//! Every step of a stream: the provider's connection is cut there, or the caller leaves there.

use std::sync::Arc;
use std::time::Duration;

use bardo_testkit::answer::{Answer, Event, error_event};
use bardo_testkit::client::{Ending, Leaves, Wish, name_of};
use bardo_testkit::dice::Dice;
use bardo_testkit::fault::{Fault, cut_after, streams};
use bardo_testkit::till::Till;
use bardo_testkit::upstream::{Script, Upstream};
use bardo_testkit::world::{Backend, End, Visit};
use bardo_types::model::Dialect;

use crate::matrix::{CALLERS, PROVIDERS, pair};

const WORDS: usize = 3;

async fn cutting(provider: Dialect, events: usize, torn: bool) -> Till {
    breaking(provider, move |answer| cut_after(answer, events, torn)).await
}

/// A provider that does this with its answers, and a healthy one behind it.
async fn breaking(
    provider: Dialect,
    script: impl Fn(&Answer) -> Script + Send + Sync + 'static,
) -> Till {
    let upstream = Upstream::new("cutting.test", provider, move |asked| {
        script(&Answer::new(provider, "m", 0, asked.case, WORDS))
    });
    let other = Upstream::new("other.test", Dialect::Chat, |asked| {
        let answer = Answer::new(Dialect::Chat, "m", 1, asked.case, WORDS);
        Fault::Healthy.script(&answer, asked, &mut Dice::new(0))
    });
    let backend = |upstream| Backend {
        upstream: Arc::new(upstream),
        models: vec!["m".to_owned()],
    };
    Till::over(&[backend(upstream), backend(other)]).await
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_cut_anywhere_looks_cut() {
    let mut played = 0;
    for provider in PROVIDERS {
        let events = Answer::new(provider, "m", 0, 1, WORDS).events().len();
        for caller in CALLERS {
            for at in 0..events {
                for torn in [false, true] {
                    let what = format!(
                        "{} to {} cut after {at} of {events} events{}",
                        name_of(provider),
                        name_of(caller),
                        if torn { " and a half" } else { "" }
                    );
                    let till = cutting(provider, at, torn).await;
                    let scene = &till.scene;
                    let mut wish = Wish::new(1, caller, "m", true);
                    wish.purse = Some(0);
                    let visit = scene.visit(&wish).await;
                    let [cutting, other] = &scene.upstreams[..] else {
                        panic!("two providers");
                    };
                    let whole = &cutting.calls()[0].text;
                    assert_eq!(visit.damage, [""; 0], "{what}");
                    assert!(whole.starts_with(&visit.text), "{what}: {}", visit.text);
                    assert_eq!(other.calls().len(), 0, "{what}: asked again");
                    match &visit.end {
                        End::Stream(Ending::Clean) => assert_eq!(&visit.text, whole, "{what}"),
                        End::Stream(Ending::Failed(_)) => assert!(!visit.text.is_empty(), "{what}"),
                        End::Refused { unknown: true, .. } => {}
                        other => panic!("{what}: {other:?}"),
                    }
                    assert_eq!(till.judge(&visit).await, [""; 0], "{what}: {visit:?}");
                    played += 1;
                }
            }
        }
    }
    println!("{played} cuts");
}

#[tokio::test(start_paused = true)]
async fn text_and_a_failure_are_the_same_in_one_read_and_in_many() {
    let mut played = 0;
    for provider in PROVIDERS {
        let all = Answer::new(provider, "m", 0, 1, WORDS).events();
        let first = all.iter().position(|event| event.tokens > 0);
        let first = first.expect("an answer has content");
        let last = all.iter().rposition(|event| event.terminal);
        for caller in CALLERS {
            for events in first + 1..=last.expect("a stream has an end") {
                let mut apart = None;
                let body = [body(&all[..events]), error_event(provider).to_vec()].concat();
                for piece in [usize::MAX, 1, 7, 100, 1000] {
                    let what = format!(
                        "{} to {} failing after {events} events, read by {piece}",
                        name_of(provider),
                        name_of(caller),
                    );
                    let body = body.clone();
                    let script = move |answer: &Answer| streams(answer, &body, piece, true);
                    let till = breaking(provider, script).await;
                    let mut wish = Wish::new(1, caller, "m", true);
                    wish.purse = Some(0);
                    let visit = till.scene.visit(&wish).await;
                    till.scene.engine.drain_settler().await;
                    assert_eq!(visit.damage, [""; 0], "{what}");
                    assert!(!visit.text.is_empty(), "{what}: the text is lost");
                    let failed = matches!(visit.end, End::Stream(Ending::Failed(_)));
                    assert!(failed, "{what}: {:?}", visit.end);
                    assert_eq!(
                        till.scene.upstreams[1].calls().len(),
                        0,
                        "{what}: asked again"
                    );
                    let seen = (visit.text, till.charged(1).await);
                    assert!(seen.1 > 0, "{what}: nothing is charged");
                    assert_eq!(&seen, apart.get_or_insert_with(|| seen.clone()), "{what}");
                    played += 1;
                }
            }
        }
    }
    println!("{played} failures");
}

fn body(events: &[Event]) -> Vec<u8> {
    events
        .iter()
        .flat_map(|event| event.bytes.to_vec())
        .collect()
}

/// What comes of a stream of exactly these bytes.
async fn streamed(
    (provider, caller): (Dialect, Dialect),
    body: &[u8],
    piece: usize,
    framed: bool,
) -> (Visit, i64) {
    let body = body.to_vec();
    let script = move |answer: &Answer| streams(answer, &body, piece, framed);
    let till = breaking(provider, script).await;
    let mut wish = Wish::new(1, caller, "m", true);
    wish.purse = Some(0);
    let visit = till.scene.visit(&wish).await;
    assert_eq!(till.judge(&visit).await, [""; 0], "{visit:?}");
    (visit, till.charged(1).await)
}

#[tokio::test(start_paused = true)]
async fn the_last_event_needs_no_blank_line_and_lines_may_end_in_cr_alone() {
    for provider in PROVIDERS {
        let answer = Answer::new(provider, "m", 0, 1, WORDS);
        let usual = body(&answer.events());
        let text = String::from_utf8(usual.clone()).expect("answers are text");
        let ends = ["\n", "\r\n", "\r"];
        let forms = ends.iter().flat_map(|end| {
            let whole = text.replace('\n', end);
            let bare = whole.trim_end().to_owned();
            [bare.clone() + end, bare, whole]
        });
        let forms: Vec<String> = forms.collect();
        for caller in CALLERS {
            let pair = (provider, caller);
            let (good, price) = streamed(pair, &usual, usize::MAX, true).await;
            for form in &forms {
                for piece in [usize::MAX, 1, 50] {
                    for framed in [true, false] {
                        let what = format!("{pair:?} {piece} {framed} {form:?}");
                        let (visit, charged) = streamed(pair, form.as_bytes(), piece, framed).await;
                        assert_eq!(visit.end, good.end, "{what}");
                        assert_eq!(visit.text, good.text, "{what}");
                        assert_eq!(visit.damage, [""; 0], "{what}");
                        assert_eq!(charged, price, "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_chat_answer_that_finished_and_whose_body_ended_needs_no_done() {
    let answer = Answer::new(Dialect::Chat, "m", 0, 1, WORDS);
    let events = answer.events();
    let done = events.len() - 1;
    let finish = done - 2;
    for caller in CALLERS {
        let pair = (Dialect::Chat, caller);
        let (good, price) = streamed(pair, &body(&events), usize::MAX, true).await;
        for piece in [usize::MAX, 1, 50] {
            let (visit, charged) = streamed(pair, &body(&events[..done]), piece, true).await;
            assert_eq!(
                (visit.end, visit.text),
                (good.end.clone(), good.text.clone())
            );
            assert_eq!((visit.damage, charged), (Vec::new(), price));
            // The connection just closes, or nobody said why the answer ended.
            for (events, framed) in [(&events[..done], false), (&events[..=finish - 1], true)] {
                let (visit, _) = streamed(pair, &body(events), piece, framed).await;
                let failed = matches!(visit.end, End::Stream(Ending::Failed(_)));
                assert!(failed, "{caller:?} {piece} {framed}: {visit:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_at_any_step_takes_the_providers_work_along() {
    let mut played = 0;
    let mut leave = vec![];
    leave.extend((0..14).map(Leaves::AfterReads));
    leave.extend((0..12).map(|at| Leaves::After(Duration::from_millis(at * 45))));
    for provider in PROVIDERS {
        for caller in CALLERS {
            for fault in [Fault::Healthy, Fault::HeadSlow, Fault::PingsOnly] {
                for leaves in &leave {
                    let till = pair(fault, provider, 1).await;
                    let scene = &till.scene;
                    let mut wish = Wish::new(1, caller, "m", true);
                    wish.leaves = *leaves;
                    wish.purse = Some(0);
                    let visit = scene.visit(&wish).await;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let what = format!(
                        "{} to {} {} {leaves:?}: {:?}",
                        name_of(provider),
                        name_of(caller),
                        fault.name(),
                        visit.end
                    );
                    let [upstream, other] = &scene.upstreams[..] else {
                        panic!("two providers");
                    };
                    assert_eq!(other.calls().len(), 0, "{what}");
                    assert!(upstream.calls().len() <= 1, "{what}");
                    for call in upstream.calls() {
                        assert!(call.over, "{what}: the provider still works");
                        if visit.end == End::Left {
                            let left = call.left_at.map(|left| left - visit.went_at);
                            let in_time =
                                left.is_none_or(|took| took <= Duration::from_millis(100));
                            assert!(in_time, "{what}: closed after {left:?}");
                        }
                    }
                    assert_eq!(till.judge(&visit).await, [""; 0], "{what}: {visit:?}");
                    played += 1;
                }
            }
        }
    }
    println!("{played} departures");
}
