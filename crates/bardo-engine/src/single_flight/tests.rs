//! The board beneath several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bardo_types::fault::{Fault, FaultClass};
use bardo_types::privacy::SecurityClass;

use super::*;

const KEY: [u8; 32] = [7; 32];
/// A board that hangs fails its test.
const PATIENCE: Duration = Duration::from_secs(60);

fn terms() -> FlightTerms {
    FlightTerms {
        flushes: 0,
        payer: Payer::Owner,
        session: None,
    }
}

fn board(board: &FlightBoard, is_current: impl Fn(u64) -> bool) -> Boarding {
    board.board(Key::from_bytes(KEY), 0, terms, is_current)
}

#[test]
fn the_last_hold_on_a_flight_may_be_dropped_while_the_board_is_read() {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let flights = FlightBoard::default();
        let Boarding::Lead(ticket) = board(&flights, |_| true) else {
            panic!("the first one leads");
        };
        let ticket = Mutex::new(Some(ticket));
        // The leader leaves at the moment at which its flight is found to be of another time.
        let next = board(&flights, |_| {
            drop(ticket.lock().unwrap().take());
            false
        });
        done.send(matches!(next, Boarding::Lead(_))).unwrap();
    });
    assert_eq!(wait.recv_timeout(PATIENCE), Ok(true));
}

#[test]
fn of_many_threads_one_leads_at_a_time() {
    let flights = FlightBoard::default();
    let leaders = Arc::new(AtomicUsize::new(0));
    let (done, wait) = mpsc::channel();
    for _ in 0..8 {
        let (flights, leaders, done) = (flights.clone(), Arc::clone(&leaders), done.clone());
        std::thread::spawn(move || {
            for _ in 0..2_000 {
                if let Boarding::Lead(ticket) = board(&flights, |_| true) {
                    let others = leaders.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    leaders.fetch_sub(1, Ordering::SeqCst);
                    drop(ticket);
                    if others > 0 {
                        done.send(false).unwrap();
                    }
                }
            }
            done.send(true).unwrap();
        });
    }
    for _ in 0..8 {
        assert_eq!(wait.recv_timeout(PATIENCE), Ok(true));
    }
    assert!(flights.all().keys.is_empty(), "no flight is left");
}

#[test]
fn an_answer_that_broke_after_it_began_is_followed_no_more_while_others_still_hold_it() {
    let flights = FlightBoard::default();
    let Boarding::Lead(ticket) = board(&flights, |_| true) else {
        panic!("the first one leads");
    };
    ticket.live().comes_from(AnswerOrigin {
        model: "m".into(),
        backend: "b".into(),
        class: SecurityClass::Standard,
        degraded: Vec::new(),
        price: None,
        is_capped: false,
    });
    ticket.live().begin();
    let Boarding::Follow(_follower) = board(&flights, |_| true) else {
        panic!("it is still being made");
    };
    let fault = Fault::new(FaultClass::Connection, "cut");
    ticket.live().push(&mut vec![StreamEvent::Failed(fault)]);
    assert!(matches!(board(&flights, |_| true), Boarding::Lead(_)));
}

#[test]
fn one_request_at_a_time_leads_again_once_an_answer_comes_after_failures() {
    let flights = FlightBoard::default();
    let lead = |round| match flights.board(Key::from_bytes(KEY), round, terms, |_| true) {
        Boarding::Lead(ticket) => Some(ticket),
        Boarding::Follow(_) => None,
    };
    // Its request has seen three leaders fail, so four may lead at a time.
    let first = lead(3).expect("the first one leads");
    let second = lead(0).expect("one of four leads");
    let work = Box::pin(std::future::ready(Ok(Answer {
        head: Box::default(),
        body: AnswerBody::Whole(Bytes::new()),
    })));
    let mut second = std::pin::pin!(second.lead(work, SentMark::default()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(second.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
    assert!(lead(0).is_none(), "the first one is still under way");
    drop(first);
}
